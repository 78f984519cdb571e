// Random graphs and random schedules of them, by seed: what lowering and code generation are tried with.
//
//   smelt::bench::ScheduleFuzzer fuzzer(17);
//   kernels::te::Graph graph = fuzzer.MakeRandomGraph();
//   kernels::schedule::Schedule s(graph);
//   fuzzer.ScheduleAtRandom(&s);                 // s.ToString() says what it did
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/ir/stmt.h"
#include "kernels/schedule/state.h"
#include "kernels/te/tensor.h"

namespace smelt::bench {

namespace ir = kernels::ir;
namespace te = kernels::te;

class ScheduleFuzzer {
 public:
  using Schedule = kernels::schedule::Schedule;
  using TailStrategy = kernels::schedule::TailStrategy;

  explicit ScheduleFuzzer(uint64_t seed) : random_(seed) {}

  int64_t Int(int64_t lo, int64_t hi) { return std::uniform_int_distribution<int64_t>(lo, hi)(random_); }
  bool Chance(int percent) { return Int(1, 100) <= percent; }
  template <typename T>
  const T& Pick(const std::vector<T>& list) {
    return list[Int(0, static_cast<int64_t>(list.size()) - 1)];
  }

  te::Graph MakeRandomGraph() {
    std::vector<Tensor> inputs, all;
    const int input_count = static_cast<int>(Int(1, 2));
    for (int i = 0; i < input_count; ++i) {
      inputs.push_back(te::Placeholder(absl::StrCat("p", i), RandomShape(), PrimitiveType::kF32));
      all.push_back(inputs.back());
    }
    const int stages = static_cast<int>(Int(1, 6));
    for (int n = 0; n < stages; ++n) all.push_back(RandomStage(absl::StrCat("s", n), all));
    std::vector<Tensor> outputs{all.back()};
    if (Chance(15)) outputs.push_back(Pick(all));
    return te::MakeGraph(inputs, outputs);
  }

  // Tries random primitives. Returns what a refused one has changed, which is nothing: empty.
  std::string ScheduleAtRandom(Schedule* s) {
    const int steps = static_cast<int>(Int(0, 14));
    for (int n = 0; n < steps; ++n) {
      const std::string before = s->ToString();
      if (!TryPrimitive(s) && s->ToString() != before)
        return absl::StrCat("before:\n", before, "after:\n", s->ToString());
    }
    // What needs others first, so that it is not rare.
    for (int n = static_cast<int>(Int(0, 4)); n > 0; --n) {
      const std::string before = s->ToString();
      if (!TryOverlap(s) && s->ToString() != before)
        return absl::StrCat("before:\n", before, "after:\n", s->ToString());
    }
    return "";
  }

 private:
  using Tensor = te::Tensor;
  using Expr = te::Expr;
  using ReduceAxis = te::ReduceAxis;
  using Indices = te::Indices;
  using PrimitiveType = te::PrimitiveType;

  static Expr Constant(double value) { return te::FloatConst({PrimitiveType::kF32, 1}, value); }
  static Expr Add(const Expr& a, const Expr& b) { return te::Binary(te::BinaryOp::kAdd, a, b); }

  std::vector<int64_t> RandomShape() {
    std::vector<int64_t> shape(Int(1, 3));
    for (int64_t& extent : shape) extent = Chance(10) ? 1 : Int(2, 13);
    return shape;
  }

  // A read of any tensor at indices made from the given ones, in bounds by clamping, wrapping or a condition.
  Expr RandomRead(const Tensor& t, const std::vector<Expr>& indices, const std::vector<int64_t>& extents) {
    std::vector<Expr> at;
    Expr condition = te::Bool(true);
    for (size_t d = 0; d < t.shape().size(); ++d) {
      const int64_t size = t.shape()[d];
      const int64_t which = Int(0, static_cast<int64_t>(indices.size()) - 1);
      Expr index = indices.empty() ? Expr(0) : indices[which];
      const int64_t extent = indices.empty() ? 1 : extents[which];
      switch (Int(0, 6)) {
        case 0:  // plain, clamped where it is too long
          if (extent > size) index = Min(index, Expr(size - 1));
          break;
        case 1:  // wrapped
          index = FloorMod(index + Int(0, 5), size);
          break;
        case 2:  // reversed
          index = te::Max(Expr(size - 1) - index, Expr(0));
          break;
        case 3:  // several in one
          index = FloorMod(FloorDiv(index * 3 + indices[Int(0, indices.size() - 1)], 2), size);
          break;
        case 4:
          index = FloorDiv(index * size, extent);
          break;
        default:  // shifted under a condition, as padding does
          index = index - Int(0, 3);
          condition = And(condition, And(index >= Expr(0), index < Expr(size)));
      }
      at.push_back(index);
    }
    // Sometimes the identity of a sum or of a maximum: such updates are skipped.
    const int64_t otherwise = Int(0, 3);
    return te::If(condition, t(at), Constant(otherwise == 0 ? 0 : otherwise == 1 ? -INFINITY : 3));
  }

