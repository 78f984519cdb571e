#include "hlo/quantize/plan.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "hlo/quantize/channels.h"
#include "hlo/quantize/contraction.h"
#include "hlo/rewrite/graph_builder.h"

namespace smelt::hlo::quantize {
namespace {

bool IsFloatArray(const Instruction& x) { return x.shape().IsArray() && IsFloat(x.shape().element_type); }

// Instructions that move elements and compute nothing; of a conversion, between floats.
bool IsRearrangement(const Instruction& x) {
  switch (x.opcode()) {
    case Opcode::kReshape:
    case Opcode::kTranspose:
    case Opcode::kCopy:
      return true;
    case Opcode::kConvert:
      return IsFloatArray(*x.operand(0)) && IsFloatArray(x);
    default:
      return false;
  }
}

constexpr int64_t kMostSummed = int64_t{1} << 23;          // int8 values whose sum stays in s32
constexpr int64_t kMostSummedProducts = int64_t{1} << 16;  // products of two

// Whether `user` is the only reader of x, and reads it once.
bool ReadsAlone(const Instruction& user, const Instruction& x) {
  if (x.user_count() != 1 || x.IsRoot() || !x.control_successors().empty()) return false;
  return std::count(user.operands().begin(), user.operands().end(), &x) == 1;
}

class Planner {
 public:
  Planner(const Computation& computation, KnownValues& known, const PlanOptions& options)
      : order_(computation.PostOrder()), known_(known), options_(options) {}

  absl::StatusOr<Plan> Run() {
    for (const Instruction* x : order_) SMELT_RETURN_IF_ERROR(Visit(*x));
    Want();
    Finish();
    return std::move(plan_);
  }

 private:
  // A layer that may still grow, at its last instruction so far.
  struct Open {
    Layer layer;
    const Instruction* scaled = nullptr;  // where it ends if its result becomes float
    size_t scaled_steps = 0, scaled_members = 0;
    std::vector<const Instruction*> pending;  // rearrangements after `out`, part of it once something else follows
    bool activated = false;                   // a clip was taken in: no arithmetic may follow
  };

  absl::Status Visit(const Instruction& x) {
    if (known_.Is(x) || !IsFloatArray(x) || x.shape().IsDynamic() || !x.control_predecessors().empty())
      return absl::OkStatus();
    if (x.opcode() == Opcode::kConvolution || x.opcode() == Opcode::kDot) return VisitContraction(x);
    SMELT_ASSIGN_OR_RETURN(const bool extended, Extend(x));
    if (extended) return absl::OkStatus();
    SMELT_ASSIGN_OR_RETURN(const bool kept, Keeps(x));
    if (kept) candidates_.insert(&x);
    if (!kept && IsSum(x) && CanBeInteger(*x.operand(0))) Start(x, LayerKind::kSum);
    return absl::OkStatus();
  }

  absl::Status VisitContraction(const Instruction& x) {
    const int64_t weights = known_.Is(*x.operand(1)) ? 1 : 0;
    std::string why;
    if (options_.keep_float.contains(x.name())) {
      why = "kept float as asked";
    } else if (IsProduct(x)) {
      Start(x, LayerKind::kProduct);
      return absl::OkStatus();
    } else if (!known_.Is(*x.operand(weights))) {
      why = "both operands change with the inputs: neither is a weight";
    } else if (weights == 0 && x.opcode() == Opcode::kConvolution) {
      why = "its weights are the array that the window moves over";
    }
    if (why.empty()) {
      SMELT_ASSIGN_OR_RETURN(const std::shared_ptr<const Literal> literal, known_.Value(*x.operand(weights)));
      Layer layer;
      layer.root = &x;
      layer.data_operand = 1 - weights;
      layer.weights = literal;
      why = DescribeContraction(&layer);
      if (why.empty()) {
        Open& open = Start(x, LayerKind::kContraction);
        layer.kind = LayerKind::kContraction;
        layer.out = &x;
        layer.members = {&x};
        const int64_t channels = PlaceCount(x.shape().dimensions, layer.channel_dims);
        layer.scale.assign(channels, 1);
        layer.offset.assign(channels, 0);
        open.layer = std::move(layer);
        return absl::OkStatus();
      }
    }
    plan_.why_float[&x] = why;
    return absl::OkStatus();
  }

