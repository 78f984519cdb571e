// smelt run: a module on inputs, compiled or evaluated, compared with a golden file or with the evaluator.
#include <cstdio>
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/interrupt.h"
#include "cli/target.h"
#include "cli/values.h"
#include "cli/verb.h"
#include "cli/xla.h"
#include "hlo/evaluator/evaluator.h"
#include "hlo/golden/golden.h"
#include "hlo/golden/inputs.h"
#include "measure/verify.h"
#include "targets/cpu/compile/compile.h"
#include "targets/cpu/program/executable.h"
#include "targets/program.h"

namespace smelt::cli {
namespace {

struct Flags {
  std::string module, engine = "compiled", fusion = "priority", golden, inputs, outputs, target = "cpu";
  bool check = false, no_cache = false;
  XlaFlags xla;
};

absl::StatusOr<hlo::Literal> RunEvaluator(const hlo::Module& module, const std::vector<hlo::Literal>& inputs,
                                          const Interrupt& interrupt) {
  std::vector<const hlo::Literal*> arguments;
  for (const hlo::Literal& input : inputs) arguments.push_back(&input);
  return hlo::Evaluate(module, arguments, {.cancel = interrupt.flag()});
}

absl::StatusOr<hlo::Literal> RunCompiled(const Flags& flags, const targets::Program& program,
                                         const std::vector<hlo::Literal>& inputs, const Interrupt& interrupt) {
  SMELT_ASSIGN_OR_RETURN(const cpu::Target target, ReadTargetToRun(flags.target));
  SMELT_ASSIGN_OR_RETURN(const targets::FusedProgram fused, targets::FuseProgram(program, flags.fusion, target));
  cpu::KernelCache cache(flags.no_cache ? "" : cpu::KernelCache::DefaultFolder());
  SMELT_ASSIGN_OR_RETURN(auto executable,
                         cpu::Executable::Compile(*fused.module, target, {.cache = &cache, .tiles = fused.tiles}));
  SMELT_ASSIGN_OR_RETURN(std::vector<hlo::Literal> leaves,
                         executable->Run(Leaves(inputs), {.cancel = interrupt.flag()}));
  std::erase_if(leaves, [](const hlo::Literal& leaf) { return !leaf.IsArray(); });
  return Assemble(program.original->entry()->root()->shape(), leaves);
}

absl::StatusOr<hlo::Literal> RunXla(const Flags& flags, const std::vector<hlo::Literal>& inputs,
                                    const Interrupt& interrupt) {
  SMELT_ASSIGN_OR_RETURN(const int threads, XlaThreads(flags.target));
  SMELT_ASSIGN_OR_RETURN(const XlaJob job,
                         PrepareXlaJob(flags.module, flags.fusion, threads, flags.xla, interrupt.flag()));
  return RunOnXla(job, inputs, flags.xla);
}

absl::Status Run(const Flags& flags) {
  Interrupt interrupt;
  const bool xla = IsXlaTarget(flags.target) && flags.engine != "evaluator";
  SMELT_RETURN_IF_ERROR(RefuseXlaFusion(flags.fusion, flags.target));
  SMELT_ASSIGN_OR_RETURN(const targets::Program program, targets::LoadProgram(flags.module));
  const hlo::Module& module = *program.original;
  if (flags.golden.empty()) WarnOfElidedConstants(module, flags.module);
  std::optional<hlo::Golden> golden;
  std::vector<hlo::Literal> inputs;
  if (!flags.golden.empty()) {
    SMELT_ASSIGN_OR_RETURN(golden, hlo::Golden::Load(flags.golden));
    SMELT_ASSIGN_OR_RETURN(inputs, golden->MakeInputs(module));
  } else if (!flags.inputs.empty()) {
    SMELT_ASSIGN_OR_RETURN(inputs, ReadInputs(flags.inputs, module));
  } else {
    SMELT_ASSIGN_OR_RETURN(inputs, hlo::MakeInputs(module));
  }
  SMELT_ASSIGN_OR_RETURN(const hlo::Literal result, flags.engine == "evaluator"
                                                        ? RunEvaluator(module, inputs, interrupt)
                                                    : xla ? RunXla(flags, inputs, interrupt)
                                                          : RunCompiled(flags, program, inputs, interrupt));
  if (!flags.outputs.empty()) SMELT_RETURN_IF_ERROR(WriteOutputs(flags.outputs, result));
  std::vector<hlo::OutputComparison> comparisons;
  if (golden) {
    SMELT_ASSIGN_OR_RETURN(comparisons, golden->Compare(result));
  } else if (flags.check) {
    SMELT_ASSIGN_OR_RETURN(hlo::Literal want, RunEvaluator(module, inputs, interrupt));
    if (measure::FiniteShare(Leaves(absl::MakeConstSpan(&want, 1))) == 0) {
      std::fprintf(stderr,
                   "%s: no result is a finite number under these inputs, so that equal results say little; give others "
                   "with --inputs, or known ones with --golden\n",
                   flags.module.c_str());
    }
    SMELT_ASSIGN_OR_RETURN(comparisons, CompareResults(want, result));
  } else {
    PrintSummary(result);
    return absl::OkStatus();
  }
  return PrintComparisons(comparisons) ? absl::OkStatus() : FailedQuietly();
}

}  // namespace

Action AddRun(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  app.add_option("MODULE", flags->module, "HLO text or proto, or StableHLO, by its extension")->required();
  app.add_option("--engine", flags->engine, "compiled or evaluator")
      ->check(CLI::IsMember({"compiled", "evaluator"}))
      ->capture_default_str();
  app.add_option("--fusion", flags->fusion, kXlaFusionHelp)->check(CheckFusion)->capture_default_str();
  CLI::Option* golden = app.add_option("--golden", flags->golden,
                                       "Safetensors file with inputs' ranges, outputs and tolerances to compare with");
  CLI::Option* check = app.add_flag("--check", flags->check, "Compare the compiled result with the evaluator's");
  app.add_option("--inputs", flags->inputs, "Safetensors file with tensors in.0, in.1, ... instead of random inputs")
      ->excludes(golden);
  app.add_option("--outputs", flags->outputs, "Keep the results in this safetensors file, as out.0, out.1, ...");
  app.add_option("--target", flags->target,
                 "What to compile for, for example cpu:threads=2; xla or xla:threads=2: by XLA:CPU in jaxlib")
      ->capture_default_str();
  AddXlaFlags(app, &flags->xla);
  app.add_flag("--no-cache", flags->no_cache, "Compile afresh, without the kernel cache");
  check->excludes(golden);
  return [flags]() -> absl::Status {
    SMELT_ASSIGN_OR_RETURN(flags->module, ModuleFile(flags->module, flags->xla.python));
    return Run(*flags);
  };
}

}  // namespace smelt::cli
