// One program, under one configuration, on a target's device: what `run` and `bench` do with it.
//
//   OneProgram program = OneProgram::Open(target, "model.hlo", "priority", /*cancel=*/nullptr).value();
//   hlo::Literal result = program.Run(inputs).value();
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo/literal.h"
#include "measure/runner.h"
#include "targets/target.h"
#include "targets/tunable.h"

namespace smelt::cli {

// One program may take what this process may: a value for targets::Settings::memory_bytes.
inline constexpr int64_t kWholeMemory = std::numeric_limits<int64_t>::max();

class OneProgram {
 public:
  // `target` must outlive it. `schedules`: a file with those of some kernels (cli/schedule_file.h); others have theirs.
  // `library`: a cache folder, whose tuned schedules kernels run with where nothing else is chosen for them
  // (targets/schedule_library.h); empty: none.
  static absl::StatusOr<OneProgram> Open(const targets::Target& target, const std::string& path,
                                         const std::string& fusion, const std::atomic<bool>* cancel,
                                         const std::string& schedules = "", const std::string& library = "");

  const targets::Tunable& tunable() const { return *tunable_; }
  const hlo::Module& module() const { return *tunable_->program().original; }
  // The configuration applied; null where the compiler decides.
  std::unique_ptr<hlo::Module> Fused() const;

  // Runs it once on these inputs, one literal a parameter. Cancelled after an interruption.
  absl::StatusOr<hlo::Literal> Run(const std::vector<hlo::Literal>& inputs);

  // Whether times are in turn with those of another compiler's own choice.
  bool HasReference() const;
  // Times it on these inputs for so many seconds, or so many runs where `runs` is not 0; then its kernels, where the
  // target tells of them. An interruption ends it with what it has; Cancelled where that is nothing.
  absl::StatusOr<measure::Runner::ProgramResult> Time(const std::vector<hlo::Literal>& inputs, double seconds,
                                                      int64_t runs);

 private:
  OneProgram() = default;
  absl::Status Why(const measure::Outcome& outcome) const;

  std::unique_ptr<targets::Tunable> tunable_;
  targets::Trial trial_;
  std::unique_ptr<measure::Runner> runner_;
  const std::atomic<bool>* cancel_ = nullptr;
};

}  // namespace smelt::cli
