// Whole sessions with XLA as the target.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "fusion/incremental_fusion.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hlo/text/printer.h"
#include "measure/verify.h"
#include "targets/cpu/processor/detect.h"
#include "targets/xla/kernel_loop.h"
#include "targets/xla/loop_fusions.h"
#include "targets/xla/own_fusions.h"
#include "targets/xla/predictor.h"
#include "targets/xla/python.h"
#include "targets/xla/start.h"
#include "targets/xla/xla_target.h"
#include "tests/scratch_folder.h"
#include "tuner/session.h"

namespace smelt::tuner {
namespace {

using xla::EmptyKernel;
using xla::FindLibraryKernels;
using xla::FindOwnFusions;
using xla::FindXlaWorker;
using xla::kLibraryFusion;
using xla::kLibraryTile;
using xla::LoadXlaProgram;
using xla::LoopFusionProgram;
using xla::OwnFusions;
using xla::OwnFusionsReport;
using xla::PrepareToTune;
using xla::RoughPredictor;
using xla::TakeLibraryFusions;
using xla::TimeKernelOnXla;
using xla::XlaProgram;
using xla::XlaSpace;
using xla::XlaTrial;

namespace fs = std::filesystem;

constexpr char kModule[] = R"(HloModule blocks

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

ENTRY main {
  x = f32[256,512] parameter(0)
  w = f32[512,512] parameter(1)
  d = f32[256,512] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  e = f32[256,512] exponential(d)
  m = f32[256,512] multiply(e, x)
  n = f32[256,512] maximum(e, d)
  zero = f32[] constant(0)
  r = f32[256] reduce(n, zero), dimensions={1}, to_apply=sum
  s = f32[256,512] broadcast(r), dimensions={0}
  q = f32[256,512] divide(m, s)
  ROOT t = (f32[256,512], f32[256,512]) tuple(q, n)
}
)";

class XlaTune : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* python = std::getenv("SMELT_JAX_PYTHON");
    absl::StatusOr<measure::WorkerOptions> worker = FindXlaWorker({.python = python == nullptr ? "" : python});
    if (!worker.ok()) GTEST_SKIP() << worker.status().message();
    std::ofstream(folder_.In("blocks.hlo")) << kModule;
    worker_ = *worker;
    measure::KeptWorker kept(worker_);
    auto program = LoadXlaProgram(folder_.In("blocks.hlo"), kept, 120);
    ASSERT_TRUE(program.ok()) << program.status();
    program_ = *std::move(program);
    ASSERT_TRUE(FindLibraryKernels(kept, 120, &program_).ok());
    ASSERT_TRUE(FindOwnFusions(kept, 120, &program_).ok());
    options_.folder = folder_.In("run");
    options_.hardware_seconds = 4;
    options_.moves = 2000;
    options_.tiles = false;
    options_.comparison.children = 2;
    options_.policy.seconds = 0.1;
  }
  std::unique_ptr<targets::Target> XlaTarget() {
    return xla::XlaCpu(cpu::ParseTarget("cpu:threads=1").value(), {.find_worker = [this] { return worker_; }});
  }
  // Takes the program, the first time.
  TuneReport Tuned() {
    const std::unique_ptr<gnn::Predictor> predictor = RoughPredictor();
    if (tunable_ == nullptr) {
      target_ = XlaTarget();
      tunable_ = xla::MakeTunable(*target_, std::move(program_)).value();
    }
    measure::Budget budget(120);
    absl::StatusOr<TuneReport> report = Tune(*tunable_, options_, *predictor, budget);
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? *report : TuneReport();
  }

  const ScratchFolder folder_;
  XlaProgram program_;
  std::unique_ptr<targets::Target> target_;
  std::unique_ptr<targets::Tunable> tunable_;
  measure::WorkerOptions worker_;
  TuneOptions options_;
};

TEST(XlaPredictor, AnalyticalIsItsOwnFormulaAsUnderEveryTarget) {
  const std::unique_ptr<targets::Target> target =
      xla::XlaCpu(cpu::ParseTarget("cpu:threads=1").value(), {.find_worker = [] { return measure::WorkerOptions(); }});
  const auto predictor = target->OpenPredictor("analytical");
  ASSERT_TRUE(predictor.ok()) << predictor.status();
  EXPECT_EQ((*predictor)->Describe(), RoughPredictor()->Describe());
}

