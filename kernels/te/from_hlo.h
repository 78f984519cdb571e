// From a kernel's HLO computation to tensor expressions: the one place that turns HLO semantics into index expressions.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hlo/computation.h"
#include "kernels/te/tensor.h"

namespace smelt::kernels::te {

// Whether the instruction has a loop nest. If not, the status says why (an unsupported element type, sort, fft, ...)
// and the instruction runs as an opaque operation of the runtime.
absl::Status HasLoopNest(const hlo::Instruction& instruction);

// The same for an opcode: whether its instructions can have a loop nest, on which condition beside that of element
// types, or why they have none.
struct OpcodeLoops {
  bool loop_nest = false;
  std::string_view note;  // the condition, or the reason; empty: no condition
};
OpcodeLoops LoopsOf(hlo::Opcode opcode);

// Whether all of a kernel has: the reason is that of the first instruction, or parameter, that has not.
absl::Status HasLoopNest(const hlo::Computation& kernel);

// One operation an instruction (and helper operations where one needs several); parameters become placeholders, the
// root's leaves the graph's outputs. Every instruction must satisfy HasLoopNest.
absl::StatusOr<Graph> FromHlo(const hlo::Computation& kernel);

}  // namespace smelt::kernels::te
