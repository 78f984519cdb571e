#include "kernels/lower/flatten.h"

#include "absl/container/flat_hash_map.h"
#include "kernels/ir/access.h"
#include "kernels/lower/simplify.h"

namespace smelt::kernels::lower {
namespace {

class Flattener {
 public:
  explicit Flattener(te::Simplifier& simplifier)
      : simplifier_(simplifier),
        mapper_([this](const ir::Buffer& buffer, const std::vector<Expr>& indices) { return Map(buffer, indices); }) {}

  void Run(ir::Function& function) {
    for (std::vector<ir::Buffer>* buffers : {&function.arguments, &function.shared}) {
      for (ir::Buffer& buffer : *buffers) buffer = Flat(buffer);
    }
    for (ir::Phase& phase : function.phases) {
      const Stmt flat = mapper_(phase.body, [this](const ir::Buffer& buffer) { return Flat(buffer); });
      phase.body = SimplifyStmt(simplifier_, flat);
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
    return {Flat(buffer), {simplifier_.Simplify(index)}};
  }

  te::Simplifier& simplifier_;
  absl::flat_hash_map<ir::Buffer, ir::Buffer> flat_;  // by the buffer with its dimensions
  ir::AccessMapper mapper_;
};

}  // namespace

absl::StatusOr<ir::Function> FlattenStorage(ir::Function function, PassContext& context) {
  Flattener(context.simplifier).Run(function);
  return function;
}

}  // namespace smelt::kernels::lower
