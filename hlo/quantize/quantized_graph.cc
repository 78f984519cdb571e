#include "hlo/quantize/quantized_graph.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "hlo/passes/dead_code.h"
#include "hlo/quantize/channels.h"
#include "hlo/quantize/multiply_shift.h"
#include "hlo/rewrite/constants.h"
#include "hlo/rewrite/graph_builder.h"

namespace smelt::hlo::quantize {
namespace {

constexpr double kInt8Bound = 128;

Shape Typed(PrimitiveType type, const Instruction& like) { return Shape::Array(type, like.shape().dimensions); }

int64_t ToStep(double value, double scale) {
  return static_cast<int64_t>(std::clamp(std::nearbyint(value / scale), -128.0, 127.0));
}

class Writer {
 public:
  Writer(const Module& module, const Plan& plan, const Scales& scales) : plan_(plan), scales_(scales) {
    result_.module = module.Clone(nullptr, &map_);
    order_ = module.entry()->PostOrder();
  }

  absl::StatusOr<QuantizedGraph> Run(bool keep_probes) {
    for (const Instruction* x : order_) {
      const auto layer = plan_.layer_of.find(x);
      if (layer != plan_.layer_of.end()) {
        SMELT_RETURN_IF_ERROR(WriteLayer(plan_.layers[layer->second]));
      } else if (plan_.kept.contains(x)) {
        integers_[x] = WriteKept(*x);
        ReplaceByFloats(*x);
      }
    }
    if (keep_probes) {
      std::vector<Instruction*> probes;
      for (const Layer& layer : plan_.layers) probes.push_back(Floats(layer.out));
      Computation& entry = *result_.module->entry();
      probes.push_back(entry.root());
      GraphBuilder build(entry);
      entry.set_root(build.Tuple(std::move(probes)));
    }
    SMELT_RETURN_IF_ERROR(EliminateDeadCode(*result_.module).status());
    return std::move(result_);
  }

 private:
  // The float values that stand for x now.
  Instruction* Floats(const Instruction* x) {
    const auto at = floats_.find(x);
    return at != floats_.end() ? at->second : map_.at(x);
  }

  double ScaleOf(const Instruction* x) const {
    const auto at = scales_.find(x);
    Check(at != scales_.end(), "every int8 value has a scale");
    return at->second;
  }

  Instruction* Number(GraphBuilder& build, PrimitiveType type, int64_t value, const Shape& shape) {
    return build.BroadcastScalar(build.Scalar(type, static_cast<double>(value)), shape);
  }

  // x as int8: what was written for it, or its floats quantised.
  Instruction* Integers(const Instruction* x) {
    if (const auto at = integers_.find(x); at != integers_.end()) return at->second;
    GraphBuilder build(*map_.at(x));
    Instruction* value = build.Convert(Floats(x), PrimitiveType::kF32);
    const Shape shape = Typed(PrimitiveType::kF32, *value);
    auto everywhere = [&](double number) {
      return build.BroadcastScalar(build.Scalar(PrimitiveType::kF32, number), shape);
    };
    Instruction* steps = build.Binary(Opcode::kMultiply, value, everywhere(1 / ScaleOf(x)));
    Instruction* rounded = build.Unary(Opcode::kRoundNearestEven, steps);
    Instruction* clamped = build.Add(Opcode::kClamp, shape, {everywhere(-128), rounded, everywhere(127)});
    return integers_[x] = build.Convert(clamped, PrimitiveType::kS8);
  }

  // Users of x that read floats get them from its int8 value; where there are none, dead code takes them away.
  void ReplaceByFloats(const Instruction& x) {
    Instruction* old = map_.at(&x);
    GraphBuilder build(*old);
    Instruction* value = build.Convert(integers_.at(&x), PrimitiveType::kF32);
    Instruction* scale = build.BroadcastScalar(build.Scalar(PrimitiveType::kF32, ScaleOf(&x)), value->shape());
    Put(x, build.Convert(build.Binary(Opcode::kMultiply, value, scale), x.shape().element_type));
  }

  void Put(const Instruction& x, Instruction* value) {
    Instruction* old = map_.at(&x);
    value->shape().layout = old->shape().layout;  // a bitcast that reads it sees the layout
    floats_[&x] = value;
    old->ReplaceAllUsesWith(value);
  }

  absl::Status WriteLayer(const Layer& layer) {
    absl::Status status = WriteLayerOrWhy(layer);
    if (status.ok()) return status;
    return absl::InvalidArgumentError(StrCat("layer `", layer.root->name(), "` cannot be int8: ", status.message(),
                                             "; keep it float (--keep-float=", layer.root->name(),
                                             "), or calibrate on other inputs"));
  }

