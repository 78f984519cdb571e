// The targets that there are: each folder here registers its own, and --target names one.
//
//   machine::TargetId id = targets::ReadTargetId("cpu:threads=2").value();
//   std::unique_ptr<targets::Target> target = targets::Open(id, {.cache_folder = folder}).value();
//
// A folder's register.cc holds objects of the class Registered. It is linked as it is, since nothing asks for it by
// name.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fusion/rules.h"
#include "gnn/features/features.h"
#include "machine/target_id.h"
#include "measure/worker_process.h"
#include "targets/target.h"

namespace smelt::targets {

// A flag that a kind of target has beside --target.
struct Flag {
  std::string name;  // --python
  std::string help;
  std::string value;               // by default
  std::vector<std::string> words;  // the only ones that it takes; empty: any
  bool seconds = false;            // a positive number
  bool tuning = false;             // of tuning alone
};

struct Settings {
  std::map<std::string, std::string> flags;  // by name; what is not here has its default
  std::string cache_folder;                  // of compiled code; empty: in memory only
  std::string program;                       // of the measuring child; empty: this one
  double start_seconds = 60;                 // that a device has to start and answer
  // That a child may take; less where this process may not have so much.
  int64_t memory_bytes = measure::WorkerOptions().memory_limit_bytes;
  const std::atomic<bool>* cancel = nullptr;

  // The value of a flag, or `usual`.
  std::string Get(const std::string& flag, const std::string& usual = "") const;
  double Seconds(const std::string& flag, double usual) const;
};

struct Kind {
  std::string name;     // of --target
  std::string summary;  // for people: what compiles, and for what
  std::string grammar;  // all that may be said: cpu, cpu:threads=N or cpu:CPU,threads=N
  // Configurations beside those of targets::kFusionHelp, and what each is.
  std::map<std::string, std::string> fusions;
  std::vector<Flag> flags;
  // Its own rules of fusion where heuristics go by the rough cost (fusion/kernel_cost.h); null: they go by the
  // analytical one.
  fusion::Rules (*rough_rules)() = nullptr;
  // Its own formula of a kernel's time, which its models have among their features; null: the analytical model's.
  absl::StatusOr<gnn::KernelEstimate> (*estimate)(const machine::TargetId& id) = nullptr;
  // InvalidArgument: the name asks for what the kind has not. Other errors: it cannot work here.
  absl::StatusOr<std::unique_ptr<Target>> (*open)(const machine::TargetId& id, const Settings& settings) = nullptr;
  // What the hidden verb `measure-worker` runs where the target's devices are this program started again; null: they
  // are not. Returns the exit code.
  int (*serve)(const std::string& target, const std::string& cache_folder) = nullptr;
};

class Registered {
 public:
  explicit Registered(Kind kind);
};

// Those that are registered, each under its name.
const std::map<std::string, Kind>& Kinds();

// The names of a list, "cpu:znver4,threads=2,xla": a word that begins with a kind's name begins the next one.
std::vector<std::string> SplitTargets(const std::string& words);
// The name that --target has been given. InvalidArgument: no kind of this name, with those that there are.
absl::StatusOr<machine::TargetId> ReadTargetId(const std::string& words);
// Errors: those of ReadTargetId and of Kind::open.
absl::StatusOr<std::unique_ptr<Target>> Open(const machine::TargetId& id, const Settings& settings);

}  // namespace smelt::targets
