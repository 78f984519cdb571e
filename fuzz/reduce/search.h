// The state of a reduction, which its steps share: the best module so far, and the trial of a smaller one.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "fuzz/reduce/reduce.h"
#include "hlo/module.h"

namespace smelt::fuzz {

class ReduceSearch {
 public:
  ReduceSearch(const hlo::Module& module, const ReduceOptions& options);

  const hlo::Module& best() const { return *best_; }
  std::unique_ptr<hlo::Module> TakeBest() { return std::move(best_); }
  bool Stopped() const { return stopped_; }
  bool keep_reducers() const { return options_.keep_reducers; }

  // Takes a clone of the best, changed by `edit`, if it verifies once dead code and unused parameters are gone, is
  // smaller and still fails. `edit` returns false where it has nothing to change. It names instructions by their
  // position: InstructionAt of the clone is the same as of best().
  using Edit = std::function<bool(hlo::Module& candidate)>;
  bool Try(const Edit& edit);

 private:
  std::unique_ptr<hlo::Module> best_;
  const ReduceOptions& options_;
  ReduceProgress progress_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  bool stopped_ = false;
};

// Instructions of all computations in order of creation: equal positions in equal modules.
std::vector<hlo::Instruction*> AllInstructions(const hlo::Module& module);

// The steps: each tries all that it can and returns whether anything was kept.
bool ReduceRoots(ReduceSearch& search);
bool ReduceInstructions(ReduceSearch& search);
bool ReduceControlFlow(ReduceSearch& search);
bool ReduceTuples(ReduceSearch& search);
bool ReduceSizes(ReduceSearch& search);
bool ReduceAttributes(ReduceSearch& search);

// Makes `instruction` a parameter (of the entry) or a constant of its shape; false for what has no such value.
bool ReplaceByInput(hlo::Instruction& instruction, bool constant);
// A value of that shape made of constants alone: zeros, or ones. nullptr for tokens and opaque values.
hlo::Instruction* MakeConstant(hlo::Computation& computation, const hlo::Shape& shape, double value);
// Parameters of the entry that nothing reads, and the header attributes that count parameters.
void DropUnusedParameters(hlo::Module& module);

}  // namespace smelt::fuzz
