#include <algorithm>

#include "kernels/te/hlo/rules.h"
#include "kernels/te/simplify/simplifier.h"

namespace smelt::kernels::te {
namespace {

std::vector<Expr> Copy(Indices indices) { return std::vector<Expr>(indices.begin(), indices.end()); }

// What a stage computes where it is read.
Expr BodyOf(const ExprNode& read) {
  const Operation& stage = *read.tensor;
  std::vector<std::pair<Expr, Expr>> positions;
  for (size_t i = 0; i < stage.axes.size(); ++i) positions.emplace_back(stage.axes[i].var, read.operands[i]);
  return Substitute(stage.bodies[read.int_value], positions);
}

// Reads of stages that are looked through for an index; programs write windows with ten.
constexpr int kMostReads = 64;

// `e` with what the stages compute in place of their reads; null where an input or a sum is read, or too many are.
Expr WithoutReads(Expr e) {
  int reads = 0;
  for (bool again = true; again;) {
    again = false;
    bool unknown = false;
    e = Rewrite(e, [&](const Expr& node) {
      if (node->kind != ExprKind::kTensorRead || unknown) return Expr();
      const Operation& stage = *node->tensor;
      if (stage.kind != OperationKind::kCompute || stage.IsReduction() || ++reads > kMostReads) {
        unknown = true;
        return Expr();
      }
      again = true;
      return BodyOf(*node);
    });
    if (unknown) return Expr();
  }
  return e;
}

bool IsIndexArithmetic(const Expr& e) {
  constexpr BinaryOp kOperations[] = {BinaryOp::kAdd,      BinaryOp::kSub,      BinaryOp::kMul, BinaryOp::kMin,
                                      BinaryOp::kFloorDiv, BinaryOp::kFloorMod, BinaryOp::kMax};
  return VisitWhile(e, [&](const Expr& node) {
    const bool leaf = node->kind == ExprKind::kInt || node->kind == ExprKind::kVar;
    const bool arithmetic = node->kind == ExprKind::kBinary && std::find(std::begin(kOperations), std::end(kOperations),
                                                                         node->binary()) != std::end(kOperations);
    return node.type() == kIndex && (leaf || arithmetic);
  });
}

// Where a slice begins that HLO clamps so, as index arithmetic over the position in the result, where it follows from
// that alone: the windows of x[arange(n)[:, None] + arange(k)] are read like a convolution's, and no index is loaded.
// Null where data says it.
Expr StartFromPosition(const Expr& start, Simplifier& simplifier, int64_t size, int64_t slice_size) {
  if (start.type().element == PrimitiveType::kU64) return Expr();  // ClampStart compares them unsigned
  const Expr computed = WithoutReads(start);
  if (!computed) return Expr();
  const Expr position = simplifier.Simplify(Cast(kIndex, computed));
  if (!IsIndexArithmetic(position) || !simplifier.Bounds(position).IsFinite()) return Expr();
  return simplifier.Simplify(Max(Min(position, size - slice_size), 0));
}

// A start index as HLO clamps it: the slice lies within the operand whatever the data says.
Expr ClampStart(const Expr& start, int64_t size, int64_t slice_size) {
  if (size == slice_size) return Expr(0);
  if (start.type().element == PrimitiveType::kU64) {  // an index would be negative from 2^63 on
    return Cast(kIndex, Binary(BinaryOp::kMin, start, IntConst(start.type(), size - slice_size)));
  }
  return Max(Min(Cast(kIndex, start), size - slice_size), 0);
}

// Start indices of dynamic-slice and dynamic-update-slice: scalars from operand `first` on, or one vector (the form
// that older programs use).
std::vector<Expr> StartIndices(const RuleInput& input, int64_t first, const std::vector<int64_t>& sizes,
                               const std::vector<int64_t>& slice_sizes) {
  const bool vector = input.operands.size() > static_cast<size_t>(first) && input.operand_dimensions(first).size() == 1;
  std::vector<Expr> starts;
  for (size_t i = 0; i < sizes.size(); ++i) {
    Expr start = vector ? input.operand(first).At({Expr(static_cast<int64_t>(i))}) : input.operand(first + i).At({});
    starts.push_back(ClampStart(start, sizes[i], slice_sizes[i]));
  }
  return starts;
}

}  // namespace

absl::StatusOr<std::vector<Value>> DynamicSliceRule(const RuleInput& input) {
  const std::vector<Expr> starts = StartIndices(input, 1, input.operand_dimensions(0), input.dimensions());
  return std::vector<Value>{input.Emit([&](Indices indices) {
    std::vector<Expr> position;
    for (size_t i = 0; i < indices.size(); ++i) position.push_back(starts[i] + indices[i]);
    return input.operand(0).At(position);
  })};
}

absl::StatusOr<std::vector<Value>> DynamicUpdateSliceRule(const RuleInput& input) {
  const std::vector<int64_t>& update = input.operand_dimensions(1);
  const std::vector<Expr> starts = StartIndices(input, 2, input.dimensions(), update);
  return std::vector<Value>{input.Emit([&](Indices indices) {
    Expr inside = Bool(true);
    std::vector<Expr> position;
    for (size_t i = 0; i < indices.size(); ++i) {
      position.push_back(indices[i] - starts[i]);
      if (update[i] == input.dimensions()[i]) continue;
      inside = And(And(inside, indices[i] >= starts[i]), indices[i] < starts[i] + update[i]);
    }
    return If(inside, input.operand(1).At(position), input.operand(0).At(Copy(indices)));
  })};
}

// Element of the result at `indices`: the batch dimensions say which row of the start indices applies, the offset
// dimensions where in the slice that begins there.
absl::StatusOr<std::vector<Value>> GatherRule(const RuleInput& input) {
  const hlo::GatherAttributes& gather = input.instruction.attributes<hlo::GatherAttributes>();
  const std::vector<int64_t>& operand = input.operand_dimensions(0);
  const int64_t start_rank = static_cast<int64_t>(input.operand_dimensions(1).size());
  const auto contains = [](const std::vector<int64_t>& list, int64_t value) {
    return std::find(list.begin(), list.end(), value) != list.end();
  };
  return std::vector<Value>{input.Emit([&](Indices indices) {
    std::vector<Expr> batch;
    std::vector<Expr> offsets;
    for (int64_t i = 0; i < static_cast<int64_t>(indices.size()); ++i) {
      (contains(gather.offset_dims, i) ? offsets : batch).push_back(indices[i]);
    }
    const auto start_index = [&](int64_t component) {
      std::vector<Expr> position = batch;
      if (gather.index_vector_dim < start_rank) {
        position.insert(position.begin() + gather.index_vector_dim, Expr(component));
      }
      return input.operand(1).At(position);
    };
    Simplifier simplifier;
    for (size_t i = 0; i < indices.size(); ++i) simplifier.Bind(indices[i], {0, input.dimensions()[i] - 1});
    std::vector<Expr> position(operand.size(), Expr(0));
    for (size_t i = 0; i < gather.start_index_map.size(); ++i) {
      const int64_t d = gather.start_index_map[i];
      Expr start = start_index(static_cast<int64_t>(i));
      // The parts of an index are often put together, as x[rows, columns] has it, only to be read one by one.
      if (start->kind == ExprKind::kTensorRead && start->tensor->tag == "concatenate")
        start = simplifier.Simplify(BodyOf(*start));
      position[d] = StartFromPosition(start, simplifier, operand[d], gather.slice_sizes[d]);
      if (!position[d]) position[d] = ClampStart(start, operand[d], gather.slice_sizes[d]);
    }
    for (size_t i = 0; i < gather.operand_batching_dims.size(); ++i) {
      // The batch dimension of the result that the start indices' batching dimension became.
      const int64_t d = gather.start_indices_batching_dims[i];
      position[gather.operand_batching_dims[i]] = batch[d - (d > gather.index_vector_dim ? 1 : 0)];
    }
    size_t next_offset = 0;
    for (int64_t d = 0; d < static_cast<int64_t>(operand.size()); ++d) {
      if (contains(gather.collapsed_slice_dims, d) || contains(gather.operand_batching_dims, d)) continue;
      position[d] = position[d] + offsets[next_offset++];
    }
    return input.operand(0).At(position);
  })};
}

}  // namespace smelt::kernels::te