  Tensor RandomStage(const std::string& name, const std::vector<Tensor>& all) {
    const std::vector<int64_t> shape = RandomShape();
    const bool reduce = Chance(40);
    std::vector<ReduceAxis> axes;
    if (reduce) {
      const int count = static_cast<int>(Int(1, 2));
      for (int r = 0; r < count; ++r) axes.push_back(ReduceAxis(Int(1, 9), absl::StrCat("k", r)));
    }
    return te::Compute(name, shape, [&](Indices i) {
      std::vector<Expr> indices(i.begin(), i.end());
      std::vector<int64_t> extents = shape;
      for (const ReduceAxis& axis : axes) {
        indices.push_back(axis);
        extents.push_back(axis.extent());
      }
      // Mostly recent tensors, so that there are chains.
      const auto operand = [&]() -> const Tensor& { return Chance(60) ? all.back() : Pick(all); };
      Expr value = RandomRead(operand(), indices, extents);
      if (Chance(60)) {
        const Expr other = RandomRead(operand(), indices, extents);
        value = Chance(50) ? Add(value, other) : te::Binary(te::BinaryOp::kMax, value, other);
      } else if (axes.size() == 1 && Chance(50)) {
        // The inputs come first; of what is computed products would grow beyond exact sums.
        const auto input = [&]() -> const Tensor& {
          const Tensor& any = Pick(all);
          return any.op->kind == te::OperationKind::kPlaceholder ? any : all[0];
        };
        return Product(input(), input(), indices, extents, axes);
      }
      if (!reduce) return Chance(30) ? te::Unary(te::UnaryOp::kNegate, value) : value;
      if (Chance(50)) return te::Reduce(te::SimpleCombiner(te::BinaryOp::kMax, PrimitiveType::kF32), value, axes);
      return te::Reduce(te::SimpleCombiner(te::BinaryOp::kAdd, PrimitiveType::kF32), value, axes, Constant(Int(0, 2)));
    });
  }

  // A sum over one axis of products of elements that lie along it, where the operands have a dimension as long; else of
  // their first elements.
  Expr Product(const Tensor& a, const Tensor& b, const std::vector<Expr>& indices, const std::vector<int64_t>& extents,
               const std::vector<ReduceAxis>& axes) {
    const auto element = [&](const Tensor& t) {
      std::vector<Expr> at;
      bool summed = false;
      for (const int64_t size : t.shape()) {
        if (!summed && size == axes[0].extent()) {
          at.push_back(axes[0]);
          summed = true;
          continue;
        }
        at.push_back(extents[0] <= size ? indices[0] : Expr(0));
      }
      return t(at);
    };
    return te::Sum(te::Binary(te::BinaryOp::kMul, element(a), element(b)), axes);
  }

