#include "vdla/driver/stream.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "vdla/isa/encoding.h"

namespace smelt::vdla::driver {
namespace {

constexpr double kMostSeconds = 365.0 * 24 * 3600;
constexpr uint64_t kMostElementNumber = uint64_t{1} << 32;

absl::Status Refuse(uint64_t number, isa::Opcode opcode, std::string_view what) {
  return absl::InvalidArgumentError(StrCat("instruction ", number, " (", isa::NameOf(opcode), "): ", what));
}

// So that a message tells which of the calls was meant, also where the port knows the instruction alone.
absl::Status In(std::string_view name, const absl::Status& status) {
  return absl::Status(status.code(), StrCat(name, ": ", status.message()));
}

void Add(const RunResult& result, const isa::Config& machine, Statistics& statistics) {
  statistics.timed = result.timed;
  statistics.cycles += result.cycles;
  statistics.device_seconds = machine.SecondsOf(static_cast<int64_t>(statistics.cycles));
  for (int u = 0; u < isa::kUnits; ++u) {
    UnitCycles& sum = statistics.units[u];
    const UnitCycles& unit = result.units[u];
    sum.busy += unit.busy;
    sum.token += unit.token;
    sum.dma += unit.dma;
    sum.port += unit.port;
    sum.queue += unit.queue;
  }
}

}  // namespace

Stream::Stream(std::shared_ptr<Device> device) : device_(std::move(device)), commands_(device_->machine()) {}

void Stream::Use(std::shared_ptr<const void> used) {
  // Neighbouring instructions mostly use the same buffers; a few duplicates do no harm.
  const size_t recent = std::min<size_t>(in_use_.size(), 8);
  if (std::find(in_use_.end() - static_cast<std::ptrdiff_t>(recent), in_use_.end(), used) == in_use_.end())
    in_use_.push_back(std::move(used));
}

absl::Status Stream::Transfer2D(const Buffer& buffer, const Transfer& transfer, isa::Opcode opcode) {
  std::lock_guard<std::mutex> lock(mutex_);
  const uint64_t number = commands_.size();
  if (buffer.device() != device_.get())
    return Refuse(number, opcode, "the buffer belongs to another device: use one of the stream's device");
  if (static_cast<int>(transfer.memory) >= isa::kMemories)
    return Refuse(number, opcode, StrCat("there is no memory ", static_cast<int>(transfer.memory)));
  const auto element = static_cast<uint64_t>(device_->machine().DramElementBytes(transfer.memory));
  if (transfer.offset % element != 0)
    return Refuse(number, opcode,
                  StrCat("the offset ", transfer.offset, " is no multiple of the ", element, " bytes of a ",
                         isa::NameOf(transfer.memory), " element"));
  isa::Instruction instruction{.opcode = opcode,
                               .pop_prev = transfer.tokens.pop_prev,
                               .pop_next = transfer.tokens.pop_next,
                               .push_prev = transfer.tokens.push_prev,
                               .push_next = transfer.tokens.push_next,
                               .memory = transfer.memory,
                               .sram_base = transfer.sram_base,
                               .y_size = transfer.rows,
                               .x_size = transfer.columns,
                               .x_stride = transfer.stride,
                               .y_pad_before = transfer.rows_before,
                               .y_pad_after = transfer.rows_after,
                               .x_pad_before = transfer.columns_before,
                               .x_pad_after = transfer.columns_after,
                               .pad_value = transfer.pad_value};
  if (transfer.rows > 0 && transfer.columns > 0) {
    // Fields of 32 bits, so that no product leaves 64: only the last sum may.
    const uint64_t elements = uint64_t{transfer.rows - 1} * transfer.stride + transfer.columns;
    if (transfer.offset > buffer.size || elements > (buffer.size - transfer.offset) / element)
      return Refuse(number, opcode,
                    StrCat("its last row ends ", elements, " elements of ", element, " bytes behind offset ",
                           transfer.offset, ", outside of the buffer's ", buffer.size, " bytes"));
    const uint64_t base = (buffer.address + transfer.offset) / element;
    if (base >= kMostElementNumber)
      return Refuse(
          number, opcode,
          StrCat("the buffer lies at DRAM address ", buffer.address, ", behind the last ", isa::NameOf(transfer.memory),
                 " element that 32 bits can name: allocate it "
                 "before larger ones"));
    instruction.dram_base = static_cast<uint32_t>(base);
  }
  SMELT_RETURN_IF_ERROR(commands_.Move(instruction));
  Use(buffer.memory);
  return absl::OkStatus();
}

absl::Status Stream::Load(const Buffer& buffer, const Transfer& transfer) {
  return Transfer2D(buffer, transfer, isa::Opcode::kLoad);
}

absl::Status Stream::Store(const Buffer& buffer, const Transfer& transfer) {
  return Transfer2D(buffer, transfer, isa::Opcode::kStore);
}

absl::Status Stream::CheckKernel(const std::shared_ptr<const Kernel>& kernel) const {
  if (kernel != nullptr && kernel->buffer.device() == device_.get()) return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat("instruction ", commands_.size(),
                                           ": the kernel belongs to another device: "
                                           "record it on the stream's device"));
}

absl::Status Stream::Gemm(const std::shared_ptr<const Kernel>& kernel, isa::GemmMode mode, const Loops& loops,
                          const Tokens& tokens) {
  std::lock_guard<std::mutex> lock(mutex_);
  SMELT_RETURN_IF_ERROR(CheckKernel(kernel));
  SMELT_RETURN_IF_ERROR(commands_.Gemm(kernel->micro_ops, mode, loops, tokens));
  Use(kernel);
  return absl::OkStatus();
}

