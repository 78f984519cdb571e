// smelt inspect: what is in a module, whether it is valid, what would be fused and why not.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/known_flags.h"
#include "cli/print_json.h"
#include "cli/schedule_file.h"
#include "cli/stablehlo.h"
#include "cli/target.h"
#include "cli/verb.h"
#include "fusion/kernel.h"
#include "fusion/legality.h"
#include "fusion/reason.h"
#include "hlo/cost_analysis.h"
#include "hlo/file/read.h"
#include "hlo/fingerprint.h"
#include "nlohmann/json.hpp"
#include "targets/tunable.h"

namespace smelt::cli {
namespace {

using nlohmann::json;

struct InspectFlags {
  std::string module, fusion, why, kernel, tile, schedule;
  bool no_verify = false, kernels = false, json = false;
  bool print_schedules = false;  // --schedule without a file
  KnownFlags known;
  TargetFlags target;

  std::string FusionOr(const char* usual) const { return fusion.empty() ? usual : fusion; }
};

// Why an instruction shares no kernel with each of those around it, under the configuration.
absl::Status ExplainWhy(const InspectFlags& flags, const targets::Tunable& program, const fusion::Config& config,
                        json* result) {
  const hlo::Instruction* subject = nullptr;
  for (const hlo::Computation* computation : program.program().module().ExecutedComputations()) {
    for (const hlo::Instruction* instruction : computation->Instructions()) {
      if (instruction->name() == flags.why) subject = instruction;
    }
  }
  if (subject == nullptr) {
    return absl::NotFoundError(
        absl::StrCat(flags.module, ": has no instruction `", flags.why,
                     "` after the passes before fusion; `smelt opt --passes=default` prints those that there are"));
  }
  json edges = json::array();
  auto explain = [&](const hlo::Instruction& producer, const hlo::Instruction& consumer) {
    const fusion::Explanation why = fusion::Why(program.space(), config, producer, consumer);
    const fusion::ReasonInfo reason = fusion::Describe(why.reason);
    edges.push_back({{"producer", producer.name()},
                     {"consumer", consumer.name()},
                     {"fused", why.reason == fusion::Reason::kLegal},
                     {"code", std::string(reason.code)},
                     {"reason", std::string(reason.text)}});
    if (!flags.json) {
      std::printf("%s -> %s: %s [%s] %s\n", producer.name().c_str(), consumer.name().c_str(),
                  why.reason == fusion::Reason::kLegal ? "fused" : "not fused", std::string(reason.code).c_str(),
                  std::string(reason.text).c_str());
    }
  };
  for (const hlo::Instruction* operand : subject->operands()) explain(*operand, *subject);
  for (const hlo::Instruction* user : subject->users()) explain(*subject, *user);
  (*result)["why"] = std::move(edges);
  return absl::OkStatus();
}

// The kernels of a fused module: what each is made of, and how it runs.
absl::Status ListKernels(const InspectFlags& flags, const targets::Target& target, const hlo::Module& fused,
                         json* result) {
  std::vector<fusion::KernelCount> counts;
  SMELT_ASSIGN_OR_RETURN(const std::vector<fusion::Kernel> kernels, fusion::ExtractKernels(fused, &counts));
  int64_t total = 0;
  double flops = 0, bytes = 0;
  json list = json::array();
  const std::vector<targets::KernelForm> forms = target.FormsOf(fused, kernels);
  for (size_t i = 0; i < kernels.size(); ++i) {
    const hlo::CostAnalysis cost = hlo::AnalyzeCost(kernels[i].computation());
    total += counts[i].stands;
    flops += cost.flops * counts[i].runs;
    bytes += cost.bytes() * counts[i].runs;
    const targets::KernelForm& form = forms[i];
    list.push_back({{"name", kernels[i].name},
                    {"hash", kernels[i].hash.ToHex()},
                    {"count", counts[i].stands},
                    {"runs", counts[i].runs},
                    {"instructions", kernels[i].computation().instruction_count()},
                    {"flops", cost.flops},
                    {"bytes", cost.bytes()},
                    {"native", form.native},
                    {"opaque", form.opaque}});
    if (flags.kernels && !flags.json) {
      std::printf("  %-40s x%-4ld %4ld instructions %12.0f flops %12.0f bytes  %s\n", kernels[i].name.c_str(),
                  counts[i].stands, kernels[i].computation().instruction_count(), cost.flops, cost.bytes(),
                  form.native           ? "native operation"
                  : form.opaque.empty() ? "loop nest"
                                        : absl::StrCat("opaque: ", form.opaque).c_str());
    }
  }
  (*result)["kernels"] = total;
  (*result)["distinct_kernels"] = kernels.size();
  (*result)["flops"] = flops;
  (*result)["bytes"] = bytes;
  if (flags.kernels) (*result)["kernel_list"] = std::move(list);
  return absl::OkStatus();
}

absl::StatusOr<fusion::Kernel> FindKernel(const InspectFlags& flags, std::vector<fusion::Kernel> kernels) {
  if (fusion::Kernel* const found = fusion::FindKernel(kernels, flags.kernel)) return std::move(*found);
  return absl::NotFoundError(absl::StrCat(flags.module, ": has no kernel `", flags.kernel,
                                          "` under this fusion; --kernels lists those that there are"));
}

// The schedules of the kernel that --kernel names, or of all, as a file and nothing else.
absl::Status PrintSchedules(const InspectFlags& flags, const targets::Target& target, const hlo::Module& fused) {
  SMELT_ASSIGN_OR_RETURN(std::vector<fusion::Kernel> kernels, fusion::ExtractKernels(fused));
  if (!flags.kernel.empty()) {
    SMELT_ASSIGN_OR_RETURN(fusion::Kernel kernel, FindKernel(flags, std::move(kernels)));
    kernels.clear();
    kernels.push_back(std::move(kernel));
  }
  SMELT_ASSIGN_OR_RETURN(const std::string text, SchedulesOf(target, kernels, flags.tile));
  std::fputs(text.c_str(), stdout);
  return absl::OkStatus();
}

// One kernel the whole way down: HLO, schedule, loop IR, assembler.
absl::Status ShowKernel(const InspectFlags& flags, const targets::Target& target, const hlo::Module& fused,
                        json* result) {
  SMELT_ASSIGN_OR_RETURN(std::vector<fusion::Kernel> kernels, fusion::ExtractKernels(fused));
  SMELT_ASSIGN_OR_RETURN(const fusion::Kernel found, FindKernel(flags, std::move(kernels)));
  std::string way = flags.tile;
  if (!flags.schedule.empty()) {
    SMELT_ASSIGN_OR_RETURN(const targets::Knobs ways, ReadSchedules(flags.schedule, fused));
    const auto of_kernel = ways.find(found.hash.ToHex());
    if (of_kernel == ways.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat(flags.schedule, ": holds no schedule of kernel `", found.name, "`, ", found.hash.ToHex()));
    }
    way = of_kernel->second;
  }
  SMELT_ASSIGN_OR_RETURN(const targets::KernelListing listing, target.Show(found, way));
  json& kernel = (*result)["kernel"] = {{"name", found.name}};
  for (const auto& [part, text] : listing) {
    kernel[part] = text;
    const bool is_line = text.find('\n') == std::string::npos;
    if (!flags.json) std::printf("%s%s%s\n\n", part.c_str(), is_line ? " " : ":\n", text.c_str());
  }
  return absl::OkStatus();
}

// What runs each time, where weights are known.
absl::StatusOr<OpenedProgram> Open(const InspectFlags& flags, const std::string& fusion) {
  if (!flags.known.given()) return OpenProgram(flags.target, flags.module, fusion);
  SMELT_ASSIGN_OR_RETURN(const machine::TargetId id, ReadTargetId(flags.target));
  SMELT_RETURN_IF_ERROR(CheckKnown(flags.known, id, fusion));
  SMELT_ASSIGN_OR_RETURN(KnownInputs known, ReadKnown(flags.known, flags.module));
  return TakeProgram(flags.target, std::move(known.program.split.main), fusion);
}

// What would be left aside in silence is refused.
absl::Status CheckWords(const InspectFlags& flags) {
  if (!flags.tile.empty() && !flags.schedule.empty()) {
    return UsageError("inspect: --tile and --schedule=FILE each say how the kernel runs; give one");
  }
  if (flags.kernel.empty() && !flags.schedule.empty()) {
    return UsageError(absl::StrCat("inspect: --schedule=", flags.schedule,
                                   " shows one kernel under that file; name it with --kernel (--kernels lists them)"));
  }
  if (flags.kernel.empty() && !flags.tile.empty() && !flags.print_schedules) {
    return UsageError(absl::StrCat("inspect: --tile=", flags.tile,
                                   " is of one kernel; name it with --kernel (--kernels lists them)"));
  }
  return absl::OkStatus();
}

absl::Status Inspect(const InspectFlags& flags) {
  SMELT_RETURN_IF_ERROR(CheckWords(flags));
  if (flags.print_schedules) {
    SMELT_ASSIGN_OR_RETURN(const OpenedProgram program, Open(flags, flags.FusionOr("priority")));
    return PrintSchedules(flags, *program.target, *program.tunable->Fused(program.trial));
  }
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<hlo::Module> module, hlo::ReadModuleFile(flags.module, !flags.no_verify));
  std::map<std::string, int64_t> opcodes;
  for (const hlo::Computation* computation : module->Computations()) {
    for (const hlo::Instruction* instruction : computation->Instructions())
      ++opcodes[std::string(hlo::OpcodeName(instruction->opcode()))];
  }
  json result{{"module", module->name()},
              {"instructions", module->instruction_count()},
              {"computations", module->Computations().size()},
              {"opcodes", opcodes}};
  if (!flags.json) {
    std::printf("%s: %ld instructions in %zu computations\n", module->name().c_str(), module->instruction_count(),
                module->Computations().size());
    std::vector<std::pair<int64_t, std::string>> sorted;
    for (const auto& [name, count] : opcodes) sorted.push_back({-count, name});
    std::sort(sorted.begin(), sorted.end());
    std::string line = " ";
    for (const auto& [count, name] : sorted) absl::StrAppend(&line, " ", name, " ", -count);
    std::printf("%s\n", line.c_str());
  }
  // An unverified module is only read: passes and fusion take for granted what the verifier checks.
  if (flags.no_verify) {
    if (flags.json) PrintJson(result);
    return absl::OkStatus();
  }
  const Hash128 fingerprint = hlo::Fingerprint(*module);
  result["fingerprint"] = fingerprint.ToHex();
  if (flags.json || !flags.fusion.empty() || flags.kernels || !flags.why.empty() || !flags.kernel.empty() ||
      flags.known.given()) {
    const std::string fusion = flags.FusionOr("priority");
    SMELT_ASSIGN_OR_RETURN(const OpenedProgram program, Open(flags, fusion));
    if (!flags.why.empty()) {
      SMELT_RETURN_IF_ERROR(ExplainWhy(flags, *program.tunable, program.trial.config, &result));
    } else {
      const std::unique_ptr<hlo::Module> fused = program.tunable->Fused(program.trial);
      result["decisions"] = program.trial.config.size();
      result["decisions_set"] = program.trial.config.Count();
      if (!flags.kernel.empty()) {
        SMELT_RETURN_IF_ERROR(ShowKernel(flags, *program.target, *fused, &result));
      } else {
        SMELT_RETURN_IF_ERROR(ListKernels(flags, *program.target, *fused, &result));
      }
      if (!flags.json && flags.kernel.empty()) {
        std::printf("fusion %s: %ld of %ld decisions, %ld kernels (%ld distinct), %.3g flops, %.3g bytes moved\n",
                    fusion.c_str(), program.trial.config.Count(), program.trial.config.size(),
                    result["kernels"].get<int64_t>(), result["distinct_kernels"].get<int64_t>(),
                    result["flops"].get<double>(), result["bytes"].get<double>());
      }
    }
  } else {
    const hlo::CostAnalysis cost = hlo::AnalyzeProgramCost(*module);
    std::printf("%.3g flops, %.3g transcendentals, %.3g bytes moved without fusion; fingerprint %s\n", cost.flops,
                cost.transcendentals, cost.bytes(), fingerprint.ToHex().c_str());
  }
  if (flags.json) PrintJson(result);
  return absl::OkStatus();
}

}  // namespace

