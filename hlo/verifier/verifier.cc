#include "hlo/verifier/verifier.h"

#include <algorithm>

#include "base/str_cat.h"
#include "hlo/shape_inference/shape_inference.h"
#include "hlo/verifier/header.h"
#include "hlo/verifier/nesting.h"

namespace smelt::hlo {
namespace {

// minor_to_major must name every dimension once.
bool IsLayoutValid(const Shape& shape) {
  for (const Shape& element : shape.tuple_shapes) {
    if (!IsLayoutValid(element)) return false;
  }
  return !shape.layout || shape.layout->OrdersDimensions(shape.rank());
}

class Verifier {
 public:
  explicit Verifier(const Module& module) : module_(module) {}

  std::optional<Problem> Find() {
    if (module_.entry() == nullptr) return Problem{nullptr, nullptr, "the module must have an entry computation"};
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
    if (computation.root() == nullptr || computation.root()->parent() != &computation) {
      return Fail(nullptr, "a computation must have a root among its instructions");
    }
    const std::vector<Instruction*> order = computation.Instructions();
    Outcome outcome = CheckInstructions(order, /*sorted=*/false);
    // Texts have operands first; what was built in another order is put in order.
    if (outcome == Outcome::kOutOfOrder) outcome = CheckInstructions(computation.PostOrder(), /*sorted=*/true);
    if (outcome == Outcome::kBad) CollectParameters(order);  // the pass has not met them all
    // Wrong numbers may be the cause of what else is wrong.
    return CheckParameters() && outcome == Outcome::kGood;
  }

  void CollectParameters(absl::Span<Instruction* const> instructions) {
    parameters_.clear();
    for (const Instruction* instruction : instructions) {
      if (instruction->opcode() == Opcode::kParameter) parameters_.push_back(instruction);
    }
  }

  // The numbers must be 0, 1, 2, ..., each once.
  bool CheckParameters() {
    for (const Instruction* parameter : parameters_) {
      if (!std::holds_alternative<ParameterAttributes>(parameter->all_attributes()))
        return Fail(parameter, "a parameter must have a number");
    }
    std::sort(parameters_.begin(), parameters_.end(),
              [](const Instruction* a, const Instruction* b) { return Number(a) < Number(b); });
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const int64_t number = Number(parameters_[i]);
      if (number == static_cast<int64_t>(i)) continue;
      if (i > 0 && number == Number(parameters_[i - 1]))
        return Fail(parameters_[i], StrCat("there must be one parameter ", number, ", there are two"));
      return Fail(parameters_[i], StrCat("parameters must be numbered 0, 1, 2, ..., but there is no parameter ", i));
    }
    return true;
  }

  static int64_t Number(const Instruction* parameter) { return parameter->attributes<ParameterAttributes>().number; }

  enum class Outcome : uint8_t { kGood, kBad, kOutOfOrder };

  // One walk for everything, as a large module's walks wait for memory. In a sorted order, what stands before its
  // operands is on a cycle.
  Outcome CheckInstructions(absl::Span<Instruction* const> order, bool sorted) {
    ++walk_;
    nesting_.Enter(*computation_);
    parameters_.clear();
    for (const Instruction* instruction : order) {
      for (const auto& [needed, role] : {std::pair(instruction->operands(), "operand"),
                                         std::pair(instruction->control_predecessors(), "control predecessor")}) {
        for (const Instruction* before : needed) {
          if (before->parent() != computation_) {
            Fail(instruction, StrCat(role, " `", before->name(), "` must be in the same computation"));
            return Outcome::kBad;
          }
          if (Walk(before->id()) == walk_) continue;
          if (!sorted) return Outcome::kOutOfOrder;
          Fail(instruction, StrCat(role, " `", before->name(), "` depends on it: a cycle"));
          return Outcome::kBad;
        }
      }
      Walk(instruction->id()) = walk_;
      if (instruction->opcode() == Opcode::kParameter) parameters_.push_back(instruction);
      if (!Check(*instruction)) return Outcome::kBad;
    }
    return Outcome::kGood;
  }

  // The last walk that met the instruction of this id.
  int64_t& Walk(int64_t id) {
    if (static_cast<int64_t>(walks_.size()) <= id) walks_.resize(2 * id + 64, 0);
    return walks_[id];
  }

  bool Check(const Instruction& instruction) {
    if (std::optional<Problem> problem = nesting_.Check(instruction)) {
      problem_ = *std::move(problem);
      return false;
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

  bool Fail(const Instruction* instruction, std::string message) {
    problem_ = {computation_, instruction, std::move(message)};
    return false;
  }

  const Module& module_;
  const Computation* computation_ = nullptr;
  NestingCheck nesting_;
  std::vector<const Instruction*> parameters_;  // of the computation
  int64_t walk_ = 0;
  std::vector<int64_t> walks_;  // by id
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
