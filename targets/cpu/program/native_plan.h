// The door from HLO to the native operations of the runtime.
//
//   const absl::StatusOr<NativePlan> plan = PlanNative(instruction);
//   const bool native = plan.ok();   // false: plan.status() says why the evaluator runs it
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo/instruction.h"
#include "runtime/native/plan.h"
#include "runtime/native_operation.h"

namespace smelt::cpu {

struct NativePlan {
  runtime::native::Plan plan;
  std::vector<int64_t> inputs;  // operands of the instruction that are the operation's inputs, in order
  // Operands that become the outputs, in order: the operation changes what its outputs hold. Empty: it only writes.
  std::vector<int64_t> updated;
  std::shared_ptr<const runtime::NativeOperation> operation = nullptr;  // what the plan becomes
};

// Unimplemented, saying why, for what runs otherwise. Shapes are static arrays, as verified.
absl::StatusOr<NativePlan> PlanNative(const hlo::Instruction& instruction);

// Whether there is a native operation for some instructions of this opcode.
bool HasNativePlan(hlo::Opcode opcode);

}  // namespace smelt::cpu
