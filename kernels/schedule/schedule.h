// A schedule: how a graph of tensor expressions is computed, as a trace of primitives over its stages.
//
//   Schedule s(graph);
//   auto [io, ii] = s.Split("c", "i0", 8).value();
//   s.Reorder("c", {io, "i1", "k", ii});
//   s.Vectorize("c", ii);
//   s.ToString()      // the program that built it, one primitive a line; Schedule::Replay reads it
//
// A stage is named after its operation; loops are named by strings: an axis starts as `i0`, `i1`, ... (reduce axes
// `r0`, ...), split gives `i0.outer` and `i0.inner`, fuse `i0.i1.fused`. A primitive that is not legal returns an error
// naming stage and loop and leaves the schedule as it was. Meanings are TVM's (Chen et al., OSDI 2018, Sections 4.1
// to 4.3).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/ir/stmt.h"
#include "kernels/te/tensor.h"

namespace smelt::kernels::schedule {

// What to do with iterations beyond the extent when a split does not divide it.
enum class TailStrategy : uint8_t {
  kGuard,         // peel the tail: the steady part runs without a branch, the rest with its exact extent (masked when
                  // vectorised)
  kPredicate,     // keep one loop and mask loads and stores
  kRoundUp,       // compute beyond the extent: only where the stage's storage is padded for it (scratch stages)
  kShiftInwards,  // the last tile starts earlier and overlaps: only for stages without reduction and without in-place
                  // reads
};

// One recorded primitive: `split c i0 8 guard`, as words.
struct Step {
  std::string primitive;
  std::vector<std::string> arguments;
  bool operator==(const Step&) const = default;
};

struct TensorIntrinsic;  // schedule/tensor_intrinsic.h
using TensorIntrinsicRef = std::shared_ptr<const TensorIntrinsic>;
struct State;  // schedule/state.h: stages, their loops and relations; what lowering reads

class Schedule {
 public:
  // `scopes`: the memories of the target, which stages may be stored in; `instructions`: what tensorize knows.
  explicit Schedule(te::Graph graph, te::ScopeTable scopes = {}, std::vector<TensorIntrinsicRef> instructions = {});
  Schedule(const Schedule&);
  Schedule& operator=(const Schedule&);
  Schedule(Schedule&&) noexcept;
  Schedule& operator=(Schedule&&) noexcept;
  ~Schedule();

  const te::Graph& graph() const;           // as given
  std::vector<std::string> Stages() const;  // producers first, those made by cache_read and the like included
  std::vector<std::string> Loops(std::string_view stage) const;  // leaf loops, outer first
  absl::StatusOr<int64_t> Extent(std::string_view stage, std::string_view loop) const;

  // Returns {outer, inner}; inner has `factor` iterations.
  absl::StatusOr<std::pair<std::string, std::string>> Split(std::string_view stage, std::string_view loop,
                                                            int64_t factor, TailStrategy tail = TailStrategy::kGuard);
  // outer has `parts` iterations.
  absl::StatusOr<std::pair<std::string, std::string>> SplitParts(std::string_view stage, std::string_view loop,
                                                                 int64_t parts,
                                                                 TailStrategy tail = TailStrategy::kGuard);
  // {x.outer, y.outer, x.inner, y.inner}, reordered so.
  absl::StatusOr<std::vector<std::string>> Tile(std::string_view stage, std::string_view x, std::string_view y,
                                                int64_t x_factor, int64_t y_factor);
  absl::StatusOr<std::string> Fuse(std::string_view stage, std::string_view outer,
                                   std::string_view inner);  // adjacent loops
  absl::Status Reorder(std::string_view stage, const std::vector<std::string>& loops);
  absl::Status Vectorize(std::string_view stage, std::string_view loop);
  absl::Status Unroll(std::string_view stage, std::string_view loop);
  absl::Status Parallel(std::string_view stage, std::string_view loop);  // outermost loop of a root stage only
  // To kBlock (outermost loops of a root stage), kThread or kVirtualThread: iterations of the last run interleaved in
  // one stream, each with scratch of its own.
  absl::Status Bind(std::string_view stage, std::string_view loop, ir::ForKind binding);

  absl::Status ComputeAt(std::string_view stage, std::string_view consumer, std::string_view loop);
  absl::Status ComputeInline(std::string_view stage);
  absl::Status ComputeRoot(std::string_view stage);

