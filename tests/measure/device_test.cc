// Devices that are no child process.
#include "measure/device.h"

#include "fusion/kernel.h"
#include "gtest/gtest.h"
#include "hlo/text/parser.h"
#include "measure/runner.h"
#include "nlohmann/json.hpp"

namespace smelt::measure {
namespace {

fusion::Kernel SmallKernel() {
  auto module =
      hlo::ParseModule("HloModule m\nENTRY e {\n  x = f32[8] parameter(0)\n  ROOT y = f32[8] exponential(x)\n}");
  EXPECT_TRUE(module.ok()) << module.status();
  return fusion::ExtractKernel(*(*module)->entry()->root()).value();
}

// A device within this process: it says how it is asked, and dies when it is told to.
class Simulator : public Device {
 public:
  explicit Simulator(std::vector<std::string>* asked) : asked_(*asked) {}
  absl::StatusOr<nlohmann::json> Call(const nlohmann::json& request, double) override {
    const std::string what = request.value("do", "");
    asked_.push_back(what);
    if (what == "inject") {
      alive_ = false;
      return absl::AbortedError("the simulator broke");
    }
    return nlohmann::json{{"seconds", {0.5, 0.25, 0.75}}, {"tile", "simulated"}};
  }
  bool alive() const override { return alive_; }

 private:
  std::vector<std::string>& asked_;
  bool alive_ = true;
};

TEST(Device, ASimulatorInThisProcessServesARunnerAndADeadOneIsReplaced) {
  std::vector<std::string> asked;
  int started = 0;
  Runner runner(
      [&](double) {
        ++started;
        return std::make_unique<Simulator>(&asked);
      },
      {});
  const Runner::KernelResult timed = runner.TimeKernel(SmallKernel());
  EXPECT_EQ(timed.outcome.seconds, (std::vector<double>{0.5, 0.25, 0.75}));
  EXPECT_EQ(timed.tile, "simulated");
  EXPECT_EQ(runner.Inject("crash", 1).failure, Failure::kRunCrashed);
  EXPECT_TRUE(runner.TimeKernel(SmallKernel()).outcome.ok());
  EXPECT_EQ(started, 2);
  EXPECT_EQ(asked, (std::vector<std::string>{"time_kernel", "inject", "time_kernel"}));
}

TEST(Device, OneThatCannotBeHadIsAnOutcomeAndNotTheCandidatesFault) {
  Runner runner([](double) { return absl::UnavailableError("the machine is not there"); }, {});
  const Outcome outcome = runner.TimeKernel(SmallKernel()).outcome;
  EXPECT_EQ(outcome.failure, Failure::kEnvironment);
  EXPECT_EQ(outcome.message, "the machine is not there");
}

}  // namespace
}  // namespace smelt::measure
