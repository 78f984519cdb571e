// Runs a planned program: a list of instructions with every pointer in place.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "runtime/native_operation.h"
#include "runtime/program.h"
#include "runtime/run_kernel.h"
#include "runtime/status.h"
#include "runtime/update_slice.h"

namespace smelt::runtime {

struct RunOptions {
  std::vector<std::vector<double>>* kernel_seconds =
      nullptr;                                // one list an entry of Step::info: the time of every execution
  const std::atomic<bool>* cancel = nullptr;  // checked between kernels: ends with kCancelled
};

// An operation without code, on raw buffers: one a leaf of its operands, one a leaf of its result.
using OpaqueOperation = std::function<Status(std::span<const void* const> inputs, std::span<void* const> outputs,
                                             int threads, const std::atomic<bool>* cancel)>;

// One distinct kernel: code, a native operation, or one that is run without.
struct ProgramJob {
  std::shared_ptr<const KernelCode> code;
  std::shared_ptr<const NativeOperation> native;
  OpaqueOperation opaque;  // where the others are null
};

// Owns the memory that a program runs in. Not thread-safe.
class Execution {
 public:
  // `program` and `jobs` stay valid as long as this object. kResourceExhausted when there is no memory.
  static Status Create(const Program& program, const std::vector<ProgramJob>& jobs, int threads,
                       std::unique_ptr<Execution>* execution);

  // No allocation, except by opaque operations, where times are kept, and in the first run. What is at a known input's
  // address is taken to stay as it was when the address was first given; another address is looked at anew.
  Status Run(std::span<const void* const> inputs, std::span<void* const> outputs, const RunOptions& options);

  // Does what Run does before its first step, so that Run need not: kept_data() then holds what it says.
  Status SetUp(std::span<const void* const> inputs, const RunOptions& options);
  // The memory of buffers that are kept: Program::kept_bytes.
  const char* kept_data() const { return kept_.data(); }
  // How often what is known was computed: once, unless known inputs moved.
  int64_t setups() const { return setups_; }

 private:
  // A step with its pointers, at fixed places of pointers_: reads first, then writes.
  struct Instruction {
    Step::Kind kind;
    const Step* step;
    const KernelCode* code = nullptr;
    PhaseFunction only = nullptr;  // of a kernel that is one phase on the caller's thread
    int64_t extent = 0;            // its
    size_t pointers = 0;
    int64_t bytes = 0;                                // kCopy
    const SliceWriter* writer = nullptr;              // kUpdateSlice
    std::vector<std::vector<Instruction>> sequences;  // control flow
  };
  using InstructionList = std::vector<Instruction>;

  Execution(const Program& program, const std::vector<ProgramJob>& jobs, int threads)
      : program_(program),
        jobs_(jobs),
        threads_(threads),
        pool_(threads),
        writers_(program.updates.begin(), program.updates.end()) {}
  InstructionList Resolve(const Sequence& steps);
  void AddPointer(BufferId id);
  Status Allocate();
  bool IsSetUp(std::span<const void* const> inputs) const;
  bool IsCancelled(Status* status) const;
  Status RunList(const InstructionList& list);
  bool RunThrough(const InstructionList& list, Status* status);
  bool RunAtOnce(const Instruction& instruction);
  Status RunTimed(const Instruction& instruction);
  Status RunOne(const Instruction& instruction);
  Status RunWhile(const Instruction& instruction);
  Status RunConditional(const Instruction& instruction);
  Status RunRepeat(const Instruction& instruction);

  // A place of pointers_ that holds a buffer of the caller, or, for the setup, one at an offset of its memory.
  struct CallerPointer {
    size_t place;
    int64_t number;
  };

  const Program& program_;
  const std::vector<ProgramJob>& jobs_;
  const int threads_;
  ThreadPool pool_;
  const std::vector<SliceWriter> writers_;  // one an entry of Program::updates
  AlignedBuffer arena_;
  AlignedBuffer kept_;
  AlignedBuffer scratch_;
  int64_t scratch_stride_ = 0;
  AlignedBuffer native_scratch_;
  bool has_opaque_ = false;  // then the caller is not pinned: threads that such an operation starts would inherit it
  InstructionList setup_, list_;
  std::vector<void*> pointers_;
  std::vector<CallerPointer> input_places_, output_places_, setup_places_;
  std::vector<int64_t> known_inputs_;        // numbers of those that the setup reads
  std::vector<const void*> known_pointers_;  // what the last setup read
  bool is_set_up_ = false;
  int64_t setups_ = 0;
  const RunOptions* options_ = nullptr;  // of the current Run
};

}  // namespace smelt::runtime