  absl::Status WriteLayerOrWhy(const Layer& layer) {
    GraphBuilder build(*map_.at(layer.root));
    std::vector<double> steps;  // what a step of the sum stands for, a channel
    double bound = kInt8Bound;
    Instruction* sum = nullptr;
    switch (layer.kind) {
      case LayerKind::kContraction: {
        IntegerWeights weights = QuantizeWeights(layer, ScaleOf(layer.data()));
        steps = weights.scales;
        bound = weights.bound;
        sum = WriteContraction(build, layer, std::move(weights));
        break;
      }
      case LayerKind::kProduct: {
        const Instruction *left = layer.root->operand(0), *right = layer.root->operand(1);
        steps = {ScaleOf(left) * ScaleOf(right) * layer.scale[0]};
        bound = kInt8Bound * kInt8Bound * static_cast<double>(SummedProducts(*layer.root));
        sum = build.Add(Opcode::kDot, Typed(PrimitiveType::kS32, *layer.root), {Integers(left), Integers(right)},
                        layer.root->all_attributes());
        break;
      }
      case LayerKind::kSum:
        steps = {ScaleOf(layer.data()) * layer.scale[0]};
        bound = kInt8Bound * static_cast<double>(SummedElements(*layer.root));
        sum =
            WriteReduction(build, *layer.root, Opcode::kAdd, build.Convert(Integers(layer.data()), PrimitiveType::kS32),
                           build.Scalar(PrimitiveType::kS32, 0));
        break;
      case LayerKind::kAdd:
        steps = {ScaleOf(layer.data())};
        sum = build.Convert(Integers(layer.data()), PrimitiveType::kS32);
        break;
    }
    if (!layer.integer_out) {
      WriteFloatResult(build, layer, sum, steps);
      return absl::OkStatus();
    }
    const double scale = ScaleOf(layer.out);
    SMELT_ASSIGN_OR_RETURN(Instruction * value, Rescale(build, sum, steps, scale, layer.channel_dims, bound));
    if (layer.kind == LayerKind::kAdd) {
      SMELT_ASSIGN_OR_RETURN(value, AddResidual(build, value, layer, scale));
    }
    // A residual is added in s32; without one, rearranging int8 moves fewer bytes.
    const bool early = layer.residual != nullptr && layer.kind != LayerKind::kAdd;
    size_t at = 0;
    for (; early && at < layer.steps.size(); ++at) {
      if (layer.steps[at] == layer.residual_add) {
        SMELT_ASSIGN_OR_RETURN(value, AddResidual(build, value, layer, scale));
      } else {
        value = Rearrange(build, *layer.steps[at], value);
      }
    }
    value = build.Add(Opcode::kClamp, Typed(PrimitiveType::kS32, *value),
                      {Number(build, PrimitiveType::kS32, ToStep(layer.clip.low, scale), value->shape()), value,
                       Number(build, PrimitiveType::kS32, ToStep(layer.clip.high, scale), value->shape())});
    value = build.Convert(value, PrimitiveType::kS8);
    for (; at < layer.steps.size(); ++at) value = Rearrange(build, *layer.steps[at], value);
    integers_[layer.out] = value;
    ReplaceByFloats(*layer.out);
    return absl::OkStatus();
  }

  absl::StatusOr<Instruction*> Rescale(GraphBuilder& build, Instruction* x, const std::vector<double>& steps,
                                       double scale, absl::Span<const int64_t> channel_dims, double bound) {
    std::vector<double> factors;
    for (const double step : steps) factors.push_back(step / scale);
    SMELT_ASSIGN_OR_RETURN(const MultiplyShift rescale, ChooseMultiplyShift(factors));
    return AddMultiplyShift(build, x, rescale, channel_dims, bound);
  }

  absl::StatusOr<Instruction*> AddResidual(GraphBuilder& build, Instruction* value, const Layer& layer, double scale) {
    Instruction* residual = build.Convert(Integers(layer.residual), PrimitiveType::kS32);
    SMELT_ASSIGN_OR_RETURN(residual, Rescale(build, residual, {ScaleOf(layer.residual)}, scale, {}, kInt8Bound));
    return build.Binary(Opcode::kAdd, value, residual);
  }

  Instruction* WriteContraction(GraphBuilder& build, const Layer& layer, IntegerWeights weights) {
    Instruction* data = Integers(layer.data());
    Instruction* constant = build.Constant(std::move(weights.values));
    std::vector<Instruction*> operands = {data, constant};
    if (layer.data_operand == 1) std::swap(operands[0], operands[1]);
    Instruction* sum = build.Add(layer.root->opcode(), Typed(PrimitiveType::kS32, *layer.root), std::move(operands),
                                 layer.root->all_attributes());
    if (std::all_of(weights.bias.begin(), weights.bias.end(), [](int32_t b) { return b == 0; })) return sum;
    std::vector<int64_t> sizes;
    for (const int64_t d : layer.channel_dims) sizes.push_back(sum->shape().dimensions[d]);
    Instruction* bias =
        build.Constant(Literal::FromValues<int32_t>(PrimitiveType::kS32, std::move(sizes), weights.bias));
    return build.Binary(Opcode::kAdd, sum, build.Broadcast(bias, sum->shape().dimensions, layer.channel_dims));
  }

