#include "kernels/lower/tensorize.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace smelt::kernels::lower {
namespace {

using schedule::Stage;
using schedule::TensorIntrinsic;
using te::ExprKind;
using te::IterVar;

std::string TypeName(te::DataType type) { return std::string(hlo::PrimitiveTypeName(type.element)); }

class Matcher {
 public:
  Matcher(const schedule::State& state, const Stage& stage, const Nest& nest, te::Simplifier& simplifier)
      : state_(state),
        stage_(stage),
        nest_(nest),
        simplifier_(simplifier),
        intrinsic_(*stage.tensor_intrinsic),
        declared_(*intrinsic_.output.op) {
    const int first = stage.LeafPosition(stage.tensorized);
    for (size_t i = 0; i < nest.loops.size(); ++i) {
      if (static_cast<int>(i) < first) {
        match_.reduces_outside |= nest.loops[i].reduce;
        continue;
      }
      at_first_.emplace_back(nest.loops[i].var, Expr(0));
      iterations_ *= nest.loops[i].extent;
    }
  }

  absl::StatusOr<TensorMatch> Run() {
    for (const Guard& guard : nest_.guards) SMELT_RETURN_IF_ERROR(CheckCondition(guard.condition, guard.mask));
    SMELT_RETURN_IF_ERROR(MatchAxes("axis", stage_.axes, nest_.indices, declared_.axes, &match_.output));
    std::vector<Expr> ignored;
    SMELT_RETURN_IF_ERROR(
        MatchAxes("reduce axis", stage_.reduce_axes, nest_.reduce_indices, declared_.reduce_axes, &ignored));
    if (elements_ != iterations_)
      return Differs(absl::StrCat("the loops run ", iterations_, " times, the tile has ", elements_, " points"));
    SMELT_RETURN_IF_ERROR(MatchBody());
    return std::move(match_);
  }

 private:
  absl::Status Differs(const std::string& what) const {
    return absl::InvalidArgumentError(absl::StrCat("stage `", stage_.name, "`: loop `",
                                                   stage_.loops[stage_.tensorized].name, "` is not the intrinsic `",
                                                   intrinsic_.name, "`: ", what));
  }

  bool IsWithin(const Expr& e) const {
    return std::any_of(at_first_.begin(), at_first_.end(),
                       [&](const std::pair<Expr, Expr>& at) { return te::Mentions(e, at.first); });
  }

  absl::Status CheckCondition(const Expr& condition, bool mask) const {
    if (!mask && !IsWithin(condition)) return absl::OkStatus();
    return Differs(absl::StrCat("the tile exists in part only, where ", te::ToString(condition),
                                "; split so that it divides the extent, or pad"));
  }

  // The tile's extent along each axis, and where it begins.
  absl::Status MatchAxes(const char* kind, const std::vector<IterVar>& axes, const std::vector<Expr>& values,
                         const std::vector<IterVar>& declared, std::vector<Expr>* first) {
    if (axes.size() < declared.size())
      return Differs(absl::StrCat("the stage has ", axes.size(), " ", kind, "s, it has ", declared.size()));
    const size_t leading = axes.size() - declared.size();
    for (size_t d = 0; d < axes.size(); ++d) {
      first->push_back(simplifier_.Simplify(te::Substitute(values[d], at_first_)));
      const Expr local = simplifier_.Simplify(values[d] - first->back());
      const te::Interval range = simplifier_.Bounds(local);
      const int64_t want = d < leading ? 1 : declared[d - leading].extent;
      if (range.lo != 0 || range.hi != want - 1)
        return Differs(absl::StrCat("the tile is ",
                                    range.IsFinite() ? absl::StrCat(range.hi - range.lo + 1) : "unbounded", " along ",
                                    kind, " ", d, " of the stage, it is ", want));
      if (!OnlyWithin(local))
        return Differs(absl::StrCat("where the tile begins along ", kind, " ", d,
                                    " depends on the point in it: ", te::ToString(values[d])));
      elements_ *= want;
      Expr at = first->back();
      if (d >= leading) {
        const Expr& var = declared[d - leading].var;
        simplifier_.Bind(var, {0, want - 1});
        at_origin_.emplace_back(var, Expr(0));
        at = at + var;
      }
      over_declared_.emplace_back(axes[d].var, at);
    }
    return absl::OkStatus();
  }

  bool OnlyWithin(const Expr& e) const {
    return te::VisitWhile(e, [&](const Expr& node) { return node->kind != ExprKind::kVar || IsWithin(node); });
  }

  absl::Status MatchBody() {
    if (stage_.bodies.size() != 1) return Differs("the stage has several outputs");
    Stage resolved = stage_;
    schedule::ResolveInlined(state_, &resolved);
    Expr found = resolved.bodies[0], want = declared_.bodies[0];
    if ((found->kind == ExprKind::kReduce) != (want->kind == ExprKind::kReduce))
      return Differs(want->kind == ExprKind::kReduce ? "it reduces, the stage does not" : "the stage reduces");
    match_.inputs.resize(intrinsic_.inputs.size());
    if (want->kind == ExprKind::kReduce) {
      SMELT_RETURN_IF_ERROR(MatchReduction(*found, *want));
      found = found->operands[0];
      want = want->operands[0];
    }
    return Match(simplifier_.Simplify(want), simplifier_.Simplify(te::Substitute(found, over_declared_)));
  }

