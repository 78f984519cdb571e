// Prints the loop IR so that it reads like C.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/ir/stmt.h"

namespace smelt::kernels::ir {
namespace {

constexpr std::string_view kForNames[] = {"for", "parallel", "vectorized", "unrolled", "block", "thread", "vthread"};

std::string BufferText(const BufferNode& buffer) {
  return absl::StrCat(std::string(hlo::PrimitiveTypeName(buffer.type)), " ", buffer.name, "[",
                      absl::StrJoin(buffer.shape, ", "), "]");
}

void Print(const Stmt& stmt, int indent, std::string* out) {
  if (stmt == nullptr) return;
  const std::string pad(indent * 2, ' ');
  switch (stmt->kind) {
    case StmtKind::kFor: {
      const std::string var = te::ToString(stmt->var);
      absl::StrAppend(out, pad, std::string(ForKindName(stmt->for_kind)), " (", var, " = ", te::ToString(stmt->min),
                      "; ", var, " < ", te::ToString(stmt->min + stmt->extent), "; ++", var, ") {\n");
      Print(stmt->body(), indent + 1, out);
      absl::StrAppend(out, pad, "}\n");
      return;
    }
    case StmtKind::kStore: {
      std::vector<std::string> indices;
      for (const Expr& index : stmt->indices) indices.push_back(te::ToString(index));
      absl::StrAppend(out, pad, stmt->buffer->name, "[", absl::StrJoin(indices, ", "),
                      "] = ", te::ToString(stmt->value));
      if (stmt->predicate) absl::StrAppend(out, " where ", te::ToString(stmt->predicate));
      absl::StrAppend(out, ";\n");
      return;
    }
    case StmtKind::kAllocate:
      absl::StrAppend(out, pad, std::string(stmt->buffer->scope.name), " ", BufferText(*stmt->buffer), ";\n");
      Print(stmt->body(), indent, out);
      return;
    case StmtKind::kIf:
      absl::StrAppend(out, pad, "if (", te::ToString(stmt->condition), ") {\n");
      Print(stmt->then_case, indent + 1, out);
      if (stmt->else_case != nullptr) {
        absl::StrAppend(out, pad, "} else {\n");
        Print(stmt->else_case, indent + 1, out);
      }
      absl::StrAppend(out, pad, "}\n");
      return;
    case StmtKind::kEvaluate:
      absl::StrAppend(out, pad, te::ToString(stmt->value), ";\n");
      return;
    case StmtKind::kAttribute:
      absl::StrAppend(out, pad, "@", stmt->key, "(", stmt->buffer != nullptr ? stmt->buffer->name : "",
                      stmt->buffer != nullptr && stmt->value ? ", " : "", stmt->value ? te::ToString(stmt->value) : "",
                      ")\n");
      Print(stmt->body(), indent, out);
      return;
    case StmtKind::kSeq:
      for (const Stmt& child : stmt->stmts) Print(child, indent, out);
      return;
  }
}

}  // namespace

std::string_view ForKindName(ForKind kind) { return kForNames[static_cast<int>(kind)]; }

std::string ToString(const Stmt& stmt, int indent) {
  std::string text;
  Print(stmt, indent, &text);
  return text;
}

std::string ToString(const Function& function) {
  std::string text = absl::StrCat("void ", function.name, "(");
  for (size_t i = 0; i < function.arguments.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", static_cast<int64_t>(i) < function.input_count ? "const " : "",
                    BufferText(*function.arguments[i]));
  }
  absl::StrAppend(&text, ") {\n");
  for (const Buffer& buffer : function.shared)
    absl::StrAppend(&text, "  ", std::string(buffer->scope.name), " ", BufferText(*buffer), ";\n");
  for (const Phase& phase : function.phases) {
    if (phase.var) {
      const std::string var = te::ToString(phase.var);
      absl::StrAppend(&text, "  parallel (", var, " = 0; ", var, " < ", phase.extent, "; ++", var, ") {\n",
                      ToString(phase.body, 2), "  }\n");
    } else {
      absl::StrAppend(&text, "  {\n", ToString(phase.body, 2), "  }\n");
    }
  }
  return text + "}\n";
}

}  // namespace smelt::kernels::ir
