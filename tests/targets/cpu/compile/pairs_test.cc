// Pairs of a few coordinates, as forces between particles have them: what is computed once a pair, and sums over either
// of the two, against the evaluator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "hlo/text/parser.h"
#include "targets/cpu/processor/detect.h"
#include "tests/targets/cpu/compile/run_compiled.h"

namespace smelt::cpu {
namespace {

using ::testing::HasSubstr;

constexpr char kAdd[] = "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n";

// Forces w[i,j] * (x[i] - x[j]) on each of n points, of the pairs in which it is the first and of those in which it is
// the second one.
std::unique_ptr<hlo::Module> SumsOfBoth(int64_t n, int64_t coordinates) {
  const std::string pairs = absl::StrCat("f32[", n, ",", n, ",", coordinates, "]");
  const std::string points = absl::StrCat("f32[", n, ",", coordinates, "]");
  return hlo::ParseModule(
             absl::StrCat("HloModule m\n", kAdd, "ENTRY e { x = ", points, " parameter(0)  w = f32[", n, ",", n,
                          "] parameter(1)  z = f32[] constant(0)  a = ", pairs, " broadcast(x), dimensions={0,2}  b = ",
                          pairs, " broadcast(x), dimensions={1,2}  d = ", pairs, " subtract(a, b)  v = ", pairs,
                          " broadcast(w), dimensions={0,1}  f = ", pairs, " multiply(v, d)  m = ", pairs,
                          " negate(f)  s = ", points, " reduce(f, z), dimensions={1}, to_apply=add  t = ", points,
                          " reduce(m, z), dimensions={0}, to_apply=add  ROOT r = ", points, " add(t, s) }"))
      .value();
}

// x[i,j] / (1 + sqrt(exp(w[i,j]))): the divisor once a pair.
std::unique_ptr<hlo::Module> OnceAPair(int64_t n, int64_t coordinates) {
  const std::string pairs = absl::StrCat("f32[", n, ",", n, ",", coordinates, "]");
  const std::string each = absl::StrCat("f32[", n, ",", n, "]");
  return hlo::ParseModule(absl::StrCat("HloModule m\nENTRY e { x = ", pairs, " parameter(0)  w = ", each,
                                       " parameter(1)  e = ", each, " exponential(w)  s = ", each,
                                       " sqrt(e)  l = ", each, " log-plus-one(s)  v = ", pairs,
                                       " broadcast(l), dimensions={0,1}  ROOT r = ", pairs, " divide(x, v) }"))
      .value();
}

// Squared distances of n x n points to four others.
std::unique_ptr<hlo::Module> ToFourOthers(int64_t n, int64_t coordinates) {
  const std::string pairs = absl::StrCat("f32[", n, ",", n, ",4,", coordinates, "]");
  return hlo::ParseModule(absl::StrCat("HloModule m\n", kAdd, "ENTRY e { x = f32[", n, ",", n, ",", coordinates,
                                       "] parameter(0)  y = f32[4,", coordinates,
                                       "] parameter(1)  z = f32[] constant(0)  a = ", pairs,
                                       " broadcast(x), dimensions={0,1,3}  b = ", pairs,
                                       " broadcast(y), dimensions={2,3}  d = ", pairs, " subtract(a, b)  s = ", pairs,
                                       " multiply(d, d)  ROOT r = f32[", n, ",", n,
                                       ",4] reduce(s, z), dimensions={3}, to_apply=add }"))
      .value();
}

using MakeModule = std::unique_ptr<hlo::Module> (*)(int64_t, int64_t);

void AgreesWithTheEvaluator(MakeModule make) {
  const Target target = DetectTarget(/*measure=*/false);
  for (const int64_t n : {1, 5, 16, 37, 128}) {
    for (const int64_t coordinates : {1, 2, 3, 4, 8, 9}) {
      const absl::StatusOr<CompiledError> got = ErrorOfCompiled(*make(n, coordinates), target);
      ASSERT_TRUE(got.ok()) << got.status();
      EXPECT_LT(got->error, 1e-5) << n << " points of " << coordinates << "\n" << got->trace;
    }
  }
}

std::string TraceOf(MakeModule make, int64_t n, int64_t coordinates) {
  const absl::StatusOr<CompiledError> got = ErrorOfCompiled(*make(n, coordinates), DetectTarget(/*measure=*/false));
  return got.ok() ? got->trace : std::string(got.status().message());
}

TEST(Pairs, SumsOverEitherOfThemAreTheEvaluators) { AgreesWithTheEvaluator(SumsOfBoth); }

TEST(Pairs, WhatIsComputedOnceAPairIsTheEvaluators) { AgreesWithTheEvaluator(OnceAPair); }

TEST(Pairs, SumsForAFewOthersAreTheEvaluators) { AgreesWithTheEvaluator(ToFourOthers); }

// The sums for one of the others lie side by side, though the results for all of them lie between each other.
TEST(Pairs, SumsForAFewOthersAreComputedTogether) {
  const std::string trace = TraceOf(ToFourOthers, 128, 3);
  EXPECT_THAT(trace, HasSubstr("unroll reduce_5.local i2"));
  EXPECT_THAT(trace, HasSubstr("vectorize reduce_5.local i1"));
  EXPECT_THAT(trace, HasSubstr("transform_layout reduce_5.local 0:1 2:1 1:1"));
}

// Inside the loops over the sum's results it would be summed one by one, down the columns of an array.
TEST(Pairs, ASumOverTheFirstOfThemHasLoopsOfItsOwn) {
  EXPECT_THAT(TraceOf(SumsOfBoth, 128, 2), HasSubstr("cache_write reduce_8 thread"));
}

TEST(Pairs, WhatIsComputedOnceAPairGoesInVectorsOverThePairs) {
  EXPECT_THAT(TraceOf(OnceAPair, 128, 2), HasSubstr("split divide_4 i1 128"));
}

}  // namespace
}  // namespace smelt::cpu