  // A copy of `tensor` (a stage or input) in `scope` that `readers` read instead; returns the new stage,
  // `tensor.shared` or the like. `layout`, where given, is the order and blocking in which the copy is stored (see
  // TransformLayout).
  absl::StatusOr<std::string> CacheRead(std::string_view tensor, const ir::Scope& scope,
                                        const std::vector<std::string>& readers);
  // The stage is computed into `scope` first and then copied; returns the new stage, `stage.local`, which holds the
  // computation (and its reduction), while `stage` becomes the copy.
  absl::StatusOr<std::string> CacheWrite(std::string_view stage, const ir::Scope& scope);
  // Splits a reduction over `loop` into partial results, an outer dimension of the new stage `stage.rf`, and a final
  // reduction over it.
  absl::StatusOr<std::string> Rfactor(std::string_view stage, std::string_view loop);
  // The loop and those within become the tensor intrinsic of that name: lowering checks that they mean what it declares
  // (lower/tensorize.h) and fails where they do not. The stage's loops stay as they are from then on.
  absl::Status Tensorize(std::string_view stage, std::string_view loop, std::string_view intrinsic);
  absl::Status SetScope(std::string_view stage, const ir::Scope& scope);
  // Storage of a scratch stage: a list of (axis number, block): dimensions outer to inner; a blocked axis appears
  // twice, first as its quotient (block > 1 first seen), then as its remainder. {{0, 16}, {1, 1}, {0, 0}} stores
  // [i0/16][i1][i0%16].
  absl::Status TransformLayout(std::string_view stage, const std::vector<std::pair<int, int64_t>>& layout);

  // A sum of products of two operands takes a multiple of terms, whose rest are products of zeros: both operands are
  // copied, with zeros behind them, into new stages, whose names are returned in the order of the product. `loop` is a
  // reduce axis as the stage has it, along which each operand is read as a whole.
  absl::StatusOr<std::vector<std::string>> PadReduction(std::string_view stage, std::string_view loop,
                                                        int64_t multiple);
  // An s8 operand of a sum of products in s32 becomes the u8 that is 128 more, and the reduction begins at -128 times
  // the sums of the other operand, a new stage whose name is returned: `c.shift`. For instructions that multiply u8 by
  // s8; exact, as integers wrap.
  absl::StatusOr<std::string> ShiftOperand(std::string_view stage, std::string_view tensor);

  // Two copies of what a stage stores at a loop of its consumer: while an iteration reads one, the next one's is
  // computed into the other. The same as a pipeline whose stage runs a step before all else there.
  absl::Status DoubleBuffer(std::string_view stage);
  // Software pipelining: iteration i of each part of the loop's body runs with iteration i + steps of the loop. The
  // parts are the stages that are computed at it, producers first, and last the rest of it; `order` is the place of
  // each among those that run together. Nothing may run before what it reads; what is kept for later steps is stored as
  // often. Place stages at the loop before.
  absl::Status Pipeline(std::string_view stage, std::string_view loop, const std::vector<int>& steps,
                        const std::vector<int>& order);
  // The stride of an axis of a scratch stage's storage becomes the least that is `offset` modulo `factor`: rows of 4
  // KiB no longer meet in the same sets of a cache, nor in the same bank of a shared memory. Not of the last axis.
  absl::Status StorageAlign(std::string_view stage, int axis, int64_t factor, int64_t offset);
  // Inside of the loop, the cache lines of `tensor` (an input or a root stage) that the stage reads so many iterations
  // later are asked for; with an axis (`i0`, `r0`), those that it reads in this iteration so many points further along
  // that, itself or by a copy that cache_read made: what the next block of an outer loop reads comes beside the
  // arithmetic of this one.
  absl::Status Prefetch(std::string_view tensor, std::string_view stage, std::string_view loop, int64_t iterations,
                        std::string_view axis = "");
  // `auto_unroll_max_step` N: loops within, this one included, that become at most N statements are unrolled;
  // `unroll_explicit` 0: by the compiler of the target, not in the loop IR; `nontemporal` 1: the loop's stores to a
  // result of the kernel pass the caches by where they are whole aligned vectors, for results that outgrow the caches.
  absl::Status Pragma(std::string_view stage, std::string_view loop, std::string_view key, int64_t value);

  const std::vector<Step>& trace() const;
  std::string ToString() const;
  // Applies a printed trace to a fresh schedule of `graph`.
  static absl::StatusOr<Schedule> Replay(te::Graph graph, std::string_view trace, te::ScopeTable scopes = {},
                                         std::vector<TensorIntrinsicRef> instructions = {});

  const State& state() const { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

}  // namespace smelt::kernels::schedule
