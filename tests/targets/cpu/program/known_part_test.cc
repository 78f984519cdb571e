// What is computed once from known inputs, run compiled and compared with the evaluator.
#include "targets/cpu/program/known_part.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "hlo/evaluator/evaluator.h"
#include "hlo/golden/inputs.h"
#include "hlo/text/parser.h"
#include "runtime/execution.h"
#include "targets/cpu/processor/detect.h"
#include "targets/cpu/program/executable.h"
#include "targets/cpu/program/plan_arena.h"

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

// The sums of w's columns are computed in a phase of their own, into scratch that the products read.
std::string Scaled(const char* mark) {
  return absl::StrCat(R"(HloModule m
sum { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }
f { x = f32[64,2048] parameter(0)
  w = f32[256,2048] parameter(1)
  zero = f32[] constant(0)
  r = f32[2048] reduce(w, zero), dimensions={0}, to_apply=sum
  b = f32[64,2048] broadcast(r), dimensions={1}
  ROOT d = f32[64,2048] multiply(x, b) }
ENTRY main { x = f32[64,2048] parameter(0)
  w = f32[256,2048] parameter(1))",
                      mark, R"(
  ROOT r = f32[64,2048] fusion(x, w), kind=kLoop, calls=f })");
}

TEST_F(KnownPart, APhaseOfKnownValuesRunsOnce) {
  for (int threads : {1, 2}) {
    Compile(Scaled(kKnown), threads);
    ASSERT_EQ(executable_->kernels().size(), 1);
    EXPECT_GE(executable_->kept_bytes(), 2048 * 4) << executable_->kernels()[0].trace;
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
  Compile(Scaled(""));
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

// A kernel of three phases on f32[4]: packs the second input, packs the first one, multiplies both. Each counts.
int g_calls[3];
void PackSecond(void* const* buffers, void*, int64_t, int64_t) {
  ++g_calls[0];
  for (int i = 0; i < 4; ++i) static_cast<float*>(buffers[3])[i] = 2 * static_cast<const float*>(buffers[1])[i];
}
void PackFirst(void* const* buffers, void*, int64_t, int64_t) {
  ++g_calls[1];
  for (int i = 0; i < 4; ++i) static_cast<float*>(buffers[4])[i] = 3 * static_cast<const float*>(buffers[0])[i];
}
void Multiply(void* const* buffers, void*, int64_t, int64_t) {
  ++g_calls[2];
  for (int i = 0; i < 4; ++i) {
    static_cast<float*>(buffers[2])[i] =
        static_cast<const float*>(buffers[3])[i] * static_cast<const float*>(buffers[4])[i];
  }
}

// Two steps with that kernel on the same known second input: the first one's result is the second one's first input.
runtime::Program TwoProducts(bool known, std::vector<runtime::ProgramJob>* jobs) {
  runtime::KernelDescriptor kernel{"product", 2, 1,
                                   {16, 16},  0, {{"a", 1, {1}, {3}}, {"b", 1, {0}, {4}}, {"c", 1, {3, 4}, {2}}}};
  jobs->push_back({std::make_shared<const runtime::KernelCode>(
                       kernel, std::vector<runtime::PhaseFunction>{PackSecond, PackFirst, Multiply}, nullptr),
                   nullptr, nullptr});
  using Kind = runtime::ProgramBuffer::Kind;
  runtime::Program program;
  program.buffers.assign(9, {.kind = Kind::kArena, .bytes = 16});
  program.buffers[0] = {.kind = Kind::kInput, .bytes = 16, .number = 0};
  program.buffers[1] = {.kind = Kind::kInput, .bytes = 16, .number = 1, .known = known};
  program.buffers[2] = {.kind = Kind::kOutput, .bytes = 16, .number = 0};
  program.steps = {{.kind = runtime::Step::Kind::kKernel, .job = 0, .reads = {0, 1}, .writes = {3, 4, 5}},
                   {.kind = runtime::Step::Kind::kKernel, .job = 0, .reads = {3, 1}, .writes = {2, 6, 7}}};
  return program;
}

TEST(TakeOutKnownPart, PackingRunsOnceForEqualKernelsOfEqualWeights) {
  for (bool known : {false, true}) {
    std::vector<runtime::ProgramJob> jobs;
    runtime::Program program = TwoProducts(known, &jobs);
    TakeOutKnownPart(jobs, &program);
    ASSERT_TRUE(PlanArena(&program).ok());
    EXPECT_EQ(program.kept_bytes, known ? 64 : 0);
    std::unique_ptr<runtime::Execution> execution;
    ASSERT_TRUE(runtime::Execution::Create(program, jobs, 1, &execution).ok());
    alignas(64) float x[16] = {1, 2, 3, 4}, w[16] = {5, 6, 7, 8}, y[16];
    const void* inputs[] = {x, w};
    void* outputs[] = {y};
    std::fill(std::begin(g_calls), std::end(g_calls), 0);
    for (int run = 0; run < 5; ++run) {
      x[0] = static_cast<float>(run);
      ASSERT_TRUE(execution->Run(inputs, outputs, {}).ok());
      for (int i = 0; i < 4; ++i) EXPECT_EQ(y[i], x[i] * 36 * w[i] * w[i]);
    }
    EXPECT_EQ(g_calls[0], known ? 1 : 10) << "no packing is stored in the steady state";
    EXPECT_EQ(g_calls[1], 10);
    EXPECT_EQ(g_calls[2], 10);
  }
}

TEST(TakeOutKnownPart, ScratchThatAnotherPhaseWritesIsNotKept) {
  std::vector<runtime::ProgramJob> jobs;
  runtime::Program program = TwoProducts(true, &jobs);
  runtime::KernelDescriptor kernel = jobs[0].code->descriptor();
  const std::vector<runtime::PhaseFunction> functions = {PackSecond, PackFirst, Multiply};
  // The last phase writes the packed weights' place as well; or it is read before they are there.
  for (int fault : {0, 1}) {
    runtime::KernelDescriptor spoilt = kernel;
    if (fault == 0) spoilt.phases[2].writes = {2, 3};
    if (fault == 1) std::swap(spoilt.phases[0], spoilt.phases[2]);
    jobs[0].code = std::make_shared<const runtime::KernelCode>(spoilt, functions, nullptr);
    TakeOutKnownPart(jobs, &program);
    EXPECT_TRUE(program.setup.empty());
  }
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
