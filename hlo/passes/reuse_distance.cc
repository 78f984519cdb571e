#include "hlo/passes/reuse_distance.h"

#include <algorithm>
#include <iterator>

#include "absl/container/flat_hash_set.h"

namespace smelt::hlo {
namespace {

// Results that lie in memory whatever is fused.
constexpr Opcode kInMemory[] = {
    Opcode::kFusion,
    Opcode::kDot,
    Opcode::kConvolution,
    Opcode::kReduce,
    Opcode::kReduceWindow,
    Opcode::kConcatenate,
    Opcode::kGather,
    Opcode::kScatter,
    Opcode::kSort,
    Opcode::kFft,
    Opcode::kCholesky,
    Opcode::kTriangularSolve,
    Opcode::kSelectAndScatter,
    Opcode::kCustomCall,
};

bool IsInMemory(const Instruction& instruction) {
  return std::find(std::begin(kInMemory), std::end(kInMemory), instruction.opcode()) != std::end(kInMemory);
}

int64_t ResultBytes(const Instruction& instruction) {
  std::vector<const Shape*> leaves;
  instruction.shape().AppendLeaves(&leaves);
  int64_t bytes = 0;
  for (const Shape* leaf : leaves) bytes += leaf->IsArray() ? leaf->ByteSize() : 0;
  return bytes;
}

// What computes a value, or the parameter that it is a part of.
const Instruction& OriginOf(const Instruction& value) {
  const Instruction* at = &value;
  while (at->opcode() == Opcode::kGetTupleElement) at = at->operand(0);
  return *at;
}

bool IsGiven(const Instruction& origin) {
  return origin.opcode() == Opcode::kParameter || origin.opcode() == Opcode::kConstant;
}

}  // namespace

bool ReuseDistances::IsAlias(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kReshape:
    case Opcode::kBitcast:
    case Opcode::kOptimizationBarrier:
    case Opcode::kAddDependency:
    case Opcode::kGetTupleElement:
      return true;
    default:
      return false;
  }
}

ReuseDistances::ReuseDistances(const Module& module) : entry_(module.entry()) {
  const std::vector<Computation*> order = module.ExecutedComputations();  // callees first
  for (const Computation* computation : order) {
    runs_[computation];
    for (const Instruction* instruction : computation->PostOrder()) {
      for (int64_t c = 0; c < static_cast<int64_t>(instruction->called().size()); ++c) {
        if (runs_.contains(instruction->called(c))) callers_[instruction->called(c)] = {instruction, c};
      }
      if (!IsAlias(*instruction)) continue;
      const Instruction* named = &Named(*instruction->operand(0));
      if (instruction->opcode() == Opcode::kGetTupleElement) {
        const int64_t index = instruction->attributes<TupleIndexAttributes>().index;
        named = named->opcode() == Opcode::kTuple && index < named->operand_count()
                    ? &Named(*named->operand(index))
                    : parts_.try_emplace({named, index}, instruction).first->second;
      }
      named_[instruction] = named;
    }
  }
  for (const Instruction* result : ArraysOf(*entry_->root())) results_.insert(result);
  for (const Computation* computation : order) RunThrough(*computation);
}

const Instruction& ReuseDistances::Named(const Instruction& value) const {
  const auto named = named_.find(&value);
  return named == named_.end() ? value : *named->second;
}

std::vector<const Instruction*> ReuseDistances::ArraysOf(const Instruction& operand) const {
  std::vector<const Instruction*> arrays;
  std::vector<const Instruction*> open{&operand};
  absl::flat_hash_set<const Instruction*> seen;
  while (!open.empty()) {
    const Instruction& value = Named(*open.back());
    open.pop_back();
    if (!seen.insert(&value).second) continue;
    if (value.opcode() == Opcode::kTuple) {
      for (const Instruction* element : value.operands()) open.push_back(element);
    } else if (value.shape().IsArray() && !value.shape().IsScalar()) {
      arrays.push_back(&value);
    }
  }
  return arrays;
}

