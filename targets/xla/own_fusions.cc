#include "targets/xla/own_fusions.h"

#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/status_macros.h"
#include "fusion/instruction_hash.h"
#include "fusion/legality.h"
#include "fusion/unfuse.h"
#include "targets/xla/loop_rules.h"

namespace smelt::xla {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using Values = absl::flat_hash_map<const Instruction*, Hash128>;

// Bodies and branches may be fused in one module and not in the other: their places among those that run stand for
// them.
bool CallsExecuted(Opcode opcode) {
  return opcode == Opcode::kWhile || opcode == Opcode::kConditional || opcode == Opcode::kCall ||
         opcode == Opcode::kAsyncStart;
}

// What every instruction computes.
Values ValuesOf(const hlo::Module& module) {
  Values values;
  fusion::InstructionHasher local(/*layouts=*/true);
  absl::flat_hash_map<const hlo::Computation*, int64_t> places;
  for (const hlo::Computation* computation : module.ExecutedComputations()) {
    places.emplace(computation, static_cast<int64_t>(places.size()));
    for (const Instruction* instruction : computation->PostOrder()) {
      Hasher hasher;
      if (instruction->opcode() == Opcode::kParameter) {
        hasher.Add(places.at(computation));
        hasher.Add(instruction->attributes<hlo::ParameterAttributes>().number);
      } else if (KeepsValueFromOverwriting(*instruction)) {
        const Hash128 value = values.at(instruction->operand(0));  // a copy: a new entry moves the others
        values[instruction] = value;
        continue;
      } else if (instruction->opcode() == Opcode::kBitcast) {
        // However many in a row: what counts is what they start from.
        const Instruction* from = instruction->operand(0);
        while (from->opcode() == Opcode::kBitcast) from = from->operand(0);
        values[instruction] = from->shape() == instruction->shape()
                                  ? values.at(from)
                                  : hasher.Add("bitcast")
                                        .Add(instruction->shape().ToString(/*with_layout=*/true))
                                        .Add(values.at(from))
                                        .Finish();
        continue;
      } else if (CallsExecuted(instruction->opcode())) {
        hasher.Add(hlo::OpcodeName(instruction->opcode()));
        for (const hlo::Computation* called : instruction->called()) hasher.Add(places.at(called));
      } else {
        hasher.Add(local.Local(*instruction));
      }
      for (const Instruction* operand : instruction->operands()) hasher.Add(values.at(operand));
      values[instruction] = hasher.Finish();
    }
  }
  return values;
}

}  // namespace

absl::StatusOr<fusion::Config> OwnFusions(const fusion::Space& space, const hlo::Module& fused_by_xla,
                                          OwnFusionsReport* report) {
  SMELT_ASSIGN_OR_RETURN(const fusion::Unfused apart, fusion::Unfuse(fused_by_xla));
  const Values theirs = ValuesOf(*apart.module), ours = ValuesOf(space.module());
  absl::flat_hash_map<Hash128, std::set<int32_t>> fusions_of;  // of XLA's, by value
  std::vector<std::vector<Hash128>> members(static_cast<size_t>(apart.fusions));
  for (const auto& [instruction, fusion] : apart.fusion_of) {
    const auto value = theirs.find(instruction);
    if (value == theirs.end() || instruction->opcode() == Opcode::kConstant) continue;
    fusions_of[value->second].insert(fusion);
    members[fusion].push_back(value->second);
  }
  fusion::Config config(space.size());
  for (int64_t d = 0; d < space.edge_count(); ++d) {
    const auto producer = fusions_of.find(ours.at(&space.first(d)));
    const auto consumer = fusions_of.find(ours.at(space.second(d)));
    if (producer == fusions_of.end() || consumer == fusions_of.end()) continue;
    for (int32_t fusion : producer->second) {
      if (!consumer->second.contains(fusion)) continue;
      config.Set(d, true);
      break;
    }
  }
  if (report != nullptr) {
    report->edges = config.Count();
    absl::flat_hash_set<Hash128> known;
    for (const auto& [instruction, value] : ours) known.insert(value);
    for (const std::vector<Hash128>& fusion : members) {
      if (fusion.size() < 2) continue;
      ++report->fusions;
      bool all = true;
      for (const Hash128& value : fusion) all &= known.contains(value);
      report->found += all;
    }
  }
  std::vector<fusion::Dropped> dropped;
  fusion::Config legal = fusion::Legalize(space, config, &dropped);
  if (report != nullptr) {
    for (const fusion::Dropped& drop : dropped) ++report->refused[std::string(fusion::Describe(drop.reason).code)];
  }
  return legal;
}

}  // namespace smelt::xla
