#include "vdla/rtl/core.h"

#include <algorithm>
#include <cstring>

#include "Vpynq.h"
#include "Vtiny.h"
#include "absl/status/status.h"
#include "base/str_cat.h"
#include "vdla/rtl/machines.h"
#include "verilated.h"

namespace smelt::vdla::rtl {
namespace {

constexpr int kNumberBits = 24;  // of an instruction's number, as NUMBER in vdla.v

// Bits [low, low + 24) of a wide output.
template <typename Wide>
uint32_t NumberAt(const Wide& wide, int low) {
  uint64_t words[2] = {};
  const int word = low / 32;
  std::memcpy(words, reinterpret_cast<const char*>(&wide) + 4 * word, std::min<size_t>(8, sizeof(wide) - 4 * word));
  return static_cast<uint32_t>(words[0] >> (low % 32)) & ((1u << kNumberBits) - 1);
}

// A beat is a number or an array of words, depending on its width; the lowest byte comes first in both.
template <typename Model>
class VerilatedCore : public Core {
 public:
  explicit VerilatedCore(int memory_bytes) : memory_bytes_(memory_bytes), model_(&context_) {}
  ~VerilatedCore() override { model_.final(); }
  int memory_bytes() const override { return memory_bytes_; }

  void Settle(CorePins& pins) override {
    model_.clk = 0;
    model_.reset = pins.reset;
    model_.start = pins.start;
    model_.program_address = pins.program_address;
    model_.program_count = pins.program_count;
    model_.dram_bytes = pins.dram_bytes;
    model_.read_ready = static_cast<CData>(pins.read_ready);
    model_.data_valid = pins.data_valid;
    model_.data_unit = static_cast<CData>(pins.data_unit);
    model_.data_bytes = static_cast<CData>(pins.data_bytes);
    std::memcpy(&model_.data, pins.data, static_cast<size_t>(memory_bytes_));
    model_.write_ready = pins.write_ready;
    model_.write_done = pins.write_done;
    model_.eval();
    pins.done = model_.done;
    pins.trap = model_.trap;
    pins.trap_code = model_.trap_code;
    pins.trap_number = model_.trap_number;
    pins.read_valid = model_.read_valid;
    pins.read_unit = model_.read_unit;
    pins.read_address = model_.read_address;
    pins.read_bytes = model_.read_bytes;
    pins.data_ready = model_.data_ready;
    pins.write_valid = model_.write_valid;
    pins.write_address = model_.write_address;
    pins.write_bytes = model_.write_bytes;
    std::memcpy(pins.write_data, &model_.write_data, static_cast<size_t>(memory_bytes_));
    pins.begin_work = model_.begin_work;
    pins.end_work = model_.end_work;
    pins.retire = model_.retire;
    for (int unit = 0; unit < isa::kUnits; ++unit)
      pins.unit_number[unit] = NumberAt(model_.unit_number, unit * kNumberBits);
  }

  void Clock() override {
    model_.clk = 1;
    model_.eval();
  }

 private:
  const int memory_bytes_;
  VerilatedContext context_;
  Model model_;
};

template <typename Model>
std::unique_ptr<Core> Make(int memory_bytes) {
  return std::make_unique<VerilatedCore<Model>>(memory_bytes);
}

struct Machine {
  const char* config;  // JSON, from which the parameters of the Verilog were taken
  int memory_bytes;
  std::unique_ptr<Core> (*make)(int memory_bytes);
};
const Machine kMachines[] = {
    {PynqMachine(), kPynqMemoryBytes, Make<Vpynq>},
    {TinyMachine(), kTinyMemoryBytes, Make<Vtiny>},
};

// What the hardware has of a machine; DRAM and its timing are outside of it.
bool SameCore(isa::Config a, const isa::Config& b) {
  a.name = b.name;
  a.clock_hz = b.clock_hz;
  a.dram_bytes = b.dram_bytes;
  const int64_t burst = a.timing.burst_bytes, distance = a.timing.gemm_raw_distance;
  a.timing = b.timing;
  return a == b && burst == b.timing.burst_bytes && distance == b.timing.gemm_raw_distance;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Core>> OpenCore(const isa::Config& config) {
  std::string names;
  for (const Machine& machine : kMachines) {
    const absl::StatusOr<isa::Config> built = isa::Config::Parse(machine.config, "a core's machine");
    if (!built.ok()) return built.status();
    if (SameCore(*built, config)) return machine.make(machine.memory_bytes);
    StrAppend(&names, names.empty() ? "" : ", ", built->name);
  }
  return absl::UnimplementedError(
      StrCat("no core was built for the sizes of machine ", config.name, "; there are: ", names));
}

}  // namespace smelt::vdla::rtl
