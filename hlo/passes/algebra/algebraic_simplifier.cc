#include "hlo/passes/algebra/algebraic_simplifier.h"

#include <algorithm>
#include <array>
#include <deque>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/str_cat.h"
#include "hlo/passes/algebra/rule.h"

namespace smelt::hlo {
namespace {

using RuleTable = std::array<std::vector<Rule>, kOpcodeCount>;

std::vector<Rule> AllRules() {
  std::vector<Rule> rules;
  for (absl::Span<const Rule> group :
       {ArithmeticRules(), LogicRules(), ConvertRules(), ShapeRules(), MovementRules(), ReductionRules()}) {
    rules.insert(rules.end(), group.begin(), group.end());
  }
  return rules;
}

RuleTable ByOpcode(const std::vector<Rule>& rules) {
  RuleTable table;
  for (const Rule& rule : rules) table[static_cast<size_t>(rule.opcode)].push_back(rule);
  return table;
}

bool IsPlainArray(const Instruction& x) { return x.shape().IsArray() && !x.shape().IsDynamic(); }

class Simplification {
 public:
  Simplification(Computation& computation, const RuleTable& rules) : computation_(computation), rules_(rules) {}

  bool Run() {
    // Some rules look at more than an instruction and its operands: sweeps go on until one finds nothing.
    constexpr int kSweeps = 16;
    bool changed = false;
    rewrites_left_ = 16 * computation_.instruction_count() + 1024;
    for (int sweep = 0; sweep < kSweeps && Sweep(); ++sweep) changed = true;
    return changed;
  }

 private:
  bool Sweep() {
    alive_.clear();
    for (Instruction* instruction : computation_.PostOrder()) {
      alive_[instruction->id()] = instruction;
      Enqueue(instruction);
    }
    bool changed = false;
    while (!queue_.empty()) {
      const int64_t id = queue_.front();
      queue_.pop_front();
      queued_.erase(id);
      const auto it = alive_.find(id);
      if (it != alive_.end() && rewrites_left_ > 0) changed |= Rewrite(*it->second);
    }
    return changed;
  }

  void Enqueue(Instruction* instruction) {
    if (rules_[static_cast<size_t>(instruction->opcode())].empty()) return;
    if (queued_.insert(instruction->id()).second) queue_.push_back(instruction->id());
  }

  bool Rewrite(Instruction& x) {
    if (!IsPlainArray(x) || (x.user_count() == 0 && !x.IsRoot())) return false;
    if (x.HasControlEdges()) return false;
    for (const Instruction* operand : x.operands()) {
      if (!IsPlainArray(*operand)) return false;
    }
    for (const Rule& rule : rules_[static_cast<size_t>(x.opcode())]) {
      if (Apply(rule, x)) return true;
    }
    return false;
  }

  bool Apply(const Rule& rule, Instruction& x) {
    GraphBuilder build(x);
    Instruction* replacement = rule.apply(x, build);
    if (replacement == nullptr) return false;
    const std::vector<Instruction*>& added = build.added();
    if (std::find(added.begin(), added.end(), replacement) != added.end()) {
      replacement->shape().layout = x.shape().layout;
    }
    std::vector<int64_t> added_ids;
    for (Instruction* instruction : added) {
      alive_[instruction->id()] = instruction;
      added_ids.push_back(instruction->id());
    }
    const std::vector<Instruction*> users(x.users().begin(), x.users().end());
    const bool replaced = Replace(x, replacement);
    if (replaced) {
      --rewrites_left_;
      for (Instruction* instruction : added) Enqueue(instruction);
      Enqueue(replacement);
      for (Instruction* user : users) Enqueue(user);
      // What x read has one user less, which rules for single users wait for.
      for (Instruction* operand : x.operands()) Enqueue(operand);
      Remove(&x);
    }
    // What a rule added and nothing uses (all of it where the replacement was refused) goes again.
    for (auto id = added_ids.rbegin(); id != added_ids.rend(); ++id) {
      if (const auto it = alive_.find(*id); it != alive_.end()) Remove(it->second);
    }
    return replaced;
  }

  void Remove(Instruction* instruction) {
    std::vector<int64_t> removed;
    RemoveIfDead(instruction, &removed);
    for (int64_t id : removed) alive_.erase(id);
  }

  Computation& computation_;
  const RuleTable& rules_;
  absl::flat_hash_map<int64_t, Instruction*> alive_;
  std::deque<int64_t> queue_;
  absl::flat_hash_set<int64_t> queued_;
  int64_t rewrites_left_ = 0;
};

bool Simplify(Module& module, const RuleTable& rules) {
  bool changed = false;
  for (Computation* computation : module.Computations()) changed |= Simplification(*computation, rules).Run();
  return changed;
}

}  // namespace

absl::StatusOr<bool> SimplifyAlgebra(Module& module) {
  static const auto* const rules = new RuleTable(ByOpcode(AllRules()));
  return Simplify(module, *rules);
}

absl::StatusOr<bool> ApplyAlgebraicRule(Module& module, std::string_view rule) {
  std::vector<Rule> rules = AllRules();
  std::erase_if(rules, [&](const Rule& candidate) { return candidate.name != rule; });
  if (rules.empty()) return absl::InvalidArgumentError(StrCat("there is no algebraic rule `", rule, "`"));
  return Simplify(module, ByOpcode(rules));
}

std::vector<std::string> AlgebraicRuleNames() {
  std::vector<std::string> names;
  for (const Rule& rule : AllRules()) {
    if (names.empty() || names.back() != rule.name) names.emplace_back(rule.name);
  }
  return names;
}

}  // namespace smelt::hlo
