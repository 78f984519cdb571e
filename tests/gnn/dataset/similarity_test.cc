#include "gnn/dataset/similarity.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hlo/opcode.h"

namespace smelt::gnn {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// A program of one kernel with so many additions, exponentials and dots.
void AddProgram(Dataset* data, const std::string& name, int adds, int exps, int dots) {
  Example& example = data->examples.emplace_back();
  example.program = name;
  example.hash = HashOf(name);
  example.seconds = 1e-6;
  KernelGraph graph;
  for (const auto& [opcode, count] :
       {std::pair(hlo::Opcode::kAdd, adds), {hlo::Opcode::kExp, exps}, {hlo::Opcode::kDot, dots}})
    graph.opcodes.insert(graph.opcodes.end(), static_cast<size_t>(count), static_cast<int32_t>(opcode));
  graph.node_features.resize(graph.opcodes.size() * NodeColumns().size());
  graph.operand_begin.resize(graph.opcodes.size() + 1, 0);
  example.graph = PackedGraph(graph, std::make_shared<NodeRows>());
}

// Two families and two loners: `lone` has an opcode that nothing else has, `odd` shares half of its own.
Dataset Programs() {
  Dataset data;
  AddProgram(&data, "net_b8", 20, 0, 10);
  AddProgram(&data, "lone", 0, 7, 0);
  AddProgram(&data, "net_b1", 40, 0, 21);
  AddProgram(&data, "sum_small", 9, 0, 0);
  AddProgram(&data, "sum_large", 50, 0, 0);
  AddProgram(&data, "odd", 5, 0, 95);
  return data;
}

TEST(Families, JoinWhatHasTheSameSharesOfOpcodesWhateverItsSizeAndName) {
  EXPECT_THAT(Families(Programs()),
              UnorderedElementsAre(Pair("net_b1", "net_b1"), Pair("net_b8", "net_b1"), Pair("lone", "lone"),
                                   Pair("odd", "odd"), Pair("sum_large", "sum_large"), Pair("sum_small", "sum_large")));
}

TEST(Families, FallOnOneSideOfASplit) {
  const Dataset data = Programs();
  int apart = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    std::set<std::string> test;
    for (const int64_t i :
         SplitByProgram(data, {.validation = 0, .test = 0.5, .seed = seed, .families = Families(data)}).test)
      test.insert(data.examples[i].program);
    EXPECT_EQ(test.contains("net_b1"), test.contains("net_b8")) << seed;
    EXPECT_EQ(test.contains("sum_small"), test.contains("sum_large")) << seed;
    apart += test.contains("net_b1") != test.contains("sum_small");
  }
  EXPECT_GT(apart, 50);
}

TEST(LeastSimilarPrograms, AreTheLonersFirstAndFamiliesWhole) {
  const Dataset data = Programs();
  EXPECT_THAT(LeastSimilarPrograms(data, 0.2), ElementsAre("lone"));
  EXPECT_THAT(LeastSimilarPrograms(data, 0.34), ElementsAre("lone", "odd"));
  // One more place: either family has two, and does not fit.
  EXPECT_THAT(LeastSimilarPrograms(data, 0.5), ElementsAre("lone", "odd"));
  EXPECT_THAT(LeastSimilarPrograms(data, 0.67), ElementsAre("lone", "net_b1", "net_b8", "odd"));
}

TEST(LeastSimilarPrograms, OfOneFamilyAreNone) {
  Dataset data;
  AddProgram(&data, "a", 3, 1, 0);
  AddProgram(&data, "b", 6, 2, 0);
  EXPECT_THAT(LeastSimilarPrograms(data, 0.5), IsEmpty());
  EXPECT_THAT(LeastSimilarPrograms(Dataset(), 0.5), IsEmpty());
}

TEST(SplitByProgram, LearnsFromAShareAndLeavesTheRestOut) {
  Dataset data;
  for (int i = 0; i < 400; ++i) AddProgram(&data, "p" + std::to_string(i), i + 1, 1, 0);
  const Split whole = SplitByProgram(data, {});
  Split before = whole;
  for (const double share : {0.5, 0.25}) {
    const Split part = SplitByProgram(data, {.learned = share});
    EXPECT_EQ(part.test, whole.test);
    EXPECT_EQ(part.validation, whole.validation);
    EXPECT_NEAR(static_cast<double>(part.train.size()), share * static_cast<double>(whole.train.size()), 30);
    // The smaller set lies in the larger one.
    EXPECT_TRUE(std::includes(before.train.begin(), before.train.end(), part.train.begin(), part.train.end()));
    before = part;
  }
}

}  // namespace
}  // namespace smelt::gnn
