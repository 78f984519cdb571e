// The measuring child for real: what it measures, and what becomes of a trial that breaks it.
#include "measure/runner.h"

#include <signal.h>

#include <chrono>
#include <filesystem>

#include "fusion/kernel.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hlo/text/parser.h"
#include "hlo/verifier/verifier.h"
#include "measure/kernel_program.h"
#include "tests/scratch_folder.h"

namespace smelt::measure {
namespace {

using ::testing::Each;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using Clock = std::chrono::steady_clock;

constexpr char kProgram[] = R"(HloModule program

fused {
  x = f32[128,64] parameter(0)
  y = f32[128,64] parameter(1)
  sum = f32[128,64] add(x, y)
  ROOT result = f32[128,64] tanh(sum)
}

ENTRY main {
  a = f32[128,64] parameter(0)
  b = f32[128,64] parameter(1)
  f = f32[128,64] fusion(a, b), kind=kLoop, calls=fused
  ROOT g = f32[128,64] exponential(f)
}
)";

Runner MakeRunner(int64_t memory = int64_t{4} << 30) {
  return Runner({.program = SMELT_TOOL, .target = "cpu:threads=1", .memory_limit_bytes = memory},
                {.repeats = 3, .seconds = 0.2});
}

fusion::Kernel FusedKernel() {
  auto module = hlo::ParseModule(kProgram);
  EXPECT_TRUE(module.ok()) << module.status();
  return fusion::ExtractKernel(*(*module)->entry()->root()->operand(0)).value();
}

TEST(Runner, TimesAKernelOfSeveralInstructionsAsOne) {
  const std::unique_ptr<hlo::Module> program = ProgramOfKernel(FusedKernel());
  ASSERT_TRUE(hlo::VerifyModule(*program).ok()) << hlo::VerifyModule(*program);
  auto kernels = fusion::ExtractKernels(*program);
  ASSERT_TRUE(kernels.ok()) << kernels.status();
  ASSERT_THAT(*kernels, SizeIs(1));
  EXPECT_EQ((*kernels)[0].hash, FusedKernel().hash);
}

TEST(Runner, TimesAKernelAndSaysHowItWasScheduled) {
  Runner runner = MakeRunner();
  const Runner::KernelResult result = runner.TimeKernel(FusedKernel());
  ASSERT_TRUE(result.outcome.ok()) << result.outcome.message;
  EXPECT_GE(result.outcome.seconds.size(), 3u);
  EXPECT_THAT(result.outcome.seconds, Each(Gt(0.0)));
  EXPECT_FALSE(result.tile.empty());
  EXPECT_FALSE(result.trace.empty());
  EXPECT_FALSE(result.opaque);
  EXPECT_GT(runner.hardware_seconds(), 0);
}

TEST(Runner, AReferenceKernelIsTimedBeforeAndAfter) {
  Runner runner = MakeRunner();
  const fusion::Kernel kernel = FusedKernel();
  for (int i = 0; i < 2; ++i) {
    const Outcome outcome = runner.TimeKernel(kernel, "2x32", &kernel).outcome;
    ASSERT_TRUE(outcome.ok()) << outcome.message;
    EXPECT_THAT(outcome.reference_seconds, SizeIs(2));
    EXPECT_THAT(outcome.reference_seconds, Each(Gt(0.0)));
  }
  EXPECT_THAT(runner.TimeKernel(kernel).outcome.reference_seconds, SizeIs(0));
}

TEST(Runner, AWayThatDoesNotFitTheKernelFailsToBuild) {
  Runner runner = MakeRunner();
  const Runner::KernelResult usual = runner.TimeKernel(FusedKernel());
  const Runner::KernelResult other = runner.TimeKernel(FusedKernel(), "2x32");
  ASSERT_TRUE(other.outcome.ok()) << other.outcome.message;
  EXPECT_EQ(other.tile, "2x32");
  EXPECT_NE(other.tile, usual.tile);
  const Outcome misfit = runner.TimeKernel(FusedKernel(), "2x2x2x2").outcome;
  EXPECT_EQ(misfit.failure, Failure::kBuildFailed);
  EXPECT_THAT(misfit.message, HasSubstr("2x2x2x2"));
  const Outcome nonsense = runner.TimeKernel(FusedKernel(), "large").outcome;
  EXPECT_EQ(nonsense.failure, Failure::kBuildFailed);
  EXPECT_THAT(nonsense.message, HasSubstr("expected positive integers"));
  EXPECT_EQ(runner.CompileKernel(FusedKernel(), "2x2x2x2").failure, Failure::kBuildFailed);
}

TEST(Runner, TimesAProgramInTurnWithItsReferenceAndKernelByKernel) {
  Runner runner = MakeRunner();
  const Candidate program{kProgram, {}};
  const Runner::ProgramResult result = runner.TimeProgram(program, program, 4, 0.2, /*kernel_rounds=*/2);
  ASSERT_TRUE(result.outcome.ok()) << result.outcome.message;
  EXPECT_EQ(result.outcome.seconds.size(), result.outcome.reference_seconds.size());
  EXPECT_GE(result.outcome.seconds.size(), 3u);
  ASSERT_THAT(result.kernels, SizeIs(2));
  for (const Runner::KernelTime& kernel : result.kernels) EXPECT_GT(kernel.seconds, 0) << kernel.name;
}

TEST(Runner, ReturnsWhatAProgramComputes) {
  Runner runner = MakeRunner();
  const ScratchFolder folder;
  const std::string scratch = folder.In("outputs");
  auto outputs = runner.Outputs({kProgram, {}}, scratch);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  ASSERT_THAT(*outputs, SizeIs(1));
  EXPECT_EQ((*outputs)[0].shape().dimensions, (std::vector<int64_t>{128, 64}));
  EXPECT_FALSE(std::filesystem::exists(scratch));
}

TEST(Runner, TellsWhatAProgramConsistsOfAndTheTimesOfItsKernels) {
  Runner runner = MakeRunner();
  const Candidate program{kProgram, {}};
  ASSERT_TRUE(runner.TimePrograms({program}, 3, 0.1)[0].ok());
  const Runner::ProgramResult facts = runner.TimeKernelsOf(program, 0);
  ASSERT_TRUE(facts.outcome.ok()) << facts.outcome.message;
  EXPECT_GE(facts.arena_bytes, 128 * 64 * 4);  // the array between its two kernels
  EXPECT_LT(facts.arena_bytes, 2 * 128 * 64 * 4);
  ASSERT_THAT(facts.kernels, SizeIs(2));
  for (const Runner::KernelTime& kernel : facts.kernels) EXPECT_EQ(kernel.seconds, 0) << kernel.name;
  EXPECT_EQ(facts.kernels[0].bytes, 3 * 128 * 64 * 4);
  EXPECT_EQ(facts.kernels[1].bytes, 2 * 128 * 64 * 4);
  EXPECT_GE(facts.kernels[0].flops, 128 * 64);
  const Runner::ProgramResult timed = runner.TimeKernelsOf(program, 5);
  ASSERT_TRUE(timed.outcome.ok()) << timed.outcome.message;
  for (const Runner::KernelTime& kernel : timed.kernels) {
    EXPECT_EQ(kernel.executions, 1);
    EXPECT_GT(kernel.seconds, 0);
    EXPECT_GE(kernel.median_seconds, kernel.seconds);  // once a run: the least of five runs, and their median
  }
}

TEST(Runner, ACandidateThatDoesNotCompileFailsAlone) {
  Runner runner = MakeRunner();
  const std::vector<Outcome> outcomes =
      runner.TimePrograms({{kProgram, {}}, {"HloModule broken\nENTRY {", {}}, {kProgram, {}}}, 3, 0.2);
  ASSERT_THAT(outcomes, SizeIs(3));
  EXPECT_TRUE(outcomes[0].ok()) << outcomes[0].message;
  EXPECT_EQ(outcomes[1].failure, Failure::kBuildFailed);
  EXPECT_THAT(outcomes[1].message, HasSubstr("candidate"));
  EXPECT_TRUE(outcomes[2].ok()) << outcomes[2].message;
}

// Each fault breaks a real child; the next trial works in a new one.
TEST(Runner, ACrashIsAnOutcomeAndTheSessionGoesOn) {
  Runner runner = MakeRunner();
  const Outcome crashed = runner.Inject("crash", 30);
  EXPECT_EQ(crashed.failure, Failure::kRunCrashed);
  EXPECT_THAT(crashed.message, HasSubstr("signal 6"));
  EXPECT_TRUE(runner.TimeKernel(FusedKernel()).outcome.ok());
}

TEST(Runner, ASpinningChildDiesWithinASecondOfItsLimit) {
  Runner runner = MakeRunner();
  ASSERT_TRUE(runner.TimeKernel(FusedKernel()).outcome.ok());
  const auto start = Clock::now();
  const Outcome spun = runner.Inject("spin", 0.5);
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  EXPECT_EQ(spun.failure, Failure::kRunTimedOut);
  EXPECT_LT(seconds, 1.5);
  EXPECT_TRUE(runner.TimeKernel(FusedKernel()).outcome.ok());
}

TEST(Runner, AChildThatEatsMemoryReachesItsLimitAndNotTheMachines) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a child under the sanitizer has no limit of memory";
#endif
  Runner runner = MakeRunner(int64_t{1} << 30);
  const Outcome ate = runner.Inject("memory", 60);
  EXPECT_EQ(ate.failure, Failure::kResourceLimit);
  EXPECT_THAT(ate.message, HasSubstr("memory limit"));
  EXPECT_TRUE(runner.TimeKernel(FusedKernel()).outcome.ok());
}

