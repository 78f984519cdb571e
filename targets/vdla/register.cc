// --target=vdla.
#include <utility>

#include "absl/strings/str_cat.h"
#include "targets/registry.h"
#include "targets/vdla/device.h"
#include "targets/vdla/vdla_target.h"

namespace smelt::vdla {
namespace {

constexpr char kSimulator[] = "--simulator";

absl::StatusOr<std::unique_ptr<targets::Target>> Open(const machine::TargetId& id, const targets::Settings& settings) {
  if (id.threads > 1)
    return absl::InvalidArgumentError(
        absl::StrCat("target `", id.ToString(), "`: the accelerator has one host thread"));
  VdlaOptions options{.machine = id.cpu.empty() ? "pynq" : id.cpu,
                      .cycle = settings.Get(kSimulator, "functional") == "cycle",
                      .program = settings.program,
                      .cache_folder = settings.cache_folder,
                      .start_seconds = settings.start_seconds,
                      .memory_bytes = settings.memory_bytes,
                      .cancel = settings.cancel};
  absl::StatusOr<isa::Config> config = isa::Config::Open(options.machine);
  if (!config.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("target `", id.ToString(), "`: ", std::string(config.status().message())));
  }
  return VdlaTarget(*std::move(config), std::move(options));
}

const targets::Registered kVdla(
    {.name = "vdla",
     .summary = "the VDLA accelerator, simulated: int8 layers of a quantised program, the rest on its host",
     .grammar = "vdla, vdla:pynq, vdla:big or vdla:MACHINE.json",
     .flags = {{.name = kSimulator,
                .help = "What computes the results of VDLA's layers; times come from the cycle simulator in any case",
                .value = "functional",
                .words = {"functional", "cycle"}}},
     .open = Open,
     .serve = WorkerMain});

}  // namespace
}  // namespace smelt::vdla
