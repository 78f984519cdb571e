#include "gnn/native/engine.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "gnn/native/dense.h"
#include "hlo/opcode.h"

namespace smelt::gnn {
namespace {

// Weights are stored output by input, as LibTorch has them, and used input by output, so that the inner loop runs over
// outputs.
absl::StatusOr<std::vector<float>> Transposed(const TaskModel& task, const std::string& name, int64_t outputs,
                                              int64_t inputs) {
  auto it = task.weights.find(name);
  if (it == task.weights.end()) return absl::InvalidArgumentError(absl::StrCat("the model has no weight `", name, "`"));
  if (it->second.shape != std::vector<int64_t>{outputs, inputs}) {
    return absl::InvalidArgumentError(absl::StrCat("weight `", name, "` has shape [",
                                                   absl::StrJoin(it->second.shape, ","), "], expected [", outputs, ",",
                                                   inputs, "]"));
  }
  std::vector<float> result(it->second.values.size());
  for (int64_t o = 0; o < outputs; ++o) {
    for (int64_t i = 0; i < inputs; ++i) result[i * outputs + o] = it->second.values[o * inputs + i];
  }
  return result;
}

absl::StatusOr<std::vector<float>> Plain(const TaskModel& task, const std::string& name, int64_t size) {
  auto it = task.weights.find(name);
  if (it == task.weights.end() || static_cast<int64_t>(it->second.values.size()) != size) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model's weight `", name, "` is missing or has not ", size, " values"));
  }
  return it->second.values;
}

float Sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }

void Relu(float* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] = std::max(x[i], 0.0f);
}

// Normalised copies of rows.
std::vector<float> Normalise(const Normalizer& normalizer, absl::Span<const float> rows) {
  std::vector<float> result(rows.begin(), rows.end());
  const size_t width = normalizer.mean.size();
  for (size_t at = 0; at + width <= result.size() && width > 0; at += width) normalizer.Apply(&result[at]);
  return result;
}

// Columns of the tables that hold the logarithm of the analytical estimate: see features.
int64_t EstimateColumn(const std::vector<Column>& columns) {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].name == "estimate") return static_cast<int64_t>(i);
  }
  return 0;
}

}  // namespace

struct Engine::Weights {
  struct Layer {
    std::vector<float> self, operands, users, bias;
  };
  NetworkKind kind;
  int64_t hidden = 0, pooled = 0;
  Normalizer nodes, kernels, tiles;
  std::vector<float> opcode_rows;  // [opcodes x hidden]: the embedding through its part of the input layer, folded once
  std::vector<float> features, bias;
  std::vector<Layer> layers;
  std::vector<float> lstm_input, lstm_state, lstm_bias;
  std::vector<float> head_pooled, head_kernel, head_tile, head_bias, hidden_weight, hidden_bias, out_weight, out_bias;
};

Engine::Engine(std::unique_ptr<Weights> weights) : weights_(std::move(weights)) {}
Engine::~Engine() = default;

