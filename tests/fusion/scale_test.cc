// Programs of the shapes that make a careless step quadratic: it would take minutes here.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>

#include "fusion/heuristics/heuristics.h"
#include "tests/fusion/programs.h"

namespace smelt::fusion {
namespace {

constexpr int kSteps = 4000;
constexpr double kSeconds = 20;  // a hundredth of it on a quiet machine without sanitizers

struct Shape {
  std::string_view name;
  std::function<std::string(int i, const std::string& n, const std::string& before)> step;
};

std::string Text(const Shape& shape) {
  std::string text =
      "HloModule m\nENTRY e {\nx0 = f32[32,64] parameter(0)\ny = f32[32,64] parameter(1)\nk = f32[] parameter(2)\n"
      "v = f32[32,64] add(x0, y)\nc = f32[] multiply(k, k)\n";
  for (int i = 0; i < kSteps; ++i) text += shape.step(i, std::to_string(i + 1), "x" + std::to_string(i));
  return text + "ROOT r = f32[32,64] negate(x" + std::to_string(kSteps) + ")\n}\n";
}

const Shape kShapes[] = {
    {"a value that every step reads",
     [](int, const std::string& n, const std::string& before) {
       return "m" + n + " = f32[32,64] multiply(v, " + before + ")\nx" + n + " = f32[32,64] tanh(m" + n + ")\n";
     }},
    {"a scalar that every step broadcasts",
     [](int, const std::string& n, const std::string& before) {
       return "b" + n + " = f32[32,64] broadcast(c), dimensions={}\nx" + n + " = f32[32,64] subtract(" + before +
              ", b" + n + ")\n";
     }},
    {"a sum of many parameters",
     [](int i, const std::string& n, const std::string& before) {
       return "p" + n + " = f32[32,64] parameter(" + std::to_string(i + 3) + ")\nx" + n + " = f32[32,64] add(" +
              before + ", p" + n + ")\n";
     }},
    {"values that are used at once and at the next step",
     [](int, const std::string& n, const std::string& before) {
       return "e" + n + " = f32[32,64] exponential(" + before + ")\nx" + n + " = f32[32,64] add(e" + n + ", " + before +
              ")\n";
     }},
};

TEST(Scale, HeuristicsTakeNearLinearTime) {
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(std::string(shape.name));
    const std::unique_ptr<hlo::Module> module = Parse(Text(shape));
    const Space space = BuildSpace(*module);
    for (const std::string& name : HeuristicNames()) {
      const auto start = std::chrono::steady_clock::now();
      ASSERT_TRUE(Heuristic(name, space).ok());
      EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), kSeconds) << name;
    }
  }
}

}  // namespace
}  // namespace smelt::fusion
