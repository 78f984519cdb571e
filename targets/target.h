// A code generator on a device: all that the search, the profiler and the verbs know of what they tune for.
//
//   std::unique_ptr<targets::Tunable> program = target.Open("model.hlo", "priority").value();
//   measure::Runner runner(target.NewDevice(targets::DeviceUse::kTimes), {});
//   measure::Outcome alone = target.TimeKernel(runner, kernel, "").outcome;
//
// A new target writes this class and what answers the requests of its runner (measure/device.h), in a folder of its
// own, and registers them (registry.h); nothing above this folder names it. What is not overridden does as our own
// kernels do: programs are HLO text under the target's rules (tunable.h). Immutable and thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "fusion/kernel.h"
#include "fusion/rules.h"
#include "gnn/predictor.h"
#include "machine/machine.h"
#include "machine/target_id.h"
#include "measure/budget.h"
#include "measure/device.h"
#include "measure/runner.h"
#include "targets/program.h"

namespace smelt::targets {

class Tunable;

enum class DeviceUse : uint8_t {
  kTimes,     // whose times count
  kCompiles,  // ahead of another one, which takes the code from the cache
};

// A default that another compiler than ours makes.
struct CompilersOwn {
  std::string compiler;  // for people
  std::string answer;    // Trial::compiler
  std::string words;     // of such an answer
};

// The whole of a kernel on its way to code, part by part: a name and a text.
using KernelListing = std::vector<std::pair<std::string, std::string>>;

// How a kernel runs: as loops that the compiler makes, unless this says otherwise.
struct KernelForm {
  bool native = false;  // as an operation of the target's runtime
  std::string opaque;   // as neither, and why
};

class Target {
 public:
  virtual ~Target() = default;

  // Whose code, on which processor, on how many threads: stands in corpora, models and configurations.
  virtual machine::TargetId id() const = 0;
  // What records of times are kept under beside the compiler's version and the device.
  virtual std::string RecordName() const { return id().ToString(); }
  virtual std::string CompilerVersion() const = 0;
  virtual const machine::Machine& machine() const = 0;
  // What may share a kernel.
  virtual fusion::Rules rules() const { return fusion::Rules::OwnKernels(); }

  // A module file as its fusions are searched, with the configuration of this name or file for its default. Errors:
  // those of reading it, and of the target's own passes.
  virtual absl::StatusOr<std::unique_ptr<Tunable>> Open(const std::string& path, const std::string& fusion) const;
  // The same for a tuning session in this run folder, within this time. `notes` receives a line for each thing that the
  // search must do without. DeadlineExceeded: the budget ended before the target's own passes did.
  virtual absl::StatusOr<std::unique_ptr<Tunable>> Prepare(const std::string& path, const std::string& folder,
                                                           const measure::Budget& budget,
                                                           std::vector<std::string>* notes) const;
  // The default of such a session as a device takes it, where that is known before the target's own passes: a look at
  // how it does needs no more. Unimplemented: it is not.
  virtual absl::StatusOr<measure::Candidate> Default(const std::string& path) const;
  // A module as it is, without any pass.
  virtual absl::StatusOr<std::unique_ptr<Tunable>> Take(std::unique_ptr<hlo::Module> module,
                                                        const std::string& fusion) const;
  // What a session answers where its time was over before a program was ready: whoever runs the program without us.
  virtual std::optional<CompilersOwn> compilers_own() const { return std::nullopt; }

  // What predicts its kernels: a model file, `analytical`, or by default (an empty name) what is best.
  virtual absl::StatusOr<std::unique_ptr<gnn::Predictor>> OpenPredictor(const std::string& name) const;
  // Seconds of a kernel, before anything was measured; what heuristics and limits of size go by.
  virtual absl::StatusOr<double> RoughSeconds(const fusion::Kernel& kernel) const;
  // The same of a computation, for heuristics; empty: the space's own cost (fusion/kernel_cost.h).
  virtual std::function<double(const hlo::Computation&)> HeuristicCost() const;
  // Whether nothing runs for it: it is another name of a value.
  virtual bool IsNothing(const fusion::Kernel& kernel) const;
  // How each of these kernels of a fused module runs.
  virtual std::vector<KernelForm> FormsOf(const hlo::Module& fused, const std::vector<fusion::Kernel>& kernels) const;
  // Unimplemented: it has none to show. `way`: as TimeKernel's.
  virtual absl::StatusOr<KernelListing> Show(const fusion::Kernel& kernel, const std::string& way) const;

  // The schedule (schedule::Schedule::ToString) that such a kernel gets by default, found without generating code;
  // empty: not known.
  virtual std::string DefaultSchedule(const fusion::Kernel&) const { return ""; }

  // What answers a runner's requests.
  virtual measure::DeviceFactory NewDevice(DeviceUse use) const = 0;
  // Seconds that compiling one candidate may take, where the target sets a limit of its own.
  virtual std::optional<double> BuildSeconds() const { return std::nullopt; }
  // Times a kernel alone. `way`: one of Tunable::kernel_knobs, or of its tiles; empty: as it runs by default.
  // `reference`: Runner::TimeKernel's.
  virtual measure::Runner::KernelResult TimeKernel(measure::Runner& runner, const fusion::Kernel& kernel,
                                                   const std::string& way,
                                                   const fusion::Kernel* reference = nullptr) const;
  // A kernel that does nothing, where what it takes is the least that can be told from nothing; otherwise none.
  virtual std::optional<fusion::Kernel> EmptyKernel() const { return std::nullopt; }
  // Whether a kernel takes another time when it is timed again: on a machine, and not in a simulator.
  virtual bool TimesVary() const { return true; }
  // Whether what times a kernel alone puts its arrays as far away as its program leaves them (Kernel::distances).
  virtual bool HasDistances() const { return false; }
  // Whether its kernels have the tiles of kernels/tiles/tiles.h.
  virtual bool HasTiles() const { return false; }
  // Whether what was compiled once is in the cache: for another process, and ahead of its timing.
  virtual bool KeepsCode() const { return false; }
};

}  // namespace smelt::targets
