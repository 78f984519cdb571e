#include "hlo/passes/convolution_layout.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "base/status_macros.h"
#include "hlo/passes/dead_code.h"
#include "hlo/rewrite/graph_builder.h"

namespace smelt::hlo {
namespace {

using Permutation = std::vector<int64_t>;  // result dimension i is operand dimension permutation[i]

bool IsPlain(const Instruction& x) { return x.shape().IsArray() && !x.shape().IsDynamic() && !x.HasControlEdges(); }

Permutation Inverse(const Permutation& permutation) {
  Permutation inverse(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) inverse[permutation[i]] = static_cast<int64_t>(i);
  return inverse;
}

// Where a dimension of the operand is found in the result.
int64_t After(const Permutation& permutation, int64_t dimension) {
  return std::find(permutation.begin(), permutation.end(), dimension) - permutation.begin();
}

Shape Permuted(const Shape& shape, const Permutation& permutation) {
  std::vector<int64_t> dimensions;
  for (int64_t d : permutation) dimensions.push_back(shape.dimensions[d]);
  return Shape::Array(shape.element_type, std::move(dimensions));
}

// `first`, the spatial dimensions in their order, `last`.
Permutation Around(const std::vector<int64_t>& spatial, int64_t first, int64_t last) {
  Permutation order = {first};
  order.insert(order.end(), spatial.begin(), spatial.end());
  order.push_back(last);
  return order;
}

// Where the dimensions are once their array is in this order.
void Renumber(const Permutation& order, int64_t* a, int64_t* b, std::vector<int64_t>* spatial) {
  *a = After(order, *a);
  *b = After(order, *b);
  for (int64_t& dimension : *spatial) dimension = After(order, dimension);
}

bool ComesFirst(int64_t dimension, const std::vector<int64_t>& spatial) {
  return std::all_of(spatial.begin(), spatial.end(), [&](int64_t s) { return dimension < s; });
}

// Both dimensions that are not spatial stand in front, as in NCHW.
bool IsSpatialLast(int64_t a, int64_t b, const std::vector<int64_t>& spatial) {
  return ComesFirst(a, spatial) && ComesFirst(b, spatial) && std::is_sorted(spatial.begin(), spatial.end());
}

int64_t WindowSize(const ConvolutionAttributes& attributes) {
  int64_t size = 1;
  for (const WindowDimension& d : attributes.window.dimensions) size *= d.size;
  return size;
}

bool HasPicturesOfRows(const Instruction& x) {
  const ConvolutionDimensions& d = x.attributes<ConvolutionAttributes>().dimensions;
  return !d.input_spatial.empty() && IsSpatialLast(d.input_batch, d.input_feature, d.input_spatial);
}

// Its rows are so much slower than its features that it is worth two transposes of its own.
bool IsWorthMoving(const Instruction& x) {
  const auto& attributes = x.attributes<ConvolutionAttributes>();
  constexpr int64_t kFewestFeatures = 8;  // of a group: half a vector
  const int64_t features = x.operand(1)->shape().dimensions[attributes.dimensions.kernel_output_feature];
  return WindowSize(attributes) > 1 && features / attributes.feature_group_count >= kFewestFeatures;
}

class LayoutChange {
 public:
  explicit LayoutChange(Computation& computation) : computation_(computation) {}

  bool Run() {
    std::vector<Instruction*> convolutions;
    bool worth = false;
    for (Instruction* x : computation_.Instructions()) {
      if (x->opcode() != Opcode::kConvolution || !IsPlain(*x) || !IsPlain(*x->operand(0)) || !IsPlain(*x->operand(1)) ||
          !HasPicturesOfRows(*x)) {
        continue;
      }
      convolutions.push_back(x);
      worth = worth || IsWorthMoving(*x);
    }
    if (!worth) return false;
    for (Instruction* x : convolutions) Move(*x);
    for (Instruction* x : computation_.PostOrder()) Sink(*x);
    return true;
  }

 private:
  // The array in another order: one transpose for all that ask for it.
  Instruction* Transposed(Instruction* x, const Permutation& permutation, GraphBuilder& build) {
    if (moved_.contains(x) && x->attributes<DimensionsAttributes>().dimensions == Inverse(permutation))
      return x->operand(0);
    if (Instruction* there = FindTransposed(*x, permutation)) return there;
    return build.Transpose(x, permutation);
  }

  static Instruction* FindTransposed(const Instruction& x, const Permutation& permutation) {
    for (Instruction* user : x.users()) {
      if (user->opcode() == Opcode::kTranspose && user->attributes<DimensionsAttributes>().dimensions == permutation &&
          IsPlain(*user)) {
        return user;
      }
    }
    return nullptr;
  }

  // `x` was `result`, whose dimensions stand in the order `permutation`.
  void ReplaceByTransposeOf(Instruction& x, Instruction* result, const Permutation& permutation, GraphBuilder& build) {
    Instruction* back = build.Transpose(result, Inverse(permutation));
    back->shape().layout = x.shape().layout;
    if (back != result) moved_.insert(back);  // a result that stays is not transposed
    x.ReplaceAllUsesWith(back);  // dead code goes at the end: `moved_` must not meet new instructions at old places
  }

