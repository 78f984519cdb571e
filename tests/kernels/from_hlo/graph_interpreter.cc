#include "tests/kernels/from_hlo/graph_interpreter.h"

#include <map>

#include "absl/container/flat_hash_map.h"
#include "base/check.h"
#include "base/float_mode.h"
#include "kernels/te/scalar.h"

namespace smelt::kernels::te {
namespace {

using Values = std::map<std::pair<const Operation*, int>, hlo::Literal>;

class Evaluation {
 public:
  explicit Evaluation(const Values& values) : values_(values) {}

  void Bind(const Expr& var, Scalar value) { bound_[var.get()] = value; }
  void Forget() { known_.clear(); }

  // kIf evaluates only the side that it takes: the other may read out of bounds.
  Scalar Of(const Expr& e) {
    if (e->kind == ExprKind::kVar) return bound_.at(e.get());
    if (const auto found = known_.find(e.get()); found != known_.end()) return found->second;
    const Scalar result = Compute(e);
    known_[e.get()] = result;
    return result;
  }

 private:
  Scalar Compute(const Expr& e) {
    const PrimitiveType type = e->type.element;
    switch (e->kind) {
      case ExprKind::kInt:
        return {.i = e->int_value};
      case ExprKind::kFloat:
        return {.f = e->float_value};
      case ExprKind::kUnary:
        return EvaluateUnary(e->unary(), e->operands[0].type().element, Of(e->operands[0]));
      case ExprKind::kBinary: {
        const Scalar a = Of(e->operands[0]);
        const Scalar b = Of(e->operands[1]);
        if (e->binary() == BinaryOp::kFloorDiv) return {.i = FloorDivide(a.i, b.i)};
        if (e->binary() == BinaryOp::kFloorMod) return {.i = FloorModulo(a.i, b.i)};
        return EvaluateBinary(e->binary(), type, a, b);
      }
      case ExprKind::kCompare:
        return {
            .i = EvaluateCompare(e->compare(), e->operands[0].type().element, Of(e->operands[0]), Of(e->operands[1]))};
      case ExprKind::kSelect: {
        const Scalar a = Of(e->operands[1]);
        const Scalar b = Of(e->operands[2]);
        return Of(e->operands[0]).i != 0 ? a : b;
      }
      case ExprKind::kIf:
        return Of(e->operands[0]).i != 0 ? Of(e->operands[1]) : Of(e->operands[2]);
      case ExprKind::kCast:
        return EvaluateCast(e->operands[0].type().element, type, Of(e->operands[0]));
      case ExprKind::kBitCast:
        return EvaluateBitCast(e->operands[0].type().element, type, Of(e->operands[0]));
      case ExprKind::kTensorRead: {
        const hlo::Literal& literal = values_.at({e->tensor.get(), static_cast<int>(e->int_value)});
        int64_t flat = 0;
        for (size_t d = 0; d < e->operands.size(); ++d) {
          const int64_t index = Of(e->operands[d]).i;
          Check(index >= 0 && index < e->tensor->shape[d], "read out of bounds of " + e->tensor->name);
          flat = flat * e->tensor->shape[d] + index;
        }
        return LoadElement(type, literal.raw(), flat);
      }
      default:
        Check(false, "expression kind that tensor expressions do not have");
        return {};
    }
  }

  const Values& values_;
  absl::flat_hash_map<const ExprNode*, Scalar> bound_;
  absl::flat_hash_map<const ExprNode*, Scalar> known_;
};

// Calls `body` for every point of the axes, after binding them.
void ForEach(const std::vector<IterVar>& axes, Evaluation& evaluation, const std::function<void(int64_t)>& body) {
  int64_t count = 1;
  for (const IterVar& axis : axes) count *= axis.extent;
  for (int64_t flat = 0; flat < count; ++flat) {
    int64_t rest = flat;
    for (size_t a = axes.size(); a-- > 0;) {
      evaluation.Bind(axes[a].var, {.i = rest % axes[a].extent});
      rest /= axes[a].extent;
    }
    evaluation.Forget();
    body(flat);
  }
}

void RunOperation(const Operation& operation, Values& values) {
  std::vector<hlo::Literal> results;
  for (PrimitiveType type : operation.types) results.emplace_back(hlo::Shape::Array(type, operation.shape));
  Evaluation evaluation(values);
  const size_t outputs = operation.bodies.size();
  ForEach(operation.axes, evaluation, [&](int64_t flat) {
    std::vector<Scalar> element(outputs);
    if (!operation.IsReduction()) {
      for (size_t o = 0; o < outputs; ++o) element[o] = evaluation.Of(operation.bodies[o]);
    } else {
      const ExprNode& reduce = *operation.bodies[0];
      for (size_t o = 0; o < outputs; ++o) element[o] = evaluation.Of(reduce.init[o]);
      ForEach(operation.reduce_axes, evaluation, [&](int64_t) {
        std::vector<Scalar> sources(outputs);
        for (size_t o = 0; o < outputs; ++o) sources[o] = evaluation.Of(reduce.operands[o]);
        Evaluation combine(values);
        for (size_t o = 0; o < outputs; ++o) {
          combine.Bind(reduce.combiner->lhs[o], element[o]);
          combine.Bind(reduce.combiner->rhs[o], sources[o]);
        }
        for (size_t o = 0; o < outputs; ++o) element[o] = combine.Of(reduce.combiner->results[o]);
      });
    }
    for (size_t o = 0; o < outputs; ++o) StoreElement(operation.types[o], results[o].raw(), flat, element[o]);
  });
  for (size_t o = 0; o < outputs; ++o) values[{&operation, static_cast<int>(o)}] = std::move(results[o]);
}

}  // namespace

std::vector<hlo::Literal> Interpret(const Graph& graph, const std::vector<hlo::Literal>& inputs) {
  ScopedFlushSubnormals flush;
  Values values;
  for (size_t i = 0; i < graph.inputs.size(); ++i) values[{graph.inputs[i].op.get(), 0}] = inputs[i];
  for (const OperationRef& operation : graph.operations) {
    if (operation->kind == OperationKind::kCompute) RunOperation(*operation, values);
  }
  std::vector<hlo::Literal> outputs;
  for (const Tensor& output : graph.outputs) outputs.push_back(values.at({output.op.get(), output.output}));
  return outputs;
}

}  // namespace smelt::kernels::te
