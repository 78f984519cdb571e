#include "gnn/dataset/packed_graph.h"

#include <cstring>
#include <utility>

namespace smelt::gnn {
namespace {

size_t Width() { return NodeColumns().size(); }

}  // namespace

int32_t NodeRows::Add(const float* row) {
  const size_t width = Width();
  const Hash128 content = HashOf({reinterpret_cast<const char*>(row), width * sizeof(float)});
  const auto [entry, is_new] = numbers_.try_emplace(content, static_cast<int32_t>(begins_.size()));
  if (!is_new) return entry->second;
  const size_t begin = data_.size();
  begins_.push_back(begin);
  data_.resize(begin + (width + 7) / 8, 0);
  for (size_t c = 0; c < width; ++c) {
    if (row[c] == 0) continue;
    data_[begin + c / 8] = static_cast<uint8_t>(data_[begin + c / 8] | 1 << c % 8);
    const size_t end = data_.size();
    data_.resize(end + sizeof(float));
    std::memcpy(&data_[end], &row[c], sizeof(float));
  }
  return entry->second;
}

void NodeRows::Read(int32_t number, float* row) const {
  const size_t width = Width();
  const uint8_t* bits = &data_[begins_[static_cast<size_t>(number)]];
  const uint8_t* value = bits + (width + 7) / 8;
  for (size_t c = 0; c < width; ++c) {
    row[c] = 0;
    if ((bits[c / 8] >> c % 8 & 1) == 0) continue;
    std::memcpy(&row[c], value, sizeof(float));
    value += sizeof(float);
  }
}

PackedGraph::PackedGraph(const KernelGraph& graph, std::shared_ptr<NodeRows> rows)
    : nodes_(graph.node_count()), kernel_features_(graph.kernel_features) {
  words_.reserve(3 * graph.opcodes.size() + graph.operands.size());
  for (size_t i = 0; i < graph.opcodes.size(); ++i) {
    const int32_t begin = graph.operand_begin[i], end = graph.operand_begin[i + 1];
    words_.push_back(graph.opcodes[i]);
    words_.push_back(rows->Add(&graph.node_features[i * Width()]));
    words_.push_back(end - begin);
    words_.insert(words_.end(), graph.operands.begin() + begin, graph.operands.begin() + end);
  }
  rows_ = std::move(rows);
}

KernelGraph PackedGraph::Unpack() const {
  KernelGraph graph;
  const size_t width = Width();
  graph.opcodes.reserve(static_cast<size_t>(nodes_));
  graph.operand_begin.reserve(static_cast<size_t>(nodes_) + 1);
  graph.node_features.resize(static_cast<size_t>(nodes_) * width);
  graph.operand_begin.push_back(0);
  for (size_t at = 0; at < words_.size();) {
    rows_->Read(words_[at + 1], &graph.node_features[graph.opcodes.size() * width]);
    graph.opcodes.push_back(words_[at]);
    const size_t operands = static_cast<size_t>(words_[at + 2]);
    at += 3;
    graph.operands.insert(graph.operands.end(), words_.begin() + static_cast<int64_t>(at),
                          words_.begin() + static_cast<int64_t>(at + operands));
    at += operands;
    graph.operand_begin.push_back(static_cast<int32_t>(graph.operands.size()));
  }
  graph.kernel_features = kernel_features_;
  return graph;
}

std::vector<int32_t> PackedGraph::Opcodes() const {
  std::vector<int32_t> opcodes;
  opcodes.reserve(static_cast<size_t>(nodes_));
  for (size_t at = 0; at < words_.size(); at += 3 + static_cast<size_t>(words_[at + 2])) opcodes.push_back(words_[at]);
  return opcodes;
}

}  // namespace smelt::gnn
