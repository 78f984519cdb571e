#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kernels/te/hlo/rules.h"

namespace smelt::kernels::te {
namespace {

// Scans shorter than this are not worth two levels.
constexpr int64_t kScanLimit = 64;

// A running sum or the like along one dimension: the window reaches from the first element to this one (or, reversed,
// from this one to the last).
struct Scan {
  int64_t dimension = -1;
  bool reverse = false;
};

bool IsScan(const RuleInput& input, const Reducer& reducer, Scan* scan) {
  if (reducer.types.size() != 1 || reducer.combiner->identity.empty()) return false;
  const auto& window = input.instruction.attributes<hlo::WindowAttributes>().window.dimensions;
  for (size_t d = 0; d < window.size(); ++d) {
    const hlo::WindowDimension& w = window[d];
    if (w.stride != 1 || w.window_dilation != 1 || w.base_dilation != 1) return false;
    if (w.size == 1 && w.padding_low == 0 && w.padding_high == 0) continue;
    if (scan->dimension >= 0 || w.size != input.operand_dimensions(0)[d]) return false;
    if (w.padding_low == w.size - 1 && w.padding_high == 0) {
      scan->reverse = false;
    } else if (w.padding_high == w.size - 1 && w.padding_low == 0) {
      scan->reverse = true;
    } else {
      return false;
    }
    scan->dimension = static_cast<int64_t>(d);
  }
  return scan->dimension >= 0 && window[scan->dimension].size >= kScanLimit;
}

Expr CombinePair(const Reducer& reducer, const Expr& lhs, const Expr& rhs) {
  return Substitute(reducer.combiner->results[0], {{reducer.combiner->lhs[0], lhs}, {reducer.combiner->rhs[0], rhs}});
}

// n elements in blocks of about sqrt(n): a scan within each block, a scan over the blocks' totals, and their
// combination. n * sqrt(n) steps instead of n * n.
std::vector<Value> EmitScan(const RuleInput& input, const Reducer& reducer, const Scan& scan) {
  const int64_t size = input.dimensions()[scan.dimension];
  int64_t block = 16;
  while (block * block < size) block *= 2;
  const int64_t blocks = (size + block - 1) / block;
  const DataType type{reducer.types[0], 1};
  const Expr identity = reducer.combiner->identity[0];
  // Position along the scan, from its start, to position in the operand.
  const auto along = [&](const Expr& i) { return scan.reverse ? Expr(size - 1) - i : i; };

  std::vector<int64_t> shape = input.dimensions();
  shape[scan.dimension] = blocks;
  shape.push_back(block);
  ReduceAxis step(block, "r0");
  const Tensor within = Compute(
      absl::StrCat(input.name, "_within"), shape,
      [&](Indices indices) {
        Expr element = indices[scan.dimension] * block + step;
        std::vector<Expr> position(indices.begin(), indices.end() - 1);
        position[scan.dimension] = along(element);
        Expr source = input.operand(0).At(position);
        if (source.type() != type) source = Cast(type, source);
        Expr covered = Expr(step) <= indices.back();
        if (size % block != 0) covered = And(covered, element < size);
        return Reduce(reducer.combiner, If(covered, source, identity), {step});
      },
      "reduce-window");
  shape.pop_back();
  ReduceAxis earlier(blocks, "r0");
  const Tensor before = Compute(
      absl::StrCat(input.name, "_before"), shape,
      [&](Indices indices) {
        std::vector<Expr> position(indices.begin(), indices.end());
        position[scan.dimension] = earlier;
        position.push_back(Expr(block - 1));
        return Reduce(reducer.combiner, If(Expr(earlier) < indices[scan.dimension], within(position), identity),
                      {earlier}, reducer.init[0]);
      },
      "reduce-window");
  return {input.Emit([&](Indices indices) {
    Expr element = along(indices[scan.dimension]);
    std::vector<Expr> position(indices.begin(), indices.end());
    position[scan.dimension] = FloorDiv(element, block);
    Expr total = before(position);
    position.push_back(FloorMod(element, block));
    Expr result = CombinePair(reducer, total, within(position));
    return type.element == input.type() ? result : Cast({input.type(), 1}, result);
  })};
}

// The combiner with one value more, a predicate: elements for which it is false leave the accumulators as they are.
std::shared_ptr<const Combiner> SkippingCombiner(const Combiner& combiner) {
  const DataType predicate{PrimitiveType::kPred, 1};
  Combiner skipping = combiner;
  skipping.lhs.push_back(Var("lhs_inside", predicate));
  skipping.rhs.push_back(Var("rhs_inside", predicate));
  for (size_t i = 0; i < combiner.results.size(); ++i) {
    skipping.results[i] = If(skipping.rhs.back(), combiner.results[i], combiner.lhs[i]);
  }
  skipping.results.push_back(Or(skipping.lhs.back(), skipping.rhs.back()));
  return std::make_shared<const Combiner>(std::move(skipping));
}

}  // namespace

absl::StatusOr<std::vector<Value>> ReduceWindowRule(const RuleInput& input) {
  SMELT_ASSIGN_OR_RETURN(Reducer reducer, MakeReducer(input));
  Scan scan;
  if (IsScan(input, reducer, &scan)) return EmitScan(input, reducer, scan);

  const auto& window = input.instruction.attributes<hlo::WindowAttributes>().window.dimensions;
  const std::vector<int64_t>& from = input.operand_dimensions(0);
  const hlo::Shape& shape = input.instruction.shape();
  const std::vector<int64_t>& to = shape.IsTuple() ? shape.tuple_shapes[0].dimensions : shape.dimensions;
  std::vector<ReduceAxis> axes;
  std::vector<int> axis_of(window.size(), -1);
  for (size_t d = 0; d < window.size(); ++d) {
    if (window[d].size == 1) continue;
    axis_of[d] = static_cast<int>(axes.size());
    axes.emplace_back(window[d].size, absl::StrCat("r", axes.size()));
  }
  if (axes.empty()) axes.emplace_back(1, "r0");  // windows of one element still meet the initial value

  OperationRef reduction = ComputeMany(
      input.name, to,
      [&](Indices indices) {
        Expr inside = Bool(true);
        std::vector<Expr> position;
        for (size_t d = 0; d < window.size(); ++d) {
          const hlo::WindowDimension& w = window[d];
          Expr offset = axis_of[d] >= 0 ? Expr(axes[axis_of[d]]) : Expr(0);
          Expr spread = indices[d] * w.stride + offset * w.window_dilation - w.padding_low;
          const int64_t last = (to[d] - 1) * w.stride + (w.size - 1) * w.window_dilation - w.padding_low;
          const int64_t span = (from[d] - 1) * w.base_dilation + 1;
          if (w.padding_low > 0) inside = And(inside, spread >= 0);
          if (last >= span) inside = And(inside, spread < span);
          if (w.base_dilation > 1) inside = And(inside, FloorMod(spread, w.base_dilation) == 0);
          position.push_back(FloorDiv(spread, w.base_dilation));
        }
        int64_t always = 0;
        const bool padded = !(IsConstInt(inside, &always) && always != 0);
        // Padding is no element: it must not bring in the initial value once more, which need not be the identity.
        const bool has_identity = !reducer.combiner->identity.empty();
        std::vector<Expr> sources;
        for (size_t i = 0; i < reducer.types.size(); ++i) {
          const DataType type{reducer.types[i], 1};
          Expr source = input.operand(i).At(position);
          if (source.type() != type) source = Cast(type, source);
          const Expr& outside = has_identity ? reducer.combiner->identity[i] : reducer.init[i];
          sources.push_back(padded ? If(inside, source, outside) : source);
        }
        if (!padded || has_identity) return ReduceMany(reducer.combiner, sources, axes, reducer.init);
        sources.push_back(inside);
        std::vector<Expr> init = reducer.init;
        init.push_back(Bool(true));
        return ReduceMany(SkippingCombiner(*reducer.combiner), sources, axes, init);
      },
      "reduce-window");
  return FinishReduction(input, reducer, reduction);
}

}  // namespace smelt::kernels::te
