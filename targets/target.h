// A code generator on a device: all that the search, the profiler and the verbs know of what they tune for.
//
//   targets::Program program = target.Load("model.hlo").value();
//   fusion::Space space = target.SpaceOf(program).value();
//   measure::Outcome alone = target.TimeKernel(runner, kernel, "").outcome;
//
// A program that is tuned has an object of its own beside it (tunable.h). A new target writes these two classes and the
// child that its runner starts, in a folder of its own; nothing above this folder names it. Immutable and thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "fusion/kernel.h"
#include "fusion/space.h"
#include "machine/machine.h"
#include "machine/target_id.h"
#include "measure/runner.h"
#include "targets/program.h"

namespace smelt::targets {

class Target {
 public:
  virtual ~Target() = default;

  // Whose code, on which processor, on how many threads: stands in corpora, models and configurations.
  virtual machine::TargetId id() const = 0;
  // What records of times are kept under beside the compiler's version and the device.
  virtual std::string RecordName() const { return id().ToString(); }
  virtual std::string CompilerVersion() const = 0;
  virtual const machine::Machine& machine() const = 0;

  // A module as its fusions are searched. Errors: those of reading it, and of the target's own passes.
  virtual absl::StatusOr<Program> Load(const std::string& path) const = 0;
  // Its legal fusions.
  virtual absl::StatusOr<fusion::Space> SpaceOf(const Program& program) const = 0;

  // Seconds of a kernel, before anything was measured; what heuristics and limits of size go by.
  virtual absl::StatusOr<double> RoughSeconds(const fusion::Kernel& kernel) const = 0;
  // The same of a computation, for heuristics; empty: the space's own cost (fusion/kernel_cost.h).
  virtual std::function<double(const hlo::Computation&)> HeuristicCost() const { return nullptr; }
  // Whether nothing runs for it: it is another name of a value.
  virtual bool IsNothing(const fusion::Kernel& kernel) const = 0;

  // Times a kernel alone in the runner's child. `way`: one of Tunable::kernel_knobs, or of its tiles; empty: as it runs
  // by default.
  virtual measure::Runner::KernelResult TimeKernel(measure::Runner& runner, const fusion::Kernel& kernel,
                                                   const std::string& way) const = 0;
  // A kernel that does nothing, where what it takes is the least that can be told from nothing; otherwise none.
  virtual std::optional<fusion::Kernel> EmptyKernel() const { return std::nullopt; }
  // Whether its kernels have the tiles of kernels/tiles/tiles.h.
  virtual bool HasTiles() const = 0;
  // Whether what was compiled once is in the cache: for another process, and ahead of its timing.
  virtual bool KeepsCode() const = 0;
};

}  // namespace smelt::targets
