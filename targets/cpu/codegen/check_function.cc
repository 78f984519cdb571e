#include "targets/cpu/codegen/check_function.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "targets/cpu/codegen/element_types.h"
#include "targets/cpu/codegen/intrinsic_code.h"

namespace smelt::cpu::codegen {

using kernels::te::BinaryOp;
using kernels::te::ExprKind;
using kernels::te::PrimitiveType;
using kernels::te::UnaryOp;

namespace {

// Distinct expressions and statements of a kernel. LLVM takes seconds for this many; no schedule unrolls that far.
constexpr size_t kMaxNodes = 60000;
constexpr int kMaxDepth = 512;      // of statements
constexpr int kMaxLanes = 1 << 12;  // of a vector

bool OnIntegers(UnaryOp op) {
  switch (op) {
    case UnaryOp::kNegate:
    case UnaryOp::kNot:
    case UnaryOp::kAbs:
    case UnaryOp::kSign:
    case UnaryOp::kPopcount:
    case UnaryOp::kClz:
    case UnaryOp::kIsFinite:
    case UnaryOp::kFloor:
    case UnaryOp::kCeil:
    case UnaryOp::kRoundEven:
    case UnaryOp::kRoundAfz:
      return true;
    default:
      return false;
  }
}

bool OnFloats(UnaryOp op) { return op != UnaryOp::kNot && op != UnaryOp::kPopcount && op != UnaryOp::kClz; }

bool OnIntegers(BinaryOp op) { return op != BinaryOp::kAtan2; }

bool OnFloats(BinaryOp op) {
  switch (op) {
    case BinaryOp::kFloorDiv:
    case BinaryOp::kFloorMod:
    case BinaryOp::kAnd:
    case BinaryOp::kOr:
    case BinaryOp::kXor:
    case BinaryOp::kShiftLeft:
    case BinaryOp::kShiftRightLogical:
    case BinaryOp::kShiftRightArithmetic:
      return false;
    default:
      return true;
  }
}

class Checker {
 public:
  explicit Checker(const HasFeature& has_feature) : has_feature_(has_feature) {}

  CheckedFunction Take() && { return std::move(checked_); }

  absl::Status CheckStmt(const kernels::ir::Stmt& stmt, int depth) {
    if (stmt == nullptr) return absl::OkStatus();
    if (depth > kMaxDepth) return absl::ResourceExhaustedError("loops are nested too deeply to generate code for");
    ++statements_;
    SMELT_RETURN_IF_ERROR(CheckSize());
    const kernels::ir::StmtNode* outer = loop_;
    switch (stmt->kind) {
      case kernels::ir::StmtKind::kFor:
        loop_ = stmt.get();
        SMELT_RETURN_IF_ERROR(CheckExpr(stmt->min));
        SMELT_RETURN_IF_ERROR(CheckExpr(stmt->extent));
        break;
      case kernels::ir::StmtKind::kStore:
        stage_ = stmt->buffer.get();
        SMELT_RETURN_IF_ERROR(CheckAccess(*stmt->buffer, stmt->indices));
        checked_.written.insert(stmt->buffer.get());
        SMELT_RETURN_IF_ERROR(CheckExpr(stmt->indices[0]));
        SMELT_RETURN_IF_ERROR(CheckExpr(stmt->value));
        if (stmt->predicate) SMELT_RETURN_IF_ERROR(CheckExpr(stmt->predicate));
        break;
      case kernels::ir::StmtKind::kIf:
        SMELT_RETURN_IF_ERROR(CheckExpr(stmt->condition));
        break;
      case kernels::ir::StmtKind::kEvaluate:
        SMELT_RETURN_IF_ERROR(CheckExpr(stmt->value));
        break;
      case kernels::ir::StmtKind::kAttribute:
      case kernels::ir::StmtKind::kAllocate:
      case kernels::ir::StmtKind::kSeq:
        break;
    }
    SMELT_RETURN_IF_ERROR(CheckStmt(stmt->then_case, depth + 1));
    SMELT_RETURN_IF_ERROR(CheckStmt(stmt->else_case, depth + 1));
    for (const kernels::ir::Stmt& child : stmt->stmts) SMELT_RETURN_IF_ERROR(CheckStmt(child, depth + 1));
    loop_ = outer;
    return absl::OkStatus();
  }

 private:
  absl::Status CheckSize() const {
    if (seen_.size() + statements_ <= kMaxNodes) return absl::OkStatus();
    return absl::ResourceExhaustedError(
        absl::StrCat("it has more than ", kMaxNodes, " expressions and statements",
                     stage_ == nullptr ? "" : absl::StrCat(" when `", stage_->name, "` is stored"),
                     loop_ == nullptr ? "" : absl::StrCat(" within loop `", loop_->var->name, "`"),
                     ": too many to compile in one piece"));
  }

