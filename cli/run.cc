// smelt run: a module on inputs, compiled or evaluated, compared with a golden file or with the evaluator.
#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/cache_folder.h"
#include "base/status_macros.h"
#include "cli/interrupt.h"
#include "cli/known_flags.h"
#include "cli/one_program.h"
#include "cli/stablehlo.h"
#include "cli/target.h"
#include "cli/values.h"
#include "cli/verb.h"
#include "hlo/evaluator/evaluator.h"
#include "hlo/file/read.h"
#include "hlo/golden/golden.h"
#include "hlo/golden/inputs.h"
#include "hlo/golden/safetensors.h"
#include "measure/test_inputs.h"
#include "measure/verify.h"

namespace smelt::cli {
namespace {

struct RunFlags {
  std::string module, engine = "compiled", fusion = "priority", schedule, golden, inputs, outputs;
  bool check = false, no_cache = false, no_library = false;
  KnownFlags known;
  TargetFlags target;
};

absl::StatusOr<hlo::Literal> RunEvaluator(const hlo::Module& module, const std::vector<hlo::Literal>& inputs,
                                          const Interrupt& interrupt) {
  std::vector<const hlo::Literal*> arguments;
  for (const hlo::Literal& input : inputs) arguments.push_back(&input);
  return hlo::Evaluate(module, arguments, {.cancel = interrupt.flag()});
}

// Either a program that is compiled, or a module that is evaluated.
struct Subject {
  std::unique_ptr<targets::Target> target;
  std::optional<OneProgram> program;
  std::unique_ptr<hlo::Module> evaluated;
  std::optional<KnownInputs> known;

  // The program as it was read.
  const hlo::Module& module() const {
    return known ? *known->program.original : program ? program->module() : *evaluated;
  }

