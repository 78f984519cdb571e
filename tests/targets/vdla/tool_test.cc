// --target=vdla from outside: a quantised program is tuned, timed, run and looked at.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/patience.h"
#include "tests/scratch_folder.h"

namespace smelt {
namespace {

namespace fs = std::filesystem;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

constexpr char kFloat[] = R"(HloModule net

ENTRY main {
  x = f32[1,12,12,16] parameter(0)
  w1 = f32[3,3,16,32] parameter(1)
  c1 = f32[1,12,12,32] convolution(x, w1), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  zero = f32[] constant(0)
  zeros = f32[1,12,12,32] broadcast(zero), dimensions={}
  r1 = f32[1,12,12,32] maximum(c1, zeros)
  w2 = f32[3,3,32,32] parameter(2)
  c2 = f32[1,12,12,32] convolution(r1, w2), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  sum = f32[1,12,12,32] add(c2, r1)
  r2 = f32[1,12,12,32] maximum(sum, zeros)
  w3 = f32[1,1,32,16] parameter(3)
  ROOT c3 = f32[1,12,12,16] convolution(r2, w3), window={size=1x1}, dim_labels=b01f_01io->b01f
}
)";

class VdlaTool : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(In("float.hlo")) << kFloat;
    Output({"quantize", In("float.hlo"), "--activations=x", "--inputs=2", "--drop-weights", "-o", In("net.hlo")});
  }

  std::string In(const char* name) const { return folder_.In(name); }
  std::string Output(const std::vector<std::string>& words, int expected = 0) {
    const std::string command = absl::StrCat("SMELT_CACHE=", In("cache"), " ", SMELT_TOOL, " ",
                                             absl::StrJoin(words, " "), " > ", In("output"), " 2>&1");
    const int status = std::system(command.c_str());
    std::ifstream file(In("output"));
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(WEXITSTATUS(status), expected) << command << "\n" << text;
    return text;
  }

  const ScratchFolder folder_;
};

TEST_F(VdlaTool, RunsExactlyOnBothSimulators) {
  for (const char* simulator : {"--simulator=functional", "--simulator=cycle"})
    EXPECT_THAT(Output({"run", In("net.hlo"), "--target=vdla:pynq", "--check", simulator}),
                HasSubstr("out.0 error=0 "));
}

TEST_F(VdlaTool, TimesAreTheSameEveryTime) {
  const std::vector<std::string> words = {"bench", In("net.hlo"), "--target=vdla:pynq", "--seconds=0.05", "--json"};
  const auto median = [](const std::string& json) {
    const size_t at = json.find("\"median");
    return at == std::string::npos ? json : json.substr(at, json.find(',', at) - at);
  };
  const std::string first = median(Output(words));
  EXPECT_EQ(median(Output(words)), first);
  EXPECT_THAT(first, HasSubstr("median"));
}

// What searches and models learn from is what programs take, fused layers too; and what kernels do not account for, a
// bench tells.
TEST_F(VdlaTool, KernelsAloneAndWhatMovesBetweenThemAreTheProgram) {
  const std::vector<std::string> bench = {"bench", In("net.hlo"), "--target=vdla:pynq", "--seconds=0.05"};
  EXPECT_THAT(Output(bench), HasSubstr("  outside of the kernels: "));
  const auto json_of = [&](std::vector<std::string> words) {
    words.push_back("--json");
    const std::string report = Output(words);
    return nlohmann::json::parse(report.substr(report.find('{')));
  };
  const auto inside = json_of(bench);
  const auto alone = json_of(
      {"tune", In("net.hlo"), "--target=vdla:pynq", WithSeconds("--budget", 5), "--out=" + In("run"), "--quiet"});
  std::map<std::string, double> times;
  for (const auto& kernel : inside.at("kernels")) times[kernel.at("name")] = kernel.at("median_us");
  double us = inside.at("outside_us");
  EXPECT_GT(us, 0);
  EXPECT_EQ(alone.at("kernels_alone").size(), times.size());
  for (const auto& kernel : alone.at("kernels_alone")) {
    const std::string name = kernel.at("name");
    ASSERT_TRUE(times.contains(name)) << name;
    EXPECT_NEAR(kernel.at("us").get<double>(), times[name], 1e-6 * times[name]) << name;
    us += kernel.at("us").get<double>() * kernel.at("executions").get<double>();
  }
  EXPECT_NEAR(us, 1e3 * alone.at("default_ms").get<double>(), 1e-6 * us);
}

