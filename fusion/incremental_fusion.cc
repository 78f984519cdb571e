#include "fusion/incremental_fusion.h"

#include "fusion/kernel_build.h"

namespace smelt::fusion {

Move FlipMove(int32_t decision) { return {Move::Action::kFlip, {decision}}; }

Move ProducerMove(const Space& space, int32_t producer, bool fuse) {
  const std::vector<int32_t> edges = space.EdgesOf(producer);
  return {fuse ? Move::Action::kSet : Move::Action::kClear, {edges.begin(), edges.end()}};
}

Move PatternMove(const Space& space, int32_t pattern, bool value) {
  const auto decisions = space.Pattern(pattern);
  return {value ? Move::Action::kSet : Move::Action::kClear, {decisions.begin(), decisions.end()}};
}

IncrementalFusion::IncrementalFusion(const Space& space, const Config& start) : partition_(space) {
  for (int32_t d = 0; d < start.size(); ++d) {
    if (start.Get(d)) flips_.push_back(d);
  }
  partition_.Change(flips_);
  config_before_ = config().Hash();
}

KernelRef IncrementalFusion::Ref(int32_t slot) const {
  const KernelSlot& kernel = partition_.kernel(slot);
  const Node& node = space().graph().node(kernel.outputs[0]);
  return {kernel.hash, slot, space().graph().computations()[node.computation]};
}

void IncrementalFusion::Apply(const Move& move) {
  config_before_ = config().Hash();
  flips_.clear();
  for (int32_t d : move.decisions) {
    const bool is_set = config().Get(d);
    if (move.action == Move::Action::kFlip || is_set != (move.action == Move::Action::kSet)) flips_.push_back(d);
  }
  partition_.Change(flips_);
  removed_.clear();
  added_.clear();
  for (int32_t slot : partition_.removed()) removed_.push_back(Ref(slot));
  for (int32_t slot : partition_.added()) added_.push_back(Ref(slot));
}

void IncrementalFusion::Undo() {
  partition_.Undo();
  config_before_ = config().Hash();
  removed_.clear();
  added_.clear();
}

std::vector<KernelRef> IncrementalFusion::Kernels() const {
  std::vector<KernelRef> kernels;
  kernels.reserve(partition_.kernel_count());
  for (int32_t slot = 0; slot < partition_.slot_count(); ++slot) {
    if (partition_.kernel(slot).alive) kernels.push_back(Ref(slot));
  }
  return kernels;
}

Kernel IncrementalFusion::KernelFor(const KernelRef& kernel) {
  KernelBody body;
  partition_.Body(kernel.slot, &body);
  Kernel built = BuildKernel(space().graph(), body, kernel.hash);
  built.distances = DistancesOf(space().graph(), body, space().distances());
  return built;
}

}  // namespace smelt::fusion
