// Each pass of lowering alone, on a function written by hand: what it makes of the example that its header shows.
#include "gmock/gmock.h"
#include "kernels/lower/chains.h"
#include "kernels/lower/flatten.h"
#include "kernels/lower/partition.h"
#include "kernels/lower/predicate.h"
#include "kernels/lower/restore.h"
#include "kernels/lower/simplify.h"
#include "kernels/lower/storage.h"
#include "kernels/lower/unroll.h"
#include "kernels/lower/vectorize.h"
#include "kernels/te/intrinsic.h"
#include "tests/kernels/lower/check_lowering.h"

namespace smelt::kernels::lower {
namespace {

using ir::ForKind;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

ir::Buffer MakeBuffer(const std::string& name, std::vector<int64_t> shape,
                      const te::Scope& scope = te::Scope::kArgument) {
  return std::make_shared<const ir::BufferNode>(
      ir::BufferNode{.name = name, .type = PrimitiveType::kF32, .shape = std::move(shape), .scope = scope});
}

// A function of one phase over buffers a (written) and b.
ir::Function MakeFunction(const ir::Buffer& a, const ir::Buffer& b, Stmt body) {
  ir::Function function;
  function.name = "f";
  function.arguments = {b, a};
  function.input_count = 1;
  function.phases.push_back({Expr(), 1, std::move(body)});
  return function;
}

// The body after the passes.
std::string After(const ir::Function& function, std::vector<Pass> passes, LowerOptions options = {}) {
  te::Simplifier simplifier;
  BindRanges(function, &simplifier);
  PassContext context{options, simplifier};
  const absl::StatusOr<ir::Function> result = RunPasses(function, passes, context);
  if (!result.ok()) return result.status().ToString();
  std::string text;
  for (const ir::Phase& phase : result->phases) text += ir::ToString(phase.body);
  return text;
}

std::string After(const ir::Function& function, decltype(Pass::run) pass, LowerOptions options = {}) {
  return After(function, {{"pass", pass, ""}}, options);
}

Stmt Loop(const Expr& var, int64_t extent, Stmt body, ForKind kind = ForKind::kSerial) {
  return ir::For(var, Expr(0), Expr(extent), kind, std::move(body));
}

class Passes : public testing::Test {
 protected:
  const ir::Buffer a_ = MakeBuffer("a", {64}), b_ = MakeBuffer("b", {64});
  const te::Var i_{"i"}, j_{"j"};
};

TEST_F(Passes, SimplifyRemovesSingleLoopsAndDecidedBranches) {
  const te::Var one("one");
  const Stmt store = ir::Store(a_, {one + i_}, te::Load(b_, {FloorDiv(i_ * 8 + j_, Expr(8))}));
  const Stmt body = Loop(i_, 8, Loop(j_, 8, Loop(one, 1, ir::IfThen(i_ < Expr(9), store))));
  EXPECT_EQ(After(MakeFunction(a_, b_, body), SimplifyFunction),
            "for (i = 0; i < 8; ++i) {\n"
            "  for (j = 0; j < 8; ++j) {\n"
            "    a[i] = b[i];\n"
            "  }\n"
            "}\n");
}

TEST_F(Passes, PartitionCutsLoopsWhereConditionsFlip) {
  const Expr padded = te::If(i_ >= Expr(1), te::Load(b_, {i_ - 1}), Zero());
  const Stmt body = Loop(i_, 10, ir::Store(a_, {i_}, padded));
  EXPECT_EQ(After(MakeFunction(a_, b_, body), PartitionLoops),
            "a[0] = 0f;\n"
            "for (i = 1; i < 10; ++i) {\n"
            "  a[i] = b[(i - 1)];\n"
            "}\n");
}

TEST_F(Passes, PartitionLeavesBoundLoopsWhole) {
  const Stmt store = ir::IfThen(i_ < Expr(7), ir::Store(a_, {i_}, te::Load(b_, {i_})));
  for (const ForKind kind : {ForKind::kThread, ForKind::kVirtualThread, ForKind::kVectorized}) {
    EXPECT_THAT(After(MakeFunction(a_, b_, Loop(i_, 10, store, kind)), PartitionLoops), HasSubstr("if ((i < 7))"));
  }
  EXPECT_THAT(After(MakeFunction(a_, b_, Loop(i_, 10, store)), PartitionLoops), Not(HasSubstr("if")));
}

// Rows in tiles of 4, the last one of 2, fused with 3 columns: the tail is the last 3 iterations.
TEST_F(Passes, PartitionCutsAFusedLoopWhereItsOuterPartIsCut) {
  const Expr row = FloorDiv(i_, Expr(3)) * 4 + j_, column = FloorMod(i_, Expr(3));
  const Stmt store = ir::Store(a_, {row * 3 + column}, te::Load(b_, {row * 3 + column}));
  const Stmt body = Loop(i_, 9, Loop(j_, 4, ir::IfThen(row < Expr(10), store)));
  const std::string text =
      After(MakeFunction(a_, b_, body), {{"simplify", SimplifyFunction, ""}, {"partition", PartitionLoops, ""}});
  EXPECT_THAT(text, AllOf(HasSubstr("for (i = 0; i < 6; ++i)"), HasSubstr("for (j = 0; j < 4; ++j)"),
                          HasSubstr("for (j = 0; j < 2; ++j)"), Not(HasSubstr("if"))));
}

TEST_F(Passes, PiecesOfParallelLoopsAreRestored) {
  ir::Function function = MakeFunction(a_, b_, ir::IfThen(i_ < Expr(7), ir::Store(a_, {i_}, te::Load(b_, {i_}))));
  function.phases[0].var = i_;
  function.phases[0].extent = 10;
  te::Simplifier simplifier;
  BindRanges(function, &simplifier);
  LowerOptions options;
  PassContext context{options, simplifier};
  const ir::Function cut = PartitionLoops(function, context).value();
  EXPECT_EQ(context.aliases.size(), 2);
  const ir::Function restored = RestoreParallelVariables(cut, context).value();
  std::vector<float> in(64, 3), out(64, 0);
  ASSERT_TRUE(ir::Interpret(restored, {in.data(), out.data()}).ok());
  EXPECT_EQ(out[6], 3);
  EXPECT_EQ(out[7], 0);
  EXPECT_TRUE(context.aliases.empty());
}

TEST_F(Passes, FlattenMakesOneIndexOfArgumentsAndScratch) {
  const ir::Buffer a = MakeBuffer("a", {4, 8}), b = MakeBuffer("b", {8, 4});
  const ir::Buffer row = MakeBuffer("row", {2, 4}, te::Scope::kThread);
  const Expr read = te::Load(b, {j_, i_});
  const Stmt through = ir::Seq({ir::Store(row, {FloorDiv(j_, Expr(4)), FloorMod(j_, Expr(4))}, read),
                                ir::Store(a, {i_, j_}, te::Load(row, {FloorDiv(j_, Expr(4)), FloorMod(j_, Expr(4))}))});
  const ir::Function function = MakeFunction(a, b, Loop(i_, 4, ir::Allocate(row, Loop(j_, 8, through))));
  EXPECT_EQ(After(function, FlattenStorage),
            "for (i = 0; i < 4; ++i) {\n"
            "  thread f32 row[8];\n"
            "  for (j = 0; j < 8; ++j) {\n"
            "    row[j] = b[(i + (j*4))];\n"
            "    a[((i*8) + j)] = row[j];\n"
            "  }\n"
            "}\n");
}

TEST_F(Passes, PredicatesTakeConditionsToTheLoads) {
  const Expr padded = te::If(i_ < Expr(60), te::Load(b_, {i_ + 4}), Constant(2));
  EXPECT_EQ(After(MakeFunction(a_, b_, Loop(i_, 64, ir::Store(a_, {i_}, padded))), PredicateLoads),
            "for (i = 0; i < 64; ++i) {\n"
            "  a[i] = select((i < 60), b[(i + 4) where (i < 60)], 2f);\n"
            "}\n");
  // A branch that differs by lane becomes a mask; a call has none and keeps the branch.
  const Stmt store = ir::IfThen(i_ < Expr(5), ir::Store(a_, {i_}, Constant(1)));
  EXPECT_THAT(After(MakeFunction(a_, b_, Loop(i_, 8, store, ForKind::kVectorized)), PredicateLoads),
              HasSubstr("a[i] = 1f where (i < 5);"));
  const Stmt call =
      ir::IfThen(i_ < Expr(5), ir::Evaluate(te::Call(te::Prefetch(), {te::AddressOf(b_, {i_}), Expr(0), Expr(3)})));
  EXPECT_THAT(After(MakeFunction(a_, b_, Loop(i_, 8, call, ForKind::kVectorized)), PredicateLoads),
              HasSubstr("if ((i < 5)) {\n    prefetch(&b[i], 0, 3);"));
}

TEST_F(Passes, VectorizeMakesRampsAndCallsLaneByLane) {
  const Stmt store = ir::Store(a_, {j_ * 4 + i_}, Mul(te::Load(b_, {i_}), te::Load(b_, {j_})));
  EXPECT_THAT(After(MakeFunction(a_, b_, Loop(j_, 4, Loop(i_, 4, store, ForKind::kVectorized))), VectorizeLoops),
              HasSubstr("a[ramp((j*4), 1, 4)] = (b[ramp(0, 1, 4)]*splat(b[j], 4));"));
  const Stmt call = ir::Evaluate(te::Call(te::Prefetch(), {te::AddressOf(b_, {i_}), Expr(0), Expr(3)}));
  const Stmt some = ir::IfThen(i_ < Expr(1), call);
  EXPECT_EQ(After(MakeFunction(a_, b_, Loop(i_, 2, ir::Seq({call, some}), ForKind::kVectorized)), VectorizeLoops),
            "prefetch(&b[0], 0, 3);\n"
            "prefetch(&b[1], 0, 3);\n"
            "prefetch(&b[0], 0, 3);\n");
}

TEST_F(Passes, UnrollKeepsToItsLimit) {
  const ir::Function function =
      MakeFunction(a_, b_, Loop(i_, 2, ir::Store(a_, {i_}, te::Load(b_, {i_ + 1})), ForKind::kUnrolled));
  EXPECT_EQ(After(function, UnrollLoops), "a[0] = b[1];\na[1] = b[2];\n");
  LowerOptions options;
  options.unroll_limit = 1;
  EXPECT_THAT(After(function, UnrollLoops, options), HasSubstr("for (i = 0; i < 2; ++i)"));
}

TEST_F(Passes, StorageDropsTheDeadAndSharesTheRest) {
  const auto scratch = [](const std::string& name, int64_t count) {
    return MakeBuffer(name, {count}, te::Scope::kThread);
  };
  const ir::Buffer p = scratch("p", 4), q = scratch("q", 8), dead = scratch("dead", 8);
  const auto copy = [](const ir::Buffer& to, const ir::Buffer& from) {
    return ir::Store(to, {Expr(0)}, te::Load(from, {Expr(0)}));
  };
  const Stmt hint = ir::Evaluate(te::Call(te::Prefetch(), {te::AddressOf(dead, {Expr(0)}), Expr(0), Expr(3)}));
  Stmt body = ir::Seq({copy(p, b_), copy(dead, b_), hint, copy(a_, p), copy(q, a_), copy(a_, q)});
  for (const ir::Buffer& buffer : {dead, q, p}) body = ir::Allocate(buffer, body);
  EXPECT_EQ(After(MakeFunction(a_, b_, body), ReuseStorage),
            "thread f32 p[8];\n"
            "p[0] = b[0];\n"
            "a[0] = p[0];\n"
            "p[0] = a[0];\n"
            "a[0] = p[0];\n");
}

TEST_F(Passes, TheDumpNamesEachInOrder) {
  const ir::Function function = MakeFunction(a_, b_, Loop(i_, 4, ir::Store(a_, {i_}, te::Load(b_, {i_}))));
  std::string dump;
  LowerOptions options;
  options.dump = &dump;
  After(function, {{"first", SimplifyFunction, ""}, {"second", UnrollLoops, ""}}, options);
  EXPECT_LT(dump.find("== first: "), dump.find("== second: "));
  EXPECT_THAT(dump, HasSubstr("void f(const f32 b[64], f32 a[64])"));
}

TEST(LowerToLoops, KeepsDimensionsAndConditions) {
  Tensor a = Placeholder("a", {6, 10}, PrimitiveType::kF32);
  Tensor padded = Compute("padded", {6, 12}, [&](Indices i) {
    return te::If(And(i[1] >= Expr(1), i[1] < Expr(11)), a(i[0], i[1] - 1), Zero());
  });
  Schedule s(MakeGraph({a}, {padded}));
  const ir::Function function = LowerToLoops(s, {}).value();
  EXPECT_THAT(ir::ToString(function), HasSubstr("out0[i0, i1] = if("));
  // The rest of the pipeline, from loops alone, computes the same.
  te::Simplifier simplifier;
  BindRanges(function, &simplifier);
  LowerOptions options;
  PassContext context{options, simplifier};
  const ir::Function lowered = RunPasses(function, VectorPipeline(), context).value();
  std::vector<float> in(60, 5), out(72, 1), direct(72, 2);
  ASSERT_TRUE(ir::Interpret(function, {in.data(), direct.data()}).ok());
  ASSERT_TRUE(ir::Interpret(lowered, {in.data(), out.data()}).ok());
  EXPECT_EQ(out, direct);
  EXPECT_EQ(out[0], 0);
  EXPECT_EQ(out[1], 5);
}

// Sums of a loop whose iterations add `each` numbers to each of `count` elements, all of them written out.
Stmt Additions(const ir::Buffer& sums, const ir::Buffer& terms, const te::Var& k, int64_t extent, int count, int each) {
  std::vector<Stmt> stores;
  for (int n = 0; n < each; ++n) {
    for (int p = 0; p < count; ++p)
      stores.push_back(
          ir::Store(sums, {Expr(p)}, Add(te::Load(sums, {Expr(p)}), te::Load(terms, {k * Expr(each) + Expr(n)}))));
  }
  return Loop(k, extent, ir::Seq(std::move(stores)));
}

TEST_F(Passes, FewSumsGoInChains) {
  EXPECT_EQ(After(MakeFunction(a_, b_, Additions(a_, b_, i_, 8, 1, 2)), SplitChains),
            "local f32 a.chains[1];\n"
            "a.chains[0] = 0f;\n"
            "for (i = 0; i < 8; ++i) {\n"
            "  a[0] = (a[0] + b[(i*2)]);\n"
            "  a.chains[0] = (a.chains[0] + b[((i*2) + 1)]);\n"
            "}\n"
            "a[0] = (a[0] + a.chains[0]);\n");
}

TEST_F(Passes, ChainsAreSoManyThatNoSumWaits) {
  const auto chains = [&](int64_t extent, int count, int each) {
    const std::string text = After(MakeFunction(a_, b_, Additions(a_, b_, i_, extent, count, each)), SplitChains);
    const size_t at = text.find("a.chains[");
    return at == std::string::npos ? 0 : std::stoi(text.substr(at + 9));
  };
  EXPECT_EQ(chains(8, 1, 8), 7);  // eight chains of one sum
  EXPECT_EQ(chains(8, 3, 4), 9);  // four of three
  EXPECT_EQ(chains(8, 3, 3), 3);  // two: a third chain of three additions would have one
  EXPECT_EQ(chains(8, 6, 4), 6);  // two, which fill twelve registers
  EXPECT_EQ(chains(8, 7, 4), 0);  // fourteen would not leave enough
  EXPECT_EQ(chains(8, 8, 4), 0);  // as many as it takes
  EXPECT_EQ(chains(8, 1, 1), 0);  // nothing is written out
  EXPECT_EQ(chains(3, 1, 4), 0);  // too short
}

TEST_F(Passes, SumsThatAreReadOrMoveStayAsTheyAre) {
  const auto is_same = [&](const Stmt& body) {
    const ir::Function function = MakeFunction(a_, b_, body);
    return After(function, SplitChains) == After(function, std::vector<Pass>());
  };
  const auto add = [&](const Expr& place, const Expr& term) {
    return ir::Store(a_, {place}, Add(te::Load(a_, {place}), term));
  };
  const Expr term = te::Load(b_, {i_});
  EXPECT_FALSE(is_same(Loop(i_, 64, ir::Seq({add(Expr(0), term), add(Expr(0), term)}))));
  EXPECT_TRUE(is_same(Loop(i_, 64, ir::Seq({add(i_, term), add(i_, term)}))));
  EXPECT_TRUE(is_same(Loop(i_, 64, ir::Seq({add(Expr(0), te::Load(a_, {Expr(1)})), add(Expr(0), term)}))));
  EXPECT_TRUE(is_same(Loop(i_, 64, ir::Seq({add(Expr(0), term), ir::Store(a_, {Expr(1)}, term)}))));
}

}  // namespace
}  // namespace smelt::kernels::lower