  // A batch of dots of floats that both change with the inputs. Dots without a batch stay float: a gradient of weights
  // is one, whose small values 8 bits do not hold.
  bool IsProduct(const Instruction& x) const {
    if (x.opcode() != Opcode::kDot || known_.Is(*x.operand(0)) || known_.Is(*x.operand(1))) return false;
    const auto& dot = x.attributes<DotAttributes>();
    return !dot.lhs_batch.empty() && IsFloatArray(*x.operand(0)) && IsFloatArray(*x.operand(1)) &&
           x.shape().ElementCount() > 0 && SummedProducts(x) <= kMostSummedProducts;
  }

  Open& Start(const Instruction& x, LayerKind kind) {
    const int64_t index = static_cast<int64_t>(layers_.size());
    Open& open = layers_.emplace_back();
    open.layer.kind = kind;
    open.layer.root = open.layer.out = open.scaled = &x;
    open.layer.members = {&x};
    open.layer.scale = {1};
    open.layer.offset = {0};
    open.scaled_members = 1;
    tip_[&x] = index;
    candidates_.insert(&x);
    return open;
  }

  // The layer that ends in x and that `user` may go on with; null: there is none.
  Open* Growing(const Instruction& x, const Instruction& user) {
    const auto at = tip_.find(&x);
    if (at == tip_.end() || !ReadsAlone(user, x)) return nullptr;
    return &layers_[at->second];
  }

  bool CanBeInteger(const Instruction& x) const { return candidates_.contains(&x); }

  void MoveTip(const Instruction& from, const Instruction& to) {
    const int64_t layer = tip_.at(&from);
    tip_.erase(&from);
    tip_[&to] = layer;
    candidates_.insert(&to);
  }

  // x becomes part of the layer, and the rearrangements before it too.
  void Take(Open& open, const Instruction& x, const Instruction& tip) {
    for (const Instruction* moved : open.pending) {
      candidates_.erase(moved);
      open.layer.steps.push_back(moved);
      open.layer.members.push_back(moved);
    }
    open.pending.clear();
    candidates_.erase(open.layer.out);
    open.layer.out = &x;
    open.layer.members.push_back(&x);
    MoveTip(tip, x);
  }

  // Lets a layer take x in; false where x is not for any.
  absl::StatusOr<bool> Extend(const Instruction& x) {
    if (IsRearrangement(x)) {
      Open* open = Growing(*x.operand(0), x);
      if (open == nullptr) return false;
      open->pending.push_back(&x);
      MoveTip(*x.operand(0), x);
      return true;
    }
    switch (x.opcode()) {
      case Opcode::kAdd:
        for (const int64_t i : {0, 1}) {
          if (known_.Is(*x.operand(1 - i))) return ExtendByArithmetic(x, i);
        }
        return ExtendByResidual(x);
      case Opcode::kMultiply:
      case Opcode::kSubtract:
      case Opcode::kDivide:
        for (const int64_t i : {0, 1}) {
          if (!known_.Is(*x.operand(1 - i))) continue;
          if (x.opcode() == Opcode::kDivide && i == 1) continue;
          return ExtendByArithmetic(x, i);
        }
        return false;
      case Opcode::kMaximum:
      case Opcode::kMinimum:
      case Opcode::kClamp:
        return ExtendByClip(x);
      default:
        return false;
    }
  }

  // The values of a known operand by the channels of the layer's root, whatever was rearranged since; empty: they
  // differ within a channel.
  absl::StatusOr<std::vector<double>> ChannelValues(const Open& open, const Instruction& operand) {
    SMELT_ASSIGN_OR_RETURN(const std::shared_ptr<const Literal> literal, known_.Value(operand));
    Literal value = *literal;
    std::vector<const Instruction*> steps = open.layer.steps;
    steps.insert(steps.end(), open.pending.begin(), open.pending.end());
    for (size_t i = steps.size(); i-- > 0;) {
      const Instruction& step = *steps[i];
      if (step.opcode() == Opcode::kReshape) {
        value.Reshape(step.operand(0)->shape().dimensions);
      } else if (step.opcode() == Opcode::kTranspose) {
        const std::vector<int64_t>& permutation = step.attributes<DimensionsAttributes>().dimensions;
        std::vector<int64_t> back(permutation.size());
        for (size_t d = 0; d < permutation.size(); ++d) back[permutation[d]] = static_cast<int64_t>(d);
        value = Transposed(value, back);
      }
    }
    return ByChannel(value, open.layer.channel_dims);
  }

