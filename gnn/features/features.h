// Features of kernels and tiles: what the learned models see.
//
//   KernelGraph graph = ExtractFeatures(kernel.computation(), target);
//   std::vector<float> rows = TileFeatures(kernel.computation(), tiles, target);   // one a tile
//
// After the TPU papers (MLSys 2021, Section 3.1; TpuGraphs 2023) with what they lack: contraction dimensions of dots,
// flops, bytes, and the analytical estimate. The tables in node_features.cc, kernel_features.cc and tile_features.cc
// list every column once; a model file carries the schema version and the names of its columns. A column may be added:
// models from before do without it (gnn/model/stored_columns.h). Everything with a range is log(x + 1); models
// standardise by training statistics.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "hlo/computation.h"
#include "kernels/cost/analytical.h"
#include "kernels/tiles/tiles.h"
#include "machine/machine.h"

namespace smelt::gnn {

// Raised whenever a column changes its meaning. A model of another version is refused, as is one with a column that is
// no longer made.
inline constexpr int kFeatureSchemaVersion = 1;

// Nodes in topological order; an edge from each operand to its user.
struct KernelGraph {
  std::vector<int32_t> opcodes;      // hlo::Opcode by number, one a node
  std::vector<float> node_features;  // nodes x NodeColumns().size(), row-major
  std::vector<int32_t>
      operand_begin;  // nodes + 1: operands of node i are operands[operand_begin[i] .. operand_begin[i + 1])
  std::vector<int32_t> operands;       // node numbers
  std::vector<float> kernel_features;  // KernelColumns().size()

  int64_t node_count() const { return static_cast<int64_t>(opcodes.size()); }
  // The analytical model's or the target's own estimate, on the scale of log_time.h: the first kernel column.
  float LogEstimate() const { return kernel_features[0]; }
};

// Name and meaning of one column.
struct Column {
  std::string_view name;
  std::string_view meaning;
};
const std::vector<Column>& NodeColumns();
const std::vector<Column>& KernelColumns();
const std::vector<Column>& TileColumns();

// How long a kernel takes by a target's own formula, where the analytical model knows nothing of how it runs one.
using KernelEstimate = std::function<kernels::cost::CostEstimate(const hlo::Computation& kernel)>;

// `estimate` stands in the place of the analytical model; unset: that model. `distances`: fusion::Kernel's.
// `scheduled`: with the columns of the kernel's schedule (schedule_features.h), which take longer than all others
// together; without, and under an estimate of a target's own, they are zero.
KernelGraph ExtractFeatures(const hlo::Computation& kernel, const machine::Machine& target,
                            const KernelEstimate& estimate = {}, absl::Span<const int64_t> distances = {},
                            bool scheduled = true);

// One row a tile, TileColumns().size() wide.
std::vector<float> TileFeatures(const hlo::Computation& kernel, absl::Span<const kernels::nests::Tile> tiles,
                                const machine::Machine& target);

}  // namespace smelt::gnn
