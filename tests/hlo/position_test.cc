#include "hlo/position.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "hlo/text/parser.h"

namespace smelt::hlo {
namespace {

bool RootFollows(const std::string& instructions) {
  return FollowsFromPosition(
      *ParseModule(absl::StrCat("HloModule m\nENTRY e {\n", instructions, "\n}")).value()->entry()->root());
}

TEST(Position, IndicesOfWindowsFollowFromIt) {
  EXPECT_TRUE(RootFollows(R"(i = s32[9] iota(), iota_dimension=0  j = s32[4] iota(), iota_dimension=0
    ib = s32[9,4] broadcast(i), dimensions={0}  jb = s32[9,4] broadcast(j), dimensions={1}  s = s32[9,4] add(ib, jb)
    ROOT r = s32[9,4,1] reshape(s))"));
  EXPECT_TRUE(RootFollows(R"(i = s32[9] iota(), iota_dimension=0  c = s32[] constant(3)
    b = s32[9] broadcast(c), dimensions={}  ROOT r = s32[9] divide(i, b))"));
}

TEST(Position, DataDoesNot) {
  EXPECT_FALSE(RootFollows("ROOT p = s32[9] parameter(0)"));
  EXPECT_FALSE(RootFollows("ROOT c = s32[3] constant({1, 5, 2})"));
  EXPECT_FALSE(RootFollows("i = s32[9] iota(), iota_dimension=0  p = s32[9] parameter(0)  ROOT r = s32[9] add(i, p)"));
  EXPECT_FALSE(RootFollows(
      "i = s32[9] iota(), iota_dimension=0  t = (s32[9]) tuple(i)  ROOT r = s32[9] get-tuple-element(t), index=0"));
}

// Each instruction is looked at once, or a chain of doublings would take forever.
TEST(Position, LongChainsEnd) {
  std::string chain = "a0 = s32[9] iota(), iota_dimension=0\n";
  for (int n = 1; n <= 200; ++n)
    absl::StrAppend(&chain, n == 50 || n == 200 ? "ROOT " : "", "a", n, " = s32[9] add(a", n - 1, ", a", n - 1, ")\n");
  EXPECT_FALSE(RootFollows(absl::StrReplaceAll(chain, {{"ROOT a50", "a50"}})));
  EXPECT_TRUE(RootFollows(chain.substr(0, chain.find("a51 ="))));
}

}  // namespace
}  // namespace smelt::hlo
