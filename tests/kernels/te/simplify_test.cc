#include <random>

#include "gtest/gtest.h"
#include "kernels/te/evaluate.h"
#include "kernels/te/simplify/rules.h"
#include "kernels/te/simplify/simplifier.h"

namespace smelt::kernels::te {
namespace {

class SimplifyTest : public testing::Test {
 protected:
  SimplifyTest() {
    simplifier_.Bind(i_, {0, 9});
    simplifier_.Bind(j_, {0, 11});
    simplifier_.Bind(k_, {0, 15});
    simplifier_.Bind(f_, {0, 10 * 12 * 16 - 1});
  }
  std::string S(const Expr& e) { return ToString(simplifier_.Simplify(e)); }

  Simplifier simplifier_;
  Var i_{"i"}, j_{"j"}, k_{"k"}, f_{"f"}, u_{"u"};
};

TEST_F(SimplifyTest, ReshapeArithmeticFoldsAway) {
  EXPECT_EQ(S(FloorDiv(i_ * 12 + j_, 12)), "i");
  EXPECT_EQ(S(FloorMod(i_ * 12 + j_, 12)), "j");
  EXPECT_EQ(S(FloorDiv(i_ * 24 + j_ * 2 + 1, 24)), "i");
  EXPECT_EQ(S(FloorDiv(FloorMod(i_ * 192 + j_ * 16 + k_, 192), 16)), "j");
  // [10,12,16] -> [160,12] and back.
  Expr flat = i_ * 192 + j_ * 16 + k_;
  Expr a = FloorDiv(flat, 12), b = FloorMod(flat, 12);
  EXPECT_EQ(S(FloorDiv(a * 12 + b, 192)), "i");
  EXPECT_EQ(S(a * 12 + b - flat), "0");
}

TEST_F(SimplifyTest, DigitsOfAFusedLoopJoinAgain) {
  Expr i = FloorDiv(f_, 192), j = FloorMod(FloorDiv(f_, 16), 12), k = FloorMod(f_, 16);
  EXPECT_EQ(S(i * 192 + j * 16 + k), "f");
  EXPECT_EQ(S(f_ - FloorDiv(f_, 16) * 16), "(f % 16)");
  // What the remainder has lost of x by multiples of the divisor is the quotient's.
  EXPECT_EQ(S(FloorDiv(f_ * 16 + k_, 3) * 3 + FloorMod(f_ * 16 + k_, 3)), "(k + (f*16))");
  EXPECT_EQ(S(i_ + FloorDiv(f_ * 16 + k_ + 5, 3) * 6 + FloorMod(f_ * 16 + k_ + 5, 3) * 2),
            "(((i + (k*2)) + (f*32)) + 10)");
}

TEST_F(SimplifyTest, PairsInRowsOfAFusedLoopJoinAgain) {
  // The parts of a complex array [.., 33], 66 numbers a row.
  Expr flat = f_ * 16 + k_;
  Expr row = FloorDiv(flat, 66), column = FloorMod(flat, 66);
  EXPECT_EQ(S(row * 66 + FloorDiv(column, 2) * 2), S(f_ * 16 + FloorDiv(k_, 2) * 2));
  EXPECT_EQ(S(row * 33 + FloorDiv(column, 2)), S(f_ * 8 + FloorDiv(k_, 2)));
  // One more than fits is not the same row.
  EXPECT_NE(S(row * 66 + FloorDiv(column + 1, 2) * 2), S(FloorDiv(flat + 1, 2) * 2));
}

TEST_F(SimplifyTest, QuotientsIgnoreDigitsBelow) {
  EXPECT_EQ(S(FloorDiv(f_ * 16 + k_, 64)), "(f // 4)");
  EXPECT_EQ(S(FloorMod(f_ * 16 + k_, 64)), "(k + ((f % 4)*16))");
  EXPECT_EQ(S(FloorDiv(FloorDiv(f_, 4), 6)), "(f // 24)");
}

TEST_F(SimplifyTest, ComparisonsAreDecidedOrNormalised) {
  EXPECT_EQ(S(i_ * 12 + j_ < 120), "true");
  EXPECT_EQ(S(i_ * 12 + j_ >= 120), "false");
  EXPECT_EQ(S(i_ * 4 < 10), "(i < 3)");
  EXPECT_EQ(S(Expr(3) < i_), "(i >= 4)");
  EXPECT_EQ(S(i_ * 2 == 5), "false");
  EXPECT_EQ(S(i_ - 1 < i_), "true");
  EXPECT_EQ(S(And(i_ < 3, And(i_ < 5, i_ >= 3))), "false");
  EXPECT_EQ(S(And(i_ < 3, i_ < 5)), "(i < 3)");
}

TEST_F(SimplifyTest, LoadedValuesMayWrapSoComparisonsKeepTheirSides) { EXPECT_EQ(S(u_ < u_ + 1), "(u < (u + 1))"); }

TEST_F(SimplifyTest, NarrowIotaComparisonsBecomeIndexComparisons) {
  const DataType s32{PrimitiveType::kS32, 1};
  Expr a = Binary(BinaryOp::kAdd, Cast(s32, i_), IntConst(s32, 1));
  EXPECT_EQ(S(Compare(CompareOp::kLt, a, Cast(s32, i_))), "false");
  EXPECT_EQ(S(Compare(CompareOp::kGe, Cast(s32, i_), IntConst(s32, 4))), "(i >= 4)");
}

TEST_F(SimplifyTest, IndicesOfPositionsAreReadThroughNarrowIntegers) {
  const DataType s32{PrimitiveType::kS32, 1}, s8{PrimitiveType::kS8, 1}, u8{PrimitiveType::kU8, 1};
  const auto of = [](BinaryOp op, DataType type, const Expr& a, const Expr& b) {
    return Binary(op, Cast(type, a), Cast(type, b));
  };
  const auto index = [](const Expr& e) { return Cast(kIndex, e); };
  EXPECT_EQ(S(index(of(BinaryOp::kAdd, s32, i_ * 4, j_))), "((i*4) + j)");
  EXPECT_EQ(S(index(of(BinaryOp::kMin, s32, i_, Expr(30)))), "i");
  EXPECT_EQ(S(index(of(BinaryOp::kDiv, s32, i_ * 12 + j_, Expr(12)))), "i");
  EXPECT_EQ(S(index(of(BinaryOp::kRem, s32, i_ * 12 + j_, Expr(12)))), "j");
  // What may have wrapped, or rounds towards zero from below, stays in its type.
  EXPECT_NE(S(index(of(BinaryOp::kAdd, s8, i_ * 12, j_ * 2))).find("s8("), std::string::npos);
  EXPECT_NE(S(index(of(BinaryOp::kSub, u8, i_, j_))).find("u8("), std::string::npos);
  EXPECT_NE(S(index(of(BinaryOp::kDiv, s32, i_ - 5, Expr(3)))).find("s32("), std::string::npos);
}

TEST_F(SimplifyTest, VectorsStayRampsThroughDivision) {
  simplifier_.Bind(u_, {0, 31});
  Expr lanes = Ramp(u_ * 16, 1, 16);
  EXPECT_EQ(S(FloorDiv(lanes, Splat(Expr(64), 16))), "splat((u // 4), 16)");
  EXPECT_EQ(S(FloorMod(lanes, Splat(Expr(64), 16))), "ramp(((u % 4)*16), 1, 16)");
  EXPECT_EQ(S(Compare(CompareOp::kLt, lanes, Splat(Expr(512), 16))), "splat(true, 16)");
}

// Random expressions, and random values of their variables.
class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}
  int64_t Int(int64_t lo, int64_t hi) { return std::uniform_int_distribution<int64_t>(lo, hi)(random_); }

