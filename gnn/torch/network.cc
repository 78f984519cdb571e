#include "gnn/torch/network.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "gnn/features/features.h"
#include "hlo/opcode.h"

namespace smelt::gnn {

torch::Tensor NetworkImpl::Weight(const std::string& name, std::vector<int64_t> shape, int64_t fan_in) {
  // Parameter names may not hold dots in LibTorch; the map keeps ours.
  std::string registered = name;
  for (char& c : registered) c = c == '.' ? '_' : c;
  torch::Tensor weight = torch::zeros(shape);
  if (fan_in > 0) weight.uniform_(-std::sqrt(3.0 / fan_in), std::sqrt(3.0 / fan_in));
  return weights_[name] = register_parameter(registered, weight);
}

NetworkImpl::NetworkImpl(NetworkKind kind, int64_t hidden, int64_t layers, int64_t embedding, bool tiles,
                         double dropout)
    : kind_(kind), hidden_(hidden), layers_(kind == NetworkKind::kLstm ? 1 : layers), tiles_(tiles), dropout_(dropout) {
  const int64_t node_columns = static_cast<int64_t>(NodeColumns().size());
  const int64_t kernel_columns = static_cast<int64_t>(KernelColumns().size());
  Weight("embedding", {hlo::kOpcodeCount, embedding}, 3);
  Weight("input.opcode", {hidden, embedding}, embedding);
  Weight("input.features", {hidden, node_columns}, node_columns);
  Weight("input.bias", {hidden}, 0);
  int64_t pooled = hidden;
  if (kind == NetworkKind::kLstm) {
    Weight("lstm.input", {4 * hidden, hidden}, hidden);
    Weight("lstm.state", {4 * hidden, hidden}, hidden);
    Weight("lstm.bias", {4 * hidden}, 0);
  } else {
    pooled = 3 * hidden;
    for (int64_t i = 0; i < layers_; ++i) {
      const std::string layer = "sage." + std::to_string(i);
      Weight(layer + ".self", {hidden, hidden}, hidden);
      Weight(layer + ".operands", {hidden, hidden}, hidden);
      Weight(layer + ".users", {hidden, hidden}, hidden);
      Weight(layer + ".bias", {hidden}, 0);
    }
  }
  Weight("head.pooled", {hidden, pooled}, pooled);
  Weight("head.kernel", {hidden, kernel_columns}, kernel_columns);
  if (tiles)
    Weight("head.tile", {hidden, static_cast<int64_t>(TileColumns().size())},
           static_cast<int64_t>(TileColumns().size()));
  Weight("head.bias", {hidden}, 0);
  Weight("hidden.weight", {hidden, hidden}, hidden);
  Weight("hidden.bias", {hidden}, 0);
  // Starts at zero: an untrained model is the analytical one.
  Weight("out.weight", {1, hidden}, 0);
  Weight("out.bias", {1}, 0);
}

torch::Tensor NetworkImpl::Pool(const Batch& batch, const torch::Tensor& h) const {
  const int64_t kernels = batch.kernels.size(0);
  const torch::Tensor sum = torch::zeros({kernels, hidden_}).index_add_(0, batch.kernel_of_node, h);
  const torch::Tensor count =
      torch::zeros({kernels, 1}).index_add_(0, batch.kernel_of_node, torch::ones({h.size(0), 1}));
  // The maximum of each kernel's rows: kernels lie one after the other.
  std::vector<torch::Tensor> maxima;
  int64_t begin = 0;
  for (int64_t length : batch.lengths) {
    maxima.push_back(std::get<0>(h.narrow(0, begin, length).max(0)));
    begin += length;
  }
  return torch::cat({sum / count, torch::stack(maxima), sum / 32.0}, 1);
}

torch::Tensor NetworkImpl::LastState(const Batch& batch, const torch::Tensor& x) const {
  const int64_t kernels = batch.kernels.size(0);
  const int64_t longest = *std::max_element(batch.lengths.begin(), batch.lengths.end());
  // Gates of the input for all nodes at once; the recurrence then goes over the positions of all kernels together.
  const torch::Tensor gates_of_input = torch::matmul(x, weights_.at("lstm.input").t()) + weights_.at("lstm.bias");
  std::vector<int64_t> begins;
  int64_t begin = 0;
  for (int64_t length : batch.lengths) {
    begins.push_back(begin);
    begin += length;
  }
  torch::Tensor h = torch::zeros({kernels, hidden_}), c = torch::zeros({kernels, hidden_});
  const torch::Tensor first = torch::tensor(begins), lengths = torch::tensor(batch.lengths);
  for (int64_t t = 0; t < longest; ++t) {
    const torch::Tensor alive = (lengths > t).to(torch::kFloat).unsqueeze(1);
    const torch::Tensor row = first + torch::minimum(torch::full_like(lengths, t), lengths - 1);
    const torch::Tensor gates = gates_of_input.index_select(0, row) + torch::matmul(h, weights_.at("lstm.state").t());
    const std::vector<torch::Tensor> g = gates.chunk(4, 1);
    const torch::Tensor next_c = torch::sigmoid(g[1]) * c + torch::sigmoid(g[0]) * torch::tanh(g[2]);
    const torch::Tensor next_h = torch::sigmoid(g[3]) * torch::tanh(next_c);
    c = alive * next_c + (1 - alive) * c;
    h = alive * next_h + (1 - alive) * h;
  }
  return h;
}

torch::Tensor NetworkImpl::forward(const Batch& batch) {
  auto linear = [&](const torch::Tensor& x, const std::string& name) {
    return torch::matmul(x, weights_.at(name).t());
  };
  const torch::Tensor embedded = linear(weights_.at("embedding"), "input.opcode").index_select(0, batch.opcodes);
  torch::Tensor h = torch::relu(embedded + linear(batch.nodes, "input.features") + weights_.at("input.bias"));
  torch::Tensor pooled;
  if (kind_ == NetworkKind::kLstm) {
    pooled = LastState(batch, h);
  } else {
    for (int64_t i = 0; i < layers_; ++i) {
      const std::string layer = "sage." + std::to_string(i);
      // The linear maps come before the sums: sums of hidden_-wide rows cost the same, and the products run over nodes
      // instead of edges.
      const torch::Tensor from_operands =
          torch::zeros_like(h).index_add_(0, batch.target,
                                          linear(h, layer + ".operands").index_select(0, batch.source)) *
          batch.operand_weight;
      const torch::Tensor from_users =
          torch::zeros_like(h).index_add_(0, batch.source, linear(h, layer + ".users").index_select(0, batch.target)) *
          batch.user_weight;
      h = h + torch::relu(linear(h, layer + ".self") + from_operands + from_users + weights_.at(layer + ".bias"));
      h = h / (h.norm(2, 1, true) / std::sqrt(static_cast<double>(hidden_)) + 1e-6);
    }
    pooled = Pool(batch, h);
  }
  pooled = torch::dropout(pooled, dropout_, is_training());
  torch::Tensor joined =
      linear(pooled, "head.pooled") + linear(batch.kernels, "head.kernel") + weights_.at("head.bias");
  if (tiles_) joined = joined.index_select(0, batch.kernel_of_row) + linear(batch.tiles, "head.tile");
  const torch::Tensor first = torch::dropout(torch::relu(joined), dropout_, is_training());
  const torch::Tensor hidden = torch::relu(linear(first, "hidden.weight") + weights_.at("hidden.bias"));
  return batch.base + (linear(hidden, "out.weight") + weights_.at("out.bias")).squeeze(1);
}

std::map<std::string, WeightTensor> NetworkImpl::Export() const {
  std::map<std::string, WeightTensor> weights;
  for (const auto& [name, tensor] : weights_) {
    const torch::Tensor t = tensor.detach().contiguous();
    weights[name] = {t.sizes().vec(), std::vector<float>(t.data_ptr<float>(), t.data_ptr<float>() + t.numel())};
  }
  return weights;
}

absl::Status NetworkImpl::Import(const std::map<std::string, WeightTensor>& weights) {
  torch::NoGradGuard no_gradients;
  for (auto& [name, tensor] : weights_) {
    const auto it = weights.find(name);
    if (it == weights.end() || it->second.shape != tensor.sizes().vec()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the model to begin with has no weights `", name, "` of the shape that this network has"));
    }
    tensor.copy_(torch::tensor(it->second.values).view(it->second.shape));
  }
  return absl::OkStatus();
}

}  // namespace smelt::gnn
