// A queue of work for one device: commands recorded by calls, programs that are ready, and the wait until all is done.
//
//   Stream stream(device);
//   absl::Status recorded = stream.Load(buffer, {.memory = isa::Memory::kInp, .rows = 1, .columns = 16, .stride = 16});
//   absl::StatusOr<Statistics> done = stream.Synchronize(/*seconds=*/1.0);
//
// Work begins when somebody waits for it (Synchronize), in the order of its submission. What a queue refers to stays
// allocated until it has run. Thread-safe; a thread that waits has the stream to itself.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "vdla/driver/command_stream.h"
#include "vdla/driver/device.h"
#include "vdla/driver/loaded_program.h"
#include "vdla/isa/instruction.h"

namespace smelt::vdla::driver {

// A rectangle of elements between a buffer and a memory of the chip.
struct Transfer {
  isa::Memory memory = isa::Memory::kInp;
  uint32_t sram_base = 0;                                                           // elements
  uint64_t offset = 0;                                                              // bytes in the buffer
  uint32_t rows = 0, columns = 0, stride = 0;                                       // elements; stride from row to row
  uint32_t rows_before = 0, rows_after = 0, columns_before = 0, columns_after = 0;  // padding, LOAD only
  int32_t pad_value = 0;                                                            // int8, of every lane of padding
  Tokens tokens;
};

// What one Synchronize ran.
struct Statistics {
  uint64_t submissions = 0;
  uint64_t instructions = 0;
  uint64_t multiplications = 0;  // of GEMMs, resets aside
  double host_seconds = 0;       // in the port, start to end
  bool timed = false;            // whether the machine counts cycles; the rest is zero where it does not
  uint64_t cycles = 0;
  double device_seconds = 0;
  double utilization = 0;  // multiplications by what the GEMM unit could have done in these cycles
  std::array<UnitCycles, isa::kUnits> units = {};
};

class Stream {
 public:
  explicit Stream(std::shared_ptr<Device> device);
  const std::shared_ptr<Device>& device() const { return device_; }

  // InvalidArgument: another device's buffer, an offset that is no multiple of the element's bytes, a row that leaves
  // the buffer, or what CommandStream refuses.
  absl::Status Load(const Buffer& buffer, const Transfer& transfer);
  absl::Status Store(const Buffer& buffer, const Transfer& transfer);
  absl::Status Gemm(const std::shared_ptr<const Kernel>& kernel, isa::GemmMode mode, const Loops& loops,
                    const Tokens& tokens);
  absl::Status Alu(const std::shared_ptr<const Kernel>& kernel, isa::AluOp op, const Loops& loops,
                   const Tokens& tokens);
  absl::Status AluImmediate(const std::shared_ptr<const Kernel>& kernel, isa::AluOp op, int32_t immediate,
                            const Loops& loops, const Tokens& tokens);
  absl::Status Push(isa::Unit from, isa::Unit to);
  absl::Status Pop(isa::Unit from, isa::Unit to);
  absl::Status Barrier();
  // Instructions recorded since the last submission, and kernels that others displaced from the chip so far.
  uint64_t recorded() const;
  uint64_t evictions() const;

  // Ends what was recorded and puts it into the queue; nothing recorded is nothing to do. On error it is dropped.
  // Aborted: tokens do not add up. ResourceExhausted: no room for the instructions.
  absl::Status Submit();
  // Puts a program behind what was recorded, which is submitted first.
  absl::Status Submit(const std::shared_ptr<const LoadedProgram>& program);

  // Submits what was recorded and runs the queue, for at most that many seconds, waiting for other streams included.
  // The queue is empty then: after an error what had not run is dropped, and the text says so.
  absl::StatusOr<Statistics> Synchronize(double seconds);
  // Drops what was recorded and what is queued.
  void Clear();

 private:
  struct Submission {
    std::string name;  // as messages call it
    Buffer instructions;
    uint64_t count = 0;
    uint64_t multiplications = 0;
    std::vector<Buffer> zeros;                        // that the run finds zero
    std::vector<std::shared_ptr<const void>> in_use;  // until it has run
  };

  absl::Status Transfer2D(const Buffer& buffer, const Transfer& transfer, isa::Opcode opcode);
  absl::Status CheckKernel(const std::shared_ptr<const Kernel>& kernel) const;
  absl::Status SubmitRecorded();
  absl::Status RunOne(const Submission& submission, Clock::time_point deadline, Statistics& statistics);
  void Use(std::shared_ptr<const void> used);

  const std::shared_ptr<Device> device_;
  mutable std::mutex mutex_;  // of all below
  CommandStream commands_;
  std::vector<std::shared_ptr<const void>> in_use_;  // by what is recorded
  std::vector<Submission> queue_;
  uint64_t submissions_ = 0;  // since the stream was made
};

}  // namespace smelt::vdla::driver