void ReuseDistances::RunThrough(const Computation& computation) {
  Run run;
  absl::flat_hash_set<const Instruction*> given;
  for (const Instruction* instruction : computation.PostOrder()) {
    if (instruction->opcode() == Opcode::kTuple || IsAlias(*instruction)) continue;
    Place place{run.passed, run.passed};
    int64_t made = IsInMemory(*instruction) || results_.contains(instruction) ? ResultBytes(*instruction) : 0;
    bool runs_others = false;
    for (const Computation* called : instruction->called()) {
      const auto inner = runs_.find(called);
      if (inner == runs_.end()) continue;
      made += inner->second.distinct;
      runs_others = true;
    }
    std::vector<const Instruction*> arrays;
    for (const Instruction* operand : instruction->operands()) {
      const std::vector<const Instruction*> more = ArraysOf(*operand);
      arrays.insert(arrays.end(), more.begin(), more.end());
    }
    for (const Instruction* array : arrays) {
      if (runs_others || !IsGiven(OriginOf(*array))) continue;  // what it gives to others is counted in these
      place.after += array->shape().ByteSize();
      if (given.insert(array).second) run.distinct += array->shape().ByteSize();
    }
    place.after += made;
    run.distinct += made;
    run.passed = place.after;
    run.places[instruction] = place;
    for (const Instruction* array : arrays) run.touches[array].push_back(place);
  }
  runs_[&computation] = std::move(run);
}

int64_t ReuseDistances::Exact(const Instruction& user, const Instruction& value) const {
  const Instruction* reader = &user;
  const Instruction* read = &Named(value);
  for (;;) {
    const Computation* computation = reader->parent();
    const auto found = runs_.find(computation);
    if (found == runs_.end()) return 0;
    const Run& run = found->second;
    const Instruction& origin = OriginOf(*read);
    const auto caller = callers_.find(computation);
    // A branch or a called function reads what its caller gives it: the distance is that of the caller's operand.
    if (origin.opcode() == Opcode::kParameter && computation != entry_ && caller != callers_.end() &&
        caller->second.instruction->opcode() != Opcode::kWhile) {
      const Instruction& call = *caller->second.instruction;
      const int64_t number = call.opcode() == Opcode::kConditional ? caller->second.number + 1
                                                                   : origin.attributes<ParameterAttributes>().number;
      if (number >= call.operand_count()) return 0;
      const Instruction* given = &Named(*call.operand(number));
      if (read != &origin && given->opcode() == Opcode::kTuple && read->operand(0) == &origin) {
        const int64_t index = read->attributes<TupleIndexAttributes>().index;
        if (index < given->operand_count()) given = &Named(*given->operand(index));
      }
      read = given;
      reader = &call;
      continue;
    }
    const auto place = run.places.find(reader);
    const auto touched = run.touches.find(read);
    if (place == run.places.end() || touched == run.touches.end()) return 0;
    const int64_t now = place->second.before;
    const std::vector<Place>& touches = touched->second;
    const auto next =
        std::partition_point(touches.begin(), touches.end(), [&](const Place& touch) { return touch.after <= now; });
    int64_t passed = 0;
    if (next != touches.begin()) {
      passed = now - std::prev(next)->after;
    } else if (IsGiven(origin)) {
      passed = run.passed - touches.back().after + now;
    } else if (const auto made = run.places.find(&origin); made != run.places.end()) {
      passed = now - made->second.after;
    }
    return std::clamp<int64_t>(passed, 0, run.distinct);
  }
}

int64_t ReuseDistances::Of(const Instruction& user, const Instruction& value) const {
  const int64_t bytes = Exact(user, value);
  return bytes < kLeast ? 0 : bytes;
}

int64_t ReuseDistances::OwnBytes(const Instruction& instruction) const {
  const auto run = runs_.find(instruction.parent());
  if (run == runs_.end()) return 0;
  const auto place = run->second.places.find(&instruction);
  return place == run->second.places.end() ? 0 : place->second.after - place->second.before;
}

int64_t ReuseDistances::OfResult(const Instruction& instruction, int64_t part, int64_t own_bytes) const {
  const Instruction* result = &instruction;
  if (instruction.shape().IsTuple()) {
    const auto found = parts_.find({&instruction, part});
    if (found == parts_.end()) return 0;
    result = found->second;
  }
  if (!results_.contains(result)) return 0;
  const Run& run = runs_.at(entry_);
  const int64_t bytes = std::min(run.passed - own_bytes, run.distinct);
  return bytes < kLeast ? 0 : bytes;
}

}  // namespace smelt::hlo