absl::Status Stream::Alu(const std::shared_ptr<const Kernel>& kernel, isa::AluOp op, const Loops& loops,
                         const Tokens& tokens) {
  std::lock_guard<std::mutex> lock(mutex_);
  SMELT_RETURN_IF_ERROR(CheckKernel(kernel));
  SMELT_RETURN_IF_ERROR(commands_.Alu(kernel->micro_ops, op, loops, tokens));
  Use(kernel);
  return absl::OkStatus();
}

absl::Status Stream::AluImmediate(const std::shared_ptr<const Kernel>& kernel, isa::AluOp op, int32_t immediate,
                                  const Loops& loops, const Tokens& tokens) {
  std::lock_guard<std::mutex> lock(mutex_);
  SMELT_RETURN_IF_ERROR(CheckKernel(kernel));
  SMELT_RETURN_IF_ERROR(commands_.AluImmediate(kernel->micro_ops, op, immediate, loops, tokens));
  Use(kernel);
  return absl::OkStatus();
}

absl::Status Stream::Push(isa::Unit from, isa::Unit to) {
  std::lock_guard<std::mutex> lock(mutex_);
  return commands_.Push(from, to);
}

absl::Status Stream::Pop(isa::Unit from, isa::Unit to) {
  std::lock_guard<std::mutex> lock(mutex_);
  return commands_.Pop(from, to);
}

absl::Status Stream::Barrier() {
  std::lock_guard<std::mutex> lock(mutex_);
  commands_.Barrier();
  return absl::OkStatus();
}

uint64_t Stream::recorded() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return commands_.size();
}

uint64_t Stream::evictions() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return commands_.evictions();
}

absl::Status Stream::SubmitRecorded() {
  if (commands_.IsEmpty()) return absl::OkStatus();
  Submission submission{.name = StrCat("submission ", submissions_), .in_use = std::exchange(in_use_, {})};
  absl::StatusOr<std::vector<isa::Instruction>> instructions = commands_.Finish();
  if (!instructions.ok()) return In(submission.name, instructions.status());
  absl::StatusOr<Buffer> written = WriteInstructions(*device_, *instructions);
  if (!written.ok()) return In(submission.name, written.status());
  submission.instructions = *std::move(written);
  submission.count = instructions->size();
  submission.multiplications = MultiplicationsOf(*instructions, device_->machine());
  queue_.push_back(std::move(submission));
  ++submissions_;
  return absl::OkStatus();
}

absl::Status Stream::Submit() {
  std::lock_guard<std::mutex> lock(mutex_);
  return SubmitRecorded();
}

absl::Status Stream::Submit(const std::shared_ptr<const LoadedProgram>& program) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (program == nullptr || program->device() != device_.get())
    return absl::InvalidArgumentError("the program was loaded on another device: load it on the stream's device");
  SMELT_RETURN_IF_ERROR(SubmitRecorded());
  Submission submission{.name = StrCat("submission ", submissions_, " (program ", program->name, ")"),
                        .instructions = program->instructions,
                        .count = program->count,
                        .multiplications = program->multiplications,
                        .zeros = program->zeros,
                        .in_use = {program}};
  queue_.push_back(std::move(submission));
  ++submissions_;
  return absl::OkStatus();
}

absl::Status Stream::RunOne(const Submission& submission, Clock::time_point deadline, Statistics& statistics) {
  for (const Buffer& buffer : submission.zeros) SMELT_RETURN_IF_ERROR(device_->WriteZeros(buffer));
  const Clock::time_point start = Clock::now();
  SMELT_ASSIGN_OR_RETURN(const RunResult result, device_->Run(submission.instructions, submission.count, deadline));
  statistics.host_seconds += Since(start);
  ++statistics.submissions;
  statistics.instructions += submission.count;
  statistics.multiplications += submission.multiplications;
  Add(result, device_->machine(), statistics);
  return absl::OkStatus();
}

absl::StatusOr<Statistics> Stream::Synchronize(double seconds) {
  if (!(seconds >= 0 && seconds <= kMostSeconds))
    return absl::InvalidArgumentError(
        StrCat("a time-out of ", seconds, " seconds: from 0 to ", kMostSeconds, " are possible"));
  const Clock::time_point deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  std::lock_guard<std::mutex> lock(mutex_);
  const absl::Status submitted = SubmitRecorded();
  const std::vector<Submission> queue = std::exchange(queue_, {});
  // What came before the submission that failed was in order, but whoever waits learns of one result only.
  if (!submitted.ok()) {
    if (queue.empty()) return submitted;
    return absl::Status(submitted.code(), StrCat(submitted.message(), "; ", queue.size(), " before it dropped"));
  }
  Statistics statistics;
  for (size_t i = 0; i < queue.size(); ++i) {
    const absl::Status ran = RunOne(queue[i], deadline, statistics);
    if (ran.ok()) continue;
    const size_t behind = queue.size() - i - 1;
    return absl::Status(ran.code(), StrCat(queue[i].name, ": ", ran.message(),
                                           behind == 0 ? "" : StrCat("; ", behind, " behind it dropped")));
  }
  const double possible = static_cast<double>(statistics.cycles) * static_cast<double>(device_->machine().MacsOfGemm());
  if (possible > 0) statistics.utilization = static_cast<double>(statistics.multiplications) / possible;
  return statistics;
}

void Stream::Clear() {
  std::lock_guard<std::mutex> lock(mutex_);
  commands_.Clear();
  in_use_.clear();
  queue_.clear();
}

}  // namespace smelt::vdla::driver
