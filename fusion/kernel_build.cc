#include "fusion/kernel_build.h"

#include <algorithm>
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

std::vector<int64_t> DistancesOf(const Graph& graph, const KernelBody& body, const hlo::ReuseDistances& distances) {
  // What a value of the body is another name of, and who reads that first: of several, who finds it furthest away.
  const int32_t count = static_cast<int32_t>(body.values.size());
  std::vector<int32_t> same(count);
  std::vector<int64_t> furthest(count, 0);
  int64_t own_bytes = 0;
  for (int32_t i = 0; i < count; ++i) {
    same[i] = i;
    if (body.values[i].parameter) continue;
    const Instruction& reader = *graph.node(body.values[i].node).instruction;
    own_bytes += distances.OwnBytes(reader);
    for (const int32_t operand : body.OperandsOf(body.values[i])) {
      if (hlo::ReuseDistances::IsAlias(reader)) {
        same[i] = same[operand];
        continue;
      }
      const KernelBody::Value& read = body.values[same[operand]];
      if (!read.parameter) continue;
      int64_t& bytes = furthest[same[operand]];
      bytes = std::max(bytes, distances.Of(reader, *graph.node(read.node).instruction));
    }
  }
  std::vector<int64_t> leaves;
  for (int32_t i = 0; i < count; ++i) {
    if (!body.values[i].parameter) continue;
    const int64_t arrays = graph.node(body.values[i].node).instruction->shape().LeafCount();
    leaves.resize(leaves.size() + static_cast<size_t>(arrays), furthest[i]);
  }
  for (const int32_t output : body.outputs) {
    const Instruction& result = *graph.node(body.values[output].node).instruction;
    for (int64_t part = 0; part < result.shape().LeafCount(); ++part)
      leaves.push_back(distances.OfResult(result, part, own_bytes));
  }
  return leaves;
}

}  // namespace smelt::fusion
