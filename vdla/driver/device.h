// A machine that was opened: its memory as buffers that free themselves, and the turn by which streams share it.
//
//   std::shared_ptr<Device> device = Device::Open("functional:machine=pynq").value();
//   Buffer buffer = device->Allocate(/*bytes=*/4096).value();
//   absl::Status written = device->Write(buffer, /*offset=*/0, bytes);
//
// Thread-safe. One call at a time reaches the port; the others wait for their turn, a run no longer than its time-out.
// Errors are the port's (ports/port.h), with what was being done in front.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/clock.h"
#include "vdla/driver/command_stream.h"
#include "vdla/driver/ports/port.h"
#include "vdla/isa/config.h"
#include "vdla/isa/instruction.h"

namespace smelt::vdla::driver {

class Device;

// What Device::Allocate took; goes back when the last buffer and the last submission that use it are gone. That waits
// for nobody: the port is told at the next turn.
class DeviceMemory {
 public:
  DeviceMemory(std::shared_ptr<Device> device, uint64_t address) : device_(std::move(device)), address_(address) {}
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory();
  const Device* device() const { return device_.get(); }
  const std::shared_ptr<Device>& shared_device() const { return device_; }

 private:
  const std::shared_ptr<Device> device_;
  const uint64_t address_;
};

// A range of a device's memory. A copy is the same range.
struct Buffer {
  std::shared_ptr<const DeviceMemory> memory;
  uint64_t address = 0;  // bytes
  uint64_t size = 0;     // bytes
  const Device* device() const { return memory == nullptr ? nullptr : memory->device(); }
};

// Micro-ops in the device's memory, for any stream of the device.
struct Kernel {
  MicroOpKernel micro_ops;
  Buffer buffer;
};

class Device : public std::enable_shared_from_this<Device> {
 public:
  // The name of a port and its options: ports/open_port.h.
  static absl::StatusOr<std::shared_ptr<Device>> Open(std::string_view port);
  static std::shared_ptr<Device> On(std::unique_ptr<Port> port);

  const isa::Config& machine() const { return port_->machine(); }
  std::string_view port_name() const { return port_->name(); }

  // The address is a multiple of `alignment` (a power of two up to 2^30) and of every element's bytes, so that each
  // element of the buffer has a number. What is in it is not known.
  absl::StatusOr<Buffer> Allocate(uint64_t bytes, uint64_t alignment = 1);
  // InvalidArgument: the range leaves the buffer, or the buffer is another device's. DataLoss: the port moved nothing.
  absl::Status Write(const Buffer& buffer, uint64_t offset, absl::Span<const uint8_t> bytes);
  absl::Status Read(const Buffer& buffer, uint64_t offset, absl::Span<uint8_t> bytes);
  absl::Status WriteZeros(const Buffer& buffer);

  // InvalidArgument: none, an index that its bits cannot hold or that lies outside of every memory, or more than the
  // chip can hold or an instruction can name.
  absl::StatusOr<std::shared_ptr<const Kernel>> Record(absl::Span<const isa::MicroOp> micro_ops);

  // Bytes that every element's size divides.
  uint64_t element_alignment() const;

  // Runs encoded instructions. DeadlineExceeded: not before `deadline`, be it that others had the device.
  absl::StatusOr<RunResult> Run(const Buffer& instructions, uint64_t count, Clock::time_point deadline);

 private:
  friend class DeviceMemory;
  explicit Device(std::unique_ptr<Port> port) : port_(std::move(port)) {}

  // Holds the port until it is destroyed.
  class Turn;

  absl::Status CheckRange(const Buffer& buffer, uint64_t offset, uint64_t bytes) const;

  const std::unique_ptr<Port> port_;
  std::mutex mutex_;  // of the three below
  std::condition_variable turn_over_;
  bool taken_ = false;
  std::vector<uint64_t> released_;  // addresses that whoever has the next turn gives back
  uint64_t next_kernel_ = 1;        // of whoever has the turn
};

}  // namespace smelt::vdla::driver
