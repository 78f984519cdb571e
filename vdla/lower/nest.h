// What one nest of the loop IR is on VDLA: a copy, a product, elementwise work. A nest is loops, one inside the other,
// around one store, or around one call.
//
//   // for y < 14, x < 16, lane < 16: tile[y*256 + x*16 + lane] = (y + 7*t - 1 >= 0) ? x[...] : 0
//   std::vector<Node> nodes = RecogniseNest(nest, scope).value();    // one load with a row of padding where t is 0
//
// Recognised are, always with linear indices whose fastest part is the lanes of an element:
//   - inp, wgt or acc = DRAM, as it is or with a constant where a condition does not hold (padding): a LOAD; int8 may
//     become int32 on its way into the accumulators;
//   - acc = 0, acc += int8 inp * int8 wgt, also as calls (intrinsics.h): products;
//   - acc = an expression of accumulators and constants: a chain of ALU operations on one tile, MOV first where the
//     expression reads another tile than it writes;
//   - DRAM = such an expression, cut off at int8 where it becomes int8: the chain in place, then a STORE.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "kernels/ir/stmt.h"
#include "vdla/isa/config.h"
#include "vdla/lower/operations.h"

namespace smelt::vdla::lower {

namespace ir = kernels::ir;
namespace te = kernels::te;

struct NestLoop {
  te::Expr var;
  int64_t extent;
};

// Loops from the outermost to the innermost, what must hold for the store to happen, and the store.
struct LoopNest {
  std::vector<NestLoop> loops;
  std::vector<te::Expr> guards;
  ir::Buffer buffer;
  std::vector<te::Expr> indices;
  te::Expr value;
  te::Expr call;  // instead of the store: an intrinsic of intrinsics.h; null: there is a store
};

// What stands around a nest.
struct NestScope {
  const isa::Config* config;
  absl::flat_hash_map<const te::ExprNode*, Variable> variables;  // of the loops around
  // Where a buffer lies; for DRAM the form in which it is accessed, which its declaration gets when it is the first.
  std::function<absl::StatusOr<SramBuffer>(const ir::Buffer&)> sram;
  std::function<absl::StatusOr<DramBuffer>(const ir::Buffer&, isa::Memory form)> dram;
  // Whether the nest may change this tile of accumulators in place, as nothing reads it afterwards; from then on
  // `alias`, where it is not null, is another name for it.
  std::function<bool(const ir::Buffer& tile, const ir::Buffer& alias)> take;
};

// The operations in their order. InvalidArgument: VDLA has none that does this, with the store and the reason.
absl::StatusOr<std::vector<Node>> RecogniseNest(const LoopNest& nest, const NestScope& scope);

// The conditions of `e`, a conjunction of comparisons, as linear functions of the variables that are above 0 where they
// hold.
absl::StatusOr<std::vector<Linear>> ConditionsOf(const te::Expr& e, const NestScope& scope);

}  // namespace smelt::vdla::lower
