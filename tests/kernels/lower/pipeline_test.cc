// Iterations that overlap: double buffers and pipelines.
#include "gmock/gmock.h"
#include "tests/kernels/lower/check_lowering.h"

namespace smelt::kernels::lower {
namespace {

using testing::HasSubstr;
using testing::Not;

// c = f(g(h(a))) by rows, each sum over a row of what comes before.
te::Graph Chain(int64_t rows, int64_t columns) {
  const Tensor a = Placeholder("a", {rows, columns}, PrimitiveType::kF32);
  const Tensor x = Compute("x", {rows, columns}, [&](Indices i) { return Add(a(i[0], i[1]), Constant(1)); });
  const Tensor y = Compute("y", {rows, columns}, [&](Indices i) { return Mul(x(i[0], i[1]), Constant(2)); });
  const ReduceAxis k(columns, "k");
  const Tensor c = Compute("c", {rows}, [&](Indices i) { return Sum(Add(x(i[0], k), y(i[0], k)), {k}); });
  return MakeGraph({a}, {c});
}

std::string TextOf(const Schedule& s) { return ir::ToString(Lower(s, {}).value()); }
std::string Message(const absl::Status& status) { return std::string(status.message()); }

TEST(DoubleBuffer, HasTwoCopiesABeginningAndAnEnd) {
  for (const int64_t rows : {1, 2, 9}) {
    Schedule s(Chain(rows, 6));
    ASSERT_TRUE(s.ComputeAt("y", "c", "i0").ok());
    ASSERT_TRUE(s.ComputeInline("x").ok());
    ASSERT_TRUE(s.DoubleBuffer("y").ok());
    EXPECT_THAT(s.ToString(), HasSubstr("double_buffer y\n"));
    EXPECT_LOWERS_RIGHT(s);
    const std::string text = TextOf(s);
    EXPECT_EQ(text.find("thread f32 y[12];") != std::string::npos, rows > 1) << text;
    EXPECT_THAT(text, Not(HasSubstr("if (")));  // partition has cut both ends off
    EXPECT_EQ(text.find("% 2") != std::string::npos, rows > 2) << text;
  }
}

TEST(DoubleBuffer, AtAReduceLoopWithATail) {
  const Tensor a = Placeholder("a", {5, 50}, PrimitiveType::kF32), b = Placeholder("b", {50, 7}, PrimitiveType::kF32);
  const ReduceAxis k(50, "k");
  const Tensor c = Compute("c", {5, 7}, [&](Indices i) { return Sum(Mul(a(i[0], k), b(k, i[1])), {k}); });
  Schedule s(MakeGraph({a, b}, {c}));
  const std::string panel = s.CacheRead("b", ir::Scope::kThread, {"c"}).value();
  const auto blocks = s.Split("c", "r0", 8).value();
  ASSERT_TRUE(s.Reorder("c", {blocks.first, "i0", blocks.second, "i1"}).ok());
  ASSERT_TRUE(s.ComputeAt(panel, "c", blocks.first).ok());
  ASSERT_TRUE(s.DoubleBuffer(panel).ok());
  ASSERT_TRUE(s.Vectorize("c", "i1").ok());
  EXPECT_LOWERS_RIGHT(s);
  EXPECT_THAT(TextOf(s), HasSubstr("thread f32 b.thread[112];"));
}

TEST(DoubleBuffer, RefusedWithStageAndLoop) {
  Schedule s(Chain(4, 6));
  EXPECT_THAT(Message(s.DoubleBuffer("a")), HasSubstr("double_buffer of stage `a`: it is an argument"));
  EXPECT_THAT(Message(s.DoubleBuffer("y")), HasSubstr("compute_at comes first"));
  ASSERT_TRUE(s.ComputeAt("y", "c", "i0").ok());
  ASSERT_TRUE(s.ComputeAt("x", "c", "i0").ok());
  EXPECT_THAT(Message(s.DoubleBuffer("y")),
              HasSubstr("it reads stage `x`, which is computed at loop `i0` of stage `c`"));
  ASSERT_TRUE(s.DoubleBuffer("x").ok());
  const std::string before = s.ToString();
  EXPECT_THAT(Message(s.DoubleBuffer("x")), HasSubstr("already"));
  EXPECT_THAT(Message(s.ComputeRoot("x")), HasSubstr("it is double-buffered where it is computed"));
  EXPECT_THAT(Message(s.Parallel("c", "i0")), HasSubstr("stage `x` is double-buffered at loop `i0`"));
  EXPECT_EQ(s.ToString(), before);
  EXPECT_LOWERS_RIGHT(s);
  Schedule parallel(Chain(4, 6));
  ASSERT_TRUE(parallel.Parallel("c", "i0").ok());
  ASSERT_TRUE(parallel.ComputeAt("y", "c", "i0").ok());
  EXPECT_THAT(Message(parallel.DoubleBuffer("y")), HasSubstr("iterations of loop `i0` of stage `c`"));
  // What comes to lie in the way later is found when it is lowered.
  Schedule late(Chain(4, 6));
  ASSERT_TRUE(late.ComputeAt("y", "c", "i0").ok());
  ASSERT_TRUE(late.DoubleBuffer("y").ok());
  ASSERT_TRUE(late.ComputeAt("x", "c", "i0").ok());
  EXPECT_THAT(Message(Lower(late, {}).status()), HasSubstr("loop `i0`: in its pipeline `x` would be read before"));
}

TEST(Pipeline, KeepsWhatLaterStepsRead) {
  for (const int64_t rows : {1, 2, 3, 10}) {
    Schedule s(Chain(rows, 6));
    ASSERT_TRUE(s.ComputeAt("y", "c", "i0").ok());
    ASSERT_TRUE(s.ComputeAt("x", "c", "i0").ok());
    // x one step before y, two before the sum; the sum first among those that run together.
    ASSERT_TRUE(s.Pipeline("c", "i0", {0, 1, 2}, {1, 2, 0}).ok());
    EXPECT_THAT(s.ToString(), HasSubstr("pipeline c i0 0:1 1:2 2:0\n"));
    EXPECT_LOWERS_RIGHT(s);
    if (rows < 10) continue;
    const std::string text = TextOf(s);
    EXPECT_THAT(text, HasSubstr("thread f32 x[18];"));
    EXPECT_THAT(text, HasSubstr("thread f32 y[12];"));
    EXPECT_THAT(text, Not(HasSubstr("if (")));
  }
}

TEST(Pipeline, InVirtualThreadsAndWithAlignedStorage) {
  Schedule s(Chain(12, 6));
  ASSERT_TRUE(s.ComputeInline("x").ok());
  const auto threads = s.SplitParts("c", "i0", 3).value();
  ASSERT_TRUE(s.Bind("c", threads.first, ir::ForKind::kVirtualThread).ok());
  ASSERT_TRUE(s.ComputeAt("y", "c", threads.second).ok());
  ASSERT_TRUE(s.DoubleBuffer("y").ok());
  ASSERT_TRUE(s.StorageAlign("y", 0, 16, 5).ok());
  EXPECT_LOWERS_RIGHT(s);
}

TEST(Pipeline, RefusedWithStageAndLoop) {
  Schedule s(Chain(4, 6));
  EXPECT_THAT(Message(s.Pipeline("c", "i0", {0}, {0})), HasSubstr("loop `i0`: no stage is computed at it"));
  ASSERT_TRUE(s.ComputeAt("y", "c", "i0").ok());
  ASSERT_TRUE(s.ComputeAt("x", "c", "i0").ok());
  const std::string before = s.ToString();
  EXPECT_THAT(Message(s.Pipeline("c", "i0", {0, 1}, {0, 1})), HasSubstr("it has 3 parts"));
  EXPECT_THAT(Message(s.Pipeline("c", "i0", {0, 1, 2}, {0, 0, 1})), HasSubstr("each number from 0 to 2 once"));
  EXPECT_THAT(Message(s.Pipeline("c", "i0", {0, -1, 2}, {0, 1, 2})), HasSubstr("step -1"));
  EXPECT_THAT(Message(s.Pipeline("c", "i0", {1, 0, 2}, {0, 1, 2})),
              HasSubstr("stage `y` would run before stage `x`, which it reads"));
  EXPECT_THAT(Message(s.Pipeline("c", "i0", {0, 1, 1}, {0, 2, 1})), HasSubstr("stage `c` would run before stage `y`"));
  EXPECT_THAT(Message(s.Pipeline("c", "i9", {0, 1, 1}, {0, 1, 2})), HasSubstr("loop `i9`: there is no such loop"));
  EXPECT_EQ(s.ToString(), before);
  ASSERT_TRUE(s.Pipeline("c", "i0", {0, 1, 1}, {0, 1, 2}).ok());
  EXPECT_THAT(Message(s.ComputeRoot("x")), HasSubstr("is pipelined; place it before"));
  EXPECT_THAT(Message(s.Parallel("c", "i0")), HasSubstr("loop `i0` is pipelined"));
  EXPECT_THAT(Message(s.Split("c", "i0", 2).status()), HasSubstr("`i0`"));
}

}  // namespace
}  // namespace smelt::kernels::lower
