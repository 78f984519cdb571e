// Aligned storage, prefetches and pragmas.
#include "gmock/gmock.h"
#include "tests/kernels/lower/check_lowering.h"

namespace smelt::kernels::lower {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string TextOf(const Schedule& s) { return ir::ToString(Lower(s, {}).value()); }
std::string Message(const absl::Status& status) { return std::string(status.message()); }

// c[i, j, k] = x[j, i, k] with x = a + 1.
te::Graph Turned() {
  const Tensor a = Placeholder("a", {6, 4, 16}, PrimitiveType::kF32);
  const Tensor x = Compute("x", {6, 4, 16}, [&](Indices i) { return Add(a(i[0], i[1], i[2]), Constant(1)); });
  const Tensor c = Compute("c", {4, 6, 16}, [&](Indices i) { return x(i[1], i[0], i[2]); });
  return MakeGraph({a}, {c});
}

TEST(StorageAlign, StridesAreTheLeastOfTheirRemainder) {
  Schedule s(Turned());
  ASSERT_TRUE(s.StorageAlign("x", 0, 32, 8).ok());
  EXPECT_LOWERS_RIGHT(s);
  EXPECT_THAT(TextOf(s), HasSubstr("shared f32 x[432];"));  // 72 elements from row to row instead of 64
  ASSERT_TRUE(s.StorageAlign("x", 1, 8, 3).ok());
  EXPECT_LOWERS_RIGHT(s);
  EXPECT_THAT(TextOf(s), HasSubstr("shared f32 x[624];"));  // 19 from line to line, 104 from row to row
  EXPECT_THAT(TextOf(s), HasSubstr("*19"));
}

TEST(StorageAlign, OfScratchAtALoop) {
  Schedule s(Turned());
  ASSERT_TRUE(s.ComputeAt("x", "c", "i0").ok());
  ASSERT_TRUE(s.StorageAlign("x", 0, 7, 1).ok());
  EXPECT_LOWERS_RIGHT(s);
  EXPECT_THAT(TextOf(s), HasSubstr("thread f32 x[132];"));  // six rows of 22
}

TEST(StorageAlign, RefusedWithStageAndAxis) {
  Schedule s(Turned());
  EXPECT_THAT(Message(s.StorageAlign("a", 0, 8, 0)),
              HasSubstr("storage_align of stage `a`: axis 0: it is of an argument"));
  EXPECT_THAT(Message(s.StorageAlign("x", 2, 8, 0)), HasSubstr("axis 2: its elements lie side by side"));
  EXPECT_THAT(Message(s.StorageAlign("x", 0, 8, 8)), HasSubstr("offset 8"));
  EXPECT_THAT(Message(s.StorageAlign("x", 5, 8, 0)), HasSubstr("axis 5: there are 3"));
  EXPECT_EQ(s.ToString(), "");
  ASSERT_TRUE(s.StorageAlign("x", 0, 8, 0).ok());
  EXPECT_THAT(Message(s.StorageAlign("x", 0, 8, 1)), HasSubstr("aligned already"));
  EXPECT_THAT(Message(s.TransformLayout("x", {{1, 1}, {0, 1}, {2, 1}})), HasSubstr("lay it out before storage_align"));
}

te::Graph Columns(int64_t rows, int64_t columns) {
  const Tensor a = Placeholder("a", {rows, columns}, PrimitiveType::kF32);
  const ReduceAxis k(columns, "k");
  return MakeGraph({a}, {Compute("c", {rows}, [&](Indices i) { return Sum(a(i[0], k), {k}); })});
}

TEST(Prefetch, AsksForTheLinesOfALaterIteration) {
  Schedule s(Columns(64, 40));
  ASSERT_TRUE(s.Prefetch("a", "c", "i0", 4).ok());
  EXPECT_THAT(s.ToString(), HasSubstr("prefetch a c i0 4\n"));
  EXPECT_LOWERS_RIGHT(s);
  const std::string text = TextOf(s);
  EXPECT_THAT(text, HasSubstr("a.line1 < 3"));  // 40 floats are two lines and a half
  EXPECT_THAT(text, HasSubstr("prefetch(&a["));
  EXPECT_THAT(text, HasSubstr("min("));  // the last iterations stay inside
}

// What the next block of the sum reads, by a copy of this one, is asked for as this one is summed.
TEST(Prefetch, AsksForTheLinesFurtherAlongAnAxis) {
  const Tensor a = Placeholder("a", {4, 24}, PrimitiveType::kF32), b = Placeholder("b", {24, 32}, PrimitiveType::kF32);
  const ReduceAxis k(24, "k");
  Schedule s(MakeGraph({a, b}, {Compute("c", {4, 32}, [&](Indices i) { return Sum(a(i[0], k) * b(k, i[1]), {k}); })}));
  ASSERT_TRUE(s.Split("c", "r0", 8).ok());
  ASSERT_TRUE(s.Reorder("c", {"r0.outer", "i0", "r0.inner", "i1"}).ok());
  ASSERT_TRUE(s.CacheRead("b", ir::Scope::kThread, {"c"}).ok());
  ASSERT_TRUE(s.ComputeAt("b.thread", "c", "r0.outer").ok());
  EXPECT_THAT(Message(s.Prefetch("b", "c", "r0.inner", 8)), HasSubstr("the stage does not read it"));
  EXPECT_THAT(Message(s.Prefetch("b", "c", "r0.inner", 8, "r1")), HasSubstr("no axis `r1`"));
  ASSERT_TRUE(s.Prefetch("b", "c", "r0.inner", 8, "r0").ok());
  EXPECT_THAT(s.ToString(), HasSubstr("prefetch b c r0.inner 8 r0\n"));
  EXPECT_LOWERS_RIGHT(s);
  const std::string text = TextOf(s);
  // 32 floats are two lines; the last block has no next one and stays inside.
  EXPECT_THAT(text, HasSubstr("b.line1 < 2"));
  EXPECT_THAT(text, HasSubstr("min((((r0.outer*8) + r0.inner) + 8), 23)"));
  EXPECT_THAT(text, HasSubstr(", 0, 2)"));
}

// The same of a sum cut by rfactor, whose blocks are an axis, and of the tensor itself.
TEST(Prefetch, AsksForTheNextPartialSum) {
  Schedule s(Columns(4, 64));
  ASSERT_TRUE(s.Split("c", "r0", 16).ok());
  const absl::StatusOr<std::string> partial = s.Rfactor("c", "r0.outer");
  ASSERT_TRUE(partial.ok());
  ASSERT_TRUE(s.ComputeAt(*partial, "c", "r0").ok());
  ASSERT_TRUE(s.Prefetch("a", *partial, "r0", 1, "i0").ok());
  EXPECT_LOWERS_RIGHT(s);
  EXPECT_THAT(TextOf(s), HasSubstr("prefetch(&a["));
  EXPECT_THAT(TextOf(s), HasSubstr(" + 16), 63)"));
}

TEST(Prefetch, RefusedWithStageAndLoop) {
  Schedule s(Columns(8, 40));
  EXPECT_THAT(Message(s.Prefetch("c", "c", "i0", 1)), HasSubstr("prefetch of stage `c`: of `c` at loop `i0`"));
  EXPECT_THAT(Message(s.Prefetch("a", "c", "i0", 0)), HasSubstr("0 iterations"));
  EXPECT_THAT(Message(s.Prefetch("a", "c", "i7", 1)), HasSubstr("no loop `i7`"));
  ASSERT_TRUE(s.Prefetch("a", "c", "i0", 1).ok());
  EXPECT_THAT(Message(s.Prefetch("a", "c", "i0", 2)), HasSubstr("already"));
  EXPECT_THAT(Message(s.Vectorize("c", "i0")), HasSubstr("loop `i0` prefetches"));
  // Positions that are data have no region.
  const Tensor at = Placeholder("at", {8}, PrimitiveType::kS64),
               table = Placeholder("table", {100}, PrimitiveType::kF32);
  Schedule gather(MakeGraph({at, table}, {Compute("c", {8}, [&](Indices i) { return table(at(i[0])); })}));
  ASSERT_TRUE(gather.Prefetch("table", "c", "i0", 1).ok());
  EXPECT_THAT(Message(Lower(gather, {}).status()), HasSubstr("prefetch of `table` at loop `i0`"));
  // So has what is placed inside a loop after all.
  Schedule moved(Turned());
  ASSERT_TRUE(moved.Prefetch("x", "c", "i0", 1).ok());
  ASSERT_TRUE(moved.ComputeAt("x", "c", "i0").ok());
  EXPECT_THAT(Message(Lower(moved, {}).status()), HasSubstr("stage `c` prefetches stage `x`"));
  for (const bool inlined : {true, false}) {
    Schedule along(Turned());
    ASSERT_TRUE(along.CacheRead("x", ir::Scope::kThread, {"c"}).ok());
    ASSERT_TRUE(along.ComputeAt("x.thread", "c", "i0").ok());
    ASSERT_TRUE(along.Prefetch("x", "c", "i0", 1, "i0").ok());
    ASSERT_TRUE((inlined ? along.ComputeInline("x") : along.ComputeAt("x", "x.thread", "i0")).ok());
    EXPECT_THAT(Message(Lower(along, {}).status()), HasSubstr("stage `c` prefetches stage `x`")) << inlined;
  }
}

TEST(Pragma, UnrollsWhatIsShort) {
  for (const int64_t most : {1, 4, 20}) {
    Schedule s(Columns(2, 4));
    ASSERT_TRUE(s.Pragma("c", "i0", "auto_unroll_max_step", most).ok());
    EXPECT_LOWERS_RIGHT(s);
    const std::string text = TextOf(s);
    // Four updates a row; with their initial value ten statements in all.
    EXPECT_EQ(text.find("r0 = 0") == std::string::npos, most >= 4) << text;
    EXPECT_EQ(text.find("i0 = 0") == std::string::npos, most >= 10) << text;
  }
  Schedule later(Columns(2, 4));
  ASSERT_TRUE(later.Pragma("c", "i0", "auto_unroll_max_step", 20).ok());
  ASSERT_TRUE(later.Pragma("c", "i0", "unroll_explicit", 0).ok());
  EXPECT_LOWERS_RIGHT(later);
  EXPECT_THAT(TextOf(later), HasSubstr("@unroll_by_compiler()"));
}

TEST(Pragma, StreamsWholeAlignedVectorsOnly) {
  const Tensor a = Placeholder("a", {8, 40}, PrimitiveType::kF32);
  const te::Graph graph =
      MakeGraph({a}, {Compute("c", {8, 40}, [&](Indices i) { return Add(a(i[0], i[1]), Constant(1)); })});
  for (const int64_t lanes : {8, 16}) {
    Schedule s(graph);
    const auto split = s.Split("c", "i1", lanes).value();
    ASSERT_TRUE(s.Vectorize("c", split.second).ok());
    ASSERT_TRUE(s.Pragma("c", "i0", "nontemporal", 1).ok());
    EXPECT_LOWERS_RIGHT(s);
    // Rows of 40 floats are multiples of 8 lanes, not of 16.
    EXPECT_EQ(TextOf(s).find("@streaming_store()") != std::string::npos, lanes == 8) << TextOf(s);
    EXPECT_THAT(TextOf(s), Not(HasSubstr("@nontemporal")));
  }
}

TEST(StreamedResults, AreStoredPastTheCachesInWholeLinesUnlessTheyAreReadAgain) {
  const auto streams = [](const Schedule& s, int64_t number) {
    const ir::Function lowered = Lower(s, {.streamed = {number}}).value();
    return ir::ToString(lowered).find("@streaming_store()") != std::string::npos;
  };
  const Tensor a = Placeholder("a", {8, 64}, PrimitiveType::kF32);
  const Tensor c = Compute("c", {8, 64}, [&](Indices i) { return Add(a(i[0], i[1]), Constant(1)); });
  const Tensor d = Compute("d", {8, 64}, [&](Indices i) { return Add(c(i[0], i[1]), Constant(2)); });
  for (const int64_t lanes : {8, 16}) {
    Schedule s(MakeGraph({a}, {c, d}));
    for (const char* stage : {"c", "d"}) {
      const auto split = s.Split(stage, "i1", lanes).value();
      ASSERT_TRUE(s.Vectorize(stage, split.second).ok());
    }
    EXPECT_FALSE(streams(s, 0));            // d reads it
    EXPECT_EQ(streams(s, 1), lanes == 16);  // half a line is none
    EXPECT_EQ(TextOf(s).find("@streaming"), std::string::npos);
  }
}

TEST(Pragma, RefusedWithStageAndLoop) {
  Schedule s(Turned());
  EXPECT_THAT(Message(s.Pragma("c", "i0", "no_such", 1)),
              HasSubstr("`no_such` at loop `i0`: there is no such pragma; there are: auto_unroll_max_step"));
  EXPECT_THAT(Message(s.Pragma("x", "i0", "nontemporal", 1)), HasSubstr("the stage is scratch"));
  EXPECT_THAT(Message(s.Pragma("c", "i0", "unroll_explicit", 2)), HasSubstr("value 2 must lie between 0 and 1"));
  EXPECT_THAT(Message(s.Pragma("c", "i9", "nontemporal", 1)), HasSubstr("no loop `i9`"));
  EXPECT_EQ(s.ToString(), "");
  ASSERT_TRUE(s.Pragma("c", "i0", "nontemporal", 1).ok());
  EXPECT_THAT(Message(s.Split("c", "i0", 2).status()), HasSubstr("has a pragma or a prefetch"));
}

}  // namespace
}  // namespace smelt::kernels::lower
