#include "hlo/running_window.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "hlo/evaluator/evaluator.h"
#include "hlo/text/parser.h"

namespace smelt::hlo {
namespace {

std::unique_ptr<Module> Window(const std::string& window, const std::string& reducer = "add(a, b)") {
  return ParseModule(absl::StrCat(R"(HloModule m
f { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] )",
                                  reducer, R"( }
ENTRY e { x = f32[3,100,2] parameter(0)  z = f32[] constant(0.5)
  ROOT r = f32[3,100,2] reduce-window(x, z), window={)",
                                  window, "}, to_apply=f }"))
      .value();
}

std::optional<RunningWindow> Of(const Module& module) { return RunningWindowOf(*module.entry()->root()); }

constexpr char kForward[] = "size=1x100x1 pad=0_0x99_0x0_0", kBackward[] = "size=1x100x1 pad=0_0x0_99x0_0";

TEST(RunningWindow, ReachesFromOneEndToItsOwnPlace) {
  const std::optional<RunningWindow> forward = Of(*Window(kForward)), backward = Of(*Window(kBackward));
  ASSERT_TRUE(forward && backward);
  EXPECT_EQ(forward->dimension, 1);
  EXPECT_FALSE(forward->reverse);
  EXPECT_TRUE(backward->reverse);
  EXPECT_TRUE(forward->one_operation);
  EXPECT_FALSE(Of(*Window(kForward, "subtract(a, b)"))->one_operation);
  EXPECT_FALSE(Of(*Window("size=1x99x1 pad=0_0x98_0x0_0")));
  EXPECT_FALSE(Of(*Window("size=1x100x1 pad=0_0x50_49x0_0")));
  EXPECT_FALSE(Of(*Window("size=3x100x1 pad=2_0x99_0x0_0")));
}

// Element by element, as its definition has it.
TEST(RunningWindow, IsEvaluatedInOnePassWithTheSameResults) {
  for (const char* window : {kForward, kBackward}) {
    for (const char* reducer : {"add(a, b)", "maximum(a, b)", "subtract(a, b)"}) {
      const std::unique_ptr<Module> module = Window(window, reducer);
      Literal input(Shape::Array(PrimitiveType::kF32, {3, 100, 2}));
      for (int64_t i = 0; i < 600; ++i) input.data<float>()[i] = static_cast<float>((i * 37) % 101 - 50);
      const Literal got = Evaluate(*module, {&input}).value();
      for (int64_t i = 0; i < 600; ++i) {
        const int64_t k = i / 2 % 100, line = i - k * 2;  // the element, and the first one of its line
        float expected = 0.5f;
        const auto add = [&](int64_t at) {
          const float x = input.data<float>()[line + at * 2];
          expected = reducer[0] == 'a' ? expected + x : reducer[0] == 'm' ? std::max(expected, x) : expected - x;
        };
        if (window == kForward) {
          for (int64_t at = 0; at <= k; ++at) add(at);
        } else {
          for (int64_t at = k; at < 100; ++at) add(at);
        }
        ASSERT_EQ(got.data<float>()[i], expected) << window << " " << reducer << " " << i;
      }
    }
  }
}

}  // namespace
}  // namespace smelt::hlo
