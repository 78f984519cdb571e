#include "hlo/quantize/multiply_shift.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "hlo/evaluator/evaluator.h"
#include "hlo/module.h"
#include "tests/hlo/quantize/quantize_testing.h"

namespace smelt::hlo::quantize {
namespace {

// The definition in 128 bits: the nearest integer to x * m / 2^s, halves upwards, kept within 32 bits.
int32_t Definition(int32_t x, int32_t m, int s) {
  const __int128 product = static_cast<__int128>(x) * m + (static_cast<__int128>(1) << (s - 1));
  __int128 quotient = product / (static_cast<__int128>(1) << s);
  if (product < 0 && quotient * (static_cast<__int128>(1) << s) != product) --quotient;  // towards minus infinity
  const __int128 low = std::numeric_limits<int32_t>::min(), high = std::numeric_limits<int32_t>::max();
  return static_cast<int32_t>(std::min(std::max(quotient, low), high));
}

const int32_t kEdges[] = {std::numeric_limits<int32_t>::min(), -1, 0, 1, 127, 1 << 22, -(1 << 30),
                          std::numeric_limits<int32_t>::max()};

TEST(MultiplyShift, IsTheRoundedQuotient) {
  std::mt19937 random(7);
  for (int shift = 1; shift <= kLargestShift; ++shift) {
    for (const int32_t m : {0, 1, -1, 3, 1 << 22, (1 << 23) - 1, -(1 << 23)}) {
      for (const int32_t x : kEdges) ASSERT_EQ(ApplyMultiplyShift(x, m, shift), Definition(x, m, shift));
    }
    for (int i = 0; i < 200; ++i) {
      const auto x = static_cast<int32_t>(random());
      const int32_t m = static_cast<int32_t>(random()) >> 8;
      ASSERT_EQ(ApplyMultiplyShift(x, m, shift), Definition(x, m, shift)) << x << " * " << m << " >> " << shift;
    }
  }
}

TEST(MultiplyShift, ComesNearToAnyFactor) {
  std::mt19937 random(11);
  for (int i = 0; i < 300; ++i) {
    std::vector<double> factors;
    double largest = 0;
    for (int c = 0; c < 5; ++c) {
      factors.push_back(std::exp2(std::uniform_real_distribution<double>(-30, 21)(random)));
      largest = std::max(largest, factors.back());
    }
    const absl::StatusOr<MultiplyShift> rescale = ChooseMultiplyShift(factors);
    ASSERT_TRUE(rescale.ok()) << rescale.status();
    for (size_t c = 0; c < factors.size(); ++c) {
      ASSERT_LT(rescale->multipliers[c], kMultiplierLimit);
      EXPECT_LE(std::fabs(std::ldexp(rescale->multipliers[c], -rescale->shift) - factors[c]), largest * 0x1p-23);
    }
  }
}

TEST(MultiplyShift, RefusesFactorsOutOfReach) {
  EXPECT_EQ(ChooseMultiplyShift({0x1p22}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ChooseMultiplyShift({-1.0}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ChooseMultiplyShift({std::nan("")}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ChooseMultiplyShift({0.0})->multipliers[0], 0);
}

// x s32[2,3], a multiplier for each column.
struct Rescaling {
  Module module{"m"};
  Instruction* x = nullptr;
  Instruction* narrow = nullptr;

  Rescaling(const MultiplyShift& rescale, double bound) {
    Computation* entry = module.AddComputation("e");
    module.set_entry(entry);
    x = entry->Add(Opcode::kParameter, Shape::Array(PrimitiveType::kS32, {2, 3}), {}, ParameterAttributes{0});
    GraphBuilder build(*entry);
    narrow = AddMultiplyShift(build, x, rescale, {1}, bound);
    entry->set_root(narrow);
  }
};

TEST(MultiplyShift, AsAGraphGivesTheSameNumbers) {
  std::mt19937 random(3);
  for (const int shift : {1, 7, 23, 31, 40, kLargestShift}) {
    const MultiplyShift rescale{{(1 << 23) - 1, 12345, -(1 << 23)}, shift};
    const Rescaling graph(rescale, 0x1p31);
    ASSERT_TRUE(VerifyModule(graph.module).ok());
    for (int i = 0; i < 20; ++i) {
      Literal x(graph.x->shape());
      for (int64_t e = 0; e < 6; ++e) x.SetInteger(e, i < 2 ? kEdges[(i * 6 + e) % 8] : static_cast<int32_t>(random()));
      const Literal* arguments[] = {&x};
      const absl::StatusOr<Literal> y = Evaluate(graph.module, arguments);
      ASSERT_TRUE(y.ok()) << y.status();
      for (int64_t e = 0; e < 6; ++e) {
        EXPECT_EQ(y->data<int32_t>()[e], ApplyMultiplyShift(x.data<int32_t>()[e], rescale.multipliers[e % 3], shift));
      }
    }
  }
}

TEST(MultiplyShift, IsRecognisedInAGraph) {
  for (const double bound : {1000.0, 0x1p31}) {
    const MultiplyShift rescale{{1 << 22, 77, 5}, 20};
    const Rescaling graph(rescale, bound);
    EXPECT_EQ(Count(*graph.module.entry(), Opcode::kClamp, PrimitiveType::kS64), bound > 1000 ? 1 : 0);
    const std::optional<MatchedMultiplyShift> match = MatchMultiplyShift(*graph.narrow);
    ASSERT_TRUE(match.has_value());
    EXPECT_EQ(match->x, graph.x);
    EXPECT_EQ(match->shift, 20);
    EXPECT_EQ(match->channel_dims, std::vector<int64_t>{1});
    EXPECT_EQ(match->multipliers->literal().GetInteger(1), 77);
  }
}

TEST(MultiplyShift, IsNotSeenWhereTheRoundingIsAnother) {
  const char* kText = R"(HloModule m
    ENTRY e { x = s32[4] parameter(0)  w = s64[4] convert(x)  m = s64[] constant(77)  ms = s64[4] broadcast(m), dimensions={}
      p = s64[4] multiply(w, ms)  r = s64[] constant(ROUNDING)  rs = s64[4] broadcast(r), dimensions={}
      a = s64[4] add(p, rs)  s = s64[] constant(8)  ss = s64[4] broadcast(s), dimensions={}
      b = s64[4] shift-right-arithmetic(a, ss)  ROOT n = s32[4] convert(b) })";
  for (const auto& [rounding, matches] : {std::pair("128", true), {"127", false}, {"0", false}}) {
    std::string text = kText;
    text.replace(text.find("ROUNDING"), 8, rounding);
    const std::unique_ptr<Module> module = Parse(text);
    EXPECT_EQ(MatchMultiplyShift(*module->entry()->root()).has_value(), matches) << rounding;
  }
}

}  // namespace
}  // namespace smelt::hlo::quantize
