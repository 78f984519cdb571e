// Several stages: attached, inlined, padded, cached, in several orders.
#include "absl/container/flat_hash_set.h"
#include "kernels/ir/mutate.h"
#include "tests/kernels/lower/check_lowering.h"

namespace smelt::kernels::lower {
namespace {

Expr Exp(const Expr& x) { return te::Unary(te::UnaryOp::kExp, x); }

te::Graph Softmax(int64_t rows, int64_t columns) {
  Tensor a = Placeholder("a", {rows, columns}, PrimitiveType::kF32);
  ReduceAxis k(columns, "k"), l(columns, "l");
  Tensor max = Compute("max", {rows}, [&](Indices i) {
    return te::Reduce(te::SimpleCombiner(te::BinaryOp::kMax, PrimitiveType::kF32), a(i[0], k), {k});
  });
  Tensor e = Compute("e", {rows, columns},
                     [&](Indices i) { return Exp(te::Binary(te::BinaryOp::kSub, a(i[0], i[1]), max(i[0]))); });
  Tensor sum = Compute("sum", {rows}, [&](Indices i) { return Sum(e(i[0], l), {l}); });
  Tensor out = Compute("out", {rows, columns},
                       [&](Indices i) { return te::Binary(te::BinaryOp::kDiv, e(i[0], i[1]), sum(i[0])); });
  return MakeGraph({a}, {out});
}

TEST(Stages, SoftmaxRowsInsideOneParallelLoop) {
  for (auto [rows, columns] : {std::pair{6, 20}, {1, 1}, {5, 33}}) {
    te::Graph graph = Softmax(rows, columns);
    Schedule s(graph);
    EXPECT_EQ(Difference(s, RandomInputs(graph), 1e-6), "");
    ASSERT_TRUE(s.Parallel("out", "i0").ok());
    for (const char* stage : {"sum", "e", "max"}) ASSERT_TRUE(s.ComputeAt(stage, "out", "i0").ok()) << stage;
    auto split = s.Split("out", "i1", 8).value();
    ASSERT_TRUE(s.Vectorize("out", split.second).ok());
    auto inner = s.Split("e", "i1", 8).value();
    ASSERT_TRUE(s.Vectorize("e", inner.second).ok());
    EXPECT_EQ(Difference(s, RandomInputs(graph), 1e-6), "");
    // Vectorised partial maxima and sums.
    auto r = s.Split("max", "r0", 4).value();
    const std::string rf = s.Rfactor("max", r.second).value();
    ASSERT_TRUE(s.ComputeAt(rf, "out", "i0").ok());
    ASSERT_TRUE(s.Reorder(rf, {"r0", "i0"}).ok());
    ASSERT_TRUE(s.Vectorize(rf, "i0").ok());
    EXPECT_EQ(Difference(s, RandomInputs(graph), 1e-6), "");
  }
}

// The lanes' copies of what is computed inside lie side by side, and indices read them there.
TEST(Stages, AnIndexComputedInsideOfAVectorLoop) {
  Tensor a = Placeholder("a", {15, 9}, PrimitiveType::kF32), p = Placeholder("p", {2}, PrimitiveType::kS32);
  Tensor at = Compute("at", {2}, [&](Indices i) { return p(i[0]); });
  const auto start = [&](int64_t part, int64_t most) {
    return te::Max(te::Min(te::Cast(te::kIndex, at(Expr(part))), most), 0);
  };
  Tensor b = Compute("b", {4, 2}, [&](Indices) { return a(start(0, 14), start(1, 8)); });
  Schedule s(MakeGraph({a, p}, {b}));
  ASSERT_TRUE(s.ComputeAt("at", "b", "i1").ok());
  ASSERT_TRUE(s.Vectorize("b", "i0").ok());
  EXPECT_LOWERS_RIGHT(s);
}

// Each index is read at the sum of two reads at the index before it: looked at by way of both, it would be looked at
// 2^40 times.
TEST(Stages, IndicesThatAreReadAtIndicesAreLookedAtOnce) {
  constexpr int kReads = 40;
  Tensor a = Placeholder("a", {16}, PrimitiveType::kS32), b = Placeholder("b", {16}, PrimitiveType::kS32);
  Tensor c = Compute("c", {16}, [&](Indices i) {
    Expr at = i[0];
    for (int k = 0; k < kReads; ++k)
      at = te::Max(te::Min(te::Cast(te::kIndex, a(at)) + te::Cast(te::kIndex, b(at)), 15), 0);
    return a(at);
  });
  Schedule s(MakeGraph({a, b}, {c}));
  const ir::Function function = LowerToLoops(s, {}).value();
  int loads = 0;
  absl::flat_hash_set<const te::ExprNode*> seen;
  ir::VisitStmts(function.phases[0].body, [&](const ir::StmtNode& stmt) {
    ir::ForEachExpr(stmt, [&](const Expr& root) {
      te::Visit(root, [&](const Expr& e) {
        if (seen.insert(e.get()).second) loads += e->kind == te::ExprKind::kLoad;
      });
    });
  });
  EXPECT_EQ(loads, 2 * kReads + 1);
}

TEST(Stages, InlinedChainsAndDiamondsStaySmall) {
  Tensor a = Placeholder("a", {40}, PrimitiveType::kF32);
  std::vector<Tensor> chain{a};
  for (int n = 0; n < 40; ++n) {
    const Tensor t = chain.back();
    chain.push_back(Compute(absl::StrCat("t", n), {40}, [&](Indices i) {
      return n % 2 == 0 ? Add(t(i[0]), t(i[0])) : Mul(t(i[0]), Constant(0.5));
    }));
  }
  Schedule s(MakeGraph({a}, {chain.back()}));
  for (int n = 0; n < 39; ++n) ASSERT_TRUE(s.ComputeInline(absl::StrCat("t", n)).ok());
  EXPECT_LOWERS_RIGHT(s);
  EXPECT_LT(ir::ToString(*Lower(s, {})).size(), 6000);
}

TEST(Stages, LongInlinedChainsDoNotRecurse) {
  Tensor a = Placeholder("a", {4}, PrimitiveType::kF32);
  Tensor t = a;
  constexpr int kLength = 3000;
  for (int n = 0; n < kLength; ++n) {
    t = Compute(absl::StrCat("t", n), {4}, [&](Indices i) { return Add(t(i[0]), Constant(n % 3)); });
  }
  Schedule s(MakeGraph({a}, {t}));
  for (int n = 0; n + 1 < kLength; ++n) ASSERT_TRUE(s.ComputeInline(absl::StrCat("t", n)).ok());
  ASSERT_TRUE(s.Vectorize(absl::StrCat("t", kLength - 1), "i0").ok());
  EXPECT_LOWERS_RIGHT(s);
}

te::Graph PaddedConvolution(int64_t size, int64_t channels, int64_t filters, int64_t stride, bool lazy_pad) {
  const int64_t out = (size + 2 - 3) / stride + 1;
  Tensor x = Placeholder("x", {1, size, size, channels}, PrimitiveType::kF32);
  Tensor w = Placeholder("w", {3, 3, channels, filters}, PrimitiveType::kF32);
  Tensor bias = Placeholder("bias", {filters}, PrimitiveType::kF32);
  Tensor pad = Compute("pad", {1, size + 2, size + 2, channels}, [&](Indices i) {
    const Expr inside = And(And(i[1] >= Expr(1), i[1] < Expr(size + 1)), And(i[2] >= Expr(1), i[2] < Expr(size + 1)));
    const Expr value = x(i[0], i[1] - 1, i[2] - 1, i[3]);
    return te::If(inside, value, Zero());
  });
  ReduceAxis kh(3, "kh"), kw(3, "kw"), ic(channels, "ic");
  Tensor conv = Compute("conv", {1, out, out, filters}, [&](Indices i) {
    return Sum(Mul(pad(i[0], i[1] * Expr(stride) + kh, i[2] * Expr(stride) + kw, ic), w(kh, kw, ic, i[3])),
               {kh, kw, ic});
  });
  Tensor relu = Compute("relu", {1, out, out, filters}, [&](Indices i) {
    return te::Binary(te::BinaryOp::kMax, Add(conv(i[0], i[1], i[2], i[3]), bias(i[3])), Zero());
  });
  (void)lazy_pad;
  return MakeGraph({x, w, bias}, {relu});
}

TEST(Stages, PaddedConvolutionWithRegisterTileAndEpilogue) {
  for (int64_t stride : {1, 2}) {
    for (auto [size, channels, filters] : {std::tuple{9, 3, 20}, {6, 4, 32}, {7, 1, 5}}) {
      for (int placement = 0; placement < 3; ++placement) {
        te::Graph graph = PaddedConvolution(size, channels, filters, stride, true);
        Schedule s(graph);
        if (placement == 0) {
          ASSERT_TRUE(s.ComputeInline("pad").ok());
        }
        auto [co, ci] = s.Split("relu", "i3", 16).value();
        auto [wo, wi] = s.Split("relu", "i2", 4).value();
        ASSERT_TRUE(s.Reorder("relu", {"i0", co, "i1", wo, wi, ci}).ok());
        ASSERT_TRUE(s.Vectorize("relu", ci).ok());
        ASSERT_TRUE(s.Unroll("relu", wi).ok());
        auto fused = s.Fuse("relu", "i0", co).value();
        ASSERT_TRUE(s.Parallel("relu", fused).ok());
        ASSERT_TRUE(s.SetScope("conv", ir::Scope::kLocal).ok());
        ASSERT_TRUE(s.ComputeAt("conv", "relu", wo).ok());
        ASSERT_TRUE(s.Reorder("conv", {"i0", "i1", "r0", "r1", "r2", "i2", "i3"}).ok());
        ASSERT_TRUE(s.Unroll("conv", "i2").ok());
        ASSERT_TRUE(s.Vectorize("conv", "i3").ok());
        if (placement == 1) {
          ASSERT_TRUE(s.ComputeAt("pad", "relu", "i1").ok());
        }
        EXPECT_LOWERS_RIGHT(s);
      }
    }
  }
}

TEST(Stages, CachedReadsInsideAReduceLoop) {
  for (auto [m, n, k] : {std::tuple{8, 16, 12}, {7, 19, 13}}) {
    Tensor a = Placeholder("a", {m, k}, PrimitiveType::kF32), b = Placeholder("b", {k, n}, PrimitiveType::kF32);
    ReduceAxis r(k, "k");
    Tensor c = Compute("c", {m, n}, [&](Indices i) { return Sum(Mul(a(i[0], r), b(r, i[1])), {r}); });
    Schedule s(MakeGraph({a, b}, {c}));
    auto [ko, ki] = s.Split("c", "r0", 5).value();
    auto [no, ni] = s.Split("c", "i1", 8).value();
    ASSERT_TRUE(s.Reorder("c", {no, ko, "i0", ki, ni}).ok());
    ASSERT_TRUE(s.Vectorize("c", ni).ok());
    const std::string packed = s.CacheRead("b", ir::Scope::kThread, {"c"}).value();
    EXPECT_EQ(packed, "b.thread");
    ASSERT_TRUE(s.ComputeAt(packed, "c", ko).ok());
    const std::string shared = s.CacheRead("a", ir::Scope::kShared, {"c"}).value();
    ASSERT_TRUE(s.TransformLayout(shared, {{0, 4}, {1, 1}, {0, 0}}).ok());
    EXPECT_LOWERS_RIGHT(s);
  }
}

TEST(Stages, ConcatenationAndPadSplitTheLoop) {
  Tensor a = Placeholder("a", {10}, PrimitiveType::kF32), b = Placeholder("b", {23}, PrimitiveType::kF32);
  Tensor c = Compute("c", {40}, [&](Indices i) {
    return te::If(i[0] < Expr(10), a(i[0]), te::If(i[0] < Expr(33), b(i[0] - 10), Constant(7)));
  });
  Schedule s(MakeGraph({a, b}, {c}));
  EXPECT_LOWERS_RIGHT(s);
  EXPECT_EQ(ir::ToString(*Lower(s, {})).find("where"), std::string::npos);
  auto split = s.Split("c", "i0", 8).value();
  ASSERT_TRUE(s.Vectorize("c", split.second).ok());
  EXPECT_LOWERS_RIGHT(s);
}

TEST(Stages, GatheredRowsAreReadWhereTheyAre) {
  Tensor table = Placeholder("table", {9, 12}, PrimitiveType::kF32);
  Tensor rows = Placeholder("rows", {7}, PrimitiveType::kS32);
  Tensor twice = Compute("twice", {9, 12}, [&](Indices i) { return Add(table(i[0], i[1]), table(i[0], i[1])); });
  Tensor out = Compute("out", {7, 12}, [&](Indices i) {
    const Expr row = te::Max(te::Min(te::Cast(te::kIndex, rows(i[0])), Expr(8)), Expr(0));
    return twice(row, i[1]);
  });
  te::Graph graph = MakeGraph({table, rows}, {out});
  for (int placement = 0; placement < 3; ++placement) {
    Schedule s(graph);
    if (placement == 1) {
      ASSERT_TRUE(s.ComputeInline("twice").ok());
    }
    if (placement == 2) {
      ASSERT_TRUE(s.ComputeAt("twice", "out", "i0").ok());
    }
    ASSERT_TRUE(s.Vectorize("out", "i1").ok());
    auto inputs = RandomInputs(graph);
    inputs[1] = RandomLiteral(PrimitiveType::kS32, {7}, 3, -3, 12);
    EXPECT_EQ(Difference(s, inputs), "");
  }
}

TEST(Stages, ReshapeOfAFusedLoopFoldsAway) {
  Tensor a = Placeholder("a", {6, 8, 5}, PrimitiveType::kF32);
  Tensor b = Compute("b", {48, 5}, [&](Indices i) {
    const Expr flat = i[0] * 5 + i[1];
    return a(FloorDiv(flat, 40), FloorMod(FloorDiv(flat, 5), 8), FloorMod(flat, 5));
  });
  Tensor c = Compute("c", {240}, [&](Indices i) { return Add(b(FloorDiv(i[0], 5), FloorMod(i[0], 5)), Constant(1)); });
  Schedule s(MakeGraph({a}, {c}));
  ASSERT_TRUE(s.ComputeInline("b").ok());
  EXPECT_LOWERS_RIGHT(s);
  EXPECT_NE(ir::ToString(*Lower(s, {})).find("out0[i0] = (a[i0] + 1f)"), std::string::npos);
}

TEST(Stages, ResultsThatAreInputsOrRepeatAreCopied) {
  Tensor a = Placeholder("a", {5}, PrimitiveType::kF32);
  Tensor b = Compute("b", {5}, [&](Indices i) { return Add(a(i[0]), Constant(1)); });
  EXPECT_LOWERS_RIGHT(Schedule(MakeGraph({a}, {a, b, b, a})));
}

TEST(Stages, EmptyTensorsLowerToNothing) {
  Tensor a = Placeholder("a", {0, 5}, PrimitiveType::kF32);
  Tensor b = Compute("b", {0, 5}, [&](Indices i) { return Add(a(i[0], i[1]), Constant(1)); });
  ReduceAxis k(0, "k");
  Tensor c = Compute("c", {5}, [&](Indices i) { return Sum(a(k, i[0]), {k}); });
  te::Graph graph = MakeGraph({a}, {b, c});
  Schedule s(graph);
  EXPECT_LOWERS_RIGHT(s);
  auto split = s.Split("b", "i0", 4).value();
  ASSERT_TRUE(s.Fuse("b", split.second, "i1").ok());
  ASSERT_TRUE(s.Split("c", "r0", 4).ok());
  EXPECT_LOWERS_RIGHT(s);
}

}  // namespace
}  // namespace smelt::kernels::lower
