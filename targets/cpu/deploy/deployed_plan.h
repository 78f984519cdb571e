// A planned program as the plan of a deployable module, with everything that is constant in one piece of bytes.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "runtime/deploy/plan_file.h"
#include "targets/cpu/program/compiled_program.h"

namespace smelt::cpu::deploy {

// A piece of the weights: `bytes` lie at `offset`, zeros between the pieces.
struct WeightPiece {
  int64_t offset = 0;
  std::string_view bytes;
};

struct PlannedModule {
  runtime::deploy::DeployedPlan plan;  // inputs, outputs, jobs and program; the rest is the caller's
  std::vector<WeightPiece> weights;    // by offset
  std::vector<int64_t> jobs;           // of the compiled program, in the plan's order
};

// `known`: for every input of the program, where its value lies, null for those that are the caller's. `kept`: the
// memory of what was computed from them (runtime::Execution::kept_data). What no step reads is left out. Both must
// outlive the result.
PlannedModule PlanModule(const CompiledProgram& compiled, const std::vector<const void*>& known, const char* kept);

}  // namespace smelt::cpu::deploy
