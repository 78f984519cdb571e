// Virtual threads take turns, each with scratch of its own.
#include "gmock/gmock.h"
#include "tests/kernels/lower/check_lowering.h"

namespace smelt::kernels::lower {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Product {
  Tensor a, b, c;
  te::Graph graph;
};

Product MatrixProduct(int64_t m, int64_t n, int64_t k) {
  Product p;
  p.a = Placeholder("a", {m, k}, PrimitiveType::kF32);
  p.b = Placeholder("b", {k, n}, PrimitiveType::kF32);
  const ReduceAxis r(k, "k");
  p.c = Compute("c", {m, n}, [&](Indices i) { return Sum(Mul(p.a(i[0], r), p.b(r, i[1])), {r}); });
  p.graph = MakeGraph({p.a, p.b}, {p.c});
  return p;
}

std::string TextOf(const Schedule& s) { return ir::ToString(Lower(s, {}).value()); }

TEST(VirtualThreads, ShareLoopsAndTakeTurnsInEveryStatement) {
  Schedule s(MatrixProduct(4, 6, 5).graph);
  const std::string sum = s.CacheWrite("c", ir::Scope::kThread).value();
  const auto threads = s.SplitParts("c", "i0", 2).value();
  ASSERT_TRUE(s.Bind("c", threads.first, ir::ForKind::kVirtualThread).ok());
  ASSERT_TRUE(s.ComputeAt(sum, "c", threads.first).ok());
  ASSERT_TRUE(s.Reorder(sum, {"r0", "i0", "i1"}).ok());
  EXPECT_LOWERS_RIGHT(s);
  const std::string text = TextOf(s);
  EXPECT_THAT(text, HasSubstr("thread f32 c.thread[24];"));  // two tiles of 2 x 6
  EXPECT_THAT(text, Not(HasSubstr("vthread")));
  // One loop over the sum, with both threads' updates in it.
  const size_t loop = text.find("c.thread.r0 = 0");
  ASSERT_NE(loop, std::string::npos);
  EXPECT_EQ(text.find("c.thread.r0 = 0", loop + 1), std::string::npos) << text;
}

TEST(VirtualThreads, TailsAndVectorsStayRight) {
  for (const int64_t rows : {1, 3, 7}) {
    Schedule s(MatrixProduct(rows, 9, 4).graph);
    const auto outer = s.Split("c", "i0", 2).value();
    const auto lanes = s.Split("c", "i1", 4).value();
    ASSERT_TRUE(s.Reorder("c", {outer.second, outer.first, lanes.first, "r0", lanes.second}).ok());
    ASSERT_TRUE(s.Bind("c", outer.second, ir::ForKind::kVirtualThread).ok());
    ASSERT_TRUE(s.Bind("c", lanes.first, ir::ForKind::kVirtualThread).ok());
    ASSERT_TRUE(s.Vectorize("c", lanes.second).ok());
    EXPECT_LOWERS_RIGHT(s);
  }
}

TEST(VirtualThreads, ManyStayALoopAroundEachStatement) {
  Schedule s(MatrixProduct(40, 3, 4).graph);
  ASSERT_TRUE(s.Reorder("c", {"i0", "r0", "i1"}).ok());
  ASSERT_TRUE(s.Bind("c", "i0", ir::ForKind::kVirtualThread).ok());
  EXPECT_LOWERS_RIGHT(s);
  EXPECT_THAT(TextOf(s), HasSubstr("i0 < 40"));
}

TEST(VirtualThreads, RefusedWithStageAndLoop) {
  Schedule s(MatrixProduct(4, 6, 5).graph);
  const absl::Status reduce = s.Bind("c", "r0", ir::ForKind::kVirtualThread);
  EXPECT_THAT(std::string(reduce.message()), HasSubstr("bind of stage `c`: loop `r0` is a reduce loop"));
  // Scratch of all threads together must fit.
  Schedule large(MatrixProduct(64, 256, 5).graph);
  const std::string sum = large.CacheWrite("c", ir::Scope::kLocal).value();
  ASSERT_TRUE(large.Bind("c", "i0", ir::ForKind::kVirtualThread).ok());
  ASSERT_TRUE(large.ComputeAt(sum, "c", "i0").ok());
  EXPECT_THAT(std::string(Lower(large, {}).status().message()), HasSubstr("64 times 1024 bytes of local memory"));
}

}  // namespace
}  // namespace smelt::kernels::lower
