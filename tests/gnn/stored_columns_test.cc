#include "gnn/model/stored_columns.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace smelt::gnn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<Column> kToday = {{"new", ""}, {"extent", ""}, {"extent", ""}, {"also_new", ""}, {"estimate", ""}};

TEST(StoredColumns, WhatANetworkDoesNotKnowHasNoWeightInIt) {
  const auto stored = StoredColumns::Match({"extent", "extent", "estimate"}, kToday);
  ASSERT_TRUE(stored.ok()) << stored.status();
  Normalizer normalizer{{1, 2, 3}, {4, 5, 6}, {-1, -2, -3}, {7, 8, 9}};
  ASSERT_TRUE(stored->Widen(&normalizer).ok());
  EXPECT_THAT(normalizer.mean, ElementsAre(0, 1, 2, 0, 3));
  EXPECT_THAT(normalizer.scale, ElementsAre(0, 4, 5, 0, 6));
  EXPECT_THAT(normalizer.low, ElementsAre(0, -1, -2, 0, -3));
  EXPECT_THAT(normalizer.high, ElementsAre(0, 7, 8, 0, 9));
  WeightTensor weight{{2, 3}, {1, 2, 3, 4, 5, 6}};
  ASSERT_TRUE(stored->Widen(&weight).ok());
  EXPECT_THAT(weight.shape, ElementsAre(2, 5));
  EXPECT_THAT(weight.values, ElementsAre(0, 1, 2, 0, 3, 0, 4, 5, 0, 6));
}

TEST(StoredColumns, OnesThatAreNotMadeAreNamed) {
  EXPECT_THAT(std::string(StoredColumns::Match({"extent", "removed"}, kToday).status().message()),
              HasSubstr("`removed`"));
  EXPECT_THAT(std::string(StoredColumns::Match({"extent", "extent", "extent"}, kToday).status().message()),
              HasSubstr("`extent`"));
}

TEST(StoredColumns, OtherWidthsThanTheStoredOnesAreRefused) {
  const StoredColumns stored = StoredColumns::Match({"extent", "estimate"}, kToday).value();
  Normalizer normalizer{{1, 2, 3}, {1, 2, 3}, {1, 2, 3}, {1, 2, 3}};
  EXPECT_FALSE(stored.Widen(&normalizer).ok());
  WeightTensor weight{{2, 3}, {1, 2, 3, 4, 5, 6}};
  EXPECT_FALSE(stored.Widen(&weight).ok());
}

// Shapes of a file that promise more than it holds: their products are 0.
TEST(StoredColumns, ShapesWithoutTheirValuesAreRefused) {
  WeightTensor wraps{{int64_t{1} << 62, 4}, {}};
  EXPECT_FALSE(StoredColumns::Match({"new", "extent", "extent", "estimate"}, kToday)->Widen(&wraps).ok());
  WeightTensor none{{int64_t{1} << 40, 0}, {}};
  EXPECT_FALSE(StoredColumns::Match({}, kToday)->Widen(&none).ok());
}

}  // namespace
}  // namespace smelt::gnn
