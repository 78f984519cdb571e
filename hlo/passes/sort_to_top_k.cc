#include "hlo/passes/sort_to_top_k.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "hlo/rewrite/graph_builder.h"
#include "hlo/rewrite/rewrite_each.h"

namespace smelt::hlo {
namespace {

// A sort of more than half of a line gains nothing.
constexpr int64_t kLeastShare = 2;

// Whether the larger comes first; nothing for what is no plain comparison of the first operand's elements.
std::optional<bool> LargestFirst(const Computation& comparator) {
  const Instruction& root = *comparator.root();
  if (root.opcode() != Opcode::kCompare) return std::nullopt;
  const std::vector<Instruction*> parameters = comparator.Parameters();
  if (root.operand(0) != parameters[0] || root.operand(1) != parameters[1]) return std::nullopt;
  const CompareAttributes& compare = root.attributes<CompareAttributes>();
  if (compare.direction == ComparisonDirection::kGt) return true;
  if (compare.direction == ComparisonDirection::kLt) return false;
  return std::nullopt;
}

// Numbers along the last dimension: 0, 1, 2, ... in every line.
bool CountsAlongLines(const Instruction& x) {
  const int64_t last = x.shape().rank() - 1;
  if (x.opcode() == Opcode::kIota) return x.attributes<IotaAttributes>().dimension == last;
  return x.opcode() == Opcode::kBroadcast && x.operand(0)->opcode() == Opcode::kIota &&
         x.operand(0)->shape().rank() == 1 && x.attributes<DimensionsAttributes>().dimensions.back() == last;
}

// How many elements of each line the slice takes, from the first on; nothing where it is no such slice.
std::optional<int64_t> Beginning(const Instruction& user) {
  if (user.opcode() != Opcode::kSlice || user.HasControlEdges()) return std::nullopt;
  const std::vector<SliceDimension>& dimensions = user.attributes<SliceAttributes>().dimensions;
  for (size_t i = 0; i < dimensions.size(); ++i) {
    if (dimensions[i].start != 0 || dimensions[i].stride != 1) return std::nullopt;
    const bool whole = dimensions[i].limit == user.operand(0)->shape().dimensions[i];
    if (i + 1 < dimensions.size() && !whole) return std::nullopt;
  }
  return dimensions.back().limit;
}

// The slices of a sort's results, one list for each.
struct Slices {
  std::vector<std::vector<Instruction*>> of;
  int64_t most = 0;  // elements of a line
};

bool AddSlices(const Instruction& sorted, int64_t number, Slices* slices) {
  if (sorted.IsRoot()) return false;
  for (Instruction* user : sorted.users()) {
    const std::optional<int64_t> count = Beginning(*user);
    if (!count) return false;
    slices->most = std::max(slices->most, *count);
    slices->of[number].push_back(user);
  }
  return true;
}

std::optional<Slices> SlicesOf(const Instruction& sort) {
  Slices slices;
  slices.of.resize(sort.operand_count());
  if (sort.IsRoot() || sort.users().empty()) return std::nullopt;
  if (!sort.shape().IsTuple()) return AddSlices(sort, 0, &slices) ? std::optional(slices) : std::nullopt;
  for (const Instruction* user : sort.users()) {
    if (user->opcode() != Opcode::kGetTupleElement || user->HasControlEdges()) return std::nullopt;
    if (!AddSlices(*user, user->attributes<TupleIndexAttributes>().index, &slices)) return std::nullopt;
  }
  return slices;
}

bool Rewrite(Instruction& sort) {
  const Instruction& keys = *sort.operand(0);
  const Shape& shape = keys.shape();
  const int64_t last = shape.rank() - 1;
  if (sort.operand_count() > 2 || sort.HasControlEdges() || shape.IsDynamic() || last < 0) return false;
  const SortAttributes& attributes = sort.attributes<SortAttributes>();
  const bool ties_differ = IsFloat(shape.element_type) && attributes.is_stable;
  if (attributes.dimension != last || ties_differ) return false;
  if (!IsFloat(shape.element_type) && !IsInteger(shape.element_type)) return false;
  if (sort.operand_count() == 2 &&
      (sort.operand(1)->shape().element_type != PrimitiveType::kS32 || !CountsAlongLines(*sort.operand(1))))
    return false;
  const std::optional<bool> largest = LargestFirst(*sort.called(0));
  const std::optional<Slices> slices = SlicesOf(sort);
  if (!largest || !slices || slices->most < 1 || slices->most * kLeastShare > shape.dimensions[last]) return false;
  for (const std::vector<Instruction*>& list : slices->of) {
    for (const Instruction* slice : list) {
      if (!SameLayout(slice->shape(), Shape::Array(slice->shape().element_type, slice->shape().dimensions)))
        return false;
    }
  }

  GraphBuilder build(sort);
  std::vector<int64_t> dimensions = shape.dimensions;
  dimensions[last] = slices->most;
  Instruction* top = build.Add(
      Opcode::kTopK,
      Shape::Tuple({Shape::Array(shape.element_type, dimensions), Shape::Array(PrimitiveType::kS32, dimensions)}),
      {sort.operand(0)}, TopKAttributes{.k = slices->most, .largest = *largest});
  for (size_t number = 0; number < slices->of.size(); ++number) {
    if (slices->of[number].empty()) continue;
    Instruction* best = build.GetTupleElement(top, static_cast<int64_t>(number));
    for (Instruction* slice : slices->of[number]) {
      const std::vector<SliceDimension>& taken = slice->attributes<SliceAttributes>().dimensions;
      Replace(*slice, taken[last].limit == slices->most ? best : build.Slice(best, taken));
      RemoveIfDead(slice);
    }
  }
  return true;
}

}  // namespace

absl::StatusOr<bool> SortsToTopK(Module& module) { return RewriteEach(module, Opcode::kSort, Rewrite); }

}  // namespace smelt::hlo
