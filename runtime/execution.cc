#include "runtime/execution.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <set>
#include <string>

#include "base/float_mode.h"

namespace smelt::runtime {
namespace {

// Buffers without bytes still get a pointer that is not null.
alignas(64) char g_empty[64];

}  // namespace

Status Execution::Create(const Program& program, const std::vector<ProgramJob>& jobs, int threads,
                         std::unique_ptr<Execution>* execution) {
  std::unique_ptr<Execution> made(new Execution(program, jobs, threads));
  if (Status status = made->Allocate(); !status.ok()) return status;
  made->setup_ = made->Resolve(program.setup);
  std::set<int64_t> known;
  for (const CallerPointer& at : made->input_places_) known.insert(at.number);
  made->known_inputs_.assign(known.begin(), known.end());
  made->list_ = made->Resolve(program.steps);
  *execution = std::move(made);
  return {};
}

Status Execution::Allocate() {
  int64_t native_bytes = 0;
  for (const ProgramJob& job : jobs_) {
    if (job.native != nullptr) {
      native_bytes = std::max(native_bytes, job.native->ScratchBytes(threads_));
      continue;
    }
    if (job.code == nullptr) {
      has_opaque_ = true;
      continue;
    }
    scratch_stride_ = std::max(scratch_stride_, (job.code->descriptor().thread_scratch_bytes + 63) / 64 * 64);
  }
  const struct {
    AlignedBuffer* buffer;
    int64_t bytes;
    const char* what;
  } pieces[] = {{&arena_, program_.arena_bytes, "the program's values"},
                {&kept_, program_.kept_bytes, "what the program keeps of known values"},
                {&scratch_, scratch_stride_ * threads_, "kernel scratch"},
                {&native_scratch_, native_bytes, "native operations' scratch"}};
  for (const auto& piece : pieces) {
    if (piece.bytes <= 0) continue;
    *piece.buffer = AlignedBuffer(piece.bytes);
    if (piece.buffer->data() == nullptr) {
      return Failed(Status::Code::kResourceExhausted,
                    "no memory for " + std::to_string(piece.bytes) + " bytes of " + piece.what);
    }
  }
  return {};
}

void Execution::AddPointer(BufferId id) {
  const ProgramBuffer& buffer = program_.buffers[id];
  void* pointer = g_empty;
  switch (buffer.kind) {
    case ProgramBuffer::Kind::kArena:
      if (buffer.bytes > 0) pointer = arena_.data() + buffer.offset;
      break;
    case ProgramBuffer::Kind::kKept:
      if (buffer.bytes > 0) pointer = kept_.data() + buffer.offset;
      break;
    case ProgramBuffer::Kind::kSetup:
      if (buffer.bytes > 0) setup_places_.push_back({pointers_.size(), buffer.offset});
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
    if (step.kind == Step::Kind::kKernel) {
      instruction.code = jobs_[step.job].code.get();
      const std::vector<PhaseDescriptor>& phases = instruction.code->descriptor().phases;
      if (phases.size() == 1 && step.skipped == 0 && (phases[0].extent <= 1 || threads_ == 1)) {
        instruction.only = instruction.code->function(0);
        instruction.extent = phases[0].extent;
      }
    }
    if (step.kind == Step::Kind::kUpdateSlice) instruction.writer = &writers_[step.update];
    if (step.kind == Step::Kind::kCopy) instruction.bytes = program_.buffers[step.writes[0]].bytes;
    for (const Sequence& sequence : step.sequences) instruction.sequences.push_back(Resolve(sequence));
    list.push_back(std::move(instruction));
  }
  return list;
}

bool Execution::IsSetUp(std::span<const void* const> inputs) const {
  if (!is_set_up_) return false;
  for (size_t i = 0; i < known_inputs_.size(); ++i) {
    if (inputs[known_inputs_[i]] != known_pointers_[i]) return false;
  }
  return true;
}

Status Execution::SetUp(std::span<const void* const> inputs, const RunOptions& options) {
  if (setup_.empty() || IsSetUp(inputs)) return {};
  const AlignedBuffer memory(program_.setup_bytes);
  if (program_.setup_bytes > 0 && memory.data() == nullptr) {
    return Failed(Status::Code::kResourceExhausted,
                  "no memory for " + std::to_string(program_.setup_bytes) + " bytes while known values are computed");
  }
  for (const CallerPointer& at : setup_places_) pointers_[at.place] = memory.data() + at.number;
  for (const CallerPointer& at : input_places_) pointers_[at.place] = const_cast<void*>(inputs[at.number]);
  // Times are of what every run does.
  const RunOptions untimed{.cancel = options.cancel};
  options_ = &untimed;
  is_set_up_ = false;  // one that is cancelled leaves half of it
  ScopedFlushSubnormals flush;
  if (Status status = RunList(setup_); !status.ok()) return status;
  is_set_up_ = true;
  ++setups_;
  known_pointers_.clear();
  for (int64_t number : known_inputs_) known_pointers_.push_back(inputs[number]);
  return {};
}

Status Execution::Run(std::span<const void* const> inputs, std::span<void* const> outputs, const RunOptions& options) {
  if (Status status = SetUp(inputs, options); !status.ok()) return status;
  for (const CallerPointer& at : input_places_) pointers_[at.place] = const_cast<void*>(inputs[at.number]);
  for (const CallerPointer& at : output_places_) pointers_[at.place] = outputs[at.number];
  options_ = &options;
  ScopedFlushSubnormals flush;
  std::optional<ThreadPool::CallerPin> pin;
  if (!has_opaque_) pin.emplace(pool_);
  return RunList(list_);
}

// What cannot fail. False: it is not of that kind, and did not run.
inline bool Execution::RunAtOnce(const Instruction& instruction) {
  void* const* pointers = &pointers_[instruction.pointers];
  if (instruction.only != nullptr) {
    instruction.only(pointers, scratch_.data(), 0, instruction.extent);
    return true;
  }
  switch (instruction.kind) {
    case Step::Kind::kKernel:
      RunKernel(*instruction.code, pointers, scratch_.data(), scratch_stride_, pool_, instruction.step->skipped);
      return true;
    case Step::Kind::kCopy:
      CopyBytes(pointers[1], pointers[0], instruction.bytes);
      return true;
    case Step::Kind::kUpdateSlice:
      instruction.writer->Write(pointers[instruction.step->reads.size()], pointers[0], pointers + 1);
      return true;
    default:
      return false;
  }
}

inline bool Execution::IsCancelled(Status* status) const {
  if (options_->cancel == nullptr || !options_->cancel->load(std::memory_order_relaxed)) return false;
  *status = Failed(Status::Code::kCancelled, "the run was cancelled");
  return true;
}

// False: `status` says why it ended. A loop of small kernels makes no status of its own in each step.
inline bool Execution::RunThrough(const InstructionList& list, Status* status) {
  for (const Instruction& instruction : list) {
    if (IsCancelled(status)) return false;
    if (options_->kernel_seconds == nullptr && RunAtOnce(instruction)) continue;
    if (*status = RunTimed(instruction); !status->ok()) return false;
  }
  return true;
}

Status Execution::RunList(const InstructionList& list) {
  Status status;
  (void)RunThrough(list, &status);
  return status;
}

Status Execution::RunTimed(const Instruction& instruction) {
  if (options_->kernel_seconds == nullptr || instruction.step->info < 0) return RunOne(instruction);
  const auto start = std::chrono::steady_clock::now();
  if (Status status = RunOne(instruction); !status.ok()) return status;
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::vector<double>& runs = (*options_->kernel_seconds)[instruction.step->info];
  if (instruction.step->continues && !runs.empty()) {
    runs.back() += seconds.count();
  } else {
    runs.push_back(seconds.count());
  }
  return Status();
}

Status Execution::RunOne(const Instruction& instruction) {
  if (RunAtOnce(instruction)) return Status();
  void* const* pointers = &pointers_[instruction.pointers];
  const size_t reads = instruction.step->reads.size();
  switch (instruction.kind) {
    case Step::Kind::kNative:
      jobs_[instruction.step->job].native->Run({pointers, pointers + reads, &pool_, native_scratch_.data()});
      return Status();
    case Step::Kind::kOpaque:
      return jobs_[instruction.step->job].opaque({pointers, reads}, {pointers + reads, instruction.step->writes.size()},
                                                 threads_, options_->cancel);
    case Step::Kind::kWhile:
      return RunWhile(instruction);
    case Step::Kind::kConditional:
      return RunConditional(instruction);
    case Step::Kind::kRepeat:
      return RunRepeat(instruction);
    case Step::Kind::kKernel:
    case Step::Kind::kCopy:
    case Step::Kind::kUpdateSlice:
      break;
  }
  return Status();
}

// An empty body makes a loop too: it ends by the caller's flag.
Status Execution::RunWhile(const Instruction& instruction) {
  const InstructionList &condition = instruction.sequences[0], &body = instruction.sequences[1];
  const auto* goes_on = static_cast<const uint8_t*>(pointers_[instruction.pointers]);
  Status status;
  while (RunThrough(condition, &status) && *goes_on != 0 && !IsCancelled(&status) && RunThrough(body, &status)) {
  }
  return status;
}

Status Execution::RunRepeat(const Instruction& instruction) {
  Status status;
  for (int64_t trip = 0; trip < instruction.step->trips; ++trip) {
    if (IsCancelled(&status) || !RunThrough(instruction.sequences[0], &status)) break;
  }
  return status;
}

Status Execution::RunConditional(const Instruction& instruction) {
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
