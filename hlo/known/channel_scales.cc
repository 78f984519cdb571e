#include "hlo/known/channel_scales.h"

#include <algorithm>
#include <optional>

#include "base/status_macros.h"
#include "hlo/known/known_parameters.h"
#include "hlo/passes/dead_code.h"
#include "hlo/rewrite/graph_builder.h"

namespace smelt::hlo {
namespace {

// A known value that is the same along all dimensions of an array but one, or everywhere.
struct ChannelValue {
  Instruction* source = nullptr;   // a vector, or a scalar
  std::optional<int64_t> channel;  // the dimension of the array; absent: a scalar
};

std::optional<ChannelValue> ChannelValueOf(Instruction* x) {
  if (x->opcode() != Opcode::kBroadcast) return std::nullopt;
  const std::vector<int64_t>& dimensions = x->attributes<DimensionsAttributes>().dimensions;
  if (dimensions.size() > 1) return std::nullopt;
  ChannelValue value{x->operand(0), std::nullopt};
  if (!dimensions.empty()) value.channel = dimensions[0];
  return value;
}

// Which dimension of the weights each dimension of the result walks along; -1: none.
struct Weights {
  int64_t operand;
  std::vector<int64_t> dimension_of;
};

std::optional<Weights> WeightsOfConvolution(const Instruction& x, const KnownPart& known) {
  const auto& attributes = x.attributes<ConvolutionAttributes>();
  if (!known.HasRoot(*x.operand(1)) || known.Contains(*x.operand(0)) || attributes.batch_group_count != 1)
    return std::nullopt;
  Weights weights{1, std::vector<int64_t>(static_cast<size_t>(x.shape().rank()), -1)};
  weights.dimension_of[attributes.dimensions.output_feature] = attributes.dimensions.kernel_output_feature;
  return weights;
}

std::optional<Weights> WeightsOfDot(const Instruction& x, const KnownPart& known) {
  const auto& attributes = x.attributes<DotAttributes>();
  const bool left = known.Contains(*x.operand(0)), right = known.Contains(*x.operand(1));
  if (left == right || !known.HasRoot(*x.operand(left ? 0 : 1))) return std::nullopt;
  const auto contains = [](const std::vector<int64_t>& list, int64_t d) {
    return std::find(list.begin(), list.end(), d) != list.end();
  };
  Weights weights{left ? 0 : 1, {}};
  // Results have the batch, then what is left of the left operand, then of the right one.
  for (const int64_t d : left ? attributes.lhs_batch : attributes.rhs_batch) weights.dimension_of.push_back(d);
  for (const bool of_left : {true, false}) {
    const Shape& shape = x.operand(of_left ? 0 : 1)->shape();
    for (int64_t d = 0; d < shape.rank(); ++d) {
      if (contains(of_left ? attributes.lhs_contracting : attributes.rhs_contracting, d) ||
          contains(of_left ? attributes.lhs_batch : attributes.rhs_batch, d)) {
        continue;
      }
      weights.dimension_of.push_back(of_left == left ? d : -1);
    }
  }
  return weights;
}

std::optional<Weights> WeightsOf(const Instruction& x, const KnownPart& known) {
  if (x.opcode() != Opcode::kConvolution && x.opcode() != Opcode::kDot) return std::nullopt;
  if (x.HasControlEdges()) return std::nullopt;
  std::optional<Weights> weights =
      x.opcode() == Opcode::kConvolution ? WeightsOfConvolution(x, known) : WeightsOfDot(x, known);
  const PrimitiveType type = x.shape().element_type;
  if (!weights || (type != PrimitiveType::kF32 && type != PrimitiveType::kF64) ||
      x.operand(weights->operand)->shape().element_type != type ||
      weights->dimension_of.size() != static_cast<size_t>(x.shape().rank()) ||
      !known.IsWorthKeeping(*x.operand(weights->operand))) {
    return std::nullopt;
  }
  return weights;
}

// What follows a product: value * factor + offset, by channel.
struct Chain {
  Instruction* end = nullptr;  // the last instruction of it
  int64_t steps = 0;
  std::optional<int64_t> channel;
  std::vector<std::pair<Opcode, ChannelValue>> operations;
  bool scales = false;
};

Chain ChainAfter(Instruction* product, const Weights& weights, const KnownPart& known) {
  Chain chain{.end = product};
  while (chain.end->user_count() == 1 && !chain.end->IsRoot()) {
    Instruction* user = chain.end->users()[0];
    const Opcode opcode = user->opcode();
    const bool commutes = opcode == Opcode::kAdd || opcode == Opcode::kMultiply;
    if (!commutes && opcode != Opcode::kSubtract && opcode != Opcode::kDivide) break;
    if (user->HasControlEdges()) break;
    const int64_t place = user->operand(0) == chain.end ? 0 : 1;
    Instruction* other = user->operand(1 - place);
    if ((place != 0 && !commutes) || other == chain.end || !known.Contains(*other)) break;
    const std::optional<ChannelValue> value = ChannelValueOf(other);
    if (!value) break;
    if (value->channel) {
      if (weights.dimension_of[*value->channel] < 0 || (chain.channel && chain.channel != value->channel)) break;
      chain.channel = value->channel;
    }
    chain.scales = chain.scales || opcode == Opcode::kMultiply || opcode == Opcode::kDivide;
    chain.operations.push_back({opcode, *value});
    chain.end = user;
  }
  return chain;
}

// Factor and offset of a chain, each a vector over its channel, or a scalar where it has none.
class Affine {
 public:
  Affine(GraphBuilder& build, const Chain& chain, int64_t channels)
      : build_(build), chain_(chain), channels_(channels) {
    for (const auto& [opcode, value] : chain.operations) Apply(opcode, Vector(value));
  }
  Instruction* factor() const { return factor_; }
  Instruction* offset() const { return offset_; }

