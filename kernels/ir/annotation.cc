#include "kernels/ir/annotation.h"

#include <string>

#include "kernels/ir/mutate.h"
#include "kernels/te/intrinsic.h"

namespace smelt::kernels::ir {
namespace {

const te::IntrinsicRef& FactsEntry() {
  static const auto* entry = new te::IntrinsicRef(
      te::MakeIntrinsic({.name = "facts",
                         .operands = {te::OperandRole::kValue, te::OperandRole::kValue, te::OperandRole::kValue},
                         .type = te::SameAsFirst,
                         .interpret = [](te::Arguments, absl::Span<te::Scalar>) {
                           return absl::InternalError("facts of an attribute are not evaluated");
                         }}));
  return *entry;
}

}  // namespace

Expr Facts(const Expr& a, const Expr& b, const Expr& c) { return te::Call(FactsEntry(), {a, b, c}); }

std::vector<Expr> FactsOf(const StmtNode& attribute) {
  if (!attribute.value || attribute.value->kind != te::ExprKind::kCall) return {};
  return attribute.value->operands;
}

Stmt Annotate(std::string_view key, Buffer buffer, Expr facts, Stmt body) {
  return Attribute(std::string(key), std::move(buffer), std::move(facts), std::move(body));
}

bool IsAnnotation(const StmtNode& stmt, std::string_view key) {
  return stmt.kind == StmtKind::kAttribute && stmt.key == key;
}

Stmt DropAnnotations(const Stmt& stmt, std::string_view key) {
  if (stmt == nullptr) return nullptr;
  const Stmt below = MapChildren(stmt, [&](const Stmt& child) { return DropAnnotations(child, key); });
  return below != nullptr && IsAnnotation(*below, key) ? below->body() : below;
}

}  // namespace smelt::kernels::ir
