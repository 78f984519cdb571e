#include "gnn/torch/batches.h"

#include <algorithm>
#include <numeric>

#include "gnn/features/log_time.h"
#include "gnn/features/schedule_features.h"

namespace smelt::gnn {
namespace {

int64_t EstimateColumn() {
  const std::vector<Column>& columns = TileColumns();
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].name == "estimate") return static_cast<int64_t>(i);
  }
  return 0;
}

torch::Tensor Matrix(std::vector<float> values, const Normalizer& normalizer) {
  const int64_t width = static_cast<int64_t>(normalizer.mean.size());
  for (size_t at = 0; at < values.size(); at += width) normalizer.Apply(&values[at]);
  return torch::tensor(values).view({-1, width});
}

// Everything of a batch but tiles, base and labels.
Batch MakeGraphs(const Dataset& data, absl::Span<const int64_t> examples, const Normalizers& normalizers) {
  std::vector<int64_t> opcodes, kernel_of_node, source, target;
  std::vector<float> nodes, kernels, operand_weight, user_weight;
  Batch batch;
  int64_t first = 0;
  for (size_t k = 0; k < examples.size(); ++k) {
    const KernelGraph graph = data.examples[examples[k]].graph.Unpack();
    const int64_t n = graph.node_count();
    opcodes.insert(opcodes.end(), graph.opcodes.begin(), graph.opcodes.end());
    nodes.insert(nodes.end(), graph.node_features.begin(), graph.node_features.end());
    kernels.insert(kernels.end(), graph.kernel_features.begin(), graph.kernel_features.end());
    kernel_of_node.insert(kernel_of_node.end(), n, static_cast<int64_t>(k));
    std::vector<int32_t> users(n, 0);
    for (int64_t i = 0; i < n; ++i) {
      for (int32_t e = graph.operand_begin[i]; e < graph.operand_begin[i + 1]; ++e) {
        source.push_back(first + graph.operands[e]);
        target.push_back(first + i);
        ++users[graph.operands[e]];
      }
      const int32_t operands = graph.operand_begin[i + 1] - graph.operand_begin[i];
      operand_weight.push_back(operands > 0 ? 1.0f / static_cast<float>(operands) : 0.0f);
    }
    for (int32_t u : users) user_weight.push_back(u > 0 ? 1.0f / static_cast<float>(u) : 0.0f);
    batch.lengths.push_back(n);
    first += n;
  }
  batch.opcodes = torch::tensor(opcodes, torch::kInt64);
  batch.nodes = Matrix(std::move(nodes), normalizers.nodes);
  batch.kernel_of_node = torch::tensor(kernel_of_node, torch::kInt64);
  batch.source = torch::tensor(source, torch::kInt64);
  batch.target = torch::tensor(target, torch::kInt64);
  batch.operand_weight = torch::tensor(operand_weight).unsqueeze(1);
  batch.user_weight = torch::tensor(user_weight).unsqueeze(1);
  batch.kernels = Matrix(std::move(kernels), normalizers.kernels);
  return batch;
}

}  // namespace

Normalizers FitNormalizers(const Dataset& data, const std::vector<int64_t>& examples) {
  std::vector<float> nodes, kernels, tiles;
  // Statistics of nodes settle long before millions of rows.
  constexpr size_t kNodeValues = size_t{64} << 20;
  for (int64_t i : examples) {
    const Example& example = data.examples[i];
    if (nodes.size() < kNodeValues) {
      const KernelGraph graph = example.graph.Unpack();
      nodes.insert(nodes.end(), graph.node_features.begin(), graph.node_features.end());
    }
    const std::vector<float>& of_kernel = example.graph.kernel_features();
    kernels.insert(kernels.end(), of_kernel.begin(), of_kernel.end());
    if (tiles.size() < kNodeValues)
      tiles.insert(tiles.end(), example.tile_features.begin(), example.tile_features.end());
  }
  return {Normalizer::Fit(nodes, static_cast<int64_t>(NodeColumns().size())),
          Normalizer::Fit(kernels, static_cast<int64_t>(KernelColumns().size())),
          Normalizer::Fit(tiles, static_cast<int64_t>(TileColumns().size()))};
}

void HideSchedules(Normalizer* kernels) {
  for (size_t c = 0; c < kernels->scale.size(); ++c) {
    if (IsOfSchedule(KernelColumns()[c].name)) kernels->scale[c] = 0;
  }
}

Batch MakeFusionBatch(const Dataset& data, absl::Span<const int64_t> examples, const Normalizers& normalizers) {
  Batch batch = MakeGraphs(data, examples, normalizers);
  std::vector<float> base, labels;
  for (int64_t i : examples) {
    base.push_back(data.examples[i].graph.LogEstimate());
    labels.push_back(static_cast<float>(LogTime(data.examples[i].seconds)));
  }
  batch.base = torch::tensor(base);
  batch.labels = torch::tensor(labels);
  return batch;
}

Batch MakeTileBatch(const Dataset& data, absl::Span<const int64_t> examples, const Normalizers& normalizers,
                    int64_t tiles, std::mt19937_64* random) {
  static const int64_t estimate = EstimateColumn();
  Batch batch = MakeGraphs(data, examples, normalizers);
  const int64_t width = static_cast<int64_t>(TileColumns().size());
  std::vector<float> rows, base, labels;
  std::vector<int64_t> kernel_of_row;
  for (size_t k = 0; k < examples.size(); ++k) {
    const Example& example = data.examples[examples[k]];
    std::vector<int64_t> chosen(example.tile_seconds.size());
    std::iota(chosen.begin(), chosen.end(), 0);
    if (random != nullptr && static_cast<int64_t>(chosen.size()) > tiles) {
      std::shuffle(chosen.begin(), chosen.end(), *random);
      chosen.resize(tiles);
    }
    for (int64_t t : chosen) {
      const float* row = &example.tile_features[t * width];
      rows.insert(rows.end(), row, row + width);
      base.push_back(row[estimate]);
      labels.push_back(static_cast<float>(LogTime(example.tile_seconds[t])));
      kernel_of_row.push_back(static_cast<int64_t>(k));
    }
  }
  batch.tiles = Matrix(std::move(rows), normalizers.tiles);
  batch.kernel_of_row = torch::tensor(kernel_of_row, torch::kInt64);
  batch.base = torch::tensor(base);
  batch.labels = torch::tensor(labels);
  return batch;
}

}  // namespace smelt::gnn