 private:
  Instruction* Vector(const ChannelValue& value) {
    if (!chain_.channel || value.channel) return value.source;
    return build_.Broadcast(value.source, {channels_}, {});
  }

  void Apply(Opcode opcode, Instruction* value) {
    switch (opcode) {
      case Opcode::kAdd:
        offset_ = offset_ == nullptr ? value : build_.Binary(Opcode::kAdd, offset_, value);
        return;
      case Opcode::kSubtract:
        offset_ = offset_ == nullptr ? build_.Unary(Opcode::kNegate, value)
                                     : build_.Binary(Opcode::kSubtract, offset_, value);
        return;
      case Opcode::kDivide:
        // The reciprocal is known too, and a product rounds once more than a quotient would.
        factor_ = build_.Binary(Opcode::kDivide, factor_ == nullptr ? One(*value) : factor_, value);
        if (offset_ != nullptr) offset_ = build_.Binary(Opcode::kDivide, offset_, value);
        return;
      default:
        factor_ = factor_ == nullptr ? value : build_.Binary(Opcode::kMultiply, factor_, value);
        if (offset_ != nullptr) offset_ = build_.Binary(Opcode::kMultiply, offset_, value);
    }
  }

  Instruction* One(const Instruction& like) {
    return build_.BroadcastScalar(build_.Scalar(like.shape().element_type, 1), like.shape());
  }

  GraphBuilder& build_;
  const Chain& chain_;
  const int64_t channels_;
  Instruction* factor_ = nullptr;
  Instruction* offset_ = nullptr;
};

bool Fold(Instruction* product, const Weights& weights, const KnownPart& known) {
  const Chain chain = ChainAfter(product, weights, known);
  // A single addition stays as it is.
  if (!chain.scales && chain.operations.size() < 2) return false;
  GraphBuilder build(*product);
  std::vector<int64_t> place, result_place;
  if (chain.channel) {
    place = {weights.dimension_of[*chain.channel]};
    result_place = {*chain.channel};
  }
  const Affine affine(build, chain, chain.channel ? product->shape().dimensions[*chain.channel] : 1);
  Instruction* scaled = product;
  if (affine.factor() != nullptr) {
    Instruction* old = product->operand(weights.operand);
    std::vector<Instruction*> operands(product->operands().begin(), product->operands().end());
    operands[weights.operand] =
        build.Binary(Opcode::kMultiply, old, build.Broadcast(affine.factor(), old->shape().dimensions, place));
    operands[weights.operand]->shape().layout = old->shape().layout;
    scaled = product->parent()->AddClone(*product, operands);
  }
  Instruction* result = scaled;
  if (affine.offset() != nullptr) {
    Instruction* offset = build.Broadcast(affine.offset(), product->shape().dimensions, result_place);
    result = build.Binary(Opcode::kAdd, scaled, offset);
    result->shape().layout = chain.end->shape().layout;
  }
  return Replace(*chain.end, result);
}

// One elementwise operation on broadcasts becomes a broadcast of the operation; whether it did.
bool SinkBroadcast(Instruction* x) {
  if (!IsElementwise(x->opcode()) || x->operand_count() == 0 || x->opcode() == Opcode::kCopy) return false;
  const Instruction* widest = x->operand(0);
  for (const Instruction* operand : x->operands()) {
    if (operand->opcode() != Opcode::kBroadcast) return false;
    if (operand->operand(0)->shape().rank() > widest->operand(0)->shape().rank()) widest = operand;
  }
  const std::vector<int64_t> mapping = widest->attributes<DimensionsAttributes>().dimensions;
  const std::vector<int64_t> sizes = widest->operand(0)->shape().dimensions;
  GraphBuilder build(*x);
  for (const Instruction* operand : x->operands()) {
    const Shape& source = operand->operand(0)->shape();
    const bool same = operand->attributes<DimensionsAttributes>().dimensions == mapping && source.dimensions == sizes;
    if (!same && source.rank() != 0) return false;
  }
  std::vector<Instruction*> sources;
  for (Instruction* operand : x->operands()) {
    Instruction* source = operand->operand(0);
    sources.push_back(source->shape().dimensions == sizes ? source : build.Broadcast(source, sizes, {}));
  }
  Instruction* small = x->parent()->AddClone(*x, sources);
  small->shape() = Shape::Array(x->shape().element_type, sizes);
  Instruction* broadcast = build.Broadcast(small, x->shape().dimensions, mapping);
  broadcast->shape().layout = x->shape().layout;
  return Replace(*x, broadcast);
}

}  // namespace

absl::StatusOr<bool> FoldChannelScales(Module& module) {
  Computation& entry = *module.entry();
  // What is replaced is removed at the end alone: KnownPart knows instructions by their addresses.
  bool sunk = false, folded = false;
  {
    const KnownPart known(entry);
    // A broadcast that was sunk makes its user's operand one: users come after.
    for (Instruction* x : entry.PostOrder()) {
      if (known.HasRoot(*x)) sunk = SinkBroadcast(x) || sunk;
    }
  }
  if (sunk) SMELT_RETURN_IF_ERROR(EliminateDeadCode(module).status());
  const KnownPart known(entry);
  for (Instruction* x : entry.PostOrder()) {
    const std::optional<Weights> weights = WeightsOf(*x, known);
    if (weights) folded = Fold(x, *weights, known) || folded;
  }
  if (folded) SMELT_RETURN_IF_ERROR(EliminateDeadCode(module).status());
  return sunk || folded;
}

}  // namespace smelt::hlo
