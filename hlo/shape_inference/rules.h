// The rules behind shape_inference.h: one function for an opcode or a few kindred ones.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/str_cat.h"
#include "hlo/computation.h"
#include "hlo/literal.h"

namespace smelt::hlo::shape_inference {

// What a rule looks at.
struct Request {
  Opcode opcode;
  absl::Span<const Instruction* const> operands;
  const Attributes& attributes;
  absl::Span<Computation* const> called;
  const Shape* declared;  // what the text says, null where nothing is known yet

  const Shape& shape(int64_t operand) const { return operands[operand]->shape(); }
  int64_t operand_count() const { return static_cast<int64_t>(operands.size()); }
  template <typename T>
  const T& Get() const {
    return std::get<T>(attributes);
  }
};

using Rule = absl::StatusOr<Shape> (*)(const Request&);

// The rule of an opcode; null for an opcode that has none, whose declared shape is taken as it is.
Rule RuleOf(Opcode opcode);

// Rules by file.
absl::StatusOr<Shape> ElementwiseUnary(const Request&);
absl::StatusOr<Shape> ElementwiseBinary(const Request&);
absl::StatusOr<Shape> Select(const Request&);
absl::StatusOr<Shape> Clamp(const Request&);
absl::StatusOr<Shape> Convert(const Request&);
absl::StatusOr<Shape> BitcastConvert(const Request&);
absl::StatusOr<Shape> StochasticConvert(const Request&);
absl::StatusOr<Shape> Map(const Request&);

absl::StatusOr<Shape> Reshape(const Request&);
absl::StatusOr<Shape> DynamicReshape(const Request&);
absl::StatusOr<Shape> Bitcast(const Request&);
absl::StatusOr<Shape> Broadcast(const Request&);
absl::StatusOr<Shape> Transpose(const Request&);
absl::StatusOr<Shape> Slice(const Request&);
absl::StatusOr<Shape> DynamicSlice(const Request&);
absl::StatusOr<Shape> DynamicUpdateSlice(const Request&);
absl::StatusOr<Shape> Pad(const Request&);
absl::StatusOr<Shape> Concatenate(const Request&);
absl::StatusOr<Shape> Reverse(const Request&);
absl::StatusOr<Shape> Iota(const Request&);
absl::StatusOr<Shape> GetDimensionSize(const Request&);
absl::StatusOr<Shape> SetDimensionSize(const Request&);

absl::StatusOr<Shape> Gather(const Request&);
absl::StatusOr<Shape> Scatter(const Request&);

absl::StatusOr<Shape> Dot(const Request&);
absl::StatusOr<Shape> RaggedDot(const Request&);
absl::StatusOr<Shape> Convolution(const Request&);

absl::StatusOr<Shape> Reduce(const Request&);
absl::StatusOr<Shape> ReduceWindow(const Request&);
absl::StatusOr<Shape> SelectAndScatter(const Request&);
absl::StatusOr<Shape> BatchNormTraining(const Request&);
absl::StatusOr<Shape> BatchNormInference(const Request&);
absl::StatusOr<Shape> BatchNormGrad(const Request&);
absl::StatusOr<Shape> Scan(const Request&);
absl::StatusOr<Shape> Sort(const Request&);
absl::StatusOr<Shape> TopK(const Request&);

absl::StatusOr<Shape> Tuple(const Request&);
absl::StatusOr<Shape> GetTupleElement(const Request&);
absl::StatusOr<Shape> Call(const Request&);  // fusion, too
absl::StatusOr<Shape> While(const Request&);
absl::StatusOr<Shape> Conditional(const Request&);
absl::StatusOr<Shape> SameAsOperand(const Request&);  // opt-barrier, add-dependency, domain
absl::StatusOr<Shape> AfterAll(const Request&);
absl::StatusOr<Shape> Constant(const Request&);
absl::StatusOr<Shape> Parameter(const Request&);
absl::StatusOr<Shape> DeviceId(const Request&);

absl::StatusOr<Shape> Fft(const Request&);
absl::StatusOr<Shape> Cholesky(const Request&);
absl::StatusOr<Shape> TriangularSolve(const Request&);
absl::StatusOr<Shape> Rng(const Request&);
absl::StatusOr<Shape> RngBitGenerator(const Request&);
absl::StatusOr<Shape> RngState(const Request&);

absl::StatusOr<Shape> AllGather(const Request&);
absl::StatusOr<Shape> AllReduce(const Request&);
absl::StatusOr<Shape> ReduceScatter(const Request&);
absl::StatusOr<Shape> AllToAll(const Request&);
absl::StatusOr<Shape> CollectivePermute(const Request&);
absl::StatusOr<Shape> CollectiveBroadcast(const Request&);
absl::StatusOr<Shape> CopyStart(const Request&);
absl::StatusOr<Shape> CopyDone(const Request&);
absl::StatusOr<Shape> AsyncStart(const Request&);
absl::StatusOr<Shape> AsyncUpdate(const Request&);
absl::StatusOr<Shape> AsyncDone(const Request&);
absl::StatusOr<Shape> Infeed(const Request&);
absl::StatusOr<Shape> Outfeed(const Request&);
absl::StatusOr<Shape> Send(const Request&);
absl::StatusOr<Shape> SendDone(const Request&);
absl::StatusOr<Shape> Recv(const Request&);
absl::StatusOr<Shape> RecvDone(const Request&);

// Whether an elementwise instruction with this declared shape is right at a glance: equal fixed dimensions and the
// right types. False says nothing: the rule decides. Most instructions of a module pass here without building a shape.
bool ElementwiseFitsAtAGlance(const Request& request);

// An error that begins with the opcode.
template <typename... T>
absl::Status Refuse(const Request& request, const T&... pieces) {
  return absl::InvalidArgumentError(StrCat(OpcodeName(request.opcode), ": ", pieces...));
}
// "`x` of shape f32[2]"
std::string Describe(const Request& request, int64_t operand);
std::string ToString(absl::Span<const int64_t> values);

absl::Status ExpectOperands(const Request& request, int64_t count);
absl::Status ExpectArray(const Request& request, int64_t operand);
// The declared shape, which the operands do not decide.
absl::StatusOr<Shape> Declared(const Request& request);
absl::StatusOr<Shape> DeclaredArray(const Request& request);
// Each lies in [0, rank) and none occurs twice.
absl::Status ExpectDistinct(const Request& request, std::string_view what, absl::Span<const int64_t> dimensions,
                            int64_t rank);
// Called computation `index` must take these shapes.
absl::Status ExpectParameters(const Request& request, const Computation& called, absl::Span<const Shape> shapes);
absl::Status ExpectCalled(const Request& request, int64_t count);

inline bool IsUnbounded(const Shape& shape) {
  for (int64_t d : shape.dimensions) {
    if (d == kUnboundedSize) return true;
  }
  return false;
}
// Equal sizes, or one is not known.
inline bool SizesAgree(int64_t a, int64_t b) { return a == b || a == kUnboundedSize || b == kUnboundedSize; }

// The shape, unless it is too large.
absl::StatusOr<Shape> Sized(const Request& request, Shape shape);

// Number of positions of a window along one dimension. Not overflowing whatever the numbers; kUnboundedSize for an
// unknown size.
absl::StatusOr<int64_t> WindowPositions(const Request& request, int64_t size, const WindowDimension& window,
                                        int64_t dimension);
absl::Status ExpectWindow(const Request& request, const Window& window, int64_t rank);

// A reducer of n values: 2n scalar parameters, accumulators first, and n scalars as a result.
absl::Status ExpectReducer(const Request& request, const Computation& reducer, absl::Span<const PrimitiveType> types);

}  // namespace smelt::hlo::shape_inference
