// Calls on tiles: which sums stay in registers, and code of hand-written loops against the interpreter.
#include "targets/cpu/codegen/tile_block.h"

#include <gmock/gmock.h>

#include <cstring>

#include "kernels/ir/interpret.h"
#include "kernels/te/dot_intrinsics.h"
#include "tests/targets/cpu/codegen/vector_kernel.h"

namespace smelt::cpu::codegen {
namespace {

using kernels::ir::Buffer;
using kernels::ir::Evaluate;
using kernels::ir::ForKind;
using kernels::ir::Seq;
using kernels::ir::Stmt;
using kernels::te::AddressOf;
using kernels::te::Call;
using kernels::te::DotKind;
using kernels::te::Expr;
using kernels::te::PrimitiveType;

// Elements of both operands and of the sums; rows of sums are 64 apart.
constexpr int64_t kElements = 8192;
constexpr int64_t kStride = 64;

struct Buffers {
  Buffer x = Argument("x", PrimitiveType::kS8, kElements, 0), w = Argument("w", PrimitiveType::kS8, kElements, 1),
         y = Argument("y", PrimitiveType::kS32, kElements, 2);

  Stmt Zero(const Expr& at, int64_t rows = 16) const {
    return Evaluate(Call(kernels::te::TileZero(), {AddressOf(y, {at}), Expr(kStride), Expr(rows)}));
  }
  Stmt Dot(const Expr& sum, const Expr& left, const Expr& right, int64_t rows = 16) const {
    return Evaluate(Call(kernels::te::TileDotIntrinsic(DotKind::kSigned),
                         {AddressOf(y, {sum}), AddressOf(x, {left}), AddressOf(w, {right}), Expr(kStride), Expr(80),
                          Expr(64), Expr(rows)}));
  }
};

Stmt Loop(const kernels::te::Var& var, int64_t extent, Stmt body) {
  return kernels::ir::For(var, 0, extent, ForKind::kSerial, std::move(body));
}

TEST(TileBlock, SumsStayOverLoopsThatDoNotMoveThem) {
  const Buffers b;
  const kernels::te::Var k("k"), i("i");
  const std::vector<Stmt> all{b.Zero(0), b.Zero(16), Loop(k, 4, Seq({b.Dot(0, k * 64, 0), b.Dot(16, k * 64, 1024)})),
                              b.Dot(32, 0, 0)};
  const TileRun run = FindTileRun(all);
  EXPECT_EQ(run.count, 4u);
  ASSERT_EQ(run.sums.size(), 3u);
  EXPECT_TRUE(run.sums[0].begins_at_zero);
  EXPECT_FALSE(run.sums[2].begins_at_zero);
  // A sum that moves, one that meets another, a fifth one, tiles of other rows: the run ends before.
  const auto after_one = [&](Stmt next) { return FindTileRun({{b.Dot(0, 0, 0), std::move(next)}}).count; };
  EXPECT_EQ(after_one(Loop(i, 2, b.Dot(i * 16, 0, 0))), 1u);
  EXPECT_EQ(after_one(b.Dot(8, 0, 0)), 1u);
  EXPECT_EQ(after_one(b.Dot(15 * kStride - 8, 0, 0)), 1u);
  EXPECT_EQ(after_one(b.Dot(16 * kStride, 0, 0)), 2u);
  EXPECT_EQ(after_one(b.Dot(2048, 0, 0, 4)), 1u);
  EXPECT_EQ(after_one(Seq({b.Dot(16, 0, 0), b.Dot(32, 0, 0), b.Dot(48, 0, 0), b.Dot(1024, 0, 0)})), 1u);
  EXPECT_EQ(FindTileRun({{kernels::ir::Store(b.y, {Expr(0)}, Expr(0))}}).count, 0u);
}

TEST(TileBlock, CodeMeansWhatTheInterpreterSays) {
  if (!runtime::AskForTiles()) GTEST_SKIP() << "this CPU has no AMX, or this process may not use it";
  const Buffers b;
  const kernels::te::Var k("k"), i("i");
  const Stmt bodies[] = {
      // Sums that begin at zero, at what is there, and one that is zeroed again.
      Seq({b.Zero(0), b.Zero(16), Loop(k, 4, Seq({b.Dot(0, k * 64, 0), b.Dot(16, k * 64, k * 1024)}))}),
      Loop(k, 4, Seq({b.Dot(0, k * 64, 0), b.Dot(2048, k * 64 + 1280, 64 * k)})),
      Loop(k, 3, Seq({b.Zero(0), b.Dot(0, k * 64, 0), b.Dot(16, 64, k * 1024)})),
      // A sum that moves; sums that meet; five of them.
      Loop(k, 2, Loop(i, 3, b.Dot(i * 16, k * 64, i * 1024))),
      Seq({b.Dot(0, 0, 0), b.Dot(8, 64, 0), b.Dot(0, 128, 0)}),
      Loop(k, 2, Seq({b.Dot(0, 0, 0), b.Dot(16, 0, 0), b.Dot(32, 0, 0), b.Dot(48, 0, k * 64), b.Dot(1024, k, 0)})),
      // Tiles of several numbers of rows.
      Seq({b.Zero(0, 5), b.Dot(0, 0, 0, 5), Loop(k, 2, b.Dot(2048, k * 64, 0, 16)), b.Dot(0, 64, 64, 5),
           b.Dot(16, 64, 64, 1)}),
      // Under a condition, beside ordinary stores.
      Loop(i, 4,
           Seq({kernels::ir::IfThen(kernels::te::Compare(kernels::te::CompareOp::kLt, i, 2), b.Dot(0, i * 64, 0)),
                kernels::ir::Store(b.y, {i},
                                   kernels::te::Load(b.y, {i}) * kernels::te::IntConst({PrimitiveType::kS32, 1}, 3))})),
  };
  for (size_t n = 0; n < std::size(bodies); ++n) {
    kernels::ir::Function function;
    function.name = "tiles";
    function.input_count = 2;
    function.arguments = {b.x, b.w, b.y};
    function.phases.push_back({Expr(), 1, bodies[n]});
    Array<int8_t> x(kElements), w(kElements);
    Array<int32_t> y(kElements), expected(kElements);
    for (int64_t e = 0; e < kElements; ++e) {
      x.data()[e] = static_cast<int8_t>(e * 37 + e / 128);
      w.data()[e] = static_cast<int8_t>(e * 101 + e / 64);
      y.data()[e] = expected.data()[e] = static_cast<int32_t>(e);
    }
    const absl::Status status =
        kernels::ir::Interpret(function, std::vector<void*>{x.data(), w.data(), expected.data()});
    ASSERT_TRUE(status.ok()) << n << status;
    const auto code = CompileForHost(function);
    ASSERT_NE(code, nullptr) << n;
    EXPECT_TRUE(code->descriptor().uses_tiles);
    Execute(*code, {x.data(), w.data(), y.data()});
    EXPECT_EQ(std::memcmp(y.data(), expected.data(), kElements * sizeof(int32_t)), 0) << n;
  }
}

TEST(TileBlock, TilesOfOtherShapesAreRefused) {
  const Buffers b;
  const auto type = [&](const kernels::te::IntrinsicRef& intrinsic, std::vector<Expr> operands) {
    return std::string(intrinsic->TypeOf(operands).status().message());
  };
  const Expr y = AddressOf(b.y, {Expr(0)}), x = AddressOf(b.x, {Expr(0)});
  EXPECT_THAT(type(kernels::te::TileZero(), {y, Expr(64), Expr(17)}), testing::HasSubstr("from 1 to 16"));
  EXPECT_THAT(type(kernels::te::TileZero(), {y, Expr(0), Expr(1)}), testing::HasSubstr("above 0"));
  EXPECT_THAT(type(kernels::te::TileZero(), {x, Expr(64), Expr(1)}), testing::HasSubstr("s32 or f32"));
  EXPECT_THAT(type(kernels::te::TileDotIntrinsic(DotKind::kBrain), {y, x, x, Expr(64), Expr(64), Expr(64), Expr(16)}),
              testing::HasSubstr("element types"));
}

}  // namespace
}  // namespace smelt::cpu::codegen