  Expr Index(const std::vector<Expr>& vars, int depth) {
    if (depth == 0 || Int(0, 9) == 0) return Int(0, 3) == 0 ? Expr(Int(-20, 40)) : vars[Int(0, vars.size() - 1)];
    const auto sub = [&] { return Index(vars, depth - 1); };
    static constexpr int64_t kDivisors[] = {1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 48, 64};
    const Expr divisor(kDivisors[Int(0, 11)]);
    switch (Int(0, 12)) {
      case 0:
      case 1:
        return sub() + sub();
      case 2:
        return sub() - sub();
      case 3:
      case 4:
        return sub() * divisor;
      case 5:
      case 6:
        return FloorDiv(sub(), divisor);
      case 7:
      case 8:
        return FloorMod(sub(), divisor);
      case 9:
        return Min(sub(), sub());
      case 10:
        return Max(sub(), sub());
      case 11:
        return InAnotherType(sub());
      default:
        return Select(Condition(vars, depth - 1), sub(), sub());
    }
  }

  // Arithmetic as programs do it on indices of other types, where values may wrap.
  Expr InAnotherType(const Expr& index) {
    constexpr PrimitiveType kTypes[] = {PrimitiveType::kU64, PrimitiveType::kS32, PrimitiveType::kU32,
                                        PrimitiveType::kS8,  PrimitiveType::kU8,  PrimitiveType::kS4};
    constexpr BinaryOp kOps[] = {BinaryOp::kMin, BinaryOp::kMax, BinaryOp::kAdd, BinaryOp::kSub, BinaryOp::kMul};
    const DataType type{kTypes[Int(0, 5)]};
    return Cast(kIndex, Binary(kOps[Int(0, 4)], Cast(type, index), IntConst(type, Int(0, 7))));
  }

