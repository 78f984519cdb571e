#include "targets/cpu/program/opaque.h"

#include <cstring>

#include "base/status_macros.h"
#include "hlo/evaluator/evaluator.h"
#include "hlo/literal.h"

namespace smelt::cpu {
namespace {

// Visits the array leaves of a literal in order; tokens count as leaves and hold nothing.
template <typename LiteralType, typename Visit>
void ForEachLeaf(LiteralType& literal, const Visit& visit) {
  if (!literal.shape().IsTuple()) {
    visit(literal);
    return;
  }
  for (auto& element : literal.elements()) ForEachLeaf(element, visit);
}

}  // namespace

absl::Status RunOpaque(const hlo::Computation& kernel, absl::Span<const void* const> inputs,
                       absl::Span<void* const> outputs, int threads, const std::atomic<bool>* cancel) {
  std::vector<hlo::Literal> literals;
  size_t next = 0;
  for (const hlo::Instruction* parameter : kernel.Parameters()) {
    SMELT_ASSIGN_OR_RETURN(hlo::Literal literal, hlo::Literal::CreateUninitialized(parameter->shape()));
    ForEachLeaf(literal, [&](hlo::Literal& leaf) {
      if (leaf.byte_size() > 0) std::memcpy(leaf.raw(), inputs[next], leaf.byte_size());
      ++next;
    });
    literals.push_back(std::move(literal));
  }
  std::vector<const hlo::Literal*> arguments;
  for (const hlo::Literal& literal : literals) arguments.push_back(&literal);
  hlo::EvaluateOptions options;
  options.threads = threads;
  options.cancel = cancel;
  SMELT_ASSIGN_OR_RETURN(const hlo::Literal result, hlo::EvaluateComputation(kernel, arguments, options));
  size_t output = 0;
  ForEachLeaf(result, [&](const hlo::Literal& leaf) {
    if (output < outputs.size() && leaf.byte_size() > 0) std::memcpy(outputs[output], leaf.raw(), leaf.byte_size());
    ++output;
  });
  if (output != outputs.size()) {
    return absl::InternalError("the evaluator's result has another number of leaves than the instruction");
  }
  return absl::OkStatus();
}

}  // namespace smelt::cpu
