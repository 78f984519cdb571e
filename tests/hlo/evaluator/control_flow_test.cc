#include <gmock/gmock.h>

#include <atomic>
#include <set>
#include <thread>

#include "tests/hlo/evaluator/evaluate_text.h"

namespace smelt::hlo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const char kEndless[] = R"(
  body { s = s32[] parameter(0)  o = s32[] constant(1)  ROOT r = s32[] add(s, o) }
  condition { s = s32[] parameter(0)  ROOT t = pred[] constant(true) }
  ENTRY e { s = s32[] constant(0)  ROOT w = s32[] while(s), condition=condition, body=body })";

TEST(EvaluateControlFlow, LoopsUpdateTheirStateInPlace) {
  // 20,000 updates of one element of a million: copying the array each time would take minutes.
  const char* text = R"(
    body { s = (s32[], f32[1000000]) parameter(0)  i = s32[] get-tuple-element(s), index=0  x = f32[1000000] get-tuple-element(s), index=1
      v = f32[] convert(i)  u = f32[1] reshape(v)  n = f32[1000000] dynamic-update-slice(x, u, i)  o = s32[] constant(1)  j = s32[] add(i, o)
      ROOT t = (s32[], f32[1000000]) tuple(j, n) }
    condition { s = (s32[], f32[1000000]) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(20000)  ROOT c = pred[] compare(i, n), direction=LT }
    ENTRY e { z = s32[] constant(0)  f = f32[] constant(-1)  x = f32[1000000] broadcast(f), dimensions={}  s = (s32[], f32[1000000]) tuple(z, x)
      w = (s32[], f32[1000000]) while(s), condition=condition, body=body  r = f32[1000000] get-tuple-element(w), index=1
      ROOT p = f32[3] slice(r), slice={[19998:20001]} })";
  auto result = EvaluateText(text, {}, {.max_seconds = 60});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(Values(*result), ElementsAre(19998, 19999, -1));
}

TEST(EvaluateControlFlow, WhatNoIterationChangesIsMadeOnce) {
  // 20,000 sums of a million elements: making each anew would take minutes. What is made of it is not written over.
  const char* text = R"(
    add { a = s32[] parameter(0)  b = s32[] parameter(1)  ROOT r = s32[] add(a, b) }
    body { s = (s32[], s32[2]) parameter(0)  i = s32[] get-tuple-element(s), index=0  x = s32[2] get-tuple-element(s), index=1
      n = s32[1000000] iota(), iota_dimension=0  c = s32[] constant(3)  m = s32[1000000] broadcast(c), dimensions={}
      h = s32[1000000] remainder(n, m)  z = s32[] constant(0)  t = s32[] reduce(h, z), dimensions={0}, to_apply=add
      f = s32[2] iota(), iota_dimension=0  u = s32[2] add(f, x)  v = s32[1] reshape(t)  y = s32[2] dynamic-update-slice(u, v, z)
      o = s32[] constant(1)  j = s32[] add(i, o)  ROOT r = (s32[], s32[2]) tuple(j, y) }
    condition { s = (s32[], s32[2]) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(20000)  ROOT c = pred[] compare(i, n), direction=LT }
    ENTRY e { z = s32[] constant(0)  x = s32[2] broadcast(z), dimensions={}  s = (s32[], s32[2]) tuple(z, x)
      w = (s32[], s32[2]) while(s), condition=condition, body=body  ROOT r = s32[2] get-tuple-element(w), index=1 })";
  auto result = EvaluateText(text, {}, {.max_seconds = 10});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(Values(*result), ElementsAre(999999, 20000));
}

TEST(EvaluateControlFlow, RandomNumbersAreNewInEveryIteration) {
  const char* text = R"(
    body { s = (s32[], f32[4]) parameter(0)  i = s32[] get-tuple-element(s), index=0  x = f32[4] get-tuple-element(s), index=1
      a = f32[] constant(1)  b = f32[] constant(2)  q = f32[1] rng(a, b), distribution=rng_uniform  y = f32[4] dynamic-update-slice(x, q, i)
      o = s32[] constant(1)  j = s32[] add(i, o)  ROOT r = (s32[], f32[4]) tuple(j, y) }
    condition { s = (s32[], f32[4]) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(4)  ROOT c = pred[] compare(i, n), direction=LT }
    ENTRY e { z = s32[] constant(0)  f = f32[] constant(0)  x = f32[4] broadcast(f), dimensions={}  s = (s32[], f32[4]) tuple(z, x)
      w = (s32[], f32[4]) while(s), condition=condition, body=body  ROOT r = f32[4] get-tuple-element(w), index=1 })";
  auto result = EvaluateText(text, {});
  ASSERT_TRUE(result.ok()) << result.status();
  const std::vector<double> values = Values(*result);
  EXPECT_EQ(std::set<double>(values.begin(), values.end()).size(), 4) << "1 to 2, none twice";
}

