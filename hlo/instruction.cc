#include "hlo/instruction.h"

#include <algorithm>

#include "hlo/computation.h"

namespace smelt::hlo {

bool Instruction::IsRoot() const { return parent_->root() == this; }

bool Instruction::HasSideEffect() const {
  if (HasFlag(opcode_, kSideEffect)) return true;
  if (opcode_ == Opcode::kCustomCall && attributes<CustomCallAttributes>().has_side_effect) return true;
  if (!HasFlag(opcode_, kCalls)) return false;
  for (Computation* computation : called_) {
    for (Instruction* instruction : computation->Instructions()) {
      if (instruction->HasSideEffect()) return true;
    }
  }
  return false;
}

void Instruction::AddControlPredecessor(Instruction* predecessor) {
  if (std::find(control_predecessors_.begin(), control_predecessors_.end(), predecessor) != control_predecessors_.end())
    return;
  control_predecessors_.push_back(predecessor);
  predecessor->control_successors_.push_back(this);
}

void Instruction::DropControlDependencies() {
  for (Instruction* p : control_predecessors_) std::erase(p->control_successors_, this);
  for (Instruction* s : control_successors_) std::erase(s->control_predecessors_, this);
  control_predecessors_.clear();
  control_successors_.clear();
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
  std::vector<Instruction*> users = std::move(users_);
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
