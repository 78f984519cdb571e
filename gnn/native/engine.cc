#include "gnn/native/engine.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "gnn/features/schedule_features.h"
#include "gnn/native/dense.h"
#include "gnn/native/scratch.h"
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

void Standardise(const Normalizer& n, float* rows, int64_t count) {
  StandardiseRows(rows, count, static_cast<int64_t>(n.mean.size()), n.low.data(), n.high.data(), n.mean.data(),
                  n.scale.data());
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
  // [opcodes x hidden]: the embedding through its part of the input layer, the bias and what columns at their lowest
  // values add, folded once. `nodes` counts columns from there: most nodes have most columns there, and columns that
  // are zero cost nothing.
  std::vector<float> opcode_rows;
  std::vector<float> features;
  std::vector<Layer> layers;
  std::vector<float> lstm_input, lstm_state, lstm_bias;
  std::vector<float> head_pooled, head_kernel, head_bias, hidden_weight, hidden_bias, out_weight, out_bias;
  // The weights of tiles, with the normalisation folded in: what a clipped column adds, [columns x hidden] and [hidden
  // x columns]; and the hidden layer as it is stored, [outputs x inputs].
  std::vector<float> tile_rows, tile_columns, tile_bias, hidden_by_output;
  int64_t estimate = 0;  // the column that is added to the head's value

  int64_t tile_width() const { return static_cast<int64_t>(tiles.mean.size()); }
  bool UsesColumn(absl::FunctionRef<bool(std::string_view)> is_wanted) const {
    for (size_t c = 0; c < kernels.scale.size(); ++c) {
      if (kernels.scale[c] != 0 && is_wanted(KernelColumns()[c].name)) return true;
    }
    return false;
  }
};

namespace {

// Rows of nodes that go through the layers at once: enough to multiply matrices well, few enough to stay in the caches.
constexpr int64_t kRowsAtOnce = 256;

// Makes of the weights of tiles what ScoreBlock multiplies: (x - mean) * scale is x times the scale, and a bias.
absl::Status FoldTiles(const TaskModel& task, Engine::Weights* w) {
  const int64_t h = task.hidden, width = static_cast<int64_t>(TileColumns().size());
  SMELT_ASSIGN_OR_RETURN(w->tile_rows, Transposed(task, "head.tile", h, width));
  w->tile_columns.resize(h * width);
  w->tile_bias.assign(h, 0);
  for (int64_t c = 0; c < width; ++c) {
    for (int64_t o = 0; o < h; ++o) {
      float& weight = w->tile_rows[c * h + o];
      weight *= task.tiles.scale[c];
      w->tile_bias[o] -= weight * task.tiles.mean[c];
      w->tile_columns[o * width + c] = weight;
    }
  }
  SMELT_ASSIGN_OR_RETURN(w->hidden_by_output, Plain(task, "hidden.weight", h * h));
  w->estimate = EstimateColumn(TileColumns());
  return absl::OkStatus();
}

}  // namespace

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
  SMELT_ASSIGN_OR_RETURN(std::vector<float> bias, Plain(task, "input.bias", h));
  std::vector<float> lowest = w->nodes.low;
  Standardise(w->nodes, lowest.data(), 1);
  MultiplyAdd(lowest.data(), w->features.data(), bias.data(), 1, node_columns, h);
  w->nodes.mean = w->nodes.low;
  for (int64_t opcode = 0; opcode < hlo::kOpcodeCount; ++opcode)
    AddScaled(bias.data(), 1, &w->opcode_rows[opcode * h], h);
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
    SMELT_RETURN_IF_ERROR(FoldTiles(task, w.get()));
  }
  SMELT_ASSIGN_OR_RETURN(w->head_bias, Plain(task, "head.bias", h));
  SMELT_ASSIGN_OR_RETURN(w->hidden_weight, Transposed(task, "hidden.weight", h, h));
  SMELT_ASSIGN_OR_RETURN(w->hidden_bias, Plain(task, "hidden.bias", h));
  SMELT_ASSIGN_OR_RETURN(w->out_weight, Plain(task, "out.weight", h));
  SMELT_ASSIGN_OR_RETURN(w->out_bias, Plain(task, "out.bias", 1));
  return std::unique_ptr<Engine>(new Engine(std::move(w)));
}

