#include "targets/cpu/program/program_builder.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "hlo/cost_analysis.h"
#include "hlo/fingerprint.h"
#include "hlo/known/known_parameters.h"
#include "hlo/literal.h"
#include "hlo/passes/while_trip_count.h"
#include "runtime/update_slice.h"
#include "targets/cpu/program/peel_updates.h"
#include "targets/cpu/program/runtime_size_region.h"

namespace smelt::cpu {
namespace {

using hlo::Computation;
using hlo::Instruction;
using hlo::Opcode;
using Leaves = std::vector<runtime::BufferId>;

constexpr int64_t kMaxSteps = int64_t{4} << 20;
constexpr int kMaxDepth = 256;

class Builder {
 private:
  struct Site;

 public:
  // The opcodes that are not simply kernels.
  struct Row {
    Opcode opcode;
    absl::StatusOr<Leaves> (Builder::*visit)(const Site& site);
    std::string_view how;  // what is done in place of a kernel of its own
  };
  static absl::Span<const Row> Rows();
  static const Row* FindRow(Opcode opcode);

  absl::StatusOr<BuiltProgram> Run(const hlo::Module& module) {
    module_ = &module;
    const Computation& entry = *module.entry();
    const std::optional<std::string> whole = WhyOnePiece(module);
    std::vector<Leaves> parameters;
    for (const Instruction* parameter : entry.Parameters()) {
      if (parameter == nullptr) return absl::InvalidArgumentError("the entry computation misses a parameter number");
      if (!whole.has_value()) SMELT_RETURN_IF_ERROR(CheckShape(*parameter));
      Leaves leaves;
      for (const hlo::Shape* leaf : LeafShapes(parameter->shape())) {
        if (leaf->IsToken()) {
          leaves.push_back(NewBuffer(0));
          continue;
        }
        leaves.push_back(NewBuffer(leaf->ByteSize(), runtime::ProgramBuffer::Kind::kInput));
        program().buffers.back().number = static_cast<int64_t>(built_.inputs.size());
        program().buffers.back().known = hlo::IsKnownParameter(*parameter);
        built_.inputs.push_back(*leaf);
      }
      parameters.push_back(std::move(leaves));
    }
    Leaves result;
    if (whole.has_value()) {
      result = Opaque(module.Clone(), entry.root()->name(), entry.name(), parameters, *whole, &program().steps);
    } else {
      SMELT_ASSIGN_OR_RETURN(result, Inline(entry, parameters, 0, &program().steps));
    }
    const std::vector<const hlo::Shape*> leaves = LeafShapes(entry.root()->shape());
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (leaves[i]->IsToken()) continue;
      const runtime::BufferId output = NewBuffer(leaves[i]->ByteSize(), runtime::ProgramBuffer::Kind::kOutput);
      program().buffers.back().number = static_cast<int64_t>(built_.outputs.size());
      built_.outputs.push_back(*leaves[i]);
      AddCopy(result[i], output, &program().steps);
    }
    return std::move(built_);
  }

 private:
  using Values = absl::flat_hash_map<const Instruction*, Leaves>;

  runtime::Program& program() { return built_.program; }

  static std::vector<const hlo::Shape*> LeafShapes(const hlo::Shape& shape) {
    std::vector<const hlo::Shape*> leaves;
    shape.AppendLeaves(&leaves);
    return leaves;
  }

