// Measurements of a run folder, with a real child, and what becomes of them when time is over or the folder is opened
// again.
#include "tuner/trials.h"

#include <chrono>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "fusion/apply.h"
#include "fusion/rules.h"
#include "gtest/gtest.h"
#include "hlo/text/parser.h"
#include "targets/cpu/own_kernels.h"
#include "targets/cpu/processor/detect.h"
#include "tests/scratch_folder.h"
#include "tuner/tile_search.h"

namespace smelt::tuner {
namespace {

namespace fs = std::filesystem;

constexpr char kConvolution[] = R"(HloModule lone

ENTRY main {
  x = f32[1,28,28,32] parameter(0)
  w = f32[3,3,32,32] parameter(1)
  ROOT c = f32[1,28,28,32] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
}
)";

class TrialsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto module = hlo::ParseModule(kConvolution, {.file_name = "lone.hlo"});
    ASSERT_TRUE(module.ok()) << module.status();
    target_ = cpu::OwnKernels(cpu::ParseTarget("cpu:threads=1").value(), {.program = SMELT_TOOL});
    auto tunable = target_->Take(*std::move(module), "priority");
    ASSERT_TRUE(tunable.ok()) << tunable.status();
    tunable_ = *std::move(tunable);
  }

  std::unique_ptr<Trials> Open() {
    TrialOptions options;
    options.policy = {.repeats = 3, .seconds = 0.2};
    auto trials = std::make_unique<Trials>(*tunable_, options);
    EXPECT_TRUE(trials->Open(folder_).ok());
    return trials;
  }
  static measure::Outcome Sleep(Trials& trials, double seconds) {
    trials.runner().Inject("spin", seconds);  // the child is killed after that
    measure::Outcome outcome;
    outcome.seconds = {seconds};
    return outcome;
  }

  const ScratchFolder scratch_;
  const std::string folder_ = scratch_.In("run");  // made where it is opened
  std::unique_ptr<targets::Target> target_;
  std::unique_ptr<targets::Tunable> tunable_;
};

TEST_F(TrialsTest, WhatIsKnownIsNotMeasuredAgainAndItsSecondsCountOnce) {
  {
    const std::unique_ptr<Trials> trials = Open();
    ASSERT_TRUE(trials->MeasureKernel("k", "a tile", [&] { return Sleep(*trials, 0.2); }).ok());
    EXPECT_GE(trials->hardware_seconds(), 0.2);
    EXPECT_EQ(trials->known_seconds(), 0);
  }
  const std::unique_ptr<Trials> trials = Open();
  for (int i = 0; i < 2; ++i) {
    const absl::StatusOr<measure::Outcome> known = trials->MeasureKernel("k", "a tile", [] {
      ADD_FAILURE() << "measured again";
      return measure::Outcome();
    });
    ASSERT_TRUE(known.ok()) << known.status();
    EXPECT_EQ(known->best(), 0.2);
  }
  EXPECT_GE(trials->known_seconds(), 0.2);
  EXPECT_EQ(trials->hardware_seconds(), trials->known_seconds());
  // What this run measures is no part of what it knew.
  ASSERT_TRUE(trials->MeasureKernel("other", "a tile", [&] { return Sleep(*trials, 0.1); }).ok());
  const double before = trials->known_seconds();
  ASSERT_TRUE(trials->MeasureKernel("other", "a tile", [] { return measure::Outcome(); }).ok());
  EXPECT_EQ(trials->known_seconds(), before);
}

TEST_F(TrialsTest, WhatTheEndOfTimeCutsShortIsNoResult) {
  const std::unique_ptr<Trials> trials = Open();
  const auto now = std::chrono::steady_clock::now();
  trials->runner().SetDeadline(now + std::chrono::milliseconds(200));
  const absl::StatusOr<measure::Outcome> cut =
      trials->MeasureKernel("k", "a tile", [&] { return Sleep(*trials, 600); });
  EXPECT_TRUE(absl::IsDeadlineExceeded(cut.status())) << cut.status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(trials->Measure(trials->usual()).status()));
  EXPECT_EQ(trials->measured(), 0);
  // With time again, it is measured.
  trials->runner().SetDeadline(now + std::chrono::hours(1));
  const absl::StatusOr<measure::Outcome> outcome =
      trials->MeasureKernel("k", "a tile", [&] { return Sleep(*trials, 0.1); });
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->best(), 0.1);
}

