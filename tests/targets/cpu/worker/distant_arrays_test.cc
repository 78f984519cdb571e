#include "targets/cpu/worker/distant_arrays.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "targets/cpu/processor/detect.h"
#include "targets/cpu/worker/loaded_program.h"

namespace smelt::cpu {
namespace {

constexpr int64_t kFar = int64_t{8} << 20;
constexpr hlo::InputRange kRange{-1, 1};

hlo::Shape Floats(int64_t count) { return hlo::Shape::Array(hlo::PrimitiveType::kF32, {count}); }

TEST(DistantArrays, ComeBackAfterSoManyBytes) {
  InputPool pool;
  DistantArrays distant(pool, kFar);
  const void* input = nullptr;
  void* output = nullptr;
  constexpr int64_t kCount = 25000;  // 100,000 bytes
  distant.AddInput(Floats(kCount), kRange, /*distance=*/1000000, 4 * kCount, &input);
  distant.AddOutput(Floats(kCount), /*distance=*/1000000, &output);
  ASSERT_TRUE(distant.Prepare().ok());
  std::set<const void*> inputs, outputs;
  for (int run = 0; run < 1000; ++run) {
    distant.Next();
    inputs.insert(input);
    outputs.insert(output);
    const float* values = static_cast<const float*>(input);
    EXPECT_TRUE(std::abs(values[0]) <= 1 && std::abs(values[kCount - 1]) <= 1);
    std::memset(output, 1, 4 * kCount);
  }
  // Both together pass over a million bytes and their own before they come back.
  EXPECT_EQ(inputs.size(), 6);
  EXPECT_EQ(outputs.size(), 6);
}

TEST(DistantArrays, SmallOnesLieCloseTogether) {
  InputPool pool;
  DistantArrays distant(pool, kFar);
  const void* input = nullptr;
  distant.AddInput(Floats(8), kRange, /*distance=*/100000, 32, &input);
  ASSERT_TRUE(distant.Prepare().ok());
  distant.Next();
  const char* before = static_cast<const char*>(input);
  distant.Next();
  EXPECT_EQ(static_cast<const char*>(input) - before, 64);
}

TEST(DistantArrays, OneThatIsReadInPartMovesOnByThatPart) {
  InputPool pool;
  DistantArrays distant(pool, kFar);
  const void* input = nullptr;
  distant.AddInput(Floats(1 << 20), kRange, /*distance=*/1000000, /*read_bytes=*/8192, &input);
  ASSERT_TRUE(distant.Prepare().ok());
  std::set<const void*> places;
  for (int run = 0; run < 1000; ++run) {
    distant.Next();
    places.insert(input);
    EXPECT_TRUE(std::isfinite(static_cast<const float*>(input)[(1 << 20) - 1]));
  }
  EXPECT_GE(places.size(), 1000000 / 8192);
}

TEST(DistantArrays, WhatIsFarAwayGoesOnWhereTheKernelBeforeEnded) {
  InputPool pool;
  const void* first = nullptr;
  {
    DistantArrays distant(pool, kFar);
    distant.AddInput(Floats(1000), kRange, kFar, 4000, &first);
    ASSERT_TRUE(distant.Prepare().ok());
    distant.Next();
  }
  DistantArrays distant(pool, kFar);
  const void* second = nullptr;
  distant.AddInput(Floats(1000), kRange, 10 * kFar, 4000, &second);
  ASSERT_TRUE(distant.Prepare().ok());
  distant.Next();
  EXPECT_GE(static_cast<const char*>(second) - static_cast<const char*>(first), 4000);
}

TEST(DistantArrays, OneLargerThanAllCachesIsWhereItIs) {
  InputPool pool;
  DistantArrays distant(pool, /*far_bytes=*/1 << 20);
  const void* input = nullptr;
  distant.AddInput(Floats(1 << 20), kRange, int64_t{1} << 40, 4 << 20, &input);
  ASSERT_TRUE(distant.Prepare().ok());
  for (int run = 0; run < 3; ++run) {
    distant.Next();
    EXPECT_TRUE(std::isfinite(static_cast<const float*>(input)[(1 << 20) - 1]));
  }
}

TEST(LoadedProgram, ComputesTheSameWithDistantArrays) {
  const std::string text =
      "HloModule m\nENTRY e {\n  x = f32[300] parameter(0)\n  i = s32[300] parameter(1)\n"
      "  f = f32[300] convert(i)\n  ROOT y = f32[300] add(x, f)\n}\n";
  const Target target = DetectTarget();
  InputPool pool;
  auto program = LoadedProgram::Compile(text, target, {}, pool);
  ASSERT_TRUE(program.ok()) << program.status();
  ASSERT_TRUE((*program)->TakeInputs({.within_program = true, .distances = {1 << 20, 1 << 20, 1 << 20}}).ok());
  for (int run = 0; run < 3; ++run) {
    ASSERT_TRUE((*program)->Run().ok());
    const auto outputs = (*program)->Outputs();
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    for (const float value : (*outputs)[0].data<float>()) {
      EXPECT_GE(value, -1);
      EXPECT_LE(value, 8);
    }
  }
}

}  // namespace
}  // namespace smelt::cpu