  Expr Condition(const std::vector<Expr>& vars, int depth) {
    if (depth > 0 && Int(0, 3) == 0) return And(Condition(vars, depth - 1), Condition(vars, depth - 1));
    if (depth > 0 && Int(0, 5) == 0) return Or(Condition(vars, depth - 1), Not(Condition(vars, depth - 1)));
    return Compare(static_cast<CompareOp>(Int(0, 5)), Index(vars, std::max(0, depth - 1)),
                   Index(vars, std::max(0, depth - 1)));
  }

 private:
  std::mt19937_64 random_;
};

TEST(SimplifierFuzz, SimplifiedExpressionsHaveTheSameValuesWithinTheirBounds) {
  const uint64_t seed = 20240611;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Generator generator(seed);
  for (int round = 0; round < 4000; ++round) {
    std::vector<Expr> vars{Var("a"), Var("b"), Var("c")};
    std::vector<Interval> ranges;
    Simplifier simplifier;
    for (const Expr& var : vars) {
      const int64_t lo = generator.Int(0, 2) == 0 ? generator.Int(-20, 20) : 0;
      ranges.push_back({lo, lo + generator.Int(0, 40)});
      simplifier.Bind(var, ranges.back());
    }
    const bool condition = generator.Int(0, 3) == 0;
    const Expr e = condition ? generator.Condition(vars, 4) : generator.Index(vars, 5);
    const Expr s = simplifier.Simplify(e);
    EXPECT_TRUE(simplifier.Simplify(s).Same(s));
    const Interval bounds = simplifier.Bounds(s);
    for (int sample = 0; sample < 12; ++sample) {
      std::vector<std::pair<Expr, Scalar>> values;
      for (size_t v = 0; v < vars.size(); ++v)
        values.emplace_back(vars[v], Scalar{.i = generator.Int(ranges[v].lo, ranges[v].hi)});
      const int64_t want = EvaluateScalar(e, values).value().i, got = EvaluateScalar(s, values).value().i;
      ASSERT_EQ(want, got) << "round " << round << ": " << ToString(e) << " became " << ToString(s)
                           << " at a=" << values[0].second.i << " b=" << values[1].second.i
                           << " c=" << values[2].second.i;
      ASSERT_TRUE(bounds.Contains(got)) << ToString(s) << " is " << got << " outside of [" << bounds.lo << ", "
                                        << bounds.hi << "]";
    }
  }
}

TEST(SimplifierFuzz, EveryRuleOfTheTableHolds) {
  const RuleTable& table = Rules();
  std::mt19937_64 random(7);
  const auto draw = [&] { return static_cast<int64_t>(random() % 41) - 20; };
  for (const RewriteRule& rule : table.rules) {
    int tried = 0;
    for (int sample = 0; sample < 2000 && tried < 500; ++sample) {
      const int64_t a = draw(), b = draw();
      if (rule.when != nullptr && !rule.when(a, b)) continue;
      ++tried;
      const std::vector<std::pair<Expr, Scalar>> values{
          {table.x, {.i = draw()}}, {table.y, {.i = draw()}},
          {table.z, {.i = draw()}}, {table.a, {.i = a}},
          {table.b, {.i = b}},      {table.condition, {.i = static_cast<int64_t>(random() & 1)}}};
      ASSERT_EQ(EvaluateScalar(rule.from, values).value().i, EvaluateScalar(rule.to, values).value().i) << rule.name;
    }
    EXPECT_GT(tried, 100) << rule.name;
  }
}

}  // namespace
}  // namespace smelt::kernels::te
