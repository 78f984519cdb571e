#include "hlo/golden/index_limits.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "hlo/attributes.h"
#include "hlo/computation.h"
#include "hlo/golden/inputs.h"
#include "hlo/opcode.h"

namespace smelt::hlo {
namespace {

// A value, or one element of a tuple.
struct Place {
  const Instruction* instruction;
  int64_t element;  // of a tuple; -1: the value itself
  bool operator<(const Place& other) const {
    return std::tie(instruction, element) < std::tie(other.instruction, other.element);
  }
};

// Elements of the shortest dimension that the gather's indices choose from.
int64_t ChoicesOf(const Instruction& gather) {
  const auto& attributes = gather.attributes<GatherAttributes>();
  const std::vector<int64_t>& from = gather.operand(0)->shape().dimensions;
  int64_t choices = INT64_MAX;
  for (const int64_t d : attributes.start_index_map)
    choices = std::min(choices, from[d] - attributes.slice_sizes[d] + 1);
  return choices;
}

// Operands whose elements a result's elements are, or are the same index as after integer arithmetic.
std::vector<int64_t> IndexOperands(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kSelect:
      return {1, 2};
    case Opcode::kClamp:
      return {1};
    case Opcode::kAdd:
    case Opcode::kSubtract:
    case Opcode::kMinimum:
    case Opcode::kMaximum:
    case Opcode::kDynamicUpdateSlice:
      return {0, 1};
    case Opcode::kConcatenate: {
      std::vector<int64_t> all;
      for (int64_t i = 0; i < instruction.operand_count(); ++i) all.push_back(i);
      return all;
    }
    case Opcode::kConvert:
    case Opcode::kCopy:
    case Opcode::kBitcast:
    case Opcode::kReshape:
    case Opcode::kBroadcast:
    case Opcode::kTranspose:
    case Opcode::kReverse:
    case Opcode::kSlice:
    case Opcode::kPad:
    case Opcode::kDynamicSlice:
    case Opcode::kGather:
    case Opcode::kOptimizationBarrier:
      return {0};
    default:
      return {};
  }
}

class Search {
 public:
  explicit Search(const Module& module) : module_(module) {
    int64_t leaf = 0;
    for (const Instruction* parameter : module.entry()->Parameters()) {
      first_leaf_[parameter] = leaf;
      std::vector<const Shape*> leaves;
      parameter->shape().AppendLeaves(&leaves);
      leaf += std::count_if(leaves.begin(), leaves.end(), [](const Shape* shape) { return shape->IsArray(); });
    }
    for (const Computation* computation : module.Computations()) {
      for (const Instruction* instruction : computation->Instructions()) {
        for (const Computation* called : instruction->called()) callers_[called].push_back(instruction);
        if (instruction->opcode() == Opcode::kGather) gathers_.push_back(instruction);
      }
    }
  }

  // Leaves that gathers with this many choices go by.
  std::set<int64_t> LeavesBehind(int64_t choices) {
    seen_.clear();
    leaves_.clear();
    for (const Instruction* gather : gathers_) {
      if (ChoicesOf(*gather) == choices) Ask({gather->operand(1), -1});
    }
    while (!open_.empty()) {
      const Place place = open_.back();
      open_.pop_back();
      Follow(place);
    }
    return std::move(leaves_);
  }

 private:
  void Ask(const Place& place) {
    if (seen_.insert(place).second) open_.push_back(place);
  }

  void Follow(const Place& place) {
    const Instruction& x = *place.instruction;
    switch (x.opcode()) {
      case Opcode::kParameter:
        return FollowParameter(x, place.element);
      case Opcode::kGetTupleElement:
        // The way ends at a tuple within a tuple, which nobody makes of indices.
        if (place.element < 0) Ask({x.operand(0), x.attributes<TupleIndexAttributes>().index});
        return;
      case Opcode::kTuple:
        if (place.element >= 0) Ask({x.operand(place.element), -1});
        return;
      case Opcode::kWhile:
        Ask({x.operand(0), place.element});
        return Ask({x.called(0)->root(), place.element});
      case Opcode::kCall:
      case Opcode::kFusion:
      case Opcode::kConditional:
        for (const Computation* called : x.called()) Ask({called->root(), place.element});
        return;
      default:
        break;
    }
    if (x.opcode() != Opcode::kOptimizationBarrier &&
        (!x.shape().IsArray() || !IsInteger(x.shape().element_type) || place.element >= 0))
      return;
    for (const int64_t operand : IndexOperands(x)) Ask({x.operand(operand), place.element});
  }

  void FollowParameter(const Instruction& parameter, int64_t element) {
    const int64_t number = parameter.attributes<ParameterAttributes>().number;
    if (parameter.parent() == module_.entry()) return AddLeaf(parameter, element);
    for (const Instruction* caller : callers_[parameter.parent()]) {
      switch (caller->opcode()) {
        case Opcode::kCall:
        case Opcode::kFusion:
          Ask({caller->operand(number), element});
          break;
        case Opcode::kWhile:
          Ask({caller, element});
          break;
        case Opcode::kConditional:
          for (int64_t branch = 0; branch < static_cast<int64_t>(caller->called().size()); ++branch) {
            if (caller->called(branch) == parameter.parent()) Ask({caller->operand(branch + 1), element});
          }
          break;
        default:
          break;
      }
    }
  }

  void AddLeaf(const Instruction& parameter, int64_t element) {
    int64_t leaf = first_leaf_[&parameter];
    const Shape* shape = &parameter.shape();
    for (int64_t i = 0; i < element; ++i) {
      std::vector<const Shape*> leaves;
      shape->tuple_shapes[i].AppendLeaves(&leaves);
      leaf += std::count_if(leaves.begin(), leaves.end(), [](const Shape* s) { return s->IsArray(); });
    }
    if (element >= 0) shape = &shape->tuple_shapes[element];
    if (shape->IsArray() && IsInteger(shape->element_type)) leaves_.insert(leaf);
  }

  const Module& module_;
  std::map<const Instruction*, int64_t> first_leaf_;
  std::map<const Computation*, std::vector<const Instruction*>> callers_;
  std::vector<const Instruction*> gathers_;
  std::set<Place> seen_;
  std::vector<Place> open_;
  std::set<int64_t> leaves_;
};

}  // namespace

std::map<int64_t, int64_t> IndexLimits(const Module& module) {
  const auto reach = static_cast<int64_t>(DefaultInputRange(PrimitiveType::kS32).high);
  Search search(module);
  std::map<int64_t, int64_t> limits;
  for (int64_t choices = 1; choices < reach; ++choices) {
    for (const int64_t leaf : search.LeavesBehind(choices)) limits.try_emplace(leaf, choices);
  }
  return limits;
}

}  // namespace smelt::hlo
