#include <algorithm>
#include <cmath>

#include "tests/kernels/lower/check_lowering.h"

namespace smelt::kernels::lower {
namespace {

te::Graph ArgMax(int64_t rows, int64_t columns) {
  Tensor a = Placeholder("a", {rows, columns}, PrimitiveType::kF32);
  const te::DataType f32{PrimitiveType::kF32, 1}, s32{PrimitiveType::kS32, 1};
  auto combiner = std::make_shared<te::Combiner>();
  combiner->lhs = {te::Var("lv", f32), te::Var("li", s32)};
  combiner->rhs = {te::Var("rv", f32), te::Var("ri", s32)};
  const Expr &lv = combiner->lhs[0], &li = combiner->lhs[1], &rv = combiner->rhs[0], &ri = combiner->rhs[1];
  const Expr greater = te::Compare(te::CompareOp::kGt, lv, rv), equal = te::Compare(te::CompareOp::kEq, lv, rv);
  const Expr earlier = te::Compare(te::CompareOp::kLt, li, ri);
  const Expr left = Or(greater, And(equal, earlier));
  combiner->results = {te::Select(greater, lv, te::Select(equal, lv, rv)), te::Select(left, li, ri)};
  combiner->identity = {te::FloatConst(f32, -INFINITY), te::IntConst(s32, INT32_MAX)};
  ReduceAxis k(columns, "k");
  te::OperationRef op = te::ComputeMany("argmax", {rows}, [&](Indices i) {
    return te::ReduceMany(combiner, {a(i[0], k), te::Cast(s32, k)}, {k},
                          {te::FloatConst(f32, -INFINITY), te::IntConst(s32, 0)});
  });
  return MakeGraph({a}, {{op, 0}, {op, 1}});
}

TEST(Reductions, VariadicReductionsUpdateAllAccumulatorsTogether) {
  for (auto [rows, columns] : {std::pair{4, 9}, {16, 30}, {1, 1}}) {
    te::Graph graph = ArgMax(rows, columns);
    EXPECT_LOWERS_RIGHT(Schedule(graph));
    Schedule rows_vectorized(graph);
    auto split = rows_vectorized.Split("argmax", "i0", 8).value();
    ASSERT_TRUE(rows_vectorized.Reorder("argmax", {split.first, "r0", split.second}).ok());
    ASSERT_TRUE(rows_vectorized.Vectorize("argmax", split.second).ok());
    EXPECT_LOWERS_RIGHT(rows_vectorized);
    Schedule factored(graph);
    auto r = factored.Split("argmax", "r0", 8).value();
    EXPECT_EQ(factored.Rfactor("argmax", r.second).value(), "argmax.rf");
    ASSERT_TRUE(factored.ComputeAt("argmax.rf", "argmax", "i0").ok());
    ASSERT_TRUE(factored.Reorder("argmax.rf", {"i1", "r0", "i0"}).ok());
    ASSERT_TRUE(factored.Vectorize("argmax.rf", "i0").ok());
    ASSERT_TRUE(factored.Unroll("argmax", "r0").ok());
    EXPECT_LOWERS_RIGHT(factored);
  }
}

TEST(Reductions, PartialSumsOfEveryShape) {
  for (int64_t size : {1, 7, 16, 50}) {
    Tensor a = Placeholder("a", {3, size}, PrimitiveType::kF32);
    ReduceAxis k(size, "k");
    Tensor sum = Compute("sum", {3}, [&](Indices i) {
      return te::Reduce(te::SimpleCombiner(te::BinaryOp::kAdd, PrimitiveType::kF32), a(i[0], k), {k}, Constant(5));
    });
    te::Graph graph = MakeGraph({a}, {sum});
    for (const bool inner : {false, true}) {
      for (const TailStrategy tail : {TailStrategy::kGuard, TailStrategy::kPredicate}) {
        Schedule s(graph);
        auto split = s.Split("sum", "r0", 8, tail).value();
        ASSERT_TRUE(s.Rfactor("sum", inner ? split.second : split.first).ok());
        EXPECT_LOWERS_RIGHT(s);
        ASSERT_TRUE(s.ComputeAt("sum.rf", "sum", "i0").ok());
        ASSERT_TRUE(s.SetScope("sum.rf", ir::Scope::kLocal).ok());
        if (inner) {
          ASSERT_TRUE(s.Reorder("sum.rf", {"r0", "i0", "i1"}).ok());
          ASSERT_TRUE(s.Vectorize("sum.rf", "i0").ok());
        }
        EXPECT_LOWERS_RIGHT(s);
      }
    }
    Schedule plain(graph);
    ASSERT_TRUE(plain.Split("sum", "r0", 4, TailStrategy::kPredicate).ok());
    EXPECT_LOWERS_RIGHT(plain);
  }
}

TEST(Reductions, ReduceLoopsMayStandAnywhere) {
  Tensor a = Placeholder("a", {6, 5, 7}, PrimitiveType::kF32);
  ReduceAxis k(5, "k"), l(7, "l");
  Tensor sum = Compute("sum", {6}, [&](Indices i) { return Sum(a(i[0], k, l), {k, l}); });
  te::Graph graph = MakeGraph({a}, {sum});
  std::vector<std::string> order{"i0", "r0", "r1"};
  std::sort(order.begin(), order.end());
  do {
    Schedule s(graph);
    ASSERT_TRUE(s.Reorder("sum", order).ok());
    EXPECT_LOWERS_RIGHT(s);
  } while (std::next_permutation(order.begin(), order.end()));
  Schedule fused(graph);
  const std::string loop = fused.Fuse("sum", "r0", "r1").value();
  auto split = fused.Split("sum", loop, 4).value();
  ASSERT_TRUE(fused.Reorder("sum", {split.first, "i0", split.second}).ok());
  EXPECT_LOWERS_RIGHT(fused);
  ASSERT_TRUE(fused.Rfactor("sum", split.second).ok());
  EXPECT_LOWERS_RIGHT(fused);
}

TEST(Reductions, SeveralResultsOverOneDomain) {
  Tensor a = Placeholder("a", {12, 10}, PrimitiveType::kF32);
  te::OperationRef both = te::ComputeMany("both", {12, 10}, [&](Indices i) {
    return std::vector<Expr>{Add(a(i[0], i[1]), Constant(1)), te::Cast({PrimitiveType::kS32, 1}, a(i[0], i[1]))};
  });
  te::Graph graph = MakeGraph({a}, {{both, 1}, {both, 0}});
  Schedule s(graph);
  EXPECT_LOWERS_RIGHT(s);
  auto fused = s.Fuse("both", "i0", "i1").value();
  auto split = s.Split("both", fused, 16, TailStrategy::kShiftInwards).value();
  ASSERT_TRUE(s.Vectorize("both", split.second).ok());
  ASSERT_TRUE(s.Parallel("both", split.first).ok());
  EXPECT_LOWERS_RIGHT(s);
}

}  // namespace
}  // namespace smelt::kernels::lower
