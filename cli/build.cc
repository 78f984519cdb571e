// smelt build: a deployable module of a program.
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/cache_folder.h"
#include "base/status_macros.h"
#include "cli/interrupt.h"
#include "cli/known_flags.h"
#include "cli/one_program.h"
#include "cli/print_json.h"
#include "cli/stablehlo.h"
#include "cli/target.h"
#include "cli/values.h"
#include "cli/verb.h"
#include "hlo/fingerprint.h"
#include "nlohmann/json.hpp"
#include "targets/cpu/deploy/build_module.h"
#include "targets/cpu/processor/detect.h"
#include "targets/tunable.h"

namespace smelt::cli {
namespace {

struct BuildFlags {
  std::string module, folder, fusion = "priority", weights;
  bool no_cache = false, json = false;
  TargetFlags target;
};

// A program in a configuration, with the values of what is known of it.
struct Subject {
  std::unique_ptr<targets::Tunable> tunable;
  targets::Trial trial;
  std::vector<hlo::Literal> inputs;
};

absl::StatusOr<Subject> Open(const BuildFlags& flags, const targets::Target& target) {
  Subject subject;
  if (flags.weights.empty()) {
    SMELT_ASSIGN_OR_RETURN(subject.tunable, target.Open(flags.module, flags.fusion));
    WarnOfElidedConstants(*subject.tunable->program().original, flags.module);
  } else {
    SMELT_ASSIGN_OR_RETURN(KnownInputs known, ReadKnown({.weights = flags.weights}, flags.module));
    WarnOfElidedConstants(*known.program.original, flags.module);
    std::vector<hlo::Literal> inputs(known.program.original->entry()->Parameters().size());
    SMELT_ASSIGN_OR_RETURN(subject.inputs, known.MainInputs(known.WithWeights(std::move(inputs))));
    SMELT_ASSIGN_OR_RETURN(subject.tunable, target.Take(std::move(known.program.split.main), flags.fusion));
  }
  SMELT_ASSIGN_OR_RETURN(subject.trial, subject.tunable->Named(flags.fusion));
  return subject;
}

absl::Status Build(const BuildFlags& flags) {
  Interrupt interrupt;
  SMELT_ASSIGN_OR_RETURN(const machine::TargetId id, ReadTargetId(flags.target));
  if (id.kind != "cpu")
    return UsageError(absl::StrCat("deployable modules are for --target=cpu, and this one is ", id.kind));
  SMELT_RETURN_IF_ERROR(CheckFusionOf(id, flags.fusion));
  SMELT_RETURN_IF_ERROR(CheckKnown({.weights = flags.weights}, id, flags.fusion));
  const std::string cache_folder = flags.no_cache ? "" : DefaultCacheFolder();
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<targets::Target> target,
                         OpenTarget(flags.target, {.cache_folder = cache_folder}));
  SMELT_ASSIGN_OR_RETURN(Subject subject, Open(flags, *target));
  const std::unique_ptr<hlo::Module> fused = subject.tunable->Fused(subject.trial);

  cpu::deploy::ModuleRequest request;
  request.fused = fused.get();
  request.inputs = std::move(subject.inputs);
  SMELT_ASSIGN_OR_RETURN(request.target, cpu::TargetOf(id));
  cpu::KernelCache cache(cache_folder);
  request.options.cache = &cache;
  request.options.cancel = interrupt.flag();
  for (const auto& [hex, text] : subject.trial.tiles) {
    const std::optional<Hash128> hash = Hash128::FromHex(hex);
    if (!hash) return absl::InvalidArgumentError(absl::StrCat(flags.fusion, ": `", hex, "` is no kernel hash"));
    SMELT_ASSIGN_OR_RETURN(request.options.schedules[*hash], kernels::config::ParseChoice(text));
  }
  request.fingerprint = hlo::Fingerprint(subject.tunable->program().module()).ToHex();
  request.fusion = flags.fusion;
  absl::StatusOr<cpu::deploy::BuiltModule> built = cpu::deploy::BuildModule(request, flags.folder);
  if (!built.ok()) {
    return absl::Status(built.status().code(), absl::StrCat(flags.module, ": ", std::string(built.status().message())));
  }
  if (flags.json) {
    PrintJson({{"module", flags.module},
               {"folder", flags.folder},
               {"kernels", built->kernels},
               {"code_bytes", built->code_bytes},
               {"weight_bytes", built->weight_bytes},
               {"arena_bytes", built->arena_bytes}});
  } else {
    std::printf("%s: %ld kernels, %.1f kB of code, %.1f MB of weights, %.1f MB to run in\n", flags.folder.c_str(),
                built->kernels, 1e-3 * static_cast<double>(built->code_bytes),
                1e-6 * static_cast<double>(built->weight_bytes), 1e-6 * static_cast<double>(built->arena_bytes));
  }
  return Interrupt::End("the module was whole before");
}

}  // namespace

Action AddBuild(Arguments& arguments) {
  auto flags = std::make_shared<BuildFlags>();
  arguments.Add("MODULE", flags->module, "HLO text or proto, or StableHLO, by its extension").Required();
  arguments.Add(kOutputFlag, flags->folder, "Folder of the deployable module; an older one is replaced").Required();
  arguments.Add("--weights", flags->weights,
                "Safetensors file with values of parameters, as in.K or by the parameters' names: they become part of "
                "the module, packed as its kernels read them");
  AddFusionFlag(arguments, &flags->fusion);
  AddTargetFlags(arguments, &flags->target);
  arguments.AddFlag("--no-cache", flags->no_cache, "Compile afresh, without the kernel cache");
  arguments.AddFlag("--json", flags->json, "Machine-readable result on standard output");
  return [flags]() -> absl::Status {
    SMELT_ASSIGN_OR_RETURN(flags->module, ModuleFile(flags->module, flags->target.flags[kPythonFlag]));
    return Build(*flags);
  };
}

}  // namespace smelt::cli
