#include "hlo/known/known_parameters.h"

#include "gmock/gmock.h"
#include "hlo/fingerprint.h"
#include "hlo/text/printer.h"
#include "tests/hlo/passes/pass_testing.h"

namespace smelt::hlo {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kDense = R"(HloModule m
ENTRY main { x = f32[4,8] parameter(0)
  w = f32[8,16] parameter(1), frontend_attributes={origin="jax"}
  b = f32[16] parameter(2)
  d = f32[4,16] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  c = f32[4,16] broadcast(b), dimensions={1}
  ROOT r = f32[4,16] add(d, c) })";

TEST(KnownParameters, TheMarkTravelsWithTheText) {
  const std::unique_ptr<Module> module = Parse(kDense);
  const Hash128 before = Fingerprint(*module);
  MarkKnownParameters(*module, {1, 2});
  const std::unique_ptr<Module> again = Parse(ToText(*module));
  EXPECT_EQ(KnownParameters(*again), (std::set<int64_t>{1, 2}));
  EXPECT_THAT(ToText(*again), HasSubstr("origin=\"jax\""));
  EXPECT_NE(Fingerprint(*again), before) << "its times are others";
  MarkKnownParameters(*again, {});
  EXPECT_EQ(KnownParameters(*again), std::set<int64_t>());
  EXPECT_EQ(ToText(*again), ToText(*Parse(kDense)));
}

TEST(KnownParameters, AreNamedOrNumberedOrAllButSome) {
  const std::unique_ptr<Module> module = Parse(kDense);
  EXPECT_EQ(ReadKnownParameters(*module, {"w", "2"}).value(), (std::set<int64_t>{1, 2}));
  EXPECT_EQ(ReadKnownParameters(*module, {"all-but:x"}).value(), (std::set<int64_t>{1, 2}));
  EXPECT_EQ(ReadKnownParameters(*module, {"all-but:0", "b"}).value(), (std::set<int64_t>{1}));
  EXPECT_THAT(std::string(ReadKnownParameters(*module, {"weights"}).status().message()),
              HasSubstr("module m has no parameter `weights`; it has 3, `x` (number 0) the first of them"));
  EXPECT_FALSE(ReadKnownParameters(*module, {"all-but:x", "w", "b"}).ok());
  EXPECT_FALSE(ReadKnownParameters(*module, {"7"}).ok());
  EXPECT_FALSE(ReadKnownParameters(*module, {""}).ok());
  const std::unique_ptr<Module> numbered = Parse(R"(HloModule m
ENTRY main { a = f32[] parameter(0)
  x.1 = f32[] parameter(1)
  y.2 = f32[] parameter(2)
  y.3 = f32[] parameter(3)
  s = f32[] add(x.1, y.2)
  ROOT r = f32[] add(s, y.3) })");
  EXPECT_EQ(ReadKnownParameters(*numbered, {"x"}).value(), (std::set<int64_t>{1}));
  EXPECT_FALSE(ReadKnownParameters(*numbered, {"y"}).ok()) << "which of both";
}

TEST(KnownParameters, WhatFollowsFromThemAloneIsKnown) {
  const std::unique_ptr<Module> module = Parse(R"(HloModule m
ENTRY main { x = f32[8] parameter(0)
  w = s8[100000] parameter(1)
  half = f32[] constant(0.5)
  two = f32[] add(half, half)
  wide = f32[100000] convert(w)
  all = f32[100000] broadcast(two), dimensions={}
  s = f32[100000] multiply(wide, all)
  t = f32[8] slice(s), slice={[0:8]}
  ROOT r = f32[8] add(x, t) })");
  MarkKnownParameters(*module, {1});
  const KnownPart known(*module->entry());
  const auto find = [&](const char* name) -> const Instruction& { return *module->FindInstruction(name); };
  for (const char* name : {"w", "wide", "s", "t"}) {
    EXPECT_TRUE(known.Contains(find(name)) && known.HasRoot(find(name))) << name;
  }
  EXPECT_TRUE(known.Contains(find("two")));
  EXPECT_FALSE(known.HasRoot(find("all")));
  EXPECT_FALSE(known.Contains(find("x")) || known.Contains(find("r")));
  EXPECT_FALSE(known.IsWorthKeeping(find("s"))) << "four times the bytes of the weights";
  EXPECT_TRUE(known.IsWorthKeeping(find("t")));
}

}  // namespace
}  // namespace smelt::hlo
