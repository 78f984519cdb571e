#include "fusion/edge_rules.h"

#include <algorithm>

namespace smelt::fusion {
namespace {

using hlo::Instruction;
using hlo::Opcode;

// Whether dimensions `mapped` of `to`, taken in order, come before all others, dimensions of one element aside: then a
// row-major position divided by the size of the others is a row-major position of the mapped ones.
bool LeadingInOrder(const hlo::Shape& to, absl::Span<const int64_t> mapped) {
  int64_t last = -1;
  int64_t covered = 0;
  for (int64_t d : mapped) {
    if (to.dimensions[d] == 1) continue;
    if (d < last) return false;
    last = d;
    ++covered;
  }
  for (int64_t d = 0; d <= last; ++d) covered -= to.dimensions[d] != 1;
  return covered == 0;
}

bool KeepsOrder(const hlo::Shape& from, absl::Span<const int64_t> permutation) {
  int64_t last = -1;
  for (int64_t d : permutation) {
    if (from.dimensions[d] == 1) continue;
    if (d < last) return false;
    last = d;
  }
  return true;
}

double Ratio(int64_t reads, int64_t elements) {
  return static_cast<double>(reads) / static_cast<double>(std::max<int64_t>(elements, 1));
}

int64_t ProductOf(const hlo::Shape& shape, absl::Span<const int64_t> dimensions) {
  int64_t product = 1;
  for (int64_t d : dimensions) product *= shape.dimensions[d];
  return product;
}

// Multiply-adds of a contraction over the elements of an operand.
double ContractionReuse(const Instruction& contraction, int64_t i) {
  const int64_t out = contraction.shape().ElementCount();
  double steps = 1;
  if (contraction.opcode() != Opcode::kConvolution) {
    const auto& dot = contraction.attributes<hlo::DotAttributes>();
    steps = static_cast<double>(ProductOf(contraction.operand(0)->shape(), dot.lhs_contracting));
  } else {
    const auto& convolution = contraction.attributes<hlo::ConvolutionAttributes>();
    const hlo::Shape& kernel = contraction.operand(1)->shape();
    steps = static_cast<double>(kernel.dimensions[convolution.dimensions.kernel_input_feature]);
    for (int64_t d : convolution.dimensions.kernel_spatial) steps *= static_cast<double>(kernel.dimensions[d]);
  }
  const int64_t elements = contraction.operand(i)->shape().ElementCount();
  return std::max(1.0, static_cast<double>(out) * steps / static_cast<double>(std::max<int64_t>(elements, 1)));
}

double WindowReuse(const Instruction& reduce_window, int64_t i) {
  double reads =
      static_cast<double>(reduce_window.shape().IsTuple() ? reduce_window.shape().tuple_shapes[0].ElementCount()
                                                          : reduce_window.shape().ElementCount());
  for (const hlo::WindowDimension& d : reduce_window.attributes<hlo::WindowAttributes>().window.dimensions) {
    reads *= static_cast<double>(d.size);
  }
  return std::max(1.0, reads / static_cast<double>(reduce_window.operand(i)->shape().ElementCount()));
}

// Elements change places, and nothing else.
bool IsPlainMove(const Instruction& x) {
  return x.opcode() == Opcode::kReshape || x.opcode() == Opcode::kTranspose || x.opcode() == Opcode::kCopy;
}

}  // namespace

bool FollowsContraction(const Node& consumer, const Rules& rules) {
  return consumer.elementwise || (rules.moves_arrays_of_contractions && IsPlainMove(*consumer.instruction));
}

bool IsLinearBitcast(const Instruction& bitcast) {
  return bitcast.shape().HasDefaultLayout() && bitcast.operand(0)->shape().HasDefaultLayout();
}

EdgeAccess OperandAccess(const Instruction& consumer, int64_t i) {
  const hlo::Shape& from = consumer.operand(i)->shape();
  const hlo::Shape& to = consumer.shape();
  const int64_t in = from.ElementCount();
  const int64_t out = to.IsTuple() ? to.tuple_shapes[0].ElementCount() : to.ElementCount();
  const EdgeAccess other{Access::kOther, std::max(1.0, Ratio(out, in))};
  switch (consumer.opcode()) {
    case Opcode::kBroadcast: {
      const auto& dimensions = consumer.attributes<hlo::DimensionsAttributes>().dimensions;
      if (!LeadingInOrder(to, dimensions)) return other;
      return {in == out ? Access::kLinear : Access::kBroadcast, Ratio(out, in)};
    }
    case Opcode::kTranspose:
      if (KeepsOrder(from, consumer.attributes<hlo::DimensionsAttributes>().dimensions)) return {Access::kLinear, 1};
      return {Access::kOther, 1};
    case Opcode::kReshape:
      return {Access::kLinear, 1};
    case Opcode::kBitcastConvert:  // into more or fewer elements where the widths differ
      return in == out ? EdgeAccess{Access::kLinear, 1} : other;
    case Opcode::kBitcast:
      return {IsLinearBitcast(consumer) ? Access::kLinear : Access::kOther, 1};
    case Opcode::kReduce:
      if (i < consumer.operand_count() / 2) return {Access::kLinear, 1};
      return other;
    case Opcode::kReduceWindow:
      if (i < consumer.operand_count() / 2) return {Access::kOther, WindowReuse(consumer, i)};
      return other;
    case Opcode::kDot:
    case Opcode::kScaledDot:
    case Opcode::kConvolution:
      return {Access::kOther, ContractionReuse(consumer, i)};
    case Opcode::kSlice:
    case Opcode::kReverse:
    case Opcode::kConcatenate:
      return {Access::kOther, 1};
    default:
      break;
  }
  if (hlo::IsElementwise(consumer.opcode()) || consumer.opcode() == Opcode::kMap) {
    if (in == out) return {Access::kLinear, 1};
    if (in == 1) return {Access::kBroadcast, Ratio(out, in)};  // the scalars of select and clamp
  }
  return other;
}

Reason EdgeRule(const Node& producer, const Node& consumer, int64_t operand, const Rules& rules) {
  if (!IsLoopNest(producer.role) || !IsLoopNest(consumer.role)) return Reason::kOpaque;
  if (producer.ordered || consumer.ordered) return Reason::kOrder;
  if (producer.stays_ordered) return Reason::kOverwritten;
  if (producer.tuple_result) return Reason::kTupleResult;
  if (producer.dynamic_update || (consumer.dynamic_update && operand == 0)) return Reason::kInPlace;
  if (producer.role == Role::kContraction) {
    if (consumer.role == Role::kContraction) return Reason::kTwoContractions;
    if (consumer.role == Role::kReduction) return Reason::kContractionTile;
    if (!FollowsContraction(consumer, rules)) return Reason::kContractionConsumer;
  }
  if (producer.role == Role::kReduction && consumer.role == Role::kContraction) return Reason::kContractionTile;
  if (consumer.role == Role::kContraction && !rules.reads_through_contraction_operands &&
      !(rules.moves_arrays_of_contractions && IsPlainMove(*producer.instruction))) {
    return Reason::kContractionOperand;
  }
  if (producer.instruction->opcode() == Opcode::kConcatenate &&
      producer.instruction->operand_count() > rules.max_concatenate_operands) {
    return Reason::kConcatenate;
  }
  return Reason::kLegal;
}

}  // namespace smelt::fusion