int64_t Engine::HiddenWidth() const { return weights_->hidden; }

bool Engine::UsesSchedules() const { return weights_->UsesColumn(IsOfSchedule); }

bool Engine::UsesDistances() const {
  return weights_->UsesColumn([](std::string_view name) { return name == "far"; });
}

void Engine::Embed(absl::Span<const KernelGraph* const> kernels, float* joined) const {
  const Weights& w = *weights_;
  const int64_t h = w.hidden, node_columns = static_cast<int64_t>(w.nodes.mean.size());
  Scratch scratch;
  int64_t n = 0;
  for (const KernelGraph* kernel : kernels) n += kernel->node_count();
  float* const features = scratch.Take(n * node_columns);
  float* const state = scratch.Take(n * h);
  int64_t row = 0;
  for (const KernelGraph* kernel : kernels) {
    std::copy(kernel->node_features.begin(), kernel->node_features.end(), &features[row * node_columns]);
    for (const int32_t opcode : kernel->opcodes) std::copy_n(&w.opcode_rows[opcode * h], h, &state[row++ * h]);
  }
  Standardise(w.nodes, features, n);
  MultiplyAdd(features, w.features.data(), state, n, node_columns, h);
  Relu(state, n * h);
  float* const pooled = scratch.Take(static_cast<int64_t>(kernels.size()) * w.pooled);
  if (w.kind == NetworkKind::kLstm) {
    int64_t first = 0;
    for (size_t k = 0; k < kernels.size(); ++k) {
      LastState(&state[first * h], kernels[k]->node_count(), &pooled[k * w.pooled]);
      first += kernels[k]->node_count();
    }
  } else {
    PassMessages(kernels, n, state);
    int64_t first = 0;
    for (size_t k = 0; k < kernels.size(); ++k) {
      PoolRows(&state[first * h], kernels[k]->node_count(), h, &pooled[k * w.pooled]);
      first += kernels[k]->node_count();
    }
  }
  const int64_t kernel_columns = static_cast<int64_t>(w.kernels.mean.size());
  float* const kernel_features = scratch.Take(static_cast<int64_t>(kernels.size()) * kernel_columns);
  for (size_t k = 0; k < kernels.size(); ++k) {
    std::copy(w.head_bias.begin(), w.head_bias.end(), &joined[k * h]);
    std::copy(kernels[k]->kernel_features.begin(), kernels[k]->kernel_features.end(),
              &kernel_features[k * kernel_columns]);
  }
  Standardise(w.kernels, kernel_features, static_cast<int64_t>(kernels.size()));
  MultiplyAdd(pooled, w.head_pooled.data(), joined, static_cast<int64_t>(kernels.size()), w.pooled, h);
  MultiplyAdd(kernel_features, w.head_kernel.data(), joined, static_cast<int64_t>(kernels.size()), kernel_columns, h);
}

