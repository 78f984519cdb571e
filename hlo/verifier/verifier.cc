#include "hlo/verifier/verifier.h"

#include <algorithm>

#include "hlo/shape_inference/shape_inference.h"
#include "hlo/str_cat.h"
#include "hlo/verifier/header.h"
#include "hlo/verifier/nesting.h"

namespace smelt::hlo {
namespace {

// minor_to_major must name every dimension once.
bool IsLayoutValid(const Shape& shape) {
  for (const Shape& element : shape.tuple_shapes) {
    if (!IsLayoutValid(element)) return false;
  }
  if (!shape.layout) return true;
  const std::vector<int64_t>& order = shape.layout->minor_to_major;
  if (static_cast<int64_t>(order.size()) != shape.rank()) return false;
  uint64_t seen = 0;
  for (int64_t d : order) {
    if (d < 0 || d >= shape.rank() || shape.rank() > 64 || (seen >> d & 1)) return false;
    seen |= uint64_t{1} << d;
  }
  return true;
}

class Verifier {
 public:
  explicit Verifier(const Module& module) : module_(module) {}

  std::optional<Problem> Find() {
    if (module_.entry() == nullptr) return Problem{nullptr, nullptr, "the module must have an entry computation"};
    if (std::optional<Problem> problem = FindNestingProblem(module_)) return problem;
    for (const Computation* computation : module_.PostOrder()) {
      if (!Check(*computation)) return problem_;
    }
    if (std::optional<std::string> message = HeaderProblem(module_)) {
      return Problem{module_.entry(), nullptr, *std::move(message)};
    }
    return std::nullopt;
  }

 private:
  bool Check(const Computation& computation) {
    computation_ = &computation;
    const std::vector<Instruction*> order = computation.PostOrder();
    for (size_t i = 0; i < order.size(); ++i) {
      if (static_cast<int64_t>(position_.size()) <= order[i]->id()) position_.resize(2 * order[i]->id() + 64);
      position_[order[i]->id()] = static_cast<int64_t>(i);
    }
    if (computation.root() == nullptr || computation.root()->parent() != &computation) {
      return Fail(nullptr, "a computation must have a root among its instructions");
    }
    if (!CheckParameters(order)) return false;
    for (size_t i = 0; i < order.size(); ++i) {
      if (!Check(*order[i], static_cast<int64_t>(i))) return false;
    }
    return true;
  }

  // The numbers must be 0, 1, 2, ..., each once.
  bool CheckParameters(absl::Span<Instruction* const> instructions) {
    std::vector<const Instruction*> parameters;
    for (const Instruction* instruction : instructions) {
      if (instruction->opcode() != Opcode::kParameter) continue;
      if (!std::holds_alternative<ParameterAttributes>(instruction->all_attributes())) {
        return Fail(instruction, "a parameter must have a number");
      }
      parameters.push_back(instruction);
    }
    std::sort(parameters.begin(), parameters.end(),
              [](const Instruction* a, const Instruction* b) { return Number(a) < Number(b); });
    for (size_t i = 0; i < parameters.size(); ++i) {
      const int64_t number = Number(parameters[i]);
      if (number == static_cast<int64_t>(i)) continue;
      if (i > 0 && number == Number(parameters[i - 1]))
        return Fail(parameters[i], StrCat("there must be one parameter ", number, ", there are two"));
      return Fail(parameters[i], StrCat("parameters must be numbered 0, 1, 2, ..., but there is no parameter ", i));
    }
    return true;
  }

  static int64_t Number(const Instruction* parameter) { return parameter->attributes<ParameterAttributes>().number; }

  bool Check(const Instruction& instruction, int64_t position) {
    for (const Instruction* operand : instruction.operands()) {
      if (!CheckBefore(instruction, *operand, position, "operand")) return false;
    }
    for (const Instruction* before : instruction.control_predecessors()) {
      if (!CheckBefore(instruction, *before, position, "control predecessor")) return false;
    }
    if (!instruction.shape().SizeFits())
      return Fail(&instruction, StrCat(instruction.shape().ToString(), " has more than 2^60 bytes"));
    if (!IsLayoutValid(instruction.shape())) {
      return Fail(&instruction, StrCat("the layout must name every dimension once, is ",
                                       instruction.shape().ToString(/*with_layout=*/true)));
    }
    const absl::Status status = CheckShape(instruction);
    return status.ok() || Fail(&instruction, std::string(status.message()));
  }

  bool CheckBefore(const Instruction& instruction, const Instruction& before, int64_t position, std::string_view role) {
    if (before.parent() != computation_) {
      return Fail(&instruction, StrCat(role, " `", before.name(), "` must be in the same computation"));
    }
    if (position_[before.id()] >= position)
      return Fail(&instruction, StrCat(role, " `", before.name(), "` depends on it: a cycle"));
    return true;
  }

  bool Fail(const Instruction* instruction, std::string message) {
    problem_ = {computation_, instruction, std::move(message)};
    return false;
  }

  const Module& module_;
  const Computation* computation_ = nullptr;
  std::vector<int64_t> position_;  // in the post order of its computation, by id
  Problem problem_;
};

}  // namespace

std::optional<Problem> FindProblem(const Module& module) { return Verifier(module).Find(); }

absl::Status VerifyModule(const Module& module) {
  const std::optional<Problem> problem = FindProblem(module);
  if (!problem) return absl::OkStatus();
  std::string where;
  if (problem->instruction != nullptr) {
    where = StrCat("`", problem->instruction->name(), "` in computation `", problem->computation->name(), "`: ");
  } else if (problem->computation != nullptr) {
    where = StrCat("computation `", problem->computation->name(), "`: ");
  }
  return absl::InvalidArgumentError(StrCat(where, problem->message));
}

}  // namespace smelt::hlo