  void Move(Instruction& x) {
    GraphBuilder build(x);
    ConvolutionAttributes attributes = x.attributes<ConvolutionAttributes>();
    ConvolutionDimensions& d = attributes.dimensions;
    std::vector<Instruction*> operands = {x.operand(0), x.operand(1)};

    // The gradient of weights sums over the batch, which stands in the place of features: its kernel is a picture, too.
    const bool of_weights = d.input_feature < d.input_batch;

    // The second of the two moves behind the rows: in pictures it is the feature, in their gradients the batch.
    const Permutation in =
        Around(d.input_spatial, std::min(d.input_batch, d.input_feature), std::max(d.input_batch, d.input_feature));
    operands[0] = Transposed(operands[0], in, build);
    Renumber(in, &d.input_batch, &d.input_feature, &d.input_spatial);

    if (of_weights && d.kernel_input_feature < d.kernel_output_feature &&
        IsSpatialLast(d.kernel_input_feature, d.kernel_output_feature, d.kernel_spatial)) {
      const Permutation order = Around(d.kernel_spatial, d.kernel_input_feature, d.kernel_output_feature);
      operands[1] = Transposed(operands[1], order, build);
      Renumber(order, &d.kernel_input_feature, &d.kernel_output_feature, &d.kernel_spatial);
    }

    Permutation out = Around(d.output_spatial, d.output_batch, d.output_feature);
    if (of_weights) std::rotate(out.begin(), out.begin() + 1, out.end() - 1);  // as weights stand beside these pictures
    if (!IsSpatialLast(d.output_batch, d.output_feature, d.output_spatial)) std::iota(out.begin(), out.end(), 0);
    Renumber(out, &d.output_batch, &d.output_feature, &d.output_spatial);
    Instruction* moved =
        build.Add(Opcode::kConvolution, Permuted(x.shape(), out), std::move(operands), std::move(attributes));
    moved->raw_attributes() = x.raw_attributes();
    ReplaceByTransposeOf(x, moved, out, build);
  }

  // The order that the result of `x` was moved out of, where its operands are such transposes and others that cost
  // nothing to transpose.
  std::optional<Permutation> OrderOf(const Instruction& x, int64_t operands) const {
    std::optional<Permutation> back;
    for (int64_t o = 0; o < operands; ++o) {
      const Instruction* operand = x.operand(o);
      if (!moved_.contains(operand)) continue;
      const Permutation& permutation = operand->attributes<DimensionsAttributes>().dimensions;
      if (back && *back != permutation) return std::nullopt;
      back = permutation;
    }
    if (!back) return std::nullopt;
    const Permutation order = Inverse(*back);
    for (int64_t o = 0; o < operands; ++o) {
      const Instruction* operand = x.operand(o);
      if (!IsPlain(*operand)) return std::nullopt;
      const bool free = moved_.contains(operand) || operand->shape().IsScalar() ||
                        operand->opcode() == Opcode::kBroadcast || operand->opcode() == Opcode::kConstant ||
                        operand->opcode() == Opcode::kIota || FindTransposed(*operand, order) != nullptr;
      if (!free) return std::nullopt;
    }
    return order;
  }

  // How many operands, from the first, have the dimensions of the result; 0: no transpose passes.
  static int64_t ArraysOf(const Instruction& x) {
    if (IsElementwise(x.opcode())) return x.opcode() == Opcode::kStochasticConvert ? 0 : x.operand_count();
    switch (x.opcode()) {
      case Opcode::kPad:
      case Opcode::kReduceWindow:
        return x.operand_count() == 2 ? 1 : 0;
      case Opcode::kSelectAndScatter:
        return 2;
      case Opcode::kConcatenate:
        return x.operand_count();
      default:
        return 0;
    }
  }

  static Attributes PermuteAttributes(const Instruction& x, const Permutation& order) {
    switch (x.opcode()) {
      case Opcode::kPad: {
        PadAttributes attributes;
        for (int64_t d : order) attributes.dimensions.push_back(x.attributes<PadAttributes>().dimensions[d]);
        return attributes;
      }
      case Opcode::kReduceWindow:
      case Opcode::kSelectAndScatter: {
        WindowAttributes attributes;
        for (int64_t d : order)
          attributes.window.dimensions.push_back(x.attributes<WindowAttributes>().window.dimensions[d]);
        return attributes;
      }
      case Opcode::kConcatenate: {
        const int64_t along = x.attributes<DimensionsAttributes>().dimensions[0];
        return DimensionsAttributes{{After(order, along)}};
      }
      default:
        return x.all_attributes();
    }
  }

  // op(transpose(a), transpose(b)) -> transpose(op(a, b))
  void Sink(Instruction& x) {
    const int64_t arrays = ArraysOf(x);
    if (arrays == 0 || !IsPlain(x) || (x.user_count() == 0 && !x.IsRoot())) return;
    const std::optional<Permutation> order = OrderOf(x, arrays);
    if (!order) return;
    GraphBuilder build(x);
    std::vector<Instruction*> operands(x.operands().begin(), x.operands().end());
    for (int64_t o = 0; o < arrays; ++o) {
      if (!operands[o]->shape().IsScalar()) operands[o] = Transposed(operands[o], *order, build);
    }
    Instruction* moved = build.Add(x.opcode(), Permuted(x.shape(), *order), std::move(operands),
                                   PermuteAttributes(x, *order), {x.called().begin(), x.called().end()});
    moved->raw_attributes() = x.raw_attributes();
    ReplaceByTransposeOf(x, moved, *order, build);
  }

  Computation& computation_;
  absl::flat_hash_set<const Instruction*> moved_;  // transposes of what was moved, to the order that it had
};

}  // namespace

absl::StatusOr<bool> LayOutConvolutions(Module& module) {
  bool changed = false;
  for (Computation* computation : module.Computations()) changed |= LayoutChange(*computation).Run();
  if (changed) SMELT_RETURN_IF_ERROR(EliminateDeadCode(module).status());
  return changed;
}

}  // namespace smelt::hlo
