// A corpus made up for tests of what learns.
#pragma once

#include <cmath>
#include <memory>
#include <random>
#include <string>

#include "gnn/dataset/dataset.h"
#include "hlo/opcode.h"

namespace smelt::gnn {

// Chains of nodes whose time follows from the opcodes on them and from one feature; the estimate knows nothing of it.
inline Dataset MakeData(int kernels, uint64_t seed, bool tiles = false) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> uniform(0, 1);
  Dataset data;
  const size_t width = NodeColumns().size();
  const auto rows = std::make_shared<NodeRows>();
  for (int k = 0; k < kernels; ++k) {
    Example& example = data.examples.emplace_back();
    example.program = "program" + std::to_string(k % 20);
    example.hash = HashOf(std::to_string(seed) + "/" + std::to_string(k));
    example.kind = k % 2 == 0 ? "elementwise" : "reduce";
    KernelGraph graph;
    const int nodes = 2 + static_cast<int>(uniform(random) * 8);
    double work = 1;
    graph.operand_begin.push_back(0);
    for (int i = 0; i < nodes; ++i) {
      const bool heavy = uniform(random) < 0.4;
      graph.opcodes.push_back(static_cast<int32_t>(heavy ? hlo::Opcode::kExp : hlo::Opcode::kAdd));
      for (size_t c = 0; c < width; ++c) graph.node_features.push_back(c == 5 ? uniform(random) : 0.0f);
      work += heavy ? 3 : 0.3;
      if (i > 0) graph.operands.push_back(i - 1);
      graph.operand_begin.push_back(static_cast<int32_t>(graph.operands.size()));
    }
    graph.kernel_features.assign(KernelColumns().size(), 0.0f);
    graph.kernel_features[0] = static_cast<float>(std::log(10e-6 / 1e-7));
    example.graph = PackedGraph(graph, rows);
    example.analytical_seconds = 10e-6;
    example.seconds = 1e-6 * work;
    if (!tiles) continue;
    for (int t = 0; t < 12; ++t) {
      const float x = uniform(random);
      for (size_t c = 0; c < TileColumns().size(); ++c) example.tile_features.push_back(c == 2 ? x : 0.0f);
      example.tile_seconds.push_back(1e-6 * (1 + (x - 0.4) * (x - 0.4)));
      example.tile_analytical.push_back(1e-6);
    }
  }
  return data;
}

}  // namespace smelt::gnn
