// Printing expressions. A node that several others use is printed once, as `let t1 = ...`, where repeating it would
// make the text long; so is a piece of a very deep chain. The text is linear in the size of the expression.
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/te/buffer.h"
#include "kernels/te/expr.h"
#include "kernels/te/intrinsic.h"
#include "kernels/te/tensor.h"

namespace smelt::kernels::te {
namespace {

constexpr const char* kUnaryNames[] = {
    "-",    "abs",   "!",    "sign",  "floor", "ceil",     "round_even", "round_afz", "sqrt",     "rsqrt", "cbrt",
    "exp",  "expm1", "log",  "log1p", "tanh",  "logistic", "sin",        "cos",       "tan",      "erf",   "asin",
    "acos", "atan",  "sinh", "cosh",  "asinh", "acosh",    "atanh",      "is_finite", "popcount", "clz"};

struct BinaryName {
  const char* text;
  bool infix;
};
constexpr BinaryName kBinaryNames[] = {{"+", true},    {"-", true},     {"*", true},    {"/", true},    {"rem", false},
                                       {"//", true},   {"%", true},     {"min", false}, {"max", false}, {"&", true},
                                       {"|", true},    {"^", true},     {"<<", true},   {">>>", true},  {">>", true},
                                       {"pow", false}, {"atan2", false}};
constexpr const char* kCompareNames[] = {"==", "!=", "<", "<=", ">", ">="};

std::string TypeName(DataType type) {
  std::string name(hlo::PrimitiveTypeName(type.element));
  if (type.lanes > 1) absl::StrAppend(&name, "x", type.lanes);
  return name;
}

std::string List(const std::vector<std::string>& items) { return absl::StrJoin(items, ", "); }

std::string PrintNode(const ExprNode& node, const std::vector<std::string>& x, const std::string& predicate,
                      const std::vector<std::string>& init) {
  switch (node.kind) {
    case ExprKind::kInt:
      if (node.type.element == PrimitiveType::kPred) return node.int_value != 0 ? "true" : "false";
      if (node.type == kIndex) return absl::StrCat(node.int_value);
      return absl::StrCat(TypeName(node.type), "(", node.int_value, ")");
    case ExprKind::kFloat:
      if (node.type.element == PrimitiveType::kF32) return absl::StrCat(absl::SixDigits(node.float_value), "f");
      return absl::StrCat(TypeName(node.type), "(", absl::SixDigits(node.float_value), ")");
    case ExprKind::kVar:
      return node.name;
    case ExprKind::kUnary:
      if (node.unary() == UnaryOp::kNegate || node.unary() == UnaryOp::kNot)
        return absl::StrCat(kUnaryNames[node.op], x[0]);
      return absl::StrCat(kUnaryNames[node.op], "(", x[0], ")");
    case ExprKind::kBinary: {
      const BinaryName& name = kBinaryNames[node.op];
      if (!name.infix) return absl::StrCat(name.text, "(", x[0], ", ", x[1], ")");
      // Products bind tighter to the eye.
      const char* space = node.binary() == BinaryOp::kMul ? "" : " ";
      return absl::StrCat("(", x[0], space, name.text, space, x[1], ")");
    }
    case ExprKind::kCompare:
      return absl::StrCat("(", x[0], " ", kCompareNames[node.op], " ", x[1], ")");
    case ExprKind::kSelect:
      return absl::StrCat("select(", List(x), ")");
    case ExprKind::kIf:
      return absl::StrCat("if(", List(x), ")");
    case ExprKind::kCast:
      return absl::StrCat(TypeName(node.type), "(", x[0], ")");
    case ExprKind::kBitCast:
      return absl::StrCat("bits_", TypeName(node.type), "(", x[0], ")");
    case ExprKind::kTensorRead:
      return absl::StrCat(node.tensor->name, node.int_value != 0 ? absl::StrCat(".", node.int_value) : "", "[", List(x),
                          "]");
    case ExprKind::kReduce: {
      std::vector<std::string> axes;
      for (const Expr& axis : node.reduce_axes) axes.push_back(axis->name);
      return absl::StrCat("reduce.", node.int_value, "({", List(x), "}, axes={", List(axes), "}, init={", List(init),
                          "})");
    }
    case ExprKind::kLoad:
      return absl::StrCat(node.buffer->name, "[", List(x), predicate.empty() ? "" : " where ", predicate, "]");
    case ExprKind::kCall:
      return absl::StrCat(node.intrinsic->name, "(", List(x), ")");
    case ExprKind::kAddress:
      return absl::StrCat("&", node.buffer->name, "[", List(x), "]");
    case ExprKind::kRamp:
      return absl::StrCat("ramp(", List(x), ", ", node.type.lanes, ")");
    case ExprKind::kSplat:
      return absl::StrCat("splat(", x[0], ", ", node.type.lanes, ")");
  }
  return "?";
}

}  // namespace

std::string ToString(const Expr& e) {
  if (!e) return "null";
  absl::flat_hash_map<const ExprNode*, int> uses;
  int64_t nodes = 0;
  Visit(e, [&](const Expr& node) {
    ++nodes;
    for (const Expr& child : node->operands) ++uses[child.get()];
    for (const Expr& child : node->init) ++uses[child.get()];
    if (node->predicate) ++uses[node->predicate.get()];
  });
  constexpr size_t kLongest = 2000;  // characters of one let
  absl::flat_hash_map<const ExprNode*, std::string> texts;
  std::string lets;
  int names = 0;
  Visit(e, [&](const Expr& node) {
    std::vector<std::string> x, init;
    for (const Expr& child : node->operands) x.push_back(texts[child.get()]);
    for (const Expr& child : node->init) init.push_back(texts[child.get()]);
    const std::string predicate = node->predicate ? texts[node->predicate.get()] : "";
    std::string text = PrintNode(*node, x, predicate, init);
    const bool shared = uses[node.get()] > 1 && text.size() > 60 && nodes > 40;
    if ((shared || text.size() > kLongest) && !node.Same(e)) {
      std::string name = absl::StrCat("t", ++names);
      absl::StrAppend(&lets, "let ", name, " = ", text, " in ");
      text = std::move(name);
    }
    // What is used once need not be kept twice.
    for (const Expr& child : node->operands) {
      if (uses[child.get()] == 1) texts.erase(child.get());
    }
    texts[node.get()] = std::move(text);
  });
  return lets + texts[e.get()];
}

}  // namespace smelt::kernels::te
