#include "vdla/driver/device.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "vdla/driver/ports/open_port.h"
#include "vdla/isa/encoding.h"

namespace smelt::vdla::driver {
namespace {

constexpr uint64_t kMostAlignment = uint64_t{1} << 30;
constexpr uint64_t kLeastAlignment = 64;       // a line of the host's cache
constexpr uint64_t kZerosAtATime = 1 << 20;    // bytes
constexpr uint64_t kMostMicroOpsNamed = 8191;  // by an instruction: 13 bits
constexpr uint64_t kMostElementNumber = uint64_t{1} << 32;

absl::Status While(std::string_view doing, const absl::Status& status) {
  return absl::Status(status.code(), StrCat(doing, ": ", status.message()));
}

}  // namespace

class Device::Turn {
 public:
  explicit Turn(Device& device) : device_(&device) {
    std::unique_lock<std::mutex> lock(device.mutex_);
    device.turn_over_.wait(lock, [&] { return !device.taken_; });
    Begin(lock);
  }
  // Nothing: it did not come in time.
  static std::optional<Turn> Before(Device& device, Clock::time_point deadline) {
    std::unique_lock<std::mutex> lock(device.mutex_);
    if (!device.turn_over_.wait_until(lock, deadline, [&] { return !device.taken_; })) return std::nullopt;
    Turn turn(&device);
    turn.Begin(lock);
    return turn;
  }
  Turn(Turn&& other) noexcept : device_(std::exchange(other.device_, nullptr)) {}
  Turn& operator=(Turn&&) = delete;
  ~Turn() {
    if (device_ == nullptr) return;
    {
      std::lock_guard<std::mutex> lock(device_->mutex_);
      device_->taken_ = false;
    }
    device_->turn_over_.notify_one();
  }

 private:
  explicit Turn(Device* device) : device_(device) {}
  void Begin(std::unique_lock<std::mutex>& lock) {
    device_->taken_ = true;
    const std::vector<uint64_t> released = std::exchange(device_->released_, {});
    lock.unlock();
    // A machine that is gone has nothing to give back.
    for (const uint64_t address : released) device_->port_->Free(address).IgnoreError();
  }
  Device* device_;
};

DeviceMemory::~DeviceMemory() {
  std::lock_guard<std::mutex> lock(device_->mutex_);
  device_->released_.push_back(address_);
}

absl::StatusOr<std::shared_ptr<Device>> Device::Open(std::string_view port) {
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<Port> opened, OpenPort(port));
  return On(std::move(opened));
}

std::shared_ptr<Device> Device::On(std::unique_ptr<Port> port) {
  return std::shared_ptr<Device>(new Device(std::move(port)));
}

uint64_t Device::element_alignment() const {
  uint64_t multiple = kLeastAlignment;
  for (int m = 0; m < isa::kMemories; ++m)
    multiple = std::lcm(multiple, static_cast<uint64_t>(machine().DramElementBytes(static_cast<isa::Memory>(m))));
  return multiple;
}

absl::StatusOr<Buffer> Device::Allocate(uint64_t bytes, uint64_t alignment) {
  if (bytes == 0) return absl::InvalidArgumentError("a buffer of 0 bytes: ask for at least one");
  if (alignment == 0 || alignment > kMostAlignment || (alignment & (alignment - 1)) != 0)
    return absl::InvalidArgumentError(
        StrCat("an alignment of ", alignment, " bytes: a power of two from 1 to ", kMostAlignment, " is needed"));
  absl::StatusOr<uint64_t> address;
  {
    Turn turn(*this);
    address = port_->Allocate(bytes, std::lcm(alignment, element_alignment()));
  }
  if (!address.ok()) return While("allocating a buffer", address.status());
  return Buffer{
      .memory = std::make_shared<DeviceMemory>(shared_from_this(), *address), .address = *address, .size = bytes};
}

absl::Status Device::CheckRange(const Buffer& buffer, uint64_t offset, uint64_t bytes) const {
  if (buffer.device() != this)
    return absl::InvalidArgumentError(
        "the buffer belongs to another device: use one that was allocated on this device");
  if (offset <= buffer.size && bytes <= buffer.size - offset) return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat(bytes, " bytes from offset ", offset, " on leave a buffer of ", buffer.size,
                                           " bytes: copy less, or allocate a larger one"));
}

