// Expressions: immutable, typed, hash-consed nodes shared by tensor expressions and the loop IR.
//
// Equal expressions made through the same factory functions are the same node, so comparing pointers compares
// structure, an inlined diamond stays a DAG instead of growing into a tree, and every pass that keeps a memo by node is
// linear. Nodes live as long as an Expr refers to them. Making expressions is thread-safe.
//
//   Var i("i");                                    // an index, s64
//   Expr e = i * 4 + 1;
//   ToString(e)                                    // "((i*4) + 1)"
//
// Integer arithmetic on indices is s64 with floor division. Arithmetic on values has HLO's semantics for the element
// type (see BinaryOp).
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "base/hash.h"
#include "hlo/primitive_type.h"

namespace smelt::kernels::te {

struct BufferNode;  // buffer.h
struct Intrinsic;   // intrinsic.h

using hlo::PrimitiveType;

// Element type and number of vector lanes. Pred has one byte in memory and is an i1 in registers.
struct DataType {
  PrimitiveType element = PrimitiveType::kS64;
  int lanes = 1;

  DataType WithLanes(int n) const { return {element, n}; }
  bool operator==(const DataType&) const = default;
};
inline constexpr DataType kIndex{PrimitiveType::kS64, 1};
inline constexpr DataType kBool{PrimitiveType::kPred, 1};

enum class ExprKind : uint8_t {
  kInt,         // integer, pred or index constant
  kFloat,       // floating constant
  kVar,         // loop variable or parameter of a combiner
  kUnary,       // UnaryOp
  kBinary,      // BinaryOp
  kCompare,     // CompareOp; ordered comparisons, kNe is unordered
  kSelect,      // both sides are evaluated
  kIf,          // only the chosen side's loads are performed; lowering turns it into a select over predicated loads
  kCast,        // HLO convert semantics
  kBitCast,     // same bits
  kTensorRead,  // te only: element of a tensor (operation output)
  kReduce,      // te only, at the top of a compute body
  kLoad,        // loop IR: element of a buffer, with optional predicate
  kRamp,        // base, base+stride, ... over lanes
  kSplat,       // a scalar in all lanes
  kCall,        // of an intrinsic
  kAddress,     // loop IR: where an element of a buffer lies; an operand of calls only
};

enum class UnaryOp : uint8_t {
  kNegate,
  kAbs,
  kNot,
  kSign,
  kFloor,
  kCeil,
  kRoundEven,
  kRoundAfz,
  kSqrt,
  kRsqrt,
  kCbrt,
  kExp,
  kExpm1,
  kLog,
  kLog1p,
  kTanh,
  kLogistic,
  kSin,
  kCos,
  kTan,
  kErf,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kAsinh,
  kAcosh,
  kAtanh,
  kIsFinite,
  kPopcount,
  kClz,
};

enum class BinaryOp : uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,       // values: HLO divide (x/0 = -1, INT_MIN/-1 = INT_MIN); not for indices
  kRem,       // values: HLO remainder
  kFloorDiv,  // indices
  kFloorMod,  // indices
  kMin,
  kMax,  // values: NaN if either is NaN
  kAnd,
  kOr,
  kXor,  // bitwise; logical on pred
  kShiftLeft,
  kShiftRightLogical,
  kShiftRightArithmetic,  // HLO: shifting by the width or more gives 0 (or the sign)
  kPower,
  kAtan2,
};

enum class CompareOp : uint8_t { kEq, kNe, kLt, kLe, kGt, kGe };

struct ExprNode;
class Operation;  // te/tensor.h
struct Combiner;  // te/tensor.h

class Expr {
 public:
  Expr() = default;
  Expr(int64_t value);  // an index constant
  Expr(int value) : Expr(static_cast<int64_t>(value)) {}
  explicit Expr(std::shared_ptr<const ExprNode> node) : node_(std::move(node)) {}

  const ExprNode* get() const { return node_.get(); }
  const ExprNode* operator->() const { return node_.get(); }
  const ExprNode& operator*() const { return *node_; }
  explicit operator bool() const { return node_ != nullptr; }
  bool Same(const Expr& other) const { return node_ == other.node_; }
  DataType type() const;
  const std::shared_ptr<const ExprNode>& shared() const { return node_; }

 private:
  std::shared_ptr<const ExprNode> node_;
};

