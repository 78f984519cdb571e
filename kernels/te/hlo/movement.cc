#include <algorithm>

#include "absl/strings/str_cat.h"
#include "hlo/loop_nest.h"
#include "kernels/te/hlo/index.h"
#include "kernels/te/hlo/rules.h"

namespace smelt::kernels::te {
namespace {

std::vector<Expr> Copy(Indices indices) { return std::vector<Expr>(indices.begin(), indices.end()); }

std::vector<Value> One(Value value) { return {std::move(value)}; }

// Logical dimensions in the order in which they lie in memory, major first.
std::vector<int64_t> MajorToMinor(const hlo::Shape& shape) {
  std::vector<int64_t> order;
  if (shape.layout && static_cast<int64_t>(shape.layout->minor_to_major.size()) == shape.rank()) {
    order.assign(shape.layout->minor_to_major.rbegin(), shape.layout->minor_to_major.rend());
  } else {
    for (int64_t i = 0; i < shape.rank(); ++i) order.push_back(i);
  }
  return order;
}

template <typename T>
std::vector<T> Permute(absl::Span<const T> values, const std::vector<int64_t>& order) {
  std::vector<T> result;
  for (int64_t i : order) result.push_back(values[i]);
  return result;
}

}  // namespace

absl::StatusOr<std::vector<Value>> BroadcastRule(const RuleInput& input) {
  const Value& operand = input.operand(0);
  if (operand.IsUniform()) return One(operand);
  const std::vector<int64_t>& dimensions = input.instruction.attributes<hlo::DimensionsAttributes>().dimensions;
  const std::vector<int64_t>& from = input.operand_dimensions(0);
  return One(input.Emit([&](Indices indices) {
    std::vector<Expr> position;
    for (size_t i = 0; i < dimensions.size(); ++i) {
      position.push_back(from[i] == 1 ? Expr(0) : indices[dimensions[i]]);
    }
    return operand.At(position);
  }));
}

absl::StatusOr<std::vector<Value>> ReshapeRule(const RuleInput& input) {
  const Value& operand = input.operand(0);
  if (operand.IsUniform()) return One(operand);
  return One(input.Emit([&](Indices indices) {
    return operand.At(ReshapeIndices(indices, input.dimensions(), input.operand_dimensions(0)));
  }));
}

// The bytes stay where the layouts say they are: the result's element takes the physical position of its own layout,
// and the operand's layout says which logical element lies there.
absl::StatusOr<std::vector<Value>> BitcastRule(const RuleInput& input) {
  const Value& operand = input.operand(0);
  const DataType type{input.type(), 1};
  const auto convert = [&](Expr x) { return x.type() == type ? x : BitCast(type, x); };
  if (operand.IsUniform()) return One({{}, convert(operand.uniform)});
  const hlo::Shape& to = input.instruction.shape();
  const hlo::Shape& from = input.instruction.operand(0)->shape();
  const std::vector<int64_t> to_order = MajorToMinor(to);
  const std::vector<int64_t> from_order = MajorToMinor(from);
  return One(input.Emit([&](Indices indices) {
    std::vector<Expr> physical =
        ReshapeIndices(Permute<Expr>(indices, to_order), Permute<int64_t>(to.dimensions, to_order),
                       Permute<int64_t>(from.dimensions, from_order));
    std::vector<Expr> position(from.rank());
    for (int64_t i = 0; i < from.rank(); ++i) position[from_order[i]] = physical[i];
    return convert(operand.At(position));
  }));
}

// Between widths, the last dimension of the narrower side counts the parts of an element, its lowest bits first.
absl::StatusOr<std::vector<Value>> BitcastConvertRule(const RuleInput& input) {
  const Value& operand = input.operand(0);
  const PrimitiveType from = input.instruction.operand(0)->shape().element_type;
  const PrimitiveType to = input.type();
  const int from_bits = hlo::BitWidth(from), to_bits = hlo::BitWidth(to);
  if (from_bits == to_bits) return ElementwiseRule(input);
  const DataType narrow{*hlo::UnsignedOfBits(std::min(from_bits, to_bits)), 1},
      wide{*hlo::UnsignedOfBits(std::max(from_bits, to_bits)), 1};
  const auto bits_of = [](const Expr& x, DataType type) { return x.type() == type ? x : BitCast(type, x); };
  const auto shift = [&](int64_t part) { return IntConst(wide, part * hlo::BitWidth(narrow.element)); };
  const int64_t parts = hlo::BitWidth(wide.element) / hlo::BitWidth(narrow.element);
  return One(input.Emit([&](Indices indices) {
    std::vector<Expr> position(indices.begin(), indices.end());
    if (from_bits > to_bits) {
      const Expr part = position.back();
      position.pop_back();
      const Expr amount = Cast(wide, part * static_cast<int64_t>(to_bits));
      const Expr shifted = Binary(BinaryOp::kShiftRightLogical, bits_of(operand.At(position), wide), amount);
      return bits_of(Cast(narrow, shifted), {to, 1});
    }
    Expr all = IntConst(wide, 0);
    position.emplace_back();
    for (int64_t part = 0; part < parts; ++part) {
      position.back() = Expr(part);
      const Expr bits = Cast(wide, bits_of(operand.At(position), narrow));
      all = Binary(BinaryOp::kOr, all, Binary(BinaryOp::kShiftLeft, bits, shift(part)));
    }
    return bits_of(all, {to, 1});
  }));
}

absl::StatusOr<std::vector<Value>> TransposeRule(const RuleInput& input) {
  const Value& operand = input.operand(0);
  if (operand.IsUniform()) return One(operand);
  const std::vector<int64_t>& permutation = input.instruction.attributes<hlo::DimensionsAttributes>().dimensions;
  return One(input.Emit([&](Indices indices) {
    std::vector<Expr> position(permutation.size());
    for (size_t i = 0; i < permutation.size(); ++i) position[permutation[i]] = indices[i];
    return operand.At(position);
  }));
}

absl::StatusOr<std::vector<Value>> SliceRule(const RuleInput& input) {
  const Value& operand = input.operand(0);
  if (operand.IsUniform()) return One(operand);
  const std::vector<hlo::SliceDimension>& slice = input.instruction.attributes<hlo::SliceAttributes>().dimensions;
  return One(input.Emit([&](Indices indices) {
    std::vector<Expr> position;
    for (size_t i = 0; i < slice.size(); ++i) position.push_back(indices[i] * slice[i].stride + slice[i].start);
    return operand.At(position);
  }));
}

absl::StatusOr<std::vector<Value>> ReverseRule(const RuleInput& input) {
  const Value& operand = input.operand(0);
  if (operand.IsUniform()) return One(operand);
  return One(input.Emit([&](Indices indices) {
    std::vector<Expr> position = Copy(indices);
    for (int64_t d : input.instruction.attributes<hlo::DimensionsAttributes>().dimensions) {
      position[d] = Expr(input.dimensions()[d] - 1) - indices[d];
    }
    return operand.At(position);
  }));
}

absl::StatusOr<std::vector<Value>> PadRule(const RuleInput& input) {
  const std::vector<hlo::PadDimension>& padding = input.instruction.attributes<hlo::PadAttributes>().dimensions;
  const std::vector<int64_t>& from = input.operand_dimensions(0);
  return One(input.Emit([&](Indices indices) {
    std::vector<Expr> position;
    Expr inside = Bool(true);
    for (size_t i = 0; i < padding.size(); ++i) {
      const int64_t step = padding[i].interior + 1;
      const int64_t span = (from[i] - 1) * step + 1;  // operand with its interior padding
      Expr spread = indices[i] - padding[i].low;
      if (padding[i].low > 0) inside = And(inside, spread >= 0);
      // Where the result ends before the operand does, no upper check is needed.
      if (input.dimensions()[i] - 1 - padding[i].low >= span) inside = And(inside, spread < span);
      if (step > 1) inside = And(inside, FloorMod(spread, step) == 0);
      position.push_back(FloorDiv(spread, step));
    }
    Expr element = input.operand(0).At(position);
    int64_t always = 0;
    if (IsConstInt(inside, &always) && always != 0) return element;
    return If(inside, element, input.operand(1).At({}));
  }));
}

absl::StatusOr<std::vector<Value>> ConcatenateRule(const RuleInput& input) {
  const int64_t dimension = input.instruction.attributes<hlo::DimensionsAttributes>().dimensions[0];
  // Where each operand begins, with the number of operands as the last entry's successor.
  std::vector<int64_t> begins;
  int64_t total = 0;
  for (int64_t i = 0; i < input.instruction.operand_count(); ++i) {
    begins.push_back(total);
    total += input.operand_dimensions(i)[dimension];
  }
  return One(input.Emit([&](Indices indices) {
    const std::function<Expr(size_t, size_t)> choose = [&](size_t begin, size_t end) {
      if (end - begin == 1) {
        std::vector<Expr> position = Copy(indices);
        position[dimension] = indices[dimension] - begins[begin];
        return input.operand(begin).At(position);
      }
      const size_t middle = (begin + end) / 2;
      return If(indices[dimension] < begins[middle], choose(begin, middle), choose(middle, end));
    };
    return choose(0, begins.size());
  }));
}

}  // namespace smelt::kernels::te