absl::StatusOr<std::unique_ptr<Engine>> Engine::Create(const TaskModel& task) {
  auto w = std::make_unique<Weights>();
  const int64_t h = task.hidden, e = task.embedding;
  if (h <= 0 || h > 4096 || e <= 0 || e > 4096 || task.layers < 0 || task.layers > 64) {
    return absl::InvalidArgumentError(
        absl::StrCat("a network of width ", h, " and ", task.layers, " layers is none that is trained here"));
  }
  const int64_t node_columns = static_cast<int64_t>(NodeColumns().size());
  w->kind = task.kind;
  w->hidden = h;
  w->nodes = task.nodes;
  w->kernels = task.kernels;
  w->tiles = task.tiles;
  SMELT_ASSIGN_OR_RETURN(const std::vector<float> embedding, Plain(task, "embedding", hlo::kOpcodeCount * e));
  SMELT_ASSIGN_OR_RETURN(const std::vector<float> opcode, Transposed(task, "input.opcode", h, e));
  w->opcode_rows.assign(hlo::kOpcodeCount * h, 0);
  MultiplyAdd(embedding.data(), opcode.data(), w->opcode_rows.data(), hlo::kOpcodeCount, e, h);
  SMELT_ASSIGN_OR_RETURN(w->features, Transposed(task, "input.features", h, node_columns));
  SMELT_ASSIGN_OR_RETURN(w->bias, Plain(task, "input.bias", h));
  if (task.kind == NetworkKind::kLstm) {
    w->pooled = h;
    SMELT_ASSIGN_OR_RETURN(w->lstm_input, Transposed(task, "lstm.input", 4 * h, h));
    SMELT_ASSIGN_OR_RETURN(w->lstm_state, Transposed(task, "lstm.state", 4 * h, h));
    SMELT_ASSIGN_OR_RETURN(w->lstm_bias, Plain(task, "lstm.bias", 4 * h));
  } else {
    w->pooled = 3 * h;
    for (int64_t i = 0; i < task.layers; ++i) {
      const std::string name = absl::StrCat("sage.", i);
      Weights::Layer& layer = w->layers.emplace_back();
      SMELT_ASSIGN_OR_RETURN(layer.self, Transposed(task, name + ".self", h, h));
      SMELT_ASSIGN_OR_RETURN(layer.operands, Transposed(task, name + ".operands", h, h));
      SMELT_ASSIGN_OR_RETURN(layer.users, Transposed(task, name + ".users", h, h));
      SMELT_ASSIGN_OR_RETURN(layer.bias, Plain(task, name + ".bias", h));
    }
  }
  SMELT_ASSIGN_OR_RETURN(w->head_pooled, Transposed(task, "head.pooled", h, w->pooled));
  SMELT_ASSIGN_OR_RETURN(w->head_kernel,
                         Transposed(task, "head.kernel", h, static_cast<int64_t>(KernelColumns().size())));
  if (task.weights.contains("head.tile")) {
    SMELT_ASSIGN_OR_RETURN(w->head_tile, Transposed(task, "head.tile", h, static_cast<int64_t>(TileColumns().size())));
  }
  SMELT_ASSIGN_OR_RETURN(w->head_bias, Plain(task, "head.bias", h));
  SMELT_ASSIGN_OR_RETURN(w->hidden_weight, Transposed(task, "hidden.weight", h, h));
  SMELT_ASSIGN_OR_RETURN(w->hidden_bias, Plain(task, "hidden.bias", h));
  SMELT_ASSIGN_OR_RETURN(w->out_weight, Plain(task, "out.weight", h));
  SMELT_ASSIGN_OR_RETURN(w->out_bias, Plain(task, "out.bias", 1));
  return std::unique_ptr<Engine>(new Engine(std::move(w)));
}

