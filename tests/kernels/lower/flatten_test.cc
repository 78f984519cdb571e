// What indices look like before and after storage flattening, and how bound loops come through lowering.
#include "gmock/gmock.h"
#include "tests/kernels/lower/check_lowering.h"

namespace smelt::kernels::lower {
namespace {

using testing::HasSubstr;

te::Graph Transpose(int64_t rows, int64_t columns) {
  Tensor a = Placeholder("a", {rows, columns}, PrimitiveType::kF32);
  Tensor b = Compute("b", {columns, rows}, [&](Indices i) { return Add(a(i[1], i[0]), Constant(1)); });
  return MakeGraph({a}, {b});
}

// The text after the pass of that name.
std::string After(const Schedule& schedule, const std::string& pass) {
  std::string dump;
  LowerOptions options;
  options.dump = &dump;
  EXPECT_TRUE(Lower(schedule, options).ok());
  const size_t begin = dump.find("== " + pass + ":");
  EXPECT_NE(begin, std::string::npos);
  return dump.substr(begin, dump.find("\n== ", begin) - begin);
}

TEST(Flatten, IndicesHaveTheDimensionsOfTheStorageUntilThen) {
  Schedule s(Transpose(6, 10));
  const std::string copy = s.CacheRead("a", te::Scope::kThread, {"b"}).value();
  ASSERT_TRUE(s.ComputeAt(copy, "b", "i0").ok());
  auto [outer, inner] = s.Split(copy, "i0", 4).value();
  ASSERT_TRUE(s.TransformLayout(copy, {{0, 4}, {1, 1}, {0, 0}}).ok());
  const std::string before = After(s, "partition"), after = After(s, "flatten");
  EXPECT_THAT(before, HasSubstr("void kernel(const f32 a[6, 10], f32 out0[10, 6])"));
  EXPECT_THAT(before, HasSubstr("thread f32 a.thread[2, 1, 4]"));
  EXPECT_THAT(before, HasSubstr("a[a.thread.i0.inner, i0]"));
  EXPECT_THAT(after, HasSubstr("void kernel(const f32 a[60], f32 out0[60])"));
  EXPECT_THAT(after, HasSubstr("thread f32 a.thread[8]"));
  EXPECT_THAT(after, HasSubstr("a[(i0 + (a.thread.i0.inner*10))]"));
  EXPECT_LOWERS_RIGHT(s);
}

TEST(Flatten, ScalarsAreArraysOfOneElement) {
  Tensor a = Placeholder("a", {}, PrimitiveType::kF32);
  Tensor b = Compute("b", {}, [&](Indices) { return Add(a(std::vector<Expr>{}), Constant(1)); });
  Schedule s(MakeGraph({a}, {b}));
  EXPECT_THAT(After(s, "nests"), HasSubstr("out0[0] = (a[0] + 1f)"));
  EXPECT_LOWERS_RIGHT(s);
}

TEST(Bindings, PrintReplayAndMeanTheSame) {
  Schedule s(Transpose(6, 10));
  auto [outer, inner] = s.Split("b", "i1", 3).value();
  auto [vo, vi] = s.Split("b", "i0", 5).value();
  ASSERT_TRUE(s.Bind("b", vo, ir::ForKind::kBlock).ok());
  ASSERT_TRUE(s.Bind("b", vi, ir::ForKind::kVirtualThread).ok());
  ASSERT_TRUE(s.Bind("b", inner, ir::ForKind::kThread).ok());
  const ir::Function function = LowerToLoops(s, {}).value();
  EXPECT_THAT(ir::ToString(function), HasSubstr("block (i0.outer = 0; i0.outer < 2;"));
  EXPECT_THAT(ir::ToString(function), HasSubstr("vthread (i0.inner = 0; i0.inner < 5;"));
  EXPECT_THAT(ir::ToString(function), HasSubstr("thread (i1.inner = 0; i1.inner < 3;"));
  EXPECT_LOWERS_RIGHT(s);
}

TEST(Bindings, ThatCannotBeAreRefused) {
  Tensor a = Placeholder("a", {4, 6, 8}, PrimitiveType::kF32);
  ReduceAxis k(8, "k");
  Tensor b = Compute("b", {4, 6}, [&](Indices i) { return Sum(a(i[0], i[1], k), {k}); });
  Schedule s(MakeGraph({a}, {b}));
  const auto message = [&](const absl::Status& status) { return std::string(status.message()); };
  EXPECT_THAT(message(s.Bind("b", "r0", ir::ForKind::kThread)), HasSubstr("loop `r0` is a reduce loop"));
  EXPECT_THAT(message(s.Bind("b", "i1", ir::ForKind::kBlock)),
              HasSubstr("loop `i0` outside of block loop `i1` is no block loop"));
  EXPECT_THAT(message(s.Bind("b", "i0", ir::ForKind::kParallel)), HasSubstr("has a primitive of its own"));
  ASSERT_TRUE(s.Bind("b", "i0", ir::ForKind::kBlock).ok());
  EXPECT_THAT(message(s.Bind("b", "i0", ir::ForKind::kThread)), HasSubstr("annotated already"));
  EXPECT_THAT(message(s.Reorder("b", {"i1", "i0"})), HasSubstr("bound to blocks and must stay outermost"));
  EXPECT_EQ(s.ToString(), "bind b i0 block\n");
  EXPECT_THAT(std::string(Schedule::Replay(s.graph(), "bind b i0 planet\n").status().message()),
              HasSubstr("`planet` is nothing to bind a loop to"));
}

}  // namespace
}  // namespace smelt::kernels::lower
