// A program as a deployable module: a folder that `runtime/deploy/` loads without any compiler.
//
//   ModuleRequest request;
//   request.fused = &fused_module;
//   request.target = target;
//   BuiltModule built = BuildModule(request, "resnet18.smeltmod").value();
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "targets/cpu/codegen/target.h"
#include "targets/cpu/program/compiled_program.h"

namespace smelt::cpu::deploy {

struct ModuleRequest {
  const hlo::Module* fused = nullptr;
  // One a parameter, in their order: the values of those that are marked as known (hlo/known/), others empty.
  std::vector<hlo::Literal> inputs;
  Target target;
  ExecutableOptions options;  // but `elsewhere`
  std::string fingerprint;    // of the program before fusion, and its fusion's name: for the manifest
  std::string fusion;
};

struct BuiltModule {
  int64_t kernels = 0;  // distinct ones, native operations too
  int64_t code_bytes = 0;
  int64_t weight_bytes = 0;
  int64_t arena_bytes = 0;
};

// Compiles, computes once what follows from known values, links and writes the folder, at once (staging_folder.h).
// Errors: Unimplemented, naming the instruction, for what only the evaluator runs; FailedPrecondition: no linker, or
// known values to be packed by code that this processor cannot run; those of CompileProgram and of writing.
absl::StatusOr<BuiltModule> BuildModule(const ModuleRequest& request, const std::string& folder);

}  // namespace smelt::cpu::deploy
