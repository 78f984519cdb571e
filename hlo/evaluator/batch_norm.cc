// Batch normalisation, training, inference and gradient (Ioffe and Szegedy, 2015), accumulated in double precision.
#include <cmath>

#include "base/status_macros.h"
#include "hlo/evaluator/handlers.h"

namespace smelt::hlo {
namespace {

// Feature of a flat index, and elements per feature.
struct Features {
  explicit Features(const Shape& shape, int64_t feature_index)
      : count(shape.dimensions[feature_index]), stride(shape.Strides()[feature_index]) {
    per_feature = count == 0 ? 0 : shape.ElementCount() / count;
  }
  int64_t Of(int64_t index) const { return index / stride % count; }
  int64_t count;
  int64_t stride;
  int64_t per_feature;
};

}  // namespace

absl::StatusOr<Value> EvaluateBatchNormTraining(const Call& call) {
  const auto& attributes = call.instruction.attributes<BatchNormAttributes>();
  const Literal &x = call.operand(0).array(), &scale = call.operand(1).array(), &offset = call.operand(2).array();
  const Features features(x.shape(), attributes.feature_index);
  std::vector<double> sum(features.count, 0), squares(features.count, 0);
  for (int64_t i = 0; i < x.element_count(); ++i) sum[features.Of(i)] += x.GetDouble(i);
  for (double& value : sum) value /= static_cast<double>(features.per_feature);
  for (int64_t i = 0; i < x.element_count(); ++i) {
    const double difference = x.GetDouble(i) - sum[features.Of(i)];
    squares[features.Of(i)] += difference * difference;
  }
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> y, call.evaluation.NewArray(x.shape()));
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> mean, call.evaluation.NewArray(scale.shape()));
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> variance, call.evaluation.NewArray(scale.shape()));
  std::vector<double> factor(features.count);
  for (int64_t f = 0; f < features.count; ++f) {
    squares[f] /= static_cast<double>(features.per_feature);
    mean->SetDouble(f, sum[f]);
    variance->SetDouble(f, squares[f]);
    factor[f] = scale.GetDouble(f) / std::sqrt(squares[f] + static_cast<double>(attributes.epsilon));
  }
  for (int64_t i = 0; i < x.element_count(); ++i) {
    const int64_t f = features.Of(i);
    y->SetDouble(i, (x.GetDouble(i) - sum[f]) * factor[f] + offset.GetDouble(f));
  }
  return Value(std::vector<Value>{Value(std::move(y)), Value(std::move(mean)), Value(std::move(variance))});
}

absl::StatusOr<Value> EvaluateBatchNormInference(const Call& call) {
  const auto& attributes = call.instruction.attributes<BatchNormAttributes>();
  const Literal &x = call.operand(0).array(), &scale = call.operand(1).array(), &offset = call.operand(2).array();
  const Literal &mean = call.operand(3).array(), &variance = call.operand(4).array();
  const Features features(x.shape(), attributes.feature_index);
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> y, call.evaluation.NewArray(x.shape()));
  for (int64_t i = 0; i < x.element_count(); ++i) {
    const int64_t f = features.Of(i);
    const double normal = (x.GetDouble(i) - mean.GetDouble(f)) /
                          std::sqrt(variance.GetDouble(f) + static_cast<double>(attributes.epsilon));
    y->SetDouble(i, normal * scale.GetDouble(f) + offset.GetDouble(f));
  }
  return Value(std::move(y));
}

absl::StatusOr<Value> EvaluateBatchNormGrad(const Call& call) {
  const auto& attributes = call.instruction.attributes<BatchNormAttributes>();
  const Literal &x = call.operand(0).array(), &scale = call.operand(1).array(), &mean = call.operand(2).array();
  const Literal &variance = call.operand(3).array(), &gradient = call.operand(4).array();
  const Features features(x.shape(), attributes.feature_index);
  std::vector<double> inverse(features.count), sum(features.count, 0), weighted(features.count, 0);
  for (int64_t f = 0; f < features.count; ++f)
    inverse[f] = 1 / std::sqrt(variance.GetDouble(f) + static_cast<double>(attributes.epsilon));
  auto normal = [&](int64_t i, int64_t f) { return (x.GetDouble(i) - mean.GetDouble(f)) * inverse[f]; };
  for (int64_t i = 0; i < x.element_count(); ++i) {
    const int64_t f = features.Of(i);
    sum[f] += gradient.GetDouble(i);
    weighted[f] += gradient.GetDouble(i) * (x.GetDouble(i) - mean.GetDouble(f));
  }
  // Multiplied once, as XLA does: a deviation that is no number is seen also where there is nothing to sum.
  for (int64_t f = 0; f < features.count; ++f) weighted[f] *= inverse[f];
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> x_gradient, call.evaluation.NewArray(x.shape()));
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> scale_gradient, call.evaluation.NewArray(scale.shape()));
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> offset_gradient, call.evaluation.NewArray(scale.shape()));
  for (int64_t f = 0; f < features.count; ++f) {
    scale_gradient->SetDouble(f, weighted[f]);
    offset_gradient->SetDouble(f, sum[f]);
  }
  const double count = static_cast<double>(features.per_feature);
  for (int64_t i = 0; i < x.element_count(); ++i) {
    const int64_t f = features.Of(i);
    const double centred = gradient.GetDouble(i) - (sum[f] + normal(i, f) * weighted[f]) / count;
    x_gradient->SetDouble(i, scale.GetDouble(f) * inverse[f] * centred);
  }
  return Value(std::vector<Value>{Value(std::move(x_gradient)), Value(std::move(scale_gradient)),
                                  Value(std::move(offset_gradient))});
}

}  // namespace smelt::hlo