// The layers of GraphSAGE. Means over operands and over users of nodes that have none are zero, so that only rows of
// the others are multiplied.
void Engine::PassMessages(absl::Span<const KernelGraph* const> kernels, int64_t n, float* state) const {
  const Weights& w = *weights_;
  const int64_t h = w.hidden;
  Scratch scratch;
  int32_t* const users = scratch.TakeList(n);            // how many
  int32_t* const with_users = scratch.TakeList(n);       // row among the nodes that have users; -1: none
  int32_t* const row_of_operands = scratch.TakeList(n);  // the same of operands
  int32_t* const nodes = scratch.TakeList(2 * n);        // of these rows: first those with operands, then with users
  std::fill_n(users, n, 0);
  std::fill_n(with_users, n, -1);
  std::fill_n(row_of_operands, n, -1);
  int64_t first = 0, operand_rows = 0, user_rows = 0;
  for (const KernelGraph* kernel : kernels) {
    for (const int32_t operand : kernel->operands) ++users[first + operand];
    for (int64_t i = 0; i < kernel->node_count(); ++i) {
      if (kernel->operand_begin[i] == kernel->operand_begin[i + 1]) continue;
      nodes[operand_rows] = static_cast<int32_t>(first + i);
      row_of_operands[first + i] = static_cast<int32_t>(operand_rows++);
    }
    first += kernel->node_count();
  }
  for (int64_t i = 0; i < n; ++i) {
    if (users[i] == 0) continue;
    nodes[operand_rows + user_rows] = static_cast<int32_t>(i);
    with_users[i] = static_cast<int32_t>(user_rows++);
  }
  float* const next = scratch.Take(n * h);
  float* const means = scratch.Take((operand_rows + user_rows) * h);  // over operands, then over users
  for (const Weights::Layer& layer : w.layers) {
    std::fill_n(means, (operand_rows + user_rows) * h, 0.0f);
    first = 0;
    for (const KernelGraph* kernel : kernels) {
      for (int64_t i = 0; i < kernel->node_count(); ++i) {
        const int32_t begin = kernel->operand_begin[i], end = kernel->operand_begin[i + 1];
        for (int32_t e = begin; e < end; ++e) {
          const int64_t operand = first + kernel->operands[e];
          AddScaled(&state[operand * h], 1.0f / static_cast<float>(end - begin), &means[row_of_operands[first + i] * h],
                    h);
          AddScaled(&state[(first + i) * h], 1.0f / static_cast<float>(users[operand]),
                    &means[(operand_rows + with_users[operand]) * h], h);
        }
      }
      first += kernel->node_count();
    }
    for (int64_t i = 0; i < n; ++i) std::copy(layer.bias.begin(), layer.bias.end(), &next[i * h]);
    MultiplyAdd(state, layer.self.data(), next, n, h, h);
    MultiplyAdd(means, layer.operands.data(), next, operand_rows, h, h, nodes);
    MultiplyAdd(means + operand_rows * h, layer.users.data(), next, user_rows, h, h, nodes + operand_rows);
    for (int64_t i = 0; i < n; ++i) AddReluAndScale(&next[i * h], &state[i * h], h);
  }
}

void Engine::LastState(const float* state, int64_t n, float* last) const {
  const Weights& w = *weights_;
  const int64_t h = w.hidden;
  std::vector<float> gates(n * 4 * h), c(h, 0.0f);
  std::fill_n(last, h, 0.0f);
  for (int64_t i = 0; i < n; ++i) std::copy(w.lstm_bias.begin(), w.lstm_bias.end(), &gates[i * 4 * h]);
  MultiplyAdd(state, w.lstm_input.data(), gates.data(), n, h, 4 * h);
  for (int64_t i = 0; i < n; ++i) {
    float* g = &gates[i * 4 * h];
    MultiplyAdd(last, w.lstm_state.data(), g, 1, h, 4 * h);
    for (int64_t x = 0; x < h; ++x) {
      c[x] = Sigmoid(g[h + x]) * c[x] + Sigmoid(g[x]) * std::tanh(g[2 * h + x]);
      last[x] = Sigmoid(g[3 * h + x]) * std::tanh(c[x]);
    }
  }
}

