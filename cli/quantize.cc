// smelt quantize: an int8 program of a float one, what became int8, and how far its results are from the float ones.
#include "hlo/quantize/quantize.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/cache_folder.h"
#include "base/status_macros.h"
#include "cli/interrupt.h"
#include "cli/print_json.h"
#include "cli/stablehlo.h"
#include "cli/target.h"
#include "cli/values.h"
#include "cli/verb.h"
#include "fusion/kernel.h"
#include "hlo/cost_analysis.h"
#include "hlo/file/read.h"
#include "hlo/file/write.h"
#include "hlo/golden/golden.h"
#include "hlo/golden/inputs.h"
#include "hlo/quantize/weight_parameters.h"
#include "hlo/verifier/verifier.h"
#include "nlohmann/json.hpp"
#include "targets/cpu/processor/detect.h"
#include "targets/cpu/program/executable.h"
#include "targets/program.h"
#include "targets/registry.h"
#include "targets/target.h"
#include "targets/tunable.h"
#include "tuner/progress.h"

namespace smelt::cli {
namespace {

namespace fs = std::filesystem;
namespace quantize = hlo::quantize;
using nlohmann::json;
using Samples = std::vector<std::vector<hlo::Literal>>;

struct QuantizeFlags {
  std::string module, weights, activations, inputs = "8", tests, golden, calibration = "max", keep_float, output,
                                            engine = "compiled", partition;
  double percentile = 99.99;
  int64_t seed = 0;
  int threads = 0;
  bool drop = false, all = false, as_json = false;
};

// Compiles in this process: the same program runs on many inputs.
quantize::Engine CompiledEngine(cpu::Target target, const std::atomic<bool>* cancel) {
  auto cache = std::make_shared<cpu::KernelCache>(DefaultCacheFolder());
  return [=](const hlo::Module& module) -> absl::StatusOr<quantize::Run> {
    SMELT_ASSIGN_OR_RETURN(const targets::FusedProgram fused, targets::FuseModule(module, "priority", target));
    SMELT_ASSIGN_OR_RETURN(std::shared_ptr<cpu::Executable> executable,
                           cpu::Executable::Compile(*fused.module, target, {.cache = cache.get()}));
    const hlo::Shape shape = fused.module->entry()->root()->shape();
    return quantize::Run(
        [=, cache = cache](absl::Span<const hlo::Literal* const> arguments) -> absl::StatusOr<hlo::Literal> {
          std::vector<const hlo::Literal*> leaves;
          for (const hlo::Literal* argument : arguments) {
            for (const hlo::Literal* leaf : Leaves(absl::MakeConstSpan(argument, 1))) leaves.push_back(leaf);
          }
          SMELT_ASSIGN_OR_RETURN(std::vector<hlo::Literal> results, executable->Run(leaves, {.cancel = cancel}));
          return Assemble(shape, results);
        });
  };
}

absl::StatusOr<std::optional<hlo::Golden>> ReadGolden(const std::string& path) {
  if (path.empty()) return std::optional<hlo::Golden>();
  SMELT_ASSIGN_OR_RETURN(hlo::Golden golden, hlo::Golden::Load(path));
  return std::optional<hlo::Golden>(std::move(golden));
}

absl::StatusOr<std::vector<hlo::Literal>> Made(const hlo::Module& module, const std::optional<hlo::Golden>& golden,
                                               int64_t sample) {
  if (golden) return golden->MakeInputs(module, sample);
  int64_t leaves = 0;
  for (const hlo::Instruction* parameter : module.entry()->Parameters()) leaves += parameter->shape().LeafCount();
  return hlo::MakeInputs(module, {}, {.first_stream = 1 + static_cast<uint64_t>(sample * leaves)});
}

// `words`: how many to make, a file, or a folder of files.
absl::StatusOr<Samples> ReadSamples(const std::string& words, int64_t first, const hlo::Module& module,
                                    const std::optional<hlo::Golden>& golden, const std::set<int64_t>& known) {
  Samples samples;
  if (int64_t count = 0; absl::SimpleAtoi(words, &count)) {
    if (count < 1 || count > 100000) return UsageError("smelt quantize: --inputs takes 1 to 100000 random inputs");
    for (int64_t i = 0; i < count; ++i) {
      SMELT_ASSIGN_OR_RETURN(std::vector<hlo::Literal> sample, Made(module, golden, first + i));
      for (const int64_t number : known) sample[number] = hlo::Literal();
      samples.push_back(std::move(sample));
    }
    return samples;
  }
  std::vector<std::string> files = {words};
  std::error_code error;
  if (fs::is_directory(words, error)) {
    files.clear();
    fs::directory_iterator entries(words, error);
    if (error) return absl::UnavailableError(absl::StrCat(words, ": ", error.message()));
    for (const fs::directory_entry& entry : entries) {
      if (entry.path().extension() == ".safetensors") files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end());
    if (files.empty()) return absl::NotFoundError(absl::StrCat(words, ": holds no .safetensors file"));
  }
  for (const std::string& file : files) {
    SMELT_ASSIGN_OR_RETURN(std::vector<hlo::Literal> sample, ReadInputs(file, module, known));
    samples.push_back(std::move(sample));
  }
  return samples;
}

json ErrorJson(const quantize::ErrorSum& error) {
  json result{{"max", error.max()}, {"relative_rms", error.RelativeRms()}};
  result["sqnr_db"] = std::isfinite(error.SignalToNoise()) ? json(error.SignalToNoise()) : json();
  return result;
}

json ToJson(const quantize::Report& report) {
  json layers = json::array(), instructions = json::array();
  for (const quantize::LayerReport& layer : report.layers) {
    layers.push_back({{"name", layer.name},
                      {"opcode", layer.opcode},
                      {"out", layer.out},
                      {"int8_out", layer.integer_out},
                      {"residual", layer.residual},
                      {"clipped", layer.clipped},
                      {"affine", layer.scaled},
                      {"weights", layer.weights},
                      {"channels", layer.channels},
                      {"data_scale", layer.data_scale},
                      {"out_scale", layer.out_scale},
                      {"error", ErrorJson(layer.error)}});
  }
  for (const quantize::InstructionReport& x : report.instructions) {
    instructions.push_back(
        {{"name", x.name}, {"opcode", x.opcode}, {"shape", x.shape}, {"int8", x.integer}, {"why", x.why}});
  }
  json result{{"layers", layers},
              {"instructions", instructions},
              {"contractions", report.contractions},
              {"int8_contractions", report.integer_contractions},
              {"inputs", report.samples},
              {"test_inputs", report.test_samples},
              {"weight_bytes_float", report.weight_bytes_before},
              {"weight_bytes_int8", report.weight_bytes_after},
              {"error", ErrorJson(report.total)}};
  if (report.is_classifier) result["top1"] = {{"rows", report.classified}, {"agree", report.agreeing}};
  return result;
}

// Where a kernel of the quantised program runs under a target's default fusions.
struct PlacedKernel {
  std::string name, on_host;  // on_host: why the target's host runs it; empty: its accelerator does
  double runs = 1;            // while the program runs once
  double flops = 0, seconds = 0;
};

absl::StatusOr<std::vector<PlacedKernel>> PlaceKernels(const hlo::Module& module, const std::string& words) {
  SMELT_ASSIGN_OR_RETURN(const machine::TargetId id, targets::ReadTargetId(words));
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<targets::Target> target, targets::Open(id, {}));
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<targets::Tunable> tunable, target->Take(module.Clone(), "priority"));
  const std::unique_ptr<hlo::Module> fused = tunable->Fused(tunable->usual());
  std::vector<fusion::KernelCount> counts;
  SMELT_ASSIGN_OR_RETURN(const std::vector<fusion::Kernel> kernels, fusion::ExtractKernels(*fused, &counts));
  const std::vector<targets::KernelForm> forms = target->FormsOf(*fused, kernels);
  std::vector<PlacedKernel> placed;
  for (size_t k = 0; k < kernels.size(); ++k) {
    if (target->IsNothing(kernels[k])) continue;
    SMELT_ASSIGN_OR_RETURN(const double seconds, target->RoughSeconds(kernels[k]));
    placed.push_back(
        {kernels[k].name, forms[k].opaque, counts[k].runs, hlo::AnalyzeCost(kernels[k].computation()).flops, seconds});
  }
  return placed;
}

