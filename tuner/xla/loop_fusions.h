// A fused program in the form in which XLA's code generator for CPUs takes it.
//
//   std::unique_ptr<hlo::Module> fused = fusion::Apply(space, config);
//   ToLoopFusions({.threads = 2}, fused.get());
//
// Every fusion is a kLoop, what XLA would run as a loop fusion of one instruction becomes one (left bare, XLA 0.10.2
// computes some of them wrong), and fusions with enough work say into how many parts their outer dimensions are cut:
// XLA's own pass for that has run already when our program comes. A contraction for the library becomes a kCustom
// fusion of its own, as XLA makes one.
#pragma once

#include <map>
#include <string>

#include "hlo/module.h"

namespace smelt::tuner::xla {

struct LoopFusionOptions {
  int threads = 1;
  // kLibraryTile for contractions and reductions that XLA's library is to run, by their kernels' hashes as hexadecimal
  // digits; kCallTile for what becomes a function of its own (calls.h); kUncutTile under UncutKey() where no fusion is cut
  // into parts: handing out parts takes longer than small kernels do.
  std::map<std::string, std::string> tiles;
};
// Where a trial's or a configuration file's `tiles` have this for a contraction, XLA's library runs it.
inline constexpr const char* kLibraryTile = "library";
inline constexpr const char* kUncutTile = "uncut";
std::string UncutKey();
// In the backend configuration of such a fusion.
inline constexpr const char* kLibraryFusion = "__ynn_fusion";

// What XLA's library may run: contractions and reductions.
bool IsLibraryOpcode(hlo::Opcode opcode);

void ToLoopFusions(const LoopFusionOptions& options, hlo::Module* module);

}  // namespace smelt::tuner::xla
