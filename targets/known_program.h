// A program whose weights are known, ready to be fused and compiled.
//
//   KnownProgram known = PrepareKnownProgram(std::move(module), {1, 2}).value();
//   std::unique_ptr<hlo::Module> main = known.split.main->Clone();   // what a target takes
//   std::vector<hlo::Literal> of_main = known.split.MainInputs(inputs).value();
#pragma once

#include <cstdint>
#include <memory>
#include <set>

#include "absl/status/statusor.h"
#include "hlo/known/split.h"
#include "hlo/module.h"

namespace smelt::targets {

struct KnownProgram {
  std::unique_ptr<hlo::Module> original;  // as read: what the evaluator runs
  // Its main module is simplified: configurations are for it.
  hlo::KnownSplit split;
};

// `known`: numbers of the original's parameters. Unfuses, simplifies by the default passes (one that came fused only
// afterwards), folds factors by channel into weights and parts the program. Errors: those of the passes.
absl::StatusOr<KnownProgram> PrepareKnownProgram(std::unique_ptr<hlo::Module> original, const std::set<int64_t>& known);

}  // namespace smelt::targets
