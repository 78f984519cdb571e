#include "targets/cpu/program/program_builder.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "hlo/known/known_parameters.h"
#include "hlo/literal.h"
#include "hlo/passes/while_trip_count.h"
#include "runtime/update_slice.h"
#include "targets/cpu/program/kernel_steps.h"
#include "targets/cpu/program/runtime_size_region.h"

namespace smelt::cpu {
namespace {

using hlo::Computation;
using hlo::Instruction;
using hlo::Opcode;

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
          leaves.push_back(steps_.NewBuffer(0));
          continue;
        }
        leaves.push_back(steps_.NewBuffer(leaf->ByteSize(), runtime::ProgramBuffer::Kind::kInput));
        program().buffers.back().number = static_cast<int64_t>(steps_.built().inputs.size());
        program().buffers.back().known = hlo::IsKnownParameter(*parameter);
        steps_.built().inputs.push_back(*leaf);
      }
      parameters.push_back(std::move(leaves));
    }
    Leaves result;
    if (whole.has_value()) {
      result = steps_.Opaque(module.Clone(), entry.root()->name(), entry.name(), parameters, *whole, &program().steps);
    } else {
      SMELT_ASSIGN_OR_RETURN(result, Inline(entry, parameters, 0, &program().steps));
    }
    const std::vector<const hlo::Shape*> leaves = LeafShapes(entry.root()->shape());
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (leaves[i]->IsToken()) continue;
      const runtime::BufferId output = steps_.NewBuffer(leaves[i]->ByteSize(), runtime::ProgramBuffer::Kind::kOutput);
      program().buffers.back().number = static_cast<int64_t>(steps_.built().outputs.size());
      steps_.built().outputs.push_back(*leaves[i]);
      AddCopy(result[i], output, &program().steps);
    }
    return std::move(steps_.built());
  }

 private:
  runtime::Program& program() { return steps_.built().program; }

  // The part that works on arrays whose size is known only at run time: its outputs go to `values`.
  void RunRegion(const RuntimeSizeRegion& region, const Computation& computation, Values* values,
                 runtime::Sequence* out) {
    std::vector<Leaves> parameters;
    for (const Instruction* input : region.inputs) parameters.push_back(values->at(input));
    const Leaves results = steps_.Opaque(ModuleOf(region, computation, *module_), region.outputs.front()->name(),
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
      if (++count_ > kMaxSteps) {
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
    return steps_.Kernel(instruction, values, out);
  }

  absl::StatusOr<Leaves> VisitConstant(const Site& site) {
    return steps_.Constant(site.instruction.attributes<hlo::ConstantAttributes>().literal);
  }
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
    return steps_.Kernel(site.instruction, site.values, site.out);
  }
  absl::StatusOr<Leaves> VisitAfterAll(const Site& site) { return steps_.NewLeaves(site.instruction.shape()); }
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
      return steps_.Kernel(site.instruction, site.values, site.out);
    return steps_.UpdateSlice(site.instruction, site.values, site.out);
  }

  // The leaves of what an asynchronous operation begins: those given, then contexts, which are zero.
  absl::StatusOr<Leaves> WithContexts(const hlo::Shape& shape, Leaves leaves, runtime::Sequence* out) {
    const std::vector<const hlo::Shape*> shapes = LeafShapes(shape);
    if (leaves.size() > shapes.size()) {
      return absl::InvalidArgumentError(StrCat("an asynchronous operation of shape ", shape.ToString(),
                                               " does not hold its operands and its result"));
    }
    for (size_t i = leaves.size(); i < shapes.size(); ++i) {
      const runtime::BufferId context = steps_.NewBuffer(shapes[i]->ByteSize());
      if (shapes[i]->IsArray()) {
        const auto zero = std::make_shared<const hlo::Literal>(*shapes[i]);
        AddCopy(steps_.Constant(zero)[0], context, out);
      }
      leaves.push_back(context);
    }
    return leaves;
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
      state.push_back(steps_.NewBuffer(program().buffers[init[i]].bytes));
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
      const runtime::BufferId saved = steps_.NewBuffer(program().buffers[state[i]].bytes);
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
    const Leaves result = steps_.NewLeaves(instruction.shape());
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
  KernelSteps steps_;
  int64_t count_ = 0;
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