json ToJson(const std::vector<PlacedKernel>& kernels) {
  json result = json::array();
  for (const PlacedKernel& kernel : kernels) {
    result.push_back({{"name", kernel.name},
                      {"accelerator", kernel.on_host.empty()},
                      {"why", kernel.on_host},
                      {"runs", kernel.runs},
                      {"flops", kernel.flops},
                      {"seconds", kernel.seconds}});
  }
  return result;
}

// A line a kernel, and what the accelerator has of all.
std::string ToText(const std::vector<PlacedKernel>& kernels) {
  std::string text =
      absl::StrFormat("%-32s %5s %14s %12s  %s\n", "kernel", "times", "operations", "microseconds", "runs");
  double flops[2] = {0, 0}, seconds[2] = {0, 0};
  for (const PlacedKernel& kernel : kernels) {
    absl::StrAppendFormat(&text, "%-32s %5.0f %14.0f %12.1f  %s\n", kernel.name, kernel.runs, kernel.flops,
                          1e6 * kernel.seconds, kernel.on_host.empty() ? "on the accelerator" : kernel.on_host);
    flops[kernel.on_host.empty()] += kernel.runs * kernel.flops;
    seconds[kernel.on_host.empty()] += kernel.runs * kernel.seconds;
  }
  const double share = flops[0] + flops[1] == 0 ? 0 : 100 * flops[1] / (flops[0] + flops[1]);
  absl::StrAppendFormat(&text,
                        "the accelerator does %.1f%% of the operations, in about %.3f ms; its host takes %.3f ms\n",
                        share, 1e3 * seconds[1], 1e3 * seconds[0]);
  return text;
}

