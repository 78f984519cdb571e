#include "kernels/te/evaluate.h"

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/float_mode.h"
#include "base/status_macros.h"
#include "kernels/te/program.h"

namespace smelt::kernels::te {
namespace {

using Values = absl::flat_hash_map<const Operation*, std::vector<hlo::Literal>>;

// Steps through [0, extents), last dimension fastest. False at the end.
bool Advance(std::vector<int64_t>* point, const std::vector<IterVar>& axes) {
  for (size_t d = axes.size(); d-- > 0;) {
    if (++(*point)[d] < axes[d].extent) return true;
    (*point)[d] = 0;
  }
  return false;
}

bool IsEmpty(const std::vector<IterVar>& axes) {
  for (const IterVar& axis : axes) {
    if (axis.extent == 0) return true;
  }
  return false;
}

class OperationEvaluator {
 public:
  OperationEvaluator(const Operation& op, const Values& values)
      : op_(op),
        body_([&values](const ExprNode& node, absl::Span<const int64_t> indices, Scalar* value) {
          return Read(values, node, indices, value);
        }),
        combine_([](const ExprNode&, absl::Span<const int64_t>, Scalar*) {
          return absl::InternalError("a read inside a combiner");
        }) {}

  absl::StatusOr<std::vector<hlo::Literal>> Run() {
    std::vector<hlo::Literal> results;
    for (PrimitiveType type : op_.types) results.emplace_back(hlo::Shape::Array(type, op_.shape));
    if (IsEmpty(op_.axes)) return results;
    Prepare();
    std::vector<int64_t> point(op_.axes.size(), 0);
    int64_t flat = 0;
    do {
      for (size_t d = 0; d < point.size(); ++d) body_.Set(op_.axes[d].var, {.i = point[d]});
      std::vector<Scalar> elements(op_.bodies.size());
      SMELT_RETURN_IF_ERROR(op_.IsReduction() ? Reduce(&elements) : Plain(&elements));
      for (size_t i = 0; i < elements.size(); ++i) StoreElement(op_.types[i], results[i].raw(), flat, elements[i]);
      ++flat;
    } while (Advance(&point, op_.axes));
    return results;
  }

 private:
  static absl::Status Read(const Values& values, const ExprNode& node, absl::Span<const int64_t> indices,
                           Scalar* value) {
    const auto it = values.find(node.tensor.get());
    if (it == values.end())
      return absl::InvalidArgumentError(absl::StrCat("`", node.tensor->name, "` is read and has no value"));
    int64_t flat = 0;
    for (size_t d = 0; d < indices.size(); ++d) {
      if (indices[d] < 0 || indices[d] >= node.tensor->shape[d])
        return absl::OutOfRangeError(absl::StrCat("read of ", node.tensor->name, "[", absl::StrJoin(indices, ", "),
                                                  "] outside of [", absl::StrJoin(node.tensor->shape, ", "), "]"));
      flat = flat * node.tensor->shape[d] + indices[d];
    }
    *value = LoadElement(node.type.element, it->second[node.int_value].raw(), flat);
    return absl::OkStatus();
  }

  void Prepare() {
    const Expr& first = op_.bodies[0];
    if (!op_.IsReduction()) {
      for (const Expr& body : op_.bodies) bodies_.push_back(body_.Add(body));
      return;
    }
    for (const Expr& source : first->operands) bodies_.push_back(body_.Add(source));
    for (const Expr& init : first->init) inits_.push_back(body_.Add(init));
    for (const Expr& result : first->combiner->results) results_.push_back(combine_.Add(result));
  }

  absl::Status Plain(std::vector<Scalar>* elements) {
    body_.NextRound();
    for (size_t i = 0; i < bodies_.size(); ++i) SMELT_RETURN_IF_ERROR(body_.Evaluate(bodies_[i], &(*elements)[i]));
    return absl::OkStatus();
  }

  absl::Status Reduce(std::vector<Scalar>* elements) {
    const Combiner& combiner = *op_.bodies[0]->combiner;
    body_.NextRound();
    std::vector<Scalar> accumulators(inits_.size()), sources(inits_.size());
    for (size_t i = 0; i < inits_.size(); ++i) SMELT_RETURN_IF_ERROR(body_.Evaluate(inits_[i], &accumulators[i]));
    std::vector<int64_t> point(op_.reduce_axes.size(), 0);
    if (!IsEmpty(op_.reduce_axes)) {
      do {
        for (size_t d = 0; d < point.size(); ++d) body_.Set(op_.reduce_axes[d].var, {.i = point[d]});
        body_.NextRound();
        combine_.NextRound();
        for (size_t i = 0; i < sources.size(); ++i) {
          SMELT_RETURN_IF_ERROR(body_.Evaluate(bodies_[i], &sources[i]));
          combine_.Set(combiner.lhs[i], accumulators[i]);
          combine_.Set(combiner.rhs[i], sources[i]);
        }
        for (size_t i = 0; i < sources.size(); ++i)
          SMELT_RETURN_IF_ERROR(combine_.Evaluate(results_[i], &accumulators[i]));
      } while (Advance(&point, op_.reduce_axes));
    }
    for (size_t i = 0; i < elements->size(); ++i) (*elements)[i] = accumulators[op_.bodies[i]->int_value];
    return absl::OkStatus();
  }

  const Operation& op_;
  Program body_, combine_;
  std::vector<int> bodies_, inits_, results_;
};

}  // namespace

absl::StatusOr<std::vector<hlo::Literal>> Evaluate(const Graph& graph, absl::Span<const hlo::Literal* const> inputs) {
  if (inputs.size() != graph.inputs.size())
    return absl::InvalidArgumentError(
        absl::StrCat("the graph takes ", graph.inputs.size(), " inputs, given ", inputs.size()));
  ScopedFlushSubnormals flush;
  Values values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Operation& op = *graph.inputs[i].op;
    if (!inputs[i]->shape().SameAs(hlo::Shape::Array(op.types[0], op.shape)))
      return absl::InvalidArgumentError(
          absl::StrCat("input ", i, " `", op.name, "` has the wrong shape ", inputs[i]->shape().ToString()));
    values[&op] = {*inputs[i]};
  }
  for (const OperationRef& op : graph.operations) {
    if (op->kind == OperationKind::kPlaceholder) continue;
    SMELT_ASSIGN_OR_RETURN(values[op.get()], OperationEvaluator(*op, values).Run());
  }
  std::vector<hlo::Literal> outputs;
  for (const Tensor& output : graph.outputs) outputs.push_back(values[output.op.get()][output.output]);
  return outputs;
}

absl::StatusOr<Scalar> EvaluateScalar(const Expr& e, const std::vector<std::pair<Expr, Scalar>>& variables) {
  Program program([](const ExprNode&, absl::Span<const int64_t>, Scalar*) {
    return absl::InvalidArgumentError("an expression over variables only was expected, it reads memory");
  });
  const int number = program.Add(e);
  for (const auto& [var, value] : variables) program.Set(var, value);
  Scalar value;
  SMELT_RETURN_IF_ERROR(program.Evaluate(number, &value));
  return value;
}

}  // namespace smelt::kernels::te
