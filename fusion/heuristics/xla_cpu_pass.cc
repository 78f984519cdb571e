#include "fusion/heuristics/xla_cpu_pass.h"

#include <algorithm>
#include <queue>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "fusion/heuristics/xla_cpu_fused.h"
#include "fusion/heuristics/xla_cpu_rules.h"
#include "hlo/literal.h"

namespace smelt::fusion::xla_cpu {
namespace {

using hlo::Instruction;
using hlo::Opcode;

constexpr int kReductions = 5;
// Instructions that the search for paths between a producer and its users may visit, over the computation's size.
// Networks stay far below it.
constexpr int64_t kPathVisits = 64;

class Pass {
 public:
  explicit Pass(const hlo::Computation& computation) : root_(computation.root()) {
    const std::vector<Instruction*> order = computation.PostOrder();
    instructions_.assign(order.begin(), order.end());
    for (int32_t n = 0; n < Size(); ++n) number_[instructions_[n]] = n;
    users_.resize(instructions_.size());
    for (int32_t n = 0; n < Size(); ++n) {
      for (const Instruction* user : instructions_[n]->users()) users_[n].insert(number_.at(user));
    }
    fusion_of_.assign(instructions_.size(), -1);
  }

  std::vector<XlaKernel> Run() {
    FindUnfusible();
    removed_.assign(instructions_.size(), 0);
    for (int32_t n = Size() - 1; n >= 0; --n) {
      if (!removed_[n] && MayBeFused(*instructions_[n])) Visit(n);
    }
    std::vector<XlaKernel> result;
    for (int32_t n = 0; n < Size(); ++n) {
      if (removed_[n]) continue;
      if (!IsFusion(n)) fusions_.emplace_back(*instructions_[n]);
      result.push_back({(IsFusion(n) ? fusions_[fusion_of_[n]] : fusions_.back()).TakeCopies()});
    }
    return result;
  }

 private:
  int32_t Size() const { return static_cast<int32_t>(instructions_.size()); }

  // Takes producers into n until none is left that may be taken. A refused producer is asked for again when one of its
  // users comes in: only having fewer users turns a refusal.
  void Visit(int32_t n) {
    std::priority_queue<int32_t> candidates;
    for (const Instruction* operand : instructions_[n]->operands()) candidates.push(number_.at(operand));
    while (!candidates.empty()) {
      const int32_t producer = candidates.top();
      while (!candidates.empty() && candidates.top() == producer) candidates.pop();
      if (!users_[producer].contains(n) || !MayTake(producer, n)) continue;
      Take(producer, n);
      for (const Instruction* operand : instructions_[producer]->operands()) candidates.push(number_.at(operand));
    }
  }

  // Users are instructions, or the fusions that they became: both have the instruction's number.
  void Take(int32_t producer, int32_t consumer) {
    const Instruction& p = *instructions_[producer];
    if (fusion_of_[consumer] < 0) {
      fusion_of_[consumer] = static_cast<int32_t>(fusions_.size());
      fusions_.emplace_back(*instructions_[consumer]);
    }
    Fused& fusion = fusions_[fusion_of_[consumer]];
    const bool output_fusion = fusion.copy_count() == 1 && FusesAsOutput(producer, consumer);
    fusion.Take(p);
    fusion.set_output_fusion(output_fusion);
    users_[producer].erase(consumer);
    for (const Instruction* operand : p.operands()) users_[number_.at(operand)].insert(consumer);
    if (!users_[producer].empty()) return;
    removed_[producer] = 1;
    for (const Instruction* operand : p.operands()) users_[number_.at(operand)].erase(producer);
  }

  bool IsFusion(int32_t n) const { return fusion_of_[n] >= 0; }

  // A dot of a vector, followed by an addition that alone reads it, once.
  bool FusesAsOutput(int32_t producer, int32_t consumer) const {
    return !IsFusion(consumer) && AddsVectorDot(*instructions_[consumer], *instructions_[producer], producer);
  }
  bool AddsVectorDot(const Instruction& add, const Instruction& dot, int32_t d) const {
    return add.opcode() == Opcode::kAdd && IsVectorDot(dot) && users_[d].size() == 1 &&
           add.operand(0) != add.operand(1);
  }
  bool TakesVectorDot(const Instruction& add) const {
    if (add.opcode() != Opcode::kAdd) return false;
    return std::any_of(add.operands().begin(), add.operands().end(),
                       [&](const Instruction* dot) { return AddsVectorDot(add, *dot, number_.at(dot)); });
  }