absl::Status Quantize(const QuantizeFlags& flags) {
  Interrupt interrupt;
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<hlo::Module> module, hlo::ReadModuleFile(flags.module));
  WarnOfElidedConstants(*module, flags.module);
  SMELT_ASSIGN_OR_RETURN(const std::optional<hlo::Golden> golden, ReadGolden(flags.golden));

  quantize::Weights weights;
  std::string how;
  if (!flags.weights.empty()) {
    SMELT_ASSIGN_OR_RETURN(weights, quantize::ReadWeights(flags.weights, *module));
    how = absl::StrCat("from ", flags.weights);
  } else {
    SMELT_ASSIGN_OR_RETURN(
        const quantize::WeightParameters found,
        quantize::FindWeightParameters(*module, absl::StrSplit(flags.activations, ',', absl::SkipEmpty())));
    SMELT_ASSIGN_OR_RETURN(std::vector<hlo::Literal> made, Made(*module, golden, 0));
    for (const int64_t number : found.numbers) weights[number] = std::move(made[number]);
    how = absl::StrCat("random numbers, ", found.how);
  }
  std::set<int64_t> known;
  for (const auto& [number, literal] : weights) known.insert(number);
  SMELT_ASSIGN_OR_RETURN(const Samples samples, ReadSamples(flags.inputs, flags.seed, *module, golden, known));
  Samples tests;
  if (!flags.tests.empty()) {
    const int64_t first = flags.seed + static_cast<int64_t>(samples.size());  // other random inputs than those above
    SMELT_ASSIGN_OR_RETURN(tests, ReadSamples(flags.tests, first, *module, golden, known));
  }
  std::fprintf(stderr, "%s: %zu of %zu parameters are weights (%s)\n", flags.module.c_str(), weights.size(),
               module->entry()->Parameters().size(), how.c_str());

  tuner::Progress progress;
  quantize::QuantizeOptions options;
  options.calibration.method =
      flags.calibration == "max" ? quantize::CalibrationMethod::kMax : quantize::CalibrationMethod::kPercentile;
  options.calibration.percentile = flags.percentile;
  options.keep_float = absl::StrSplit(flags.keep_float, ',', absl::SkipEmpty());
  options.drop_unread_parameters = flags.drop;
  if (!flags.tests.empty()) options.test_samples = &tests;
  options.cancel = interrupt.flag();
  options.progress = [&](const char* stage, int64_t done, int64_t count) {
    progress.Update(count > 1 ? absl::StrCat(stage, ": ", done, " of ", count, " inputs") : std::string(stage));
  };
  quantize::Engine engine = quantize::EvaluatorEngine(interrupt.flag());
  if (flags.engine == "compiled") {
    SMELT_ASSIGN_OR_RETURN(cpu::Target target, cpu::TargetOf({.kind = "cpu", .threads = std::max(1, flags.threads)}));
    engine = CompiledEngine(std::move(target), interrupt.flag());
  }
  absl::StatusOr<quantize::QuantizedProgram> result = quantize::Quantize(*module, weights, samples, engine, options);
  if (!result.ok()) {
    if (interrupt.Requested()) return Interrupt::End("nothing was written");
    return absl::Status(result.status().code(), absl::StrCat(flags.module, ": ", result.status().message()));
  }
  SMELT_RETURN_IF_ERROR(hlo::VerifyModule(*result->module));
  if (!flags.output.empty()) SMELT_RETURN_IF_ERROR(hlo::WriteModuleFile(flags.output, *result->module));
  std::optional<std::vector<PlacedKernel>> placed;
  if (!flags.partition.empty()) {
    SMELT_ASSIGN_OR_RETURN(placed, PlaceKernels(*result->module, flags.partition));
  }
  if (flags.as_json) {
    json report = ToJson(result->report);
    if (placed) report["partition"] = ToJson(*placed);
    PrintJson(report);
  } else {
    std::fputs(quantize::ReportToText(result->report, flags.all).c_str(), stdout);
    if (placed) std::printf("\n%s", ToText(*placed).c_str());
  }
  return absl::OkStatus();
}

}  // namespace

