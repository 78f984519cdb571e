#include "machine/machine.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "machine/descriptor.h"

namespace smelt::machine {
namespace {

using testing::HasSubstr;

TEST(Machine, ReadsAWorkingSetAtTheSpeedOfTheNearestLevelThatHoldsIt) {
  Machine machine;
  machine.levels = {{"l1", 100, 9}, {"l2", 1000, 5}, {"l3", 10000, 4}, {"memory", INT64_MAX, 2}};
  EXPECT_EQ(machine.BandwidthOf(100), 9);
  EXPECT_EQ(machine.BandwidthOf(101), 5);
  EXPECT_EQ(machine.BandwidthOf(1001), 4);
  EXPECT_EQ(machine.BandwidthOf(1e9), 2);
}

// Others use it as well, and it is not missed at once.
TEST(Machine, FindsAPartOfAWorkingSetInTheLastCache) {
  Machine machine;
  machine.levels = {{"l1", 100, 9}, {"l2", 10000, 4}, {"memory", INT64_MAX, 2}};
  EXPECT_EQ(machine.BandwidthOf(3000), 4);
  EXPECT_LT(machine.BandwidthOf(9000), 3.5);
  EXPECT_GT(machine.BandwidthOf(11000), 2.5);
  EXPECT_GT(machine.BandwidthOf(12000), machine.BandwidthOf(13000));
  EXPECT_EQ(machine.BandwidthOf(20000), 2);
}

TEST(Machine, AnswersForAFurtherLevelThanItHasWithItsFurthest) {
  Machine machine;
  machine.levels = {{"shared", 100, 9}, {"l2", 1000, 5}, {"memory", INT64_MAX, 2}};
  EXPECT_EQ(machine.LevelBytes(0), 100);
  EXPECT_EQ(machine.LevelBytes(2), 1000);
}

TEST(Machine, KeepsItsFiguresByName) {
  Machine measured;
  measured.levels[1].bytes_per_second = 123;
  measured.fork_seconds = 1e-3;
  Machine other;
  ASSERT_TRUE(other.SetFigures(measured.Figures()).ok());
  EXPECT_EQ(other.Figures(), measured.Figures());
  EXPECT_EQ(other.Figures().at("l2_bandwidth"), 123);
}

TEST(Machine, TakesThePeakForTheRateOfVectorsWhereOldFiguresLackIt) {
  Machine machine;
  machine.vector_flops_f32 = 5e10;
  std::map<std::string, double> figures = machine.Figures();
  figures["peak_flops_f32"] = 7e10;
  figures.erase("vector_flops_f32");
  ASSERT_TRUE(machine.SetFigures(figures).ok());
  EXPECT_EQ(machine.vector_flops_f32, 7e10);
  EXPECT_EQ(ReadMachine(R"({"peak_flops_f32": 9e10})")->vector_flops_f32, 9e10);
  EXPECT_EQ(ReadMachine(DescribeMachine(machine))->vector_flops_f32, 7e10);
}

TEST(Machine, TellsItsInstructionsToWhoReadsIt) {
  Machine machine;
  machine.instructions = {"avx512vnni", "avx2"};
  EXPECT_EQ(ReadMachine(DescribeMachine(machine))->instructions, machine.instructions);
  EXPECT_TRUE(ReadMachine("{}")->instructions.empty());
  EXPECT_THAT(ReadMachine(R"({"instructions": "avx2"})").status().message(), HasSubstr("`instructions` is no list"));
  EXPECT_THAT(ReadMachine(R"({"instructions": [512]})").status().message(), HasSubstr("`instructions` has 512"));
}

TEST(Machine, RefusesFiguresThatItDoesNotHave) {
  Machine machine;
  EXPECT_THAT(machine.SetFigures({{"l9_bandwidth", 1}}).message(), HasSubstr("`l9_bandwidth` is no figure"));
  EXPECT_THAT(machine.SetFigures({{"l1_bandwidth", 0}}).message(), HasSubstr("not above 0"));
}

}  // namespace
}  // namespace smelt::machine