// Whose formulas stand among a model's features, the corpus says; a user who says something else is told.
TEST_F(VdlaTool, AModelIsJudgedByTheTargetOfItsCorpus) {
  Output({"profile", In("net.hlo"), "--target=vdla:pynq", "--task=fusion", "--configs=3", "-o", In("corpus")});
  std::vector<std::string> eval = {"eval", SMELT_SOURCE_DIR "/models/vdla.smeltmodel", In("corpus"), "--all", "--json"};
  const std::string by_corpus = Output(eval);
  const auto json = nlohmann::json::parse(by_corpus.substr(by_corpus.find('{')));
  int programs = 0;
  for (const char* sizes : {"large", "small"}) {
    for (const auto& program : json.at("contenders").at(0).at(sizes)) {
      ++programs;
      EXPECT_LT(program.at("mape").get<double>(), 0.1) << by_corpus;
    }
  }
  EXPECT_GT(programs, 0);
  eval.push_back("--target=vdla:pynq");
  EXPECT_EQ(Output(eval), by_corpus);
  eval.back() = "--target=vdla:big";
  EXPECT_THAT(Output(eval, 2), HasSubstr("--target=vdla:big,threads=1: the corpus was measured for `vdla:pynq"));
}

TEST_F(VdlaTool, IsTunedAndVerified) {
  const std::string report = Output({"tune", In("net.hlo"), "--target=vdla:pynq", WithSeconds("--budget", 10),
                                     "--out=" + In("run"), "--quiet", "--json"});
  EXPECT_THAT(report, HasSubstr("\"verified\": true"));
  EXPECT_TRUE(fs::exists(In("run/best.fusion.json")));
  // The answer runs again as it was written, schedules included.
  EXPECT_THAT(Output({"run", In("net.hlo"), "--target=vdla:pynq", "--fusion=" + In("run/best.fusion.json"), "--check"}),
              HasSubstr("out.0 error=0 "));
}

TEST_F(VdlaTool, SaysWhatRunsWhere) {
  const std::string kernels =
      Output({"inspect", In("net.hlo"), "--fusion=priority", "--target=vdla:pynq", "--kernels"});
  EXPECT_THAT(kernels, HasSubstr("loop nest"));
  EXPECT_THAT(kernels, HasSubstr("on the host: "));
}

TEST_F(VdlaTool, ItsKernelsAreProfiledAndLearned) {
  for (const char* machine : {"pynq", "big"}) {
    const std::string target = absl::StrCat("--target=vdla:", machine), corpus = In(machine),
                      model = absl::StrCat(In(machine), ".smeltmodel");
    EXPECT_THAT(
        Output({"profile", In("net.hlo"), In("float.hlo"), target, "--task=fusion", "-o", corpus, "--configs=2"}),
        ContainsRegex("[1-9][0-9]* kernels of 2 programs timed"));
    Output({"train", corpus, target, "--task=fusion", "-o", model, "--epochs=1", "--hidden=16", "--layers=1",
            "--validation=0.5", "--test=0"});
    EXPECT_THAT(Output({"predict", In("net.hlo"), target, "--model=" + model}), HasSubstr("for vdla:"));
  }
}

TEST_F(VdlaTool, AMachineThatThereIsNotIsRefused) {
  EXPECT_THAT(Output({"run", In("net.hlo"), "--target=vdla:nonesuch"}, 2), HasSubstr("(pynq, big)"));
}

}  // namespace
}  // namespace smelt