Action AddQuantize(Arguments& arguments) {
  auto flags = std::make_shared<QuantizeFlags>();
  arguments.Add("MODULE", flags->module, "HLO text or proto, or StableHLO, by its extension").Required();
  const Argument weights = arguments.Add("--weights", flags->weights,
                                         "Safetensors file with the weights, named in.K or as their parameters are");
  arguments
      .Add("--activations", flags->activations,
           "Names or numbers, with commas, of the parameters that are inputs; all others are weights. Without "
           "this and --weights they are told by name or use")
      .Excludes(weights);
  arguments
      .Add("--inputs", flags->inputs,
           "What to calibrate on: a number of random inputs, a safetensors file as `run --inputs` takes it, or a "
           "folder of such files; weights need not be in them")
      .ShowsDefault();
  arguments.Add("--test-inputs", flags->tests, "What to report errors on, as --inputs; without it the same inputs");
  arguments.Add("--seed", flags->seed, "Number of the first random input").NotNegative().ShowsDefault();
  arguments.Add("--golden", flags->golden, "Golden file whose ranges random inputs and weights have");
  arguments.Add("--calibration", flags->calibration, "The range of activations: max (nothing is cut off) or percentile")
      .OneOf({"max", "percentile"})
      .ShowsDefault();
  arguments.Add("--percentile", flags->percentile, "Percent of the magnitudes that --calibration=percentile keeps")
      .Between(50.0, 100.0)
      .ShowsDefault();
  arguments.Add("--keep-float", flags->keep_float, "Convolutions and dots that stay float, by name, with commas");
  arguments.AddFlag("--drop-weights", flags->drop,
                    "Leave out parameters that nothing reads any more, and number the others anew");
  arguments.Add(kOutputFlag, flags->output,
                "File to write, its form by the extension (.hlo, .pb, .pbtxt, with .gz or .zst); nothing is written "
                "without it");
  arguments.Add("--engine", flags->engine, "What runs the programs: compiled or evaluator")
      .OneOf({"compiled", "evaluator"})
      .ShowsDefault();
  arguments.Add("--threads", flags->threads, "Threads of compiled programs").Between(0, 1024);
  arguments.AddFlag("--all", flags->all, "List every instruction, and not only what stays float by opcode");
  const Argument partition =
      arguments
          .Add("--partition", flags->partition,
               "Show too where each kernel of the result runs on a target with an accelerator, as inspect --kernels "
               "does; without a name on vdla:pynq")
          .Expects(0, 1);
  arguments.AddFlag("--json", flags->as_json, "Machine-readable result on standard output");
  return [flags, partition]() -> absl::Status {
    if (partition.Given() && flags->partition.empty()) flags->partition = "vdla:pynq";
    SMELT_ASSIGN_OR_RETURN(flags->module, ModuleFile(flags->module, ""));
    return Quantize(*flags);
  };
}

}  // namespace smelt::cli
