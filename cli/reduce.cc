// smelt reduce: shrinks a module while a command keeps failing on it.
#include "fuzz/reduce/reduce.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "base/write_file.h"
#include "cli/interrupt.h"
#include "cli/verb.h"
#include "fuzz/trial/child.h"
#include "hlo/file/read.h"
#include "hlo/text/printer.h"
#include "tuner/progress.h"

namespace smelt::cli {
namespace {

struct ReduceFlags {
  std::string module, output, exit = "same";
  std::vector<std::string> command;
  double timeout = 60, seconds = 0;
  bool quiet = false;
};

// How a command ended: its status, or 128 and the signal, as shells say it; -1 where it was ended for taking too long.
int StatusOf(const fuzz::ChildOutcome& outcome) {
  if (outcome.kind == fuzz::ChildOutcome::Kind::kTimedOut) return -1;
  return outcome.signal != 0 ? 128 + outcome.signal : outcome.status;
}

// The command on a candidate, which is written to a file of its own.
class Command {
 public:
  Command(const ReduceFlags& flags, const Interrupt& interrupt)
      : flags_(flags), interrupt_(interrupt), file_(absl::StrCat(flags.output, ".candidate.hlo")) {}
  ~Command() {
    std::error_code ignored;
    std::filesystem::remove(file_, ignored);
  }

  absl::StatusOr<int> Run(const hlo::Module& module) {
    SMELT_RETURN_IF_ERROR(smelt::WriteFile(file_, hlo::ToText(module)));
    std::vector<std::string> words;
    bool named = false;
    for (const std::string& word : flags_.command) {
      named |= word.find("{}") != std::string::npos;
      words.push_back(absl::StrReplaceAll(word, {{"{}", file_}}));
    }
    if (!named) words.push_back(file_);
    fuzz::ChildLimits limits;
    limits.seconds = flags_.timeout;
    limits.bytes = int64_t{1} << 60;
    SMELT_ASSIGN_OR_RETURN(const fuzz::ChildOutcome outcome, fuzz::RunInChild(
                                                                 [&](fuzz::Report&) {
                                                                   std::vector<char*> pointers;
                                                                   for (std::string& word : words)
                                                                     pointers.push_back(word.data());
                                                                   pointers.push_back(nullptr);
                                                                   ::execvp(pointers[0], pointers.data());
                                                                   ::_exit(127);
                                                                 },
                                                                 limits, [this] { return interrupt_.Requested(); }));
    return StatusOf(outcome);
  }

 private:
  const ReduceFlags& flags_;
  const Interrupt& interrupt_;
  std::string file_;
};

absl::Status Reduce(const ReduceFlags& flags) {
  Interrupt interrupt;
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<hlo::Module> module, hlo::ReadModuleFile(flags.module));
  Command command(flags, interrupt);
  SMELT_ASSIGN_OR_RETURN(const int start, command.Run(*module));
  if (start == 127) {
    return absl::InvalidArgumentError(absl::StrCat(flags.command[0], ": the command cannot be started (status 127)"));
  }
  const int wanted = flags.exit == "same" || flags.exit == "any" ? start : std::atoi(flags.exit.c_str());
  if (start == 0 || start != wanted) {
    return absl::FailedPreconditionError(absl::StrCat("the command ends with status ", start, " on ", flags.module,
                                                      " as it is, expected ", start == 0 ? "a failure" : flags.exit,
                                                      "; there is nothing to keep"));
  }
  SMELT_RETURN_IF_ERROR(smelt::WriteFile(flags.output, hlo::ToText(*module)));
  absl::Status broken = absl::OkStatus();
  fuzz::ReduceOptions options;
  if (flags.seconds > 0) options.max_seconds = flags.seconds;
  options.fails = [&](const hlo::Module& candidate) {
    const absl::StatusOr<int> status = command.Run(candidate);
    if (!status.ok()) {
      if (!absl::IsCancelled(status.status())) broken = status.status();
      return false;
    }
    return flags.exit == "any" ? *status != 0 && *status != 127 : *status == wanted;
  };
  std::optional<tuner::Progress> line(std::in_place);
  options.progress = [&](const fuzz::ReduceProgress& progress, const hlo::Module& best, bool improved) {
    if (improved && broken.ok()) broken = smelt::WriteFile(flags.output, hlo::ToText(best));
    if (!flags.quiet) {
      line->Update(absl::StrCat(progress.instructions, " of ", module->instruction_count(), " instructions left, ",
                                progress.tried, " candidates tried, ", progress.kept, " kept"));
    }
    return broken.ok() && !interrupt.Requested();
  };
  const std::unique_ptr<hlo::Module> reduced = fuzz::Reduce(*module, options);
  line.reset();
  SMELT_RETURN_IF_ERROR(broken);
  std::printf("%s: %lld instructions of %lld, status %d\n", flags.output.c_str(),
              static_cast<long long>(reduced->instruction_count()), static_cast<long long>(module->instruction_count()),
              start);
  return Interrupt::End(absl::StrCat(flags.output, " is the smallest so far"));
}

}  // namespace

Action AddReduce(Arguments& arguments) {
  auto flags = std::make_shared<ReduceFlags>();
  arguments.Add("MODULE", flags->module, "HLO text on which the command fails").Required();
  arguments
      .Add("COMMAND", flags->command,
           "After `--`: the command and its words; {} stands for the candidate's file, which else comes last")
      .Required();
  arguments.Add(kOutputFlag, flags->output, "The smallest module so far; kept after Ctrl-C too").Required();
  arguments.Add("--exit", flags->exit, "Which failure to keep: same (as on MODULE), any, or a status from 1 to 255")
      .OneOfOrBetween({"same", "any"}, 1, 255)
      .ShowsDefault();
  arguments.Add("--timeout", flags->timeout, "Seconds for one run of the command; more counts as a status of its own")
      .Positive()
      .ShowsDefault();
  arguments.Add("--time", flags->seconds, "Seconds for the whole reduction; 0: no limit").NotNegative().ShowsDefault();
  arguments.AddFlag("--quiet", flags->quiet, "No progress line");
  return [flags] { return Reduce(*flags); };
}

}  // namespace smelt::cli
