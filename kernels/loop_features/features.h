// What a learned cost model sees of a schedule: numbers about its loops, read after the first part of lowering
// (lower::LowerToLoops), without code generation.
//
//   std::vector<float> row = Features(schedule, machine, Kind::kContextRelation).value();
//   row.size() == Length(Kind::kContextRelation);     // for every schedule of every kernel
//   LoopSequence loops = ContextSequence(schedule, machine).value();
//
// After AutoTVM (Chen et al., NeurIPS 2018, Section 4 and its supplement on features), with three differences: lengths
// are fixed by construction; touched elements are counted by regions, so that the windows of a convolution overlap; and
// what the machine makes of the loops stands beside them: accumulators against registers, bytes moved between levels of
// its memory, balance of the threads, use of the lanes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/schedule/schedule.h"
#include "machine/machine.h"

namespace smelt::kernels::loop_features {

enum class Kind : uint8_t {
  kContextRelation,  // for each of the largest buffers: the reuse that loops reach under thresholds of touched elements
                     // and the like
  kFlattened,        // the context of each loop around the statement that runs most, inner first
  kInvariant,        // relations summed over buffers and shares of the machine: for models that serve several kernels
  kMachine,  // what the machine makes of the loops alone (machine_facts.h); every other row ends with most of it
};

// Numbers in a row of this kind, and what each of them is: models keep the names, so that a number which changes its
// meaning needs another one.
int Length(Kind kind);
const std::vector<std::string>& Names(Kind kind);

// A row. Logarithms are log2(1 + |x|) with the sign of x. Errors: those of lowering.
absl::StatusOr<std::vector<float>> Features(const schedule::Schedule& schedule, const machine::Machine& machine,
                                            Kind kind);

// The loops of a kernel as a tree, in program order: a loop comes before those within it. For models over sequences
// (TreeGRU).
struct LoopSequence {
  int width = 0;                // numbers in one context
  std::vector<float> contexts;  // loops x width
  std::vector<int> parents;     // of each loop: the loop around it, -1 for the outermost
  std::vector<float> machine;   // of the whole kernel: the numbers about the machine

  int size() const { return static_cast<int>(parents.size()); }
};
int ContextWidth();
absl::StatusOr<LoopSequence> ContextSequence(const schedule::Schedule& schedule, const machine::Machine& machine);

}  // namespace smelt::kernels::loop_features
