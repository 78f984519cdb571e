#include "hlo/passes/batch_norm_expander.h"

#include <vector>

#include "hlo/rewrite/graph_builder.h"

namespace smelt::hlo {
namespace {

// One batch normalisation being written out: arithmetic in `type` on arrays of x's shape and of one element a feature.
class Expansion {
 public:
  explicit Expansion(Instruction& original)
      : original_(original), build_(original), attributes_(original.attributes<BatchNormAttributes>()) {
    const Shape& x = original.operand(0)->shape();
    type_ = BitWidth(x.element_type) < 32 ? PrimitiveType::kF32 : x.element_type;
    dimensions_ = x.dimensions;
    for (int64_t d = 0; d < x.rank(); ++d) {
      if (d != attributes_.feature_index) others_.push_back(d);
    }
    count_ = 1;
    for (int64_t d : others_) count_ *= static_cast<double>(dimensions_[d]);
  }

  // (x - mean) * (rsqrt(variance + epsilon) * scale) + offset
  Instruction* Inference() {
    return InOutputType(Normalized(Wide(0), Wide(1), Wide(2), Wide(3), Wide(4)), original_.shape());
  }

  // The same with the mean and the variance of x itself, which are results too.
  Instruction* Training() {
    Instruction* x = Wide(0);
    Instruction* mean = Mean(Sum(x));
    // E[x * x] - E[x] * E[x] reads x once.
    Instruction* variance = Subtract(Mean(Sum(Multiply(x, x))), Multiply(mean, mean));
    Instruction* normalized = Normalized(x, Wide(1), Wide(2), mean, variance);
    const std::vector<Shape>& shapes = original_.shape().tuple_shapes;
    return build_.Tuple(
        {InOutputType(normalized, shapes[0]), InOutputType(mean, shapes[1]), InOutputType(variance, shapes[2])});
  }

  // Operands: x, scale, mean, variance, gradient of the output. With d = x - mean, r = rsqrt(variance + epsilon) and g
  // the gradient: offset's is sum(g), scale's is sum(g * d) * r, and
  // x's is scale * r / n * (n * g - sum(g) - d * r^2 * sum(g * d)).
  Instruction* Gradient() {
    Instruction* x = Wide(0);
    Instruction* scale = Wide(1);
    Instruction* mean = Wide(2);
    Instruction* gradient = Wide(4);
    Instruction* inverse = InverseDeviation(Wide(3));
    Instruction* centered = Subtract(x, PerFeature(mean));
    Instruction* offset_gradient = Sum(gradient);
    Instruction* product_sum = Sum(Multiply(gradient, centered));
    Instruction* scale_gradient = Multiply(product_sum, inverse);
    Instruction* correction = Multiply(Multiply(inverse, inverse), product_sum);
    Instruction* bracket =
        Subtract(Subtract(Multiply(Filled(count_, gradient->shape()), gradient), PerFeature(offset_gradient)),
                 Multiply(centered, PerFeature(correction)));
    Instruction* factor = Mean(Multiply(scale, inverse));
    Instruction* x_gradient = Multiply(PerFeature(factor), bracket);
    const std::vector<Shape>& shapes = original_.shape().tuple_shapes;
    return build_.Tuple({InOutputType(x_gradient, shapes[0]), InOutputType(scale_gradient, shapes[1]),
                         InOutputType(offset_gradient, shapes[2])});
  }

 private:
  Instruction* Wide(int64_t operand) { return build_.Convert(original_.operand(operand), type_); }
  Instruction* Add(Instruction* a, Instruction* b) { return build_.Binary(Opcode::kAdd, a, b); }
  Instruction* Subtract(Instruction* a, Instruction* b) { return build_.Binary(Opcode::kSubtract, a, b); }
  Instruction* Multiply(Instruction* a, Instruction* b) { return build_.Binary(Opcode::kMultiply, a, b); }
  Instruction* Filled(double value, const Shape& shape) {
    return build_.BroadcastScalar(build_.Scalar(type_, value), shape);
  }
  Instruction* PerFeature(Instruction* feature) {
    return build_.Broadcast(feature, dimensions_, {attributes_.feature_index});
  }
  Instruction* Sum(Instruction* x) {
    if (adder_ == nullptr) adder_ = AddBinaryComputation(*original_.parent()->parent(), Opcode::kAdd, type_);
    return build_.Reduce(x, build_.Scalar(type_, 0), others_, adder_);
  }
  Instruction* Mean(Instruction* sum) { return build_.Binary(Opcode::kDivide, sum, Filled(count_, sum->shape())); }
  Instruction* InverseDeviation(Instruction* variance) {
    return build_.Unary(Opcode::kRsqrt, Add(variance, Filled(attributes_.epsilon, variance->shape())));
  }
  Instruction* Normalized(Instruction* x, Instruction* scale, Instruction* offset, Instruction* mean,
                          Instruction* variance) {
    Instruction* factor = Multiply(InverseDeviation(variance), scale);
    return Add(Multiply(Subtract(x, PerFeature(mean)), PerFeature(factor)), PerFeature(offset));
  }
  Instruction* InOutputType(Instruction* x, const Shape& shape) { return build_.Convert(x, shape.element_type); }

  Instruction& original_;
  GraphBuilder build_;
  BatchNormAttributes attributes_;
  PrimitiveType type_ = PrimitiveType::kF32;
  std::vector<int64_t> dimensions_;  // of x
  std::vector<int64_t> others_;      // all dimensions but the feature's
  double count_ = 1;                 // elements a feature
  Computation* adder_ = nullptr;
};

Instruction* Expand(Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kBatchNormInference:
      return Expansion(instruction).Inference();
    case Opcode::kBatchNormTraining:
      return Expansion(instruction).Training();
    case Opcode::kBatchNormGrad:
      return Expansion(instruction).Gradient();
    default:
      return nullptr;
  }
}

}  // namespace

absl::StatusOr<bool> ExpandBatchNorm(Module& module) {
  bool changed = false;
  for (Computation* computation : module.Computations()) {
    for (Instruction* instruction : computation->Instructions()) {
      if (instruction->operand_count() == 0 || instruction->operand(0)->shape().IsDynamic()) continue;
      if (instruction->HasControlEdges()) continue;
      Instruction* expanded = Expand(*instruction);
      if (expanded == nullptr) continue;
      instruction->ReplaceAllUsesWith(expanded);
      computation->Remove(instruction);
      changed = true;
    }
  }
  return changed;
}

}  // namespace smelt::hlo
