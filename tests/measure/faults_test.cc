// Real faults in the real measuring child: the tool is started, broken, and must go on.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "fusion/kernel.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hlo/text/parser.h"
#include "measure/runner.h"

namespace smelt::measure {
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
  const Runner::KernelResult result = runner.TimeKernel(SmallKernel());
  EXPECT_TRUE(result.outcome.ok()) << result.outcome.message;
  EXPECT_GE(result.outcome.seconds.size(), 3u);
  EXPECT_GT(result.outcome.best(), 0);
}

// Kills children of this process as they appear, up to a number of them.
class Killer {
 public:
  explicit Killer(int most)
      : thread_([this, most] {
          for (int killed = 0; killed < most && !done_; ::usleep(1000)) {
            for (pid_t child : Children()) {
              ::usleep(100000);  // it may have begun with its work, or not
              killed += ::kill(child, SIGKILL) == 0;
            }
          }
        }) {}
  ~Killer() {
    done_ = true;
    thread_.join();
  }

 private:
  static std::vector<pid_t> Children() {
    std::vector<pid_t> children;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      std::ifstream list(task.path() / "children");
      for (pid_t child; list >> child;) children.push_back(child);
    }
    return children;
  }
  std::atomic<bool> done_{false};
  std::thread thread_;
};

TEST(MeasuringChild, KilledByAnotherItIsStartedAgainAndTheTrialCounts) {
  Runner runner = MakeRunner();
  {
    Killer killer(1);
    const Runner::ProgramResult result = runner.TimeProgram({kModule, {}}, {kModule, {}}, 20000, 0.5, 0);
    EXPECT_TRUE(result.outcome.ok()) << result.outcome.message;
  }
  {
    Runner fresh = MakeRunner();
    Killer killer(1);
    for (const Outcome& outcome : fresh.TimePrograms({{kModule, {}}, {kModule, {}}}, 20000, 0.5))
      EXPECT_TRUE(outcome.ok()) << outcome.message;
  }
  ExpectWorks(runner);
}

TEST(MeasuringChild, KilledAgainAndAgainItIsNoResultOfTheProgram) {
  Runner runner = MakeRunner();
  {
    Killer killer(1000);
    const Runner::ProgramResult result = runner.TimeProgram({kModule, {}}, {kModule, {}}, 20000, 5, 0);
    EXPECT_EQ(result.outcome.failure, Failure::kEnvironment) << result.outcome.message;
    EXPECT_FALSE(IsLasting(result.outcome.failure));
  }
  ExpectWorks(runner);
}

TEST(MeasuringChild, OutputsThatCannotBeWrittenSayNothingOfTheProgram) {
  Runner runner = MakeRunner();
  const absl::Status status = runner.Outputs({kModule, {}}, "/proc/no-folder/outputs").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()),
              ::testing::HasSubstr("/proc/no-folder/outputs: cannot be created: No such file or directory"));
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
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
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
  const Runner::KernelResult result = runner.TimeKernel(SmallKernel());
  EXPECT_EQ(result.outcome.failure, Failure::kEnvironment);
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
}  // namespace smelt::measure
