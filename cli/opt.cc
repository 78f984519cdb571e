// smelt opt: graph passes, a fusion, and conversion between the forms of module files.
#include <cstdio>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "cli/target.h"
#include "cli/verb.h"
#include "cli/xla.h"
#include "hlo/file/read.h"
#include "hlo/file/write.h"
#include "hlo/passes/pipeline.h"
#include "hlo/text/printer.h"
#include "targets/cpu/codegen/target.h"
#include "targets/program.h"
#include "targets/xla/program.h"

namespace smelt::cli {
namespace {

struct Flags {
  std::string module, python, passes = "none", fusion, output, target = "cpu";
  bool no_verify = false, dump = false, list = false;
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

// A module as XLA's passes left it (targets/xla/program.h), fused as its code generator takes it.
absl::Status FuseForXla(const Flags& flags, std::unique_ptr<hlo::Module> module) {
  SMELT_ASSIGN_OR_RETURN(const int threads, XlaThreads(flags.target));
  targets::Program program;
  program.path = flags.module;
  SMELT_ASSIGN_OR_RETURN(program.flat, xla::FlatProgram(*module));
  SMELT_ASSIGN_OR_RETURN(const targets::FusedProgram fused, xla::FuseXlaProgram(program, flags.fusion, threads));
  return Write(flags.output, *fused.module);
}

absl::Status Opt(const Flags& flags) {
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
  if (!flags.fusion.empty() && IsXlaTarget(flags.target)) return FuseForXla(flags, std::move(module));
  if (!flags.fusion.empty()) {
    SMELT_ASSIGN_OR_RETURN(const cpu::Target target, ReadTarget(flags.target));
    SMELT_ASSIGN_OR_RETURN(targets::FusedProgram fused, targets::FuseModule(*module, flags.fusion, target));
    return Write(flags.output, *fused.module);
  }
  return Write(flags.output, *module);
}

}  // namespace

Action AddOpt(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  app.add_option("MODULE", flags->module, "HLO text or proto, or StableHLO, by its extension");
  AddPythonFlag(app, &flags->python);
  app.add_option("--passes", flags->passes, "default, none, or names separated by commas (--list-passes)")
      ->capture_default_str();
  app.add_option("--fusion", flags->fusion, targets::kFusionHelp)->check(CheckFusion);
  app.add_option(kOutputFlag, flags->output,
                 "File to write, its form by the extension (.hlo, .pb, .pbtxt, with .gz or .zst); standard output as "
                 "text without it");
  app.add_option("--target", flags->target,
                 "Target whose rules the fusion follows; xla:threads=N for a module as XLA's passes left it")
      ->capture_default_str();
  app.add_flag("--no-verify", flags->no_verify, "Accept a module that the verifier would refuse");
  app.add_flag("--print-after-all", flags->dump,
               "Print the module to standard error before the first pass and after each that changed it");
  app.add_flag("--list-passes", flags->list, "List the passes and why each exists");
  return [flags]() -> absl::Status {
    SMELT_ASSIGN_OR_RETURN(flags->module, ModuleFile(flags->module, flags->python));
    return Opt(*flags);
  };
}

}  // namespace smelt::cli
