// Where the largest and the smallest elements are, in vectors, against the evaluator, which goes from the first to the
// last: with equal elements and with NaNs, of which the first one counts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "hlo/evaluator/evaluator.h"
#include "hlo/text/parser.h"
#include "kernels/te/hlo/from_hlo.h"
#include "targets/cpu/processor/detect.h"
#include "tests/targets/cpu/compile/run_compiled.h"

namespace smelt::cpu {
namespace {

// `keep`: when the left pair stays where values are neither equal nor NaN; as JAX writes it.
constexpr const char* kFirst = R"(
  better = pred[] compare(a, b), direction=KEEP
  is_nan = pred[] compare(a, a), direction=NE
  stays = pred[] or(better, is_nan)
  v = TYPE[] select(stays, a, b)
  equal = pred[] compare(a, b), direction=EQ
  before = pred[] compare(i, j), direction=LT
  tie = pred[] and(equal, before)
  left = pred[] or(stays, tie)
  k = s32[] select(left, i, j))";

std::unique_ptr<hlo::Module> Search(const std::string& body, const std::string& type, const std::string& keep,
                                    const std::string& init, int64_t rows, int64_t columns, int64_t dimension,
                                    const std::string& first = "0") {
  const std::string shape = absl::StrCat("[", rows, ",", columns, "]");
  const std::string result = absl::StrCat("[", dimension == 1 ? rows : columns, "]");
  const std::string text = absl::StrCat(
      "HloModule m\nmost {\n  a = TYPE[] parameter(0)  i = s32[] parameter(1)  b = TYPE[] parameter(2)  j = s32[] "
      "parameter(3)",
      body, "\n  ROOT r = (TYPE[], s32[]) tuple(v, k)\n}\nENTRY e {\n  x = TYPE", shape, " parameter(0)\n  n = s32",
      shape, " iota(), iota_dimension=", dimension, "\n  z = TYPE[] constant(", init, ")\n  o = s32[] constant(", first,
      ")\n  ROOT t = (TYPE", result, ", s32", result, ") reduce(x, n, z, o), dimensions={", dimension,
      "}, to_apply=most\n}\n");
  auto module = hlo::ParseModule(absl::StrReplaceAll(text, {{"TYPE", type}, {"KEEP", keep}}));
  EXPECT_TRUE(module.ok()) << module.status() << text;
  return *std::move(module);
}

bool MayBeReordered(const hlo::Module& module) {
  const auto graph = kernels::te::FromHlo(*module.entry());
  EXPECT_TRUE(graph.ok()) << graph.status();
  return !graph->outputs[0].op->bodies[0]->combiner->identity.empty();
}

TEST(ArgMost, TheFirstOfEqualElementsAndOfNansIsFound) {
  const Target target = DetectTarget(/*measure=*/false);
  std::mt19937 random(7);
  for (const auto& [keep, init] : {std::pair{"GT", "-inf"}, std::pair{"LT", "inf"}}) {
    for (const auto& [rows, columns, dimension] :
         {std::tuple{9, 100, 1}, std::tuple{40, 16, 1}, std::tuple{33, 70, 0}, std::tuple{1, 3000, 1}}) {
      const auto module = Search(kFirst, "f32", keep, init, rows, columns, dimension);
      ASSERT_TRUE(MayBeReordered(*module));
      for (const int nans : {0, 1, 4}) {
        hlo::Literal x(module->entry()->Parameters()[0]->shape());
        for (float& value : x.data<float>()) value = static_cast<float>(static_cast<int>(random() % 7) - 3);
        for (int n = 0; n < nans * rows; ++n)
          x.data<float>()[random() % x.data<float>().size()] = std::numeric_limits<float>::quiet_NaN();
        const auto want = hlo::Evaluate(*module, {&x});
        ASSERT_TRUE(want.ok()) << want.status();
        const auto got = RunCompiled(*module, {x}, target);
        ASSERT_TRUE(got.ok()) << got.status();
        EXPECT_EQ(got->outputs[1], want->elements()[1]) << keep << rows << "x" << columns << got->kernel->trace;
      }
    }
  }
}

TEST(ArgMost, IntegersHaveNoNan) {
  EXPECT_TRUE(MayBeReordered(*Search(kFirst, "s32", "GT", "-2147483648", 4, 64, 1)));
  EXPECT_TRUE(MayBeReordered(*Search(kFirst, "u8", "LT", "255", 4, 64, 1)));
}

TEST(ArgMost, WhatDependsOnTheOrderKeepsIt) {
  // The last of equal elements; NaNs that are passed over; a bound; values beside positions; the first position not
  // the least one.
  const std::string last = absl::StrReplaceAll(kFirst, {{"direction=LT", "direction=GT"}});
  EXPECT_FALSE(MayBeReordered(*Search(last, "f32", "GT", "-inf", 4, 64, 1)));
  const std::string careless = absl::StrReplaceAll(kFirst, {{"or(better, is_nan)", "or(better, better)"}});
  EXPECT_FALSE(MayBeReordered(*Search(careless, "f32", "GT", "-inf", 4, 64, 1)));
  const std::string bounded =
      absl::StrCat("  two = TYPE[] constant(2)",
                   absl::StrReplaceAll(kFirst, {{"compare(a, b), direction=KEEP", "compare(a, two), direction=KEEP"}}));
  EXPECT_FALSE(MayBeReordered(*Search(bounded, "f32", "GT", "-inf", 4, 64, 1)));
  const std::string beside = absl::StrCat("  far = pred[] compare(a, j), direction=GT",
                                          absl::StrReplaceAll(kFirst, {{"or(better, is_nan)", "or(better, far)"}}));
  EXPECT_FALSE(MayBeReordered(*Search(beside, "s32", "GT", "-2147483648", 4, 64, 1)));
  EXPECT_FALSE(MayBeReordered(*Search(kFirst, "f32", "GT", "-inf", 4, 64, 1, /*first=*/"7")));
  EXPECT_FALSE(MayBeReordered(*Search(kFirst, "f32", "GT", "nan", 4, 64, 1)));
}

}  // namespace
}  // namespace smelt::cpu
