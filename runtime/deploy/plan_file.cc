#include "runtime/deploy/plan_file.h"

#include <cstring>

#include "runtime/deploy/byte_stream.h"
#include "runtime/deploy/native_plan_bytes.h"
#include "runtime/deploy/plan_check.h"

namespace smelt::runtime::deploy {
namespace {

constexpr char kMagic[8] = {'s', 'm', 'e', 'l', 't', 'r', 'u', 'n'};
constexpr size_t kHeaderBytes = sizeof(kMagic) + 4 * sizeof(int64_t);
constexpr int kMostNesting = 512;  // of loops and branches

void Write(const std::vector<std::string>& list, ByteWriter* out) {
  out->Add(static_cast<int64_t>(list.size()));
  for (const std::string& text : list) out->Add(text);
}

void Write(const std::vector<BufferId>& ids, ByteWriter* out) {
  out->Add(static_cast<int64_t>(ids.size()));
  for (const BufferId id : ids) out->Add(int64_t{id});
}

void Write(const ArrayLeaf& leaf, ByteWriter* out) {
  out->Add(leaf.name);
  out->Add(leaf.type);
  out->Add(leaf.dimensions);
  out->Add(leaf.bytes);
}

void Write(const DeployedJob& job, ByteWriter* out) {
  out->Add(int64_t{job.is_native});
  if (job.is_native) return WritePlan(job.native, out);
  out->Add(job.kernel.name);
  out->Add(job.kernel.input_count);
  out->Add(job.kernel.output_count);
  out->Add(job.kernel.shared_bytes);
  out->Add(job.kernel.thread_scratch_bytes);
  out->Add(static_cast<int64_t>(job.kernel.phases.size()));
  for (const PhaseDescriptor& phase : job.kernel.phases) {
    out->Add(phase.symbol);
    out->Add(phase.extent);
    out->Add(phase.reads);
    out->Add(phase.writes);
  }
}

void Write(const Sequence& steps, ByteWriter* out) {
  out->Add(static_cast<int64_t>(steps.size()));
  for (const Step& step : steps) {
    out->Add(static_cast<int64_t>(step.kind));
    out->Add(int64_t{step.in_place});
    out->Add(int64_t{step.job});
    Write(step.reads, out);
    Write(step.writes, out);
    out->Add(int64_t{step.update});
    out->Add(int64_t{step.predicate_form});
    out->Add(static_cast<int64_t>(step.skipped));
    out->Add(step.trips);
    out->Add(static_cast<int64_t>(step.sequences.size()));
    for (const Sequence& sequence : step.sequences) Write(sequence, out);
  }
}

void Write(const SliceUpdate& update, ByteWriter* out) {
  out->Add(update.dimensions);
  out->Add(update.sizes);
  for (const int64_t number :
       {update.element_bytes, update.index_bytes, int64_t{update.index_is_signed}, int64_t{update.one_vector}}) {
    out->Add(number);
  }
}

void Write(const FileMark& mark, ByteWriter* out) {
  out->Add(mark.bytes);
  out->Add(static_cast<int64_t>(mark.hash.high));
  out->Add(static_cast<int64_t>(mark.hash.low));
}

// Reads fields until one is not there.
class PlanReader {
 public:
  explicit PlanReader(std::string_view bytes) : in_(bytes) {}

  bool Read(DeployedPlan* plan) {
    return Read(&plan->module_name) && Read(&plan->fingerprint) && Read(&plan->compiler) && Read(&plan->processor) &&
           Read(&plan->architecture) && ReadList(&plan->features) && Read(&plan->threads) && ReadList(&plan->inputs) &&
           ReadList(&plan->outputs) && ReadList(&plan->jobs) && ReadProgram(&plan->program) && Read(&plan->code) &&
           Read(&plan->weights) && in_.done();
  }

 private:
  bool Read(std::string* text) { return in_.Read(text); }
  bool Read(int64_t* number) { return in_.Read(number); }
  bool Read(std::vector<int64_t>* numbers) { return in_.Read(numbers); }
  bool Read(bool* flag) {
    int64_t number;
    if (!in_.Read(&number) || number < 0 || number > 1) return false;
    *flag = number == 1;
    return true;
  }
  bool Read(int32_t* value) {
    int64_t number;
    if (!in_.Read(&number) || number != static_cast<int32_t>(number)) return false;
    *value = static_cast<int32_t>(number);
    return true;
  }
  // An enumerator, at most `last`.
  template <typename E>
  bool ReadKind(E last, E* kind) {
    int64_t number;
    if (!in_.Read(&number) || number < 0 || number > static_cast<int64_t>(last)) return false;
    *kind = static_cast<E>(number);
    return true;
  }
  template <typename T>
  bool ReadList(std::vector<T>* list) {
    int64_t count;
    if (!in_.ReadCount(&count)) return false;
    // Grown as it is read: a count may be larger than what follows.
    list->clear();
    for (int64_t i = 0; i < count; ++i) {
      if (!Read(&list->emplace_back())) return false;
    }
    return true;
  }

