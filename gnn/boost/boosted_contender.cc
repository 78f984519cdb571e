#include "gnn/boost/boosted_contender.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/status_macros.h"
#include "gnn/boost/boosted_trees.h"
#include "gnn/features/log_time.h"
#include "hlo/opcode.h"

namespace smelt::gnn {
namespace {

// One row of a kernel whatever its number of nodes.
std::vector<float> PooledRow(const PackedGraph& packed) {
  const KernelGraph graph = packed.Unpack();
  const size_t columns = NodeColumns().size();
  std::vector<float> row = graph.kernel_features, opcodes(hlo::kOpcodeCount, 0.0f), sum(columns, 0.0f);
  for (const int32_t opcode : graph.opcodes) ++opcodes[static_cast<size_t>(opcode)];
  std::vector<float> maximum(graph.node_features.begin(), graph.node_features.begin() + static_cast<int64_t>(columns));
  for (size_t i = 0; i < graph.node_features.size(); ++i) {
    sum[i % columns] += graph.node_features[i];
    maximum[i % columns] = std::max(maximum[i % columns], graph.node_features[i]);
  }
  row.push_back(static_cast<float>(graph.node_count()));
  row.insert(row.end(), opcodes.begin(), opcodes.end());
  row.insert(row.end(), sum.begin(), sum.end());
  for (float& value : sum) value /= static_cast<float>(graph.node_count());
  row.insert(row.end(), sum.begin(), sum.end());
  row.insert(row.end(), maximum.begin(), maximum.end());
  return row;
}

void AddTiles(const Example& example, Rows* rows) {
  const std::vector<float> kernel = PooledRow(example.graph);
  const int64_t columns = static_cast<int64_t>(TileColumns().size());
  rows->columns = static_cast<int64_t>(kernel.size()) + columns;
  for (size_t tile = 0; tile < example.tile_analytical.size(); ++tile) {
    rows->Add(kernel);
    rows->Add(absl::MakeConstSpan(example.tile_features).subspan(tile * static_cast<size_t>(columns), columns));
  }
}

BoostOptions OptionsOf(const BoostedContenderOptions& options, BoostObjective objective) {
  return {.objective = objective,
          .depth = options.depth,
          .learning_rate = options.learning_rate,
          .column_share = options.column_share,
          .rounds = options.rounds,
          .held_out = 0,
          .seed = options.seed};
}

absl::StatusOr<std::shared_ptr<BoostedTrees>> Trees(const BoostData& data, const BoostOptions& options) {
  SMELT_ASSIGN_OR_RETURN(BoostedTrees trees, BoostedTrees::Train(data, options));
  return std::make_shared<BoostedTrees>(std::move(trees));
}

absl::Status LearnSeconds(const BoostData& data, const BoostOptions& options, Contender* contender) {
  SMELT_ASSIGN_OR_RETURN(const std::shared_ptr<BoostedTrees> trees, Trees(data, options));
  contender->seconds = [trees](const Dataset& data,
                               const std::vector<int64_t>& examples) -> absl::StatusOr<std::vector<double>> {
    Rows rows;
    std::vector<float> base;
    for (const int64_t i : examples) {
      const std::vector<float> row = PooledRow(data.examples[i].graph);
      rows.columns = static_cast<int64_t>(row.size());
      rows.Add(row);
      base.push_back(static_cast<float>(LogTime(data.examples[i].analytical_seconds)));
    }
    SMELT_ASSIGN_OR_RETURN(const std::vector<float> logs, trees->Predict(rows, base));
    std::vector<double> seconds;
    for (const float log : logs) seconds.push_back(SecondsOfLogTime(log));
    return seconds;
  };
  return absl::OkStatus();
}

absl::Status LearnTiles(const BoostData& data, const BoostOptions& options, Contender* contender) {
  SMELT_ASSIGN_OR_RETURN(const std::shared_ptr<BoostedTrees> trees, Trees(data, options));
  contender->tile_scores = [trees](const Example& example) -> absl::StatusOr<std::vector<double>> {
    Rows rows;
    AddTiles(example, &rows);
    std::vector<float> base;
    for (const double seconds : example.tile_analytical) base.push_back(static_cast<float>(LogTime(seconds)));
    SMELT_ASSIGN_OR_RETURN(const std::vector<float> scores, trees->Predict(rows, base));
    return std::vector<double>(scores.begin(), scores.end());
  };
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Contender> BoostedContender(const Dataset& data, const std::vector<int64_t>& examples,
                                           const BoostedContenderOptions& options) {
  Contender contender{"boosted"};
  BoostData times, tiles;
  for (const int64_t i : examples) {
    const Example& example = data.examples[i];
    if (options.times && example.seconds > 0 && example.analytical_seconds > 0) {
      const std::vector<float> row = PooledRow(example.graph);
      times.rows.columns = static_cast<int64_t>(row.size());
      times.rows.Add(row);
      times.labels.push_back(static_cast<float>(LogTime(example.seconds)));
      times.base.push_back(static_cast<float>(LogTime(example.analytical_seconds)));
    }
    if (example.tile_seconds.size() < 2) continue;
    AddTiles(example, &tiles.rows);
    for (const double seconds : example.tile_seconds) tiles.labels.push_back(static_cast<float>(LogTime(seconds)));
    for (const double seconds : example.tile_analytical) tiles.base.push_back(static_cast<float>(LogTime(seconds)));
    tiles.groups.push_back(static_cast<int64_t>(example.tile_seconds.size()));
  }
  if (times.labels.empty() && tiles.labels.empty()) {
    return absl::InvalidArgumentError(
        "boosted trees: the corpus has no kernel of the programs that the models learned from");
  }
  if (!times.labels.empty()) {
    SMELT_RETURN_IF_ERROR(LearnSeconds(times, OptionsOf(options, BoostObjective::kSquared), &contender));
  }
  if (!tiles.labels.empty()) {
    SMELT_RETURN_IF_ERROR(LearnTiles(tiles, OptionsOf(options, BoostObjective::kRank), &contender));
  }
  return contender;
}

}  // namespace smelt::gnn
