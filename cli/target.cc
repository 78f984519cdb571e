#include "cli/target.h"

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/cache_folder.h"
#include "base/status_macros.h"
#include "cli/verb.h"
#include "targets/cpu/processor/detect.h"
#include "targets/program.h"

namespace smelt::cli {
namespace {

// Those that this process may run on.
int Cores() {
  cpu_set_t set;
  return ::sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 0;
}

absl::Status AsUsageError(const absl::Status& status) {
  return absl::IsInvalidArgument(status) ? UsageError(std::string(status.message())) : status;
}

void AddFlag(Arguments& arguments, const std::string& kind, const targets::Flag& flag, TargetFlags* flags) {
  std::string& value = flags->flags[flag.name] = flag.value;
  Argument option = arguments.Add(flag.name, value, absl::StrCat("With --target=", kind, ": ", flag.help));
  if (!flag.value.empty()) option.ShowsDefault();
  if (!flag.words.empty()) option.OneOf(flag.words);
  if (flag.seconds) option.Positive();
}

std::string FusionHelp() {
  std::string help = targets::kFusionHelp;
  for (const auto& [name, kind] : targets::Kinds()) {
    for (const auto& [fusion, what] : kind.fusions)
      absl::StrAppend(&help, "; with --target=", name, " also ", fusion, " (", what, ")");
  }
  return help;
}

// `open` makes the tunable of the target.
absl::StatusOr<OpenedProgram> OpenBy(
    const TargetFlags& flags, const std::string& fusion,
    absl::FunctionRef<absl::StatusOr<std::unique_ptr<targets::Tunable>>(const targets::Target&)> open) {
  SMELT_ASSIGN_OR_RETURN(const machine::TargetId id, ReadTargetId(flags));
  SMELT_RETURN_IF_ERROR(CheckFusionOf(id, fusion));
  OpenedProgram program;
  SMELT_ASSIGN_OR_RETURN(program.target, OpenTarget(flags, {.cache_folder = DefaultCacheFolder()}));
  SMELT_ASSIGN_OR_RETURN(program.tunable, open(*program.target));
  SMELT_ASSIGN_OR_RETURN(program.trial, program.tunable->Named(fusion));
  if (program.trial.compiler.empty()) return program;
  return UsageError(absl::StrCat("--fusion=", fusion, " is the compiler's own choice: its kernels are not known here"));
}

}  // namespace

void WarnOfThreads(int threads) {
  const int cores = Cores();
  if (cores == 0 || threads <= cores) return;
  std::fprintf(stderr, "%d threads on %d %s wait for each other: expect slow and noisy runs\n", threads, cores,
               cores == 1 ? "core" : "cores");
}

void AddTargetFlags(Arguments& arguments, TargetFlags* flags, FlagsFor use) {
  std::string help = "What to compile for:";
  for (const auto& [name, kind] : targets::Kinds()) {
    absl::StrAppend(&help, help.back() == ':' ? " " : "; ", kind.grammar, ": ", kind.summary);
    for (const targets::Flag& flag : kind.flags) {
      if (!flag.tuning || use == FlagsFor::kTuning) AddFlag(arguments, name, flag, flags);
    }
  }
  arguments.Add("--target", flags->words, help).ShowsDefault();
  arguments.Add("--threads", flags->threads, "Threads of one kernel, as --target=cpu:threads=N says too; 1 by default")
      .Between(1, 1024);
}

absl::StatusOr<machine::TargetId> ReadTargetId(const TargetFlags& flags) {
  absl::StatusOr<machine::TargetId> id = targets::ReadTargetId(flags.words);
  if (!id.ok()) return AsUsageError(id.status());
  if (id->threads > 0 && flags.threads > 0 && id->threads != flags.threads) {
    return UsageError(absl::StrCat("--target=", flags.words, " and --threads=", flags.threads,
                                   " say different numbers of threads; give one of them"));
  }
  id->threads = std::max({id->threads, flags.threads, 1});
  return id;
}

absl::StatusOr<std::unique_ptr<targets::Target>> OpenTarget(const TargetFlags& flags, targets::Settings settings) {
  SMELT_ASSIGN_OR_RETURN(const machine::TargetId id, ReadTargetId(flags));
  settings.flags = flags.flags;
  absl::StatusOr<std::unique_ptr<targets::Target>> target = targets::Open(id, settings);
  if (!target.ok()) return AsUsageError(target.status());
  WarnOfThreads(id.threads);
  return target;
}

absl::StatusOr<OpenedProgram> OpenProgram(const TargetFlags& flags, const std::string& module,
                                          const std::string& fusion) {
  return OpenBy(flags, fusion, [&](const targets::Target& target) { return target.Open(module, fusion); });
}

absl::StatusOr<OpenedProgram> TakeProgram(const TargetFlags& flags, std::unique_ptr<hlo::Module> module,
                                          const std::string& fusion) {
  return OpenBy(flags, fusion, [&](const targets::Target& target) { return target.Take(std::move(module), fusion); });
}

absl::StatusOr<cpu::Target> ReadProcessor(const std::string& words) {
  absl::StatusOr<cpu::Target> target = cpu::ParseTarget(words);
  return target.ok() ? target : AsUsageError(target.status());
}

void AddFusionFlag(Arguments& arguments, std::string* fusion) {
  arguments.Add("--fusion", *fusion, FusionHelp())
      .Check([](const std::string& value) -> std::string {
        for (const auto& [name, kind] : targets::Kinds()) {
          if (kind.fusions.contains(value)) return "";
        }
        std::error_code error;  // of a name that is too long, say
        if (targets::IsFusionName(value) || std::filesystem::exists(value, error)) return "";
        return absl::StrCat("`", value, "` is neither a file nor one of: ", FusionHelp());
      })
      .ShowsDefault();
}

absl::Status CheckFusionOf(const machine::TargetId& id, const std::string& fusion) {
  std::vector<std::string> owners;
  for (const auto& [name, kind] : targets::Kinds()) {
    if (kind.fusions.contains(fusion)) owners.push_back(absl::StrCat("--target=", name));
    if (kind.fusions.contains(fusion) && name == id.kind) return absl::OkStatus();
  }
  std::error_code error;
  if (owners.empty() || targets::IsFusionName(fusion) || std::filesystem::exists(fusion, error))
    return absl::OkStatus();
  return UsageError(absl::StrCat("--fusion=", fusion, " is another target's own choice: give ",
                                 absl::StrJoin(owners, " or "), " as well"));
}

}  // namespace smelt::cli
