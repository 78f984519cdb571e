// Results past the caches: which of a program's are, and that they are right.
#include "targets/cpu/program/streamed_results.h"

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "hlo/evaluator/evaluator.h"
#include "hlo/golden/inputs.h"
#include "hlo/text/parser.h"
#include "kernels/cost/default_schedule.h"
#include "targets/cpu/processor/detect.h"
#include "targets/cpu/program/executable.h"

namespace smelt::cpu {
namespace {

// A processor whose last cache holds so many bytes.
Target Processor(int64_t last_cache) {
  Target target = DetectTarget(/*measure=*/false);
  target.levels[target.levels.size() - 2].bytes = last_cache;
  return target;
}

// w - g of 64 kB each, `more` of it; v = w + g is read again by the program.
std::string Step(const std::string& more) {
  return R"(HloModule step

ENTRY main {
  w = f32[128,128]{1,0} parameter(0)
  g = f32[128,128]{1,0} parameter(1)
  n = f32[128,128]{1,0} subtract(w, g)
  v = f32[128,128]{1,0} add(w, g)
)" + more;
}

class StreamedResultsOfPrograms : public ::testing::Test {
 protected:
  // Compiles it, compares a run with the evaluator, and says which kernels stream.
  std::vector<std::string> Streaming(const std::string& text, const ExecutableOptions& options = {},
                                     int64_t last_cache = 128 << 10) {
    const std::unique_ptr<hlo::Module> module = hlo::ParseModule(text).value();
    const auto executable = Executable::Compile(*module, Processor(last_cache), options);
    EXPECT_TRUE(executable.ok()) << executable.status();
    const std::vector<hlo::Literal> inputs = hlo::MakeInputs(*module).value();
    std::vector<const hlo::Literal*> arguments;
    for (const hlo::Literal& input : inputs) arguments.push_back(&input);
    const hlo::Literal want = hlo::Evaluate(*module, arguments).value();
    const std::vector<hlo::Literal> got = (*executable)->Run(arguments).value();
    for (size_t leaf = 0; leaf < got.size(); ++leaf) {
      const hlo::Literal& expected = want.shape().IsTuple() ? want.elements()[leaf] : want;
      for (int64_t i = 0; i < expected.element_count(); ++i)
        EXPECT_NEAR(got[leaf].GetDouble(i), expected.GetDouble(i), 1e-4) << leaf << " " << i;
    }
    std::vector<std::string> streaming;
    for (const KernelInfo& kernel : (*executable)->kernels()) {
      if (absl::StrContains(kernel.trace, "# past the caches: results 0\n")) streaming.push_back(kernel.name);
    }
    return streaming;
  }
};

using Names = std::vector<std::string>;

TEST_F(StreamedResultsOfPrograms, AreThoseThatTheProgramGivesBackAndDoesNotRead) {
  const std::string program = Step(
      "  u = f32[128,128]{1,0} exponential(v)\n  ROOT t = (f32[128,128]{1,0}, f32[128,128]{1,0}, "
      "f32[128,128]{1,0}) tuple(n, u, v)\n}\n");
  EXPECT_EQ(Streaming(program), (Names{"n", "u"}));
  EXPECT_EQ(Streaming(program, {}, /*last_cache=*/16 << 20), Names());  // which holds all of it
}

TEST_F(StreamedResultsOfPrograms, NothingOfALoopIs) {
  const std::string program = R"(HloModule loop

body {
  s = (s32[], f32[128,128]{1,0}, f32[128,128]{1,0}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[128,128]{1,0} get-tuple-element(s), index=1
  g = f32[128,128]{1,0} get-tuple-element(s), index=2
  one = s32[] constant(1)
  next = s32[] add(i, one)
  y = f32[128,128]{1,0} subtract(x, g)
  ROOT r = (s32[], f32[128,128]{1,0}, f32[128,128]{1,0}) tuple(next, y, g)
}

condition {
  s = (s32[], f32[128,128]{1,0}, f32[128,128]{1,0}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  three = s32[] constant(3)
  ROOT more = pred[] compare(i, three), direction=LT
}

ENTRY main {
  w = f32[128,128]{1,0} parameter(0)
  g = f32[128,128]{1,0} parameter(1)
  zero = s32[] constant(0)
  start = (s32[], f32[128,128]{1,0}, f32[128,128]{1,0}) tuple(zero, w, g)
  end = (s32[], f32[128,128]{1,0}, f32[128,128]{1,0}) while(start), condition=condition, body=body
  ROOT x = f32[128,128]{1,0} get-tuple-element(end), index=1
}
)";
  EXPECT_EQ(Streaming(program), Names());
}

TEST_F(StreamedResultsOfPrograms, OfAKernelAloneItsDistancesSay) {
  const std::string kernel =
      "HloModule k\n\nENTRY main {\n  w = f32[128,128]{1,0} parameter(0)\n  ROOT n = f32[128,128]{1,0} negate(w)\n}\n";
  EXPECT_EQ(Streaming(kernel, {.distances = {0, 128 << 10}}), (Names{"n"}));
  EXPECT_EQ(Streaming(kernel, {.distances = {128 << 10, 0}}), Names());
  EXPECT_EQ(Streaming(kernel), Names());
  const std::unique_ptr<hlo::Module> module = hlo::ParseModule(kernel).value();
  const Target target = Processor(128 << 10);
  const auto far = kernels::cost::DefaultTrace(*module->entry(), {0, 128 << 10}, target).value();
  const auto near = kernels::cost::DefaultTrace(*module->entry(), {}, target).value();
  EXPECT_EQ(far, near + "# past the caches: results 0\n");
  EXPECT_EQ(near, kernels::cost::DefaultSchedule(*module->entry(), target)->ToString());
}

}  // namespace
}  // namespace smelt::cpu
