#include "kernels/te/tensor.h"

#include <limits>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "hlo/small_float.h"
#include "kernels/te/intern.h"

namespace smelt::kernels::te {
namespace {

// What no number of the type is beyond: infinity, or the last number where the format has no infinity.
double Extreme(PrimitiveType type, bool highest) {
  if (hlo::BitWidth(type) > 8 || hlo::GetFloatFormat(type).special == hlo::FloatFormat::Special::kIeee) {
    const double infinity = std::numeric_limits<double>::infinity();
    return highest ? infinity : -infinity;
  }
  double extreme = hlo::DecodeFloat(type, 0);
  for (uint16_t bits = 1; bits < 1 << hlo::BitWidth(type); ++bits) {
    const double value = hlo::DecodeFloat(type, bits);
    if (highest ? value > extreme : value < extreme) extreme = value;  // not for NaN
  }
  return extreme;
}

// The identity of a simple combiner, null when the operator is none of those.
Expr IdentityOf(BinaryOp op, PrimitiveType type) {
  const DataType scalar{type, 1};
  if (hlo::IsFloat(type)) {
    switch (op) {
      case BinaryOp::kAdd:
        return FloatConst(scalar, 0);
      case BinaryOp::kMul:
        return FloatConst(scalar, 1);
      case BinaryOp::kMin:
        return FloatConst(scalar, Extreme(type, /*highest=*/true));
      case BinaryOp::kMax:
        return FloatConst(scalar, Extreme(type, /*highest=*/false));
      default:
        return Expr();
    }
  }
  const bool pred = type == PrimitiveType::kPred;
  const int bits = pred ? 1 : hlo::BitWidth(type);
  const bool is_signed = hlo::IsSigned(type);
  const int64_t ones = -1;  // wraps to the type
  const int64_t lowest = is_signed ? static_cast<int64_t>(~uint64_t{0} << (bits - 1)) : 0;
  switch (op) {
    case BinaryOp::kAdd:
    case BinaryOp::kOr:
    case BinaryOp::kXor:
      return IntConst(scalar, 0);
    case BinaryOp::kMul:
      return IntConst(scalar, 1);
    case BinaryOp::kAnd:
      return IntConst(scalar, ones);
    case BinaryOp::kMin:
      return IntConst(scalar, is_signed ? ~lowest : ones);
    case BinaryOp::kMax:
      return IntConst(scalar, lowest);
    default:
      return Expr();
  }
}

std::shared_ptr<Operation> NewOperation(OperationKind kind, std::string name, std::vector<int64_t> shape,
                                        std::string tag) {
  auto op = std::make_shared<Operation>();
  op->kind = kind;
  op->name = std::move(name);
  op->shape = std::move(shape);
  op->tag = std::move(tag);
  for (int64_t extent : op->shape) Check(extent >= 0, "negative extent");
  return op;
}

// All of one operation's bodies: plain, or the kReduce nodes of one combiner. Sets the reduce axes.
void SetBodies(Operation* op, std::vector<Expr> bodies) {
  Check(!bodies.empty(), "operation without a body");
  const ExprNode* first = bodies[0].get();
  for (size_t i = 0; i < bodies.size(); ++i) {
    const ExprNode* body = bodies[i].get();
    Check(body != nullptr && body->type.lanes == 1, "body is null or a vector");
    Check((body->kind == ExprKind::kReduce) == (first->kind == ExprKind::kReduce), "reduction beside a plain body");
    if (body->kind == ExprKind::kReduce) {
      Check(body->combiner == first->combiner && body->reduce_axes.size() == first->reduce_axes.size(),
            "bodies reduce by different combiners or axes");
      for (size_t a = 0; a < body->reduce_axes.size(); ++a) {
        Check(body->reduce_axes[a].Same(first->reduce_axes[a]), "bodies reduce over different axes");
      }
    }
    op->types.push_back(body->type.element);
  }
  if (first->kind == ExprKind::kReduce) {
    for (size_t a = 0; a < first->reduce_axes.size(); ++a) {
      op->reduce_axes.push_back({first->reduce_axes[a], first->reduce_extents[a]});
    }
  }
  op->bodies = std::move(bodies);
}

}  // namespace

std::shared_ptr<const Combiner> SimpleCombiner(BinaryOp op, PrimitiveType type) {
  const DataType scalar{type, 1};
  auto combiner = std::make_shared<Combiner>();
  combiner->lhs.push_back(Var("lhs", scalar));
  combiner->rhs.push_back(Var("rhs", scalar));
  combiner->results.push_back(Binary(op, combiner->lhs[0], combiner->rhs[0]));
  if (Expr identity = IdentityOf(op, type)) combiner->identity.push_back(std::move(identity));
  return combiner;
}

std::vector<OperationRef> Operation::Inputs() const {
  std::vector<OperationRef> inputs;
  absl::flat_hash_set<const Operation*> seen;
  for (const Expr& body : bodies) {
    Visit(body, [&](const Expr& e) {
      if (e->kind == ExprKind::kTensorRead && seen.insert(e->tensor.get()).second) inputs.push_back(e->tensor);
    });
  }
  return inputs;
}

Expr Tensor::operator()(std::vector<Expr> indices) const {
  Check(indices.size() == op->shape.size(), "number of indices differs from the rank");
  for (const Expr& index : indices) Check(index && index.type() == kIndex, "index that is not a scalar s64");
  ExprNode node;
  node.kind = ExprKind::kTensorRead;
  node.type = DataType{op->types[output], 1};
  node.int_value = output;
  node.operands = std::move(indices);
  node.tensor = op;
  return Intern(std::move(node));
}

Tensor Placeholder(std::string name, std::vector<int64_t> shape, PrimitiveType type) {
  auto op = NewOperation(OperationKind::kPlaceholder, std::move(name), std::move(shape), "parameter");
  op->types.push_back(type);
  return {op, 0};
}

OperationRef ComputeMany(std::string name, std::vector<int64_t> shape,
                         const std::function<std::vector<Expr>(Indices)>& bodies, std::string tag) {
  auto op = NewOperation(OperationKind::kCompute, std::move(name), std::move(shape), std::move(tag));
  std::vector<Expr> indices;
  for (size_t d = 0; d < op->shape.size(); ++d) {
    op->axes.push_back({Var(absl::StrCat("i", d)), op->shape[d]});
    indices.push_back(op->axes.back().var);
  }
  SetBodies(op.get(), bodies(indices));
  return op;
}

Tensor Compute(std::string name, std::vector<int64_t> shape, const std::function<Expr(Indices)>& body,
               std::string tag) {
  return {ComputeMany(
              std::move(name), std::move(shape), [&](Indices i) { return std::vector<Expr>{body(i)}; }, std::move(tag)),
          0};
}

std::vector<Expr> ReduceMany(std::shared_ptr<const Combiner> combiner, std::vector<Expr> sources,
                             std::vector<ReduceAxis> axes, std::vector<Expr> init) {
  Check(combiner->results.size() == sources.size() && init.size() == sources.size(),
        "a reduction needs one source and one initial value for each result of its combiner");
  Check(!axes.empty(), "reduction without an axis");
  std::vector<Expr> results;
  for (size_t i = 0; i < sources.size(); ++i) {
    Check(init[i].type() == sources[i].type(), "initial value and source of different types");
    ExprNode node;
    node.kind = ExprKind::kReduce;
    node.type = sources[i].type();
    node.int_value = static_cast<int64_t>(i);
    node.operands = sources;
    node.combiner = combiner;
    node.init = init;
    for (const ReduceAxis& axis : axes) {
      node.reduce_axes.push_back(axis);
      node.reduce_extents.push_back(axis.extent());
    }
    results.push_back(Intern(std::move(node)));
  }
  return results;
}

Expr Reduce(std::shared_ptr<const Combiner> combiner, Expr source, std::vector<ReduceAxis> axes, Expr init) {
  if (!init) {
    Check(combiner->identity.size() == 1, "reduction without an initial value by a combiner without an identity");
    init = combiner->identity[0];
  }
  return ReduceMany(std::move(combiner), {std::move(source)}, std::move(axes), {std::move(init)})[0];
}

Expr Sum(Expr source, std::vector<ReduceAxis> axes) {
  auto combiner = SimpleCombiner(BinaryOp::kAdd, source.type().element);
  return Reduce(std::move(combiner), std::move(source), std::move(axes));
}

Graph MakeGraph(std::vector<Tensor> inputs, std::vector<Tensor> outputs) {
  Graph graph;
  absl::flat_hash_set<const Operation*> seen;
  for (const Tensor& input : inputs) {
    Check(input.op->kind == OperationKind::kPlaceholder, "graph input that is not a placeholder");
    if (seen.insert(input.op.get()).second) graph.operations.push_back(input.op);
  }
  struct Frame {
    OperationRef op;
    std::vector<OperationRef> inputs;
    size_t next = 0;
  };
  for (const Tensor& output : outputs) {
    if (!seen.insert(output.op.get()).second) continue;
    std::vector<Frame> stack;
    stack.push_back({output.op, output.op->Inputs()});
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next < top.inputs.size()) {
        OperationRef input = top.inputs[top.next++];
        if (!seen.insert(input.get()).second) continue;
        Check(input->kind != OperationKind::kPlaceholder, "placeholder that is not among the graph's inputs");
        std::vector<OperationRef> below = input->Inputs();
        stack.push_back({std::move(input), std::move(below)});
      } else {
        graph.operations.push_back(std::move(top.op));
        stack.pop_back();
      }
    }
  }
  graph.inputs = std::move(inputs);
  graph.outputs = std::move(outputs);
  return graph;
}