absl::Status Device::Write(const Buffer& buffer, uint64_t offset, absl::Span<const uint8_t> bytes) {
  SMELT_RETURN_IF_ERROR(CheckRange(buffer, offset, bytes.size()));
  Turn turn(*this);
  for (uint64_t done = 0; done < bytes.size();) {
    const absl::StatusOr<uint64_t> moved = port_->Write(buffer.address + offset + done, bytes.subspan(done));
    if (!moved.ok()) return While("copying to the device", moved.status());
    if (*moved == 0 || *moved > bytes.size() - done)
      return absl::DataLossError(
          StrCat("copying to the device: it took ", done, " of ", bytes.size(), " bytes and no more: open it again"));
    done += *moved;
  }
  return absl::OkStatus();
}

absl::Status Device::Read(const Buffer& buffer, uint64_t offset, absl::Span<uint8_t> bytes) {
  SMELT_RETURN_IF_ERROR(CheckRange(buffer, offset, bytes.size()));
  Turn turn(*this);
  for (uint64_t done = 0; done < bytes.size();) {
    const absl::StatusOr<uint64_t> moved = port_->Read(buffer.address + offset + done, bytes.subspan(done));
    if (!moved.ok()) return While("copying from the device", moved.status());
    if (*moved == 0 || *moved > bytes.size() - done)
      return absl::DataLossError(
          StrCat("copying from the device: it gave ", done, " of ", bytes.size(), " bytes and no more: open it again"));
    done += *moved;
  }
  return absl::OkStatus();
}

absl::Status Device::WriteZeros(const Buffer& buffer) {
  const std::vector<uint8_t> zeros(std::min(buffer.size, kZerosAtATime));
  for (uint64_t done = 0; done < buffer.size; done += zeros.size()) {
    const uint64_t bytes = std::min<uint64_t>(zeros.size(), buffer.size - done);
    SMELT_RETURN_IF_ERROR(Write(buffer, done, absl::MakeConstSpan(zeros).first(bytes)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const Kernel>> Device::Record(absl::Span<const isa::MicroOp> micro_ops) {
  const auto depth = static_cast<uint64_t>(machine().DepthOf(isa::Memory::kUop));
  const uint64_t most = std::min(depth, kMostMicroOpsNamed);
  if (micro_ops.empty() || micro_ops.size() > most)
    return absl::InvalidArgumentError(StrCat("a kernel of ", micro_ops.size(), " micro-ops: from 1 to ", most,
                                             " are possible. Let the loops of an instruction repeat them"));
  auto kernel = std::make_shared<Kernel>();
  isa::MicroOp& largest = kernel->micro_ops.largest;
  std::vector<uint8_t> bytes;
  bytes.reserve(micro_ops.size() * isa::kMicroOpBytes);
  for (size_t i = 0; i < micro_ops.size(); ++i) {
    const isa::MicroOp& op = micro_ops[i];
    if (!isa::FitsMicroOp(op))
      return absl::InvalidArgumentError(StrCat("micro-op ", i, " (dst ", op.dst, ", src ", op.src, ", wgt ", op.wgt,
                                               "): dst and src are below 4096, wgt is below 256"));
    largest = {std::max(largest.dst, op.dst), std::max(largest.src, op.src), std::max(largest.wgt, op.wgt)};
    const uint32_t bits = isa::EncodeMicroOp(op);
    for (int byte = 0; byte < isa::kMicroOpBytes; ++byte) bytes.push_back(static_cast<uint8_t>(bits >> 8 * byte));
  }
  SMELT_ASSIGN_OR_RETURN(kernel->buffer, Allocate(bytes.size()));
  if (kernel->buffer.address / isa::kMicroOpBytes >= kMostElementNumber)
    return absl::ResourceExhaustedError(
        "the kernel lies where no instruction can name it, above 16 GiB of DRAM: record "
        "kernels before large buffers are allocated");
  SMELT_RETURN_IF_ERROR(Write(kernel->buffer, 0, bytes));
  kernel->micro_ops.dram_address = kernel->buffer.address;
  kernel->micro_ops.count = static_cast<uint32_t>(micro_ops.size());
  Turn turn(*this);
  kernel->micro_ops.number = next_kernel_++;
  return kernel;
}

absl::StatusOr<RunResult> Device::Run(const Buffer& instructions, uint64_t count, Clock::time_point deadline) {
  const std::optional<Turn> turn = Turn::Before(*this, deadline);
  if (!turn) return absl::DeadlineExceededError("other streams had the device until the time-out: wait longer");
  const double seconds = std::chrono::duration<double>(deadline - Clock::now()).count();
  if (seconds <= 0) return absl::DeadlineExceededError("no time was left to run: wait longer");
  return port_->Run(instructions.address, count, seconds);
}

}  // namespace smelt::vdla::driver