  // x computes with the layer's value, operand i, and a known value.
  absl::StatusOr<bool> ExtendByArithmetic(const Instruction& x, int64_t i) {
    Open* open = Growing(*x.operand(i), x);
    if (open == nullptr || open->activated || open->layer.residual != nullptr || open->layer.kind == LayerKind::kAdd)
      return false;
    SMELT_ASSIGN_OR_RETURN(const std::vector<double> values, ChannelValues(*open, *x.operand(1 - i)));
    if (values.empty()) return false;
    std::vector<double> scale = open->layer.scale, offset = open->layer.offset;
    for (size_t c = 0; c < values.size(); ++c) {
      switch (x.opcode()) {
        case Opcode::kAdd:
          offset[c] += values[c];
          break;
        case Opcode::kSubtract:
          if (i == 1) scale[c] = -scale[c];
          offset[c] = i == 0 ? offset[c] - values[c] : values[c] - offset[c];
          break;
        case Opcode::kMultiply:
          scale[c] *= values[c];
          offset[c] *= values[c];
          break;
        default:
          scale[c] /= values[c];
          offset[c] /= values[c];
      }
      if (!std::isfinite(scale[c]) || !std::isfinite(offset[c])) return false;
      // Sums and products of int8 values have no weights that could take in a sign or an offset.
      const bool weightless = open->layer.kind == LayerKind::kSum || open->layer.kind == LayerKind::kProduct;
      if (weightless && (scale[c] <= 0 || offset[c] != 0)) return false;
    }
    open->layer.scale = std::move(scale);
    open->layer.offset = std::move(offset);
    Take(*open, x, *x.operand(i));
    open->scaled = &x;
    open->scaled_steps = open->layer.steps.size();
    open->scaled_members = open->layer.members.size();
    return true;
  }

  absl::StatusOr<bool> ExtendByResidual(const Instruction& x) {
    Open* best = nullptr;
    int64_t own = 0;
    for (const int64_t i : {0, 1}) {
      Open* open = Growing(*x.operand(i), x);
      if (open == nullptr || open->activated || open->layer.residual != nullptr ||
          open->layer.kind == LayerKind::kAdd || !CanBeInteger(*x.operand(1 - i)))
        continue;
      // The later one of two layers goes on; the other's result is int8 by then.
      if (best > open) continue;  // they stand in post order of their roots
      best = open;
      own = i;
    }
    if (best != nullptr) {
      best->layer.residual = x.operand(1 - own);
      Take(*best, x, *x.operand(own));
      best->layer.steps.push_back(&x);
      best->layer.residual_add = &x;
      return true;
    }
    if (!CanBeInteger(*x.operand(0)) || !CanBeInteger(*x.operand(1))) return false;
    Open& open = Start(x, LayerKind::kAdd);
    open.layer.residual = x.operand(1);
    open.layer.residual_add = &x;
    return true;
  }

  // A known number; none where the value is not known, or differs between elements.
  absl::StatusOr<std::optional<double>> Number(const Instruction& x) {
    if (!known_.Is(x)) return std::optional<double>();
    SMELT_ASSIGN_OR_RETURN(const std::shared_ptr<const Literal> literal, known_.Value(x));
    if (literal->element_count() == 0 || !literal->IsUniform() || std::isnan(literal->GetDouble(0)))
      return std::optional<double>();
    return std::optional<double>(literal->GetDouble(0));
  }

  // The bounds of a maximum, minimum or clamp by known numbers; none where it is something else.
  absl::StatusOr<std::optional<Bounds>> BoundsOf(const Instruction& x) {
    Bounds bounds;
    if (x.opcode() == Opcode::kClamp) {
      SMELT_ASSIGN_OR_RETURN(const std::optional<double> low, Number(*x.operand(0)));
      SMELT_ASSIGN_OR_RETURN(const std::optional<double> high, Number(*x.operand(2)));
      if (!low || !high) return std::optional<Bounds>();
      return std::optional<Bounds>({1, std::min(*low, *high), *high});
    }
    for (const int64_t i : {0, 1}) {
      SMELT_ASSIGN_OR_RETURN(const std::optional<double> bound, Number(*x.operand(1 - i)));
      if (!bound) continue;
      bounds.operand = i;
      (x.opcode() == Opcode::kMaximum ? bounds.low : bounds.high) = *bound;
      return std::optional<Bounds>(bounds);
    }
    return std::optional<Bounds>();
  }

