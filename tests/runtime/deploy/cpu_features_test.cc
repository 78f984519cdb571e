#include "runtime/deploy/cpu_features.h"

#include <gtest/gtest.h>

#include <algorithm>

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

TEST(CpuFeatures, EachArchitectureHasItsOwn) {
  const auto has = [](std::string_view architecture, std::string_view feature) {
    const auto names = FeatureNames(architecture);
    return std::find(names.begin(), names.end(), feature) != names.end();
  };
  EXPECT_TRUE(has("x86_64", "avx2") && !has("x86_64", "dotprod"));
  EXPECT_TRUE(has("aarch64", "dotprod") && !has("aarch64", "avx2"));
  EXPECT_TRUE(FeatureNames("riscv64").empty());
  EXPECT_EQ(MissingFeatures({Architecture() == "aarch64" ? std::string("neon") : std::string("cmov")}), "");
}

TEST(CpuFeatures, TilesThatWereGrantedStayGranted) { EXPECT_EQ(AskForTiles(), AskForTiles()); }

}  // namespace
}  // namespace smelt::runtime::deploy