  bool Read(ArrayLeaf* leaf) {
    return Read(&leaf->name) && Read(&leaf->type) && Read(&leaf->dimensions) && Read(&leaf->bytes);
  }
  bool Read(PhaseDescriptor* phase) {
    return Read(&phase->symbol) && Read(&phase->extent) && Read(&phase->reads) && Read(&phase->writes);
  }
  bool Read(DeployedJob* job) {
    if (!Read(&job->is_native)) return false;
    if (job->is_native) return ReadPlan(&in_, &job->native);
    return Read(&job->kernel.name) && Read(&job->kernel.input_count) && Read(&job->kernel.output_count) &&
           Read(&job->kernel.shared_bytes) && Read(&job->kernel.thread_scratch_bytes) && ReadList(&job->kernel.phases);
  }
  bool Read(ProgramBuffer* buffer) {
    return ReadKind(ProgramBuffer::Kind::kConstant, &buffer->kind) && Read(&buffer->bytes) && Read(&buffer->number) &&
           Read(&buffer->offset);
  }
  bool Read(SliceUpdate* update) {
    return Read(&update->dimensions) && Read(&update->sizes) && Read(&update->element_bytes) &&
           Read(&update->index_bytes) && Read(&update->index_is_signed) && Read(&update->one_vector);
  }
  bool Read(Step* step) {
    int64_t skipped, sequences;
    if (!ReadKind(Step::Kind::kRepeat, &step->kind) || !Read(&step->in_place) || !Read(&step->job) ||
        !ReadList(&step->reads) || !ReadList(&step->writes) || !Read(&step->update) || !Read(&step->predicate_form) ||
        !Read(&skipped) || !Read(&step->trips) || !in_.ReadCount(&sequences)) {
      return false;
    }
    step->skipped = static_cast<PhaseSet>(skipped);
    if (sequences > 0 && ++nesting_ > kMostNesting) return false;
    for (int64_t i = 0; i < sequences; ++i) {
      if (!ReadList(&step->sequences.emplace_back())) return false;
    }
    if (sequences > 0) --nesting_;
    return true;
  }
  bool ReadProgram(Program* program) {
    return ReadList(&program->buffers) && ReadList(&program->steps) && ReadList(&program->updates) &&
           Read(&program->arena_bytes);
  }
  bool Read(FileMark* mark) {
    int64_t high, low;
    if (!Read(&mark->bytes) || !Read(&high) || !Read(&low)) return false;
    mark->hash = {static_cast<uint64_t>(high), static_cast<uint64_t>(low)};
    return true;
  }

  ByteReader in_;
  int nesting_ = 0;
};

}  // namespace

std::string WritePlanFile(const DeployedPlan& plan) {
  ByteWriter body;
  for (const std::string* text :
       {&plan.module_name, &plan.fingerprint, &plan.compiler, &plan.processor, &plan.architecture}) {
    body.Add(*text);
  }
  Write(plan.features, &body);
  body.Add(plan.threads);
  for (const auto* leaves : {&plan.inputs, &plan.outputs}) {
    body.Add(static_cast<int64_t>(leaves->size()));
    for (const ArrayLeaf& leaf : *leaves) Write(leaf, &body);
  }
  body.Add(static_cast<int64_t>(plan.jobs.size()));
  for (const DeployedJob& job : plan.jobs) Write(job, &body);
  body.Add(static_cast<int64_t>(plan.program.buffers.size()));
  for (const ProgramBuffer& buffer : plan.program.buffers) {
    body.Add(static_cast<int64_t>(buffer.kind));
    for (const int64_t number : {buffer.bytes, buffer.number, buffer.offset}) body.Add(number);
  }
  Write(plan.program.steps, &body);
  body.Add(static_cast<int64_t>(plan.program.updates.size()));
  for (const SliceUpdate& update : plan.program.updates) Write(update, &body);
  body.Add(plan.program.arena_bytes);
  Write(plan.code, &body);
  Write(plan.weights, &body);
  ByteWriter header;
  const Hash128 hash = HashOf(body.bytes());
  for (const int64_t number : {kPlanVersion, static_cast<int64_t>(body.bytes().size()), static_cast<int64_t>(hash.high),
                               static_cast<int64_t>(hash.low)}) {
    header.Add(number);
  }
  return std::string(kMagic, sizeof(kMagic)) + header.bytes() + body.bytes();
}

Status ReadPlanFile(std::string_view file, const std::string& name, DeployedPlan* plan) {
  const auto torn = [&](const std::string& why) { return Failed(Status::Code::kDataLoss, name + ": " + why); };
  if (file.size() < kHeaderBytes || std::memcmp(file.data(), kMagic, sizeof(kMagic)) != 0)
    return torn("is not the plan of a deployable module, or only its beginning");
  ByteReader header(file.substr(sizeof(kMagic), kHeaderBytes - sizeof(kMagic)));
  int64_t version, length, high, low;
  if (!header.Read(&version) || !header.Read(&length) || !header.Read(&high) || !header.Read(&low))
    return torn("is cut off");
  if (version != kPlanVersion) {
    return Failed(Status::Code::kFailedPrecondition, name + ": has version " + std::to_string(version) +
                                                         ", and this library reads version " +
                                                         std::to_string(kPlanVersion) + "; build the module again");
  }
  const std::string_view body = file.substr(kHeaderBytes);
  if (length < 0 || body.size() != static_cast<uint64_t>(length)) {
    return torn("has " + std::to_string(body.size()) + " bytes after its header, which says " + std::to_string(length) +
                "; it was cut off or changed");
  }
  if (HashOf(body) != Hash128{static_cast<uint64_t>(high), static_cast<uint64_t>(low)})
    return torn("was changed after it was written: its checksum differs");
  if (!PlanReader(body).Read(plan)) return torn("has fields that are not those of its version");
  const std::string wrong = WhatIsWrong(*plan);
  return wrong.empty() ? Status() : torn("is not consistent: " + wrong);
}

}  // namespace smelt::runtime::deploy