TEST(Runner, AMissingToolIsAnOutcomeThatNamesIt) {
  Runner runner({.program = "no-such-tool"}, {});
  const Outcome outcome = runner.TimeKernel(FusedKernel()).outcome;
  EXPECT_FALSE(outcome.ok());
  EXPECT_THAT(outcome.message, HasSubstr("no-such-tool"));
}

TEST(WorkerProcess, LeavesNoOrphanWhenItsOwnerEnds) {
  pid_t pid = 0;
  {
    auto worker = WorkerProcess::Start({.program = SMELT_TOOL});
    ASSERT_TRUE(worker.ok()) << worker.status();
    pid = (*worker)->pid();
    EXPECT_EQ(::kill(pid, 0), 0);
  }
  EXPECT_NE(::kill(pid, 0), 0);
}

TEST(WorkerProcess, WithoutACacheFolderKeepsNoCache) {
  const std::filesystem::path before = std::filesystem::current_path();
  const ScratchFolder empty;
  std::filesystem::current_path(empty.path());
  {
    Runner runner({.program = SMELT_TOOL}, {});
    const Outcome outcome = runner.TimeKernel(FusedKernel()).outcome;
    EXPECT_TRUE(outcome.ok()) << outcome.message;
  }
  EXPECT_TRUE(std::filesystem::is_empty(empty.path()));
  std::filesystem::current_path(before);
}