  absl::Status CheckAccess(const kernels::ir::BufferNode& buffer, const std::vector<kernels::te::Expr>& indices) {
    SMELT_RETURN_IF_ERROR(CheckElementType(buffer.type));
    if (indices.size() == 1) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("buffer `", buffer.name, "` is accessed with ", indices.size(),
                                            " indices: storage must be flattened before code is generated"));
  }

  absl::Status CheckExpr(const kernels::te::Expr& root) {
    std::vector<const kernels::te::ExprNode*> open = {root.get()};
    while (!open.empty()) {
      const kernels::te::ExprNode* node = open.back();
      open.pop_back();
      if (!seen_.insert(node).second) continue;
      SMELT_RETURN_IF_ERROR(CheckSize());
      SMELT_RETURN_IF_ERROR(CheckNode(*node));
      for (const kernels::te::Expr& operand : node->operands) open.push_back(operand.get());
      if (node->predicate) open.push_back(node->predicate.get());
    }
    return absl::OkStatus();
  }

  absl::Status CheckCall(const kernels::te::ExprNode& call) {
    const kernels::te::Intrinsic& intrinsic = *call.intrinsic;
    const IntrinsicCode*& code = checked_.intrinsics[&intrinsic];
    if (code == nullptr) {
      SMELT_ASSIGN_OR_RETURN(code, FindIntrinsicCode(intrinsic.name, has_feature_));
    }
    for (size_t i = 0; i < call.operands.size(); ++i) {
      const kernels::te::OperandRole role = intrinsic.operands[i];
      if (role == kernels::te::OperandRole::kWrite || role == kernels::te::OperandRole::kUpdate)
        checked_.written.insert(call.operands[i]->buffer.get());
    }
    if (call.type.element == PrimitiveType::kToken) return absl::OkStatus();
    return CheckElementType(call.type.element);
  }

  absl::Status CheckNode(const kernels::te::ExprNode& node) {
    if (node.kind == ExprKind::kCall) return CheckCall(node);
    SMELT_RETURN_IF_ERROR(CheckElementType(node.type.element));
    if (node.type.lanes < 1 || node.type.lanes > kMaxLanes) {
      return absl::InvalidArgumentError(absl::StrCat("a vector of ", node.type.lanes, " lanes has no code generation"));
    }
    const PrimitiveType type = node.kind == ExprKind::kUnary && node.unary() == UnaryOp::kIsFinite
                                   ? node.operands[0].type().element
                                   : node.type.element;
    const bool is_float = hlo::IsFloat(type);
    bool known = true;
    switch (node.kind) {
      case ExprKind::kUnary:
        known = is_float ? OnFloats(node.unary()) : OnIntegers(node.unary());
        break;
      case ExprKind::kBinary:
        known = is_float ? OnFloats(node.binary()) : OnIntegers(node.binary());
        break;
      case ExprKind::kLoad:
      case ExprKind::kAddress:
        return CheckAccess(*node.buffer, node.operands);
      case ExprKind::kIf:
      case ExprKind::kTensorRead:
      case ExprKind::kReduce:
        return absl::InternalError("lowering left a conditional, a tensor read or a reduction in an expression");
      default:
        break;
    }
    if (known) return absl::OkStatus();
    return absl::UnimplementedError(absl::StrCat(node.kind == ExprKind::kUnary ? "unary" : "binary", " operation ",
                                                 static_cast<int>(node.op), " has no code for ",
                                                 std::string(hlo::PrimitiveTypeName(type))));
  }

  const HasFeature& has_feature_;
  CheckedFunction checked_;
  absl::flat_hash_set<const kernels::te::ExprNode*> seen_;
  size_t statements_ = 0;
  const kernels::ir::BufferNode* stage_ = nullptr;  // of the last store
  const kernels::ir::StmtNode* loop_ = nullptr;     // around what is looked at
};

}  // namespace

absl::StatusOr<CheckedFunction> CheckFunction(const kernels::ir::Function& function, const HasFeature& has_feature) {
  Checker checker(has_feature);
  for (const kernels::ir::Buffer& buffer : function.arguments) SMELT_RETURN_IF_ERROR(CheckElementType(buffer->type));
  for (const kernels::ir::Phase& phase : function.phases) SMELT_RETURN_IF_ERROR(checker.CheckStmt(phase.body, 0));
  return std::move(checker).Take();
}

}  // namespace smelt::cpu::codegen
