#include "hlo/fingerprint.h"

#include <gtest/gtest.h>

#include "base/str_cat.h"
#include "hlo/text/parser.h"

namespace smelt::hlo {
namespace {

Hash128 Of(std::string_view body) {
  const auto module = ParseModule(body);
  EXPECT_TRUE(module.ok()) << module.status();
  return module.ok() ? Fingerprint(**module) : Hash128{};
}

constexpr char kBase[] =
    "ENTRY e { x = f32[4] parameter(0) y = f32[4] parameter(1) a = f32[4] exponential(x) b = f32[4] negate(y) ROOT r = "
    "f32[4] subtract(a, b) }";

TEST(Fingerprint, DoesNotDependOnNamesOrderMetadataAndDefaultLayouts) {
  EXPECT_EQ(
      Of(kBase),
      Of("HloModule other\nENTRY q { k = f32[4]{0} parameter(1) m = f32[4]{0} negate(k), metadata={op_name=\"n\"}, "
         "sharding={replicated} "
         "j = f32[4] parameter(0) l = f32[4] exponential(j), backend_config=\"c\" ROOT z = f32[4] subtract(l, m) }"));
}

TEST(Fingerprint, DependsOnEverythingElse) {
  const std::string_view others[] = {
      // another opcode, operand order, parameter numbers, shape, type, sharing
      "ENTRY e { x = f32[4] parameter(0) y = f32[4] parameter(1) a = f32[4] exponential(x) b = f32[4] abs(y) ROOT r = "
      "f32[4] subtract(a, b) }",
      "ENTRY e { x = f32[4] parameter(0) y = f32[4] parameter(1) a = f32[4] exponential(x) b = f32[4] negate(y) ROOT r "
      "= f32[4] subtract(b, a) }",
      "ENTRY e { x = f32[4] parameter(1) y = f32[4] parameter(0) a = f32[4] exponential(x) b = f32[4] negate(y) ROOT r "
      "= f32[4] subtract(a, b) }",
      "ENTRY e { x = f32[5] parameter(0) y = f32[5] parameter(1) a = f32[5] exponential(x) b = f32[5] negate(y) ROOT r "
      "= f32[5] subtract(a, b) }",
      "ENTRY e { x = f16[4] parameter(0) y = f16[4] parameter(1) a = f16[4] exponential(x) b = f16[4] negate(y) ROOT r "
      "= f16[4] subtract(a, b) }",
      "ENTRY e { x = f32[4] parameter(0) y = f32[4] parameter(1) a = f32[4] exponential(x) b = f32[4] negate(x) ROOT r "
      "= f32[4] subtract(a, b) }",
      "ENTRY e { x = f32[4] parameter(0) a = f32[4] exponential(x) b = f32[4] negate(x) ROOT r = f32[4] subtract(a, b) "
      "}",
  };
  for (std::string_view other : others) EXPECT_NE(Of(kBase), Of(other)) << other;
}

TEST(Fingerprint, SeesWhatIsShared) {
  // Two draws of random numbers are not one draw used twice.
  const char* head =
      "ENTRY e { l = f32[] constant(0) h = f32[] constant(1) x = f32[4] rng(l, h), distribution=rng_uniform ";
  const Hash128 shared = Of(StrCat(head, "ROOT r = f32[4] add(x, x) }"));
  const Hash128 separate =
      Of(StrCat(head, "y = f32[4] rng(l, h), distribution=rng_uniform ROOT r = f32[4] add(x, y) }"));
  EXPECT_NE(shared, separate);
}

TEST(Fingerprint, SeesConstantsAndAttributesAndCalledComputations) {
  EXPECT_NE(Of("ENTRY e { ROOT c = f32[2] constant({1, 2}) }"), Of("ENTRY e { ROOT c = f32[2] constant({1, 3}) }"));
  EXPECT_NE(Of("ENTRY e { p = f32[4,4] parameter(0) ROOT t = f32[4,4] transpose(p), dimensions={1,0} }"),
            Of("ENTRY e { p = f32[4,4] parameter(0) ROOT t = f32[4,4] transpose(p), dimensions={0,1} }"));
  const char* tail =
      " ENTRY e { p = f32[4] parameter(0) z = f32[] constant(0) ROOT r = f32[] reduce(p, z), dimensions={0}, "
      "to_apply=f }";
  EXPECT_NE(Of(StrCat("f { x = f32[] parameter(0) y = f32[] parameter(1) ROOT s = f32[] add(x, y) }", tail)),
            Of(StrCat("f { x = f32[] parameter(0) y = f32[] parameter(1) ROOT s = f32[] maximum(x, y) }", tail)));
}

TEST(Fingerprint, SeesLayoutsOnlyAtBitcasts) {
  EXPECT_EQ(Of("ENTRY e { p = f32[2,3]{0,1} parameter(0) ROOT n = f32[2,3]{0,1} negate(p) }"),
            Of("ENTRY e { p = f32[2,3]{1,0} parameter(0) ROOT n = f32[2,3]{1,0} negate(p) }"));
  EXPECT_NE(Of("ENTRY e { p = f32[2,3]{0,1} parameter(0) ROOT n = f32[3,2]{1,0} bitcast(p) }"),
            Of("ENTRY e { p = f32[2,3]{1,0} parameter(0) ROOT n = f32[3,2]{1,0} bitcast(p) }"));
}

TEST(Fingerprint, IsStable) {
  // Caches and records on disk are keyed by it.
  EXPECT_EQ(Of(kBase).ToHex(), "40af2a571cb40a758a5727849fbea774");
}

}  // namespace
}  // namespace smelt::hlo
