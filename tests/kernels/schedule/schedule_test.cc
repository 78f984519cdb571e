#include "kernels/schedule/schedule.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/schedule/state.h"

namespace smelt::kernels::schedule {
namespace {

using te::Compute;
using te::Expr;
using te::Indices;
using te::MakeGraph;
using te::Placeholder;
using te::PrimitiveType;
using te::ReduceAxis;
using te::Tensor;
using testing::ElementsAre;
using testing::HasSubstr;

// a[20,12] -> b = a + a -> c = sum over the columns of b, plus d = c * 2 as the result.
te::Graph Chain() {
  Tensor a = Placeholder("a", {20, 12}, PrimitiveType::kF32);
  Tensor b =
      Compute("b", {20, 12}, [&](Indices i) { return te::Binary(te::BinaryOp::kAdd, a(i[0], i[1]), a(i[0], i[1])); });
  ReduceAxis k(12, "k");
  Tensor c = Compute("c", {20}, [&](Indices i) { return te::Sum(b(i[0], k), {k}); });
  Tensor d = Compute("d", {20}, [&](Indices i) { return te::Binary(te::BinaryOp::kAdd, c(i[0]), c(i[0])); });
  return MakeGraph({a}, {d});
}

// The primitive fails with a message that names what it should, and nothing has changed.
template <typename F>
void ExpectRefused(Schedule& s, const F& primitive, const std::string& reason) {
  const std::string before = s.ToString();
  const std::vector<std::string> stages = s.Stages();
  std::vector<std::vector<std::string>> loops;
  for (const std::string& stage : stages) loops.push_back(s.Loops(stage));
  const absl::Status status = primitive();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(reason));
  EXPECT_EQ(s.ToString(), before);
  EXPECT_EQ(s.Stages(), stages);
  for (size_t i = 0; i < stages.size(); ++i) EXPECT_EQ(s.Loops(stages[i]), loops[i]);
}

TEST(Schedule, LoopsAreNamedAfterWhatMadeThem) {
  Schedule s(Chain());
  EXPECT_THAT(s.Stages(), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(s.Loops("c"), ElementsAre("i0", "r0"));
  EXPECT_THAT(s.Loops("a"), ElementsAre());
  auto [outer, inner] = s.Split("b", "i0", 8).value();
  EXPECT_EQ(outer, "i0.outer");
  EXPECT_EQ(inner, "i0.inner");
  EXPECT_EQ(s.Extent("b", outer).value(), 3);
  EXPECT_EQ(s.Extent("b", inner).value(), 8);
  EXPECT_EQ(s.Fuse("b", inner, "i1").value(), "i0.inner.i1.fused");
  EXPECT_EQ(s.Extent("b", "i0.inner.i1.fused").value(), 96);
  auto [parts, rest] = s.SplitParts("b", "i0.outer", 2).value();
  EXPECT_EQ(s.Extent("b", parts).value(), 2);
  EXPECT_EQ(s.Extent("b", rest).value(), 2);
  EXPECT_THAT(s.Loops("b"), ElementsAre("i0.outer.outer", "i0.outer.inner", "i0.inner.i1.fused"));
}

TEST(Schedule, TileIsTwoSplitsAndAReorder) {
  Schedule s(Chain());
  EXPECT_THAT(s.Tile("b", "i0", "i1", 4, 6).value(), ElementsAre("i0.outer", "i1.outer", "i0.inner", "i1.inner"));
  EXPECT_THAT(s.Loops("b"), ElementsAre("i0.outer", "i1.outer", "i0.inner", "i1.inner"));
  const std::string before = s.ToString();
  EXPECT_FALSE(s.Tile("d", "i0", "i7", 4, 4).ok());  // the first split is undone with the second
  EXPECT_EQ(s.ToString(), before);
  EXPECT_THAT(s.Loops("d"), ElementsAre("i0"));
}

TEST(Schedule, TracePrintsAndReplays) {
  Schedule s(Chain());
  const std::string local = s.CacheWrite("d", ir::Scope::kLocal).value();
  const std::string shared = s.CacheRead("c", ir::Scope::kShared, {local}).value();
  auto loops = s.Split("d", "i0", 4, TailStrategy::kShiftInwards).value();
  ASSERT_TRUE(s.Parallel("d", loops.first).ok());
  ASSERT_TRUE(s.ComputeAt(local, "d", loops.first).ok());
  ASSERT_TRUE(s.ComputeInline("b").ok());
  ASSERT_TRUE(s.TransformLayout(shared, {{0, 4}, {0, 0}}).ok());
  ASSERT_TRUE(s.Rfactor("c", "r0").ok());
  EXPECT_EQ(s.ToString(),
            "cache_write d local\n"
            "cache_read c shared d.local\n"
            "split d i0 4 shift_inwards\n"
            "parallel d i0.outer\n"
            "compute_at d.local d i0.outer\n"
            "compute_inline b\n"
            "transform_layout c.shared 0:4 0:0\n"
            "rfactor c r0\n");
  auto replayed = Schedule::Replay(Chain(), s.ToString());
  ASSERT_TRUE(replayed.ok()) << replayed.status();
  EXPECT_EQ(replayed->trace(), s.trace());
  EXPECT_EQ(replayed->Stages(), s.Stages());
  for (const std::string& stage : s.Stages()) EXPECT_EQ(replayed->Loops(stage), s.Loops(stage));
}

TEST(Schedule, ReplayNamesTheLineThatFails) {
  const auto message = [](const std::string& trace) {
    return std::string(Schedule::Replay(Chain(), trace).status().message());
  };
  EXPECT_THAT(message("split b i0 4 guard\nsplit b i0 4 guard\n"),
              HasSubstr("line 2 of the trace: split of stage `b`"));
  EXPECT_THAT(message("cut b i0"), HasSubstr("`cut` is no primitive"));
  EXPECT_THAT(message("split b i0"), HasSubstr("takes 4 words, found 2"));
  EXPECT_THAT(message("split b i0 x guard"), HasSubstr("`x` is not a number"));
  EXPECT_THAT(message("split b i0 4 sometimes"), HasSubstr("`sometimes` is no tail strategy"));
  EXPECT_THAT(message("split b i0 99999999999999999999 guard"), HasSubstr("is not a number"));
  EXPECT_THAT(message("set_scope b nowhere"), HasSubstr("`nowhere` is no scope"));
  EXPECT_THAT(message("transform_layout b 0:1,1:1"), HasSubstr("not of the form axis:block"));
}

TEST(Schedule, CopiesAreIndependent) {
  Schedule s(Chain());
  Schedule copy = s;
  ASSERT_TRUE(copy.Split("b", "i0", 4).ok());
  EXPECT_THAT(s.Loops("b"), ElementsAre("i0", "i1"));
  s = copy;
  EXPECT_THAT(s.Loops("b"), ElementsAre("i0.outer", "i0.inner", "i1"));
}

TEST(Schedule, RefusesShapesThatCannotBe) {
  Schedule s(Chain());
  ExpectRefused(
      s, [&] { return s.Split("x", "i0", 4).status(); }, "no stage `x`; the stages are: a b c d");
  ExpectRefused(
      s, [&] { return s.Split("b", "i5", 4).status(); }, "no loop `i5`; its loops are: i0 i1");
  ExpectRefused(
      s, [&] { return s.Split("a", "i0", 4).status(); }, "input of the kernel");
  ExpectRefused(
      s, [&] { return s.Split("b", "i0", 0).status(); }, "factor 0 of loop `i0`");
  ExpectRefused(
      s, [&] { return s.Split("d", "i0", 4, TailStrategy::kRoundUp).status(); }, "no room");
  ExpectRefused(
      s, [&] { return s.Split("c", "r0", 5, TailStrategy::kRoundUp).status(); }, "would add to it");
  ExpectRefused(
      s, [&] { return s.Split("c", "i0", 3, TailStrategy::kShiftInwards).status(); }, "computes elements twice");
  ExpectRefused(
      s, [&] { return s.Fuse("b", "i1", "i0").status(); }, "not just inside `i1`");
  ExpectRefused(
      s, [&] { return s.Fuse("c", "i0", "r0").status(); }, "only one is a reduce loop");
  ExpectRefused(
      s,
      [&] {
        return s.Reorder("b", {"i0", "i0"});
      },
      "named twice");
  ExpectRefused(
      s, [&] { return s.Vectorize("c", "r0"); }, "use rfactor");
  ExpectRefused(
      s, [&] { return s.Parallel("b", "i1"); }, "not the outermost");
  ExpectRefused(
      s, [&] { return s.Parallel("c", "r0"); }, "reduce loop");
  ASSERT_TRUE(s.Vectorize("b", "i1").ok());
  ExpectRefused(
      s, [&] { return s.Vectorize("b", "i0"); }, "vectorized already");
  ExpectRefused(
      s, [&] { return s.Split("b", "i1", 4).status(); }, "annotated already");
  ASSERT_TRUE(s.Parallel("b", "i0").ok());
  ExpectRefused(
      s,
      [&] {
        return s.Reorder("b", {"i1", "i0"});
      },
      "must stay outermost");
}

TEST(Schedule, RefusesPlacesThatCannotBe) {
  Schedule s(Chain());
  ExpectRefused(
      s, [&] { return s.ComputeAt("d", "c", "i0"); }, "result of the kernel");
  ExpectRefused(
      s, [&] { return s.ComputeAt("c", "b", "i0"); }, "does not consume it");
  ExpectRefused(
      s, [&] { return s.ComputeAt("b", "d", "i0"); }, "stage `c` reads it outside");
  ExpectRefused(
      s, [&] { return s.ComputeInline("c"); }, "it is a reduction");
  ExpectRefused(
      s, [&] { return s.ComputeInline("d"); }, "result of the kernel");
  ExpectRefused(
      s, [&] { return s.SetScope("a", ir::Scope::kLocal); }, "argument");
  ExpectRefused(
      s, [&] { return s.SetScope("b", ir::Scope::kArgument); }, "cannot become an argument");
  ExpectRefused(
      s,
      [&] {
        return s.TransformLayout("b", {{0, 1}});
      },
      "axis 1 is missing");
  ExpectRefused(
      s,
      [&] {
        return s.TransformLayout("b", {{0, 0}, {1, 1}});
      },
      "does not follow");
  ExpectRefused(
      s,
      [&] {
        return s.TransformLayout("b", {{0, 4}, {1, 1}});
      },
      "axis 0 is missing, or its remainder");
  ExpectRefused(
      s, [&] { return s.CacheRead("a", ir::Scope::kThread, {"c"}).status(); }, "`c` does not read it");
  ExpectRefused(
      s, [&] { return s.Rfactor("c", "i0").status(); }, "not a reduce loop");
  ASSERT_TRUE(s.ComputeAt("c", "d", "i0").ok());
  ExpectRefused(
      s, [&] { return s.Split("d", "i0", 4).status(); }, "stage `c` is computed at loop `i0`");
  ExpectRefused(
      s, [&] { return s.CacheWrite("d", ir::Scope::kLocal).status(); }, "cache before that");
  ASSERT_TRUE(s.ComputeAt("b", "d", "i0").ok());  // its reader c is inside now
  ASSERT_TRUE(s.ComputeRoot("b").ok());
  ASSERT_TRUE(s.ComputeInline("b").ok());
  ExpectRefused(
      s, [&] { return s.ComputeAt("b", "c", "i0"); }, "inlined already");
  ExpectRefused(
      s, [&] { return s.CacheRead("b", ir::Scope::kThread, {"c"}).status(); }, "inlined and not stored");
  ASSERT_TRUE(s.CacheRead("a", ir::Scope::kThread, {"c"}).ok());  // c reads a through b now
}

TEST(Schedule, DeepSplitsAreLimited) {
  Schedule s(Chain());
  std::string loop = "i0";
  int splits = 0;
  for (; splits < 1000; ++splits) {
    auto split = s.Split("b", loop, 2);
    if (!split.ok()) break;
    loop = split->first;
  }
  EXPECT_LT(splits, 100);
}

TEST(Schedule, StageNamesAreUniqueWords) {
  Tensor a = Placeholder("x y", {4}, PrimitiveType::kF32);
  Tensor b = Compute("x y", {4}, [&](Indices i) { return te::Unary(te::UnaryOp::kNegate, a(i[0])); });
  Schedule s(MakeGraph({a}, {b, b, a}));
  EXPECT_THAT(s.Stages(), ElementsAre("x_y", "x_y.1", "x_y.1.copy", "x_y.copy"));
}

}  // namespace
}  // namespace smelt::kernels::schedule
