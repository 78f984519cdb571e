// Tensor expressions: operations that say what each element of a tensor is, and nothing about how it is computed.
//
//   Tensor a = Placeholder("a", {64, 32}, PrimitiveType::kF32);
//   Tensor b = Placeholder("b", {32, 16}, PrimitiveType::kF32);
//   ReduceAxis k(32, "k");
//   Tensor c = Compute("c", {64, 16}, [&](auto i) { return Sum(a(i[0], k) * b(k, i[1]), {k}); });
//
// After TVM (Chen et al., OSDI 2018, Section 4.1). An operation may have several outputs over one index domain:
// variadic reductions, and the several results of a multi-output kernel.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "kernels/te/expr.h"

namespace smelt::kernels::te {

struct IterVar {
  Expr var;            // a kVar
  int64_t extent = 1;  // ranges over [0, extent)
};

// Joins two partial results, (lhs, rhs) -> results, one of each an output. Assumed commutative and associative when it
// is reordered.
struct Combiner {
  std::vector<Expr> lhs;       // kVar: accumulators
  std::vector<Expr> rhs;       // kVar: new elements
  std::vector<Expr> results;   // over lhs and rhs
  std::vector<Expr> identity;  // constants; empty when unknown: then the reduction is neither split by rfactor nor
                               // vectorised over its axis
};
// The combiners of HLO that have a known identity: kAdd, kMul, kMin, kMax, kAnd, kOr on one type.
std::shared_ptr<const Combiner> SimpleCombiner(BinaryOp op, PrimitiveType type);

enum class OperationKind : uint8_t { kPlaceholder, kCompute };

class Operation : public std::enable_shared_from_this<Operation> {
 public:
  OperationKind kind;
  std::string name;  // unique in its graph
  std::vector<int64_t> shape;
  std::vector<PrimitiveType> types;  // one an output
  std::vector<IterVar> axes;         // kCompute: one a dimension
  std::vector<IterVar> reduce_axes;  // kCompute
  // kCompute: one an output, over axes and reduce_axes. Either all are plain, or all are the kReduce nodes of one
  // combiner (node's int_value is the output), possibly wrapped in nothing else: an epilogue is an operation of its
  // own.
  std::vector<Expr> bodies;
  std::string tag;  // what made it, for default schedules and features: an HLO opcode name such as "dot"

  bool IsReduction() const { return !reduce_axes.empty(); }
  // The operations that the bodies read, each once, in order of first appearance.
  std::vector<std::shared_ptr<const Operation>> Inputs() const;
};
using OperationRef = std::shared_ptr<const Operation>;

// One output of an operation.
struct Tensor {
  OperationRef op;
  int output = 0;

  absl::Span<const int64_t> shape() const { return op->shape; }
  PrimitiveType type() const { return op->types[output]; }
  Expr operator()(std::vector<Expr> indices) const;
  template <typename... Index>
  Expr operator()(Index... index) const {
    return (*this)(std::vector<Expr>{index...});
  }
};

// An axis to sum over; converts to its variable.
class ReduceAxis : public Var {
 public:
  ReduceAxis(int64_t extent, std::string name) : Var(std::move(name)), extent_(extent) {}
  int64_t extent() const { return extent_; }

 private:
  int64_t extent_;
};

using Indices = absl::Span<const Expr>;

Tensor Placeholder(std::string name, std::vector<int64_t> shape, PrimitiveType type);
Tensor Compute(std::string name, std::vector<int64_t> shape, const std::function<Expr(Indices)>& body,
               std::string tag = "");
// Several outputs over one domain.
OperationRef ComputeMany(std::string name, std::vector<int64_t> shape,
                         const std::function<std::vector<Expr>(Indices)>& bodies, std::string tag = "");

// Reductions, only at the top of a body. `init` defaults to the combiner's identity.
Expr Reduce(std::shared_ptr<const Combiner> combiner, Expr source, std::vector<ReduceAxis> axes, Expr init = Expr());
std::vector<Expr> ReduceMany(std::shared_ptr<const Combiner> combiner, std::vector<Expr> sources,
                             std::vector<ReduceAxis> axes, std::vector<Expr> init);
Expr Sum(Expr source, std::vector<ReduceAxis> axes);

// What a kernel computes: its inputs in parameter order and its outputs in result order. Operations come producers
// first.
struct Graph {
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  std::vector<OperationRef> operations;  // all, placeholders included, in topological order
};
Graph MakeGraph(std::vector<Tensor> inputs, std::vector<Tensor> outputs);
std::string ToString(const Graph& graph);

}  // namespace smelt::kernels::te
