#include "tuner/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hlo/text/parser.h"

namespace smelt::tuner {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<Verifier> VerifierOf(const std::string& body) {
  const auto module = hlo::ParseModule("HloModule m\n\nENTRY e {\n" + body + "}\n").value();
  return Verifier::Create(*module, 0, nullptr).value();
}

constexpr char kNormalisation[] =
    "  x = f32[4,8] parameter(0)\n  v = f32[8] parameter(1)\n  r = f32[8] rsqrt(v)\n"
    "  b = f32[4,8] broadcast(r), dimensions={1}\n  ROOT y = f32[4,8] multiply(x, b)\n";

TEST(Verifier, TakesInputsThatGiveFiniteResults) {
  // Half of the variances would be negative under -1 to 1.
  const auto verifier = VerifierOf(kNormalisation);
  EXPECT_EQ(verifier->inputs(), InputKind::kScaled);
  EXPECT_EQ(verifier->finite(), 1);
  // Of a matrix whose logarithm is taken, only positive numbers will do.
  EXPECT_EQ(VerifierOf("  x = f32[4,8] parameter(0)\n  ROOT y = f32[4,8] log(x)\n")->inputs(), InputKind::kPositive);
}

TEST(Verifier, FindsAWrongNumberAmongNormalisedOnes) {
  const auto verifier = VerifierOf(kNormalisation);
  const hlo::Literal zeros(hlo::Shape::Array(hlo::PrimitiveType::kF32, {4, 8}));
  EXPECT_THAT(verifier->Compare({zeros}), HasSubstr("out.0: error"));
}

TEST(Verifier, SaysWhereNoInputsGiveAFiniteResult) {
  const auto verifier =
      VerifierOf("  z = f32[] constant(0)\n  b = f32[4] broadcast(z), dimensions={}\n  ROOT y = f32[4] divide(b, b)\n");
  EXPECT_EQ(verifier->finite(), 0);
}

TEST(InputKinds, AreReadByTheirNames) {
  for (const InputKind kind : kInputKinds) EXPECT_EQ(ParseInputKind(InputKindName(kind)).value(), kind);
  EXPECT_THAT(ParseInputKind("random").status().message(), HasSubstr("random"));
}

}  // namespace
}  // namespace smelt::tuner
