// Inside the evaluator: how a computation runs. Made once per computation and evaluation, since loop bodies run
// thousands of times.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "hlo/computation.h"
#include "hlo/evaluator/elementwise_kernel.h"
#include "hlo/evaluator/evaluation.h"
#include "hlo/evaluator/scalar_program.h"

namespace smelt::hlo {

struct Step {
  const Instruction* instruction = nullptr;
  Handler handler = nullptr;                 // of parameters: nullptr
  absl::InlinedVector<int32_t, 4> operands;  // steps that made them
  absl::InlinedVector<bool, 4>
      last_use;  // per operand: this step is the last to read it, and reads it no second time after
  std::optional<ElementwiseKernel> kernel;  // of elementwise opcodes
  std::vector<std::unique_ptr<ScalarProgram>>
      programs;           // of called computations that work on scalars, where they can be compiled; else null
  Value constant;         // of constants
  bool fixed = false;     // it gives the same in every run: nothing that it is made from is a parameter, or random
  bool boundary = false;  // a fixed one that is the root, or read by one that is not fixed
  bool rounds = false;    // MayRoundOtherwise
  bool chooses = false;   // ChoosesBy any
};

struct Plan {
  std::vector<Step> steps;
  std::vector<int32_t> parameter_steps;  // by parameter number; -1 where nothing reads it
  int32_t root = 0;
  // What the fixed steps at the boundary gave, by step: loop bodies make large arrays of constants, and need not make
  // them in every iteration. Taken in the second run, so that what runs once keeps nothing.
  enum class Memory { kNone, kOnce, kKnown, kTooLarge } memory = Memory::kNone;
  std::vector<Value> known;
};

absl::StatusOr<std::unique_ptr<Plan>> MakePlan(const Computation& computation);

}  // namespace smelt::hlo
