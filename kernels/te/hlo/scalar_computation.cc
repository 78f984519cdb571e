#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "hlo/computation.h"
#include "hlo/literal.h"
#include "kernels/te/hlo/rules.h"

namespace smelt::kernels::te {

using hlo::Opcode;

absl::StatusOr<std::vector<Expr>> ScalarComputation(const hlo::Computation& computation,
                                                    const std::vector<Expr>& arguments) {
  absl::flat_hash_map<const hlo::Instruction*, Expr> values;
  for (const hlo::Instruction* instruction : computation.PostOrder()) {
    if (instruction->opcode() == Opcode::kTuple) continue;
    if (instruction->opcode() == Opcode::kParameter) {
      const int64_t number = instruction->attributes<hlo::ParameterAttributes>().number;
      if (number < 0 || number >= static_cast<int64_t>(arguments.size())) {
        return absl::InvalidArgumentError(absl::StrCat(computation.name(), " has a parameter ", number, ", but takes ",
                                                       arguments.size(), " arguments here"));
      }
      values[instruction] = arguments[number];
      continue;
    }
    std::vector<Expr> operands;
    for (const hlo::Instruction* operand : instruction->operands()) operands.push_back(values[operand]);
    switch (instruction->opcode()) {
      case Opcode::kConstant: {
        SMELT_ASSIGN_OR_RETURN(std::vector<Value> constant, ConstantRule({*instruction, {}, instruction->name()}));
        values[instruction] = constant[0].uniform;
        break;
      }
      case Opcode::kCall: {
        SMELT_ASSIGN_OR_RETURN(std::vector<Expr> results, ScalarComputation(*instruction->called(0), operands));
        values[instruction] = results[0];
        break;
      }
      case Opcode::kBroadcast:
      case Opcode::kReshape:
        values[instruction] = operands[0];
        break;
      case Opcode::kBitcast: {
        const DataType type{instruction->shape().element_type, 1};
        values[instruction] = operands[0].type() == type ? operands[0] : BitCast(type, operands[0]);
        break;
      }
      default: {
        SMELT_ASSIGN_OR_RETURN(values[instruction], ElementwiseExpr(*instruction, operands));
        break;
      }
    }
  }
  const hlo::Instruction* root = computation.root();
  std::vector<Expr> results;
  if (root->opcode() == Opcode::kTuple) {
    for (const hlo::Instruction* operand : root->operands()) results.push_back(values[operand]);
  } else {
    results.push_back(values[root]);
  }
  return results;
}

absl::StatusOr<std::vector<Value>> MapRule(const RuleInput& input) {
  absl::Status status = absl::OkStatus();
  Value value = input.Emit([&](Indices indices) {
    std::vector<Expr> arguments;
    for (const Value& operand : input.operands) {
      arguments.push_back(operand.At(std::vector<Expr>(indices.begin(), indices.end())));
    }
    absl::StatusOr<std::vector<Expr>> results = ScalarComputation(*input.instruction.called(0), arguments);
    if (results.ok()) return (*results)[0];
    status = results.status();
    return IntConst({input.type(), 1}, 0);
  });
  if (!status.ok()) return status;
  return std::vector<Value>{value};
}

}  // namespace smelt::kernels::te
