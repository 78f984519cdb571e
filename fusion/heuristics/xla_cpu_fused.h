// A fusion as XLA's pass for CPUs grows it: copies of instructions, and what the rules want to know of them.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "fusion/heuristics/xla_cpu_pass.h"
#include "hlo/instruction.h"

namespace smelt::fusion::xla_cpu {

// Copies of an instruction's code that a fusion may come to hold.
inline constexpr int64_t kCodeDuplication = 15;

class Fused {
 public:
  explicit Fused(const hlo::Instruction& root);

  // The producer must be an operand: something inside reads it from memory. Everything that does gets the copy.
  void Take(const hlo::Instruction& producer);

  int64_t copy_count() const { return static_cast<int64_t>(copies_.size()); }
  int reductions() const { return reductions_; }
  int updates() const { return updates_; }  // dynamic-update-slices
  // Whether the fusion is a dot with an addition, which takes nothing more.
  bool output_fusion() const { return output_fusion_; }
  void set_output_fusion(bool output_fusion) { output_fusion_ = output_fusion; }

  // Whether an operand is reused, by XLA's estimate: an operand of a producer that was reused is reused, two ways of
  // using an operand that came one after the other are not added up.
  bool Reuses(const hlo::Instruction& operand) const { return reused_.contains(&operand); }
  // How many copies of the operand's code the loop would hold: one for each index at which it is read. Not counted
  // beyond kCodeDuplication + 1.
  int64_t Evaluations(const hlo::Instruction& operand) const;
  bool HasSeveralReaders(const hlo::Instruction& operand) const;
  // Whether work other than the root's moves elements that come from the operand. XLA itself counts bitcasts in one
  // place and not in another: `bitcasts_move` says which.
  bool MovesElementsOf(const hlo::Instruction& operand, bool bitcasts_move) const;

  bool MakesOperandOfRoot(int64_t operand) const { return copies_[0].makers[operand] >= 0; }
  // What the root's operand is, through one bitcast inside, if that is read from memory; null if it is made inside.
  const hlo::Instruction* OperandOfRoot(int64_t operand) const;

  std::vector<Copy> TakeCopies() { return std::move(copies_); }

 private:
  // What indexes a value: copies that derive an index of their own, and kWhole, the loop over the fusion's result.
  static constexpr int32_t kWhole = -1;
  using Indexers = absl::InlinedVector<int32_t, 2>;
  struct Operand {
    absl::InlinedVector<std::pair<int32_t, int32_t>, 2> readers;  // copy, position
    Indexers indexers;
  };

  void Add(const hlo::Instruction& instruction, Indexers indexers);
  int64_t Evaluations(const Indexers& indexers) const;

  std::vector<Copy> copies_;
  std::vector<Indexers> indexers_;    // by copy
  std::vector<int64_t> evaluations_;  // by copy
  absl::flat_hash_map<const hlo::Instruction*, Operand> operands_;
  absl::flat_hash_set<const hlo::Instruction*> reused_;
  int reductions_ = 0;
  int updates_ = 0;
  bool output_fusion_ = false;
};

}  // namespace smelt::fusion::xla_cpu