std::vector<double> Engine::PredictLogTimes(absl::Span<const KernelGraph* const> kernels,
                                            std::vector<float>* hidden) const {
  static const int64_t estimate = EstimateColumn(KernelColumns());
  const Weights& w = *weights_;
  const int64_t h = w.hidden;
  std::vector<double> results;
  results.reserve(kernels.size());
  if (hidden != nullptr) hidden->clear();
  std::vector<float> joined, second;
  for (size_t begin = 0; begin < kernels.size();) {
    // Enough rows to multiply matrices well, few enough to stay near.
    int64_t rows = 0;
    size_t end = begin;
    while (end < kernels.size() && (end == begin || rows + kernels[end]->node_count() <= kRowsAtOnce))
      rows += kernels[end++]->node_count();
    const auto some = kernels.subspan(begin, end - begin);
    const int64_t count = static_cast<int64_t>(some.size());
    joined.assign(count * h, 0.0f);
    Embed(some, joined.data());
    Relu(joined.data(), count * h);
    second.clear();
    for (int64_t k = 0; k < count; ++k) second.insert(second.end(), w.hidden_bias.begin(), w.hidden_bias.end());
    MultiplyAdd(joined.data(), w.hidden_weight.data(), second.data(), count, h, h);
    Relu(second.data(), count * h);
    for (int64_t k = 0; k < count; ++k) {
      double out = w.out_bias[0];
      for (int64_t i = 0; i < h; ++i) out += static_cast<double>(second[k * h + i]) * w.out_weight[i];
      results.push_back(some[k]->kernel_features[estimate] + out);
    }
    if (hidden != nullptr) hidden->insert(hidden->end(), second.begin(), second.end());
    begin = end;
  }
  return results;
}

std::vector<float> Engine::EmbedForTiles(const KernelGraph& kernel) const {
  const Weights& w = *weights_;
  if (w.tile_rows.empty()) return {};
  std::vector<float> embedded(w.hidden);
  const KernelGraph* const pointer = &kernel;
  Embed({&pointer, 1}, embedded.data());
  for (int64_t o = 0; o < w.hidden; ++o) embedded[o] += w.tile_bias[o];
  return embedded;
}

void Engine::ScoreBlock(const std::vector<float>& embedded, const float* columns, int count, float* scores) const {
  constexpr int64_t kBlock = kBlockColumns;
  const Weights& w = *weights_;
  const int64_t h = w.hidden, width = w.tile_width();
  Scratch scratch;
  float* const clipped = scratch.Take(width * kBlock);
  float* const first = scratch.Take(h * kBlock);
  float* const joined = scratch.Take(h);
  int32_t* const some = scratch.TakeList(width);
  int32_t* const awake = scratch.TakeList(h);
  std::copy(embedded.begin(), embedded.end(), joined);
  int64_t varying = 0;
  for (int64_t c = 0; c < width; ++c) {
    if (w.tiles.scale[c] == 0) continue;
    const float* column = &columns[c * kBlock];
    if (!ClipColumn(column, w.tiles.low[c], w.tiles.high[c], &clipped[c * kBlock])) {
      AddScaled(&w.tile_rows[c * h], clipped[c * kBlock], joined, h);  // the same for all tiles of the block
    } else {
      some[varying++] = static_cast<int32_t>(c);
    }
  }
  // Units that no tile of the block wakes add nothing to the next layer.
  const int64_t wakes = ReluLayer(w.tile_columns.data(), width, clipped, joined, first, h, some, varying, awake);
  float sums[kBlock];
  for (int64_t i = 0; i < kBlock; ++i) sums[i] = columns[w.estimate * kBlock + i] + w.out_bias[0];
  ReluLayerAndDot(w.hidden_by_output.data(), h, first, w.hidden_bias.data(), w.out_weight.data(), sums, h, awake,
                  wakes);
  std::copy_n(sums, count, scores);
}

std::vector<double> Engine::ScoreTiles(const KernelGraph& kernel, absl::Span<const float> tile_rows) const {
  constexpr int64_t kBlock = kBlockColumns;
  const int64_t width = weights_->tile_width();
  const int64_t count = static_cast<int64_t>(tile_rows.size()) / width;
  std::vector<double> scores;
  const std::vector<float> embedded = EmbedForTiles(kernel);
  if (embedded.empty()) return scores;
  std::vector<float> columns(width * kBlock);
  float block[kBlock];
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t some = std::min(kBlock, count - begin);
    for (int64_t i = 0; i < kBlock; ++i) {
      const float* row = &tile_rows[(begin + std::min(i, some - 1)) * width];
      for (int64_t c = 0; c < width; ++c) columns[c * kBlock + i] = row[c];
    }
    ScoreBlock(embedded, columns.data(), static_cast<int>(some), block);
    scores.insert(scores.end(), block, block + some);
  }
  return scores;
}

}  // namespace smelt::gnn