TEST(EvaluateControlFlow, ConditionalTakesTheLastBranchForIndicesOutside) {
  const char* text = R"(
    zero { x = f32[] parameter(0)  ROOT n = f32[] negate(x) }
    one { x = f32[] parameter(0)  ROOT n = f32[] add(x, x) }
    ENTRY e { i = s32[] parameter(0)  a = f32[] constant(3)  b = f32[] constant(5)  ROOT c = f32[] conditional(i, a, b), branch_computations={zero, one} })";
  EXPECT_THAT(EvaluateValues(text, {S32({}, {0})}), ElementsAre(-3));
  EXPECT_THAT(EvaluateValues(text, {S32({}, {1})}), ElementsAre(10));
  EXPECT_THAT(EvaluateValues(text, {S32({}, {-4})}), ElementsAre(10));
  EXPECT_THAT(EvaluateValues(text, {S32({}, {9})}), ElementsAre(10));
}

TEST(EvaluateControlFlow, EndlessLoopsEndAtTheTimeLimit) {
  auto result = EvaluateText(kEndless, {}, {.max_seconds = 0.05});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(EvaluateControlFlow, EndlessLoopsEndWhenCancelled) {
  std::atomic<bool> cancel{false};
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    cancel = true;
  });
  auto result = EvaluateText(kEndless, {}, {.cancel = &cancel});
  later.join();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), absl::StatusCode::kCancelled);
}

TEST(EvaluateControlFlow, ValuesBeyondTheMemoryLimitAreRefused) {
  const char* text =
      "ENTRY e { f = f32[] constant(1)  x = f32[1000,1000] broadcast(f), dimensions={}  y = f32[1000,1000] "
      "transpose(x), dimensions={1,0}  ROOT r = f32[1000,1000] "
      "add(x, y) }";
  EXPECT_TRUE(EvaluateText(text, {}, {.max_bytes = 9'000'000}).ok());
  auto refused = EvaluateText(text, {}, {.max_bytes = 7'000'000});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("instruction `y`"));
}

TEST(EvaluateControlFlow, CallsNestedTooDeepAreRefused) {
  std::string text = "c0 { x = f32[] parameter(0)  ROOT r = f32[] negate(x) }\n";
  for (int i = 1; i <= 5000; ++i) {
    text += "c" + std::to_string(i) + " { x = f32[] parameter(0)  ROOT r = f32[] call(x), to_apply=c" +
            std::to_string(i - 1) + " }\n";
  }
  text += "ENTRY e { x = f32[] parameter(0)  ROOT r = f32[] call(x), to_apply=c5000 }";
  auto result = EvaluateText(text, {F32({}, {1})});
  ASSERT_FALSE(result.ok());
}

TEST(EvaluateControlFlow, UnknownCustomCallsAreNamed) {
  auto result = EvaluateText(
      R"(ENTRY e { x = f32[2] parameter(0)  ROOT r = f32[2] custom-call(x), custom_call_target="MyOwnKernel" })",
      {F32({2}, {1, 2})});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("MyOwnKernel"));
}

TEST(EvaluateControlFlow, ArgumentsMustFit) {
  auto result = EvaluateText("ENTRY e { x = f32[2] parameter(0)  ROOT r = f32[2] negate(x) }", {F32({3}, {1, 2, 3})});
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("expected f32[2], found f32[3]"));
  EXPECT_FALSE(EvaluateText("ENTRY e { x = f32[2] parameter(0)  ROOT r = f32[2] negate(x) }").ok());
}

TEST(EvaluateInstruction, RunsOneInstructionOnOtherOperands) {
  auto module = ParseModule("ENTRY e { x = f32[2] parameter(0)  y = f32[2] negate(x)  ROOT r = f32[2] add(y, y) }");
  ASSERT_TRUE(module.ok());
  const Literal a = F32({2}, {1, 2}), b = F32({2}, {10, 20});
  const Literal* operands[] = {&a, &b};
  auto result = EvaluateInstruction(*(*module)->entry()->root(), operands);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(Values(*result), ElementsAre(11, 22));
}

TEST(EvaluateControlFlow, TheOneDeviceIsNumberZero) {
  EXPECT_THAT(EvaluateValues("ENTRY e { p = u32[] partition-id()  r = u32[] replica-id()  ROOT s = u32[] add(p, r) }"),
              ElementsAre(0));
}

}  // namespace
}  // namespace smelt::hlo