  absl::StatusOr<bool> ExtendByClip(const Instruction& x) {
    SMELT_ASSIGN_OR_RETURN(const std::optional<Bounds> bounds, BoundsOf(x));
    if (!bounds) return false;
    const Instruction& value = *x.operand(bounds->operand);
    Open* open = Growing(value, x);
    if (open == nullptr) return false;
    Bounds& clip = open->layer.clip;
    // First not below `low`, then not above `high`.
    clip.low = std::min(std::max(clip.low, bounds->low), bounds->high);
    clip.high = std::min(std::max(clip.high, bounds->low), bounds->high);
    Take(*open, x, value);
    open->activated = true;
    return true;
  }

  static bool ReducesBy(const Instruction& x, Opcode opcode) {
    if (x.opcode() != Opcode::kReduce && x.opcode() != Opcode::kReduceWindow) return false;
    return x.operand_count() == 2 && BinaryOperation(*x.called(0)) == opcode;
  }

  bool IsSum(const Instruction& x) {
    return ReducesBy(x, Opcode::kAdd) && known_.Is(*x.operand(1)) && IsZero(*x.operand(1)) &&
           SummedElements(x) <= kMostSummed;
  }

  bool IsZero(const Instruction& x) {
    const absl::StatusOr<std::shared_ptr<const Literal>> literal = known_.Value(x);
    return literal.ok() && (*literal)->IsUniform() && (*literal)->element_count() > 0 && (*literal)->GetDouble(0) == 0;
  }

  // Whether x makes int8 values of int8 values at the same scale.
  absl::StatusOr<bool> Keeps(const Instruction& x) {
    if (x.operand_count() == 0) return false;
    switch (x.opcode()) {
      case Opcode::kReshape:
      case Opcode::kTranspose:
      case Opcode::kCopy:
      case Opcode::kConvert:
      case Opcode::kSlice:
      case Opcode::kReverse:
      case Opcode::kBroadcast:
        return CanBeInteger(*x.operand(0));
      case Opcode::kPad:
        return CanBeInteger(*x.operand(0)) && known_.Is(*x.operand(1)) && IsZero(*x.operand(1));
      case Opcode::kConcatenate:
        return std::all_of(x.operands().begin(), x.operands().end(),
                           [&](const Instruction* operand) { return CanBeInteger(*operand); });
      case Opcode::kReduce:
      case Opcode::kReduceWindow: {
        if (!ReducesBy(x, Opcode::kMaximum) || !CanBeInteger(*x.operand(0))) return false;
        SMELT_ASSIGN_OR_RETURN(const std::optional<double> init, Number(*x.operand(1)));
        if (!init) return false;
        plan_.bounds[&x].low = *init;
        return true;
      }
      case Opcode::kMaximum:
      case Opcode::kMinimum:
      case Opcode::kClamp: {
        SMELT_ASSIGN_OR_RETURN(const std::optional<Bounds> bounds, BoundsOf(x));
        if (!bounds || !CanBeInteger(*x.operand(bounds->operand))) return false;
        plan_.bounds[&x] = *bounds;
        return true;
      }
      default:
        return false;
    }
  }

