#include "hlo/instruction.h"

#include <algorithm>

#include "hlo/computation.h"

namespace smelt::hlo {

bool Instruction::IsRoot() const { return parent_->root() == this; }

bool Instruction::HasSideEffect() const {
  if (HasFlag(opcode_, kSideEffect)) return true;
  if (opcode_ == Opcode::kCustomCall && attributes<CustomCallAttributes>().has_side_effect) return true;
  if (!HasFlag(opcode_, kCalls)) return false;
  for (Computation* computation : called()) {
    for (Instruction* instruction : computation->Instructions()) {
      if (instruction->HasSideEffect()) return true;
    }
  }
  return false;
}

const Instruction::Rare& Instruction::NoRare() {
  static const Rare none;
  return none;
}

Instruction::Rare& Instruction::mutable_rare() {
  if (rare_ == nullptr) rare_ = std::make_unique<Rare>();
  return *rare_;
}

void Instruction::set_called(std::vector<Computation*> called) {
  if (called.empty() && rare_ == nullptr) return;
  mutable_rare().called = std::move(called);
}

void Instruction::AddControlPredecessor(Instruction* predecessor) {
  const absl::Span<Instruction* const> before = control_predecessors();
  if (std::find(before.begin(), before.end(), predecessor) != before.end()) return;
  mutable_rare().control_predecessors.push_back(predecessor);
  predecessor->mutable_rare().control_successors.push_back(this);
}

void Instruction::DropControlDependencies() {
  if (rare_ == nullptr) return;
  for (Instruction* p : rare_->control_predecessors) std::erase(p->rare_->control_successors, this);
  for (Instruction* s : rare_->control_successors) std::erase(s->rare_->control_predecessors, this);
  rare_->control_predecessors.clear();
  rare_->control_successors.clear();
}

void Instruction::AddUser(Instruction* user) {
  // Operands of one instruction are added one after the other, so the last entry is the only place where it can already
  // be.
  if (!users_.empty() && users_.back() == user) return;
  if (users_.size() < 16 && std::find(users_.begin(), users_.end(), user) != users_.end()) return;
  if (users_.size() >= 16) {
    const auto& ops = user->operands_;
    // Long lists are searched only if the user reads this more than once.
    if (std::count(ops.begin(), ops.end(), this) > 1 && std::find(users_.begin(), users_.end(), user) != users_.end())
      return;
  }
  users_.push_back(user);
}

void Instruction::DropUser(Instruction* user) {
  if (std::find(user->operands_.begin(), user->operands_.end(), this) != user->operands_.end()) return;
  auto it = std::find(users_.begin(), users_.end(), user);
  if (it != users_.end()) users_.erase(it);
}

void Instruction::ReplaceOperand(int64_t i, Instruction* operand) {
  Instruction* old = operands_[i];
  if (old == operand) return;
  operands_[i] = operand;
  old->DropUser(this);
  operand->AddUser(this);
}

void Instruction::ReplaceUsesIn(Instruction* user, Instruction* replacement) {
  for (int64_t i = 0; i < user->operand_count(); ++i) {
    if (user->operands_[i] == this) user->ReplaceOperand(i, replacement);
  }
}

void Instruction::ReplaceAllUsesWith(Instruction* replacement) {
  if (replacement == this) return;
  const std::vector<Instruction*> users(users_.begin(), users_.end());
  users_.clear();
  for (Instruction* user : users) {
    if (user == replacement) {  // the replacement may read what it replaces
      users_.push_back(user);
      continue;
    }
    for (Instruction*& operand : user->operands_) {
      if (operand == this) operand = replacement;
    }
    replacement->AddUser(user);
  }
  if (IsRoot()) parent_->set_root(replacement);
}

}  // namespace smelt::hlo
