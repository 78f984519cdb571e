#include "kernels/loop_features/features.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kernels/loop_features/loop_tree.h"
#include "kernels/loop_features/machine_facts.h"
#include "kernels/lower/lower.h"

namespace smelt::kernels::loop_features {
namespace {

// Buffers that have a place of their own in a row, the most used first.
constexpr size_t kBuffers = 5;
// Loops around the statement that runs most that have a place of their own.
constexpr size_t kLoops = 16;
// Thresholds of relations: 1, 2, 4, ... elements.
constexpr int kThresholds = 20;
constexpr int kRelations = 4;
constexpr const char* kRelationNames[kRelations] = {"reuse below touched", "touched below reuse", "runs below touched",
                                                    "touched below runs"};
constexpr const char* kLoopNames[] = {"log extent",
                                      "serial",
                                      "parallel",
                                      "vectorized",
                                      "unrolled",
                                      "block",
                                      "thread",
                                      "virtual thread",
                                      "depth",
                                      "log runs",
                                      "log iterations",
                                      "guards",
                                      "log adds",
                                      "log multiplies",
                                      "log divisions",
                                      "log calls",
                                      "log integer operations"};
constexpr const char* kTouchNames[] = {"log touched", "log reuse", "log stride", "log bytes"};
constexpr size_t kLoopFacts = std::size(kLoopNames);
constexpr size_t kTouchFacts = std::size(kTouchNames);
constexpr size_t kContextWidth = kLoopFacts + kBuffers * kTouchFacts;

// Lowered loops with what the kinds of features share.
struct Lowered {
  ir::Function function;
  LoopTree tree;
  std::vector<float> facts;
  // The access that is made most often, of each of the most used buffers.
  std::vector<const AccessNode*> used;
};

absl::StatusOr<Lowered> LowerForFeatures(const schedule::Schedule& schedule, const machine::Machine& machine,
                                         bool fused) {
  Lowered lowered;
  SMELT_ASSIGN_OR_RETURN(lowered.function, lower::LowerToLoops(schedule, {.vector_bytes = machine.vector_bytes}));
  lowered.tree = BuildLoopTree(lowered.function, fused);
  lowered.facts = MachineFacts(lowered.tree, schedule, lowered.function, machine);
  struct Use {
    double bytes = 0;
    size_t first = 0;
    const AccessNode* most = nullptr;
  };
  absl::flat_hash_map<const ir::BufferNode*, Use> uses;
  for (size_t a = 0; a < lowered.tree.accesses.size(); ++a) {
    const AccessNode& access = lowered.tree.accesses[a];
    if (access.buffer->scope.allocator == te::Allocator::kRegisters) continue;
    Use& use = uses[access.buffer];
    if (use.most == nullptr) use.first = a;
    if (use.most == nullptr || access.count > use.most->count) use.most = &access;
    use.bytes += access.count * static_cast<double>(hlo::StorageBytes(access.buffer->type));
  }
  std::vector<Use> sorted;
  for (const auto& [buffer, use] : uses) sorted.push_back(use);
  std::sort(sorted.begin(), sorted.end(),
            [](const Use& a, const Use& b) { return a.bytes != b.bytes ? a.bytes > b.bytes : a.first < b.first; });
  for (const Use& use : sorted) {
    if (lowered.used.size() < kBuffers) lowered.used.push_back(use.most);
  }
  return lowered;
}

using Relation = std::array<float, kRelations * kThresholds>;

// Appends for each threshold the most (of runs: the fewest) of one quantity among the loops where another stays below
// it.
Relation RelationOf(const LoopTree& tree, const AccessNode& access) {
  Relation relation{};
  for (int k = 0; k < kThresholds; ++k) {
    const double threshold = std::ldexp(1.0, k);
    double reuse = 0, touched_by_reuse = 0, runs = 0, touched_by_runs = 0;
    for (const Touch& touch : access.at) {
      const double outside = tree.loops[touch.loop].outside;
      if (touch.touched <= threshold) {
        reuse = std::max(reuse, touch.reuse);
        runs = runs == 0 ? outside : std::min(runs, outside);
      }
      if (touch.reuse <= threshold) touched_by_reuse = std::max(touched_by_reuse, touch.touched);
      if (outside <= threshold) touched_by_runs = std::max(touched_by_runs, touch.touched);
    }
    relation[0 * kThresholds + k] = SignedLog(reuse);
    relation[1 * kThresholds + k] = SignedLog(touched_by_reuse);
    relation[2 * kThresholds + k] = SignedLog(runs);
    relation[3 * kThresholds + k] = SignedLog(touched_by_runs);
  }
  return relation;
}

void AppendContext(const Lowered& lowered, int loop, std::vector<float>* row) {
  const LoopNode& node = lowered.tree.loops[loop];
  row->push_back(SignedLog(node.extent));
  for (int kind = 0; kind <= static_cast<int>(ir::ForKind::kVirtualThread); ++kind) {
    row->push_back(static_cast<int>(node.kind) == kind ? 1.0f : 0.0f);
  }
  row->push_back(static_cast<float>(node.depth));
  row->push_back(SignedLog(node.outside));
  row->push_back(SignedLog(node.inside));
  row->push_back(static_cast<float>(node.guards));
  for (double count : {node.arithmetic.adds, node.arithmetic.multiplies, node.arithmetic.divisions,
                       node.arithmetic.calls, node.arithmetic.integers}) {
    row->push_back(SignedLog(count));
  }
  for (size_t b = 0; b < kBuffers; ++b) {
    float values[kTouchFacts] = {0, 0, 0, 0};
    const ir::BufferNode* buffer = b < lowered.used.size() ? lowered.used[b]->buffer : nullptr;
    // The access to the buffer below this loop that touches most counts.
    double most = 0;
    for (const AccessNode& access : lowered.tree.accesses) {
      if (access.buffer != buffer || buffer == nullptr) continue;
      for (const Touch& touch : access.at) {
        if (touch.loop != loop || touch.touched <= most) continue;
        most = touch.touched;
        values[0] = SignedLog(touch.touched);
        values[1] = SignedLog(touch.reuse);
        values[2] = SignedLog(touch.stride);
        values[3] = SignedLog(touch.touched * static_cast<double>(hlo::StorageBytes(buffer->type)));
      }
    }
    row->insert(row->end(), values, values + kTouchFacts);
  }
}

void AppendRelations(const Lowered& lowered, std::vector<float>* row) {
  for (size_t b = 0; b < kBuffers; ++b) {
    const Relation relation = b < lowered.used.size() ? RelationOf(lowered.tree, *lowered.used[b]) : Relation{};
    row->insert(row->end(), relation.begin(), relation.end());
  }
}

void AppendHottestLoops(const Lowered& lowered, std::vector<float>* row) {
  const StatementNode* hottest = nullptr;
  double most = -1;
  for (const StatementNode& statement : lowered.tree.statements) {
    const double work = statement.count * std::max(1.0, statement.arithmetic.total());
    if (work <= most) continue;
    most = work;
    hottest = &statement;
  }
  int loop = hottest == nullptr ? -1 : hottest->loop;
  for (size_t i = 0; i < kLoops; ++i) {
    if (loop < 0) {
      row->insert(row->end(), kContextWidth, 0.0f);
      continue;
    }
    AppendContext(lowered, loop, row);
    loop = lowered.tree.loops[loop].parent;
  }
}

void AppendInvariants(const Lowered& lowered, std::vector<float>* row) {
  Relation sum{}, most{};
  for (const AccessNode* access : lowered.used) {
    const Relation relation = RelationOf(lowered.tree, *access);
    for (size_t i = 0; i < relation.size(); ++i) {
      sum[i] += relation[i];
      most[i] = std::max(most[i], relation[i]);
    }
  }
  row->insert(row->end(), sum.begin(), sum.end());
  row->insert(row->end(), most.begin(), most.end());
}

void NameRelations(const std::string& of, std::vector<std::string>* names) {
  for (const char* relation : kRelationNames) {
    for (int k = 0; k < kThresholds; ++k) names->push_back(absl::StrCat(of, ": log ", relation, " 2^", k));
  }
}

// Facts that a row of this kind ends with. Counts of instructions, and strides of fused loops, tell kernels apart;
// among the schedules of one kernel they helped no search (C10, five seeds with them 1.07 to 1.09 times the default's
// speed, two without 1.16 and 1.09).
int FactsOf(Kind kind) {
  return static_cast<int>(MachineFactNames().size()) - (kind == Kind::kMachine ? 0 : kInstructionFacts);
}

std::vector<std::string> MakeNames(Kind kind) {
  std::vector<std::string> names;
  switch (kind) {
    case Kind::kContextRelation:
      for (size_t b = 0; b < kBuffers; ++b) NameRelations(absl::StrCat("buffer ", b), &names);
      break;
    case Kind::kFlattened:
      for (size_t l = 0; l < kLoops; ++l) {
        for (const char* name : kLoopNames) names.push_back(absl::StrCat("loop ", l, ": ", name));
        for (size_t b = 0; b < kBuffers; ++b) {
          for (const char* name : kTouchNames) names.push_back(absl::StrCat("loop ", l, ", buffer ", b, ": ", name));
        }
      }
      break;
    case Kind::kInvariant:
      NameRelations("all buffers", &names);
      NameRelations("largest of a buffer", &names);
      break;
    case Kind::kMachine:
      break;
  }
  const std::vector<std::string>& facts = MachineFactNames();
  names.insert(names.end(), facts.begin(), facts.begin() + FactsOf(kind));
  return names;
}

}  // namespace

const std::vector<std::string>& Names(Kind kind) {
  static const auto* const names =
      new std::vector<std::vector<std::string>>{MakeNames(Kind::kContextRelation), MakeNames(Kind::kFlattened),
                                                MakeNames(Kind::kInvariant), MakeNames(Kind::kMachine)};
  return (*names)[static_cast<size_t>(kind)];
}

int Length(Kind kind) { return static_cast<int>(Names(kind).size()); }

absl::StatusOr<std::vector<float>> Features(const schedule::Schedule& schedule, const machine::Machine& machine,
                                            Kind kind) {
  SMELT_ASSIGN_OR_RETURN(const Lowered lowered, LowerForFeatures(schedule, machine, kind == Kind::kMachine));
  std::vector<float> row;
  row.reserve(static_cast<size_t>(Length(kind)));
  switch (kind) {
    case Kind::kContextRelation:
      AppendRelations(lowered, &row);
      break;
    case Kind::kFlattened:
      AppendHottestLoops(lowered, &row);
      break;
    case Kind::kInvariant:
      AppendInvariants(lowered, &row);
      break;
    case Kind::kMachine:
      break;
  }
  row.insert(row.end(), lowered.facts.begin(), lowered.facts.begin() + FactsOf(kind));
  return row;
}

int ContextWidth() { return static_cast<int>(kContextWidth); }

absl::StatusOr<LoopSequence> ContextSequence(const schedule::Schedule& schedule, const machine::Machine& machine) {
  SMELT_ASSIGN_OR_RETURN(Lowered lowered, LowerForFeatures(schedule, machine, /*fused=*/false));
  LoopSequence sequence;
  sequence.width = ContextWidth();
  for (size_t l = 0; l < lowered.tree.loops.size(); ++l) {
    AppendContext(lowered, static_cast<int>(l), &sequence.contexts);
    sequence.parents.push_back(lowered.tree.loops[l].parent);
  }
  lowered.facts.resize(lowered.facts.size() - kInstructionFacts);
  sequence.machine = std::move(lowered.facts);
  return sequence;
}

}  // namespace smelt::kernels::loop_features
