#include "gnn/eval/evaluate.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

#include "gmock/gmock.h"
#include "gnn/exchange/csv.h"
#include "gtest/gtest.h"
#include "tests/gnn/train/made_data.h"

namespace smelt::gnn {
namespace {

using ::testing::HasSubstr;

std::vector<int64_t> All(const Dataset& data) {
  std::vector<int64_t> numbers(data.examples.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

// One kernel a program, whose default takes one and a half times its best tile.
Dataset DefaultsOfOneAndAHalf() {
  Dataset data = MakeData(10, 1, /*tiles=*/true);
  for (Example& example : data.examples)
    example.seconds = 1.5 * *std::min_element(example.tile_seconds.begin(), example.tile_seconds.end());
  return data;
}

TEST(Evaluate, TheCompilersOwnTileHasARegretAndRanksNothing) {
  const Dataset data = DefaultsOfOneAndAHalf();
  const EvalTable table = EvaluateModels(data, All(data), {DefaultTileContender()}).value();
  const ContenderErrors& errors = table.contenders.front();
  EXPECT_TRUE(errors.large.empty());
  EXPECT_TRUE(errors.small.empty());
  ASSERT_EQ(errors.tiles.size(), 10);
  for (const auto& [program, error] : errors.tiles) {
    EXPECT_NEAR(error.ape, 0.5, 1e-9) << program;
    EXPECT_NEAR(error.slowdown1, 0.5, 1e-9) << program;
    EXPECT_TRUE(std::isnan(error.tau)) << program;
  }
}

TEST(Evaluate, AKernelWithoutADefaultsTimeCountsNowhere) {
  Dataset data = DefaultsOfOneAndAHalf();
  for (Example& example : data.examples) example.seconds = 0;
  EXPECT_TRUE(EvaluateModels(data, All(data), {DefaultTileContender()})->contenders.front().tiles.empty());
}

TEST(Evaluate, TablesNameWhoHasFiguresOfATaskOnly) {
  const Dataset data = DefaultsOfOneAndAHalf();
  const std::string text =
      FormatTable(EvaluateModels(data, All(data), {AnalyticalContender({}), DefaultTileContender()}).value());
  const std::string times = text.substr(0, text.find("Tile task")), tiles = text.substr(text.find("Tile task"));
  EXPECT_THAT(times, HasSubstr("analytical"));
  EXPECT_THAT(times, ::testing::Not(HasSubstr("default")));
  EXPECT_THAT(tiles, HasSubstr("default"));
  EXPECT_THAT(tiles, HasSubstr("-"));
}

TEST(Evaluate, EveryKernelStandsInTheCsvWithWhatEachContenderPredicts) {
  Dataset data = DefaultsOfOneAndAHalf();
  data.examples[3].seconds = 0;
  std::istringstream in(
      KernelsCsv(data, All(data), {AnalyticalContender({{"reduce", 3.0}}), DefaultTileContender()}).value());
  CsvReader reader(in, "kernels.csv");
  std::vector<std::string> row;
  ASSERT_TRUE(reader.Next(&row).value());
  EXPECT_EQ(row, (std::vector<std::string>{"program", "kernel", "kind", "nodes", "seconds", "analytical"}));
  int rows = 0;
  while (reader.Next(&row).value()) {
    EXPECT_EQ(row[1].size(), 32);
    EXPECT_DOUBLE_EQ(std::stod(row[5]), row[2] == "reduce" ? 30e-6 : 10e-6);
    ++rows;
  }
  EXPECT_EQ(rows, 9);
}

}  // namespace
}  // namespace smelt::gnn
