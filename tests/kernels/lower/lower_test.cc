#include "kernels/lower/lower.h"

#include "tests/kernels/lower/check_lowering.h"

namespace smelt::kernels::lower {
namespace {

struct Product {
  Tensor a, b, c;
  te::Graph graph;
};

Product MatrixProduct(int64_t m, int64_t n, int64_t k) {
  Product p;
  p.a = Placeholder("a", {m, k}, PrimitiveType::kF32);
  p.b = Placeholder("b", {k, n}, PrimitiveType::kF32);
  ReduceAxis r(k, "k");
  p.c = Compute("c", {m, n}, [&](Indices i) { return Sum(Mul(p.a(i[0], r), p.b(r, i[1])), {r}); });
  p.graph = MakeGraph({p.a, p.b}, {p.c});
  return p;
}

TEST(Lower, PlainNestsOfElementwiseAndReduction) {
  Schedule s(MatrixProduct(5, 7, 3).graph);
  EXPECT_LOWERS_RIGHT(s);
  Tensor a = Placeholder("a", {6, 10}, PrimitiveType::kF32);
  Tensor b = Compute("b", {6, 10}, [&](Indices i) { return Add(a(i[0], i[1]), Constant(1)); });
  Tensor c = Compute("c", {6, 10}, [&](Indices i) { return Mul(b(i[0], i[1]), b(i[0], i[1])); });
  EXPECT_LOWERS_RIGHT(Schedule(MakeGraph({a}, {c})));
}

TEST(Lower, SplitsWithEveryTail) {
  for (TailStrategy tail : {TailStrategy::kGuard, TailStrategy::kPredicate, TailStrategy::kShiftInwards}) {
    for (int64_t size : {3, 8, 16, 21}) {
      for (bool vectorize : {false, true}) {
        Tensor a = Placeholder("a", {size}, PrimitiveType::kF32);
        Tensor b = Compute("b", {size}, [&](Indices i) { return Add(a(i[0]), Constant(1)); });
        Schedule s(MakeGraph({a}, {b}));
        auto loops = s.Split("b", "i0", 8, tail).value();
        if (vectorize) {
          ASSERT_TRUE(s.Vectorize("b", loops.second).ok());
        }
        EXPECT_LOWERS_RIGHT(s);
      }
    }
  }
}

TEST(Lower, RegisterTiledMatrixProduct) {
  for (auto [m, n, k] : {std::tuple{28, 64, 6}, {29, 70, 5}, {14, 32, 1}, {5, 9, 4}, {33, 33, 33}}) {
    Product p = MatrixProduct(m, n, k);
    Schedule s(p.graph);
    ASSERT_TRUE(s.CacheWrite("c", ir::Scope::kLocal).ok());
    auto [no, ni] = s.Split("c", "i1", 32).value();
    auto [mo, mi] = s.Split("c", "i0", 14).value();
    ASSERT_TRUE(s.Reorder("c", {no, mo, mi, ni}).ok());
    auto [nio, nii] = s.Split("c", ni, 16).value();
    ASSERT_TRUE(s.Vectorize("c", nii).ok());
    ASSERT_TRUE(s.ComputeAt("c.local", "c", mo).ok());
    auto [vo, vi] = s.Split("c.local", "i1", 16).value();
    ASSERT_TRUE(s.Reorder("c.local", {"r0", "i0", vo, vi}).ok());
    ASSERT_TRUE(s.Unroll("c.local", "i0").ok());
    ASSERT_TRUE(s.Unroll("c.local", vo).ok());
    ASSERT_TRUE(s.Vectorize("c.local", vi).ok());
    const std::string packed = s.CacheRead("b", ir::Scope::kThread, {"c.local"}).value();
    ASSERT_TRUE(s.ComputeAt(packed, "c", no).ok());
    ASSERT_TRUE(s.TransformLayout(packed, {{1, 16}, {0, 1}, {1, 0}}).ok());
    EXPECT_LOWERS_RIGHT(s);
  }
}

}  // namespace
}  // namespace smelt::kernels::lower
