#include "hlo/passes/dot_dimension_merger.h"

#include <vector>

#include "absl/algorithm/container.h"
#include "hlo/rewrite/graph_builder.h"
#include "hlo/rewrite/rewrite_each.h"

namespace smelt::hlo {
namespace {

// Elements of a vector of floats on the widest processors.
constexpr int64_t kVector = 16;

// Dimensions of an operand that the result has behind those of the batch, in their order.
std::vector<int64_t> FreeDimensions(int64_t rank, const std::vector<int64_t>& contracting,
                                    const std::vector<int64_t>& batch) {
  std::vector<int64_t> free;
  for (int64_t d = 0; d < rank; ++d) {
    if (!absl::c_linear_search(contracting, d) && !absl::c_linear_search(batch, d)) free.push_back(d);
  }
  return free;
}

bool Merge(Instruction& dot) {
  const Shape& result = dot.shape();
  if (dot.HasControlEdges() || result.IsDynamic() || result.rank() < 2 || !result.HasDefaultLayout()) return false;
  if (result.dimensions.back() >= kVector) return false;
  DotAttributes attributes = dot.attributes<DotAttributes>();
  if (!attributes.lhs_ragged.empty() || !attributes.rhs_group.empty()) return false;
  const auto free_of = [&](int64_t side) {
    return side == 0 ? FreeDimensions(dot.operand(0)->shape().rank(), attributes.lhs_contracting, attributes.lhs_batch)
                     : FreeDimensions(dot.operand(1)->shape().rank(), attributes.rhs_contracting, attributes.rhs_batch);
  };
  const int64_t side = free_of(1).empty() ? 0 : 1;
  const std::vector<int64_t> free = free_of(side);
  const Shape& shape = dot.operand(side)->shape();
  if (shape.IsDynamic() || !shape.HasDefaultLayout()) return false;
  size_t merged = free.empty() ? 0 : 1;  // how many of the last of them lie beside each other
  const auto meets_next = [&](size_t i) {
    for (int64_t d = free[i] + 1; d < free[i + 1]; ++d) {
      if (shape.dimensions[d] != 1) return false;
    }
    return true;
  };
  while (merged > 0 && merged < free.size() && meets_next(free.size() - 1 - merged)) ++merged;
  if (merged < 2) return false;

  // Dimensions `first` to free.back() become one, before which those of one element between them come.
  const int64_t first = free[free.size() - merged];
  std::vector<int64_t> dimensions, moved(shape.rank());
  int64_t extent = 1;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    const bool joins = d >= first && absl::c_linear_search(free, d);
    if (joins) extent *= shape.dimensions[d];
    if (joins && d != free.back()) continue;
    moved[d] = static_cast<int64_t>(dimensions.size());
    dimensions.push_back(joins ? extent : shape.dimensions[d]);
  }
  if (extent < kVector) return false;
  for (std::vector<int64_t>* list : side == 0 ? std::vector{&attributes.lhs_contracting, &attributes.lhs_batch}
                                              : std::vector{&attributes.rhs_contracting, &attributes.rhs_batch}) {
    for (int64_t& d : *list) d = moved[d];
  }
  std::vector<int64_t> narrow(result.dimensions.begin(), result.dimensions.end() - static_cast<int64_t>(merged));
  narrow.push_back(extent);

  GraphBuilder build(dot);
  std::vector<Instruction*> operands = {dot.operand(0), dot.operand(1)};
  operands[side] = build.Reshape(operands[side], dimensions);
  Instruction* product = build.Add(Opcode::kDot, Shape::Array(result.element_type, narrow), operands, attributes);
  product->raw_attributes() = dot.raw_attributes();
  return ReplaceKeepingName(dot, product, build.Reshape(product, result.dimensions));
}

}  // namespace

absl::StatusOr<bool> MergeDotDimensions(Module& module) { return RewriteEach(module, Opcode::kDot, Merge); }

}  // namespace smelt::hlo