  void WriteFloatResult(GraphBuilder& build, const Layer& layer, Instruction* sum, const std::vector<double>& steps) {
    std::vector<int64_t> sizes;
    for (const int64_t d : layer.channel_dims) sizes.push_back(sum->shape().dimensions[d]);
    std::vector<float> scales(steps.begin(), steps.end());
    Instruction* scale = build.Constant(Literal::FromValues<float>(PrimitiveType::kF32, std::move(sizes), scales));
    Instruction* value = build.Binary(Opcode::kMultiply, build.Convert(sum, PrimitiveType::kF32),
                                      build.Broadcast(scale, sum->shape().dimensions, layer.channel_dims));
    for (const Instruction* step : layer.steps) value = Rearrange(build, *step, value);
    Put(*layer.out, build.Convert(value, layer.out->shape().element_type));
  }

  // A reshape, transposition or conversion of the plan, of `value` instead.
  static Instruction* Rearrange(GraphBuilder& build, const Instruction& step, Instruction* value) {
    if (step.opcode() == Opcode::kReshape) return build.Reshape(value, step.shape().dimensions);
    if (step.opcode() == Opcode::kTranspose)
      return build.Transpose(value, step.attributes<DimensionsAttributes>().dimensions);
    return value;
  }

  // The reduction of the plan with other operands; the operation is the opcode on their type.
  Instruction* WriteReduction(GraphBuilder& build, const Instruction& like, Opcode opcode, Instruction* value,
                              Instruction* init) {
    const PrimitiveType type = value->shape().element_type;
    Computation*& reducer = reducers_[{opcode, type}];
    if (reducer == nullptr) reducer = AddBinaryComputation(*result_.module, opcode, type);
    return build.Add(like.opcode(), Typed(type, like), {value, init}, like.all_attributes(), {reducer});
  }

  Instruction* WriteKept(const Instruction& x) {
    GraphBuilder build(*map_.at(&x));
    const double scale = ScaleOf(&x);
    switch (x.opcode()) {
      case Opcode::kReshape:
      case Opcode::kTranspose:
      case Opcode::kConvert:
      case Opcode::kCopy:
        return Rearrange(build, x, Integers(x.operand(0)));
      case Opcode::kPad:
        return build.Add(Opcode::kPad, Typed(PrimitiveType::kS8, x),
                         {Integers(x.operand(0)), build.Scalar(PrimitiveType::kS8, 0)}, x.all_attributes());
      case Opcode::kConcatenate: {
        std::vector<Instruction*> operands;
        for (const Instruction* operand : x.operands()) operands.push_back(Integers(operand));
        return build.Add(Opcode::kConcatenate, Typed(PrimitiveType::kS8, x), std::move(operands), x.all_attributes());
      }
      case Opcode::kReduce:
      case Opcode::kReduceWindow:
        return WriteReduction(build, x, Opcode::kMaximum, Integers(x.operand(0)),
                              Number(build, PrimitiveType::kS8, ToStep(plan_.bounds.at(&x).low, scale),
                                     Shape::Scalar(PrimitiveType::kS8)));
      case Opcode::kMaximum:
      case Opcode::kMinimum:
      case Opcode::kClamp: {
        const Bounds& bounds = plan_.bounds.at(&x);
        Instruction* value = Integers(x.operand(bounds.operand));
        return build.Add(Opcode::kClamp, value->shape(),
                         {Number(build, PrimitiveType::kS8, ToStep(bounds.low, scale), value->shape()), value,
                          Number(build, PrimitiveType::kS8, ToStep(bounds.high, scale), value->shape())});
      }
      default:  // slice, reverse, broadcast
        return build.Add(x.opcode(), Typed(PrimitiveType::kS8, x), {Integers(x.operand(0))}, x.all_attributes());
    }
  }

  const Plan& plan_;
  const Scales& scales_;
  QuantizedGraph result_;
  absl::flat_hash_map<const Instruction*, Instruction*> map_;  // the module's instructions to their copies
  std::vector<Instruction*> order_;
  absl::flat_hash_map<const Instruction*, Instruction*> integers_, floats_;
  absl::flat_hash_map<std::pair<Opcode, PrimitiveType>, Computation*> reducers_;
};

}  // namespace

absl::StatusOr<QuantizedGraph> WriteQuantizedGraph(const Module& module, const Plan& plan, const Scales& scales,
                                                   bool keep_probes) {
  return Writer(module, plan, scales).Run(keep_probes);
}

std::unique_ptr<Module> WithProbes(const Module& module, const std::vector<const Instruction*>& probes) {
  absl::flat_hash_map<const Instruction*, Instruction*> map;
  std::unique_ptr<Module> copy = module.Clone(nullptr, &map);
  std::vector<Instruction*> elements;
  for (const Instruction* probe : probes) elements.push_back(map.at(probe));
  Computation& entry = *copy->entry();
  elements.push_back(entry.root());
  GraphBuilder build(entry);
  entry.set_root(build.Tuple(std::move(elements)));
  return copy;
}

}  // namespace smelt::hlo::quantize
