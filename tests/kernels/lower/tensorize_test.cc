// tensorize: loops that mean what an instruction declares become its calls; others are refused with what differs.
#include "gmock/gmock.h"
#include "kernels/schedule/tensor_intrinsic.h"
#include "kernels/te/intrinsic.h"
#include "tests/kernels/lower/check_lowering.h"

namespace smelt::kernels::lower {
namespace {

using schedule::TensorIntrinsic;
using schedule::TensorIntrinsicRef;
using schedule::TensorRegions;
using te::OperandRole;
using te::Scalar;
using testing::HasSubstr;
using testing::Not;

constexpr te::DataType kS32{PrimitiveType::kS32, 1};
const te::Scope kAcc{
    .name = "acc", .capacity_bytes = 128 << 10, .granularity_bytes = 64, .allocator = te::Allocator::kTarget};

te::ScopeTable Memories() {
  te::ScopeTable table;
  table.others.push_back(kAcc);
  return table;
}

// c[i, j] = sum over k of a[i, k] * w[j, k], in 32 bits.
Tensor Product(const std::string& name, const Tensor& a, const Tensor& w, int64_t depth, bool swapped = false) {
  const ReduceAxis k(depth, "k");
  return Compute(name, {a.shape()[0], w.shape()[0]}, [&](Indices i) {
    const Expr x = te::Cast(kS32, a(i[0], k)), y = te::Cast(kS32, w(i[1], k));
    return Sum(swapped ? Mul(y, x) : Mul(x, y), {k});
  });
}

// clear(&c, rows, columns) and multiply(&c, &a, &w, stride of a row of w): 1x16 += 1x16 by 16x16.
const te::IntrinsicRef kClear = te::MakeIntrinsic(
    {.name = "clear", .operands = {OperandRole::kWrite}, .interpret = [](te::Arguments x, absl::Span<Scalar>) {
       absl::Status status;
       for (int j = 0; j < 16; ++j) status.Update(x[0].place.Store(j, {.i = 0}));
       return status;
     }});
const te::IntrinsicRef kMultiply =
    te::MakeIntrinsic({.name = "multiply",
                       .operands = {OperandRole::kUpdate, OperandRole::kRead, OperandRole::kRead, OperandRole::kValue},
                       .interpret = [](te::Arguments x, absl::Span<Scalar>) {
                         absl::Status status;
                         for (int j = 0; j < 16; ++j) {
                           Scalar sum;
                           status.Update(x[0].place.Load(j, &sum));
                           for (int k = 0; k < 16; ++k) {
                             Scalar a, w;
                             status.Update(x[1].place.Load(k, &a));
                             status.Update(x[2].place.Load(j * x[3].lanes[0].i + k, &w));
                             sum.i += a.i * w.i;
                           }
                           status.Update(x[0].place.Store(j, te::RoundTo(PrimitiveType::kS32, sum)));
                         }
                         return status;
                       }});

TensorIntrinsic Gemm() {
  TensorIntrinsic gemm{.name = "gemm"};
  const Tensor a = Placeholder("x", {1, 16}, PrimitiveType::kS8), w = Placeholder("w", {16, 16}, PrimitiveType::kS8);
  gemm.inputs = {a, w};
  gemm.output = Product("y", a, w, 16);
  gemm.reset = [](TensorRegions r) { return ir::Evaluate(te::Call(kClear, {r[2].Address()})); };
  gemm.update = [](TensorRegions r) {
    return ir::Evaluate(te::Call(kMultiply, {r[2].Address(), r[0].Address(), r[1].Address(), Expr(r[1].strides[0])}));
  };
  return gemm;
}

std::vector<TensorIntrinsicRef> Instructions(TensorIntrinsic gemm = Gemm()) {
  return {std::make_shared<const TensorIntrinsic>(std::move(gemm))};
}

te::Graph MatrixProduct(int64_t m, int64_t n, int64_t k, PrimitiveType type = PrimitiveType::kS8,
                        bool swapped = false) {
  const Tensor a = Placeholder("a", {m, k}, type), w = Placeholder("w", {n, k}, type);
  return MakeGraph({a, w}, {Product("c", a, w, k, swapped)});
}

// Tiles of 16 columns and, where the depth is more, 16 of it; returns the loop over a tile's columns.
std::string Tile(Schedule& s, const std::string& stage, int64_t columns = 16, int64_t depth = 16) {
  const auto [no, ni] = s.Split(stage, "i1", columns).value();
  const auto [ko, ki] = s.Split(stage, "r0", depth).value();
  EXPECT_TRUE(s.Reorder(stage, {"i0", no, ko, ni, ki}).ok());
  return ni;
}

std::string MessageOf(const Schedule& s) { return std::string(Lower(s, {}).status().message()); }

// Interprets the schedule and compares with the definition; empty where they agree.
std::string Disagreement(const Schedule& s, const std::vector<TensorIntrinsicRef>& instructions) {
  const te::Graph& graph = s.graph();
  std::vector<hlo::Literal> inputs = RandomInputs(graph, 3);
  const auto want = te::Evaluate(graph, {&inputs[0], &inputs[1]});
  const auto loops = LowerToLoops(s, {}), lowered = Lower(s, {});
  if (!loops.ok() || !lowered.ok()) return lowered.status().ToString();
  for (const ir::Function* function : {&*loops, &*lowered}) {
    hlo::Literal got((*want)[0].shape());
    const absl::Status status = ir::Interpret(*function, {inputs[0].raw(), inputs[1].raw(), got.raw()});
    if (!status.ok()) return status.ToString() + ir::ToString(*function);
    for (int64_t i = 0; i < got.element_count(); ++i) {
      if (got.GetDouble(i) != (*want)[0].GetDouble(i))
        return absl::StrCat("element ", i, "\n", ir::ToString(*function));
    }
  }
  const auto replayed = Schedule::Replay(graph, s.ToString(), Memories(), instructions);
  if (!replayed.ok()) return replayed.status().ToString();
  return replayed->trace() == s.trace() ? "" : "the trace replays differently";
}

TEST(Tensorize, AMatrixProductBecomesCallsOfTheInstruction) {
  const std::vector<TensorIntrinsicRef> instructions = Instructions();
  for (const bool swapped : {false, true}) {
    Schedule s(MatrixProduct(3, 32, 48, PrimitiveType::kS8, swapped), Memories(), instructions);
    ASSERT_TRUE(s.Tensorize("c", Tile(s, "c"), "gemm").ok());
    EXPECT_THAT(s.ToString(), HasSubstr("tensorize c i1.inner gemm\n"));
    EXPECT_EQ(Disagreement(s, instructions), "");
    const std::string text = ir::ToString(LowerToLoops(s, {}).value());
    EXPECT_THAT(text, HasSubstr("clear(&out0[i0, (i1.outer*16)]);"));
    EXPECT_THAT(text, HasSubstr("multiply(&out0[i0, (i1.outer*16)], &a[i0, (r0.outer*16)], "
                                "&w[(i1.outer*16), (r0.outer*16)], 48);"));
    EXPECT_THAT(text, Not(HasSubstr(" = s32(")));
  }
}

TEST(Tensorize, InScratchAtALoopOfItsConsumer) {
  const std::vector<TensorIntrinsicRef> instructions = [] {
    TensorIntrinsic gemm = Gemm();
    gemm.scopes = {std::nullopt, std::nullopt, kAcc};
    return Instructions(gemm);
  }();
  Schedule s(MatrixProduct(4, 32, 32), Memories(), instructions);
  const std::string sum = s.CacheWrite("c", kAcc).value();
  const auto [outer, inner] = s.Split("c", "i1", 16).value();
  ASSERT_TRUE(s.ComputeAt(sum, "c", outer).ok());
  ASSERT_TRUE(s.Tensorize(sum, Tile(s, sum), "gemm").ok());
  EXPECT_EQ(Disagreement(s, instructions), "");
  EXPECT_THAT(ir::ToString(LowerToLoops(s, {}).value()), HasSubstr("clear(&c.acc[0, 0]);"));
  // Other memory is refused.
  Schedule elsewhere(MatrixProduct(4, 32, 32), Memories(), instructions);
  ASSERT_TRUE(elsewhere.Tensorize("c", Tile(elsewhere, "c"), "gemm").ok());
  EXPECT_THAT(MessageOf(elsewhere), HasSubstr("`c` lies in argument, it should in acc"));
}

TEST(Tensorize, AWholeReductionTakesTheFullBodyOrResetAndUpdate) {
  for (const bool has_full : {false, true}) {
    TensorIntrinsic gemm = Gemm();
    if (has_full) {
      gemm.full = [reset = gemm.reset, update = gemm.update](TensorRegions r) {
        return ir::Attribute("full", nullptr, Expr(), ir::Seq({reset(r), update(r)}));
      };
    }
    const std::vector<TensorIntrinsicRef> instructions = Instructions(gemm);
    Schedule s(MatrixProduct(2, 16, 16), Memories(), instructions);
    ASSERT_TRUE(s.Tensorize("c", "i1", "gemm").ok());
    EXPECT_EQ(Disagreement(s, instructions), "");
    const std::string text = ir::ToString(LowerToLoops(s, {}).value());
    EXPECT_EQ(text.find("@full") != std::string::npos, has_full);
  }
}

TEST(Tensorize, WhatDiffersIsSaid) {
  const auto message = [](const te::Graph& graph, int64_t columns, int64_t depth) {
    Schedule s(graph, Memories(), Instructions());
    EXPECT_TRUE(s.Tensorize("c", Tile(s, "c", columns, depth), "gemm").ok());
    return MessageOf(s);
  };
  EXPECT_THAT(message(MatrixProduct(3, 32, 48), 8, 16),
              HasSubstr("stage `c`: loop `i1.inner` is not the intrinsic `gemm`: the tile is 8 along axis 1 of the "
                        "stage, it is 16"));
  EXPECT_THAT(message(MatrixProduct(3, 32, 48), 16, 8),
              HasSubstr("the tile is 8 along reduce axis 0 of the stage, it is 16"));
  EXPECT_THAT(message(MatrixProduct(3, 24, 48), 16, 16), HasSubstr("the tile exists in part only"));
  // The element type counts.
  EXPECT_THAT(message(MatrixProduct(3, 32, 48, PrimitiveType::kS16), 16, 16),
              HasSubstr("of type s8 where the stage has"));
  // So does what is computed, and how the operands are read.
  const Tensor a = Placeholder("a", {3, 32}, PrimitiveType::kS8), w = Placeholder("w", {32, 32}, PrimitiveType::kS8);
  const ReduceAxis k(32, "k");
  const auto graph = [&](const std::function<Expr(Indices)>& source) {
    return MakeGraph({a, w}, {Compute("c", {3, 32}, [&](Indices i) { return Sum(source(i), {k}); })});
  };
  EXPECT_THAT(
      message(graph([&](Indices i) { return Add(te::Cast(kS32, a(i[0], k)), te::Cast(kS32, w(i[1], k))); }), 16, 16),
      HasSubstr("where the stage has (s32("));
  EXPECT_THAT(
      message(graph([&](Indices i) { return Mul(te::Cast(kS32, a(i[0], k)), te::Cast(kS32, w(k, i[1]))); }), 16, 16),
      HasSubstr("along dimension 0 of `w` the tile reads at k, its operand `w` at i1"));
}

TEST(Tensorize, TheLoopsStayAsTheyAre) {
  Schedule s(MatrixProduct(3, 32, 48), Memories(), Instructions());
  const auto refusal = [](const absl::Status& status) { return std::string(status.message()); };
  EXPECT_THAT(refusal(s.Tensorize("c", "i1", "gem")), HasSubstr("no tensor intrinsic `gem` here; there are: gemm"));
  EXPECT_THAT(refusal(s.Tensorize("a", "i1", "gemm")), HasSubstr("has no loops"));
  EXPECT_THAT(refusal(s.Tensorize("c", "i7", "gemm")), HasSubstr("tensorize of stage `c`: loop `i7`"));
  const std::string tile = Tile(s, "c");
  ASSERT_TRUE(s.Tensorize("c", tile, "gemm").ok());
  const std::string before = s.ToString();
  EXPECT_THAT(refusal(s.Split("c", tile, 4).status()), HasSubstr("are tensorized; do it before"));
  EXPECT_FALSE(s.Reorder("c", {tile, "i0"}).ok());
  EXPECT_FALSE(s.Vectorize("c", tile).ok());
  EXPECT_FALSE(s.Rfactor("c", "r0.inner").ok());
  EXPECT_FALSE(s.CacheWrite("c", kAcc).ok());
  EXPECT_FALSE(s.Tensorize("c", tile, "gemm").ok());
  EXPECT_EQ(s.ToString(), before);
  EXPECT_TRUE(s.Parallel("c", "i0").ok());  // around the tile they may be annotated
  Schedule annotated(MatrixProduct(3, 32, 48), Memories(), Instructions());
  const std::string inner = Tile(annotated, "c");
  ASSERT_TRUE(annotated.Unroll("c", inner).ok());
  EXPECT_THAT(refusal(annotated.Tensorize("c", inner, "gemm")), HasSubstr("is annotated"));
}

}  // namespace
}  // namespace smelt::kernels::lower