std::string ToString(const Graph& graph) {
  std::string text;
  const auto shape_of = [](const Operation& op, size_t output) {
    std::string shape(hlo::PrimitiveTypeName(op.types[output]));
    absl::StrAppend(&shape, "[");
    for (size_t d = 0; d < op.shape.size(); ++d) absl::StrAppend(&shape, d == 0 ? "" : ",", op.shape[d]);
    return absl::StrCat(shape, "]");
  };
  for (const OperationRef& op : graph.operations) {
    if (op->kind == OperationKind::kPlaceholder) {
      absl::StrAppend(&text, op->name, ": ", shape_of(*op, 0), " placeholder\n");
      continue;
    }
    for (size_t i = 0; i < op->bodies.size(); ++i) {
      absl::StrAppend(&text, op->name, op->bodies.size() > 1 ? absl::StrCat(".", i) : "", ": ", shape_of(*op, i), " = ",
                      ToString(op->bodies[i]), op->tag.empty() ? "" : absl::StrCat("  # ", op->tag), "\n");
    }
  }
  absl::StrAppend(&text, "outputs:");
  for (const Tensor& output : graph.outputs) {
    absl::StrAppend(&text, " ", output.op->name, output.output != 0 ? absl::StrCat(".", output.output) : "");
  }
  return text + "\n";
}

}  // namespace smelt::kernels::te
