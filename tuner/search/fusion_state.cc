#include "tuner/search/fusion_state.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace smelt::tuner {

absl::StatusOr<std::unique_ptr<FusionState>> FusionState::Create(const fusion::Space& space,
                                                                 const fusion::Config& start,
                                                                 const ComputationCounts& counts, KernelCosts& costs) {
  std::unique_ptr<FusionState> state(new FusionState(space, start, counts, costs));
  SMELT_ASSIGN_OR_RETURN(state->cost_, state->SecondsOf(state->evaluator_.Kernels()));
  return state;
}

double FusionState::ExecutionsOf(const fusion::KernelRef& kernel) const {
  auto count = counts_.find(kernel.computation);
  return count == counts_.end() ? 1 : count->second;
}

std::vector<WeightedKernel> FusionState::Kernels() const {
  std::vector<WeightedKernel> kernels;
  for (const fusion::KernelRef& kernel : evaluator_.Kernels()) kernels.push_back({kernel.hash, ExecutionsOf(kernel)});
  return kernels;
}

absl::StatusOr<double> FusionState::SecondsOf(absl::Span<const fusion::KernelRef> kernels) {
  // The order is the kernels' own, whatever was known before: sums in another order round otherwise, and a search that
  // meets ties would go another way.
  double sum = 0;
  std::vector<const fusion::KernelRef*> unknown;
  for (const fusion::KernelRef& kernel : kernels) {
    auto known = seconds_.find(kernel.hash);
    if (known == seconds_.end()) {
      const std::optional<double> seconds = costs_.Find(kernel.hash);
      if (!seconds) {
        unknown.push_back(&kernel);
        continue;
      }
      known = seconds_.emplace(kernel.hash, *seconds).first;
    }
    sum += known->second * ExecutionsOf(kernel);
  }
  if (unknown.empty()) return sum;
  SMELT_RETURN_IF_ERROR(Predict(unknown));
  sum = 0;
  for (const fusion::KernelRef& kernel : kernels) sum += seconds_.find(kernel.hash)->second * ExecutionsOf(kernel);
  return sum;
}

absl::Status FusionState::Predict(const std::vector<const fusion::KernelRef*>& unknown) {
  std::vector<fusion::Kernel> modules;
  for (const fusion::KernelRef* kernel : unknown) modules.push_back(evaluator_.KernelFor(*kernel));
  std::vector<const fusion::Kernel*> pointers;
  for (const fusion::Kernel& kernel : modules) pointers.push_back(&kernel);
  SMELT_RETURN_IF_ERROR(costs_.Predict(pointers));
  predicted_ += static_cast<int64_t>(unknown.size());
  for (const fusion::KernelRef* kernel : unknown) seconds_.emplace(kernel->hash, costs_.Find(kernel->hash).value_or(0));
  return absl::OkStatus();
}

fusion::Move ProposeMove(const fusion::Space& space, Random& random) {
  const uint64_t kind = random() % 16;
  const int32_t decision = static_cast<int32_t>(random() % static_cast<uint64_t>(space.size()));
  if (kind < 11) return fusion::FlipMove(decision);
  if (kind < 14) return fusion::ProducerMove(space, space.decision(decision).first, random() % 2 == 0);
  return fusion::PatternMove(space, space.PatternOf(decision), random() % 2 == 0);
}

absl::StatusOr<double> FusionState::Mutate(Random& random, bool* changed) {
  if (space_.size() > 0) return Make(ProposeMove(space_, random), changed);
  *changed = false;
  return cost_;
}

int64_t FusionState::steps() {
  if (!std::exchange(joint_moves_made_, true)) {
    std::vector<bool> seen(space_.graph().nodes().size());
    for (int64_t d = 0; d < space_.size(); ++d) {
      const int32_t producer = space_.decision(d).first;
      if (seen[producer] || space_.EdgesOf(producer).size() < 2) continue;
      seen[producer] = true;
      for (const bool fuse : {true, false}) joint_moves_.push_back(ProducerMove(space_, producer, fuse));
    }
    for (int32_t pattern = 0; pattern < space_.pattern_count(); ++pattern) {
      if (space_.Pattern(pattern).size() < 2) continue;
      for (const bool value : {true, false}) joint_moves_.push_back(PatternMove(space_, pattern, value));
    }
  }
  return space_.size() + static_cast<int64_t>(joint_moves_.size());
}

absl::StatusOr<double> FusionState::Step(int64_t step, bool* changed) {
  if (step < space_.size()) return Make(fusion::FlipMove(static_cast<int32_t>(step)), changed);
  return Make(joint_moves_[static_cast<size_t>(step - space_.size())], changed);
}

absl::StatusOr<double> FusionState::Make(const fusion::Move& move, bool* changed) {
  cost_before_ = cost_;
  evaluator_.Apply(move);
  *changed = evaluator_.changed();
  if (!*changed) return cost_;
  SMELT_ASSIGN_OR_RETURN(const double added, SecondsOf(evaluator_.added()));
  double removed = 0;
  for (const fusion::KernelRef& kernel : evaluator_.removed())
    removed += seconds_.find(kernel.hash)->second * ExecutionsOf(kernel);
  cost_ = cost_ + added - removed;
  return cost_;
}

void FusionState::Undo() {
  evaluator_.Undo();
  cost_ = cost_before_;
}

std::string FusionState::Snapshot() const { return ConfigText(evaluator_.config()); }

std::string ConfigText(const fusion::Config& config) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (int64_t i = 0; i < config.size(); i += 4) {
    int digit = 0;
    for (int64_t j = 0; j < 4 && i + j < config.size(); ++j) digit |= config.Get(i + j) << j;
    text += kDigits[digit];
  }
  return text;
}

absl::StatusOr<fusion::Config> ConfigFromText(const std::string& text, int64_t size) {
  if (static_cast<int64_t>(text.size()) != (size + 3) / 4) {
    return absl::InvalidArgumentError(absl::StrCat("a configuration of ", size, " decisions has ", (size + 3) / 4,
                                                   " digits, this one has ", text.size()));
  }
  fusion::Config config(size);
  for (int64_t i = 0; i < size; ++i) {
    const char c = text[static_cast<size_t>(i / 4)];
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0)
      return absl::InvalidArgumentError(
          absl::StrCat("`", std::string(1, c), "` is no hexadecimal digit of a configuration"));
    config.Set(i, digit >> (i % 4) & 1);
  }
  return config;
}

}  // namespace smelt::tuner
