// What is computed once from known inputs, run compiled and compared with the evaluator.
#include "targets/cpu/program/known_part.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "hlo/evaluator/evaluator.h"
#include "hlo/golden/inputs.h"
#include "hlo/text/parser.h"
#include "targets/cpu/processor/detect.h"
#include "targets/cpu/program/executable.h"

namespace smelt::cpu {
namespace {

constexpr char kKnown[] = R"(, frontend_attributes={smelt_known="true"})";

class KnownPart : public ::testing::Test {
 protected:
  void Compile(const std::string& text, int threads = 1) {
    absl::StatusOr<std::unique_ptr<hlo::Module>> module = hlo::ParseModule(text);
    ASSERT_TRUE(module.ok()) << module.status();
    module_ = *std::move(module);
    Target target = DetectTarget(/*measure=*/false);
    target.threads = threads;
    absl::StatusOr<std::unique_ptr<Executable>> executable = Executable::Compile(*module_, target, {});
    ASSERT_TRUE(executable.ok()) << executable.status();
    executable_ = *std::move(executable);
    inputs_ = hlo::MakeInputs(*module_).value();
  }

  void ExpectRight(const std::vector<hlo::Literal>& values) {
    std::vector<const hlo::Literal*> arguments;
    for (const hlo::Literal& input : values) arguments.push_back(&input);
    const hlo::Literal want = hlo::Evaluate(*module_, arguments).value();
    const hlo::Literal got = Run();
    for (int64_t i = 0; i < want.element_count(); ++i)
      ASSERT_NEAR(got.GetDouble(i), want.GetDouble(i), 1e-4 * (1 + std::abs(want.GetDouble(i)))) << i;
  }

  hlo::Literal Run() {
    std::vector<const hlo::Literal*> arguments;
    for (const hlo::Literal& input : inputs_) arguments.push_back(&input);
    absl::StatusOr<std::vector<hlo::Literal>> outputs = executable_->Run(arguments);
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    return std::move((*outputs)[0]);
  }

  std::unique_ptr<hlo::Module> module_;
  std::unique_ptr<Executable> executable_;
  std::vector<hlo::Literal> inputs_;
};

// exp(w) is computed in a phase of its own, into scratch that the product reads.
std::string FusedDot(const char* mark) {
  return absl::StrCat(R"(HloModule m
f { x = f32[64,96] parameter(0)
  w = f32[96,80] parameter(1)
  e = f32[96,80] exponential(w)
  ROOT d = f32[64,80] dot(x, e), lhs_contracting_dims={1}, rhs_contracting_dims={0} }
ENTRY main { x = f32[64,96] parameter(0)
  w = f32[96,80] parameter(1))",
                      mark, R"(
  ROOT r = f32[64,80] fusion(x, w), kind=kLoop, calls=f })");
}

TEST_F(KnownPart, APhaseOfKnownValuesRunsOnce) {
  for (int threads : {1, 2}) {
    Compile(FusedDot(kKnown), threads);
    ASSERT_EQ(executable_->kernels().size(), 1);
    EXPECT_GE(executable_->kept_bytes(), 96 * 80 * 4) << executable_->kernels()[0].trace;
    for (int run = 0; run < 3; ++run) ExpectRight(inputs_);
    EXPECT_EQ(executable_->setups(), 1);
    // Changed where it lies, against what a known value promises, nobody looks at it again.
    const std::vector<hlo::Literal> before = inputs_;
    std::memset(inputs_[1].raw(), 0, inputs_[1].byte_size());
    ExpectRight(before);
    inputs_[0].SetDouble(0, 3);
    std::vector<hlo::Literal> with_input = before;
    with_input[0].SetDouble(0, 3);
    ExpectRight(with_input);
    EXPECT_EQ(executable_->setups(), 1);
    // At another address it is another value.
    const hlo::Literal old = std::move(inputs_[1]);
    inputs_[1] = before[1];
    ExpectRight(with_input);
    EXPECT_EQ(executable_->setups(), 2);
  }
}

TEST_F(KnownPart, WithoutTheMarkEveryRunReadsItsInputs) {
  Compile(FusedDot(""));
  EXPECT_EQ(executable_->kept_bytes(), 0);
  ExpectRight(inputs_);
  std::memset(inputs_[1].raw(), 0, inputs_[1].byte_size());
  ExpectRight(inputs_);
  EXPECT_EQ(executable_->setups(), 0);
}

TEST_F(KnownPart, WholeKernelsOfKnownValuesRunOnceInLoopsToo) {
  Compile(absl::StrCat(R"(HloModule m
body { s = (s32[], f32[64], f32[64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  a = f32[64] get-tuple-element(s), index=1
  w = f32[64] get-tuple-element(s), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
  e = f32[64] exponential(w)
  b = f32[64] add(a, e)
  ROOT t = (s32[], f32[64], f32[64]) tuple(j, b, w) }
cond { s = (s32[], f32[64], f32[64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT l = pred[] compare(i, n), direction=LT }
ENTRY main { x = f32[64] parameter(0)
  w = f32[64] parameter(1))",
                       kKnown, R"(
  z = s32[] constant(0)
  t = (s32[], f32[64], f32[64]) tuple(z, x, w)
  l = (s32[], f32[64], f32[64]) while(t), condition=cond, body=body
  ROOT r = f32[64] get-tuple-element(l), index=1 })"));
  EXPECT_GE(executable_->kept_bytes(), 64 * 4);
  for (int run = 0; run < 3; ++run) ExpectRight(inputs_);
  EXPECT_EQ(executable_->setups(), 1);
}

TEST_F(KnownPart, EqualWeightsOfEqualKernelsAreKeptOnce) {
  Compile(absl::StrCat(R"(HloModule m
f { x = f32[64,64] parameter(0)
  w = f32[64,64] parameter(1)
  e = f32[64,64] exponential(w)
  ROOT d = f32[64,64] dot(x, e), lhs_contracting_dims={1}, rhs_contracting_dims={0} }
ENTRY main { x = f32[64,64] parameter(0)
  w = f32[64,64] parameter(1))",
                       kKnown, R"(
  a = f32[64,64] fusion(x, w), kind=kLoop, calls=f
  ROOT b = f32[64,64] fusion(a, w), kind=kLoop, calls=f })"));
  EXPECT_LT(executable_->kept_bytes(), 2 * 64 * 64 * 4);
  for (int run = 0; run < 2; ++run) ExpectRight(inputs_);
}

TEST_F(KnownPart, WhatIsMuchLargerThanTheKnownValuesIsNotKept) {
  Compile(absl::StrCat(R"(HloModule m
ENTRY main { x = f32[100,64] parameter(0)
  w = f32[64] parameter(1))",
                       kKnown, R"(
  e = f32[100,64] broadcast(w), dimensions={1}
  ROOT r = f32[100,64] add(x, e) })"));
  EXPECT_EQ(executable_->kept_bytes(), 0);
  ExpectRight(inputs_);
}

}  // namespace
}  // namespace smelt::cpu
