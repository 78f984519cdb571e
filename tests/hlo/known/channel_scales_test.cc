#include "hlo/known/channel_scales.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "hlo/known/known_parameters.h"
#include "hlo/passes/pipeline.h"
#include "tests/hlo/passes/pass_testing.h"

namespace smelt::hlo {
namespace {

int64_t Count(const Module& module, Opcode opcode) {
  const std::vector<Instruction*> all = module.entry()->Instructions();
  return std::count_if(all.begin(), all.end(), [&](const Instruction* x) { return x->opcode() == opcode; });
}

// The users of x's unknown values: how many instructions work on arrays of its size.
int64_t CountUnknown(const Module& module, Opcode opcode) {
  const KnownPart known(*module.entry());
  const std::vector<Instruction*> all = module.entry()->Instructions();
  return std::count_if(all.begin(), all.end(),
                       [&](const Instruction* x) { return x->opcode() == opcode && !known.Contains(*x); });
}

std::unique_ptr<Module> Folded(const std::string& text, const std::set<int64_t>& known, bool expect_change = true) {
  const std::unique_ptr<Module> before = Parse(text);
  MarkKnownParameters(*before, known);
  std::unique_ptr<Module> after = before->Clone();
  const absl::StatusOr<bool> changed = FoldChannelScales(*after);
  EXPECT_TRUE(changed.ok() && *changed == expect_change) << changed.status() << ToText(*after);
  EXPECT_TRUE(VerifyModule(*after).ok()) << VerifyModule(*after) << ToText(*after);
  ExpectSameResults(*before, *after, 1e-5);
  EXPECT_FALSE(*FoldChannelScales(*after)) << "a second time";
  return after;
}

std::string Normalised(const char* weights, const char* labels, const char* groups) {
  return absl::StrCat(R"(HloModule m
ENTRY main { x = f32[2,6,6,4] parameter(0)
  w = )",
                      weights, R"( parameter(1)
  mean = f32[8] parameter(2)
  scale = f32[8] parameter(3)
  variance = f32[8] parameter(4)
  offset = f32[8] parameter(5)
  c = f32[2,6,6,8] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=)",
                      labels, groups, R"(
  mb = f32[2,6,6,8] broadcast(mean), dimensions={3}
  d = f32[2,6,6,8] subtract(c, mb)
  v2 = f32[8] multiply(variance, variance)
  half = f32[] constant(0.5)
  halves = f32[8] broadcast(half), dimensions={}
  v = f32[8] add(v2, halves)
  i = f32[8] rsqrt(v)
  ib = f32[2,6,6,8] broadcast(i), dimensions={3}
  sb = f32[2,6,6,8] broadcast(scale), dimensions={3}
  f = f32[2,6,6,8] multiply(ib, sb)
  e = f32[2,6,6,8] multiply(d, f)
  ob = f32[2,6,6,8] broadcast(offset), dimensions={3}
  ROOT r = f32[2,6,6,8] add(e, ob) })");
}

TEST(ChannelScales, BatchNormalisationBecomesPartOfAConvolutionsWeights) {
  for (const auto& [weights, labels, groups] : {std::tuple("f32[3,3,4,8]", "b01f_01io->b01f", ""),
                                                {"f32[8,3,3,4]", "b01f_o01i->b01f", ""},
                                                {"f32[3,3,2,8]", "b01f_01io->b01f", ", feature_group_count=2"},
                                                {"f32[3,3,1,8]", "b01f_01io->b01f", ", feature_group_count=4"}}) {
    const std::unique_ptr<Module> after = Folded(Normalised(weights, labels, groups), {1, 2, 3, 4, 5});
    EXPECT_EQ(CountUnknown(*after, Opcode::kMultiply), 0) << weights << ToText(*after);
    EXPECT_EQ(CountUnknown(*after, Opcode::kSubtract), 0) << weights;
    EXPECT_EQ(CountUnknown(*after, Opcode::kAdd), 1) << weights;
  }
}

TEST(ChannelScales, NothingIsFoldedWhereTheWeightsAreNotKnown) {
  // Known vectors are still combined before they are broadcast.
  const std::unique_ptr<Module> after = Folded(Normalised("f32[3,3,4,8]", "b01f_01io->b01f", ""), {2, 3, 4, 5});
  EXPECT_EQ(CountUnknown(*after, Opcode::kMultiply), 1) << ToText(*after);
  EXPECT_EQ(Count(*after, Opcode::kBroadcast), 4);
}

std::string Dense(const char* dot, const char* after) {
  return absl::StrCat(R"(HloModule m
ENTRY main { x = f32[5,4,6] parameter(0)
  w = f32[5,6,7] parameter(1)
  s = f32[7] parameter(2)
  g = f32[5] parameter(3)
  two = f32[] constant(2)
  )",
                      dot, after);
}

TEST(ChannelScales, ADotsColumnsAndBatchesAreScaled) {
  constexpr char kDot[] =
      "d = f32[5,4,7] dot(x, w), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
      "rhs_contracting_dims={1}\n";
  const std::unique_ptr<Module> columns = Folded(Dense(kDot, R"(
  a = f32[5,4,7] broadcast(s), dimensions={2}
  t = f32[5,4,7] broadcast(two), dimensions={}
  q = f32[5,4,7] divide(d, t)
  ROOT r = f32[5,4,7] multiply(a, q) })"),
                                                 {1, 2, 3});
  EXPECT_EQ(CountUnknown(*columns, Opcode::kMultiply) + CountUnknown(*columns, Opcode::kDivide), 0);
  const std::unique_ptr<Module> batches = Folded(Dense(kDot, R"(
  a = f32[5,4,7] broadcast(g), dimensions={0}
  ROOT r = f32[5,4,7] multiply(d, a) })"),
                                                 {1, 2, 3});
  EXPECT_EQ(CountUnknown(*batches, Opcode::kMultiply), 0);
}

TEST(ChannelScales, LeavesWhatIsNoFactorByChannelOfTheWeights) {
  constexpr char kDot[] =
      "d = f32[5,4,7] dot(x, w), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
      "rhs_contracting_dims={1}\n";
  // One addition; a quotient by the product; a product with several users; rows, which are the input's.
  for (const char* after : {R"(
  a = f32[5,4,7] broadcast(s), dimensions={2}
  ROOT r = f32[5,4,7] add(d, a) })",
                            R"(
  a = f32[5,4,7] broadcast(s), dimensions={2}
  ROOT r = f32[5,4,7] divide(a, d) })",
                            R"(
  a = f32[5,4,7] broadcast(s), dimensions={2}
  e = f32[5,4,7] multiply(d, a)
  ROOT r = f32[5,4,7] add(d, e) })",
                            R"(
  k = f32[4] constant({1, 2, 3, 4})
  a = f32[5,4,7] broadcast(k), dimensions={1}
  ROOT r = f32[5,4,7] multiply(d, a) })"}) {
    Folded(Dense(kDot, after), {1, 2, 3}, /*expect_change=*/false);
  }
}

TEST(ChannelScales, NarrowFloatsKeepTheirRounding) {
  std::string text = Dense(
      "d = f32[5,4,7] dot(x, w), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
      "rhs_contracting_dims={1}\n",
      R"(
  a = f32[5,4,7] broadcast(s), dimensions={2}
  ROOT r = f32[5,4,7] multiply(d, a) })");
  for (size_t at = text.find("f32"); at != std::string::npos; at = text.find("f32", at)) text.replace(at, 3, "bf16");
  Folded(text, {1, 2, 3}, /*expect_change=*/false);
}

}  // namespace
}  // namespace smelt::hlo
