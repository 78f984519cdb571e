// Graphs of many kernels in little memory: what nodes say repeats from kernel to kernel, and most of it is zero.
//
//   const PackedGraph& packed = data.examples[0].graph;   // a few hundred bytes, and the rows that no graph had before
//   KernelGraph graph = packed.Unpack();                  // what it was made of
//
// A corpus of a million kernels of 20 nodes would hold 13 GB of node features as they are made.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/hash.h"
#include "gnn/features/features.h"

namespace smelt::gnn {

// Rows of node features, each distinct one once and without its zeros. Not thread-safe while rows are added.
class NodeRows {
 public:
  // The number of a row, NodeColumns().size() wide.
  int32_t Add(const float* row);
  void Read(int32_t number, float* row) const;
  int64_t count() const { return static_cast<int64_t>(begins_.size()); }

 private:
  absl::flat_hash_map<Hash128, int32_t> numbers_;
  std::vector<uint64_t> begins_;  // of each row in `data_`
  std::vector<uint8_t> data_;     // a bit a column, whether it is not zero; then these
};

class PackedGraph {
 public:
  PackedGraph() = default;
  PackedGraph(const KernelGraph& graph, std::shared_ptr<NodeRows> rows);

  KernelGraph Unpack() const;
  int64_t node_count() const { return nodes_; }
  std::vector<int32_t> Opcodes() const;
  float LogEstimate() const { return kernel_features_[0]; }
  const std::vector<float>& kernel_features() const { return kernel_features_; }

 private:
  std::shared_ptr<const NodeRows> rows_;
  int64_t nodes_ = 0;
  std::vector<int32_t> words_;  // of each node: opcode, row, number of operands, operands
  std::vector<float> kernel_features_;
};

}  // namespace smelt::gnn