Action AddInspect(Arguments& arguments) {
  auto flags = std::make_shared<InspectFlags>();
  arguments.Add("MODULE", flags->module, "HLO text or proto, or StableHLO, by its extension").Required();
  AddFusionFlag(arguments, &flags->fusion);
  arguments.AddFlag("--kernels", flags->kernels,
                    "List the kernels, which of them are native operations, and which the evaluator runs and why");
  const Argument why = arguments.Add(
      "--why", flags->why,
      "Say for each neighbour of this instruction whether they share a kernel, and which rule forbids it");
  arguments.Add("--kernel", flags->kernel, "Show one kernel the whole way down: HLO, schedule, loop IR, assembler")
      .Excludes(why);
  arguments.Add("--tile", flags->tile,
                "With --kernel: under this tile, as `smelt rank` prints them, this algorithm (direct, winograd4, "
                "winograd4:1x2x14x64), or this configuration");
  const Argument schedule =
      arguments
          .Add("--schedule", flags->schedule,
               "Print the kernels' schedules (of --kernel, or all) as a file and nothing else; with --kernel and "
               "=FILE: show the kernel under its schedule of that file")
          .Expects(0, 1)
          .Excludes(why);
  AddKnownFlags(arguments, &flags->known);
  AddTargetFlags(arguments, &flags->target);
  Argument no_verify = arguments.AddFlag("--no-verify", flags->no_verify, "Only read the module, without verifying it");
  for (const char* of_fused : {"--fusion", "--kernels", "--why", "--kernel", "--schedule", "--constant", "--weights"}) {
    no_verify = no_verify.Excludes(arguments.Get(of_fused));
  }
  arguments.AddFlag("--json", flags->json, "Machine-readable result on standard output");
  return [flags, schedule]() -> absl::Status {
    flags->print_schedules = schedule.Given() && flags->schedule.empty();
    SMELT_ASSIGN_OR_RETURN(flags->module, ModuleFile(flags->module, flags->target.flags[kPythonFlag]));
    return Inspect(*flags);
  };
}

}  // namespace smelt::cli
