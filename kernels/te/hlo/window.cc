#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/ceil_div.h"
#include "base/status_macros.h"
#include "hlo/running_window.h"
#include "kernels/te/evaluate.h"
#include "kernels/te/hlo/rules.h"

namespace smelt::kernels::te {
namespace {

// Scans shorter than this are not worth several levels.
constexpr int64_t kScanLimit = 64;

Expr CombinePair(const Reducer& reducer, const Expr& lhs, const Expr& rhs) {
  return Substitute(reducer.combiner->results[0], {{reducer.combiner->lhs[0], lhs}, {reducer.combiner->rhs[0], rhs}});
}

// What stands at a position.
using Source = std::function<Expr(const std::vector<Expr>&)>;

constexpr int64_t kBlock = 16;  // elements whose running results are made before those of all blocks

// Whether a combiner of unknown meaning may take its elements in groups: whether it does so on trial. XLA may group any
// reduction; here those that depend on the order keep it.
bool IsAssociative(const Combiner& combiner, PrimitiveType type) {
  constexpr double kValues[] = {-21.5, -3.25, -0.75, 0, 0.375, 1, 2.625, 40};
  if (type != PrimitiveType::kF32 && type != PrimitiveType::kF64) return false;
  const auto combine = [&](Scalar a, Scalar b) {
    return EvaluateScalar(combiner.results[0], {{combiner.lhs[0], a}, {combiner.rhs[0], b}});
  };
  for (const double a : kValues) {
    for (const double b : kValues) {
      const absl::StatusOr<Scalar> left = combine({.f = a}, {.f = b});
      for (const double c : kValues) {
        const absl::StatusOr<Scalar> right = combine({.f = b}, {.f = c});
        if (!left.ok() || !right.ok()) return false;
        const absl::StatusOr<Scalar> one = combine(*left, {.f = c}), other = combine({.f = a}, *right);
        if (!one.ok() || !other.ok()) return false;
        const double error = std::fabs(one->f - other->f);
        if (!(error <= 1e-5 * (1 + std::fabs(one->f)))) return false;
      }
    }
  }
  return true;
}

// Running results within each block, of a combiner that has no identity: after a step of one, two, four and eight each
// element has met all before it. Few evaluations of a combiner that may be costly (logarithms of sums of exponentials).
Source DoubledScan(const std::string& name, const std::vector<int64_t>& shape, int64_t dimension,
                   const Reducer& reducer, Source source) {
  for (int64_t step = 1; step < std::min(kBlock, shape[dimension]); step *= 2) {
    const Tensor level = Compute(absl::StrCat(name, "_", step), shape, [&](Indices indices) {
      const std::vector<Expr> here(indices.begin(), indices.end());
      std::vector<Expr> before = here;
      before[dimension] = Max(here[dimension] - step, 0);
      return If(FloorMod(here[dimension], kBlock) >= step, CombinePair(reducer, source(before), source(here)),
                source(here));
    });
    source = [level](const std::vector<Expr>& position) { return level(position); };
  }
  return source;
}

// ScanOf of such a combiner. Without an initial value the first block has nothing before it.
Source ScanWithoutIdentity(const std::string& name, const std::vector<int64_t>& shape, int64_t dimension,
                           const Reducer& reducer, const Expr* init, const Source& source) {
  const int64_t size = shape[dimension];
  const Source within = DoubledScan(absl::StrCat(name, "_within"), shape, dimension, reducer, source);
  if (size <= kBlock) return within;
  std::vector<int64_t> shortened = shape;
  shortened[dimension] = CeilDiv(size, kBlock);
  const Source totals = ScanWithoutIdentity(
      absl::StrCat(name, "_totals"), shortened, dimension, reducer, nullptr, [&](std::vector<Expr> position) {
        position[dimension] = Min(position[dimension] * kBlock + (kBlock - 1), size - 1);
        return within(position);
      });
  const auto before_block = [dimension, totals](std::vector<Expr> position) {
    position[dimension] = Max(position[dimension] - 1, 0);
    return totals(position);
  };
  if (init == nullptr) {
    return [=](const std::vector<Expr>& position) {
      std::vector<Expr> block = position;
      block[dimension] = FloorDiv(position[dimension], kBlock);
      return If(Expr(0) < block[dimension], CombinePair(reducer, before_block(block), within(position)),
                within(position));
    };
  }
  const Tensor before = Compute(absl::StrCat(name, "_before"), shortened, [&](Indices indices) {
    const std::vector<Expr> block(indices.begin(), indices.end());
    return If(Expr(0) < block[dimension], CombinePair(reducer, *init, before_block(block)), *init);
  });
  return [=](const std::vector<Expr>& position) {
    std::vector<Expr> block = position;
    block[dimension] = FloorDiv(position[dimension], kBlock);
    return CombinePair(reducer, before(block), within(position));
  };
}

// Running results along one dimension, each of all elements up to its own: n elements in blocks of 16, a scan within
// each block, and one over the blocks' totals, which is of the same kind. Sixteen steps an element instead of n, and a
// sum of many elements is as exact as one by a tree. Positions within a block stand beside the blocks, so that what is
// contiguous in the source stays so. The initial value, where there is one, goes into what stands before each block:
// the first level has several.
Source ScanOf(const std::string& name, const std::vector<int64_t>& shape, int64_t dimension, const Reducer& reducer,
              const Expr* init, const Source& source) {
  if (reducer.combiner->identity.empty()) return ScanWithoutIdentity(name, shape, dimension, reducer, init, source);
  const int64_t size = shape[dimension];
  const Expr identity = reducer.combiner->identity[0];
  if (size <= kBlock) {
    ReduceAxis step(size, "r0");
    const Tensor all = Compute(
        name, shape,
        [&](Indices indices) {
          std::vector<Expr> position(indices.begin(), indices.end());
          position[dimension] = step;
          return Reduce(reducer.combiner, If(Expr(step) <= indices[dimension], source(position), identity), {step});
        },
        "reduce-window");
    return [all](const std::vector<Expr>& position) { return all(position); };
  }
  const int64_t blocks = CeilDiv(size, kBlock);
  const auto place = [dimension](std::vector<Expr> position, const Expr& block, const Expr& in_block) {
    position[dimension] = block;
    position.insert(position.begin() + dimension + 1, in_block);
    return position;
  };
  std::vector<int64_t> shortened = shape, blocked = shape;
  shortened[dimension] = blocked[dimension] = blocks;
  blocked.insert(blocked.begin() + dimension + 1, kBlock);
  ReduceAxis step(kBlock, "r0");
  const Tensor within = Compute(
      absl::StrCat(name, "_within"), blocked,
      [&](Indices indices) {
        const Expr element = indices[dimension] * kBlock + step;
        std::vector<Expr> position(indices.begin(), indices.end());
        position.erase(position.begin() + dimension + 1);
        position[dimension] = element;
        Expr covered = Expr(step) <= indices[dimension + 1];
        if (size % kBlock != 0) covered = And(covered, element < size);
        return Reduce(reducer.combiner, If(covered, source(position), identity), {step});
      },
      "reduce-window");
  const Source totals = ScanOf(absl::StrCat(name, "_totals"), shortened, dimension, reducer, nullptr,
                               [&](const std::vector<Expr>& position) {
                                 return within(place(position, position[dimension], Expr(kBlock - 1)));
                               });
  const Tensor before = Compute(absl::StrCat(name, "_before"), shortened, [&](Indices indices) -> Expr {
    std::vector<Expr> position(indices.begin(), indices.end());
    position[dimension] = Max(indices[dimension] - 1, 0);
    const Expr total = totals(position);
    if (init == nullptr) return If(Expr(0) < indices[dimension], total, identity);
    return If(Expr(0) < indices[dimension], CombinePair(reducer, *init, total), *init);
  });
  return [=](const std::vector<Expr>& position) {
    const Expr block = FloorDiv(position[dimension], kBlock);
    std::vector<Expr> of_block = position;
    of_block[dimension] = block;
    return CombinePair(reducer, before(of_block),
                       within(place(position, block, FloorMod(position[dimension], kBlock))));
  };
}

std::vector<Value> EmitScan(const RuleInput& input, const Reducer& reducer, const hlo::RunningWindow& scan) {
  const DataType type{reducer.types[0], 1};
  // Position along the scan, from its start, to position in the operand, and back.
  const auto along = [&](const std::vector<Expr>& position) {
    std::vector<Expr> result = position;
    if (scan.reverse) result[scan.dimension] = input.dimensions()[scan.dimension] - 1 - result[scan.dimension];
    return result;
  };
  const Source running = ScanOf(input.name, input.dimensions(), scan.dimension, reducer, &reducer.init[0],
                                [&](const std::vector<Expr>& position) {
                                  const Expr source = input.operand(0).At(along(position));
                                  return source.type() == type ? source : Cast(type, source);
                                });
  return {input.Emit([&](Indices indices) {
    const Expr result = running(along({indices.begin(), indices.end()}));
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
  const std::optional<hlo::RunningWindow> scan = hlo::RunningWindowOf(input.instruction);
  if (scan && reducer.types.size() == 1 && input.dimensions()[scan->dimension] >= kScanLimit &&
      (!reducer.combiner->identity.empty() || IsAssociative(*reducer.combiner, reducer.types[0])))
    return EmitScan(input, reducer, *scan);

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
