// Operations without a loop nest of their own: Fourier transform, triangular matrices, random numbers.
#include "base/status_macros.h"
#include "hlo/shape_inference/rules.h"

namespace smelt::hlo::shape_inference {
namespace {

absl::Status ExpectMatrices(const Request& request, int64_t operand) {
  SMELT_RETURN_IF_ERROR(ExpectArray(request, operand));
  const Shape& shape = request.shape(operand);
  if (!IsFloat(shape.element_type) && !IsComplex(shape.element_type)) {
    return Refuse(request, "takes floating-point or complex numbers, not ", Describe(request, operand));
  }
  if (shape.rank() < 2 || !SizesAgree(shape.dimensions[shape.rank() - 1], shape.dimensions[shape.rank() - 2])) {
    return Refuse(request, "takes square matrices, not ", Describe(request, operand));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Shape> Fft(const Request& request) {
  SMELT_RETURN_IF_ERROR(ExpectArray(request, 0));
  const FftAttributes& a = request.Get<FftAttributes>();
  const Shape& operand = request.shape(0);
  const int64_t rank = static_cast<int64_t>(a.lengths.size());
  if (rank < 1 || rank > 3) return Refuse(request, "fft_length must have 1 to 3 dimensions, has ", rank);
  if (operand.rank() < rank)
    return Refuse(request, "fft_length ", ToString(a.lengths), " has more dimensions than ", Describe(request, 0));
  const bool real_input = a.type == FftType::kRfft;
  const PrimitiveType type = operand.element_type;
  if (real_input ? type != PrimitiveType::kF32 && type != PrimitiveType::kF64 : !IsComplex(type)) {
    return Refuse(request, real_input ? "takes f32 or f64, not " : "takes complex numbers, not ", Describe(request, 0));
  }
  Shape shape = Shape::Array(type, operand.dimensions);
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t d = operand.rank() - rank + i;
    const bool halved = a.type == FftType::kIrfft && i == rank - 1;
    if (a.lengths[i] < 0) return Refuse(request, "fft_length ", ToString(a.lengths), " must not be negative");
    const int64_t wanted = halved && a.lengths[i] > 0 ? a.lengths[i] / 2 + 1 : a.lengths[i];
    // A complex transform of another length is XLA's to define; only the real ones tie sizes together.
    if (a.type == FftType::kFft || a.type == FftType::kIfft) continue;
    // A dimension of no elements has 0 frequencies, or 0 / 2 + 1: XLA takes both.
    if (halved && a.lengths[i] == 0 && SizesAgree(operand.dimensions[d], 1)) continue;
    if (!SizesAgree(operand.dimensions[d], wanted)) {
      return Refuse(request, "dimension ", d, " of ", Describe(request, 0), " must be ", wanted, " for fft_length ",
                    ToString(a.lengths));
    }
  }
  if (a.type == FftType::kRfft) {
    shape.element_type = ComplexOf(type);
    if (a.lengths.back() > 0) shape.dimensions.back() = a.lengths.back() / 2 + 1;
  } else if (a.type == FftType::kIrfft) {
    shape.element_type = ComplexPart(type);
    shape.dimensions.back() = a.lengths.back();
  }
  return Sized(request, shape);
}

absl::StatusOr<Shape> Cholesky(const Request& request) {
  SMELT_RETURN_IF_ERROR(ExpectMatrices(request, 0));
  return request.shape(0);
}

absl::StatusOr<Shape> TriangularSolve(const Request& request) {
  SMELT_RETURN_IF_ERROR(ExpectMatrices(request, 0));
  SMELT_RETURN_IF_ERROR(ExpectArray(request, 1));
  const Shape &a = request.shape(0), &b = request.shape(1);
  bool fits = a.rank() == b.rank() && a.element_type == b.element_type;
  for (int64_t d = 0; fits && d < a.rank() - 2; ++d) fits = SizesAgree(a.dimensions[d], b.dimensions[d]);
  const int64_t side = request.Get<TriangularSolveAttributes>().left_side ? 2 : 1;
  fits = fits && SizesAgree(a.dimensions.back(), b.dimensions[b.rank() - side]);
  if (!fits)
    return Refuse(request, "the right-hand side ", Describe(request, 1), " does not fit ", Describe(request, 0));
  return b;
}

absl::StatusOr<Shape> Rng(const Request& request) {
  SMELT_RETURN_IF_ERROR(ExpectOperands(request, 2));
  for (int64_t i = 0; i < 2; ++i) {
    if (!request.shape(i).IsScalar())
      return Refuse(request, "takes two scalars, operand ", i, " is ", Describe(request, i));
  }
  return DeclaredArray(request);
}

absl::StatusOr<Shape> RngBitGenerator(const Request& request) {
  SMELT_ASSIGN_OR_RETURN(Shape declared, Declared(request));
  SMELT_RETURN_IF_ERROR(ExpectArray(request, 0));
  if (declared.IsArray()) return declared;  // a result without the new state, which some lowerings drop
  if (!declared.IsTuple() || declared.tuple_shapes.size() != 2 || !declared.tuple_shapes[0].SameAs(request.shape(0)) ||
      !declared.tuple_shapes[1].IsArray()) {
    return Refuse(request, "the result must be a tuple of the state ", request.shape(0).ToString(),
                  " and an array, is ", declared.ToString());
  }
  return declared;
}

absl::StatusOr<Shape> RngState(const Request& request) {
  SMELT_ASSIGN_OR_RETURN(Shape declared, DeclaredArray(request));
  if (declared.element_type != PrimitiveType::kU64)
    return Refuse(request, "the state is u64, not ", declared.ToString());
  return declared;
}

}  // namespace smelt::hlo::shape_inference
