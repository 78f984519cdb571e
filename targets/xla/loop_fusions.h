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

#include "hlo/module.h"
#include "targets/xla/tiles.h"

namespace smelt::xla {

struct LoopFusionOptions {
  int threads = 1;
  Tiles tiles;
};
// Stands in the backend configuration of a fusion for XLA's library.
inline constexpr const char* kLibraryFusion = "__ynn_fusion";

// What XLA's library may run: contractions and reductions.
bool IsLibraryOpcode(hlo::Opcode opcode);

void ToLoopFusions(const LoopFusionOptions& options, hlo::Module* module);

}  // namespace smelt::xla
