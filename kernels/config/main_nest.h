// The loops of a kernel's dominating nest, as the master template sees them: axes that tiles divide, sums computed in
// the tiles, operands that may be packed, axes that vectors may run along. All of it follows from how elements are
// read; no operator is named.
//
//   std::unique_ptr<const MainNest> nest = AnalyseMainNest(nests::AnalyseStructure(graph), machine).value();
//   nest->axes[0].name      // "i1"
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/nests/structure.h"
#include "machine/machine.h"

namespace smelt::kernels::config {

// An axis of the result that the loops divide. Axes of one iteration are left out.
struct NestAxis {
  std::string name;            // as in traces, "i1"; of several, the first one's
  std::vector<int> positions;  // axes of MainNest::domain, neighbours that memory runs on through
  int64_t extent = 1;
  int position() const { return positions[0]; }
};

struct NestOperand {
  const nests::Access* access = nullptr;  // of MainNest::structure
  const te::Operation* sum = nullptr;     // that reads it
  bool computed = false;                  // elementwise work that nothing else reads: packing computes it in place
};

// A direction of vectors.
struct VectorDirection {
  int axis = -1;  // of MainNest::axes; -1: along the sum
  std::string name;
};

struct MainNest {
  nests::Structure structure;
  const te::Operation* domain = nullptr;  // whose axes tiles divide: the sum, or the root
  std::vector<NestAxis> axes;
  // Reductions computed for each tile; all have the domain's shape. Empty: elementwise work, or reductions of rows.
  std::vector<const te::Operation*> sums;
  // Reduce axes of sums[0] with several iterations.
  std::vector<int> reduces;
  std::vector<NestOperand> operands;
  std::vector<VectorDirection> vectors;  // the templates' own first; empty: nothing to run along
  // Leading axes that hold reductions of rows (a softmax), computed once for each of their iterations; 0: none.
  int row_depth = 0;
  int64_t lanes = 1;

  const nests::Nest& nest() const { return structure.main_nest(); }
  const te::Operation& root() const { return *nest().root; }
  bool root_is_sum() const { return !sums.empty() && sums[0] == &root(); }
  // Whether a sum goes over the same extents as the first, so that the knobs of the sum are its too.
  bool SharesSum(const te::Operation& sum) const;
};

// Whether one dimension of the operand walks along the axis of its reader by steps of one and no other depends on it,
// so that a copy in which that dimension is innermost can be read in vectors. Gives the dimension.
bool CanLieAlong(const nests::Access& access, const te::Operation& sum, int position, int* dimension);

// Unimplemented: the dominating nest is computed inside of another.
absl::StatusOr<std::unique_ptr<const MainNest>> AnalyseMainNest(nests::Structure structure,
                                                                const machine::Machine& target);

}  // namespace smelt::kernels::config
