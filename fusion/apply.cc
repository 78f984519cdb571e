#include "fusion/apply.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/check.h"
#include "base/str_cat.h"
#include "fusion/kernel_build.h"

namespace smelt::fusion {
namespace {

using hlo::Instruction;
using hlo::Opcode;

class Application {
 public:
  explicit Application(Partition& partition)
      : partition_(partition), graph_(partition.space().graph()), values_(graph_.nodes().size()) {}

  std::unique_ptr<hlo::Module> Run() {
    const hlo::Module& original = partition_.space().module();
    module_ = std::make_unique<hlo::Module>(original.name());
    CopyHeader(original);
    std::vector<std::pair<int32_t, int32_t>> ranges(graph_.computations().size(), {INT32_MAX, 0});
    for (int32_t n = 0; n < static_cast<int32_t>(graph_.nodes().size()); ++n) {
      auto& [begin, end] = ranges[graph_.node(n).computation];
      begin = std::min(begin, n);
      end = n + 1;
    }
    absl::flat_hash_map<const hlo::Computation*, int32_t> number;
    for (int32_t c = 0; c < static_cast<int32_t>(graph_.computations().size()); ++c) {
      number[graph_.computations()[c]] = c;
    }
    for (const hlo::Computation* computation : original.PostOrder()) {
      hlo::Computation* fresh = module_->AddComputation(computation->name());
      fresh->raw_attributes() = computation->raw_attributes();
      computations_[computation] = fresh;
      // What only dead instructions call stays as it is, too.
      auto it = number.find(computation);
      if (it != number.end() && graph_.node(graph_.NodeOf(*computation->root())).live) {
        Fuse(*computation, ranges[it->second].first, ranges[it->second].second, fresh);
      } else {
        Copy(*computation, fresh);
      }
    }
    module_->set_entry(computations_.at(original.entry()));
    return std::move(module_);
  }

 private:
  void CopyHeader(const hlo::Module& original) {
    module_->raw_attributes() = original.raw_attributes();
    module_->tables() = original.tables();
    const std::string mark = StrCat("smelt_before_fusion=\"", partition_.space().fingerprint().ToHex(), "\"");
    auto& attributes = module_->raw_attributes();
    auto it = std::find_if(attributes.begin(), attributes.end(),
                           [](const hlo::RawAttribute& a) { return a.name == "frontend_attributes"; });
    if (it == attributes.end()) {
      attributes.push_back({"frontend_attributes", StrCat("{", mark, "}")});
    } else if (it->value.size() >= 2 && it->value.find("smelt_before_fusion") == std::string::npos) {
      const bool empty = it->value.find('=') == std::string::npos;
      it->value = StrCat("{", mark, empty ? "" : ",", it->value.substr(1));
    }
  }

  // Computations that do not run kernels stay as they are.
  void Copy(const hlo::Computation& computation, hlo::Computation* fresh) {
    absl::flat_hash_map<const Instruction*, Instruction*> copies;
    for (const Instruction* instruction : computation.PostOrder()) {
      std::vector<Instruction*> operands;
      for (const Instruction* operand : instruction->operands()) operands.push_back(copies.at(operand));
      Instruction* copy = Clone(*instruction, std::move(operands), fresh);
      for (const Instruction* before : instruction->control_predecessors()) {
        copy->AddControlPredecessor(copies.at(before));
      }
      copies[instruction] = copy;
    }
    fresh->set_root(copies.at(computation.root()));
  }

  Instruction* Clone(const Instruction& instruction, std::vector<Instruction*> operands, hlo::Computation* into) {
    Instruction* copy = into->AddClone(instruction, std::move(operands));
    std::vector<hlo::Computation*> called;
    for (const hlo::Computation* c : instruction.called()) called.push_back(computations_.at(c));
    copy->set_called(std::move(called));
    return copy;
  }

  void Fuse(const hlo::Computation& computation, int32_t begin, int32_t end, hlo::Computation* fresh) {
    for (const Instruction* parameter : computation.Parameters()) {
      if (parameter != nullptr) values_[graph_.NodeOf(*parameter)] = Clone(*parameter, {}, fresh);
    }
    for (int32_t n = begin; n < end; ++n) {
      const Node& node = graph_.node(n);
      const bool wanted = partition_.KernelOf(n) >= 0 ||
                          (node.live && node.role == Role::kOutside && node.instruction->opcode() != Opcode::kConstant);
      if (wanted) Emit(n, fresh);
    }
    Emit(graph_.NodeOf(*computation.root()), fresh);
    for (int32_t n = begin; n < end; ++n) {
      const Node& node = graph_.node(n);
      if (!node.live) continue;
      for (const Instruction* before : node.instruction->control_predecessors()) {
        const int32_t b = graph_.NodeOf(*before);
        Emit(b, fresh);
        Emit(n, fresh);
        values_[n]->AddControlPredecessor(values_[b]);
      }
    }
    fresh->set_root(values_[graph_.NodeOf(*computation.root())]);
  }

