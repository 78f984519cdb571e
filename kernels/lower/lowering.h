// The state that the passes of lowering share, and the passes. Users of lower.h need not look here.
#pragma once

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "kernels/ir/stmt.h"
#include "kernels/lower/lower.h"
#include "kernels/schedule/state.h"
#include "kernels/te/simplify/simplifier.h"

namespace smelt::kernels::lower {

using ir::Stmt;
using te::Expr;

// One loop of a nest; ranges over [0, extent).
struct NestLoop {
  Expr var;
  int64_t extent = 1;
  ir::ForKind kind = ir::ForKind::kSerial;
  bool reduce = false;
};

// A condition under which a point of the nest exists.
struct Guard {
  Expr condition;
  bool mask = false;  // TailStrategy::kPredicate: stays a mask
};

// One value read from another stage or from an input.
struct Read {
  const te::Operation* tensor;
  std::vector<Expr> indices;
  bool conditional;  // inside a kIf: performed for some points only
};

// How one stage is computed: what bound inference finds and what loop building uses. Every variable is made for this
// nest, and all indices are global coordinates of the stage.
struct Nest {
  bool live = false;
  std::vector<Expr> enclosing;  // variables of the loops around the nest, outer first
  std::vector<NestLoop> loops;  // in order, outer first
  // The region that is computed and stored: axis d covers [base[d], base[d] + extents[d]), `room[d]` elements are
  // stored (more where loops overshoot).
  std::vector<Expr> base;
  std::vector<int64_t> extents;
  std::vector<int64_t> room;
  std::vector<Guard> guards;
  Expr load_condition;  // null, or: beyond it loads that may leave their tensor are not performed
  // Bodies over the nest's variables: one value an output, or sources and initial values of the reduction.
  std::vector<Expr> values;
  std::vector<Expr> init;
  std::vector<Expr> indices;  // of the stored element, global
  std::vector<Read> reads;
  std::vector<Read> init_reads;
  std::vector<ir::Buffer> buffers;  // one an output
};

struct Lowering {
  const schedule::State& state;
  const LowerOptions& options;
  te::Simplifier simplifier;
  std::vector<Nest> nests;  // by number of the stage
  ir::Function function;
  // Variables that passes made for a part of a parallel loop's range, and what each stands for.
  std::vector<std::pair<Expr, Expr>> aliases;
  absl::Status status;  // first error of a pass
};

// Gives every loop its extent and every stage its region, consumers first (lower/bounds.cc).
void InferBounds(Lowering& lowering);
// Stages become loop nests, attached where the schedule says; indices have the dimensions of the storage
// (lower/nests.cc).
void BuildLoopNests(Lowering& lowering);
// Tails and borders leave the steady part of loops, so that it has no branch and no mask (lower/partition.cc).
void PartitionLoops(Lowering& lowering);
// Buffers become rows of elements, accesses have one index (lower/flatten.cc).
void FlattenStorage(Lowering& lowering);
// Lazy conditionals become selections over predicated loads; conditions inside vectorised loops become masks
// (lower/predicate.cc).
void PredicateLoads(Lowering& lowering);
// Vectorised loops become vector expressions (lower/vectorize.cc).
void VectorizeLoops(Lowering& lowering);
// Unrolled loops become straight code (lower/unroll.cc).
void UnrollLoops(Lowering& lowering);
// Buffers that nothing reads go; those whose lives do not overlap share memory (lower/storage.cc).
void ReuseStorage(Lowering& lowering);

// Every expression simplified, empty and single loops and decided branches removed (lower/simplify_stmt.cc).
Stmt SimplifyStmt(te::Simplifier& simplifier, const Stmt& stmt);
void SimplifyFunction(Lowering& lowering);

}  // namespace smelt::kernels::lower