TEST(KeptWorker, AnswersUntilItEndsAndThenAnotherDoes) {
  KeptWorker worker({.program = SMELT_TOOL});
  const auto pid = [&] { return worker.Ask({{"do", "hello"}}, 60).value()["pid"].get<int>(); };
  const int first = pid();
  EXPECT_EQ(pid(), first);
  EXPECT_EQ(::kill(first, SIGKILL), 0);
  EXPECT_NE(pid(), first);
}

TEST(AskNewWorker, ItsTimeHoldsForTheStartOfTheChildAsWell) {
  WorkerOptions sleeper;
  sleeper.command = {"/bin/sh", "-c", "exec sleep 600"};
  const auto begin = Clock::now();
  const absl::Status asked = AskNewWorker(sleeper, {{"do", "hello"}}, 0.3).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(asked)) << asked;
  EXPECT_LT(std::chrono::duration<double>(Clock::now() - begin).count(), sleeper.start_seconds / 2);
}

TEST(AskNewWorker, AChildThatIsSlowToStartIsOutOfTimeForTheRunnerToo) {
  WorkerOptions sleeper;
  sleeper.command = {"/bin/sh", "-c", "exec sleep 600"};
  Runner runner(sleeper, {});
  runner.SetDeadline(Clock::now() + std::chrono::milliseconds(300));
  EXPECT_FALSE(runner.Inject("spin", 600).ok());
  EXPECT_TRUE(runner.out_of_time());
}

}  // namespace
}  // namespace smelt::measure
