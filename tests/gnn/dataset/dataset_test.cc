#include "gnn/dataset/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gnn/corpus/corpus.h"
#include "hlo/text/parser.h"
#include "kernels/cost/default_schedule.h"
#include "machine/descriptor.h"
#include "targets/cpu/processor/detect.h"
#include "tests/scratch_folder.h"

namespace smelt::gnn {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class DatasetTest : public ::testing::Test {
 protected:
  std::string Corpus(const std::string& name, std::vector<Measurement> measurements, const std::string& target = "") {
    KernelExample example;
    example.program = "program";
    example.kernel_text =
        "HloModule k\n\nENTRY e {\n  p = f32[64,64] parameter(0)\n  ROOT r = f32[64,64] add(p, p)\n}\n";
    example.hash = HashOf("kernel");
    example.target = target;
    example.measurements = std::move(measurements);
    const std::string folder = folder_.In(name);
    EXPECT_TRUE(CorpusWriter::Open(folder).value()->Append(example).ok());
    return folder;
  }
  // Sums timed under a schedule of this text on a machine told so, each with another hash.
  std::string Sums(const std::string& name, const std::string& trace, const std::string& machine) {
    const std::string folder = folder_.In(name);
    const auto writer = CorpusWriter::Open(folder).value();
    for (int i = 0; i < 64; ++i) {
      KernelExample example;
      example.program = "program";
      example.kernel_text = Sum();
      example.hash = Hash128{static_cast<uint64_t>(i + 1), static_cast<uint64_t>(i)};
      example.trace = trace;
      example.machine = machine;
      example.measurements = {{{}, true, {3e-6}, ""}};
      EXPECT_TRUE(writer->Append(example).ok());
    }
    return folder;
  }
  static std::string Sum() {
    return "HloModule k\n\nENTRY e {\n  p = f32[64,64] parameter(0)\n  ROOT r = f32[64,64] add(p, p)\n}\n";
  }
  const ScratchFolder folder_;
};

TEST_F(DatasetTest, TellsOfKernelsWhoseDefaultScheduleIsAnotherNow) {
  const cpu::Target target = cpu::ParseTarget("cpu:znver4,threads=1").value();
  const auto module = hlo::ParseModule(Sum(), {}).value();
  const std::string schedule = kernels::cost::DefaultSchedule(*module->entry(), target)->ToString();
  const std::string machine = machine::DescribeMachine(target);
  const LoadOptions options{.machine_of_records = true};
  EXPECT_THAT(LoadDataset(Sums("same", schedule, machine), target, options)->warnings, IsEmpty());
  EXPECT_THAT(LoadDataset(Sums("native", "# a native operation\n", machine), target, options)->warnings, IsEmpty());
  const std::string older = Sums("older", schedule + "unroll r i0\n", machine);
  EXPECT_THAT(LoadDataset(older, target, options)->warnings,
              ElementsAre(AllOf(HasSubstr("of 4 kernels looked at, 4 were timed under another default schedule"),
                                HasSubstr("smelt corpus again"))));
  EXPECT_THAT(LoadDataset(older, target, {})->warnings, IsEmpty());  // features of another machine's schedules
}

TEST_F(DatasetTest, RecordsThatDoNotTellOfInstructionsHaveThoseOfTheCallersMachineOfTheirName) {
  const cpu::Target target = cpu::ParseTarget("cpu:znver4,threads=1").value();
  ASSERT_FALSE(target.instructions.empty());
  const std::string named = R"({"name": "znver4"})", other = R"({"name": "znver3"})";
  const LoadOptions options{.machine_of_records = true};
  EXPECT_EQ(LoadDataset(Sums("named", "", named), target, options)->machine.instructions, target.instructions);
  EXPECT_THAT(LoadDataset(Sums("other", "", other), target, options)->machine.instructions, IsEmpty());
}

TEST_F(DatasetTest, AKernelOfAFusionAndOfATileCorpusIsOneExampleForBothTasks) {
  const std::string fusion = Corpus("fusion", {{{{8, 64}}, true, {3e-6, 2e-6}, ""}});
  const std::string tile =
      Corpus("tile", {{{{8, 64}}, true, {4e-6}, ""}, {{{4, 64}}, false, {5e-6}, ""}, {{{1, 64}}, false, {9e-6}, ""}});
  const cpu::Target target = cpu::ParseTarget("cpu:threads=1").value();
  for (const std::string& folders : {fusion + "," + tile, tile + "," + fusion}) {
    const Dataset data = LoadDataset(folders, target, {}).value();
    ASSERT_EQ(data.examples.size(), 1u) << folders;
    EXPECT_EQ(data.examples[0].tile_seconds, (std::vector<double>{4e-6, 5e-6, 9e-6})) << folders;
  }
  // Where the default tile has two times, the first corpus has the word.
  EXPECT_EQ(LoadDataset(fusion + "," + tile, target, {})->examples[0].seconds, 2e-6);
  EXPECT_EQ(LoadDataset(tile + "," + fusion, target, {})->examples[0].seconds, 4e-6);
}

TEST_F(DatasetTest, KernelsWithoutTimedTilesHaveTilesForATeacherWhereOneIsAskedFor) {
  const std::string fusion = Corpus("fusion", {{{{8, 64}}, true, {3e-6, 2e-6}, ""}});
  const std::string tile = Corpus("tile", {{{{8, 64}}, true, {4e-6}, ""}, {{{4, 64}}, false, {5e-6}, ""}});
  const cpu::Target target = cpu::ParseTarget("cpu:threads=1").value();
  const Dataset data = LoadDataset(fusion, target, {.untimed_kernels = 1, .untimed_tiles = 5}).value();
  const Example& untimed = data.examples[0];
  EXPECT_EQ(untimed.tile_analytical.size(), 5u);
  EXPECT_EQ(untimed.tile_features.size(), 5 * TileColumns().size());
  EXPECT_TRUE(untimed.tile_seconds.empty());
  EXPECT_TRUE(LoadDataset(fusion, target, {})->examples[0].tile_analytical.empty());
  // Times take their place, whichever corpus comes first.
  for (const std::string& folders : {fusion + "," + tile, tile + "," + fusion}) {
    const Dataset both = LoadDataset(folders, target, {.untimed_kernels = 1, .untimed_tiles = 5}).value();
    EXPECT_EQ(both.examples[0].tile_analytical.size(), 2u) << folders;
    EXPECT_EQ(both.examples[0].tile_seconds, (std::vector<double>{4e-6, 5e-6})) << folders;
  }
}

// What a model learns from is what it is asked about later: of products in types for which machines have instructions,
// too.
TEST_F(DatasetTest, FeaturesOfARecordAreThoseThatPredictionsAreMadeOf) {
  const cpu::Target target = cpu::ParseTarget("cpu:znver4,threads=1").value();
  for (const std::string type : {"f32", "bf16", "s8"}) {
    const std::string text = "HloModule k\n\nENTRY e {\n  p = " + type + "[64,128] parameter(0)\n  q = " + type +
                             "[128,96] parameter(1)\n  ROOT r = " + (type == "s8" ? "s32" : type) +
                             "[64,96] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n";
    KernelExample example;
    example.program = "program";
    example.kernel_text = text;
    example.hash = HashOf("kernel");
    example.target = "cpu:znver4,threads=1";
    example.machine = machine::DescribeMachine(target);
    example.measurements = {{{}, true, {3e-6}, ""}};
    const std::string folder = folder_.In(type);
    ASSERT_TRUE(CorpusWriter::Open(folder).value()->Append(example).ok());
    const machine::Machine elsewhere;  // who trains may do so on another machine
    const Dataset data = LoadDataset(folder, elsewhere, {.machine_of_records = true}).value();
    const KernelGraph learned = data.examples[0].graph.Unpack();
    const auto module = hlo::ParseModule(text, {}).value();
    const KernelGraph asked = ExtractFeatures(*module->entry(), target);
    EXPECT_EQ(learned.kernel_features, asked.kernel_features) << type;
    EXPECT_EQ(learned.node_features, asked.node_features) << type;
  }
}

TEST_F(DatasetTest, CorporaOfDifferentTargetsAreRefusedByName) {
  const std::vector<Measurement> times = {{{{8, 64}}, true, {3e-6}, ""}};
  const std::string own = Corpus("own", times, "cpu:znver5,threads=1");
  const std::string xla = Corpus("xla", times, "xla:znver5,threads=1");
  const std::string older_xla = Corpus("older", times, "xla, cpu:znver5,threads=1");
  const std::string haswell = Corpus("haswell", times, "cpu:haswell,threads=1");
  const std::string two_threads = Corpus("two", times, "cpu:znver5,threads=2");
  const cpu::Target target = cpu::ParseTarget("cpu:haswell,threads=1").value();
  for (const auto& [other, name] :
       {std::pair(xla, "`xla:znver5,threads=1`"), std::pair(older_xla, "`xla:znver5,threads=1`"),
        std::pair(haswell, "`cpu:haswell,threads=1`"), std::pair(two_threads, "`cpu:znver5,threads=2`")}) {
    const auto data = LoadDataset(own + "," + other, target, {});
    ASSERT_FALSE(data.ok()) << other;
    EXPECT_THAT(std::string(data.status().message()),
                AllOf(HasSubstr(other), HasSubstr("`cpu:znver5,threads=1`"), HasSubstr(name)));
  }
  // What an earlier version wrote is the same target under an older name.
  const auto both = LoadDataset(xla + "," + older_xla, target, {.rough = {{"xla", fusion::Rules::OwnKernels()}}});
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_EQ(both->target.ToString(), "xla:znver5,threads=1");
  EXPECT_GT(both->examples[0].rough_seconds, 0);
}

TEST_F(DatasetTest, FeaturesForAnotherMachineThanTheMeasuredOneAreAWarning) {
  const std::vector<Measurement> times = {{{{8, 64}}, true, {3e-6}, ""}};
  const std::string corpus = Corpus("xla", times, "xla:haswell,threads=1");
  const auto warnings = [&](const char* target) {
    return LoadDataset(corpus, cpu::ParseTarget(target).value(), {}).value().warnings;
  };
  EXPECT_THAT(warnings("cpu:haswell,threads=1"), IsEmpty());
  EXPECT_THAT(warnings("cpu:skylake,threads=1"),
              ElementsAre(AllOf(HasSubstr("xla:haswell,threads=1"), HasSubstr("xla:skylake,threads=1"))));
}

}  // namespace
}  // namespace smelt::gnn
