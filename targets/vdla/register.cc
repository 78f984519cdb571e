// --target=vdla.
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "targets/registry.h"
#include "targets/vdla/device.h"
#include "targets/vdla/vdla_target.h"

namespace smelt::vdla {
namespace {

constexpr char kSimulator[] = "--simulator";
constexpr char kUsualMachine[] = "pynq";

absl::StatusOr<isa::Config> ConfigOf(const machine::TargetId& id) {
  absl::StatusOr<isa::Config> config = isa::Config::Open(id.cpu.empty() ? kUsualMachine : id.cpu);
  if (config.ok()) return config;
  return absl::InvalidArgumentError(
      absl::StrCat("target `", id.ToString(), "`: ", std::string(config.status().message())));
}

absl::StatusOr<gnn::KernelEstimate> Estimate(const machine::TargetId& id) {
  SMELT_ASSIGN_OR_RETURN(isa::Config config, ConfigOf(id));
  return VdlaEstimate(std::move(config));
}

absl::StatusOr<std::unique_ptr<targets::Target>> Open(const machine::TargetId& id, const targets::Settings& settings) {
  if (id.threads > 1)
    return absl::InvalidArgumentError(
        absl::StrCat("target `", id.ToString(), "`: the accelerator has one host thread"));
  VdlaOptions options{.machine = id.cpu.empty() ? kUsualMachine : id.cpu,
                      .cycle = settings.Get(kSimulator, "functional") == "cycle",
                      .program = settings.program,
                      .cache_folder = settings.cache_folder,
                      .start_seconds = settings.start_seconds,
                      .memory_bytes = settings.memory_bytes,
                      .cancel = settings.cancel};
  SMELT_ASSIGN_OR_RETURN(isa::Config config, ConfigOf(id));
  return VdlaTarget(std::move(config), std::move(options));
}

const targets::Registered kVdla(
    {.name = "vdla",
     .summary = "the VDLA accelerator, simulated: int8 layers of a quantised program, the rest on its host",
     .grammar = "vdla, vdla:pynq, vdla:big or vdla:MACHINE.json",
     .flags = {{.name = kSimulator,
                .help = "What computes the results of VDLA's layers; times come from the cycle simulator in any case",
                .value = "functional",
                .words = {"functional", "cycle"}}},
     .estimate = Estimate,
     .open = Open,
     .serve = WorkerMain});

}  // namespace
}  // namespace smelt::vdla
