// What a schedule has decided so far: its stages, their loops, and where each is computed. Primitives change it,
// lowering reads it; users of Schedule need not look here.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "kernels/ir/stmt.h"
#include "kernels/schedule/schedule.h"
#include "kernels/schedule/tensor_intrinsic.h"
#include "kernels/te/tensor.h"

namespace smelt::kernels::schedule {

using te::PrimitiveType;

struct LoopPragma {
  std::string key;  // a row of the table in annotate.cc
  int64_t value = 0;
};

// A part of a pipelined loop's body: a stage that is computed there, or, where `stage` is empty, the rest.
struct PipelineStep {
  std::string stage;
  int step = 0;
  int order = 0;
};

struct PrefetchAhead {
  std::string tensor;
  int64_t iterations = 1;
  int axis = -1;  // along which; number of its loop in Stage::loops, -1: of the loop itself
};

struct Loop {
  std::string name;
  int64_t extent = 1;  // over the whole domain of the stage; lowering infers what a compute_at stage really needs
  bool reduce = false;
  ir::ForKind kind = ir::ForKind::kSerial;
  std::vector<LoopPragma> pragmas;
  std::vector<PipelineStep> pipeline;  // empty: not pipelined
  std::vector<PrefetchAhead> prefetches;

  bool IsAnnotated() const { return !pragmas.empty() || !pipeline.empty() || !prefetches.empty(); }
};

enum class RelationKind : uint8_t { kSplit, kSplitParts, kFuse };

// How loops came from others, by their number in Stage::loops. kSplit, kSplitParts: parent = outer * inner's extent +
// inner. kFuse: parent is the fused loop that replaced outer and inner.
struct Relation {
  RelationKind kind;
  int parent, outer, inner;
  int64_t factor = 0;  // kSplit: iterations of inner; kSplitParts: of outer
  TailStrategy tail = TailStrategy::kGuard;
};

enum class Attach : uint8_t { kRoot, kInline, kAt };

// The storage's stride of an axis is `offset` modulo `factor`.
struct StorageAlignment {
  int axis = 0;
  int64_t factor = 1;
  int64_t offset = 0;
};

struct Stage {
  std::string name;
  te::OperationRef identity;  // what a kTensorRead of this stage's values refers to
  bool placeholder = false;
  bool output = false;  // some output is a result of the kernel
  std::vector<int64_t> shape;
  std::vector<PrimitiveType> types;
  std::vector<te::IterVar> axes;
  std::vector<te::IterVar> reduce_axes;
  std::vector<te::Expr> bodies;  // as te::Operation::bodies; reads of inlined stages stay until ResolveInlined

  std::vector<Loop> loops;          // all there ever were: first the axes, then the reduce axes, then derived ones
  std::vector<Relation> relations;  // in the order in which they were made
  std::vector<int> leaves;          // the loops that remain, outer first

  Attach attach = Attach::kRoot;
  std::string attach_stage;  // kAt
  int attach_loop = -1;      // kAt: number of the loop in that stage
  ir::Scope scope;
  std::vector<std::pair<int, int64_t>> layout;  // see TransformLayout; empty: row-major
  std::vector<StorageAlignment> alignments;     // at most one an axis
  bool double_buffered = false;                 // two copies, at the loop where it is computed
  TensorIntrinsicRef tensor_intrinsic;  // that takes the place of loop `tensorized` and those within; may be null
  int tensorized = -1;                  // its number

  int AxisCount() const { return static_cast<int>(axes.size()); }
  // Number of a leaf loop, -1 when there is none of that name.
  int FindLeaf(std::string_view loop) const;
  // Position among the leaves.
  int LeafPosition(int loop) const;
};

// A result of the kernel.
struct OutputRef {
  std::string stage;
  int output = 0;
};

struct State {
  te::Graph graph;
  te::ScopeTable scopes;                              // the memories that there are
  std::vector<TensorIntrinsicRef> tensor_intrinsics;  // the instructions
  std::vector<Stage> stages;                          // producers first
  std::vector<OutputRef> outputs;
  std::vector<Step> trace;

  State(te::Graph graph, te::ScopeTable scopes, std::vector<TensorIntrinsicRef> tensor_intrinsics);
  int IndexOf(std::string_view name) const;  // -1 when there is none
  int IndexOf(const te::Operation* identity) const;
  absl::StatusOr<Stage*> Find(std::string_view name);
  // Inserts before position `at`; gives the stage a name of its own if its name is taken.
  Stage& Insert(int at, Stage stage);
  // The stages that the bodies read, after inlining, by number, each once.
  std::vector<int> Reads(const Stage& stage) const;
  // The stages, not inlined, that read `stage`, directly or through inlined stages.
  std::vector<int> Readers(int stage) const;
  // Whether something is computed at a loop of `stage`.
  bool HasAttached(std::string_view stage) const;
  // The stages that are computed at this loop, producers first.
  std::vector<const Stage*> StagesAt(std::string_view stage, int loop) const;
  // The name of a stage that is computed at this loop, empty when none is.
  std::string AttachedAt(std::string_view stage, int loop) const;

