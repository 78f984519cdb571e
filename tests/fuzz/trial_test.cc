#include "fuzz/trial/trial.h"

#include <unistd.h>

#include <cmath>
#include <csignal>

#include "fuzz/campaign.h"
#include "fuzz/trial/child.h"
#include "fuzz/trial/stability.h"
#include "gtest/gtest.h"
#include "hlo/evaluator/evaluator.h"
#include "hlo/text/parser.h"
#include "targets/cpu/processor/detect.h"
#include "tests/scratch_folder.h"

namespace smelt::fuzz {
namespace {

std::unique_ptr<hlo::Module> Parse(const std::string& entry) {
  return hlo::ParseModule("HloModule m\nENTRY e {\n" + entry + "\n}").value();
}

TrialOptions Options() {
  TrialOptions options;
  options.seed = 1;
  options.target = cpu::DetectTarget(/*measure=*/false);
  return options;
}

TEST(Child, TellsHowWorkEnded) {
  const ChildLimits limits{.seconds = 1, .bytes = int64_t{1} << 30};
  using Kind = ChildOutcome::Kind;
  const auto run = [&](const std::function<void(Report&)>& work) { return RunInChild(work, limits).value(); };
  const ChildOutcome fine = run([](Report& report) {
    report.Stage("one");
    report.Stage("two");
    report.Finish(std::string(200000, 'x'));
  });
  EXPECT_EQ(fine.kind, Kind::kFinished);
  EXPECT_EQ(fine.stage, "two");
  EXPECT_EQ(fine.text.size(), 200000u);
  const ChildOutcome crash = run([](Report& report) {
    report.Stage("compile, configuration 3");
    ::raise(SIGSEGV);
  });
  EXPECT_EQ(crash.kind, Kind::kCrashed);
  const Verdict verdict = VerdictOf(crash);
  EXPECT_EQ(verdict.kind, VerdictKind::kCrash);
  EXPECT_EQ(verdict.stage, "compile");
  EXPECT_EQ(verdict.config, 3);
  const auto spin = [](Report&) {
    for (volatile int64_t turns = 0;;) turns = turns + 1;
  };
  const auto wait = [](Report&) {
    for (;;) ::usleep(1000);
  };
  EXPECT_EQ(run(spin).kind, Kind::kTimedOut);
  EXPECT_EQ(RunInChild(wait, {.seconds = 0.1}).value().kind, Kind::kTimedOut);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const auto fill = [](Report&) {
    std::vector<std::string> memory;
    for (;;) memory.emplace_back(size_t{1} << 24, 'x');
  };
  EXPECT_EQ(RunInChild(fill, {.seconds = 60, .bytes = int64_t{1} << 28}).value().kind, Kind::kOutOfMemory);
#endif
}

TEST(Stability, ExactResultsMustBeEqual) {
  const auto module = Parse(R"(
  x = f32[4] parameter(0)
  y = s32[4] parameter(1)
  m = f32[4] maximum(x, x)
  r = f32[4] reverse(m), dimensions={0}
  s = s32[4] multiply(y, y)
  e = bf16[4] convert(x)
  t = f32[4] tanh(x)
  u = f32[4] negate(t)
  v = f64[4] convert(x)
  w = f64[4] sine(v)
  ROOT all = (f32[4], s32[4], bf16[4], f32[4], f64[4]) tuple(r, s, e, u, w))");
  const std::vector<double> tolerances = LeafTolerances(*module);
  EXPECT_EQ(tolerances[0], 0);
  EXPECT_EQ(tolerances[1], 0);
  EXPECT_EQ(tolerances[2], 0);
  EXPECT_GT(tolerances[3], 0);
  EXPECT_LT(tolerances[4], tolerances[3]);
}

TEST(Stability, PerturbationShowsWhatRoundingDecides) {
  // The sign of a difference that is nothing but rounding.
  const auto module = Parse(R"(
  x = f32[64] parameter(0)
  a = f32[64] sine(x)
  b = f32[64] add(a, a)
  h = f32[] constant(0.5)
  hs = f32[64] broadcast(h), dimensions={}
  c = f32[64] multiply(b, hs)
  d = f32[64] subtract(c, a)
  ROOT s = f32[64] sign(d))");
  hlo::Literal x(hlo::Shape::Array(hlo::PrimitiveType::kF32, {64}));
  for (int i = 0; i < 64; ++i) x.SetDouble(i, 0.1 + i);
  const hlo::Literal want = hlo::Evaluate(*module, {&x}).value();
  const hlo::Literal moved = hlo::Evaluate(*Perturbed(*module, 1), {&x}).value();
  EXPECT_GT(LeafError(want, moved), 0.5);
}

TEST(Stability, PaddingMayMeetAnInfiniteWeightOrNot) {
  const auto module = Parse(R"(
  x = f32[1,5,4,1] parameter(0)
  k = f32[3,3,1,1] parameter(1)
  ROOT c = f32[1,9,5,1] convolution(x, k), window={size=3x3 pad=1_1x2_1 lhs_dilate=2x1}, dim_labels=b01f_01io->b01f)");
  hlo::Literal x(hlo::Shape::Array(hlo::PrimitiveType::kF32, {1, 5, 4, 1}));
  hlo::Literal kernel(hlo::Shape::Array(hlo::PrimitiveType::kF32, {3, 3, 1, 1}));
  for (int i = 0; i < 20; ++i) x.SetDouble(i, 1.0 + i);
  for (int i = 0; i < 9; ++i) kernel.SetDouble(i, 1.0 + i);
  const auto moved_by = [&] {
    const hlo::Literal want = hlo::Evaluate(*module, {&x, &kernel}).value();
    return LeafError(want, hlo::Evaluate(*Perturbed(*module, 1), {&x, &kernel}).value());
  };
  EXPECT_LT(moved_by(), 1e-5);
  kernel.SetDouble(4, HUGE_VAL);
  EXPECT_EQ(moved_by(), HUGE_VAL);
}

TEST(Stability, AVarianceOfEqualValuesMayNotBeZero) {
  const auto module = Parse(R"(
  x = f32[4,1] parameter(0)
  s = f32[1] parameter(1)
  n = (f32[4,1], f32[1], f32[1]) batch-norm-training(x, s, s), epsilon=0.125, feature_index=1
  v = f32[1] get-tuple-element(n), index=2
  ROOT p = f32[1] multiply(v, s))");
  hlo::Literal x(hlo::Shape::Array(hlo::PrimitiveType::kF32, {4, 1}));
  hlo::Literal s(hlo::Shape::Array(hlo::PrimitiveType::kF32, {1}));
  for (int i = 0; i < 4; ++i) x.SetDouble(i, -0.8);
  s.SetDouble(0, HUGE_VAL);  // times nothing is a NaN, times very little an infinity
  const hlo::Literal want = hlo::Evaluate(*module, {&x, &s}).value();
  EXPECT_EQ(LeafError(want, hlo::Evaluate(*Perturbed(*module, 1), {&x, &s}).value()), HUGE_VAL);
}

TEST(Trial, AgreesOnAnOrdinaryProgram) {
  const auto module = Parse(R"(
  x = f32[5,7] parameter(0)
  y = f32[7,3] parameter(1)
  d = f32[5,3] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT t = f32[5,3] tanh(d))");
  const Verdict verdict = TryModule(*module, Options());
  EXPECT_EQ(verdict.kind, VerdictKind::kAgrees) << verdict.detail;
}

TEST(Trial, FindsAPlantedWrongResult) {
  const auto module = Parse(R"(
  x = f32[5,7] parameter(0)
  e = f32[5,7] tanh(x)
  ROOT n = f32[5,7] negate(e))");
  TrialOptions options = Options();
  options.compare = [](const hlo::Literal& want, const hlo::Literal& got) {
    hlo::Literal wrong = got;
    wrong.SetDouble(3, got.GetDouble(3) + 0.5);
    return LeafError(want, wrong);
  };
  const Verdict verdict = TryModule(*module, options);
  EXPECT_EQ(verdict.kind, VerdictKind::kMismatch);
  EXPECT_EQ(verdict.config, 0);
  EXPECT_NE(verdict.detail.find("evaluated after fusion"), std::string::npos) << verdict.detail;
}

TEST(Trial, RefusesToJudgeWhatTheEvaluatorDoesNotRun) {
  const auto module = Parse(R"(
  x = f32[4] parameter(0)
  ROOT c = f32[4] custom-call(x), custom_call_target="unheard_of")");
  EXPECT_EQ(TryModule(*module, Options()).kind, VerdictKind::kRefused);
}

CampaignOptions Campaign(int64_t modules) {
  CampaignOptions options;
  options.seed = 4;
  options.modules = modules;
  options.trial = Options();
  return options;
}

// A planted error, found among random modules and reduced to next to nothing.
TEST(Campaign, MinimisesWhatItFindsIntoAFolder) {
  const ScratchFolder folder;
  CampaignOptions options = Campaign(6);
  options.trial.configs = 1;
  options.folder = folder.In("findings");
  options.max_findings = 1;
  options.trial.compare = [](const hlo::Literal& want, const hlo::Literal& got) {
    return want.element_count() > 0 ? 1e3 : LeafError(want, got);
  };
  const CampaignReport report = RunCampaign(options).value();
  ASSERT_EQ(report.findings.size(), 1u);
  const CampaignFinding& finding = report.findings[0];
  EXPECT_EQ(finding.verdict.kind, VerdictKind::kMismatch);
  EXPECT_LE(finding.instructions, 3);
  for (const char* file : {"module.hlo", "reduced.hlo", "config.fusion.json", "inputs.safetensors", "finding.txt"}) {
    EXPECT_EQ(::access((finding.folder + "/" + file).c_str(), R_OK), 0) << file;
  }
}

TEST(Campaign, StopsWhenTimeIsUpAndWhenAskedTo) {
  CampaignOptions options = Campaign(1000000);
  options.trial.configs = 1;
  options.seconds = 0.3;
  const CampaignReport report = RunCampaign(options).value();
  EXPECT_LT(report.modules, 1000000);
  EXPECT_FALSE(report.interrupted);
  const std::atomic<bool> cancel{true};
  options.cancel = &cancel;
  EXPECT_TRUE(RunCampaign(options).value().interrupted);
}

}  // namespace
}  // namespace smelt::fuzz