// Timed in turn with itself it is the faster one every other time.
TEST_F(TrialsTest, TheDefaultIsNoRivalOfItself) {
  for (int run = 0; run < 6; ++run) {
    fs::remove_all(folder_);
    const std::unique_ptr<Trials> trials = Open();
    const absl::StatusOr<TrialResult> usual = trials->Measure(trials->usual());
    ASSERT_TRUE(usual.ok()) << usual.status();
    ASSERT_TRUE(usual->outcome.ok()) << usual->outcome.message;
    EXPECT_EQ(trials->best_outcome(), nullptr);
    EXPECT_EQ(trials->best_relative(), 1);
  }
}

TEST_F(TrialsTest, TilesAreTriedAsLongAsThereIsTime) {
  const std::unique_ptr<Trials> trials = Open();
  ASSERT_TRUE(trials->PrepareVerifier(60).ok());
  const absl::StatusOr<TrialResult> usual = trials->Measure(trials->usual());
  ASSERT_TRUE(usual.ok()) << usual.status();
  TileSearchOptions options;
  options.machine = target_->machine();
  int turns = 0, tiles = 0;
  options.proceed = [&](const std::string& line) {
    tiles += line.find(" of c") != std::string::npos && line.starts_with("tile ");
    return ++turns <= 20;
  };
  const auto predictor = gnn::Predictor::Analytical(options.machine);
  const auto choices = SearchTiles(*trials, tunable_->space(), trials->usual(), usual->kernels, *predictor, options);
  ASSERT_TRUE(choices.ok()) << choices.status();
  EXPECT_EQ(turns, 21);  // the kernel has more tiles than these, and all turns were used
  EXPECT_LE(choices->size(), 1u);
}

TEST_F(TrialsTest, OtherAlgorithmsOfAConvolutionAreTriedFirst) {
  const std::unique_ptr<Trials> trials = Open();
  ASSERT_TRUE(trials->PrepareVerifier(60).ok());
  const absl::StatusOr<TrialResult> usual = trials->Measure(trials->usual());
  ASSERT_TRUE(usual.ok()) << usual.status();
  ASSERT_EQ(usual->kernels.size(), 1u);
  TileSearchOptions options;
  options.machine = target_->machine();
  int turns = 0;
  options.proceed = [&](const std::string&) { return ++turns <= 4; };  // the kernel, its default, and two tiles
  const auto predictor = gnn::Predictor::Analytical(options.machine);
  ASSERT_TRUE(
      SearchTiles(*trials, tunable_->space(), trials->usual(), usual->kernels, *predictor, options).status().ok());
  for (const char* way : {"winograd2", "winograd4"}) {
    const auto known = trials->MeasureKernel(absl::StrCat(usual->kernels[0].hash, " ", way), way, [&] {
      ADD_FAILURE() << way << " was not tried";
      return measure::Outcome();
    });
    ASSERT_TRUE(known.ok()) << known.status();
    EXPECT_TRUE(known->ok()) << known->message;
  }
}

TEST_F(TrialsTest, AnAlgorithmDeclaresItsErrorAndIsNeverReplacedByAnother) {
  const std::unique_ptr<Trials> trials = Open();
  ASSERT_TRUE(trials->PrepareVerifier(60).ok());
  const absl::StatusOr<TrialResult> usual = trials->Measure(trials->usual());
  ASSERT_TRUE(usual.ok()) << usual.status();
  ASSERT_EQ(usual->kernels.size(), 1u);
  EXPECT_EQ(tunable_->ErrorFactor(trials->usual()), 1);
  Trial trial = trials->usual();
  trial.tiles[usual->kernels[0].hash] = "winograd4";
  EXPECT_EQ(tunable_->ErrorFactor(trial), 4);
  const absl::StatusOr<Trials::Check> check = trials->Verify(trial);
  ASSERT_TRUE(check.ok()) << check.status();
  EXPECT_EQ(check->verdict, Trials::Verdict::kRight) << check->difference;
  // There are fewer rows of tiles than that.
  trial.tiles[usual->kernels[0].hash] = "winograd4:1x100x1x32";
  const absl::StatusOr<TrialResult> impossible = trials->Measure(trial);
  ASSERT_TRUE(impossible.ok()) << impossible.status();
  EXPECT_FALSE(impossible->outcome.ok());
  EXPECT_NE(impossible->outcome.message.find("winograd4:1x100x1x32"), std::string::npos) << impossible->outcome.message;
}

}  // namespace
}  // namespace smelt::tuner
