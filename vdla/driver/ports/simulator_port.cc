#include "vdla/driver/ports/simulator_port.h"

#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "sim/machine.h"
#include "sim/simulate.h"
#include "vdla/driver/ports/dram_allocator.h"
#include "vdla/isa/encoding.h"

namespace smelt::vdla::driver {
namespace {

// Address 0 is in no buffer, so that an address that was never set is outside of all.
constexpr uint64_t kFirstAddress = 4096;

// A whole share of `cycles`; what rounding leaves is the queue's.
UnitCycles InWholeCycles(const sim::UnitReport& unit, uint64_t cycles) {
  UnitCycles whole{.busy = static_cast<uint64_t>(std::llround(unit.busy)),
                   .token = static_cast<uint64_t>(std::llround(unit.token)),
                   .dma = static_cast<uint64_t>(std::llround(unit.dma)),
                   .port = static_cast<uint64_t>(std::llround(unit.port))};
  const uint64_t others = whole.busy + whole.token + whole.dma + whole.port;
  whole.queue = cycles > others ? cycles - others : 0;
  return whole;
}

class SimulatorPort : public Port {
 public:
  SimulatorPort(std::string_view name, std::unique_ptr<sim::Machine> machine, bool races)
      : name_(name), machine_(std::move(machine)), races_(races), allocator_(kFirstAddress, machine_->dram().size()) {}

  std::string_view name() const override { return name_; }
  const isa::Config& machine() const override { return machine_->config(); }

  absl::StatusOr<uint64_t> Allocate(uint64_t bytes, uint64_t alignment) override {
    return allocator_.Allocate(bytes, alignment);
  }
  absl::Status Free(uint64_t address) override { return allocator_.Free(address); }

  absl::StatusOr<uint64_t> Write(uint64_t address, absl::Span<const uint8_t> bytes) override {
    SMELT_RETURN_IF_ERROR(Check(address, bytes.size()));
    if (!bytes.empty()) std::memcpy(machine_->dram().data() + address, bytes.data(), bytes.size());
    return bytes.size();
  }
  absl::StatusOr<uint64_t> Read(uint64_t address, absl::Span<uint8_t> bytes) override {
    SMELT_RETURN_IF_ERROR(Check(address, bytes.size()));
    if (!bytes.empty()) std::memcpy(bytes.data(), machine_->dram().data() + address, bytes.size());
    return bytes.size();
  }

  absl::StatusOr<RunResult> Run(uint64_t address, uint64_t count, double timeout_seconds) override {
    const bool too_many = count > machine_->dram().size() / isa::kInstructionBytes;
    if (too_many || address % isa::kInstructionBytes != 0 || !allocator_.Holds(address, count * isa::kInstructionBytes))
      return absl::InvalidArgumentError(StrCat(count, " instructions at DRAM address ", address,
                                               " lie in no buffer, or at no multiple of ", isa::kInstructionBytes));
    const auto* bytes = reinterpret_cast<const char*>(machine_->dram().data() + address);
    SMELT_ASSIGN_OR_RETURN(const std::vector<isa::Instruction> instructions,
                           isa::DecodeAll(std::string_view(bytes, count * isa::kInstructionBytes)));
    const bool timed = name_ == "cycle";
    const sim::Report report = sim::Simulate(*machine_, instructions,
                                             {.timing = timed ? sim::Timing::kCycle : sim::Timing::kFunctional,
                                              .find_races = races_,
                                              .max_seconds = timeout_seconds});
    SMELT_RETURN_IF_ERROR(ToPortStatus(report));
    RunResult result{.timed = timed};
    if (!timed) return result;
    result.cycles = static_cast<uint64_t>(report.cycles);
    for (int u = 0; u < isa::kUnits; ++u) result.units[u] = InWholeCycles(report.units[u], result.cycles);
    return result;
  }

 private:
  absl::Status Check(uint64_t address, uint64_t bytes) const {
    if (allocator_.Holds(address, bytes)) return absl::OkStatus();
    return absl::InvalidArgumentError(StrCat(bytes, " bytes at DRAM address ", address, " lie in no buffer"));
  }

  static absl::Status ToPortStatus(const sim::Report& report) {
    switch (report.end) {
      case sim::End::kFinished:
        if (report.races.empty()) return absl::OkStatus();
        return absl::AbortedError(StrCat(report.races.front().message, "; ", report.race_count,
                                         " in all. Order them by a token, or open the port with races=off"));
      case sim::End::kIllegal:
        return absl::InvalidArgumentError(report.message);
      case sim::End::kLimit:
        return absl::DeadlineExceededError(report.message);
      default:
        return absl::AbortedError(report.message);
    }
  }

  const std::string name_;
  const std::unique_ptr<sim::Machine> machine_;
  const bool races_;
  DramAllocator allocator_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Port>> OpenSimulatorPort(std::string_view name, const Options& options) {
  SMELT_RETURN_IF_ERROR(options.CheckKnown(name, {"machine", "races", "dram"}));
  SMELT_ASSIGN_OR_RETURN(const isa::Config config, options.Machine());
  SMELT_ASSIGN_OR_RETURN(const bool races, options.Flag("races", true));
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<sim::Machine> machine, sim::Machine::Create(config));
  return std::unique_ptr<Port>(new SimulatorPort(name, std::move(machine), races));
}

}  // namespace smelt::vdla::driver
