// The current program of a search: which kernels a move takes away and which it makes, without building the program.
//
//   IncrementalFusion fusion(space, start);
//   fusion.Apply(FlipMove(17));
//   for (const KernelRef& k : fusion.added()) seconds += cost(k.hash);
//   if (worse) fusion.Undo();
//
// A move costs time proportional to the kernels that it touches. Hashes equal those of the kernels that ExtractKernels
// finds in Apply(space, fusion.config()). Not thread-safe; chains in parallel have one each and share the space.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "fusion/config.h"
#include "fusion/kernel.h"
#include "fusion/partition.h"
#include "fusion/space.h"

namespace smelt::fusion {

// Decisions that change together. What the rules forbid is dropped afterwards, so a move may do less, or drop others.
struct Move {
  enum class Action : uint8_t {
    kFlip,
    kSet,
    kClear,
  };
  Action action = Action::kFlip;
  absl::InlinedVector<int32_t, 4> decisions;
};

Move FlipMove(int32_t decision);
// Fuses a producer into all of its consumers, or takes it out of them.
Move ProducerMove(const Space& space, int32_t producer, bool fuse);
// Gives every decision of a pattern (Space::PatternOf) the same value.
Move PatternMove(const Space& space, int32_t pattern, bool value);

struct KernelRef {
  Hash128 hash;
  int32_t slot;                         // of this fusion, for KernelFor
  const hlo::Computation* computation;  // of the space's module, in which it stands: loops run theirs more than once
};

class IncrementalFusion {
 public:
  // `start` is legalised.
  IncrementalFusion(const Space& space, const Config& start);

  const Space& space() const { return partition_.space(); }
  const Config& config() const { return partition_.config(); }  // legal and canonical

  // Replaces removed() and added(). A kernel that is as it was before is in neither.
  void Apply(const Move& move);
  // Takes the last move back, exactly; once for each Apply.
  void Undo();
  absl::Span<const KernelRef> removed() const { return removed_; }
  absl::Span<const KernelRef> added() const { return added_; }
  // Whether the last move changed any bit.
  bool changed() const { return config_before_ != config().Hash(); }

  int64_t kernel_count() const { return partition_.kernel_count(); }
  // All kernels of the current program.
  std::vector<KernelRef> Kernels() const;
  // The kernel as a module of its own. The reference must be of a kernel of the current program.
  Kernel KernelFor(const KernelRef& kernel);
  // The instructions, for costs that need no module.
  void BodyOf(const KernelRef& kernel, KernelBody* body) { partition_.Body(kernel.slot, body); }

 private:
  KernelRef Ref(int32_t slot) const;

  Partition partition_;
  Hash128 config_before_;
  std::vector<int32_t> flips_;
  std::vector<KernelRef> removed_, added_;
};

}  // namespace smelt::fusion