  // From users to producers: what is read as int8 becomes int8.
  void Want() {
    absl::flat_hash_map<const Instruction*, int64_t> ends, starts;
    for (size_t i = 0; i < layers_.size(); ++i) {
      ends[layers_[i].layer.out] = static_cast<int64_t>(i);
      starts[layers_[i].layer.root] = static_cast<int64_t>(i);
    }
    absl::flat_hash_set<const Instruction*>& wanted = plan_.quantized;
    for (size_t i = order_.size(); i-- > 0;) {
      const Instruction* x = order_[i];
      const bool want = wanted.contains(x);
      if (const auto end = ends.find(x); end != ends.end()) {
        Open& open = layers_[end->second];
        open.layer.integer_out = want;
        if (want) {
          if (open.layer.residual != nullptr) wanted.insert(open.layer.residual);
          if (open.layer.kind == LayerKind::kAdd) wanted.insert(open.layer.data());
        } else {
          EndAfterScale(open);
        }
      } else if (want && candidates_.contains(x)) {
        plan_.kept.insert(x);
        wanted.insert(IntegerOperands(*x).begin(), IntegerOperands(*x).end());
      }
      if (const auto start = starts.find(x); start != starts.end()) {
        const Layer& layer = layers_[start->second].layer;
        if (layer.kind == LayerKind::kContraction || (layer.kind == LayerKind::kSum && layer.integer_out))
          wanted.insert(layer.data());
        if (layer.kind == LayerKind::kProduct)
          wanted.insert(layer.root->operands().begin(), layer.root->operands().end());
      }
    }
  }

  static void EndAfterScale(Open& open) {
    Layer& layer = open.layer;
    layer.out = open.scaled;
    layer.steps.resize(open.scaled_steps);
    layer.members.resize(open.scaled_members);
    layer.residual = layer.residual_add = nullptr;
    layer.clip = {};
  }

  // The operands of an instruction of `kept` that hold its values; initial values and bounds are constants.
  absl::Span<Instruction* const> IntegerOperands(const Instruction& x) const {
    if (x.opcode() == Opcode::kConcatenate) return x.operands();
    const auto bounds = plan_.bounds.find(&x);
    return x.operands().subspan(bounds == plan_.bounds.end() ? 0 : bounds->second.operand, 1);
  }

  void Finish() {
    absl::flat_hash_set<const Instruction*> members;
    for (Open& open : layers_) {
      const bool multiplies = open.layer.kind == LayerKind::kContraction || open.layer.kind == LayerKind::kProduct;
      if (!multiplies && !open.layer.integer_out) continue;
      members.insert(open.layer.members.begin(), open.layer.members.end());
      plan_.layer_of[open.layer.out] = static_cast<int64_t>(plan_.layers.size());
      plan_.layers.push_back(std::move(open.layer));
    }
    for (const Instruction* x : order_) {
      if (known_.Is(*x) || members.contains(x) || plan_.kept.contains(x) || plan_.why_float.contains(x)) continue;
      if (x->opcode() == Opcode::kParameter || x->opcode() == Opcode::kTuple || x->opcode() == Opcode::kGetTupleElement)
        continue;
      plan_.why_float[x] = WhyFloat(*x);
    }
  }

  std::string WhyFloat(const Instruction& x) const {
    if (GetOpcodeInfo(x.opcode()).category == OpcodeCategory::kControlFlow || x.opcode() == Opcode::kFusion)
      return StrCat("what a ", OpcodeName(x.opcode()), " runs is not looked into");
    if (!IsFloatArray(x)) return "no array of floats";
    if (candidates_.contains(&x) || tip_.contains(&x)) return "only floats are computed from it";
    for (const Instruction* operand : x.operands()) {
      if (plan_.why_float.contains(operand)) return "it reads what is float";
    }
    return StrCat(OpcodeName(x.opcode()), " has no int8 form here");
  }

  const std::vector<Instruction*> order_;
  KnownValues& known_;
  const PlanOptions& options_;
  Plan plan_;
  std::vector<Open> layers_;
  absl::flat_hash_map<const Instruction*, int64_t> tip_;  // where each growing layer stands
  absl::flat_hash_set<const Instruction*> candidates_;    // what may be int8: ends of layers, and what keeps scales
};

}  // namespace

int64_t SummedProducts(const Instruction& dot) {
  return PlaceCount(dot.operand(0)->shape().dimensions, dot.attributes<DotAttributes>().lhs_contracting);
}

int64_t SummedElements(const Instruction& x) {
  if (x.opcode() == Opcode::kReduce) {
    return x.operand(0)->shape().ElementCount() / std::max<int64_t>(1, x.shape().ElementCount());
  }
  int64_t count = 1;
  for (const WindowDimension& d : x.attributes<WindowAttributes>().window.dimensions) count *= d.size;
  return count;
}

absl::StatusOr<Plan> MakePlan(const Computation& computation, KnownValues& known, const PlanOptions& options) {
  return Planner(computation, known, options).Run();
}

}  // namespace smelt::hlo::quantize