  // Whether every user of the producer is the consumer.
  bool IsOnlyUser(int32_t producer, int32_t consumer) const {
    return users_[producer].size() == 1 && users_[producer].contains(consumer);
  }

  bool MayTake(int32_t producer, int32_t consumer) const {
    return MayBeFused(*instructions_[producer]) && !unfusible_[producer] && ShouldFuse(producer, consumer);
  }

  bool ShouldFuse(int32_t producer, int32_t consumer) const {
    const Instruction& p = *instructions_[producer];
    const Instruction& c = *instructions_[consumer];
    const Fused* fusion = IsFusion(consumer) ? &fusions_[fusion_of_[consumer]] : nullptr;
    const bool constant = p.opcode() == Opcode::kConstant;
    if (constant && !IsEffectiveScalar(p.shape())) return false;
    if (FusesAsOutput(producer, consumer)) return true;
    if (TakesVectorDot(p)) return false;
    if (!IsLoopFusible(p)) return false;
    if (IsCopyingConcatenate(p) || (fusion == nullptr && IsCopyingConcatenate(c))) return false;
    if (IsExpensive(p)) {
      const bool reused = fusion != nullptr ? fusion->Reuses(p) : OperandUse(c, p) == Use::kReuse;
      if (reused) return false;
    }
    if (&p == root_) return false;
    if (!IsOnlyUser(producer, consumer) && IsExpensive(p) && !IsAlwaysDuplicable(p)) return false;
    if (!KeepsUpdateInPlace(p, c, fusion)) return false;
    if (fusion != nullptr && p.opcode() == Opcode::kReduce && fusion->reductions() > kReductions) return false;
    if (constant && fusion == nullptr) return false;
    if (fusion != nullptr && DuplicatesTooMuch(producer, *fusion)) return false;
    if (fusion != nullptr) return !fusion->output_fusion();
    if (IsLoopFusible(c)) return true;
    for (int64_t i = 0; i < c.operand_count(); ++i) {
      if (c.operand(i) == &p && IsMatrixOfShortVectorDot(c, i)) return true;
    }
    return false;
  }

  bool DuplicatesTooMuch(int32_t producer, const Fused& fusion) const {
    const Instruction& p = *instructions_[producer];
    if (p.opcode() == Opcode::kBroadcast) return false;
    const int64_t evaluations = fusion.Evaluations(p);
    if (evaluations > kCodeDuplication) return true;
    if (!StartsBlocks(p)) return false;
    if (evaluations > 1) return true;
    if (users_[producer].size() > 1) return true;
    return fusion.HasSeveralReaders(p);
  }

  // A dynamic-update-slice at the root writes over its operand, which then must not be read in another place: neither
  // by a second operand, nor by work inside the fusion that moves elements.
  bool KeepsUpdateInPlace(const Instruction& p, const Instruction& c, const Fused* fusion) const {
    if (c.opcode() != Opcode::kDynamicUpdateSlice) return true;
    const Instruction* base = fusion == nullptr ? c.operand(0) : fusion->OperandOfRoot(0);
    if (base == nullptr) return true;  // an inner value is written, not an operand
    if (fusion == nullptr) {
      for (int64_t i = 1; i < c.operand_count(); ++i) {
        if (c.operand(i) == base) return false;
      }
    }
    const bool reads_base = std::find(p.operands().begin(), p.operands().end(), base) != p.operands().end();
    if (&p != base && !reads_base) return true;
    if (IsElementwise(p) || p.opcode() == Opcode::kBitcast)
      return fusion == nullptr || !fusion->MovesElementsOf(p, false);
    if (fusion != nullptr && fusion->updates() > 1) return false;
    return IsUpdatedSlice(p, c, fusion) && (fusion == nullptr || !fusion->MovesElementsOf(p, true));
  }

