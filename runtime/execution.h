// Runs a planned program: a list of instructions with every pointer in place.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/native_operation.h"
#include "runtime/program.h"
#include "runtime/run_kernel.h"

namespace smelt::runtime {

struct RunOptions {
  std::vector<std::vector<double>>* kernel_seconds =
      nullptr;                                // one list an entry of Step::info: the time of every execution
  const std::atomic<bool>* cancel = nullptr;  // checked between kernels: ends with CancelledError
};

// An operation without code, on raw buffers: one a leaf of its operands, one a leaf of its result.
using OpaqueOperation =
    std::function<absl::Status(absl::Span<const void* const> inputs, absl::Span<void* const> outputs, int threads,
                               const std::atomic<bool>* cancel)>;

// One distinct kernel: code, a native operation, or one that is run without.
struct ProgramJob {
  std::shared_ptr<const KernelCode> code;
  std::shared_ptr<const NativeOperation> native;
  OpaqueOperation opaque;  // where the others are null
};

// Owns the memory that a program runs in. Not thread-safe.
class Execution {
 public:
  // `program` and `jobs` stay valid as long as this object. ResourceExhausted when there is no memory.
  static absl::StatusOr<std::unique_ptr<Execution>> Create(const Program& program, const std::vector<ProgramJob>& jobs,
                                                           int64_t arena_bytes, int threads);

  // No allocation, except by opaque operations and where times are kept.
  absl::Status Run(absl::Span<const void* const> inputs, absl::Span<void* const> outputs, const RunOptions& options);

 private:
  // A step with its pointers, at fixed places of pointers_: reads first, then writes.
  struct Instruction {
    Step::Kind kind;
    const Step* step;
    const KernelCode* code = nullptr;
    size_t pointers = 0;
    int64_t bytes = 0;                                // kCopy
    std::vector<std::vector<Instruction>> sequences;  // control flow
  };
  using InstructionList = std::vector<Instruction>;

  Execution(const Program& program, const std::vector<ProgramJob>& jobs, int threads)
      : program_(program), jobs_(jobs), threads_(threads), pool_(threads) {}
  InstructionList Resolve(const Sequence& steps);
  void AddPointer(BufferId id);
  absl::Status RunList(const InstructionList& list);
  absl::Status RunTimed(const Instruction& instruction);
  absl::Status RunOne(const Instruction& instruction);
  absl::Status RunWhile(const Instruction& instruction);
  absl::Status RunConditional(const Instruction& instruction);

  // A place of pointers_ that holds a buffer of the caller.
  struct CallerPointer {
    size_t place;
    int64_t number;
  };

  const Program& program_;
  const std::vector<ProgramJob>& jobs_;
  const int threads_;
  ThreadPool pool_;
  AlignedBuffer arena_;
  AlignedBuffer scratch_;
  int64_t scratch_stride_ = 0;
  AlignedBuffer native_scratch_;
  bool has_opaque_ = false;  // then the caller is not pinned: threads that such an operation starts would inherit it
  InstructionList list_;
  std::vector<void*> pointers_;
  std::vector<CallerPointer> input_places_, output_places_;
  const RunOptions* options_ = nullptr;  // of the current Run
};

}  // namespace smelt::runtime
