#include "kernels/te/expr.h"

#include <cmath>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/te/tensor.h"

namespace smelt::kernels::te {
namespace {

constexpr DataType kF32{PrimitiveType::kF32, 1};

TEST(Expr, EqualExpressionsAreOneNode) {
  Var i("i"), j("j");
  EXPECT_TRUE((i * 4 + j).Same(i * 4 + j));
  EXPECT_FALSE((i * 4 + j).Same(j * 4 + i));
  EXPECT_FALSE(Var("i").Same(i));
  EXPECT_EQ((i * 4 + j)->hash, (i * 4 + j)->hash);
}

TEST(Expr, PrintsLikeTheHeaderSays) {
  Var i("i");
  EXPECT_EQ(ToString(i * 4 + 1), "((i*4) + 1)");
  EXPECT_EQ(ToString(FloorDiv(i, 8)), "(i // 8)");
  EXPECT_EQ(ToString(Min(i, 7) < 3), "(min(i, 7) < 3)");
}

TEST(Expr, ConjunctsAreWhatAllMustHold) {
  Var i("i"), j("j");
  const Expr low = i >= 1, high = i < 8, either = Or(j < 2, j >= 5);
  const std::vector<Expr> all = Conjuncts(And(And(low, high), either));
  ASSERT_EQ(all.size(), 3u);
  EXPECT_TRUE(all[0].Same(low) && all[1].Same(high) && all[2].Same(either));
  EXPECT_EQ(Conjuncts(either).size(), 1u);
}

TEST(Expr, FoldsConstantsAndIdentities) {
  Var i("i");
  EXPECT_TRUE((Expr(3) * 4 + 1).Same(Expr(13)));
  EXPECT_TRUE((i + 0).Same(i));
  EXPECT_TRUE((i * 1).Same(i));
  EXPECT_TRUE((i * 0).Same(Expr(0)));
  EXPECT_TRUE((i - i).Same(Expr(0)));
  EXPECT_TRUE(FloorDiv(Expr(-7), 4).Same(Expr(-2)));
  EXPECT_TRUE(FloorMod(Expr(-7), 4).Same(Expr(1)));
  EXPECT_TRUE((Expr(4) + i).Same(i + 4));
  EXPECT_TRUE(Select(Bool(true), i, Expr(2)).Same(i));
}

TEST(Expr, FoldsValuesWithTheirTypesSemantics) {
  const DataType u8{PrimitiveType::kU8, 1}, s32{PrimitiveType::kS32, 1};
  EXPECT_EQ(Binary(BinaryOp::kAdd, IntConst(u8, 250), IntConst(u8, 10))->int_value, 4);
  EXPECT_EQ(Binary(BinaryOp::kDiv, IntConst(s32, 5), IntConst(s32, 0))->int_value, -1);
  EXPECT_EQ(Binary(BinaryOp::kDiv, IntConst(s32, INT32_MIN), IntConst(s32, -1))->int_value, INT32_MIN);
  EXPECT_EQ(Cast(u8, FloatConst(kF32, 300.5))->int_value, 255);
  EXPECT_EQ(Cast(s32, FloatConst(kF32, std::nan("")))->int_value, 0);
  EXPECT_FLOAT_EQ(Cast({PrimitiveType::kBF16, 1}, FloatConst(kF32, 3.14159))->float_value, 3.140625);
}

TEST(Expr, IndexVectorsStayRamps) {
  Var i("i");
  Expr ramp = Ramp(i, 1, 16);
  EXPECT_TRUE((ramp * Splat(Expr(4), 16) + Splat(Expr(3), 16)).Same(Ramp(i * 4 + 3, 4, 16)));
  EXPECT_TRUE((ramp + ramp).Same(Ramp(i + i, 2, 16)));
  EXPECT_TRUE((ramp - ramp).Same(Splat(Expr(0), 16)));
}

TEST(Expr, DeepChainsNeitherRecurseNorLeak) {
  Tensor a = Placeholder("a", {4}, PrimitiveType::kF32);
  Var i("i"), j("j");
  Expr e = a(i);
  for (int n = 0; n < 200000; ++n) e = Binary(BinaryOp::kAdd, e, FloatConst(kF32, n + 1));
  int nodes = 0;
  Visit(e, [&](const Expr&) { ++nodes; });
  EXPECT_EQ(nodes, 200000 * 2 + 2);
  Expr f = Substitute(e, {{i, j}});
  EXPECT_FALSE(f.Same(e));
  EXPECT_TRUE(Substitute(f, {{j, i}}).Same(e));
  EXPECT_FALSE(ToString(e).empty());
}

TEST(Expr, DiamondsStaySmall) {
  Var i("i");
  Expr e = i;
  for (int n = 0; n < 64; ++n) e = e * e + e;
  int nodes = 0;
  Visit(e, [&](const Expr&) { ++nodes; });
  EXPECT_EQ(nodes, 129);
  EXPECT_LT(ToString(e).size(), 10000);
  Var j("j");
  EXPECT_TRUE(Substitute(Substitute(e, {{i, j}}), {{j, i}}).Same(e));
}

TEST(Expr, ChainsOfOperationsAreDestroyedWithoutRecursion) {
  Tensor t = Placeholder("a", {4}, PrimitiveType::kF32);
  Tensor input = t;
  for (int n = 0; n < 50000; ++n) {
    t = Compute("t", {4}, [&](Indices i) { return Unary(UnaryOp::kNegate, t(i[0])); });
  }
  EXPECT_EQ(MakeGraph({input}, {t}).operations.size(), 50001);
}

TEST(Expr, ThreadsShareNodes) {
  Var i("i");
  std::vector<Expr> made(4);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Expr e = i;
      for (int n = 1; n < 2000; ++n) {
        e = FloorDiv(e * n + 1, 3);
        Expr garbage = Min(e, n) + Max(i, n * 7);  // made and dropped by all threads at once
      }
      made[t] = e;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int t = 1; t < 4; ++t) EXPECT_TRUE(made[t].Same(made[0]));
}

TEST(Tensor, MatrixProductPrintsAsWritten) {
  Tensor a = Placeholder("a", {64, 32}, PrimitiveType::kF32);
  Tensor b = Placeholder("b", {32, 16}, PrimitiveType::kF32);
  ReduceAxis k(32, "k");
  Tensor c =
      Compute("c", {64, 16}, [&](Indices i) { return Sum(Binary(BinaryOp::kMul, a(i[0], k), b(k, i[1])), {k}); });
  EXPECT_TRUE(c.op->IsReduction());
  EXPECT_EQ(c.op->reduce_axes[0].extent, 32);
  Graph graph = MakeGraph({a, b}, {c});
  EXPECT_EQ(graph.operations.size(), 3);
  EXPECT_EQ(ToString(graph),
            "a: f32[64,32] placeholder\nb: f32[32,16] placeholder\n"
            "c: f32[64,16] = reduce.0({(a[i0, k]*b[k, i1])}, axes={k}, init={0f})\noutputs: c\n");
}

}  // namespace
}  // namespace smelt::kernels::te
