#include "fusion/unfuse.h"

#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "fusion/legality.h"

namespace smelt::fusion {
namespace {

using hlo::Instruction;
using hlo::Opcode;

absl::Status CheckFusion(const Instruction& fusion) {
  if (fusion.called().size() != 1 || fusion.called(0)->root() == nullptr) {
    return absl::InvalidArgumentError(StrCat("fusion `", fusion.name(), "` has no computation"));
  }
  return absl::OkStatus();
}

// Replaces a fusion by copies of its computation's instructions. Nested fusions come out as fusions.
absl::Status Inline(Instruction* fusion, std::vector<Instruction*>* copies) {
  hlo::Computation* computation = fusion->parent();
  absl::flat_hash_map<const Instruction*, Instruction*> copy_of;
  for (const Instruction* instruction : fusion->called(0)->PostOrder()) {
    if (instruction->opcode() == Opcode::kParameter) {
      const int64_t number = instruction->attributes<hlo::ParameterAttributes>().number;
      if (number < 0 || number >= fusion->operand_count()) {
        return absl::InvalidArgumentError(
            StrCat("the computation of fusion `", fusion->name(), "` has a parameter that the fusion does not pass"));
      }
      copy_of[instruction] = fusion->operand(number);
      continue;
    }
    std::vector<Instruction*> operands;
    for (const Instruction* operand : instruction->operands()) operands.push_back(copy_of.at(operand));
    Instruction* copy = computation->AddClone(*instruction, std::move(operands));
    copy_of[instruction] = copy;
    copies->push_back(copy);
  }
  Instruction* result = copy_of.at(fusion->called(0)->root());
  for (Instruction* predecessor : fusion->control_predecessors()) result->AddControlPredecessor(predecessor);
  for (Instruction* successor : fusion->control_successors()) successor->AddControlPredecessor(result);
  if (result->opcode() == Opcode::kTuple) {
    const std::vector<Instruction*> users(fusion->users().begin(), fusion->users().end());
    for (Instruction* user : users) {
      if (user->opcode() != Opcode::kGetTupleElement || user->IsRoot()) continue;
      const int64_t index = user->attributes<hlo::TupleIndexAttributes>().index;
      user->ReplaceAllUsesWith(result->operand(index));
      if (!user->HasControlEdges()) computation->Remove(user);
    }
  }
  fusion->ReplaceAllUsesWith(result);
  computation->Remove(fusion);
  return absl::OkStatus();
}

// Removes those of `bodies` that nothing calls any more, and then those that only they called.
void RemoveUncalled(std::vector<hlo::Computation*> bodies, hlo::Module* module) {
  absl::flat_hash_map<const hlo::Computation*, int64_t> calls;
  for (const hlo::Computation* computation : module->Computations()) {
    for (const Instruction* instruction : computation->Instructions()) {
      for (const hlo::Computation* called : instruction->called()) ++calls[called];
    }
  }
  const absl::flat_hash_set<const hlo::Computation*> candidates(bodies.begin(), bodies.end());
  absl::flat_hash_set<const hlo::Computation*> removed;
  while (!bodies.empty()) {
    hlo::Computation* body = bodies.back();
    bodies.pop_back();
    if (calls[body] > 0 || !removed.insert(body).second) continue;
    for (const Instruction* instruction : body->Instructions()) {
      for (hlo::Computation* called : instruction->called()) {
        if (--calls[called] == 0 && candidates.contains(called)) bodies.push_back(called);
      }
    }
    module->RemoveComputation(body);
  }
}

}  // namespace

absl::StatusOr<Unfused> Unfuse(const hlo::Module& module) {
  Unfused unfused;
  unfused.module = module.Clone();
  std::vector<hlo::Computation*> bodies;
  for (hlo::Computation* computation : unfused.module->ExecutedComputations()) {
    struct Open {
      Instruction* fusion;
      int32_t number;
    };
    std::vector<Open> open;
    for (Instruction* instruction : computation->PostOrder()) {
      if (instruction->opcode() == Opcode::kFusion) open.push_back({instruction, unfused.fusions++});
    }
    while (!open.empty()) {
      const auto [fusion, number] = open.back();
      open.pop_back();
      SMELT_RETURN_IF_ERROR(CheckFusion(*fusion));
      bodies.push_back(fusion->called(0));
      std::vector<Instruction*> copies;
      SMELT_RETURN_IF_ERROR(Inline(fusion, &copies));
      for (Instruction* copy : copies) {
        if (copy->opcode() == Opcode::kFusion) {
          open.push_back({copy, number});
        } else if (copy->opcode() != Opcode::kTuple) {
          unfused.fusion_of[copy] = number;
        }
      }
    }
    // Tuples of fusions whose elements are read directly now.
    for (Instruction* instruction : computation->Instructions()) {
      if (instruction->opcode() == Opcode::kTuple && instruction->users().empty() && !instruction->IsRoot() &&
          !instruction->HasControlEdges()) {
        computation->Remove(instruction);
      }
    }
  }
  RemoveUncalled(std::move(bodies), unfused.module.get());
  return unfused;
}

Config GivenFusion(const Space& space, const Unfused& unfused) {
  Config config(space.size());
  const auto fusion_of = [&](const Instruction* instruction) {
    auto it = unfused.fusion_of.find(instruction);
    return it == unfused.fusion_of.end() ? -1 : it->second;
  };
  for (int64_t d = 0; d < space.size(); ++d) {
    const int32_t first = fusion_of(&space.first(d));
    if (first < 0) continue;
    // A share that has nothing to share is dropped by legalisation.
    const bool set = space.second(d) == nullptr || first == fusion_of(space.second(d));
    config.Set(d, set);
  }
  return Legalize(space, config);
}

}  // namespace smelt::fusion
