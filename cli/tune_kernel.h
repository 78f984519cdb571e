// smelt tune MODULE --kernel=NAME: the schedule of one kernel.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "cli/target.h"
#include "cli/verb.h"
#include "tuner/schedule/strategies.h"

namespace smelt::cli {

struct KernelFlags {
  std::string kernel;  // empty: the whole program is tuned
  std::string strategy = "gbt-rank", features = "relation", acquisition = "mean", transfer;
  int64_t trials = 256, batch = 32;
  double until = 0;  // times the default's speed; 0: the trials alone end it
  int members = 0;   // 0: as many as the acquisition needs
  double alpha = tuner::SelectionOptions().alpha, lambda = tuner::SelectionOptions().lambda, epsilon = 0.05;
  bool no_library = false, no_comparison = false;
};

void AddKernelFlags(Arguments& arguments, KernelFlags* flags);

// What is tuned, and how, as `tune` was told.
struct KernelRun {
  std::string module, folder, cache;
  TargetFlags target;
  uint64_t seed = 1;
  double seconds = 0;  // of wall-clock time; infinity: the trials alone end it
  bool json = false, quiet = false;
  std::string program;                     // of the measuring child; empty: this one
  tuner::TreeGruMaker tree_gru = nullptr;  // where this program has LibTorch
};
absl::Status TuneKernel(const KernelFlags& flags, const KernelRun& run);

// The flags of `tune` in a program that has LibTorch; its measuring child is the program `child`.
Action AddTuneBy(Arguments& arguments, tuner::TreeGruMaker tree_gru, std::string child);

// Whether the strategy needs the program smelt-train.
bool NeedsTraining(const KernelFlags& flags);

}  // namespace smelt::cli