TEST_F(XlaTune, TheAnswerIsVerifiedAndNeverSlowerThanXlasOwnChoice) {
  const TuneReport report = Tuned();
  EXPECT_TRUE(report.verified) << report.difference << report.unchecked;
  EXPECT_GE(report.measured, 3);
  EXPECT_EQ(report.failed, 0);
  EXPECT_LE(report.best_seconds, report.default_seconds);
  EXPECT_EQ(report.answer == xla::kOwnChoice, !report.improved);
  // A configuration is kept where it is the answer, and only there.
  const bool configuration = report.answer.empty();
  EXPECT_EQ(fs::exists(folder_.path() / "run" / "best.fusion.json"), configuration);
  EXPECT_EQ(fs::exists(folder_.path() / "run" / "fused.hlo"), configuration);
  EXPECT_TRUE(fs::exists(folder_.path() / "run" / "report.txt"));
}

TEST_F(XlaTune, WhatTheEvaluatorCannotJudgeIsComparedWithXlasOwnResult) {
  // Random numbers are XLA's own, and others each time; those of the evaluator are no better.
  std::ofstream(folder_.In("random.hlo")) << R"(HloModule random
ENTRY main {
  x = f32[64,64] parameter(0)
  low = f32[] constant(0)
  high = f32[] constant(1)
  r = f32[64,64] rng(low, high), distribution=rng_uniform
  s = f32[64,64] multiply(x, r)
  ROOT t = f32[64,64] exponential(s)
}
)";
  measure::KeptWorker worker(worker_);
  program_ = LoadXlaProgram(folder_.In("random.hlo"), worker, 120).value();
  options_.hardware_seconds = 1;
  const TuneReport report = Tuned();
  EXPECT_EQ(report.difference, "");
  EXPECT_FALSE(report.verified);
  EXPECT_THAT(report.unchecked, ::testing::HasSubstr("XLA's own result differs"));
}

TEST_F(XlaTune, XlasOwnFusionsAreAConfigurationOfOurs) {
  const fusion::Space space = XlaSpace(program_.program).value();
  OwnFusionsReport report;
  const absl::StatusOr<fusion::Config> own = OwnFusions(space, *program_.fused_by_xla, &report);
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_GT(report.fusions, 0);
  EXPECT_EQ(report.found, report.fusions);
  EXPECT_GT(own->Count(), 0);
}

TEST_F(XlaTune, SingleKernelsAreTimedAndTellOneFromAnother) {
  const fusion::Space space = XlaSpace(program_.program).value();
  measure::Runner runner(worker_, {});
  const fusion::Kernel nothing = EmptyKernel();
  const measure::Outcome empty = TimeKernelOnXla(runner, nothing, {});
  ASSERT_TRUE(empty.ok()) << empty.message;
  EXPECT_LT(empty.best(), 5e-6);
  fusion::IncrementalFusion evaluator(space,
                                      targets::NamedFusion(space, program_.program.flat, "priority", nullptr).value());
  for (const fusion::KernelRef& reference : evaluator.Kernels()) {
    const fusion::Kernel kernel = evaluator.KernelFor(reference);
    const measure::Outcome timed = TimeKernelOnXla(runner, kernel, {}, &nothing);
    ASSERT_TRUE(timed.ok()) << kernel.name << ": " << timed.message;
    EXPECT_GT(timed.best(), empty.best()) << kernel.name;
    ASSERT_EQ(timed.reference_seconds.size(), 2u) << kernel.name;
    EXPECT_LT(std::max(timed.reference_seconds[0], timed.reference_seconds[1]), 5e-6) << kernel.name;
    if (!program_.library_kernels.contains(kernel.hash.ToHex())) continue;
    const measure::Outcome library = TimeKernelOnXla(runner, kernel, {.tiles = {{kernel.hash.ToHex(), kLibraryTile}}});
    EXPECT_TRUE(library.ok()) << kernel.name << ": " << library.message;
  }
}

