#include "kernels/te/program.h"

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace smelt::kernels::te {

int Program::Add(const Expr& root) {
  Visit(root, [&](const Expr& e) {
    if (numbers_.contains(e.get())) return;
    Node node;
    node.e = e;
    for (const Expr& child : e->operands) node.operands.push_back(numbers_.at(child.get()));
    if (e->predicate) node.predicate = numbers_.at(e->predicate.get());
    node.first = static_cast<int>(values_.size());
    values_.resize(values_.size() + e.type().lanes);
    if (e->kind == ExprKind::kInt || e->kind == ExprKind::kFloat) {
      values_[node.first] = {.i = e->int_value, .f = e->float_value};
      node.round = kAlways;
    }
    if (e->kind == ExprKind::kVar) node.round = kAlways;
    numbers_.emplace(e.get(), static_cast<int>(nodes_.size()));
    nodes_.push_back(std::move(node));
  });
  return numbers_.at(root.get());
}

void Program::Set(const Expr& var, Scalar value) {
  auto it = numbers_.find(var.get());
  if (it != numbers_.end()) values_[nodes_[it->second].first] = value;
}

absl::Status Program::Evaluate(int number, absl::Span<const Scalar>* lanes) {
  stack_.assign(1, number);
  while (!stack_.empty()) {
    const int top = stack_.back();
    if (Fresh(top)) {
      stack_.pop_back();
      continue;
    }
    Node& node = nodes_[top];
    const size_t before = stack_.size();
    const auto need = [&](int operand) {
      if (!Fresh(operand)) stack_.push_back(operand);
    };
    if (node.e->kind == ExprKind::kIf) {
      need(node.operands[0]);
      if (stack_.size() == before) {
        bool any_true = false, any_false = false;
        for (int lane = 0; lane < node.e.type().lanes; ++lane)
          (Lane(node.operands[0], lane).i != 0 ? any_true : any_false) = true;
        if (any_true) need(node.operands[1]);
        if (any_false) need(node.operands[2]);
      }
    } else {
      for (int operand : node.operands) need(operand);
      if (node.predicate >= 0) need(node.predicate);
    }
    if (stack_.size() != before) continue;
    SMELT_RETURN_IF_ERROR(Compute(node));
    node.round = round_;
    stack_.pop_back();
  }
  const Node& node = nodes_[number];
  *lanes = absl::MakeConstSpan(&values_[node.first], node.e.type().lanes);
  return absl::OkStatus();
}

absl::Status Program::Evaluate(int number, Scalar* value) {
  absl::Span<const Scalar> lanes;
  SMELT_RETURN_IF_ERROR(Evaluate(number, &lanes));
  *value = lanes[0];
  return absl::OkStatus();
}

absl::Status Program::ComputeCall(Node& node) {
  std::vector<Argument> arguments;
  for (const int operand : node.operands) {
    const Node& given = nodes_[operand];
    arguments.push_back({absl::MakeConstSpan(&values_[given.first], given.e.type().lanes), given.place});
  }
  const Intrinsic& intrinsic = *node.e->intrinsic;
  if (intrinsic.interpret == nullptr)
    return absl::UnimplementedError(absl::StrCat("`", intrinsic.name, "` has no meaning for the interpreter"));
  const bool has_value = node.e.type().element != PrimitiveType::kToken;
  return intrinsic.interpret(arguments, absl::MakeSpan(&values_[node.first], has_value ? node.e.type().lanes : 0));
}

absl::Status Program::Compute(Node& node) {
  const ExprNode& e = *node.e;
  if (e.kind == ExprKind::kCall) return ComputeCall(node);
  const auto operand_type = [&](int i) { return e.operands[i].type().element; };
  const bool indexed = e.kind == ExprKind::kLoad || e.kind == ExprKind::kTensorRead || e.kind == ExprKind::kAddress;
  std::vector<int64_t> indices(indexed ? e.operands.size() : 0);
  for (int lane = 0; lane < e.type.lanes; ++lane) {
    const auto x = [&](int i) -> const Scalar& { return Lane(node.operands[i], lane); };
    Scalar result;
    switch (e.kind) {
      case ExprKind::kInt:
      case ExprKind::kFloat:
      case ExprKind::kVar:
        break;
      case ExprKind::kUnary:
        result = EvaluateUnary(e.unary(), operand_type(0), x(0));
        break;
      case ExprKind::kBinary:
        if ((e.binary() == BinaryOp::kFloorDiv || e.binary() == BinaryOp::kFloorMod) && x(1).i <= 0)
          return absl::InternalError(absl::StrCat("division by ", x(1).i, " in ", ToString(node.e)));
        result = EvaluateBinary(e.binary(), operand_type(0), x(0), x(1));
        break;
      case ExprKind::kCompare:
        result.i = EvaluateCompare(e.compare(), operand_type(0), x(0), x(1));
        break;
      case ExprKind::kSelect:
      case ExprKind::kIf:
        result = x(0).i != 0 ? x(1) : x(2);
        break;
      case ExprKind::kCast:
        result = EvaluateCast(operand_type(0), e.type.element, x(0));
        break;
      case ExprKind::kBitCast:
        result = EvaluateBitCast(operand_type(0), e.type.element, x(0));
        break;
      case ExprKind::kRamp:
        result.i = x(0).i + x(1).i * lane;
        break;
      case ExprKind::kSplat:
        result = x(0);
        break;
      case ExprKind::kTensorRead:
      case ExprKind::kLoad:
        if (node.predicate >= 0 && Lane(node.predicate, lane).i == 0) break;
        for (size_t d = 0; d < indices.size(); ++d) indices[d] = x(static_cast<int>(d)).i;
        SMELT_RETURN_IF_ERROR(reader_(e, indices, &result));
        break;
      case ExprKind::kAddress:
        if (locator_ == nullptr) return absl::InternalError("an address outside of a lowered kernel");
        for (size_t d = 0; d < indices.size(); ++d) indices[d] = x(static_cast<int>(d)).i;
        SMELT_RETURN_IF_ERROR(locator_(e, indices, &node.place));
        break;
      case ExprKind::kCall:
        break;
      case ExprKind::kReduce:
        return absl::InternalError("a reduction inside an expression");
    }
    values_[node.first + lane] = result;
  }
  return absl::OkStatus();
}

}  // namespace smelt::kernels::te
