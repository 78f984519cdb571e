// The verbs under a target that is one file: nothing else knows of it.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/patience.h"
#include "tests/scratch_folder.h"

namespace smelt {
namespace {

namespace fs = std::filesystem;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr char kModule[] = R"(HloModule small

ENTRY main {
  x = f32[8,16] parameter(0)
  w = f32[16,4] parameter(1)
  d = f32[8,4] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  e = f32[8,4] exponential(d)
  n = f32[8,4] negate(e)
  ROOT t = (f32[8,4], f32[8,4]) tuple(e, n)
}
)";

class ExampleTarget : public ::testing::Test {
 protected:
  void SetUp() override { std::ofstream(In("small.hlo")) << kModule; }

  std::string In(const char* name) const { return folder_.In(name); }
  // Both outputs of the tool; its exit status is 0.
  std::string Output(const std::vector<std::string>& words) {
    const std::string command = absl::StrCat("SMELT_CACHE=", In("cache"), " ", SMELT_WITH_EXAMPLE, " ",
                                             absl::StrJoin(words, " "), " > ", In("output"), " 2>&1");
    const int status = std::system(command.c_str());
    std::ifstream file(In("output"));
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(status, 0) << command << "\n" << text;
    return text;
  }

  const ScratchFolder folder_;
};

TEST_F(ExampleTarget, RunsAndIsCompared) {
  EXPECT_THAT(Output({"run", In("small.hlo"), "--target=evaluator", "--check"}), HasSubstr("out.1 error=0 "));
}

// The target is our own kernels, through the same code of the verb.
TEST_F(ExampleTarget, AProgramWhoseResultIsATokenRuns) {
  std::ofstream(In("token.hlo")) << "HloModule m\n\nENTRY main {\n  ROOT t = token[] after-all()\n}\n";
  EXPECT_EQ(Output({"run", In("token.hlo"), "--check"}), "");
}

TEST_F(ExampleTarget, IsTimed) {
  EXPECT_THAT(Output({"bench", In("small.hlo"), "--target=evaluator", "--seconds=0.1", "--json"}),
              HasSubstr("\"target\": \"evaluator\""));
}

TEST_F(ExampleTarget, IsTunedAndVerified) {
  const std::string report = Output({"tune", In("small.hlo"), "--target=evaluator", "--out=" + In("run"), "--budget=4",
                                     "--model=analytical", "--json"});
  EXPECT_THAT(report, HasSubstr("\"verified\": true"));
  EXPECT_TRUE(fs::exists(In("run/best.fusion.json")));
}

// A sort by an order of its own runs in the evaluator under both.
TEST_F(ExampleTarget, IsTunedBesideAnother) {
  std::ofstream(In("sort.hlo")) << R"(HloModule sort

nearer_to_zero {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  aa = f32[] multiply(a, a)
  bb = f32[] multiply(b, b)
  ROOT less = pred[] compare(aa, bb), direction=LT
}

ENTRY main {
  x = f32[4096] parameter(0)
  ROOT s = f32[4096] sort(x), dimensions={0}, to_apply=nearer_to_zero
}
)";
  // A busy machine may time one of the two defaults at twice the other's, and then looks at that one alone.
  std::string report;
  for (int turn = 0;
       turn < 3 && !(fs::exists(In("run/cpu/best.fusion.json")) && fs::exists(In("run/evaluator/best.fusion.json")));
       ++turn) {
    fs::remove_all(In("run"));
    report = Output({"tune", In("sort.hlo"), "--target=cpu:threads=1,evaluator", "--out=" + In("run"),
                     WithSeconds("--budget", 8), "--model=analytical", "--quiet", "--json"});
  }
  EXPECT_THAT(report, HasSubstr("\"verified\": true"));
  for (const char* file : {"run/cpu/best.fusion.json", "run/evaluator/best.fusion.json", "run/report.txt"})
    EXPECT_TRUE(fs::exists(In(file))) << file;
}

TEST_F(ExampleTarget, IsPassedOverWhereItsDefaultIsFarBehind) {
  std::ofstream(In("chain.hlo")) << R"(HloModule chain

ENTRY main {
  x = f32[65536] parameter(0)
  e = f32[65536] exponential(x)
  s = f32[65536] add(e, x)
  ROOT t = f32[65536] tanh(s)
}
)";
  const std::string report = Output({"tune", In("chain.hlo"), "--target=cpu:threads=1,evaluator", "--out=" + In("run"),
                                     WithSeconds("--budget", 8), "--model=analytical", "--quiet"});
  EXPECT_THAT(report,
              ContainsRegex("evaluator +no session: its default takes [0-9.e+]+ ms, [0-9.]+ times that of cpu"));
  EXPECT_THAT(report, HasSubstr("verified     yes"));
  EXPECT_FALSE(fs::exists(In("run/evaluator/best.fusion.json")));
}

// What is wrong with the file is told once.
TEST_F(ExampleTarget, WithoutAModuleNothingIsTried) {
  const std::string command = absl::StrCat(SMELT_WITH_EXAMPLE, " tune ", In("missing.hlo"),
                                           " --target=cpu,evaluator --out=", In("run"), " > ", In("output"), " 2>&1");
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 1);
  std::ifstream file(In("output"));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(std::vector<std::string>(absl::StrSplit(text, "missing.hlo")), SizeIs(2)) << text;
}

TEST_F(ExampleTarget, WithoutTimeADefaultIsTheAnswer) {
  const std::string report = Output({"tune", In("small.hlo"), "--target=cpu,evaluator", "--out=" + In("run"),
                                     "--budget=0.01", "--model=analytical", "--quiet"});
  EXPECT_THAT(report, HasSubstr("a default is the answer"));
}

TEST_F(ExampleTarget, IsNamedOnce) {
  const std::string command = absl::StrCat(SMELT_WITH_EXAMPLE, " tune ", In("small.hlo"),
                                           " --target=evaluator,cpu,evaluator --out=", In("run"), " 2> ", In("output"));
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 2);
  std::ifstream file(In("output"));
  EXPECT_THAT(std::string(std::istreambuf_iterator<char>(file), {}), HasSubstr("names evaluator twice"));
}

TEST_F(ExampleTarget, IsProfiled) {
  EXPECT_THAT(Output({"profile", In("small.hlo"), "--target=evaluator", "-o", In("corpus"), "--configs=2"}),
              HasSubstr("kernels of 1 programs timed"));
}

TEST_F(ExampleTarget, SaysWhyNot) {
  EXPECT_THAT(Output({"inspect", In("small.hlo"), "--target=evaluator", "--why=e"}), HasSubstr("e -> n: "));
}

TEST_F(ExampleTarget, StandsInTheHelp) {
  EXPECT_THAT(Output({"help", "tune"}), HasSubstr("evaluator: the HLO evaluator, as an example of a target"));
}

}  // namespace
}  // namespace smelt
