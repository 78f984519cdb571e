// Storage flattening: every buffer becomes a row of elements, every access has one index. Before it, indices have the
// dimensions of what is stored: of tensors, or of their layout.
#include "absl/container/flat_hash_map.h"
#include "kernels/ir/access.h"
#include "kernels/lower/lowering.h"

namespace smelt::kernels::lower {
namespace {

class Flattener {
 public:
  explicit Flattener(Lowering& lowering)
      : lowering_(lowering),
        mapper_([this](const ir::Buffer& buffer, const std::vector<Expr>& indices) { return Map(buffer, indices); }) {}

  void Run() {
    ir::Function& function = lowering_.function;
    for (std::vector<ir::Buffer>* buffers : {&function.arguments, &function.shared}) {
      for (ir::Buffer& buffer : *buffers) buffer = Flat(buffer);
    }
    for (ir::Phase& phase : function.phases) {
      const Stmt flat = mapper_(phase.body, [this](const ir::Buffer& buffer) { return Flat(buffer); });
      phase.body = SimplifyStmt(lowering_.simplifier, flat);
    }
  }

 private:
  ir::Buffer Flat(const ir::Buffer& buffer) {
    if (buffer->shape.size() == 1) return buffer;
    ir::Buffer& flat = flat_[buffer];
    if (flat == nullptr) {
      ir::BufferNode node = *buffer;
      node.shape = {buffer->ElementCount()};
      flat = std::make_shared<const ir::BufferNode>(std::move(node));
    }
    return flat;
  }

  ir::Access Map(const ir::Buffer& buffer, const std::vector<Expr>& indices) {
    if (buffer->shape.size() == 1) return {};
    Expr index(0);
    for (size_t d = 0; d < indices.size(); ++d) index = index * Expr(buffer->shape[d]) + indices[d];
    return {Flat(buffer), {lowering_.simplifier.Simplify(index)}};
  }

  Lowering& lowering_;
  absl::flat_hash_map<ir::Buffer, ir::Buffer> flat_;  // by the buffer with its dimensions
  ir::AccessMapper mapper_;
};

}  // namespace

void FlattenStorage(Lowering& lowering) { Flattener(lowering).Run(); }

}  // namespace smelt::kernels::lower
