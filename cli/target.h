// --target: which of the targets that are registered (targets/registry.h) a verb works for, and their own flags.
//
//   auto flags = std::make_shared<TargetFlags>();
//   AddTargetFlags(arguments, flags.get());
//   ...
//   std::unique_ptr<targets::Target> target = OpenTarget(*flags, {.cache_folder = folder}).value();
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/words/arguments.h"
#include "machine/target_id.h"
#include "targets/cpu/codegen/target.h"
#include "targets/registry.h"
#include "targets/target.h"
#include "targets/tunable.h"

namespace smelt::cli {

// --target=KIND, KIND:threads=N or KIND:CPU,threads=N; --threads=N, which says no more than that; and the flags of the
// kinds.
struct TargetFlags {
  std::string words = "cpu";
  int threads = 0;                           // 0: not given
  std::map<std::string, std::string> flags;  // targets::Settings::flags
};

enum class FlagsFor : uint8_t { kAnything, kTuning };  // of targets::Flag::tuning
void AddTargetFlags(Arguments& arguments, TargetFlags* flags, FlagsFor use = FlagsFor::kAnything);

// What both flags say, on one thread where neither says how many. A usage error: words that name no target, or other
// threads in the one than in the other.
absl::StatusOr<machine::TargetId> ReadTargetId(const TargetFlags& flags);

// `settings` without its flags, which are these. A usage error: the kind has not what the name asks for. More threads
// than this process has cores are a line on standard error.
absl::StatusOr<std::unique_ptr<targets::Target>> OpenTarget(const TargetFlags& flags, targets::Settings settings);

// --fusion: a name that is every target's or some target's own, or a file that exists.
void AddFusionFlag(Arguments& arguments, std::string* fusion);
// A usage error where such a name is another target's.
absl::Status CheckFusionOf(const machine::TargetId& id, const std::string& fusion);

// A module on a target, in a configuration of ours.
struct OpenedProgram {
  std::unique_ptr<targets::Target> target;
  std::unique_ptr<targets::Tunable> tunable;
  targets::Trial trial;
};
// A usage error where `fusion` is a compiler's own choice: of that nothing is known here.
absl::StatusOr<OpenedProgram> OpenProgram(const TargetFlags& flags, const std::string& module,
                                          const std::string& fusion);
// The same of a module that was read, as targets::Target::Take takes it.
absl::StatusOr<OpenedProgram> TakeProgram(const TargetFlags& flags, std::unique_ptr<hlo::Module> module,
                                          const std::string& fusion);

// The processor that features are made for: cpu, cpu:threads=N or cpu:CPU,threads=N.
absl::StatusOr<cpu::Target> ReadProcessor(const std::string& words);

void WarnOfThreads(int threads);

}  // namespace smelt::cli