 private:
  void Reindex();
  absl::flat_hash_map<std::string, int> by_name_;
  absl::flat_hash_map<const te::Operation*, int> by_identity_;
};

// A stage of the operation, with its axes as loops and nothing decided.
Stage StageOf(const te::Operation& op, te::OperationRef identity, const te::ScopeTable& scopes);
// Sets the loops to one for each axis and reduce axis.
void ResetLoops(Stage* stage);
// A new identity for values of the given shape and types.
te::OperationRef MakeIdentity(std::string name, std::vector<int64_t> shape, std::vector<PrimitiveType> types);
// An element of a stage's output.
te::Expr ReadOf(const Stage& stage, int output, std::vector<te::Expr> indices);

// `e` with the reads of inlined stages replaced by their bodies, as often as needed.
te::Expr ResolveInlined(const State& state, const te::Expr& e);
// The same for all bodies of a stage, in place.
void ResolveInlined(const State& state, Stage* stage);
// Whether a stage reads a tensor once inlined ones are resolved. A window may leave out all of an operand, and known
// zeros make a product one.
bool IsRead(const State& state, std::string_view reader, std::string_view tensor);
// Whether the stage holds the tensor's values, each at its own position, as those made by cache_read do.
bool IsCopy(const Stage& stage, const te::Operation& tensor);

// An error that names stage and loop.
absl::Status Illegal(std::string_view primitive, std::string_view stage, std::string_view why);

// The primitives; each checks before it changes anything.
absl::StatusOr<std::pair<std::string, std::string>> SplitLoop(State& state, std::string_view stage,
                                                              std::string_view loop, RelationKind kind, int64_t factor,
                                                              TailStrategy tail);
absl::StatusOr<std::string> FuseLoops(State& state, std::string_view stage, std::string_view outer,
                                      std::string_view inner);
absl::Status ReorderLoops(State& state, std::string_view stage, const std::vector<std::string>& loops);
absl::Status AnnotateLoop(State& state, std::string_view stage, std::string_view loop, ir::ForKind kind);
absl::Status AttachStage(State& state, std::string_view stage, std::string_view consumer, std::string_view loop);
absl::Status InlineStage(State& state, std::string_view stage);
absl::Status RootStage(State& state, std::string_view stage);
// Whether a stage may be stored there: a row of the table other than that of arguments.
absl::Status CheckScratch(const State& state, std::string_view primitive, std::string_view stage,
                          const ir::Scope& scope);
absl::Status ScopeStage(State& state, std::string_view stage, const ir::Scope& scope);
absl::Status LayoutStage(State& state, std::string_view stage, const std::vector<std::pair<int, int64_t>>& layout);
absl::StatusOr<std::string> CacheReads(State& state, std::string_view tensor, const ir::Scope& scope,
                                       const std::vector<std::string>& readers);
absl::StatusOr<std::string> CacheWrites(State& state, std::string_view stage, const ir::Scope& scope);
absl::Status TensorizeLoop(State& state, std::string_view stage, std::string_view loop, std::string_view intrinsic);
// An error where the stage's loops are tensorized, so that nothing may change them any more.
absl::Status CheckLoops(const Stage& stage, std::string_view primitive);
absl::Status DoubleBufferStage(State& state, std::string_view stage);
absl::Status PipelineLoop(State& state, std::string_view stage, std::string_view loop, const std::vector<int>& steps,
                          const std::vector<int>& order);
// An error where the stage takes part in a pipeline, so that it must stay where it is computed.
absl::Status CheckMayMove(const State& state, const Stage& stage, std::string_view primitive);
absl::Status AlignStage(State& state, std::string_view stage, int axis, int64_t factor, int64_t offset);
absl::Status PrefetchReads(State& state, std::string_view tensor, std::string_view stage, std::string_view loop,
                           int64_t iterations, std::string_view axis);
absl::Status PragmaLoop(State& state, std::string_view stage, std::string_view loop, std::string_view key,
                        int64_t value);
absl::StatusOr<std::vector<std::string>> PadSum(State& state, std::string_view stage, std::string_view loop,
                                                int64_t multiple);
absl::StatusOr<std::string> ShiftFactor(State& state, std::string_view stage, std::string_view tensor);
absl::StatusOr<std::string> FactorReduction(State& state, std::string_view stage, std::string_view loop);

}  // namespace smelt::kernels::schedule
