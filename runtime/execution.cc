#include "runtime/execution.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "runtime/float_mode.h"
#include "runtime/update_slice.h"

namespace smelt::runtime {
namespace {

// Buffers without bytes still get a pointer that is not null.
alignas(64) char g_empty[64];

}  // namespace

absl::StatusOr<std::unique_ptr<Execution>> Execution::Create(const Program& program,
                                                             const std::vector<ProgramJob>& jobs, int64_t arena_bytes,
                                                             int threads) {
  std::unique_ptr<Execution> execution(new Execution(program, jobs, threads));
  if (arena_bytes > 0) {
    execution->arena_ = AlignedBuffer(arena_bytes);
    if (execution->arena_.data() == nullptr) {
      return absl::ResourceExhaustedError(StrCat("no memory for the program's ", arena_bytes, " bytes of values"));
    }
  }
  int64_t native_bytes = 0;
  for (const ProgramJob& job : jobs) {
    if (job.native != nullptr) {
      native_bytes = std::max(native_bytes, job.native->ScratchBytes(threads));
      continue;
    }
    if (job.code == nullptr) {
      execution->has_opaque_ = true;
      continue;
    }
    execution->scratch_stride_ =
        std::max(execution->scratch_stride_, (job.code->descriptor().thread_scratch_bytes + 63) / 64 * 64);
  }
  if (execution->scratch_stride_ > 0) {
    execution->scratch_ = AlignedBuffer(execution->scratch_stride_ * threads);
    if (execution->scratch_.data() == nullptr) {
      return absl::ResourceExhaustedError(
          StrCat("no memory for ", threads, " times ", execution->scratch_stride_, " bytes of kernel scratch"));
    }
  }
  if (native_bytes > 0) {
    execution->native_scratch_ = AlignedBuffer(native_bytes);
    if (execution->native_scratch_.data() == nullptr) {
      return absl::ResourceExhaustedError(
          StrCat("no memory for ", native_bytes, " bytes of native operations' scratch"));
    }
  }
  execution->list_ = execution->Resolve(program.steps);
  return execution;
}

void Execution::AddPointer(BufferId id) {
  const ProgramBuffer& buffer = program_.buffers[id];
  void* pointer = g_empty;
  switch (buffer.kind) {
    case ProgramBuffer::Kind::kArena:
      if (buffer.bytes > 0) pointer = arena_.data() + buffer.offset;
      break;
    case ProgramBuffer::Kind::kConstant:
      // Kernels and copies only read it.
      if (buffer.bytes > 0) pointer = const_cast<void*>(buffer.data);
      break;
    case ProgramBuffer::Kind::kInput:
      if (buffer.bytes > 0) input_places_.push_back({pointers_.size(), buffer.number});
      break;
    case ProgramBuffer::Kind::kOutput:
      if (buffer.bytes > 0) output_places_.push_back({pointers_.size(), buffer.number});
      break;
  }
  pointers_.push_back(pointer);
}

Execution::InstructionList Execution::Resolve(const Sequence& steps) {
  InstructionList list;
  list.reserve(steps.size());
  for (const Step& step : steps) {
    Instruction instruction;
    instruction.kind = step.kind;
    instruction.step = &step;
    instruction.pointers = pointers_.size();
    for (BufferId id : step.reads) AddPointer(id);
    for (BufferId id : step.writes) AddPointer(id);
    if (step.kind == Step::Kind::kKernel) instruction.code = jobs_[step.job].code.get();
    if (step.kind == Step::Kind::kCopy) instruction.bytes = program_.buffers[step.writes[0]].bytes;
    for (const Sequence& sequence : step.sequences) instruction.sequences.push_back(Resolve(sequence));
    list.push_back(std::move(instruction));
  }
  return list;
}

absl::Status Execution::Run(absl::Span<const void* const> inputs, absl::Span<void* const> outputs,
                            const RunOptions& options) {
  for (const CallerPointer& at : input_places_) pointers_[at.place] = const_cast<void*>(inputs[at.number]);
  for (const CallerPointer& at : output_places_) pointers_[at.place] = outputs[at.number];
  options_ = &options;
  ScopedFlushSubnormals flush;
  std::optional<ThreadPool::CallerPin> pin;
  if (!has_opaque_) pin.emplace(pool_);
  return RunList(list_);
}

absl::Status Execution::RunList(const InstructionList& list) {
  for (const Instruction& instruction : list) {
    if (options_->cancel != nullptr && options_->cancel->load(std::memory_order_relaxed)) {
      return absl::CancelledError("the run was cancelled");
    }
    if (instruction.kind == Step::Kind::kKernel && options_->kernel_seconds == nullptr) {
      RunKernel(*instruction.code, &pointers_[instruction.pointers], scratch_.data(), scratch_stride_, pool_);
      continue;
    }
    SMELT_RETURN_IF_ERROR(RunTimed(instruction));
  }
  return absl::OkStatus();
}

absl::Status Execution::RunTimed(const Instruction& instruction) {
  if (options_->kernel_seconds == nullptr || instruction.step->info < 0) return RunOne(instruction);
  const auto start = std::chrono::steady_clock::now();
  SMELT_RETURN_IF_ERROR(RunOne(instruction));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::vector<double>& runs = (*options_->kernel_seconds)[instruction.step->info];
  if (instruction.step->continues && !runs.empty()) {
    runs.back() += seconds.count();
  } else {
    runs.push_back(seconds.count());
  }
  return absl::OkStatus();
}

absl::Status Execution::RunOne(const Instruction& instruction) {
  void* const* pointers = &pointers_[instruction.pointers];
  const size_t reads = instruction.step->reads.size();
  switch (instruction.kind) {
    case Step::Kind::kKernel:
      RunKernel(*instruction.code, pointers, scratch_.data(), scratch_stride_, pool_);
      return absl::OkStatus();
    case Step::Kind::kNative:
      jobs_[instruction.step->job].native->Run({pointers, pointers + reads, &pool_, native_scratch_.data()});
      return absl::OkStatus();
    case Step::Kind::kOpaque:
      return jobs_[instruction.step->job].opaque(absl::MakeConstSpan(pointers, reads),
                                                 absl::MakeConstSpan(pointers + reads, instruction.step->writes.size()),
                                                 threads_, options_->cancel);
    case Step::Kind::kCopy:
      if (instruction.bytes > 0) std::memcpy(pointers[1], pointers[0], instruction.bytes);
      return absl::OkStatus();
    case Step::Kind::kUpdateSlice:
      UpdateSliceInPlace(program_.updates[instruction.step->update], pointers[reads], pointers[0], pointers + 1);
      return absl::OkStatus();
    case Step::Kind::kWhile:
      return RunWhile(instruction);
    case Step::Kind::kConditional:
      return RunConditional(instruction);
  }
  return absl::OkStatus();
}

absl::Status Execution::RunWhile(const Instruction& instruction) {
  while (true) {
    SMELT_RETURN_IF_ERROR(RunList(instruction.sequences[0]));
    if (*static_cast<const uint8_t*>(pointers_[instruction.pointers]) == 0) return absl::OkStatus();
    // An empty body and condition make a loop too: it ends by the caller's flag.
    if (options_->cancel != nullptr && options_->cancel->load(std::memory_order_relaxed)) {
      return absl::CancelledError("the run was cancelled");
    }
    SMELT_RETURN_IF_ERROR(RunList(instruction.sequences[1]));
  }
}

absl::Status Execution::RunConditional(const Instruction& instruction) {
  const void* selector = pointers_[instruction.pointers];
  const int64_t last = static_cast<int64_t>(instruction.sequences.size()) - 1;
  int64_t branch;
  if (instruction.step->predicate_form) {
    branch = *static_cast<const uint8_t*>(selector) != 0 ? 0 : 1;
  } else {
    branch = *static_cast<const int32_t*>(selector);
    // HLO: an index out of range takes the last branch.
    if (branch < 0) branch = last;
  }
  return RunList(instruction.sequences[std::min(branch, last)]);
}

}  // namespace smelt::runtime
