#include "runtime/deploy/cpu_features.h"

#include <gtest/gtest.h>

namespace smelt::runtime::deploy {
namespace {

TEST(CpuFeatures, TilesAreMissingWhereLinuxDeniesThem) {
  const std::vector<std::string> tiles{"amx-tile", "amx-int8"};
  EXPECT_EQ(MissingFeatures(tiles, [] { return false; }), "amx-tile, amx-int8");
  // Granted or not, other features do not ask.
  EXPECT_EQ(MissingFeatures({std::string("no-such-feature")},
                            [] {
                              ADD_FAILURE() << "asked";
                              return false;
                            }),
            "no-such-feature");
  if (AskForTiles()) {
    EXPECT_EQ(MissingFeatures(tiles), "");
  } else {
    EXPECT_EQ(MissingFeatures(tiles), "amx-tile, amx-int8");
  }
}

TEST(CpuFeatures, TilesThatWereGrantedStayGranted) { EXPECT_EQ(AskForTiles(), AskForTiles()); }

}  // namespace
}  // namespace smelt::runtime::deploy