  // A module as one opaque operation.
  Leaves Opaque(std::unique_ptr<hlo::Module> module, std::string_view name, std::string_view computation,
                const std::vector<Leaves>& parameters, const std::string& why, runtime::Sequence* out) {
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

  // The part that works on arrays whose size is known only at run time: its outputs go to `values`.
  void RunRegion(const RuntimeSizeRegion& region, const Computation& computation, Values* values,
                 runtime::Sequence* out) {
    std::vector<Leaves> parameters;
    for (const Instruction* input : region.inputs) parameters.push_back(values->at(input));
    const Leaves results = Opaque(ModuleOf(region, computation, *module_), region.outputs.front()->name(),
                                  computation.name(), parameters, region.why, out);
    auto next = results.begin();
    for (const Instruction* output : region.outputs) {
      const auto end = next + static_cast<std::ptrdiff_t>(LeafShapes(output->shape()).size());
      (*values)[output] = Leaves(next, end);
      next = end;
    }
  }

  static absl::Status CheckShape(const Instruction& instruction) {
    for (const hlo::Shape* leaf : LeafShapes(instruction.shape())) {
      if (leaf->IsToken()) continue;
      if (!leaf->IsArray() || leaf->IsDynamic() || !leaf->SizeFits()) {
        return absl::UnimplementedError(StrCat("`", instruction.name(), "` has shape ", instruction.shape().ToString(),
                                               ": only arrays of static size run compiled"));
      }
    }
    return absl::OkStatus();
  }

  runtime::BufferId NewBuffer(int64_t bytes, runtime::ProgramBuffer::Kind kind = runtime::ProgramBuffer::Kind::kArena) {
    runtime::ProgramBuffer buffer;
    buffer.kind = kind;
    buffer.bytes = bytes;
    program().buffers.push_back(buffer);
    return static_cast<runtime::BufferId>(program().buffers.size() - 1);
  }

  Leaves NewLeaves(const hlo::Shape& shape) {
    Leaves leaves;
    for (const hlo::Shape* leaf : LeafShapes(shape)) leaves.push_back(NewBuffer(leaf->ByteSize()));
    return leaves;
  }

  static void AddCopy(runtime::BufferId from, runtime::BufferId to, runtime::Sequence* out) {
    if (from == to) return;
    runtime::Step step;
    step.kind = runtime::Step::Kind::kCopy;
    step.reads = {from};
    step.writes = {to};
    out->push_back(std::move(step));
  }

  // What the root needs, and what has a side effect.
  static absl::flat_hash_set<const Instruction*> Needed(const Computation& computation,
                                                        const std::vector<Instruction*>& order) {
    absl::flat_hash_set<const Instruction*> needed = {computation.root()};
    for (auto at = order.rbegin(); at != order.rend(); ++at) {
      if ((*at)->opcode() != Opcode::kParameter && (*at)->HasSideEffect()) needed.insert(*at);
      if (!needed.contains(*at)) continue;
      for (const Instruction* operand : (*at)->operands()) needed.insert(operand);
    }
    return needed;
  }

  // Appends the computation's steps; returns the leaves of its root.
  absl::StatusOr<Leaves> Inline(const Computation& computation, const std::vector<Leaves>& parameters, int depth,
                                runtime::Sequence* out) {
    if (depth > kMaxDepth) {
      return absl::ResourceExhaustedError(
          StrCat("computation `", computation.name(), "` is called more than ", kMaxDepth, " levels deep"));
    }
    std::vector<Instruction*> order = computation.PostOrder();
    const absl::flat_hash_set<const Instruction*> needed = Needed(computation, order);
    const std::optional<RuntimeSizeRegion> region = FindRuntimeSizeRegion(computation);
    const auto goes_before = [&](const Instruction* x) { return region && region->before.contains(x); };
    if (region) {
      std::stable_partition(order.begin(), order.end(), goes_before);
    }
    Values values;
    bool region_is_done = false;
    for (const Instruction* instruction : order) {
      if (!needed.contains(instruction) && !goes_before(instruction)) continue;
      if (region && !region_is_done && !goes_before(instruction) && instruction->opcode() != Opcode::kParameter) {
        RunRegion(*region, computation, &values, out);
        region_is_done = true;
      }
      if (region && region->members.contains(instruction)) continue;
      if (++steps_ > kMaxSteps) {
        return absl::ResourceExhaustedError(StrCat("inlining the calls of the module gives more than ", kMaxSteps,
                                                   " steps, at `", instruction->name(), "`"));
      }
      if (instruction->opcode() == Opcode::kParameter) {
        const int64_t number = instruction->attributes<hlo::ParameterAttributes>().number;
        if (number < 0 || number >= static_cast<int64_t>(parameters.size())) {
          return absl::InvalidArgumentError(
              StrCat("`", computation.name(), "` is called without its parameter ", number));
        }
        values[instruction] = parameters[number];
        continue;
      }
      // The result's tuple names outputs of the region, too.
      if (!region || instruction != computation.root()) SMELT_RETURN_IF_ERROR(CheckShape(*instruction));
      SMELT_ASSIGN_OR_RETURN(Leaves leaves, Visit(*instruction, values, depth, out));
      values[instruction] = std::move(leaves);
    }
    return values.at(computation.root());
  }

  // An instruction with the leaves of what it reads.
  struct Site {
    const Instruction& instruction;
    const Values& values;
    int depth;
    runtime::Sequence* out;

    const Leaves& operand(int64_t i) const { return values.at(instruction.operand(i)); }
    std::vector<Leaves> operands() const {
      std::vector<Leaves> leaves;
      for (int64_t i = 0; i < instruction.operand_count(); ++i) leaves.push_back(operand(i));
      return leaves;
    }
  };

  absl::StatusOr<Leaves> Visit(const Instruction& instruction, const Values& values, int depth,
                               runtime::Sequence* out) {
    const Row* row = FindRow(instruction.opcode());
    if (row != nullptr) return (this->*row->visit)({instruction, values, depth, out});
    if (!fusion::IsKernel(instruction)) {
      return absl::UnimplementedError(StrCat("`", instruction.name(), "` is a ", hlo::OpcodeName(instruction.opcode()),
                                             ", which has no compiled form"));
    }
    return Kernel(instruction, values, out);
  }

  absl::StatusOr<Leaves> VisitConstant(const Site& site) { return Constant(site.instruction); }
  absl::StatusOr<Leaves> VisitTuple(const Site& site) {
    Leaves leaves;
    for (const Leaves& operand : site.operands()) leaves.insert(leaves.end(), operand.begin(), operand.end());
    return leaves;
  }
  absl::StatusOr<Leaves> VisitGetTupleElement(const Site& site) {
    const Instruction& instruction = site.instruction;
    const int64_t index = instruction.attributes<hlo::TupleIndexAttributes>().index;
    int64_t first = 0;
    for (int64_t i = 0; i < index; ++i) first += instruction.operand(0)->shape().tuple_shapes[i].LeafCount();
    const auto begin = site.operand(0).begin() + first;
    return Leaves(begin, begin + instruction.shape().LeafCount());
  }
  absl::StatusOr<Leaves> VisitOtherName(const Site& site) { return site.operand(0); }
  absl::StatusOr<Leaves> VisitBitcast(const Site& site) {
    if (fusion::KeepsBytes(site.instruction)) return site.operand(0);
    return Kernel(site.instruction, site.values, site.out);
  }
  absl::StatusOr<Leaves> VisitAfterAll(const Site& site) { return NewLeaves(site.instruction.shape()); }
  absl::StatusOr<Leaves> VisitCall(const Site& site) {
    return Inline(*site.instruction.called(0), site.operands(), site.depth + 1, site.out);
  }
  // (destination, source, context): the copy is done at once.
  absl::StatusOr<Leaves> VisitCopyStart(const Site& site) {
    Leaves leaves = site.operand(0);
    leaves.insert(leaves.end(), site.operand(0).begin(), site.operand(0).end());
    return WithContexts(site.instruction.shape(), std::move(leaves), site.out);
  }
  // (operands, result, contexts...): the work is done at once.
  absl::StatusOr<Leaves> VisitAsyncStart(const Site& site) {
    Leaves leaves;
    for (const Leaves& operand : site.operands()) leaves.insert(leaves.end(), operand.begin(), operand.end());
    SMELT_ASSIGN_OR_RETURN(const Leaves result,
                           Inline(*site.instruction.called(0), site.operands(), site.depth + 1, site.out));
    leaves.insert(leaves.end(), result.begin(), result.end());
    return WithContexts(site.instruction.shape(), std::move(leaves), site.out);
  }
  absl::StatusOr<Leaves> VisitCopyDone(const Site& site) {
    return Leaves(site.operand(0).begin(), site.operand(0).begin() + site.instruction.shape().LeafCount());
  }
  absl::StatusOr<Leaves> VisitAsyncDone(const Site& site) {
    const Instruction& instruction = site.instruction;
    const std::vector<hlo::Shape>& started = instruction.operand(0)->shape().tuple_shapes;
    if (started.size() < 2 || started[1].LeafCount() != instruction.shape().LeafCount()) {
      return absl::InvalidArgumentError(StrCat("`", instruction.name(), "` is not given what an async-start made"));
    }
    const auto first = site.operand(0).begin() + started[0].LeafCount();
    return Leaves(first, first + started[1].LeafCount());
  }
  absl::StatusOr<Leaves> VisitWhile(const Site& site) {
    return While(site.instruction, site.operand(0), site.depth, site.out);
  }
  absl::StatusOr<Leaves> VisitConditional(const Site& site) {
    return Conditional(site.instruction, site.values, site.depth, site.out);
  }
  absl::StatusOr<Leaves> VisitDynamicUpdateSlice(const Site& site) {
    if (site.instruction.shape().rank() > runtime::kMaxUpdateRank)
      return Kernel(site.instruction, site.values, site.out);
    return UpdateSlice(site.instruction, site.values, site.out);
  }

  // The leaves of what an asynchronous operation begins: those given, then contexts, which are zero.
  absl::StatusOr<Leaves> WithContexts(const hlo::Shape& shape, Leaves leaves, runtime::Sequence* out) {
    const std::vector<const hlo::Shape*> shapes = LeafShapes(shape);
    if (leaves.size() > shapes.size()) {
      return absl::InvalidArgumentError(StrCat("an asynchronous operation of shape ", shape.ToString(),
                                               " does not hold its operands and its result"));
    }
    for (size_t i = leaves.size(); i < shapes.size(); ++i) {
      const runtime::BufferId context = NewBuffer(shapes[i]->ByteSize());
      if (shapes[i]->IsArray()) {
        const auto zero = std::make_shared<const hlo::Literal>(*shapes[i]);
        AddCopy(LiteralLeaves(zero)[0], context, out);
      }
      leaves.push_back(context);
    }
    return leaves;
  }

  absl::StatusOr<Leaves> Constant(const Instruction& instruction) {
    return LiteralLeaves(instruction.attributes<hlo::ConstantAttributes>().literal);
  }

  Leaves LiteralLeaves(const std::shared_ptr<const hlo::Literal>& literal) {
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
      program().buffers.back().data = next->raw();
    }
    program().constants.push_back(literal);
    constants_[literal.get()] = leaves;
    return leaves;
  }

