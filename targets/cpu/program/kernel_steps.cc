#include "targets/cpu/program/kernel_steps.h"

#include <optional>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "hlo/cost_analysis.h"
#include "hlo/fingerprint.h"
#include "runtime/update_slice.h"
#include "targets/cpu/program/peel_updates.h"

namespace smelt::cpu {

// A kernel as it was cut from an instruction, with its updates of slices peeled off where it has any.
struct KernelSteps::Cut {
  Hash128 hash;
  std::vector<int64_t> operands;
  int32_t job = -1;
  std::optional<PeeledKernel> peeled;
  std::unique_ptr<hlo::Module> module;  // what `peeled` points into
  int32_t index_job = -1;
  std::optional<NativePlan> native;
};

KernelSteps::KernelSteps() = default;
KernelSteps::~KernelSteps() = default;

std::vector<const hlo::Shape*> LeafShapes(const hlo::Shape& shape) {
  std::vector<const hlo::Shape*> leaves;
  shape.AppendLeaves(&leaves);
  return leaves;
}

runtime::BufferId KernelSteps::NewBuffer(int64_t bytes, runtime::ProgramBuffer::Kind kind) {
  runtime::ProgramBuffer buffer;
  buffer.kind = kind;
  buffer.bytes = bytes;
  built_.program.buffers.push_back(buffer);
  return static_cast<runtime::BufferId>(built_.program.buffers.size() - 1);
}

Leaves KernelSteps::NewLeaves(const hlo::Shape& shape) {
  Leaves leaves;
  for (const hlo::Shape* leaf : LeafShapes(shape)) leaves.push_back(NewBuffer(leaf->ByteSize()));
  return leaves;
}

void AddCopy(runtime::BufferId from, runtime::BufferId to, runtime::Sequence* out) {
  if (from == to) return;
  runtime::Step step;
  step.kind = runtime::Step::Kind::kCopy;
  step.reads = {from};
  step.writes = {to};
  out->push_back(std::move(step));
}

Leaves KernelSteps::Constant(const std::shared_ptr<const hlo::Literal>& literal) {
  if (auto at = constants_.find(literal.get()); at != constants_.end()) return at->second;
  Leaves leaves;
  std::vector<const hlo::Literal*> open = {literal.get()};
  while (!open.empty()) {
    const hlo::Literal* next = open.back();
    open.pop_back();
    if (next->shape().IsTuple()) {
      for (auto at = next->elements().rbegin(); at != next->elements().rend(); ++at) open.push_back(&*at);
      continue;
    }
    leaves.push_back(NewBuffer(next->byte_size(), runtime::ProgramBuffer::Kind::kConstant));
    built_.program.buffers.back().data = next->raw();
  }
  built_.program.constants.push_back(literal);
  constants_[literal.get()] = leaves;
  return leaves;
}

Leaves KernelSteps::Opaque(std::unique_ptr<hlo::Module> module, std::string_view name, std::string_view computation,
                           const std::vector<Leaves>& parameters, std::string_view why, runtime::Sequence* out) {
  fusion::Kernel kernel;
  kernel.module = std::move(module);
  kernel.hash = hlo::Fingerprint(*kernel.module);
  kernel.name = std::string(name);
  runtime::Step step;
  step.kind = runtime::Step::Kind::kKernel;
  for (const Leaves& leaves : parameters) step.reads.insert(step.reads.end(), leaves.begin(), leaves.end());
  for (size_t i = 0; i < parameters.size(); ++i) kernel.operands.push_back(static_cast<int64_t>(i));
  step.job = static_cast<int32_t>(built_.jobs.size());
  KernelSite site;
  site.name = kernel.name;
  site.computation = std::string(computation);
  site.job = step.job;
  site.hash = kernel.hash;
  step.info = static_cast<int32_t>(built_.sites.size());
  step.writes = NewLeaves(kernel.module->entry()->root()->shape());
  built_.sites.push_back(std::move(site));
  built_.jobs.push_back(std::move(kernel));
  built_.opaque_jobs[step.job] = why;
  Leaves results = step.writes;
  out->push_back(std::move(step));
  return results;
}

// The entry of Executable::kernels() of an instruction; one for all places that its computation is inlined at.
int32_t KernelSteps::SiteOf(const hlo::Instruction& instruction, int32_t job, Hash128 hash) {
  auto [at, inserted] = sites_.try_emplace(&instruction, static_cast<int32_t>(built_.sites.size()));
  if (inserted) {
    KernelSite site;
    site.name = instruction.name();
    site.computation = instruction.parent()->name();
    site.job = job;
    site.hash = hash;
    const hlo::CostAnalysis cost = hlo::AnalyzeCost(instruction);
    site.flops = cost.flops + cost.transcendentals;
    site.bytes = cost.bytes();
    built_.sites.push_back(std::move(site));
  }
  return at->second;
}

int32_t KernelSteps::JobOf(fusion::Kernel kernel) {
  auto [job, inserted] = jobs_.try_emplace(kernel.hash, static_cast<int32_t>(built_.jobs.size()));
  if (inserted) built_.jobs.push_back(std::move(kernel));
  return job->second;
}

int32_t KernelSteps::NativeJobOf(fusion::Kernel kernel, const NativePlan& plan) {
  auto [job, inserted] = native_jobs_.try_emplace(kernel.hash, static_cast<int32_t>(built_.jobs.size()));
  if (inserted) {
    built_.native_jobs[job->second] = plan;
    built_.jobs.push_back(std::move(kernel));
  }
  return job->second;
}

absl::StatusOr<const KernelSteps::Cut*> KernelSteps::CutOut(const hlo::Instruction& instruction) {
  if (auto known = cut_.find(&instruction); known != cut_.end()) return known->second.get();
  SMELT_ASSIGN_OR_RETURN(fusion::Kernel kernel, fusion::ExtractKernel(instruction));
  auto cut = std::make_unique<Cut>();
  cut->hash = kernel.hash;
  cut->operands = kernel.operands;
  SMELT_ASSIGN_OR_RETURN(cut->peeled, PeelSliceUpdates(kernel));
  if (cut->peeled.has_value()) {
    cut->module = std::move(kernel.module);
    if (cut->peeled->index) {
      const std::vector<int64_t> operands = cut->peeled->index->operands;
      cut->index_job = JobOf(std::move(*cut->peeled->index));
      cut->peeled->index->operands = operands;
    }
    if (cut->peeled->compute) {
      const std::vector<int64_t> operands = cut->peeled->compute->operands;
      cut->job = JobOf(std::move(*cut->peeled->compute));
      cut->peeled->compute->operands = operands;
    }
  } else {
    absl::StatusOr<NativePlan> native = PlanNative(instruction);
    if (native.ok()) cut->native = *std::move(native);
    cut->job = cut->native.has_value() ? NativeJobOf(std::move(kernel), *cut->native) : JobOf(std::move(kernel));
    if (HasNativePlan(instruction.opcode()) && !cut->native.has_value())
      built_.opaque_jobs.try_emplace(cut->job, native.status().message());
  }
  return cut_.emplace(&instruction, std::move(cut)).first->second.get();
}

absl::StatusOr<Leaves> KernelSteps::Kernel(const hlo::Instruction& instruction, const Values& values,
                                           runtime::Sequence* out) {
  SMELT_ASSIGN_OR_RETURN(const Cut* cut, CutOut(instruction));
  if (cut->peeled.has_value()) return Peeled(instruction, *cut, values, out);
  if (cut->native.has_value()) return Native(instruction, *cut, values, out);
  runtime::Step step;
  step.kind = runtime::Step::Kind::kKernel;
  step.job = cut->job;
  step.info = SiteOf(instruction, cut->job, cut->hash);
  for (int64_t operand : cut->operands) {
    const Leaves& leaves = values.at(instruction.operand(operand));
    step.reads.insert(step.reads.end(), leaves.begin(), leaves.end());
  }
  step.writes = NewLeaves(instruction.shape());
  Leaves leaves = step.writes;
  // Nothing to compute where every result is empty.
  if (instruction.shape().ByteSize() > 0 || instruction.HasSideEffect()) out->push_back(std::move(step));
  return leaves;
}

// What is updated in place is copied first; coalescing takes the copy away where nobody else needs the operand.
Leaves KernelSteps::Native(const hlo::Instruction& instruction, const Cut& cut, const Values& values,
                           runtime::Sequence* out) {
  runtime::Step step;
  step.kind = runtime::Step::Kind::kNative;
  step.job = cut.job;
  step.info = SiteOf(instruction, cut.job, cut.hash);
  for (int64_t operand : cut.native->inputs) step.reads.push_back(values.at(instruction.operand(operand))[0]);
  step.writes = NewLeaves(instruction.shape());
  step.in_place = !cut.native->updated.empty();
  for (size_t i = 0; i < cut.native->updated.size(); ++i)
    AddCopy(values.at(instruction.operand(cut.native->updated[i]))[0], step.writes[i], out);
  Leaves leaves = step.writes;
  if (instruction.shape().ByteSize() > 0) out->push_back(std::move(step));
  return leaves;
}

// The steps of a kernel whose updates were peeled off: the rest of it, the indices, and the updates.
Leaves KernelSteps::Peeled(const hlo::Instruction& instruction, const Cut& cut, const Values& values,
                           runtime::Sequence* out) {
  const int32_t info = SiteOf(instruction, cut.job, cut.hash);
  auto parameter = [&](int64_t number) { return values.at(instruction.operand(cut.operands[number]))[0]; };
  bool first = true;
  auto emit = [&](runtime::Step step) {
    step.info = info;
    step.continues = !first;
    first = false;
    out->push_back(std::move(step));
  };
  auto run = [&](const std::optional<fusion::Kernel>& kernel, int32_t job) {
    Leaves results;
    if (!kernel.has_value()) return results;
    runtime::Step step;
    step.kind = runtime::Step::Kind::kKernel;
    step.job = job;
    for (int64_t number : kernel->operands) step.reads.push_back(parameter(number));
    results = NewLeaves(built_.jobs[job].computation().root()->shape());
    step.writes = results;
    emit(std::move(step));
    return results;
  };
  const Leaves computed = run(cut.peeled->compute, cut.job);
  const Leaves indices = run(cut.peeled->index, cut.index_job);
  auto buffer = [&](const PeeledValue& value) -> runtime::BufferId {
    switch (value.source) {
      case PeeledValue::Source::kParameter:
        return parameter(value.number);
      case PeeledValue::Source::kCompute:
        return computed[value.number];
      case PeeledValue::Source::kIndex:
        return indices[value.number];
      case PeeledValue::Source::kConstant:
        break;
    }
    return Constant(value.constant->attributes<hlo::ConstantAttributes>().literal)[0];
  };
  Leaves result;
  for (const PeeledOutput& output : cut.peeled->outputs) {
    const runtime::BufferId value = buffer(output.value);
    if (output.update == nullptr) {
      result.push_back(value);
      continue;
    }
    const hlo::Instruction& update = *output.update;
    const runtime::BufferId array = NewBuffer(update.shape().ByteSize());
    AddCopy(parameter(output.array), array, out);
    runtime::Step step;
    step.kind = runtime::Step::Kind::kUpdateSlice;
    step.reads = {value};
    for (const PeeledValue& start : output.starts) step.reads.push_back(buffer(start));
    step.writes = {array};
    step.in_place = true;
    step.update = AddUpdate(update);
    if (update.operand(1)->shape().ByteSize() > 0) emit(std::move(step));
    result.push_back(array);
  }
  return result;
}

int32_t KernelSteps::AddUpdate(const hlo::Instruction& update) {
  runtime::SliceUpdate entry{update.shape().dimensions, update.operand(1)->shape().dimensions,
                             hlo::StorageBytes(update.shape().element_type)};
  if (update.operand_count() > 2) {
    const hlo::PrimitiveType index = update.operand(2)->shape().element_type;
    entry.index_bytes = hlo::StorageBytes(index);
    entry.index_is_signed = !hlo::IsUnsigned(index);
    entry.one_vector = update.operand(2)->shape().rank() == 1;
  }
  built_.program.updates.push_back(std::move(entry));
  return static_cast<int32_t>(built_.program.updates.size()) - 1;
}

Leaves KernelSteps::UpdateSlice(const hlo::Instruction& instruction, const Values& values, runtime::Sequence* out) {
  const runtime::BufferId result = NewBuffer(instruction.shape().ByteSize());
  AddCopy(values.at(instruction.operand(0))[0], result, out);
  runtime::Step step;
  step.kind = runtime::Step::Kind::kUpdateSlice;
  step.info = SiteOf(instruction, -1, {});
  for (int64_t i = 1; i < instruction.operand_count(); ++i) step.reads.push_back(values.at(instruction.operand(i))[0]);
  step.writes = {result};
  step.in_place = true;
  step.update = AddUpdate(instruction);
  if (instruction.operand(1)->shape().ByteSize() > 0) out->push_back(std::move(step));
  return {result};
}

}  // namespace smelt::cpu