  absl::Status MatchReduction(const te::ExprNode& found, const te::ExprNode& want) const {
    const te::Combiner &a = *want.combiner, &b = *found.combiner;
    if (a.results.size() != 1 || b.results.size() != 1) return Differs("one of them reduces to several results");
    if (a.lhs[0].type() != b.lhs[0].type())
      return Differs(
          absl::StrCat("it sums up in ", TypeName(a.lhs[0].type()), ", the stage in ", TypeName(b.lhs[0].type())));
    const Expr result = te::Substitute(b.results[0], {{b.lhs[0], a.lhs[0]}, {b.rhs[0], a.rhs[0]}});
    if (!result.Same(a.results[0]))
      return Differs(
          absl::StrCat("it combines by ", te::ToString(a.results[0]), ", the stage by ", te::ToString(result)));
    // Without a reset it adds to whatever the reduction begins with.
    if (intrinsic_.reset == nullptr && intrinsic_.full == nullptr) return absl::OkStatus();
    if (!want.init[0].Same(found.init[0]))
      return Differs(
          absl::StrCat("it begins at ", te::ToString(want.init[0]), ", the stage at ", te::ToString(found.init[0])));
    return absl::OkStatus();
  }

  // Declarations are small, so this recurses.
  absl::Status Match(const Expr& want, const Expr& found) {
    if (want.type() != found.type())
      return Differs(absl::StrCat("it has ", te::ToString(want), " of type ", TypeName(want.type()),
                                  " where the stage has ", te::ToString(found), " of type ", TypeName(found.type())));
    if (want->kind == ExprKind::kTensorRead && found->kind == ExprKind::kTensorRead) return MatchRead(*want, *found);
    const bool leaf = want->operands.empty();
    if (leaf ? !want.Same(found)
             : want->kind != found->kind || want->op != found->op || want->operands.size() != found->operands.size() ||
                   want->intrinsic != found->intrinsic)
      return Differs(absl::StrCat("it has ", te::ToString(want), " where the stage has ", te::ToString(found)));
    const std::vector<Read> before = match_.inputs;
    absl::Status first;
    for (size_t i = 0; i < want->operands.size() && first.ok(); ++i)
      first = Match(want->operands[i], found->operands[i]);
    if (first.ok() || want->kind != ExprKind::kBinary || !Commutes(want->binary())) return first;
    match_.inputs = before;
    if (Match(want->operands[0], found->operands[1]).ok() && Match(want->operands[1], found->operands[0]).ok())
      return absl::OkStatus();
    match_.inputs = before;
    return first;
  }

  static bool Commutes(te::BinaryOp op) {
    return op == te::BinaryOp::kAdd || op == te::BinaryOp::kMul || op == te::BinaryOp::kMin || op == te::BinaryOp::kMax;
  }

  absl::Status MatchRead(const te::ExprNode& want, const te::ExprNode& found) {
    const std::string name = want.tensor->name;
    if (found.operands.size() < want.operands.size())
      return Differs(absl::StrCat("`", found.tensor->name, "` has fewer dimensions than its operand `", name, "`"));
    const size_t leading = found.operands.size() - want.operands.size();
    Read read{found.tensor.get(), {}, false};
    for (size_t d = 0; d < found.operands.size(); ++d) {
      read.indices.push_back(simplifier_.Simplify(te::Substitute(found.operands[d], at_origin_)));
      const Expr local = simplifier_.Simplify(found.operands[d] - read.indices.back());
      const Expr expected = d < leading ? Expr(0) : simplifier_.Simplify(want.operands[d - leading]);
      if (!local.Same(expected))
        return Differs(absl::StrCat("along dimension ", d, " of `", found.tensor->name, "` the tile reads at ",
                                    te::ToString(local), ", its operand `", name, "` at ", te::ToString(expected)));
    }
    for (size_t i = 0; i < intrinsic_.inputs.size(); ++i) {
      if (intrinsic_.inputs[i].op != want.tensor) continue;
      Read& known = match_.inputs[i];
      bool same = known.tensor == nullptr || known.tensor == read.tensor;
      for (size_t d = 0; same && d < known.indices.size(); ++d) same = known.indices[d].Same(read.indices[d]);
      if (!same) return Differs(absl::StrCat("its operand `", name, "` would be two different tiles"));
      known = std::move(read);
      return absl::OkStatus();
    }
    return Differs(absl::StrCat("its declaration reads `", name, "`, which is none of its inputs"));
  }

  const schedule::State& state_;
  const Stage& stage_;
  const Nest& nest_;
  te::Simplifier& simplifier_;
  const TensorIntrinsic& intrinsic_;
  const te::Operation& declared_;
  std::vector<std::pair<Expr, Expr>> at_first_;       // the loops of the tile, and 0
  std::vector<std::pair<Expr, Expr>> at_origin_;      // the declared axes, and 0
  std::vector<std::pair<Expr, Expr>> over_declared_;  // the stage's axes over the declared ones
  int64_t iterations_ = 1, elements_ = 1;
  TensorMatch match_;
};

}  // namespace

absl::StatusOr<TensorMatch> MatchTensorIntrinsic(const schedule::State& state, const Stage& stage, const Nest& nest,
                                                 te::Simplifier& simplifier) {
  return Matcher(state, stage, nest, simplifier).Run();
}

}  // namespace smelt::kernels::lower
