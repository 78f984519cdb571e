#include "hlo/passes/equality.h"

#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "hlo/literal.h"
#include "hlo/raw_attribute.h"
#include "hlo/rewrite/graph_builder.h"

namespace smelt::hlo {
namespace {

bool SameRawAttributes(const Instruction& a, const Instruction& b) {
  const auto& x = a.raw_attributes();
  const auto& y = b.raw_attributes();
  size_t i = 0, j = 0;
  for (;;) {
    while (i < x.size() && !ChangesMeaning(x[i], a.opcode())) ++i;
    while (j < y.size() && !ChangesMeaning(y[j], b.opcode())) ++j;
    if (i == x.size() || j == y.size()) return i == x.size() && j == y.size();
    if (x[i++] != y[j++]) return false;
  }
}

// A layout that is absent and one that says the default are the same.
bool SameShape(const Shape& a, const Shape& b) {
  return a == b || (a.SameAs(b) && a.dynamic == b.dynamic && SameLayout(a, b));
}

bool SameAttributes(const Attributes& a, const Attributes& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        const T& other = std::get<T>(b);
        if constexpr (std::is_same_v<T, ConstantAttributes>) {
          if (value.elided != other.elided) return false;
          return value.literal == other.literal || (value.literal && other.literal && *value.literal == *other.literal);
        } else {
          return value == other;
        }
      },
      a);
}

// Hashes those attributes by which instructions that read one value usually differ; others are told apart by comparing.
struct AttributeHash {
  uint64_t operator()(const ConstantAttributes& constant) const {
    if (constant.literal == nullptr) return 0;
    const auto* bytes = static_cast<const char*>(constant.literal->raw());
    return absl::HashOf(std::string_view(bytes, bytes == nullptr ? 0 : constant.literal->byte_size()));
  }
  uint64_t operator()(const DimensionsAttributes& x) const { return absl::HashOf(x.dimensions); }
  uint64_t operator()(const IotaAttributes& x) const { return absl::HashOf(x.dimension); }
  uint64_t operator()(const TupleIndexAttributes& x) const { return absl::HashOf(x.index); }
  uint64_t operator()(const ParameterAttributes& x) const { return absl::HashOf(x.number); }
  uint64_t operator()(const CompareAttributes& x) const { return absl::HashOf(static_cast<int>(x.direction)); }
  uint64_t operator()(const SliceAttributes& x) const {
    uint64_t hash = 0;
    for (const SliceDimension& d : x.dimensions) hash = absl::HashOf(hash, d.start, d.limit, d.stride);
    return hash;
  }
  uint64_t operator()(const PadAttributes& x) const {
    uint64_t hash = 0;
    for (const PadDimension& d : x.dimensions) hash = absl::HashOf(hash, d.low, d.high, d.interior);
    return hash;
  }
  template <typename Other>
  uint64_t operator()(const Other&) const {
    return 0;
  }
};

// Positions of instructions in a computation's order.
absl::flat_hash_map<const Instruction*, int64_t> Positions(const std::vector<Instruction*>& order) {
  absl::flat_hash_map<const Instruction*, int64_t> positions;
  for (size_t i = 0; i < order.size(); ++i) positions[order[i]] = static_cast<int64_t>(i);
  return positions;
}

}  // namespace

bool SameOperation(const Instruction& a, const Instruction& b) {
  return a.opcode() == b.opcode() && a.operand_count() == b.operand_count() && SameShape(a.shape(), b.shape()) &&
         a.called() == b.called() && SameAttributes(a.all_attributes(), b.all_attributes()) && SameRawAttributes(a, b);
}

uint64_t HashOperation(const Instruction& instruction) {
  uint64_t attributes = std::visit(AttributeHash{}, instruction.all_attributes());
  for (const RawAttribute& raw : instruction.raw_attributes()) {
    if (ChangesMeaning(raw, instruction.opcode())) attributes = absl::HashOf(attributes, raw.name, raw.value);
  }
  return absl::HashOf(static_cast<int>(instruction.opcode()), static_cast<int>(instruction.shape().element_type),
                      instruction.shape().dimensions, attributes, instruction.called().size());
}

bool SameComputation(const Computation& a, const Computation& b) {
  if (a.instruction_count() != b.instruction_count()) return false;
  const std::vector<Instruction*> a_order = a.PostOrder();
  const std::vector<Instruction*> b_order = b.PostOrder();
  const auto a_positions = Positions(a_order);
  const auto b_positions = Positions(b_order);
  for (size_t i = 0; i < a_order.size(); ++i) {
    const Instruction& x = *a_order[i];
    const Instruction& y = *b_order[i];
    if (!SameOperation(x, y) || x.IsRoot() != y.IsRoot()) return false;
    if (x.control_predecessors().size() + y.control_predecessors().size() > 0) return false;
    for (int64_t k = 0; k < x.operand_count(); ++k) {
      if (a_positions.at(x.operand(k)) != b_positions.at(y.operand(k))) return false;
    }
  }
  return true;
}

uint64_t HashComputation(const Computation& computation) {
  uint64_t hash = static_cast<uint64_t>(computation.instruction_count());
  for (const Instruction* instruction : computation.PostOrder()) {
    hash = absl::HashOf(hash, HashOperation(*instruction), instruction->IsRoot());
  }
  return hash;
}

}  // namespace smelt::hlo
