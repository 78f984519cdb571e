// smelt opt: graph passes, a fusion, and conversion between the forms of module files.
#include <cstdio>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "cli/stablehlo.h"
#include "cli/target.h"
#include "cli/verb.h"
#include "hlo/file/read.h"
#include "hlo/file/write.h"
#include "hlo/passes/pipeline.h"
#include "hlo/text/printer.h"
#include "targets/tunable.h"

namespace smelt::cli {
namespace {

struct OptFlags {
  std::string module, passes = "none", fusion, output;
  bool no_verify = false, dump = false, list = false;
  TargetFlags target;
};

absl::Status Write(const std::string& path, const hlo::Module& module) {
  if (!path.empty() && path != "-") return hlo::WriteModuleFile(path, module);
  std::fputs(hlo::ToText(module, {}).c_str(), stdout);
  return absl::OkStatus();
}

absl::Status ListPasses() {
  for (const hlo::Pass& pass : hlo::Passes())
    std::printf("%-28s %s\n", std::string(pass.name).c_str(), std::string(pass.why).c_str());
  return absl::OkStatus();
}

// Fused as the target takes it.
absl::Status Fuse(const OptFlags& flags, std::unique_ptr<hlo::Module> module) {
  SMELT_ASSIGN_OR_RETURN(const machine::TargetId id, ReadTargetId(flags.target));
  SMELT_RETURN_IF_ERROR(CheckFusionOf(id, flags.fusion));
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<targets::Target> target, OpenTarget(flags.target, {}));
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<targets::Tunable> program,
                         target->Take(std::move(module), flags.fusion));
  SMELT_ASSIGN_OR_RETURN(const targets::Trial trial, program->Named(flags.fusion));
  if (!trial.compiler.empty())
    return UsageError(absl::StrCat("--fusion=", flags.fusion, " is the compiler's own choice: there is none to apply"));
  return Write(flags.output, *program->Fused(trial));
}

absl::Status Opt(const OptFlags& flags) {
  if (flags.list) return ListPasses();
  if (flags.module.empty()) return UsageError("smelt opt: MODULE is required, or --list-passes");
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<hlo::Module> module, hlo::ReadModuleFile(flags.module, !flags.no_verify));
  if (flags.passes != "none") {
    hlo::PassOptions options;
    if (flags.dump) {
      options.dump = [](std::string_view pass, const hlo::Module& now) {
        std::fprintf(stderr, "// %s: %ld instructions\n%s\n",
                     pass.empty() ? "before passes" : absl::StrCat("after ", std::string(pass)).c_str(),
                     now.instruction_count(), hlo::ToText(now, {}).c_str());
        return absl::OkStatus();
      };
    }
    SMELT_RETURN_IF_ERROR(
        hlo::RunPasses(*module, std::vector<std::string>(absl::StrSplit(flags.passes, ',', absl::SkipEmpty())), options)
            .status());
  }
  if (!flags.fusion.empty()) return Fuse(flags, std::move(module));
  return Write(flags.output, *module);
}

}  // namespace

Action AddOpt(Arguments& arguments) {
  auto flags = std::make_shared<OptFlags>();
  arguments.Add("MODULE", flags->module, "HLO text or proto, or StableHLO, by its extension");
  arguments.Add("--passes", flags->passes, "default, none, or names separated by commas (--list-passes)")
      .ShowsDefault();
  AddFusionFlag(arguments, &flags->fusion);
  arguments.Add(kOutputFlag, flags->output,
                "File to write, its form by the extension (.hlo, .pb, .pbtxt, with .gz or .zst); standard output as "
                "text without it");
  AddTargetFlags(arguments, &flags->target);
  arguments.AddFlag("--no-verify", flags->no_verify, "Accept a module that the verifier would refuse");
  arguments.AddFlag("--print-after-all", flags->dump,
                    "Print the module to standard error before the first pass and after each that changed it");
  arguments.AddFlag("--list-passes", flags->list, "List the passes and why each exists");
  return [flags]() -> absl::Status {
    SMELT_ASSIGN_OR_RETURN(flags->module, ModuleFile(flags->module, flags->target.flags[kPythonFlag]));
    return Opt(*flags);
  };
}

}  // namespace smelt::cli
