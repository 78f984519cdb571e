// Primitives that rewrite a sum of products so that instructions fit it: pad_reduction and shift_operand.
#include "absl/strings/str_cat.h"
#include "base/ceil_div.h"
#include "base/status_macros.h"
#include "kernels/schedule/state.h"

namespace smelt::kernels::schedule {
namespace {

using te::BinaryOp;
using te::DataType;
using te::Expr;
using te::ExprKind;
using te::ReduceAxis;

// One side of the product: an element of a tensor, converted.
struct Factor {
  Expr whole;
  Expr read;
};

struct Product {
  std::shared_ptr<const te::Combiner> combiner;
  Factor factors[2];
  Expr init;
};

bool ReadsTensors(const Expr& e) {
  return te::Contains(e, [](const Expr& node) { return node->kind == ExprKind::kTensorRead; });
}

// Takes the stage's body apart; an error where it is no sum of products of two converted elements.
absl::StatusOr<Product> ProductOf(const Stage& stage, std::string_view primitive) {
  const auto illegal = [&] {
    return Illegal(primitive, stage.name, "it is no sum of products of two elements, each of a tensor and converted");
  };
  if (stage.bodies.size() != 1 || stage.bodies[0]->kind != ExprKind::kReduce) return illegal();
  const te::ExprNode& reduce = *stage.bodies[0];
  const Expr& result = reduce.combiner->results[0];
  if (reduce.operands.size() != 1 || result->kind != ExprKind::kBinary || result->binary() != BinaryOp::kAdd)
    return illegal();
  const Expr& source = reduce.operands[0];
  if (source->kind != ExprKind::kBinary || source->binary() != BinaryOp::kMul) return illegal();
  Product product{.combiner = reduce.combiner, .init = reduce.init[0]};
  for (int i = 0; i < 2; ++i) {
    Factor& factor = product.factors[i];
    factor.whole = factor.read = source->operands[i];
    while (factor.read->kind == ExprKind::kCast) factor.read = factor.read->operands[0];
    if (factor.read->kind != ExprKind::kTensorRead) return illegal();
    for (const Expr& index : factor.read->operands) {
      if (ReadsTensors(index)) return illegal();
    }
  }
  return product;
}

Expr Replaced(const Expr& e, const Expr& from, const Expr& to) {
  return te::Rewrite(e, [&](const Expr& node) { return node.Same(from) ? to : Expr(); });
}

// The axes anew, and what stands for the old ones.
std::vector<ReduceAxis> FreshAxes(const std::vector<te::IterVar>& axes, std::vector<std::pair<Expr, Expr>>* replaced) {
  std::vector<ReduceAxis> fresh;
  for (size_t r = 0; r < axes.size(); ++r) {
    fresh.emplace_back(axes[r].extent, absl::StrCat("r", r));
    replaced->emplace_back(axes[r].var, fresh.back());
  }
  return fresh;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> PadSum(State& state, std::string_view name, std::string_view loop_name,
                                                int64_t multiple) {
  SMELT_ASSIGN_OR_RETURN(Stage * stage, state.Find(name));
  const auto illegal = [&](const std::string& why) {
    return Illegal("pad_reduction", name, absl::StrCat("loop `", std::string(loop_name), "`: ", why));
  };
  if (stage->placeholder || stage->attach == Attach::kInline) return illegal("the stage is an input or inlined");
  SMELT_RETURN_IF_ERROR(CheckLoops(*stage, "pad_reduction"));
  const int leaf = stage->FindLeaf(loop_name);
  if (leaf < 0) return illegal("there is no such loop");
  const int r = leaf - stage->AxisCount();
  if (r < 0 || r >= static_cast<int>(stage->reduce_axes.size()))
    return illegal("it is no reduce axis as the stage has them: pad before it is split");
  constexpr int64_t kMost = 1 << 16;
  if (multiple < 1 || multiple > kMost)
    return illegal(absl::StrCat("a multiple of ", multiple, " must lie between 1 and ", kMost));
  if (stage->loops[leaf].kind != ir::ForKind::kSerial || stage->loops[leaf].IsAnnotated() ||
      !state.AttachedAt(name, leaf).empty())
    return illegal("it is annotated, or something is computed at it; pad before that");
  Stage resolved = *stage;
  ResolveInlined(state, &resolved);
  SMELT_ASSIGN_OR_RETURN(const Product product, ProductOf(resolved, "pad_reduction"));
  const te::IterVar axis = stage->reduce_axes[r];
  const int64_t padded = CeilDiv(axis.extent, multiple) * multiple;
  Stage pads[2];
  Expr source = resolved.bodies[0]->operands[0];
  for (int i = 0; i < 2; ++i) {
    const Expr& read = product.factors[i].read;
    const Stage& tensor = state.stages[state.IndexOf(read->tensor.get())];
    int along = -1;
    for (size_t d = 0; d < read->operands.size(); ++d) {
      if (!te::Mentions(read->operands[d], axis.var)) continue;
      if (along >= 0 || !read->operands[d].Same(axis.var) || tensor.shape[d] != axis.extent)
        return illegal(absl::StrCat("stage `", tensor.name, "` is not read along a whole dimension by it"));
      along = static_cast<int>(d);
    }
    if (along < 0) return illegal(absl::StrCat("stage `", tensor.name, "` is not read along it"));
    std::vector<int64_t> shape = tensor.shape;
    shape[along] = padded;
    const DataType type = read.type();
    const Expr zero = hlo::IsFloat(type.element) ? te::FloatConst(type, 0) : te::IntConst(type, 0);
    const te::OperationRef op = te::ComputeMany(
        absl::StrCat(tensor.name, ".pad"), shape,
        [&](te::Indices at) {
          const std::vector<Expr> indices(at.begin(), at.end());
          const Expr element = ReadOf(tensor, static_cast<int>(read->int_value), indices);
          return std::vector<Expr>{te::If(at[along] < Expr(axis.extent), element, zero)};
        },
        "pad");
    pads[i] = StageOf(*op, op, state.scopes);
    source = Replaced(source, read, te::Tensor{op, 0}(read->operands));
  }
  std::vector<std::pair<Expr, Expr>> replaced;
  stage->reduce_axes[r].extent = padded;
  const std::vector<ReduceAxis> axes = FreshAxes(stage->reduce_axes, &replaced);
  stage->bodies = te::ReduceMany(product.combiner, {te::Substitute(source, replaced)}, axes, {product.init});
  for (size_t a = 0; a < axes.size(); ++a) stage->reduce_axes[a].var = axes[a];
  stage->loops[leaf].extent = padded;
  std::vector<std::string> names;
  for (int i = 0; i < 2; ++i) {
    const int at = state.IndexOf(product.factors[i].read->tensor.get()) + 1;
    names.push_back(state.Insert(at, std::move(pads[i])).name);
  }
  return names;
}

absl::StatusOr<std::string> ShiftFactor(State& state, std::string_view name, std::string_view tensor_name) {
  SMELT_ASSIGN_OR_RETURN(Stage * stage, state.Find(name));
  SMELT_ASSIGN_OR_RETURN(Stage * tensor, state.Find(tensor_name));
  const auto illegal = [&](const std::string& why) {
    return Illegal("shift_operand", name, absl::StrCat("operand `", std::string(tensor_name), "`: ", why));
  };
  if (stage->placeholder || stage->attach == Attach::kInline) return illegal("the stage is an input or inlined");
  SMELT_RETURN_IF_ERROR(CheckLoops(*stage, "shift_operand"));
  Stage resolved = *stage;
  ResolveInlined(state, &resolved);
  SMELT_ASSIGN_OR_RETURN(const Product product, ProductOf(resolved, "shift_operand"));
  const bool first = product.factors[0].read->tensor == tensor->identity;
  if (!first && product.factors[1].read->tensor != tensor->identity)
    return illegal("the stage does not multiply by it");
  const Factor& factor = product.factors[first ? 0 : 1];
  const Factor& other = product.factors[first ? 1 : 0];
  constexpr DataType kSum{te::PrimitiveType::kS32, 1}, kNarrow{te::PrimitiveType::kS8, 1};
  if (stage->types[0] != kSum.element || factor.read.type() != kNarrow || factor.whole->kind != ExprKind::kCast ||
      !factor.whole->operands[0].Same(factor.read))
    return illegal("it is not of s8 converted to s32, in which the stage sums up");
  // a * b is (a + 128) * b - 128 * b, also where sums wrap.
  const Expr shifted = te::Cast(
      kSum,
      te::BitCast({te::PrimitiveType::kU8, 1}, te::Binary(BinaryOp::kXor, factor.read, te::IntConst(kNarrow, -128))));
  // The sums of the other operand, over the axes that it depends on.
  std::vector<size_t> kept;
  std::vector<int64_t> shape;
  for (size_t a = 0; a < stage->axes.size(); ++a) {
    if (!te::Mentions(other.read, stage->axes[a].var)) continue;
    kept.push_back(a);
    shape.push_back(stage->axes[a].extent);
  }
  const te::OperationRef sums = te::ComputeMany(absl::StrCat(stage->name, ".shift"), shape, [&](te::Indices at) {
    std::vector<std::pair<Expr, Expr>> replaced;
    const std::vector<ReduceAxis> axes = FreshAxes(stage->reduce_axes, &replaced);
    for (size_t i = 0; i < kept.size(); ++i) replaced.emplace_back(stage->axes[kept[i]].var, at[i]);
    return std::vector<Expr>{
        te::Reduce(te::SimpleCombiner(BinaryOp::kAdd, kSum.element), te::Substitute(other.whole, replaced), axes)};
  });
  std::vector<Expr> at;
  for (const size_t a : kept) at.push_back(stage->axes[a].var);
  const Expr correction = te::Binary(BinaryOp::kMul, te::Tensor{sums, 0}(at), te::IntConst(kSum, -128));
  int64_t constant = -1;
  const bool from_zero = te::IsConstInt(product.init, &constant) && constant == 0;
  const Expr init = from_zero ? correction : te::Binary(BinaryOp::kAdd, product.init, correction);
  std::vector<std::pair<Expr, Expr>> replaced;
  const std::vector<ReduceAxis> axes = FreshAxes(stage->reduce_axes, &replaced);
  const Expr source = Replaced(resolved.bodies[0]->operands[0], factor.whole, shifted);
  stage->bodies = te::ReduceMany(product.combiner, {te::Substitute(source, replaced)}, axes, {init});
  for (size_t a = 0; a < axes.size(); ++a) stage->reduce_axes[a].var = axes[a];
  return state.Insert(state.IndexOf(name), StageOf(*sums, sums, state.scopes)).name;
}

}  // namespace smelt::kernels::schedule
