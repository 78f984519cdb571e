#include <cmath>
#include <complex>
#include <numbers>

#include "base/status_macros.h"
#include "hlo/evaluator/handlers.h"

namespace smelt::hlo {
namespace {

using Complex = std::complex<double>;

Complex Multiply(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

Complex Root(int64_t index, int64_t count, double sign) {
  const double angle = sign * 2 * std::numbers::pi * static_cast<double>(index) / static_cast<double>(count);
  return {std::cos(angle), std::sin(angle)};
}

// Transforms of one length in double precision: radix 2 for powers of two, Bluestein's convolution for the rest.
// Unscaled.
class Transform {
 public:
  Transform(int64_t length, bool inverse) : length_(length), sign_(inverse ? 1 : -1) {
    int64_t size = length;
    if ((length & (length - 1)) != 0) {
      size = 1;
      while (size < 2 * length - 1) size *= 2;
    }
    padded_ = size;
    for (int64_t i = 0; i < size / 2; ++i) roots_.push_back(Root(i, size, -1));
    if (size == length) return;
    chirp_.resize(length);
    filter_.assign(size, Complex(0));
    for (int64_t i = 0; i < length; ++i) {
      chirp_[i] =
          Root(i * i % (2 * length), 2 * length, sign_);  // the angle taken modulo a turn stays exact for large i
      filter_[i] = std::conj(chirp_[i]);
      if (i > 0) filter_[size - i] = filter_[i];
    }
    PowerOfTwo(&filter_);
  }

  void Run(std::vector<Complex>* values) {
    if (padded_ == length_) {
      if (sign_ > 0) Conjugate(values);
      PowerOfTwo(values);
      if (sign_ > 0) Conjugate(values);
      return;
    }
    work_.assign(padded_, Complex(0));
    for (int64_t i = 0; i < length_; ++i) work_[i] = Multiply((*values)[i], chirp_[i]);
    PowerOfTwo(&work_);
    for (int64_t i = 0; i < padded_; ++i) work_[i] = std::conj(Multiply(work_[i], filter_[i]));
    PowerOfTwo(&work_);
    const double scale = 1 / static_cast<double>(padded_);
    for (int64_t i = 0; i < length_; ++i) (*values)[i] = Multiply(std::conj(work_[i]) * scale, chirp_[i]);
  }

 private:
  static void Conjugate(std::vector<Complex>* values) {
    for (Complex& value : *values) value = std::conj(value);
  }

  void PowerOfTwo(std::vector<Complex>* values) const {
    std::vector<Complex>& v = *values;
    const int64_t size = static_cast<int64_t>(v.size());
    for (int64_t i = 1, j = 0; i < size; ++i) {
      int64_t bit = size >> 1;
      for (; j & bit; bit >>= 1) j ^= bit;
      j ^= bit;
      if (i < j) std::swap(v[i], v[j]);
    }
    for (int64_t length = 2; length <= size; length *= 2) {
      const int64_t step = size / length;
      for (int64_t start = 0; start < size; start += length) {
        for (int64_t i = 0; i < length / 2; ++i) {
          const Complex even = v[start + i], odd = Multiply(v[start + i + length / 2], roots_[i * step]);
          v[start + i] = even + odd;
          v[start + i + length / 2] = even - odd;
        }
      }
    }
  }

  int64_t length_;
  double sign_;
  int64_t padded_;
  std::vector<Complex> roots_, chirp_, filter_, work_;
};

// Transforms along one dimension of a row-major array.
void TransformDimension(std::vector<Complex>* values, const std::vector<int64_t>& sizes, size_t dimension,
                        bool inverse) {
  const int64_t length = sizes[dimension];
  int64_t stride = 1;
  for (size_t d = dimension + 1; d < sizes.size(); ++d) stride *= sizes[d];
  if (length <= 1) return;
  Transform transform(length, inverse);
  std::vector<Complex> line(length);
  const int64_t lines = static_cast<int64_t>(values->size()) / length;
  for (int64_t l = 0; l < lines; ++l) {
    Complex* base = values->data() + l / stride * stride * length + l % stride;
    for (int64_t i = 0; i < length; ++i) line[i] = base[i * stride];
    transform.Run(&line);
    for (int64_t i = 0; i < length; ++i) base[i * stride] = line[i];
  }
}

}  // namespace

absl::StatusOr<Value> EvaluateFft(const Call& call) {
  const auto& attributes = call.instruction.attributes<FftAttributes>();
  const Literal& operand = call.operand(0).array();
  const Shape& shape = call.shape();
  const size_t rank = static_cast<size_t>(shape.rank()), transformed = attributes.lengths.size();
  if (transformed == 0 || transformed > rank) return absl::InvalidArgumentError("has more lengths than dimensions");
  const bool inverse = attributes.type == FftType::kIfft || attributes.type == FftType::kIrfft;

  // Over the full lengths: a real input widens, and half a spectrum is completed by symmetry.
  std::vector<int64_t> sizes = shape.dimensions;
  for (size_t i = 0; i < transformed; ++i) sizes[rank - transformed + i] = attributes.lengths[i];
  const Shape full = Shape::Array(PrimitiveType::kC128, sizes);
  if (!full.SizeFits()) return absl::InvalidArgumentError("has lengths that are too large");
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> charged,
                         call.evaluation.NewScratch(PrimitiveType::kC128, full.ElementCount()));
  charged.reset();
  std::vector<Complex> values(static_cast<size_t>(full.ElementCount()), Complex(0));
  const int64_t last = sizes.back(), operand_last = operand.shape().dimensions.back();
  const int64_t rows = last == 0 ? 0 : full.ElementCount() / last;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < std::min(last, operand_last); ++i)
      values[row * last + i] = operand.GetComplex(row * operand_last + i);
  }
  if (attributes.type == FftType::kIrfft) {
    // Outer dimensions first, on the half spectrum; the other half of the last dimension is its mirror.
    for (size_t i = 0; i + 1 < transformed; ++i) TransformDimension(&values, sizes, rank - transformed + i, inverse);
    for (int64_t row = 0; row < rows; ++row) {
      Complex* line = values.data() + row * last;
      line[0] = line[0].real();
      if (last % 2 == 0) line[last / 2] = line[last / 2].real();
      for (int64_t i = last / 2 + 1; i < last; ++i) line[i] = std::conj(line[last - i]);
    }
    TransformDimension(&values, sizes, rank - 1, inverse);
  } else {
    for (size_t i = 0; i < transformed; ++i) TransformDimension(&values, sizes, rank - transformed + i, inverse);
  }

  double scale = 1;
  if (inverse) {
    for (int64_t length : attributes.lengths) scale /= static_cast<double>(std::max<int64_t>(length, 1));
  }
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> result, call.evaluation.NewArray(shape));
  const int64_t kept = shape.dimensions.back();
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < kept; ++i) result->SetComplex(row * kept + i, values[row * last + i] * scale);
  }
  return Value(std::move(result));
}

}  // namespace smelt::hlo