  // Makes the node's value in `fresh`, what it needs first.
  void Emit(int32_t wanted, hlo::Computation* fresh) {
    std::vector<int32_t> stack = {wanted};
    while (!stack.empty()) {
      const int32_t n = stack.back();
      if (values_[n] != nullptr) {
        stack.pop_back();
        continue;
      }
      const size_t size = stack.size();
      const int32_t slot = partition_.KernelOf(n);
      if (slot < 0) {
        const Instruction& instruction = *graph_.node(n).instruction;
        Check(graph_.node(n).role == Role::kOutside || instruction.opcode() == Opcode::kConstant,
              "a value that is read has a kernel");
        for (const Instruction* operand : instruction.operands()) Want(graph_.NodeOf(*operand), &stack);
        if (stack.size() > size) continue;
        EmitPlain(n, fresh);
      } else {
        partition_.Body(slot, &body_);
        const bool plain = IsPlain();
        for (const KernelBody::Value& value : body_.values) {
          if (value.parameter || (plain && value.node != n)) Want(value.node, &stack);
        }
        if (stack.size() > size) continue;
        if (plain) {
          EmitPlain(n, fresh);
        } else {
          EmitFusion(slot, fresh);
        }
      }
      stack.pop_back();
    }
  }

  void Want(int32_t n, std::vector<int32_t>* stack) const {
    if (values_[n] == nullptr) stack->push_back(n);
  }

  // One instruction with nothing but parameters and scalar constants needs no fusion around it.
  bool IsPlain() const {
    int instructions = 0;
    for (const KernelBody::Value& value : body_.values) {
      instructions += !value.parameter && graph_.node(value.node).instruction->opcode() != Opcode::kConstant;
    }
    return instructions == 1;
  }

  void EmitPlain(int32_t n, hlo::Computation* fresh) {
    const Instruction& instruction = *graph_.node(n).instruction;
    std::vector<Instruction*> operands;
    operands.reserve(instruction.operand_count());
    for (const Instruction* operand : instruction.operands()) operands.push_back(values_[graph_.NodeOf(*operand)]);
    values_[n] = Clone(instruction, std::move(operands), fresh);
  }

  void EmitFusion(int32_t slot, hlo::Computation* fresh) {
    const KernelSlot& kernel = partition_.kernel(slot);
    const Instruction& main = *graph_.node(kernel.outputs.back()).instruction;
    hlo::Computation* body = AddKernelComputation(
        graph_, body_, StrCat("fused_", main.name()), [&](const hlo::Computation& c) { return computations_.at(&c); },
        module_.get());
    std::vector<Instruction*> operands;
    operands.reserve(body_.parameter_count);
    for (const KernelBody::Value& value : body_.values) {
      if (value.parameter) operands.push_back(values_[value.node]);
    }
    Instruction* fusion = fresh->Add(Opcode::kFusion, body->root()->shape(), std::move(operands),
                                     hlo::FusionAttributes{Kind(kernel)}, StrCat("fusion.", main.name()), {body});
    for (const hlo::RawAttribute& attribute : main.raw_attributes()) {
      if (attribute.name == "metadata") fusion->raw_attributes().push_back(attribute);
    }
    if (kernel.outputs.size() == 1) {
      values_[kernel.outputs[0]] = fusion;
      return;
    }
    for (size_t i = 0; i < kernel.outputs.size(); ++i) {
      const Instruction& output = *graph_.node(kernel.outputs[i]).instruction;
      values_[kernel.outputs[i]] =
          fresh->Add(Opcode::kGetTupleElement, output.shape(), {fusion},
                     hlo::TupleIndexAttributes{static_cast<int64_t>(i)}, StrCat("output.", output.name()));
    }
  }

  // XLA uses the kinds so: a loop over the result, a reduction that is the result, a contraction with work after it.
  hlo::FusionKind Kind(const KernelSlot& kernel) const {
    bool contraction = false;
    for (const KernelBody::Value& value : body_.values) {
      contraction |= !value.parameter && graph_.node(value.node).role == Role::kContraction;
    }
    const Role last = graph_.node(kernel.outputs.back()).role;
    if (contraction) return last == Role::kContraction ? hlo::FusionKind::kInput : hlo::FusionKind::kOutput;
    for (int32_t n : kernel.outputs) {
      if (graph_.node(n).role == Role::kReduction) return hlo::FusionKind::kInput;
    }
    return hlo::FusionKind::kLoop;
  }

  Partition& partition_;
  const Graph& graph_;
  std::unique_ptr<hlo::Module> module_;
  std::vector<Instruction*> values_;  // by node: what holds its value in the new module
  absl::flat_hash_map<const hlo::Computation*, hlo::Computation*> computations_;
  KernelBody body_;
};

}  // namespace

std::unique_ptr<hlo::Module> Apply(Partition& partition) { return Application(partition).Run(); }

std::unique_ptr<hlo::Module> Apply(const Space& space, const Config& config) {
  Partition partition(space, /*hashes=*/false);
  std::vector<int32_t> bits;
  for (int32_t d = 0; d < config.size(); ++d) {
    if (config.Get(d)) bits.push_back(d);
  }
  partition.Change(bits);
  return Apply(partition);
}

}  // namespace smelt::fusion
