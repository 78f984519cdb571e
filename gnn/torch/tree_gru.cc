#include "gnn/torch/tree_gru.h"

#include <torch/torch.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"

namespace smelt::gnn {
// No anonymous one: a member of TreeGru, which has a header, holds these.
namespace tree_gru {

// Several rows at once: the loops of one distance to the leaves together, so that the recurrence takes as many steps as
// the deepest nest has loops.
struct TreeBatch {
  torch::Tensor contexts;               // [loops, width], normalised
  torch::Tensor row_of_loop;            // [loops] int64
  torch::Tensor whole;                  // [rows, columns], normalised
  std::vector<torch::Tensor> levels;    // loops of each level, innermost first
  std::vector<torch::Tensor> outer_of;  // of these: the loop around each, or the number of loops where there is none
  int64_t rows = 0;
};

// Mean and inverse deviation of columns.
struct Columns {
  torch::Tensor mean, scale;
  explicit Columns(const torch::Tensor& values)
      : mean(values.mean(0)), scale(1 / (values.std(0, /*unbiased=*/false) + 1e-3)) {}
  torch::Tensor Normalise(const torch::Tensor& values) const { return ((values - mean) * scale).clamp(-8, 8); }
};

torch::Tensor Stacked(absl::Span<const LoopTreeRow> rows, std::vector<float> LoopTreeRow::*part, int64_t columns) {
  std::vector<float> values;
  for (const LoopTreeRow& row : rows) values.insert(values.end(), (row.*part).begin(), (row.*part).end());
  const int64_t count = columns == 0 ? 0 : static_cast<int64_t>(values.size()) / columns;
  return torch::tensor(values).view({count, columns});
}

TreeBatch MakeBatch(absl::Span<const LoopTreeRow> rows, int64_t width, int64_t columns) {
  TreeBatch batch;
  batch.rows = static_cast<int64_t>(rows.size());
  batch.contexts = Stacked(rows, &LoopTreeRow::contexts, width);
  batch.whole = Stacked(rows, &LoopTreeRow::whole, columns);
  std::vector<int64_t> row_of, outer, height;
  for (size_t r = 0; r < rows.size(); ++r) {
    const auto first = static_cast<int64_t>(outer.size());
    for (const int parent : rows[r].parents) {
      row_of.push_back(static_cast<int64_t>(r));
      outer.push_back(parent < 0 ? -1 : first + parent);
    }
  }
  const auto loops = static_cast<int64_t>(outer.size());
  height.assign(static_cast<size_t>(loops), 0);
  int64_t highest = 0;
  for (int64_t i = loops - 1; i >= 0; --i) {  // inner loops have larger numbers
    highest = std::max(highest, height[i]);
    if (outer[i] >= 0) height[outer[i]] = std::max(height[outer[i]], height[i] + 1);
  }
  for (int64_t level = 0; level <= highest && loops > 0; ++level) {
    std::vector<int64_t> members, around;
    for (int64_t i = 0; i < loops; ++i) {
      if (height[i] != level) continue;
      members.push_back(i);
      around.push_back(outer[i] < 0 ? loops : outer[i]);
    }
    batch.levels.push_back(torch::tensor(members));
    batch.outer_of.push_back(torch::tensor(around));
  }
  batch.row_of_loop = torch::tensor(row_of);
  return batch;
}

class TreeGruImpl : public torch::nn::Module {
 public:
  TreeGruImpl(int64_t width, int64_t columns, const TreeGruOptions& options)
      : hidden_(options.hidden), slots_(options.slots) {
    embed_ = register_module("embed", torch::nn::Linear(width, hidden_));
    cell_ = register_module("cell", torch::nn::GRUCell(hidden_, hidden_));
    share_ = register_module("share", torch::nn::Linear(hidden_, slots_));
    whole_ = register_module("whole", torch::nn::Linear(columns, hidden_));
    join_ = register_module("join", torch::nn::Linear(slots_ * hidden_ + hidden_, hidden_));
    out_ = register_module("out", torch::nn::Linear(hidden_, 1));
  }

  torch::Tensor forward(const TreeBatch& batch) {
    const int64_t loops = batch.contexts.size(0);
    const torch::Tensor x = torch::relu(embed_(batch.contexts));
    torch::Tensor inner = torch::zeros({loops + 1, hidden_});  // sums over the loops within; the last row is nobody's
    std::vector<torch::Tensor> states;
    for (size_t level = 0; level < batch.levels.size(); ++level) {
      const torch::Tensor& members = batch.levels[level];
      states.push_back(cell_(x.index_select(0, members), inner.index_select(0, members)));
      inner = inner.index_add(0, batch.outer_of[level], states.back());
    }
    torch::Tensor slots = torch::zeros({batch.rows, slots_ * hidden_});
    if (!states.empty()) {
      const torch::Tensor h = torch::cat(states);
      const torch::Tensor rows = batch.row_of_loop.index_select(0, torch::cat(batch.levels));
      const torch::Tensor share = torch::softmax(share_(h), 1);
      slots = slots.index_add(0, rows, (share.unsqueeze(2) * h.unsqueeze(1)).flatten(1));
    }
    const torch::Tensor joined = torch::cat({slots, torch::relu(whole_(batch.whole))}, 1);
    return out_(torch::relu(join_(joined))).squeeze(1);
  }