  absl::StatusOr<hlo::Literal> Run(const std::vector<hlo::Literal>& inputs, const Interrupt& interrupt) {
    if (!program) return RunEvaluator(*evaluated, inputs, interrupt);
    if (!known) return program->Run(inputs);
    SMELT_ASSIGN_OR_RETURN(const std::vector<hlo::Literal> main, known->MainInputs(inputs));
    return program->Run(main);
  }
};

absl::StatusOr<Subject> Open(const RunFlags& flags, const Interrupt& interrupt) {
  Subject subject;
  if (flags.engine == "evaluator") {
    SMELT_ASSIGN_OR_RETURN(subject.evaluated, hlo::ReadModuleFile(flags.module));
    return subject;
  }
  SMELT_ASSIGN_OR_RETURN(subject.target,
                         OpenTarget(flags.target, {.cache_folder = flags.no_cache ? "" : DefaultCacheFolder(),
                                                   .memory_bytes = kWholeMemory,
                                                   .cancel = interrupt.flag()}));
  const KernelSchedules kernels{flags.no_library ? "" : DefaultCacheFolder(), flags.schedule};
  if (!flags.known.given()) {
    SMELT_ASSIGN_OR_RETURN(subject.program,
                           OneProgram::Open(*subject.target, flags.module, flags.fusion, kernels, interrupt.flag()));
    return subject;
  }
  SMELT_ASSIGN_OR_RETURN(subject.known, ReadKnown(flags.known, flags.module));
  SMELT_ASSIGN_OR_RETURN(subject.program, OneProgram::Take(*subject.target, subject.known->program.split.main->Clone(),
                                                           flags.fusion, kernels, interrupt.flag()));
  return subject;
}

// The evaluator under the inputs of --check: those that are given, or weights and made ones, or the first kind of made
// ones that gives finite results.
absl::StatusOr<std::unique_ptr<measure::Verifier>> Expect(const Subject& subject, std::vector<hlo::Literal>* inputs,
                                                          const RunFlags& flags, const Interrupt& interrupt) {
  const hlo::Module& module = subject.module();
  std::unique_ptr<measure::Verifier> verifier;
  if (!flags.inputs.empty() || subject.known) {
    SMELT_ASSIGN_OR_RETURN(verifier, measure::Verifier::CreateWith(module, *inputs, 0, interrupt.flag()));
  } else {
    SMELT_ASSIGN_OR_RETURN(verifier, measure::Verifier::Create(module, 0, interrupt.flag()));
    SMELT_ASSIGN_OR_RETURN(*inputs, measure::MakeInputs(module, verifier->inputs()));
  }
  if (verifier->finite() == 0) {
    std::fprintf(stderr,
                 "%s: no result is a finite number under these inputs, so that equal results say little; give others "
                 "with --inputs, or known ones with --golden\n",
                 flags.module.c_str());
  }
  return verifier;
}

absl::StatusOr<std::vector<hlo::OutputComparison>> Compare(measure::Verifier& verifier, const hlo::Literal& result,
                                                           const Interrupt& interrupt) {
  std::vector<hlo::Literal> outputs;
  for (const hlo::Literal* leaf : Leaves(absl::MakeConstSpan(&result, 1))) outputs.push_back(hlo::ToStorable(*leaf));
  if (!verifier.Compare(outputs).empty()) {
    SMELT_ASSIGN_OR_RETURN(const std::vector<std::string> noisy, verifier.LearnNoise(outputs, 1, 0, interrupt.flag()));
    for (const std::string& line : noisy) std::fprintf(stderr, "%s\n", line.c_str());
  }
  return verifier.Comparisons(outputs);
}

absl::Status Run(const RunFlags& flags) {
  Interrupt interrupt;
  SMELT_ASSIGN_OR_RETURN(const machine::TargetId id, ReadTargetId(flags.target));
  SMELT_RETURN_IF_ERROR(CheckFusionOf(id, flags.fusion));
  if (flags.engine == "evaluator" && flags.known.given())
    return UsageError(
        "--constant and --weights are for compiled programs: the evaluator computes all of one each time");
  SMELT_RETURN_IF_ERROR(CheckKnown(flags.known, id, flags.fusion));
  SMELT_ASSIGN_OR_RETURN(Subject subject, Open(flags, interrupt));
  const hlo::Module& module = subject.module();
  if (flags.golden.empty()) WarnOfElidedConstants(module, flags.module);
  std::optional<hlo::Golden> golden;
  std::vector<hlo::Literal> inputs;
  if (!flags.golden.empty()) {
    SMELT_ASSIGN_OR_RETURN(golden, hlo::Golden::Load(flags.golden));
    SMELT_ASSIGN_OR_RETURN(inputs, golden->MakeInputs(module));
  } else if (!flags.inputs.empty()) {
    std::set<int64_t> known;
    if (subject.known) {
      for (const auto& [number, value] : subject.known->weights) known.insert(number);
    }
    SMELT_ASSIGN_OR_RETURN(inputs, ReadInputs(flags.inputs, module, known));
  } else {
    SMELT_ASSIGN_OR_RETURN(inputs, hlo::MakeInputs(module));
  }
  if (subject.known) inputs = subject.known->WithWeights(std::move(inputs));
  std::unique_ptr<measure::Verifier> verifier;
  if (flags.check) {
    SMELT_ASSIGN_OR_RETURN(verifier, Expect(subject, &inputs, flags, interrupt));
  }
  SMELT_ASSIGN_OR_RETURN(const hlo::Literal result, subject.Run(inputs, interrupt));
  if (!flags.outputs.empty()) SMELT_RETURN_IF_ERROR(WriteOutputs(flags.outputs, result));
  if (!golden && !flags.check) {
    PrintSummary(result);
    return absl::OkStatus();
  }
  SMELT_ASSIGN_OR_RETURN(const std::vector<hlo::OutputComparison> comparisons,
                         golden ? golden->Compare(result) : Compare(*verifier, result, interrupt));
  return PrintComparisons(comparisons) ? absl::OkStatus() : FailedQuietly();
}

}  // namespace

Action AddRun(Arguments& arguments) {
  auto flags = std::make_shared<RunFlags>();
  arguments.Add("MODULE", flags->module, "HLO text or proto, or StableHLO, by its extension").Required();
  arguments.Add("--engine", flags->engine, "compiled or evaluator").OneOf({"compiled", "evaluator"}).ShowsDefault();
  AddFusionFlag(arguments, &flags->fusion);
  arguments.Add("--schedule", flags->schedule,
                "Schedules of some kernels, a file as `smelt inspect --schedule` prints it; the others have theirs");
  const Argument golden = arguments.Add("--golden", flags->golden,
                                        "Safetensors file with inputs' ranges, outputs and tolerances to compare with");
  arguments
      .AddFlag(
          "--check", flags->check,
          "Compare the compiled result with the evaluator's; without --inputs under made ones that give finite results")
      .Excludes(golden);
  arguments.Add("--inputs", flags->inputs, "Safetensors file with tensors in.0, in.1, ... instead of random inputs")
      .Excludes(golden);
  arguments.Add("--outputs", flags->outputs, "Keep the results in this safetensors file, as out.0, out.1, ...");
  AddKnownFlags(arguments, &flags->known);
  AddTargetFlags(arguments, &flags->target);
  arguments.AddFlag("--no-library", flags->no_library, "Without the schedules that `smelt tune --kernel` kept");
  arguments.AddFlag("--no-cache", flags->no_cache, "Compile afresh, without the kernel cache");
  return [flags]() -> absl::Status {
    SMELT_ASSIGN_OR_RETURN(flags->module, ModuleFile(flags->module, flags->target.flags[kPythonFlag]));
    return Run(*flags);
  };
}

}  // namespace smelt::cli