TEST_F(XlaTune, AContractionOfTheLibraryIsAChoiceOfTheProgram) {
  ASSERT_FALSE(program_.library_kernels.empty());
  const fusion::Space space = XlaSpace(program_.program).value();
  const fusion::Config config = targets::NamedFusion(space, program_.program.flat, "priority", nullptr).value();
  std::map<std::string, std::string> tiles;
  for (const auto& [hash, name] : program_.library_kernels) tiles[hash] = kLibraryTile;
  const std::string with = hlo::ToText(*LoopFusionProgram(space, config, tiles, 1), {});
  const std::string without = hlo::ToText(*LoopFusionProgram(space, config, {}, 1), {});
  EXPECT_NE(with.find(kLibraryFusion), std::string::npos);
  EXPECT_EQ(without.find(kLibraryFusion), std::string::npos);
  auto verifier = measure::Verifier::Create(*program_.program.original, 0, nullptr);
  ASSERT_TRUE(verifier.ok()) << verifier.status();
  measure::Runner runner(worker_, {});
  runner.UseInputs((*verifier)->inputs());
  auto outputs = runner.Outputs(XlaTrial(program_, space, config, tiles, "", 1), folder_.In("outputs.safetensors"));
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ((*verifier)->Compare(*outputs), "");
}

TEST_F(XlaTune, XlasLibraryFusionsStayAsTheyAreWhileTheRestIsFused) {
  EXPECT_GT(program_.library_fusions, 0);
  measure::KeptWorker worker(worker_);
  XlaProgram kept = LoadXlaProgram(folder_.In("blocks.hlo"), worker, 120).value();
  ASSERT_TRUE(TakeLibraryFusions(worker, 120, &kept).ok());
  const fusion::Space space = XlaSpace(kept.program).value();
  auto verifier = measure::Verifier::Create(*kept.program.original, 0, nullptr);
  ASSERT_TRUE(verifier.ok()) << verifier.status();
  measure::Runner runner(worker_, {});
  runner.UseInputs((*verifier)->inputs());
  for (const fusion::Config& config : {OwnFusions(space, *kept.fused_by_xla).value(),
                                       targets::NamedFusion(space, kept.program.flat, "priority", nullptr).value()}) {
    const std::string text = hlo::ToText(*LoopFusionProgram(space, config, {}, 1), {});
    EXPECT_NE(text.find(kLibraryFusion), std::string::npos);
    EXPECT_EQ(text.find("custom-call"), std::string::npos);
    auto outputs = runner.Outputs(XlaTrial(kept, space, config, {}, "", 1), folder_.In("kept.safetensors"));
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_EQ((*verifier)->Compare(*outputs), "");
  }
  fusion::IncrementalFusion evaluator(space, fusion::Config(space.size()));
  for (const fusion::KernelRef& reference : evaluator.Kernels()) {
    const measure::Outcome timed = TimeKernelOnXla(runner, evaluator.KernelFor(reference), {});
    EXPECT_TRUE(timed.ok()) << timed.message;
  }
}

TEST_F(XlaTune, WhatThereIsNoTimeForIsLeftOutAndSaid) {
  std::vector<std::string> notes;
  const std::string path = folder_.In("blocks.hlo");
  const xla::StartOptions start{.folder = options_.folder};
  // Time for XLA's passes once, and for nothing beside.
  const absl::StatusOr<XlaProgram> program =
      PrepareToTune(path, worker_, {}, start, measure::Budget(1000, 500), &notes);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(program->fused_by_xla, nullptr);
  EXPECT_EQ(notes.size(), 2u);
  // No time at all.
  const absl::StatusOr<XlaProgram> none = PrepareToTune(path, worker_, {}, start, measure::Budget(0), &notes);
  EXPECT_TRUE(absl::IsDeadlineExceeded(none.status())) << none.status();
  EXPECT_FALSE(fs::exists(folder_.path() / "run" / "library.txt"));
  const absl::StatusOr<TuneReport> report =
      KeepDefault(path, *XlaTarget()->compilers_own(), options_, measure::Budget(0));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->answer, xla::kOwnChoice);
  EXPECT_TRUE(fs::exists(folder_.path() / "run" / "report.txt"));
}

TEST_F(XlaTune, ASecondRunTakesWhatTheFirstMeasuredFromTheRecords) {
  const TuneReport first = Tuned();
  const TuneReport second = Tuned();
  EXPECT_GE(second.known, 3);
  EXPECT_LE(second.measured, first.measured);
}

}  // namespace
}  // namespace smelt::tuner
