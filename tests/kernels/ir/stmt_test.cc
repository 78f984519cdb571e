#include "kernels/ir/stmt.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/ir/interpret.h"
#include "kernels/ir/mutate.h"

namespace smelt::kernels::ir {
namespace {

using testing::HasSubstr;

Buffer MakeBuffer(const std::string& name, int64_t count, Scope scope, int64_t argument = -1) {
  BufferNode node{.name = name, .type = PrimitiveType::kF32, .shape = {count}, .scope = scope, .argument = argument};
  return std::make_shared<const BufferNode>(std::move(node));
}

// out[i] = in[i] + in[i], for i in [0, count), through a scratch element.
Function Doubling(int64_t count, bool parallel) {
  Function f;
  f.name = "doubling";
  f.arguments = {MakeBuffer("in", count, Scope::kArgument, 0), MakeBuffer("out", count, Scope::kArgument, 1)};
  f.input_count = 1;
  const te::Var i("i");
  const Buffer scratch = MakeBuffer("scratch", 1, Scope::kLocal);
  const Expr load = te::Load(f.arguments[0], {i});
  Stmt body = Seq({Store(scratch, {Expr(0)}, te::Binary(te::BinaryOp::kAdd, load, load)),
                   Store(f.arguments[1], {i}, te::Load(scratch, {Expr(0)}))});
  body = Allocate(scratch, body);
  if (parallel) {
    f.phases.push_back({i, count, body});
  } else {
    f.phases.push_back({Expr(), 1, For(i, Expr(0), Expr(count), ForKind::kSerial, body)});
  }
  return f;
}

TEST(LoopIr, PrintsLikeC) {
  EXPECT_EQ(ToString(Doubling(4, false)),
            "void doubling(const f32 in[4], f32 out[4]) {\n"
            "  {\n"
            "    for (i = 0; i < 4; ++i) {\n"
            "      local f32 scratch[1];\n"
            "      scratch[0] = (in[i] + in[i]);\n"
            "      out[i] = scratch[0];\n"
            "    }\n"
            "  }\n"
            "}\n");
  EXPECT_THAT(ToString(Doubling(4, true)), HasSubstr("  parallel (i = 0; i < 4; ++i) {"));
}

TEST(LoopIr, SequencesAreFlatAndBranchesDecided) {
  const Function f = Doubling(4, false);
  const Stmt store = Store(f.arguments[1], {Expr(0)}, te::Load(f.arguments[0], {Expr(0)}));
  EXPECT_EQ(Seq({nullptr, Seq({store, nullptr}), store})->stmts.size(), 2);
  EXPECT_EQ(Seq({nullptr, store}), store);
  EXPECT_EQ(Seq({}), nullptr);
  EXPECT_EQ(IfThen(te::Bool(true), store), store);
  EXPECT_EQ(IfThen(te::Bool(false), store), nullptr);
  const te::Var i("i");
  EXPECT_EQ(IfThen(i < Expr(3), nullptr, store)->then_case, store);
}

TEST(LoopIr, SubstituteDecidesBranchesBelow) {
  const Function f = Doubling(4, false);
  const te::Var i("i");
  const Stmt guarded = IfThen(i < Expr(3), Store(f.arguments[1], {i}, te::Load(f.arguments[0], {i})));
  EXPECT_EQ(ToString(Substitute(guarded, {{i, Expr(2)}})), "out[2] = in[2];\n");
  EXPECT_EQ(Substitute(guarded, {{i, Expr(3)}}), nullptr);
}

TEST(Interpreter, RunsLoopsAndParallelPhases) {
  for (const bool parallel : {false, true}) {
    for (const bool reverse : {false, true}) {
      std::vector<float> in{1, 2, 3, 4}, out(4);
      ASSERT_TRUE(Interpret(Doubling(4, parallel), {in.data(), out.data()}, {.reverse_parallel = reverse}).ok());
      EXPECT_THAT(out, testing::ElementsAre(2, 4, 6, 8));
    }
  }
}

TEST(Interpreter, CatchesAccessesOutsideOfTheirBuffer) {
  Function f = Doubling(4, false);
  const te::Var i("i");
  const Expr load = te::Load(f.arguments[0], {i + 1});
  f.phases[0].body = For(i, Expr(0), Expr(4), ForKind::kSerial, Store(f.arguments[1], {i}, load));
  std::vector<float> in(4), out(4);
  EXPECT_THAT(std::string(Interpret(f, {in.data(), out.data()}).message()),
              HasSubstr("access of in[4] outside of [4]"));
  const Expr masked = te::Load(f.arguments[0], {i + 1}, i < Expr(3));
  f.phases[0].body = For(i, Expr(0), Expr(4), ForKind::kSerial, Store(f.arguments[1], {i}, masked));
  EXPECT_TRUE(Interpret(f, {in.data(), out.data()}).ok());
  const Expr select = te::Select(i < Expr(3), load, te::FloatConst({PrimitiveType::kF32, 1}, 0));
  f.phases[0].body = For(i, Expr(0), Expr(4), ForKind::kSerial, Store(f.arguments[1], {i}, select));
  EXPECT_FALSE(Interpret(f, {in.data(), out.data()}).ok());  // both sides of a select are evaluated
}

TEST(Interpreter, VectorStoresObeyTheirMask) {
  Function f = Doubling(4, false);
  const Expr lanes = te::Ramp(Expr(0), Expr(1), 4);
  const Expr mask = te::Compare(te::CompareOp::kLt, lanes, te::Splat(Expr(3), 4));
  f.phases[0].body = Store(f.arguments[1], {lanes}, te::Load(f.arguments[0], {lanes}, mask), mask);
  std::vector<float> in{1, 2, 3, 4}, out(4, 9);
  ASSERT_TRUE(Interpret(f, {in.data(), out.data()}).ok());
  EXPECT_THAT(out, testing::ElementsAre(1, 2, 3, 9));
}

}  // namespace
}  // namespace smelt::kernels::ir
