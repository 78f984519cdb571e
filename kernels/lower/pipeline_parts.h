// What a pipelined loop is made of, before a pass overlaps its iterations: its parts with their steps, and how many
// copies of each buffer they need.
//
//   const ir::Stmt loop = function.phases[0].body;  // of a schedule with `double_buffer` or `pipeline`
//   const PipelineParts parts = PartsOf(*loop);
//   if (!parts.pieces.empty()) std::cout << CopiesNeeded(*loop, parts)->size() << " buffers are kept more than once\n";
//
// A part at step s of `pipeline` does iteration i - s where a part at step 0 does iteration i. `double_buffer` makes
// two steps.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "kernels/ir/stmt.h"

namespace smelt::kernels::lower {

using BufferSet = absl::flat_hash_set<const ir::BufferNode*>;
using CopyCounts = absl::flat_hash_map<const ir::BufferNode*, int64_t>;

struct PipelinePiece {
  int64_t step = 0;
  int64_t order = 0;                 // of emission among the parts
  std::vector<te::Expr> conditions;  // that stand around it in the loop
  ir::Stmt body;
  BufferSet written, touched;
};

struct PipelineParts {
  std::vector<PipelinePiece> pieces;  // in the order of the loop's body; none: the loop is not pipelined
  std::vector<ir::Stmt> wrappers;     // allocations and attributes between the loop and its parts, outer first
  bool bare = false;                  // some statement stands in no part
};

PipelineParts PartsOf(const ir::StmtNode& loop);

// How many copies are needed of those buffers allocated in the loop that need more than one: as many as there are steps
// from the writer to its last reader, and one. InvalidArgument, naming what is stored: a part that would run before
// what it reads, or two steps that store the same.
absl::StatusOr<CopyCounts> CopiesNeeded(const ir::StmtNode& loop, const PipelineParts& parts);

}  // namespace smelt::kernels::lower