  bool TryPrimitive(Schedule* s) {
    const std::vector<std::string> stages = s->Stages();
    const std::string stage = Pick(stages);
    const std::vector<std::string> loops = s->Loops(stage);
    const std::string loop = loops.empty() ? "none" : Pick(loops);
    switch (Int(0, 19)) {
      case 0:
      case 1:
      case 2:
        return s->Split(stage, loop, Int(1, 9), static_cast<TailStrategy>(Int(0, 3))).ok();
      case 3:
        return s->SplitParts(stage, loop, Int(1, 5), static_cast<TailStrategy>(Int(0, 1))).ok();
      case 4: {
        if (loops.size() < 2) return false;
        const int64_t at = Int(0, static_cast<int64_t>(loops.size()) - 2);
        return s->Fuse(stage, loops[at], loops[at + 1]).ok();
      }
      case 5: {
        std::vector<std::string> order = loops;
        std::shuffle(order.begin(), order.end(), random_);
        order.resize(Int(0, static_cast<int64_t>(order.size())));
        return s->Reorder(stage, order).ok();
      }
      case 6:
        return s->Vectorize(stage, loop).ok();
      case 7:
        return s->Unroll(stage, loop).ok();
      case 8:
        return s->Parallel(stage, loop).ok();
      case 9: {
        const std::string consumer = Pick(stages);
        const std::vector<std::string> at = s->Loops(consumer);
        return !at.empty() && s->ComputeAt(stage, consumer, Pick(at)).ok();
      }
      case 10:
        return s->ComputeInline(stage).ok();
      case 11:
        return Chance(50) ? s->CacheRead(stage, RandomScope(), {Pick(stages)}).ok()
                          : s->CacheWrite(stage, RandomScope()).ok();
      case 12:
        return s->Rfactor(stage, loop).ok();
      case 13:
        return s->Bind(stage, loop, ir::ForKind::kVirtualThread).ok();
      case 14:
        return TryOverlap(s);
      case 15: {
        const int64_t factor = Int(1, 40);
        return s->StorageAlign(stage, static_cast<int>(Int(0, 2)), factor, Int(0, factor - 1)).ok();
      }
      case 18:
        // Both ask for a sum of products.
        return Chance(50) ? s->PadReduction(stage, loop, Int(1, 6)).ok() : s->ShiftOperand(stage, Pick(stages)).ok();
      case 16:
        return s->Prefetch(Pick(stages), stage, loop, Int(1, 4), Chance(50) ? "" : Chance(50) ? "i0" : "r0").ok();
      case 17: {
        const std::vector<std::pair<std::string, int64_t>> pragmas = {
            {"auto_unroll_max_step", Int(0, 64)}, {"unroll_explicit", Int(0, 1)}, {"nontemporal", 1}};
        const auto& [key, value] = Pick(pragmas);
        return s->Pragma(stage, loop, key, value).ok();
      }
      default: {
        if (Chance(50)) return s->SetScope(stage, RandomScope()).ok();
        std::vector<std::pair<int, int64_t>> layout;
        const te::OperationRef op = s->state().stages[s->state().IndexOf(stage)].identity;
        for (int d = 0; d < static_cast<int>(op->shape.size()); ++d) layout.emplace_back(d, Chance(50) ? 1 : Int(2, 5));
        std::shuffle(layout.begin(), layout.end(), random_);
        const std::vector<std::pair<int, int64_t>> blocks = layout;
        for (const auto& [axis, block] : blocks) {
          if (block > 1) layout.emplace_back(axis, 0);
        }
        return s->TransformLayout(stage, layout).ok();
      }
    }
  }

  // Computes a stage at a loop where that is legal, or makes iterations overlap where one is computed already.
  bool TryOverlap(Schedule* s) {
    std::vector<std::string> attached;
    const auto& stages = s->state().stages;
    for (const auto& stage : stages) {
      if (stage.attach == kernels::schedule::Attach::kAt) attached.push_back(stage.name);
    }
    if (stages.size() < 2) return false;
    if (attached.empty() || Chance(25)) {
      const int64_t at = Int(1, static_cast<int64_t>(stages.size()) - 1);
      const std::string consumer = stages[at].name, producer = stages[Int(0, at - 1)].name;
      const std::vector<std::string> loops = s->Loops(consumer);
      return !loops.empty() && s->ComputeAt(producer, consumer, Pick(loops)).ok();
    }
    const kernels::schedule::Stage& stage = stages[s->state().IndexOf(Pick(attached))];
    if (Chance(50)) return s->DoubleBuffer(stage.name).ok();
    const std::string consumer = stage.attach_stage;
    const std::string loop = stages[s->state().IndexOf(consumer)].loops[stage.attach_loop].name;
    const size_t parts = s->state().StagesAt(consumer, stage.attach_loop).size() + 1;
    // Mostly legal: later parts later.
    std::vector<int> steps, order;
    for (size_t i = 0; i < parts; ++i) {
      steps.push_back(static_cast<int>(Int(0, 3)));
      order.push_back(static_cast<int>(i));
    }
    if (Chance(80)) {
      std::sort(steps.begin(), steps.end());
    } else {
      std::shuffle(order.begin(), order.end(), random_);
    }
    return s->Pipeline(consumer, loop, steps, order).ok();
  }

  ir::Scope RandomScope() {
    const ir::Scope scopes[] = {ir::Scope::kShared, ir::Scope::kThread, ir::Scope::kLocal};
    return scopes[Int(0, 2)];
  }

  std::mt19937_64 random_;
};

}  // namespace smelt::bench