 private:
  const int64_t hidden_, slots_;
  torch::nn::Linear embed_ = nullptr, share_ = nullptr, whole_ = nullptr, join_ = nullptr, out_ = nullptr;
  torch::nn::GRUCell cell_ = nullptr;
};

// The mean over every pair of a batch whose scores differ of log(1 + exp(prediction of the slower - prediction of the faster)).
torch::Tensor PairLoss(const torch::Tensor& predicted, const torch::Tensor& scores) {
  const torch::Tensor better = (scores.unsqueeze(1) > scores.unsqueeze(0) + 1e-4).to(torch::kFloat);
  const torch::Tensor difference = predicted.unsqueeze(0) - predicted.unsqueeze(1);
  return (torch::softplus(difference) * better).sum() / better.sum().clamp_min(1.0);
}

}  // namespace tree_gru

using tree_gru::Columns;
using tree_gru::MakeBatch;
using tree_gru::PairLoss;
using tree_gru::Stacked;
using tree_gru::TreeBatch;
using tree_gru::TreeGruImpl;

struct TreeGru::Model {
  std::shared_ptr<TreeGruImpl> network;
  Columns contexts, whole;
  int64_t width = 0, columns = 0;

  TreeBatch Batch(absl::Span<const LoopTreeRow> rows) const {
    TreeBatch batch = MakeBatch(rows, width, columns);
    batch.contexts = contexts.Normalise(batch.contexts);
    batch.whole = whole.Normalise(batch.whole);
    return batch;
  }
};

TreeGru::TreeGru(const TreeGruOptions& options) : options_(options) {}
TreeGru::~TreeGru() = default;

absl::Status TreeGru::Fit(absl::Span<const LoopTreeRow> rows, absl::Span<const double> scores) {
  if (rows.empty() || rows.size() != scores.size())
    return absl::InvalidArgumentError(absl::StrCat("TreeGRU: ", rows.size(), " rows and ", scores.size(), " scores"));
  const LoopTreeRow& first = rows[0];
  if (first.size() == 0) return absl::InvalidArgumentError("TreeGRU: the first row has no loops");
  const int64_t width = static_cast<int64_t>(first.contexts.size()) / first.size();
  const auto columns = static_cast<int64_t>(first.whole.size());
  for (const LoopTreeRow& row : rows) {
    if (static_cast<int64_t>(row.contexts.size()) == width * row.size() &&
        static_cast<int64_t>(row.whole.size()) == columns)
      continue;
    return absl::InvalidArgumentError(absl::StrCat("TreeGRU: rows of different widths: ", width, " numbers a loop and ",
                                                   columns, " a kernel were expected"));
  }
  torch::manual_seed(options_.seed);
  if (options_.threads > 0) torch::set_num_threads(options_.threads);
  model_ = std::make_unique<Model>(Model{std::make_shared<TreeGruImpl>(width, columns, options_),
                                         Columns(Stacked(rows, &LoopTreeRow::contexts, width)),
                                         Columns(Stacked(rows, &LoopTreeRow::whole, columns)), width, columns});
  std::mt19937_64 random(options_.seed);
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0);
  const auto shuffle = [&](auto begin, auto end) {
    for (auto i = end - begin; i > 1; --i) std::swap(begin[i - 1], begin[random() % static_cast<uint64_t>(i)]);
  };
  shuffle(order.begin(), order.end());
  const size_t held = rows.size() < 40 ? 0 : static_cast<size_t>(options_.held_out * static_cast<double>(rows.size()));
  const auto loss = [&](absl::Span<const size_t> which) {
    std::vector<LoopTreeRow> part;
    std::vector<float> labels;
    for (const size_t i : which) {
      part.push_back(rows[i]);
      labels.push_back(static_cast<float>(scores[i]));
    }
    const torch::Tensor predicted = model_->network->forward(model_->Batch(part)), wanted = torch::tensor(labels);
    return options_.rank ? PairLoss(predicted, wanted) : torch::mse_loss(predicted, wanted);
  };
  torch::optim::AdamW optimizer(model_->network->parameters(),
                                torch::optim::AdamWOptions(options_.learning_rate).weight_decay(options_.weight_decay));
  const absl::Span<size_t> learn = absl::MakeSpan(order).subspan(held);
  const absl::Span<const size_t> judge = absl::MakeConstSpan(order).subspan(0, held);
  double best = 1e30;
  int idle = 0;
  std::vector<torch::Tensor> best_weights;
  for (int epoch = 0; epoch < options_.epochs && idle < options_.patience; ++epoch) {
    shuffle(learn.begin(), learn.end());
    const auto size = static_cast<size_t>(options_.rows_per_batch);
    for (size_t begin = 0; begin < learn.size(); begin += size) {
      optimizer.zero_grad();
      const torch::Tensor batch_loss = loss(learn.subspan(begin, size));
      batch_loss.backward();
      torch::nn::utils::clip_grad_norm_(model_->network->parameters(), 1.0);
      optimizer.step();
    }
    if (judge.empty()) continue;
    torch::NoGradGuard no_gradients;
    const double error = loss(judge).item<double>();
    ++idle;
    if (error >= best) continue;
    best = error;
    idle = 0;
    best_weights.clear();
    for (const torch::Tensor& weight : model_->network->parameters()) best_weights.push_back(weight.clone());
  }
  torch::NoGradGuard no_gradients;
  const std::vector<torch::Tensor> weights = model_->network->parameters();
  for (size_t i = 0; i < best_weights.size(); ++i) weights[i].copy_(best_weights[i]);
  return absl::OkStatus();
}

std::vector<double> TreeGru::Predict(absl::Span<const LoopTreeRow> rows) const {
  torch::NoGradGuard no_gradients;
  constexpr size_t kAtOnce = 512;
  std::vector<double> scores;
  for (size_t begin = 0; begin < rows.size(); begin += kAtOnce) {
    const torch::Tensor part = model_->network->forward(model_->Batch(rows.subspan(begin, kAtOnce))).contiguous();
    scores.insert(scores.end(), part.data_ptr<float>(), part.data_ptr<float>() + part.numel());
  }
  return scores;
}

}  // namespace smelt::gnn
