#include "vdla/rtl/memory_port.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"

namespace smelt::vdla::rtl {

MemoryPort::MemoryPort(const isa::Timing& timing, int beat_bytes, std::string_view instructions, sim::Dram& dram)
    : timing_(timing), beat_bytes_(static_cast<uint32_t>(beat_bytes)), instructions_(instructions), dram_(dram) {}

// The core checks addresses before it asks, so that one outside is its fault.
const uint8_t* MemoryPort::At(uint64_t address, uint32_t bytes) const {
  if (address < dram_.size()) {
    Check(dram_.Holds(address, bytes), "the core reads outside DRAM");
    return dram_.data() + address;
  }
  Check(address - dram_.size() + bytes <= instructions_.size(), "the core reads behind the program");
  return reinterpret_cast<const uint8_t*>(instructions_.data()) + (address - dram_.size());
}

void MemoryPort::Drive(CorePins& pins) {
  // What the bus did not move is lost, but for what a beat of its full width needs beyond one cycle's bytes.
  const auto per_cycle = static_cast<int64_t>(std::llround(timing_.dram_bytes_per_cycle * 1000));
  budget_ = std::min<int64_t>(budget_ + per_cycle, per_cycle + 1000 * int64_t{beat_bytes_});
  const bool may_move = budget_ >= 1000 * int64_t{beat_bytes_};

  pins.read_ready = 0;
  for (size_t unit = 0; unit < outstanding_.size(); ++unit)
    pins.read_ready |= uint32_t{outstanding_[unit] < timing_.outstanding_requests} << unit;
  const bool has_data = !requests_.empty() && requests_.front().ready <= cycle_;
  pins.data_valid = has_data && may_move && (write_was_last_ || !pins.write_valid);
  if (pins.data_valid) {
    const Request& request = requests_.front();
    pins.data_unit = request.unit;
    pins.data_bytes = std::min(static_cast<uint32_t>(request.data.size()) - request.given, beat_bytes_);
    std::memcpy(pins.data, request.data.data() + request.given, pins.data_bytes);
  }
  pins.write_ready = may_move && !pins.data_valid;
  pins.write_done = !writes_.empty() && writes_.front().done <= cycle_;
}

void MemoryPort::Take(const CorePins& pins) {
  if (pins.write_done) {
    const Write& write = writes_.front();
    std::copy(write.data.begin(), write.data.end(), dram_.data() + write.address);
    writes_.pop_front();
  }
  if (pins.data_valid && pins.data_ready) {
    Request& request = requests_.front();
    budget_ -= 1000 * int64_t{pins.data_bytes};
    request.given += pins.data_bytes;
    if (request.given == request.data.size()) {
      --outstanding_[request.unit];
      requests_.pop_front();
    }
    write_was_last_ = false;
  }
  if (pins.write_valid && pins.write_ready) {
    budget_ -= 1000 * int64_t{pins.write_bytes};
    Check(dram_.Holds(pins.write_address, pins.write_bytes), "the core writes outside DRAM");
    writes_.push_back(
        {pins.write_address, cycle_ + timing_.dram_latency, {pins.write_data, pins.write_data + pins.write_bytes}});
    write_was_last_ = true;
  }
  if (pins.read_valid) {
    const uint8_t* from = At(pins.read_address, pins.read_bytes);
    requests_.push_back({pins.read_unit, 0, cycle_ + timing_.dram_latency, {from, from + pins.read_bytes}});
    ++outstanding_[pins.read_unit];
  }
  ++cycle_;
}

}  // namespace smelt::vdla::rtl
