// How the stages of a schedule are computed: what bound inference (lower/bounds.h) finds and loop building
// (lower/nests.h) uses. Users of lower.h need not look here.
#pragma once

#include <vector>

#include "kernels/ir/stmt.h"
#include "kernels/schedule/state.h"
#include "kernels/te/tensor.h"

namespace smelt::kernels::lower {

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
  bool rare = false;  // ir::kRareBranch
};

// One value read from another stage or from an input.
struct Read {
  const te::Operation* tensor;
  std::vector<Expr> indices;
  bool conditional;  // inside a kIf: performed for some points only
};

// A value of another tensor that is wanted at a loop, the number `loop` of its nest, before it is read.
struct ReadAhead {
  int loop;
  const te::Operation* tensor;
  int output;
  std::vector<Expr> indices;
};

// How one stage is computed. Every variable is made for this nest, and all indices are global coordinates of the stage.
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
  std::vector<Expr> indices;         // of the stored element, global
  std::vector<Expr> reduce_indices;  // of the reduce axes
  std::vector<Read> reads;
  std::vector<Read> init_reads;
  std::vector<ReadAhead> ahead;      // schedule::PrefetchAhead along axes
  std::vector<ir::Buffer> buffers;  // one an output
};

}  // namespace smelt::kernels::lower
