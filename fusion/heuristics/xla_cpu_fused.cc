#include "fusion/heuristics/xla_cpu_fused.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "fusion/heuristics/xla_cpu_rules.h"

namespace smelt::fusion::xla_cpu {

using hlo::Instruction;
using hlo::Opcode;

Fused::Fused(const Instruction& root) {
  for (const Instruction* operand : root.operands()) {
    if (OperandUse(root, *operand) == Use::kReuse) reused_.insert(operand);
  }
  Add(root, {kWhole});
}

void Fused::Take(const Instruction& producer) {
  auto node = operands_.extract(&producer);
  Check(!node.empty(), "a producer is an operand of the fusion that takes it");
  const int32_t copy = static_cast<int32_t>(copies_.size());
  for (const auto& [reader, position] : node.mapped().readers) copies_[reader].makers[position] = copy;
  if (reused_.erase(&producer) > 0) {
    reused_.insert(producer.operands().begin(), producer.operands().end());
  } else {
    for (int64_t i = 0; i < producer.operand_count(); ++i) {
      if (OperandUse(producer, i) == Use::kReuse) reused_.insert(producer.operand(i));
    }
  }
  Add(producer, std::move(node.mapped().indexers));
}

void Fused::Add(const Instruction& instruction, Indexers indexers) {
  const int32_t copy = static_cast<int32_t>(copies_.size());
  copies_.push_back({&instruction, {}});
  copies_.back().makers.assign(instruction.operand_count(), -1);
  evaluations_.push_back(Evaluations(indexers));
  reductions_ += instruction.opcode() == Opcode::kReduce;
  updates_ += instruction.opcode() == Opcode::kDynamicUpdateSlice;
  for (int64_t i = 0; i < instruction.operand_count(); ++i) {
    const Instruction* operand = instruction.operand(i);
    Operand& known = operands_[operand];
    known.readers.push_back({copy, static_cast<int32_t>(i)});
    // Transposes permute the index, other changes of shape make another one.
    const bool same =
        instruction.opcode() == Opcode::kTranspose || SameIndexSpace(operand->shape(), instruction.shape());
    const auto insert = [&](int32_t indexer) {
      auto at = std::lower_bound(known.indexers.begin(), known.indexers.end(), indexer);
      if (at == known.indexers.end() || *at != indexer) known.indexers.insert(at, indexer);
    };
    if (same) {
      for (int32_t indexer : indexers) insert(indexer);
    } else {
      insert(copy);
    }
  }
  indexers_.push_back(std::move(indexers));
}

int64_t Fused::Evaluations(const Indexers& indexers) const {
  int64_t total = 0;
  for (int32_t indexer : indexers) {
    total += indexer == kWhole ? 1 : evaluations_[indexer];
    if (total > kCodeDuplication) return kCodeDuplication + 1;
  }
  return total;
}

int64_t Fused::Evaluations(const Instruction& operand) const { return Evaluations(operands_.at(&operand).indexers); }

bool Fused::HasSeveralReaders(const Instruction& operand) const {
  auto it = operands_.find(&operand);
  if (it == operands_.end()) return false;
  const auto& readers = it->second.readers;
  return std::any_of(readers.begin(), readers.end(), [&](const auto& r) { return r.first != readers[0].first; });
}

const Instruction* Fused::OperandOfRoot(int64_t operand) const {
  const int32_t maker = copies_[0].makers[operand];
  if (maker < 0) return copies_[0].instruction->operand(operand);
  const Copy& copy = copies_[maker];
  return copy.instruction->opcode() == Opcode::kBitcast && copy.makers[0] < 0 ? copy.instruction->operand(0) : nullptr;
}

bool Fused::MovesElementsOf(const Instruction& operand, bool bitcasts_move) const {
  // Readers come before what they make is read: copies are in order of taking, consumers first.
  std::vector<uint8_t> from(copies_.size());
  for (const auto& [reader, position] : operands_.at(&operand).readers) from[reader] = 1;
  for (int32_t copy = static_cast<int32_t>(copies_.size()) - 1; copy > 0; --copy) {
    for (int32_t maker : copies_[copy].makers) from[copy] |= maker >= 0 && from[maker];
    if (!from[copy]) continue;
    const Instruction& instruction = *copies_[copy].instruction;
    if (!IsElementwise(instruction) && (bitcasts_move || instruction.opcode() != Opcode::kBitcast)) return true;
  }
  return false;
}

}  // namespace smelt::fusion::xla_cpu