// Fields are used as `kind` says; the rest stay empty.
struct ExprNode {
  ExprKind kind;
  DataType type;
  uint8_t op = 0;          // UnaryOp, BinaryOp or CompareOp
  int64_t int_value = 0;   // kInt; kVar: unique id; kReduce, kTensorRead: output index
  double float_value = 0;  // kFloat
  std::string name;        // kVar
  // kUnary, kCast, kBitCast, kSplat: {x}; kBinary, kCompare: {a, b}; kSelect, kIf: {condition, then, else}; kRamp:
  // {base, stride}; kTensorRead, kLoad, kAddress: indices; kReduce: sources, one a combiner output
  std::vector<Expr> operands;
  std::shared_ptr<const Operation> tensor;     // kTensorRead
  std::shared_ptr<const BufferNode> buffer;    // kLoad, kAddress
  std::shared_ptr<const Intrinsic> intrinsic;  // kCall
  Expr predicate;                            // kLoad: performed only where true, otherwise the value is 0; may be null
  std::shared_ptr<const Combiner> combiner;  // kReduce
  std::vector<Expr> reduce_axes;             // kReduce: kVar nodes
  std::vector<int64_t> reduce_extents;       // kReduce: of reduce_axes
  std::vector<Expr> init;                    // kReduce: initial accumulators, one an output
  Hash128 hash;                              // structural; variables by id

  UnaryOp unary() const { return static_cast<UnaryOp>(op); }
  BinaryOp binary() const { return static_cast<BinaryOp>(op); }
  CompareOp compare() const { return static_cast<CompareOp>(op); }
};

// A fresh index variable: two Vars of one name differ.
class Var : public Expr {
 public:
  explicit Var(std::string name, DataType type = kIndex);
};

Expr IntConst(DataType type, int64_t value);
Expr FloatConst(DataType type, double value);
Expr Bool(bool value);
Expr Unary(UnaryOp op, Expr x);
Expr Binary(BinaryOp op, Expr a, Expr b);    // types must agree
Expr Compare(CompareOp op, Expr a, Expr b);  // pred with the operands' lanes
Expr Select(Expr condition, Expr then, Expr otherwise);
Expr If(Expr condition, Expr then, Expr otherwise);
Expr Cast(DataType type, Expr x);
Expr BitCast(DataType type, Expr x);
Expr Ramp(Expr base, Expr stride, int lanes);
Expr Splat(Expr x, int lanes);
Expr Load(std::shared_ptr<const BufferNode> buffer, std::vector<Expr> indices, Expr predicate = Expr());
Expr AddressOf(std::shared_ptr<const BufferNode> buffer, std::vector<Expr> indices);
// The operands fit (Intrinsic::TypeOf): whoever makes calls from what users write asks first.
Expr Call(std::shared_ptr<const Intrinsic> intrinsic, std::vector<Expr> operands);
// A copy of `node` with other operands (and predicate), re-made through the factories and so consed and
// constant-folded.
Expr WithOperands(const Expr& node, std::vector<Expr> operands, Expr predicate = Expr());

// Index arithmetic, folded where both sides are constant.
Expr operator+(const Expr& a, const Expr& b);
Expr operator-(const Expr& a, const Expr& b);
Expr operator*(const Expr& a, const Expr& b);
Expr FloorDiv(const Expr& a, const Expr& b);
Expr FloorMod(const Expr& a, const Expr& b);
Expr Min(const Expr& a, const Expr& b);
Expr Max(const Expr& a, const Expr& b);
Expr operator<(const Expr& a, const Expr& b);
Expr operator<=(const Expr& a, const Expr& b);
Expr operator>=(const Expr& a, const Expr& b);
Expr operator==(const Expr& a, const Expr& b);
Expr And(const Expr& a, const Expr& b);
Expr Or(const Expr& a, const Expr& b);
Expr Not(const Expr& a);
// What all must hold for a condition to, from left to right: the condition itself where it is no conjunction.
std::vector<Expr> Conjuncts(const Expr& condition);
// Deleted, because `a && b` could mean And of the values as well as "both expressions are set".
template <std::derived_from<Expr> A, std::derived_from<Expr> B>
Expr operator&&(const A& a, const B& b) = delete;

bool IsConstInt(const Expr& e, int64_t* value = nullptr);
std::string ToString(const Expr& e);

// Rebuilds bottom-up, visiting every distinct node once. `leaf` returns a replacement, or a null Expr to keep the node
// and go on below it.
Expr Rewrite(const Expr& e, const std::function<Expr(const Expr&)>& leaf);
// Replaces variables.
Expr Substitute(const Expr& e, const std::vector<std::pair<Expr, Expr>>& replacements);
// Visits every distinct node once, operands first.
void Visit(const Expr& e, absl::FunctionRef<void(const Expr&)> visit);
// The same until `visit` returns false; whether it never did.
bool VisitWhile(const Expr& e, absl::FunctionRef<bool(const Expr&)> visit);
// Whether some node of the expression is so, or is this one.
bool Contains(const Expr& e, absl::FunctionRef<bool(const Expr&)> is);
bool Mentions(const Expr& e, const Expr& node);

}  // namespace smelt::kernels::te
