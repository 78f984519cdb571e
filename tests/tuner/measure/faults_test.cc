// Real faults in the real measuring child: the tool is started, broken, and must go on.
#include <unistd.h>

#include "fusion/kernel.h"
#include "gtest/gtest.h"
#include "hlo/text/parser.h"
#include "tuner/measure/runner.h"

namespace smelt::tuner {
namespace {

constexpr char kModule[] = R"(HloModule small

ENTRY main {
  x = f32[64,64] parameter(0)
  ROOT y = f32[64,64] exponential(x)
}
)";

Runner MakeRunner() {
  WorkerOptions worker;
  worker.program = SMELT_TOOL;
  worker.target = "cpu:threads=1";
  worker.memory_limit_bytes = int64_t{2} << 30;
  return Runner(worker, {.repeats = 3, .seconds = 0.1, .build_timeout = 60, .run_timeout = 30});
}

fusion::Kernel SmallKernel() {
  auto module = hlo::ParseModule(kModule);
  EXPECT_TRUE(module.ok()) << module.status();
  auto kernel = fusion::ExtractKernel(*(*module)->entry()->root());
  EXPECT_TRUE(kernel.ok()) << kernel.status();
  return *std::move(kernel);
}

void ExpectWorks(Runner& runner) {
  const Runner::KernelResult result = runner.TimeKernel(SmallKernel(), std::nullopt);
  EXPECT_TRUE(result.outcome.ok()) << result.outcome.message;
  EXPECT_GE(result.outcome.seconds.size(), 3u);
  EXPECT_GT(result.outcome.best(), 0);
}

TEST(MeasuringChild, ACrashIsAnOutcomeAndTheNextTrialWorks) {
  Runner runner = MakeRunner();
  ExpectWorks(runner);
  const Outcome outcome = runner.Inject("crash", 30);
  EXPECT_EQ(outcome.failure, Failure::kRunCrashed);
  EXPECT_NE(outcome.message.find("signal 6"), std::string::npos) << outcome.message;
  ExpectWorks(runner);
}

TEST(MeasuringChild, ASpinningTrialIsEndedAtItsLimit) {
  Runner runner = MakeRunner();
  ExpectWorks(runner);
  const Outcome outcome = runner.Inject("spin", 1.0);
  EXPECT_EQ(outcome.failure, Failure::kRunTimedOut);
  ExpectWorks(runner);
}

TEST(MeasuringChild, ATrialThatEatsMemoryIsEndedAtItsLimit) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer's allocator does not end at a limit of the process";
#endif
  Runner runner = MakeRunner();
  ExpectWorks(runner);
  const Outcome outcome = runner.Inject("memory", 60);
  EXPECT_EQ(outcome.failure, Failure::kResourceLimit) << outcome.message;
  ExpectWorks(runner);
}

TEST(MeasuringChild, AProgramThatIsNoToolIsAClearFailure) {
  WorkerOptions worker;
  worker.program = "/bin/false";
  Runner runner(worker, {});
  const Runner::KernelResult result = runner.TimeKernel(SmallKernel(), std::nullopt);
  EXPECT_FALSE(result.outcome.ok());
  EXPECT_NE(result.outcome.message.find("/bin/false"), std::string::npos) << result.outcome.message;
}

TEST(MeasuringChild, ACandidateThatDoesNotBuildFailsAloneAndTheOthersAreTimed) {
  Runner runner = MakeRunner();
  const std::vector<Outcome> outcomes =
      runner.TimePrograms({{kModule, {}}, {"HloModule broken\n\nENTRY e {\n", {}}, {kModule, {}}}, 3, 1.0);
  ASSERT_EQ(outcomes.size(), 3u);
  EXPECT_TRUE(outcomes[0].ok()) << outcomes[0].message;
  EXPECT_EQ(outcomes[1].failure, Failure::kBuildFailed);
  EXPECT_TRUE(outcomes[2].ok()) << outcomes[2].message;
}

}  // namespace
}  // namespace smelt::tuner
