// The native engine against LibTorch: the one test file of this folder that includes LibTorch.
#include "gnn/native/engine.h"

#include <random>

#include "gnn/torch/batches.h"
#include "gtest/gtest.h"

namespace smelt::gnn {
namespace {

TEST(Engine, AgreesWithLibTorchOnRandomGraphs) {
  torch::manual_seed(3);
  std::mt19937_64 random(9);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Dataset data;
  const auto rows = std::make_shared<NodeRows>();
  for (int k = 0; k < 12; ++k) {
    Example& example = data.examples.emplace_back();
    KernelGraph graph;
    const int nodes = 1 + 7 * k;
    graph.operand_begin.push_back(0);
    for (int i = 0; i < nodes; ++i) {
      graph.opcodes.push_back(static_cast<int32_t>(random() % hlo::kOpcodeCount));
      // Most columns of most nodes are at their lowest value, and some are so in all nodes of a kernel.
      for (size_t c = 0; c < NodeColumns().size(); ++c)
        graph.node_features.push_back((c + k) % 3 == 0 || uniform(random) < 0 ? -1 : uniform(random));
      for (int e = 0; e < 3 && i > 0; ++e) {
        if (uniform(random) > 0) graph.operands.push_back(static_cast<int32_t>(random() % i));
      }
      graph.operand_begin.push_back(static_cast<int32_t>(graph.operands.size()));
    }
    for (size_t c = 0; c < KernelColumns().size(); ++c) graph.kernel_features.push_back(uniform(random));
    example.graph = PackedGraph(graph, rows);
    example.seconds = 1e-6;
    for (int t = 0; t < 5; ++t) {
      for (size_t c = 0; c < TileColumns().size(); ++c) example.tile_features.push_back(uniform(random));
      example.tile_seconds.push_back(1e-6);
    }
  }
  std::vector<int64_t> all(data.examples.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i);
  const Normalizers normalizers = FitNormalizers(data, all);
  torch::NoGradGuard no_gradients;
  for (NetworkKind kind : {NetworkKind::kGraphSage, NetworkKind::kLstm}) {
    for (bool tiles : {false, true}) {
      Network network(kind, 48, 2, 8, tiles, /*dropout=*/0);
      for (torch::Tensor& p : network->parameters()) p.uniform_(-0.3, 0.3);
      const Batch batch =
          tiles ? MakeTileBatch(data, all, normalizers, 0, nullptr) : MakeFusionBatch(data, all, normalizers);
      const torch::Tensor expected = network->forward(batch);
      auto engine = Engine::Create(
          {kind, 48, 2, 8, normalizers.nodes, normalizers.kernels, normalizers.tiles, network->Export()});
      ASSERT_TRUE(engine.ok()) << engine.status();
      std::vector<double> got;
      std::vector<KernelGraph> graphs;
      for (const Example& example : data.examples) {
        const KernelGraph& unpacked = graphs.emplace_back(example.graph.Unpack());
        const KernelGraph* graph = &unpacked;
        const std::vector<double> part =
            tiles ? (*engine)->ScoreTiles(unpacked, example.tile_features) : (*engine)->PredictLogTimes({&graph, 1});
        got.insert(got.end(), part.begin(), part.end());
      }
      ASSERT_EQ(static_cast<int64_t>(got.size()), expected.numel());
      for (size_t i = 0; i < got.size(); ++i) {
        const double want = expected[static_cast<int64_t>(i)].item<double>();
        EXPECT_NEAR(got[i], want, 1e-5 * std::max(1.0, std::abs(want)) + 1e-5) << "row " << i << " tiles " << tiles;
      }
      if (tiles) continue;
      // Whatever else is asked for at the same time, a kernel's prediction has the same bits.
      std::vector<const KernelGraph*> pointers;
      for (const KernelGraph& graph : graphs) pointers.push_back(&graph);
      EXPECT_EQ((*engine)->PredictLogTimes(pointers), got);
    }
  }
}

// A network of tiles does not wait for schedules, nor does one from before their columns.
TEST(Engine, TellsWhetherItLooksAtSchedules) {
  Normalizer kernels{std::vector<float>(KernelColumns().size(), 0), std::vector<float>(KernelColumns().size(), 1),
                     std::vector<float>(KernelColumns().size(), -1), std::vector<float>(KernelColumns().size(), 1)};
  Normalizer nodes{std::vector<float>(NodeColumns().size(), 0), std::vector<float>(NodeColumns().size(), 1),
                   std::vector<float>(NodeColumns().size(), -1), std::vector<float>(NodeColumns().size(), 1)};
  Network network(NetworkKind::kGraphSage, 48, 2, 8, /*tiles=*/false, /*dropout=*/0);
  const auto looks = [&] {
    return Engine::Create({NetworkKind::kGraphSage, 48, 2, 8, nodes, kernels, {}, network->Export()})
        .value()
        ->UsesSchedules();
  };
  EXPECT_TRUE(looks());
  HideSchedules(&kernels);
  EXPECT_FALSE(looks());
}

}  // namespace
}  // namespace smelt::gnn