  // A slice of just what the update writes, as far as it can be seen: an index that is made inside is another one.
  static bool IsUpdatedSlice(const Instruction& slice, const Instruction& update, const Fused* fusion) {
    const bool dynamic = slice.opcode() == Opcode::kDynamicSlice;
    if (!dynamic && slice.opcode() != Opcode::kSlice) return false;
    if (!slice.shape().SameAs(update.operand(1)->shape())) return false;
    // Starts that are one vector are never seen to be equal.
    const auto has_scalar_starts = [&](const Instruction& x, int64_t first) {
      return x.operand_count() == first + update.shape().rank();
    };
    if (!has_scalar_starts(update, 2) || (dynamic && !has_scalar_starts(slice, 1))) return false;
    for (int64_t d = 0; d < update.shape().rank(); ++d) {
      const Instruction& start = *update.operand(2 + d);
      const bool constant = start.opcode() == Opcode::kConstant;
      if (dynamic) {
        const Instruction& other = *slice.operand(1 + d);
        const bool read = fusion == nullptr || !fusion->MakesOperandOfRoot(2 + d);
        const bool equal =
            (&start == &other && read) || (constant && other.opcode() == Opcode::kConstant &&
                                           start.literal().GetInteger(0) == other.literal().GetInteger(0));
        if (!equal) return false;
      } else {
        const hlo::SliceDimension& part = slice.attributes<hlo::SliceAttributes>().dimensions[d];
        if (!constant || start.literal().GetInteger(0) != part.start || part.stride != 1) return false;
      }
    }
    return true;
  }

  // Producers that stay out of every fusion: those whose inputs together outweigh their result, unless all their users
  // could take them along every path; and what a softmax subtracts its maximum from.
  void FindUnfusible() {
    unfusible_.assign(instructions_.size(), 0);
    int64_t visits = kPathVisits * Size();
    std::vector<int32_t> mark(instructions_.size(), -1);
    std::vector<uint8_t> broken(instructions_.size(), 0);
    for (int32_t n = Size() - 1; n >= 0; --n) {
      const Instruction& producer = *instructions_[n];
      if (IsEffectivelyUnary(producer) || !ReadsMoreThanItWrites(producer)) continue;
      unfusible_[n] = !MayBeFused(producer) || !FusesOnAllPaths(n, &visits, &mark, &broken);
    }
    for (int32_t n = 0; n < Size(); ++n) unfusible_[n] |= IsSoftmaxInput(*instructions_[n]);
  }

  // Walks from the producer down to its last user, in program order. A value is broken where some path to it has an
  // edge that does not fuse.
  bool FusesOnAllPaths(int32_t producer, int64_t* visits, std::vector<int32_t>* mark, std::vector<uint8_t>* broken) {
    const auto fuses = [&](int32_t p, int32_t c) {
      return MayBeFused(*instructions_[c]) && !(p != producer && unfusible_[p]) && ShouldFuse(p, c);
    };
    int32_t last = producer;
    for (int32_t user : users_[producer]) {
      if (!fuses(producer, user)) return false;
      last = std::max(last, user);
    }
    if (users_[producer].size() == 1) return true;
    std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> reached;
    const auto reach = [&](int32_t n, bool is_broken) {
      if (n > last) return;
      if ((*mark)[n] != producer) {
        (*mark)[n] = producer;
        (*broken)[n] = 0;
        reached.push(n);
      }
      (*broken)[n] |= is_broken;
    };
    for (int32_t user : users_[producer]) reach(user, false);
    while (!reached.empty()) {
      const int32_t n = reached.top();
      reached.pop();
      if ((*broken)[n] && users_[producer].contains(n)) return false;
      *visits -= 1 + static_cast<int64_t>(users_[n].size());
      if (*visits < 0) return false;
      for (int32_t user : users_[n]) {
        if (user <= last) reach(user, (*broken)[n] || !fuses(n, user));
      }
    }
    return true;
  }

  const Instruction* root_;
  std::vector<const Instruction*> instructions_;
  absl::flat_hash_map<const Instruction*, int32_t> number_;
  std::vector<absl::flat_hash_set<int32_t>> users_;
  std::vector<uint8_t> unfusible_;
  std::vector<uint8_t> removed_;
  std::vector<int32_t> fusion_of_;
  std::vector<Fused> fusions_;
};

}  // namespace

std::vector<XlaKernel> XlaCpuKernels(const hlo::Computation& computation) { return Pass(computation).Run(); }

}  // namespace smelt::fusion::xla_cpu
