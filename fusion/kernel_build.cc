#include "fusion/kernel_build.h"

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/str_cat.h"

namespace smelt::fusion {

using hlo::Instruction;
using hlo::Opcode;

hlo::Computation* AddKernelComputation(const Graph& graph, const KernelBody& body, std::string_view name,
                                       const std::function<hlo::Computation*(const hlo::Computation&)>& callee,
                                       hlo::Module* module) {
  hlo::Computation* computation = module->AddComputation(name);
  std::vector<Instruction*> copies;
  copies.reserve(body.values.size());
  int64_t parameters = 0;
  for (const KernelBody::Value& value : body.values) {
    const Instruction& original = *graph.node(value.node).instruction;
    if (value.parameter) {
      copies.push_back(computation->Add(Opcode::kParameter, original.shape(), {}, hlo::ParameterAttributes{parameters},
                                        StrCat("param_", parameters)));
      ++parameters;
      continue;
    }
    std::vector<Instruction*> operands;
    operands.reserve(value.operands_end - value.operands_begin);
    for (int32_t operand : body.OperandsOf(value)) operands.push_back(copies[operand]);
    std::vector<hlo::Computation*> called;
    for (const hlo::Computation* c : original.called()) called.push_back(callee(*c));
    Instruction* copy = computation->AddClone(original, std::move(operands));
    copy->set_called(std::move(called));
    copies.push_back(copy);
  }
  if (body.outputs.size() == 1) {
    computation->set_root(copies[body.outputs[0]]);
    return computation;
  }
  std::vector<Instruction*> outputs;
  std::vector<hlo::Shape> shapes;
  for (int32_t output : body.outputs) {
    outputs.push_back(copies[output]);
    shapes.push_back(copies[output]->shape());
  }
  computation->set_root(computation->Add(Opcode::kTuple, hlo::Shape::Tuple(std::move(shapes)), std::move(outputs)));
  return computation;
}

Kernel BuildKernel(const Graph& graph, const KernelBody& body, const Hash128& hash) {
  Kernel kernel;
  kernel.hash = hash;
  kernel.name = graph.node(body.values[body.outputs[0]].node).instruction->name();
  kernel.module = std::make_unique<hlo::Module>(kernel.name);
  hlo::Module* module = kernel.module.get();
  absl::flat_hash_map<const hlo::Computation*, hlo::Computation*> copies;
  const auto callee = [&](const hlo::Computation& computation) {
    auto [it, fresh] = copies.try_emplace(&computation, nullptr);
    if (fresh) it->second = module->CloneComputation(computation);
    return it->second;
  };
  module->set_entry(AddKernelComputation(graph, body, "kernel", callee, module));
  return kernel;
}

}  // namespace smelt::fusion
