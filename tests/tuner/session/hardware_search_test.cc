// A session without a model searches all that one with a model chooses among.
#include "tuner/hardware_search.h"

#include <atomic>
#include <filesystem>
#include <set>

#include "gtest/gtest.h"
#include "targets/cpu/own_kernels.h"
#include "targets/cpu/processor/detect.h"
#include "targets/tunable.h"
#include "tests/scratch_folder.h"
#include "tuner/session.h"

namespace smelt::tuner {
namespace {

namespace fs = std::filesystem;

// The program for this CPU with one knob and one way of the whole program more, which change nothing. Notes what was
// asked for, and cancels when there was one of each kind.
class Watched : public targets::Tunable {
 public:
  explicit Watched(const targets::Tunable& own) : own_(own) {}

  const targets::Target& target() const override { return own_.target(); }
  const targets::Program& program() const override { return own_.program(); }
  const fusion::Space& space() const override { return own_.space(); }
  const targets::Trial& usual() const override { return own_.usual(); }
  absl::StatusOr<targets::Trial> Named(const std::string& name) const override { return own_.Named(name); }
  measure::Candidate ToCandidate(const targets::Trial& trial) const override {
    targets::Trial plain = trial;
    knobs_seen += static_cast<int>(plain.tiles.erase("knob"));
    whole_programs_seen += static_cast<int>(plain.tiles.erase("all"));
    tiles_seen += static_cast<int>(plain.tiles.size());
    configurations.insert(trial.config.Hash());
    all_seen = knobs_seen > 0 && whole_programs_seen > 0 && tiles_seen > 0 && configurations.size() > 1;
    return own_.ToCandidate(plain);
  }
  std::unique_ptr<hlo::Module> Fused(const targets::Trial& trial) const override { return own_.Fused(trial); }
  const targets::KnobChoices& knobs() const override { return knobs_; }
  std::vector<targets::Knobs> WholeProgram() const override { return {{{"all", "so"}}}; }

  mutable int knobs_seen = 0, whole_programs_seen = 0, tiles_seen = 0;
  mutable std::set<Hash128> configurations;
  mutable std::atomic<bool> all_seen = false;

 private:
  const targets::Tunable& own_;
  const targets::KnobChoices knobs_ = {{"knob", {"one", "other"}}};
};

class HardwareSearchTest : public ::testing::Test {
 protected:
  const ScratchFolder folder_;
};

TEST_F(HardwareSearchTest, TriesFusionsTilesAndKnobs) {
  const cpu::Target processor = *cpu::ParseTarget("cpu:threads=1");
  const std::unique_ptr<targets::Target> target =
      cpu::OwnKernels(processor, {.program = SMELT_TOOL, .cache_folder = folder_.In("cache")});
  const auto own = target->Open((fs::path(SMELT_SOURCE_DIR) / "models/dqn.hlo").string(), "priority");
  ASSERT_TRUE(own.ok()) << own.status();
  const Watched watched(**own);
  TuneOptions options;
  options.folder = folder_.In("run");
  options.policy = {.repeats = 1, .seconds = 0.01};
  options.cancel = &watched.all_seen;
  const auto predictor = gnn::Predictor::Analytical(processor);
  measure::Budget budget(60);
  SessionState state(watched, options, *predictor, budget);
  ASSERT_TRUE(state.trials.Open(options.folder).ok());
  ASSERT_TRUE(state.trials.PrepareVerifier(5).ok());
  state.BeginSearch([] { return 60.0; });
  const absl::Status status = SearchHardware(state, {watched.usual().config, {}, 0, ""});
  EXPECT_TRUE(status.ok() || absl::IsCancelled(status)) << status;
  EXPECT_GT(watched.knobs_seen, 0);
  EXPECT_GT(watched.whole_programs_seen, 0);
  EXPECT_GT(watched.tiles_seen, 0);
  EXPECT_GT(watched.configurations.size(), 1u);
  EXPECT_GT(state.report.moves, 0);
}

}  // namespace
}  // namespace smelt::tuner
