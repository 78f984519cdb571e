// The networks in LibTorch, for training. Prediction uses gnn/native with the weights that Export gives. Included by
// gnn/torch/*.cc only.
//
// GraphSAGE as in the TPU papers (Kaufman et al., MLSys 2021, Section 3.2): opcode embedding and node features through
// a feed-forward layer, then k layers
//   h_i <- h_i + relu(W_self h_i + W_operands mean(h of operands) + W_users mean(h of users) + b), divided by its L2
//   norm
// without sampling, with own weights for operands and users; mean, maximum and scaled sum over the nodes beside the
// kernel's features feed the head. No normalisation mixes the kernels of a batch. The LSTM baseline replaces layers and
// pooling by the last state over the nodes in topological order.
//
// The head joins a tile late: relu(W_kernel k + W_tile t + b), relu(W_hidden . + b), w_out . + b: the kernel is
// embedded once for all of its tiles. While training, a share `dropout` of the pooled values and of the head's hidden
// values is zero: kernels of held-out programs are what counts. Output: added to the logarithm of the analytical
// estimate (of the kernel, or of the tile) that the caller gives as `base`.
#pragma once

#include <torch/torch.h>

#include <map>
#include <string>

#include "absl/status/status.h"
#include "gnn/model/model_file.h"

namespace smelt::gnn {

// Several kernels laid end to end.
struct Batch {
  torch::Tensor opcodes;         // [nodes] int64
  torch::Tensor nodes;           // [nodes, node columns], normalised
  torch::Tensor kernel_of_node;  // [nodes] int64
  torch::Tensor source, target;  // [edges] int64: source is an operand of target
  torch::Tensor operand_weight;  // [nodes, 1]: 1 / number of operands, 0 without
  torch::Tensor user_weight;     // [nodes, 1]
  torch::Tensor kernels;         // [kernels, kernel columns], normalised
  torch::Tensor tiles;           // [rows, tile columns], normalised; undefined for the fusion task
  torch::Tensor kernel_of_row;   // [rows] int64; undefined for the fusion task: a row a kernel
  torch::Tensor base;            // [rows]: log of the analytical estimate / 100 ns
  torch::Tensor labels;          // [rows]: log of the measured time / 100 ns
  std::vector<int64_t> lengths;  // nodes of each kernel
};

class NetworkImpl : public torch::nn::Module {
 public:
  NetworkImpl(NetworkKind kind, int64_t hidden, int64_t layers, int64_t embedding, bool tiles, double dropout);
  torch::Tensor forward(const Batch& batch);  // [rows]
  std::map<std::string, WeightTensor> Export() const;
  // Takes these weights; InvalidArgument where names or shapes are others.
  absl::Status Import(const std::map<std::string, WeightTensor>& weights);

 private:
  torch::Tensor Weight(const std::string& name, std::vector<int64_t> shape, int64_t fan_in);
  torch::Tensor Pool(const Batch& batch, const torch::Tensor& h) const;
  torch::Tensor LastState(const Batch& batch, const torch::Tensor& x) const;

  NetworkKind kind_;
  int64_t hidden_, layers_;
  bool tiles_;
  double dropout_;
  std::map<std::string, torch::Tensor> weights_;
};
TORCH_MODULE(Network);

}  // namespace smelt::gnn
