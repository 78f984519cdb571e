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
    const std::vector<Computation*> callees_first = module_.PostOrder();
    if (std::optional<Problem> problem = FindNestingProblem(callees_first)) return problem;
    for (const Computation* computation : callees_first) {
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
    // Texts have operands first; what was built in another order is put in order.
    std::vector<Instruction*> order = computation.Instructions();
    if (!Place(order)) {
      order = computation.PostOrder();
      Place(order);
    }
    std::vector<const Instruction*> parameters;
    for (const Instruction* instruction : order) {
      if (instruction->opcode() == Opcode::kParameter) parameters.push_back(instruction);
    }
    if (computation.root() == nullptr || computation.root()->parent() != &computation) {
      return Fail(nullptr, "a computation must have a root among its instructions");
    }
    if (!CheckParameters(std::move(parameters))) return false;
    for (size_t i = 0; i < order.size(); ++i) {
      if (!Check(*order[i], static_cast<int64_t>(i))) return false;
    }
    return true;
  }

  // Notes where each instruction stands. False when one stands before what it needs.
  bool Place(absl::Span<Instruction* const> order) {
    bool in_order = true;
    for (size_t i = 0; i < order.size(); ++i) {
      const int64_t id = order[i]->id();
      if (static_cast<int64_t>(position_.size()) <= id) position_.resize(2 * id + 64, kNowhere);
      for (const absl::Span<Instruction* const> needed : {order[i]->operands(), order[i]->control_predecessors()}) {
        for (const Instruction* before : needed) {
          const int64_t other = before->id();
          in_order &= other < static_cast<int64_t>(position_.size()) && position_[other] != kNowhere;
        }
      }
      position_[id] = static_cast<int64_t>(i);
    }
    return in_order;
  }

  // The numbers must be 0, 1, 2, ..., each once.
  bool CheckParameters(std::vector<const Instruction*> parameters) {
    for (const Instruction* parameter : parameters) {
      if (!std::holds_alternative<ParameterAttributes>(parameter->all_attributes()))
        return Fail(parameter, "a parameter must have a number");
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
  static constexpr int64_t kNowhere = -1;
  std::vector<int64_t> position_;  // in the order of its computation, by id
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
