// Greedy fusion by modelled benefit, after XLA's priority fusion for GPUs: the producer whose fusion into all its
// consumers saves most time goes first, until nothing saves time. What a fusion saves is the difference of the costs of
// the kernels that it takes away and makes; after each fusion only the neighbours' savings are computed again, those of
// a producer with many consumers once in a while: one such computation touches all its consumers' kernels, and each of
// them changing would ask for it.
//
// Second outputs and siblings follow, once each, under the same measure.
#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "fusion/heuristics/heuristics.h"
#include "fusion/kernel_build.h"
#include "fusion/kernel_cost.h"
#include "fusion/partition.h"

namespace smelt::fusion {
namespace {

// Producers of more consumers are weighed again only when changes around them make half that number.
constexpr int32_t kManyConsumers = 16;

class Priority {
 public:
  Priority(const Space& space, const HeuristicOptions& options)
      : space_(space),
        graph_(space.graph()),
        options_(options),
        partition_(space, /*hashes=*/static_cast<bool>(options.kernel_seconds)),
        version_(graph_.nodes().size()),
        changes_(graph_.nodes().size()),
        queued_(graph_.nodes().size()) {}

  Config Run() {
    for (int32_t slot = 0; slot < partition_.slot_count(); ++slot) RememberCost(slot);
    for (int32_t n = 0; n < static_cast<int32_t>(graph_.nodes().size()); ++n) {
      if (!graph_.out_edges(graph_.node(n)).empty()) Enqueue(n);
    }
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end());
      const Candidate best = heap_.back();
      heap_.pop_back();
      if (best.version != version_[best.producer]) continue;
      FlipsOf(best.producer);
      if (changes_[best.producer] > 0 && (flips_.empty() || Saved() <= 0)) continue;
      partition_.Change(flips_);
      for (int32_t slot : partition_.added()) RememberCost(slot);
      RequeueNeighbours(best.producer);
    }
    for (int32_t d = static_cast<int32_t>(space_.edge_count()); d < static_cast<int32_t>(space_.size()); ++d) {
      flips_.assign(1, d);
      if (Saved() <= 0) continue;
      partition_.Change(flips_);
      for (int32_t slot : partition_.added()) RememberCost(slot);
    }
    return partition_.config();
  }

 private:
  struct Candidate {
    double saved;
    int32_t producer;
    int32_t version;
    // The most saved first; the later in the program among equals, so that results do not depend on the heap.
    bool operator<(const Candidate& other) const {
      return saved != other.saved ? saved < other.saved : producer < other.producer;
    }
  };

  double Cost(int32_t slot) {
    if (!options_.kernel_seconds) {
      partition_.Body(slot, &body_);
      return KernelSeconds(graph_, space_.rules(), body_);
    }
    const Hash128& hash = partition_.kernel(slot).hash;
    auto [it, fresh] = known_.try_emplace(hash, 0.0);
    if (fresh) {
      partition_.Body(slot, &body_);
      it->second = options_.kernel_seconds(BuildKernel(graph_, body_, hash).computation());
    }
    return it->second;
  }

  void RememberCost(int32_t slot) {
    if (slot >= static_cast<int32_t>(cost_.size())) cost_.resize(slot + 1);
    cost_[slot] = Cost(slot);
  }

  // The edges that fusing the producer everywhere would switch on.
  void FlipsOf(int32_t producer) {
    flips_.clear();
    for (int32_t e : graph_.out_edges(graph_.node(producer))) {
      if (!partition_.IsFused(e)) flips_.push_back(space_.DecisionOfEdge(e));
    }
  }

  // Seconds that flips_ would save; 0 or less where there is nothing to gain.
  double Saved() {
    partition_.Change(flips_);
    double saved = 0;
    for (int32_t slot : partition_.removed()) saved += cost_[slot];
    for (int32_t slot : partition_.added()) saved -= Cost(slot);
    partition_.Undo();
    return saved;
  }

  void Enqueue(int32_t producer) {
    ++version_[producer];
    changes_[producer] = 0;
    FlipsOf(producer);
    if (flips_.empty()) return;
    const double saved = Saved();
    if (saved <= 0) return;
    heap_.push_back({saved, producer, version_[producer]});
    std::push_heap(heap_.begin(), heap_.end());
  }

  // Those whose savings the last change may have altered: what its kernels read, and their outputs.
  void RequeueNeighbours(int32_t producer) {
    neighbours_.clear();
    const auto add = [&](int32_t n) {
      if (queued_[n] || graph_.out_edges(graph_.node(n)).empty()) return;
      queued_[n] = 1;
      neighbours_.push_back(n);
    };
    add(producer);
    for (int32_t slot : partition_.added()) {
      partition_.Body(slot, &body_);
      for (const KernelBody::Value& value : body_.values) {
        if (value.parameter) add(value.node);
      }
      for (int32_t output : partition_.kernel(slot).outputs) add(output);
    }
    for (int32_t n : neighbours_) {
      queued_[n] = 0;
      const auto consumers = static_cast<int32_t>(graph_.out_edges(graph_.node(n)).size());
      if (++changes_[n] * 2 >= consumers || consumers <= kManyConsumers) Enqueue(n);
    }
  }

  const Space& space_;
  const Graph& graph_;
  const HeuristicOptions& options_;
  Partition partition_;
  std::vector<double> cost_;  // by slot, of kernels that are alive
  std::vector<int32_t> version_;
  std::vector<int32_t> changes_;  // around a producer since its saving was computed
  std::vector<uint8_t> queued_;
  std::vector<Candidate> heap_;
  std::vector<int32_t> flips_;
  std::vector<int32_t> neighbours_;
  absl::flat_hash_map<Hash128, double> known_;
  KernelBody body_;
};

}  // namespace

Config PriorityFusion(const Space& space, const HeuristicOptions& options) { return Priority(space, options).Run(); }

}  // namespace smelt::fusion