void Engine::Embed(const KernelGraph& kernel, float* joined) const {
  const Weights& w = *weights_;
  const int64_t n = kernel.node_count(), h = w.hidden;
  const int64_t node_columns = static_cast<int64_t>(w.nodes.mean.size());
  const std::vector<float> nodes = Normalise(w.nodes, kernel.node_features);
  std::vector<float> state(n * h);
  for (int64_t i = 0; i < n; ++i) {
    const float* row = &w.opcode_rows[kernel.opcodes[i] * h];
    for (int64_t c = 0; c < h; ++c) state[i * h + c] = row[c] + w.bias[c];
  }
  MultiplyAdd(nodes.data(), w.features.data(), state.data(), n, node_columns, h);
  Relu(state.data(), n * h);

  std::vector<float> pooled(w.pooled, 0.0f);
  if (w.kind == NetworkKind::kLstm) {
    std::vector<float> gates(n * 4 * h), c(h, 0.0f);
    for (int64_t i = 0; i < n; ++i) std::copy(w.lstm_bias.begin(), w.lstm_bias.end(), &gates[i * 4 * h]);
    MultiplyAdd(state.data(), w.lstm_input.data(), gates.data(), n, h, 4 * h);
    for (int64_t i = 0; i < n; ++i) {
      float* g = &gates[i * 4 * h];
      MultiplyAdd(pooled.data(), w.lstm_state.data(), g, 1, h, 4 * h);
      for (int64_t x = 0; x < h; ++x) {
        c[x] = Sigmoid(g[h + x]) * c[x] + Sigmoid(g[x]) * std::tanh(g[2 * h + x]);
        pooled[x] = Sigmoid(g[3 * h + x]) * std::tanh(c[x]);
      }
    }
  } else {
    std::vector<int32_t> users(n, 0);
    for (int32_t operand : kernel.operands) ++users[operand];
    std::vector<float> next(n * h), operands(n * h), of_users(n * h);
    for (const Weights::Layer& layer : w.layers) {
      std::fill(operands.begin(), operands.end(), 0.0f);
      std::fill(of_users.begin(), of_users.end(), 0.0f);
      for (int64_t i = 0; i < n; ++i) {
        const int32_t begin = kernel.operand_begin[i], end = kernel.operand_begin[i + 1];
        for (int32_t e = begin; e < end; ++e) {
          const int32_t operand = kernel.operands[e];
          AddScaled(&state[operand * h], 1.0f / static_cast<float>(end - begin), &operands[i * h], h);
          AddScaled(&state[i * h], 1.0f / static_cast<float>(users[operand]), &of_users[operand * h], h);
        }
      }
      for (int64_t i = 0; i < n; ++i) std::copy(layer.bias.begin(), layer.bias.end(), &next[i * h]);
      MultiplyAdd(state.data(), layer.self.data(), next.data(), n, h, h);
      MultiplyAdd(operands.data(), layer.operands.data(), next.data(), n, h, h);
      MultiplyAdd(of_users.data(), layer.users.data(), next.data(), n, h, h);
      for (int64_t i = 0; i < n; ++i) {
        float* row = &state[i * h];
        double squares = 0;
        for (int64_t c = 0; c < h; ++c) {
          row[c] += std::max(next[i * h + c], 0.0f);
          squares += static_cast<double>(row[c]) * row[c];
        }
        const float scale = static_cast<float>(1.0 / (std::sqrt(squares) / std::sqrt(static_cast<double>(h)) + 1e-6));
        for (int64_t c = 0; c < h; ++c) row[c] *= scale;
      }
    }
    for (int64_t c = 0; c < h; ++c) {
      double sum = 0;
      float maximum = n > 0 ? state[c] : 0.0f;
      for (int64_t i = 0; i < n; ++i) {
        sum += state[i * h + c];
        maximum = std::max(maximum, state[i * h + c]);
      }
      pooled[c] = static_cast<float>(sum / std::max<int64_t>(n, 1));
      pooled[h + c] = maximum;
      pooled[2 * h + c] = static_cast<float>(sum / 32.0);
    }
  }
  std::copy(w.head_bias.begin(), w.head_bias.end(), joined);
  MultiplyAdd(pooled.data(), w.head_pooled.data(), joined, 1, w.pooled, h);
  const std::vector<float> features = Normalise(w.kernels, kernel.kernel_features);
  MultiplyAdd(features.data(), w.head_kernel.data(), joined, 1, static_cast<int64_t>(features.size()), h);
}

double Engine::Head(const float* joined) const {
  const Weights& w = *weights_;
  std::vector<float> first(joined, joined + w.hidden), second = w.hidden_bias;
  Relu(first.data(), w.hidden);
  MultiplyAdd(first.data(), w.hidden_weight.data(), second.data(), 1, w.hidden, w.hidden);
  Relu(second.data(), w.hidden);
  double out = w.out_bias[0];
  for (int64_t i = 0; i < w.hidden; ++i) out += static_cast<double>(second[i]) * w.out_weight[i];
  return out;
}

std::vector<double> Engine::PredictLogTimes(absl::Span<const KernelGraph* const> kernels) const {
  static const int64_t estimate = EstimateColumn(KernelColumns());
  std::vector<double> results;
  std::vector<float> joined(weights_->hidden);
  for (const KernelGraph* kernel : kernels) {
    Embed(*kernel, joined.data());
    results.push_back(kernel->kernel_features[estimate] + Head(joined.data()));
  }
  return results;
}

std::vector<double> Engine::ScoreTiles(const KernelGraph& kernel, absl::Span<const float> tile_rows) const {
  static const int64_t estimate = EstimateColumn(TileColumns());
  const Weights& w = *weights_;
  const int64_t width = static_cast<int64_t>(TileColumns().size());
  const int64_t count = static_cast<int64_t>(tile_rows.size()) / width;
  std::vector<double> scores;
  if (w.head_tile.empty()) return scores;
  std::vector<float> embedded(w.hidden);
  Embed(kernel, embedded.data());
  std::vector<float> joined;
  for (int64_t i = 0; i < count; ++i) joined.insert(joined.end(), embedded.begin(), embedded.end());
  const std::vector<float> rows = Normalise(w.tiles, tile_rows);
  MultiplyAdd(rows.data(), w.head_tile.data(), joined.data(), count, width, w.hidden);
  for (int64_t i = 0; i < count; ++i) scores.push_back(tile_rows[i * width + estimate] + Head(&joined[i * w.hidden]));
  return scores;
}

}  // namespace smelt::gnn