  // The entry of Executable::kernels() of an instruction; one for all places that its computation is inlined at.
  int32_t SiteOf(const Instruction& instruction, int32_t job, Hash128 hash) {
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

  int32_t JobOf(fusion::Kernel kernel) {
    auto [job, inserted] = jobs_.try_emplace(kernel.hash, static_cast<int32_t>(built_.jobs.size()));
    if (inserted) built_.jobs.push_back(std::move(kernel));
    return job->second;
  }

  int32_t NativeJobOf(fusion::Kernel kernel, const NativePlan& plan) {
    auto [job, inserted] = native_jobs_.try_emplace(kernel.hash, static_cast<int32_t>(built_.jobs.size()));
    if (inserted) {
      built_.native_jobs[job->second] = plan;
      built_.jobs.push_back(std::move(kernel));
    }
    return job->second;
  }

  // A kernel as it was cut from an instruction, with its updates of slices peeled off where it has any.
  struct Cut {
    Hash128 hash;
    std::vector<int64_t> operands;
    int32_t job = -1;
    std::optional<PeeledKernel> peeled;
    std::unique_ptr<hlo::Module> module;  // what `peeled` points into
    int32_t index_job = -1;
    std::optional<NativePlan> native;
  };

  absl::StatusOr<const Cut*> CutOut(const Instruction& instruction) {
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

  absl::StatusOr<Leaves> Kernel(const Instruction& instruction, const Values& values, runtime::Sequence* out) {
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
  Leaves Native(const Instruction& instruction, const Cut& cut, const Values& values, runtime::Sequence* out) {
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
  absl::StatusOr<Leaves> Peeled(const Instruction& instruction, const Cut& cut, const Values& values,
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
    auto buffer = [&](const PeeledValue& value) -> absl::StatusOr<runtime::BufferId> {
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
      SMELT_ASSIGN_OR_RETURN(const Leaves leaves, Constant(*value.constant));
      return leaves[0];
    };
    Leaves result;
    for (const PeeledOutput& output : cut.peeled->outputs) {
      SMELT_ASSIGN_OR_RETURN(const runtime::BufferId value, buffer(output.value));
      if (output.update == nullptr) {
        result.push_back(value);
        continue;
      }
      const Instruction& update = *output.update;
      const runtime::BufferId array = NewBuffer(update.shape().ByteSize());
      AddCopy(parameter(output.array), array, out);
      runtime::Step step;
      step.kind = runtime::Step::Kind::kUpdateSlice;
      step.reads = {value};
      for (const PeeledValue& start : output.starts) {
        SMELT_ASSIGN_OR_RETURN(const runtime::BufferId at, buffer(start));
        step.reads.push_back(at);
      }
      step.writes = {array};
      step.in_place = true;
      step.update = AddUpdate(update);
      if (update.operand(1)->shape().ByteSize() > 0) emit(std::move(step));
      result.push_back(array);
    }
    return result;
  }

  int32_t AddUpdate(const Instruction& update) {
    runtime::SliceUpdate entry{update.shape().dimensions, update.operand(1)->shape().dimensions,
                               hlo::StorageBytes(update.shape().element_type)};
    if (update.operand_count() > 2) {
      const hlo::PrimitiveType index = update.operand(2)->shape().element_type;
      entry.index_bytes = hlo::StorageBytes(index);
      entry.index_is_signed = !hlo::IsUnsigned(index);
      entry.one_vector = update.operand(2)->shape().rank() == 1;
    }
    program().updates.push_back(std::move(entry));
    return static_cast<int32_t>(program().updates.size()) - 1;
  }

  absl::StatusOr<Leaves> UpdateSlice(const Instruction& instruction, const Values& values, runtime::Sequence* out) {
    const runtime::BufferId result = NewBuffer(instruction.shape().ByteSize());
    AddCopy(values.at(instruction.operand(0))[0], result, out);
    runtime::Step step;
    step.kind = runtime::Step::Kind::kUpdateSlice;
    step.info = SiteOf(instruction, -1, {});
    for (int64_t i = 1; i < instruction.operand_count(); ++i)
      step.reads.push_back(values.at(instruction.operand(i))[0]);
    step.writes = {result};
    step.in_place = true;
    step.update = AddUpdate(instruction);
    if (instruction.operand(1)->shape().ByteSize() > 0) out->push_back(std::move(step));
    return Leaves{result};
  }

  // For every leaf of a while's state, whether the body returns the leaf of its parameter untouched.
  static std::vector<bool> PassedThrough(const Computation& body) {
    const int64_t count = body.root()->shape().LeafCount();
    std::vector<bool> same(count, false);
    const Instruction* root = body.root();
    auto is_parameter = [](const Instruction* instruction) { return instruction->opcode() == Opcode::kParameter; };
    if (is_parameter(root)) return std::vector<bool>(count, true);
    if (root->opcode() != Opcode::kTuple) return same;
    int64_t first = 0;
    for (int64_t i = 0; i < root->operand_count(); ++i) {
      const Instruction* element = root->operand(i);
      const int64_t leaves = element->shape().LeafCount();
      if (element->opcode() == Opcode::kGetTupleElement && is_parameter(element->operand(0)) &&
          element->attributes<hlo::TupleIndexAttributes>().index == i) {
        for (int64_t leaf = first; leaf < first + leaves; ++leaf) same[leaf] = true;
      }
      first += leaves;
    }
    return same;
  }

  absl::StatusOr<Leaves> While(const Instruction& instruction, const Leaves& init, int depth, runtime::Sequence* out) {
    const Computation& body = *instruction.called(0);
    const Computation& condition = *instruction.called(1);
    const std::optional<int64_t> trips = hlo::TripCount(instruction);
    if (trips == 0) return init;
    const std::vector<bool> passed_through = PassedThrough(body);
    Leaves state;
    for (size_t i = 0; i < init.size(); ++i) {
      if (passed_through[i]) {
        state.push_back(init[i]);
        continue;
      }
      state.push_back(NewBuffer(program().buffers[init[i]].bytes));
      AddCopy(init[i], state[i], out);
    }
    runtime::Step step;
    step.kind = trips ? runtime::Step::Kind::kRepeat : runtime::Step::Kind::kWhile;
    step.trips = trips.value_or(0);
    if (!trips) {
      SMELT_ASSIGN_OR_RETURN(const Leaves predicate,
                             Inline(condition, {state}, depth + 1, &step.sequences.emplace_back()));
      step.reads = {predicate[0]};
    }
    runtime::Sequence& steps = step.sequences.emplace_back();
    SMELT_ASSIGN_OR_RETURN(Leaves next, Inline(body, {state}, depth + 1, &steps));
    // All of the next state is assigned at once: a leaf that comes from another leaf of the old state is saved before
    // that one is overwritten.
    absl::flat_hash_map<runtime::BufferId, size_t> state_leaf;
    for (size_t i = 0; i < state.size(); ++i) {
      if (!passed_through[i]) state_leaf[state[i]] = i;
    }
    for (size_t i = 0; i < state.size(); ++i) {
      if (next[i] == state[i] || !state_leaf.contains(next[i])) continue;
      const runtime::BufferId saved = NewBuffer(program().buffers[state[i]].bytes);
      AddCopy(next[i], saved, &steps);
      next[i] = saved;
    }
    for (size_t i = 0; i < state.size(); ++i) AddCopy(next[i], state[i], &steps);
    out->push_back(std::move(step));
    return state;
  }

  absl::StatusOr<Leaves> Conditional(const Instruction& instruction, const Values& values, int depth,
                                     runtime::Sequence* out) {
    const int64_t branches = static_cast<int64_t>(instruction.called().size());
    if (branches == 0 || instruction.operand_count() != branches + 1) {
      return absl::InvalidArgumentError(
          StrCat("conditional `", instruction.name(), "` needs one operand for each of its branches"));
    }
    runtime::Step step;
    step.kind = runtime::Step::Kind::kConditional;
    step.reads = {values.at(instruction.operand(0))[0]};
    step.predicate_form = instruction.operand(0)->shape().element_type == hlo::PrimitiveType::kPred;
    step.sequences.resize(branches);
    const Leaves result = NewLeaves(instruction.shape());
    for (int64_t i = 0; i < branches; ++i) {
      runtime::Sequence& steps = step.sequences[i];
      SMELT_ASSIGN_OR_RETURN(
          Leaves leaves, Inline(*instruction.called(i), {values.at(instruction.operand(i + 1))}, depth + 1, &steps));
      for (size_t leaf = 0; leaf < result.size(); ++leaf) AddCopy(leaves[leaf], result[leaf], &steps);
    }
    out->push_back(std::move(step));
    return result;
  }

  const hlo::Module* module_ = nullptr;
  BuiltProgram built_;
  int64_t steps_ = 0;
  absl::flat_hash_map<const hlo::Literal*, Leaves> constants_;
  absl::flat_hash_map<const Instruction*, std::unique_ptr<Cut>> cut_;
  absl::flat_hash_map<Hash128, int32_t> jobs_, native_jobs_;
  absl::flat_hash_map<const Instruction*, int32_t> sites_;
};

absl::Span<const Builder::Row> Builder::Rows() {
  constexpr std::string_view kOtherName = "no work, another name of its operand's buffer";
  static constexpr Row kRows[] = {
      {Opcode::kConstant, &Builder::VisitConstant, "a buffer of the program"},
      {Opcode::kTuple, &Builder::VisitTuple, "no work, the buffers of its operands"},
      {Opcode::kGetTupleElement, &Builder::VisitGetTupleElement, "no work, a buffer of its operand"},
      {Opcode::kReshape, &Builder::VisitOtherName, kOtherName},
      {Opcode::kCopy, &Builder::VisitOtherName, kOtherName},
      {Opcode::kDomain, &Builder::VisitOtherName, kOtherName},
      {Opcode::kAddDependency, &Builder::VisitOtherName, kOtherName},
      {Opcode::kOptimizationBarrier, &Builder::VisitOtherName, kOtherName},
      {Opcode::kBitcast, &Builder::VisitBitcast, "no work where the order in memory stays"},
      {Opcode::kAfterAll, &Builder::VisitAfterAll, "no work, a token"},
      {Opcode::kCall, &Builder::VisitCall, "inlined"},
      {Opcode::kCopyStart, &Builder::VisitCopyStart, "done at once"},
      {Opcode::kCopyDone, &Builder::VisitCopyDone, "no work, done where it starts"},
      {Opcode::kAsyncStart, &Builder::VisitAsyncStart, "done at once"},
      {Opcode::kAsyncUpdate, &Builder::VisitOtherName, "no work, done where it starts"},
      {Opcode::kAsyncDone, &Builder::VisitAsyncDone, "no work, done where it starts"},
      {Opcode::kWhile, &Builder::VisitWhile, "a loop of the program"},
      {Opcode::kConditional, &Builder::VisitConditional, "a branch of the program"},
      {Opcode::kDynamicUpdateSlice, &Builder::VisitDynamicUpdateSlice, "in place where it stands alone"},
  };
  return kRows;
}

const Builder::Row* Builder::FindRow(Opcode opcode) {
  for (const Row& row : Rows()) {
    if (row.opcode == opcode) return &row;
  }
  return nullptr;
}

}  // namespace

std::string_view WithoutKernel(Opcode opcode) {
  const Builder::Row* row = Builder::FindRow(opcode);
  return row == nullptr ? std::string_view() : row->how;
}

absl::StatusOr<BuiltProgram> BuildProgram(const hlo::Module& module) {
  if (module.entry() == nullptr || module.entry()->root() == nullptr) {
    return absl::InvalidArgumentError("the module has no entry computation");
  }
  return Builder().Run(module);
}

}  // namespace smelt::cpu
