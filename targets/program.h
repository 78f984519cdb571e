// How a file becomes a program that can be tuned, and how a configuration's name becomes its kernels.
//
//   Program program = LoadProgram("models/resnet18.hlo").value();
//   FusedProgram fused = FuseProgram(program, "priority", target).value();
//   // fused.module has fusion instructions and computes what program.original does
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "fusion/config.h"
#include "fusion/space.h"
#include "fusion/unfuse.h"
#include "hlo/module.h"
#include "kernels/config/choice.h"
#include "machine/machine.h"

namespace smelt::targets {

struct Program {
  std::string path;
  std::unique_ptr<hlo::Module> original;  // as read, verified: what the evaluator runs
  // Where fusion starts: taken apart if it came fused, after the default passes. `given` remembers the fusions that it
  // came with.
  fusion::Unfused flat;

  const hlo::Module& module() const { return *flat.module; }
};

enum class Simplify : uint8_t {
  kYes,  // by the default passes, unless it came fused
  kNo,   // what XLA's passes left: configurations are for the module as it is
};
// Reads, verifies and simplifies a module file.
absl::StatusOr<Program> LoadProgram(const std::string& path, Simplify simplify = Simplify::kYes);
absl::StatusOr<Program> PrepareProgram(std::unique_ptr<hlo::Module> original, std::string path,
                                       Simplify simplify = Simplify::kYes);

inline constexpr const char* kFusionHelp =
    "none, tvm, xla-cpu, priority, random[:SEED], given (the fusions that the module came with), or a *.fusion.json "
    "file";
// Whether `spec` is a name of the list above, as against a file.
bool IsFusionName(const std::string& spec);

// The legal configuration of that name. `cost` (seconds of a kernel) is what `priority` goes by; empty: the space's own
// (fusion/kernel_cost.h).
absl::StatusOr<fusion::Config> NamedFusion(const fusion::Space& space, const fusion::Unfused& flat,
                                           const std::string& name,
                                           const std::function<double(const hlo::Computation&)>& cost);
// The same for kernels of ours, by the analytical cost of the machine; or that of a file.
absl::StatusOr<fusion::Config> FusionConfig(const fusion::Space& space, const fusion::Unfused& flat,
                                            const std::string& spec, const machine::Machine& machine);

struct FusedProgram {
  std::unique_ptr<hlo::Module> module;
  fusion::Config config;
  // Schedules that a configuration file chose, by canonical kernel hash; other kernels take their default.
  absl::flat_hash_map<Hash128, kernels::config::ScheduleChoice> schedules;
};

absl::StatusOr<FusedProgram> FuseProgram(const Program& program, const std::string& spec,
                                         const machine::Machine& machine);
// Without passes: of a module as it is.
absl::StatusOr<FusedProgram> FuseModule(const hlo::Module& module, const std::string& spec,
                                        const machine::Machine& machine);

}  // namespace smelt::targets
