#include "kernels/te/hlo/pairs.h"

#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "hlo/opcode.h"

namespace smelt::kernels::te {
namespace {

using hlo::Instruction;
using hlo::Opcode;

constexpr size_t kMostInstructions = 64;
// Shorter sums have vectors over their results, whatever they read.
constexpr int64_t kLeastTerms = 9;
// Results that share an element, at least.
constexpr int64_t kLeastShared = 16;

// The dimensions that each broadcast array has of those of the reduced one; empty where anything else is read.
std::vector<std::vector<int64_t>> BroadcastsOf(const Instruction& reduced) {
  std::vector<std::vector<int64_t>> found;
  absl::flat_hash_set<const Instruction*> seen{&reduced};
  std::vector<const Instruction*> open{&reduced};
  while (!open.empty()) {
    const Instruction& x = *open.back();
    open.pop_back();
    if (x.opcode() == Opcode::kBroadcast) {
      if (x.operand(0)->shape().rank() > 0) found.push_back(x.attributes<hlo::DimensionsAttributes>().dimensions);
      continue;
    }
    const bool goes_on = hlo::IsElementwise(x.opcode()) && x.operand_count() > 0 && seen.size() <= kMostInstructions;
    if (!goes_on || x.shape().dimensions != reduced.shape().dimensions) return {};
    for (const Instruction* operand : x.operands()) {
      if (seen.insert(operand).second) open.push_back(operand);
    }
  }
  return found;
}

bool EndsAsItIs(const Instruction& reduce) {
  absl::flat_hash_set<const Instruction*> seen{&reduce};
  std::vector<const Instruction*> open{&reduce};
  while (!open.empty()) {
    const Instruction& x = *open.back();
    open.pop_back();
    for (const Instruction* user : x.users()) {
      if (user->opcode() == Opcode::kTuple && user->IsRoot()) continue;
      if (!hlo::IsElementwise(user->opcode()) || seen.size() > kMostInstructions) return false;
      if (seen.insert(user).second) open.push_back(user);
    }
  }
  return true;
}

}  // namespace

bool ReducesPairs(const Instruction& reduce) {
  const std::vector<int64_t>& reduced = reduce.attributes<hlo::DimensionsAttributes>().dimensions;
  if (reduce.operand_count() != 2 || reduced.size() != 1 || !hlo::IsFloat(reduce.shape().element_type)) return false;
  const std::vector<int64_t>& shape = reduce.operand(0)->shape().dimensions;
  if (shape[reduced[0]] < kLeastTerms) return false;
  const std::vector<std::vector<int64_t>> arrays = BroadcastsOf(*reduce.operand(0));
  const auto has = [](const std::vector<int64_t>& dimensions, int64_t d) {
    return std::find(dimensions.begin(), dimensions.end(), d) != dimensions.end();
  };
  // A dimension along which this array is shared while another one goes on: that one's rows.
  const auto shared_along = [&](const std::vector<int64_t>& array) {
    for (int64_t d = 0; d < static_cast<int64_t>(shape.size()); ++d) {
      if (d == reduced[0] || shape[d] < kLeastShared || has(array, d)) continue;
      if (std::any_of(arrays.begin(), arrays.end(),
                      [&](const auto& other) { return has(other, d) && has(other, reduced[0]); }))
        return d;
    }
    return int64_t{-1};
  };
  int64_t first = -1;
  bool pairs = false;
  for (const std::vector<int64_t>& array : arrays) {
    const int64_t along = shared_along(array);
    if (along < 0) return false;
    if (!has(array, reduced[0])) continue;
    if (first < 0) first = along;
    pairs = pairs || along != first;
  }
  return pairs && EndsAsItIs(reduce);
}

}  // namespace smelt::kernels::te
