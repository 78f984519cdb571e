#include "kernels/lower/storage_align.h"

#include <map>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kernels/ir/access.h"
#include "kernels/ir/annotation.h"
#include "kernels/ir/mutate.h"

namespace smelt::kernels::lower {
namespace {

struct Wish {
  int64_t factor = 1, offset = 0;
};
// The key is an axis, counted from the last one.
using Wishes = std::map<int64_t, Wish>;

struct Aligned {
  ir::Buffer buffer;
  size_t outer = 0;              // dimensions that stay: those up to the outermost aligned axis
  std::vector<int64_t> strides;  // of those within
};

absl::StatusOr<Aligned> Align(const ir::Buffer& buffer, const Wishes& wishes) {
  const int64_t rank = static_cast<int64_t>(buffer->shape.size());
  Aligned aligned;
  std::vector<int64_t> strides(rank, 1);
  for (int64_t d = rank - 2; d >= 0; --d) {
    int64_t& stride = strides[d];
    if (__builtin_mul_overflow(strides[d + 1], std::max<int64_t>(buffer->shape[d + 1], 1), &stride) ||
        stride > (int64_t{1} << 40))
      return absl::InvalidArgumentError(absl::StrCat("stage `", buffer->name, "`: its strides are too large to align"));
    const auto wish = wishes.find(rank - 1 - d);
    if (wish == wishes.end()) continue;
    const auto& [factor, offset] = wish->second;
    stride += ((offset - stride) % factor + factor) % factor;
    aligned.outer = d + 1;
  }
  ir::BufferNode node = *buffer;
  node.shape.resize(aligned.outer);
  node.shape.push_back(strides[aligned.outer - 1]);
  aligned.strides.assign(strides.begin() + static_cast<int64_t>(aligned.outer), strides.end());
  aligned.buffer = std::make_shared<const ir::BufferNode>(std::move(node));
  if (aligned.buffer->ByteSize() > buffer->scope.capacity_bytes)
    return absl::InvalidArgumentError(absl::StrCat(
        "stage `", buffer->name, "` takes ", aligned.buffer->ByteSize(), " bytes of ", std::string(buffer->scope.name),
        " memory with its strides aligned, at most ", buffer->scope.capacity_bytes, " are allowed"));
  return aligned;
}

}  // namespace

absl::StatusOr<ir::Function> AlignStorage(ir::Function function, PassContext& context) {
  absl::flat_hash_map<ir::Buffer, Wishes> wishes;
  for (const ir::Phase& phase : function.phases) {
    ir::VisitStmts(phase.body, [&](const ir::StmtNode& node) {
      if (!ir::IsAnnotation(node, ir::kStorageAlign)) return;
      int64_t axis = 0;
      Wish wish;
      const std::vector<Expr> facts = ir::FactsOf(node);
      te::IsConstInt(facts[0], &axis);
      te::IsConstInt(facts[1], &wish.factor);
      te::IsConstInt(facts[2], &wish.offset);
      wishes[node.buffer][axis] = wish;
    });
  }
  if (wishes.empty()) return function;
  absl::flat_hash_map<const ir::BufferNode*, Aligned> aligned;
  for (const auto& [buffer, of_buffer] : wishes) {
    SMELT_ASSIGN_OR_RETURN(aligned[buffer.get()], Align(buffer, of_buffer));
  }
  ir::AccessMapper mapper([&](const ir::Buffer& buffer, const std::vector<Expr>& indices) {
    const auto it = aligned.find(buffer.get());
    if (it == aligned.end()) return ir::Access{};
    const Aligned& to = it->second;
    ir::Access access{to.buffer, {indices.begin(), indices.begin() + static_cast<int64_t>(to.outer)}};
    Expr within(0);
    for (size_t d = 0; d < to.strides.size(); ++d) within = within + indices[to.outer + d] * Expr(to.strides[d]);
    access.indices.push_back(context.simplifier.Simplify(within));
    return access;
  });
  const auto declare = [&](const ir::Buffer& buffer) {
    const auto it = aligned.find(buffer.get());
    return it == aligned.end() ? buffer : it->second.buffer;
  };
  for (ir::Buffer& buffer : function.shared) buffer = declare(buffer);
  for (ir::Phase& phase : function.phases)
    phase.body = mapper(ir::DropAnnotations(phase.body, ir::kStorageAlign), declare);
  return function;
}

}  // namespace smelt::kernels::lower
