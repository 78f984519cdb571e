#include "hlo/known/split.h"

#include <algorithm>

#include "gtest/gtest.h"
#include "hlo/known/known_parameters.h"
#include "tests/hlo/passes/pass_testing.h"

namespace smelt::hlo {
namespace {

// Splits, verifies both, and compares: `main` on its inputs gives what the module gives on its own.
KnownSplit Split(std::string_view text, const std::set<int64_t>& known) {
  const std::unique_ptr<Module> module = Parse(text);
  MarkKnownParameters(*module, known);
  absl::StatusOr<KnownSplit> split = SplitKnownPart(*module);
  EXPECT_TRUE(split.ok()) << split.status();
  EXPECT_TRUE(VerifyModule(*split->main).ok()) << VerifyModule(*split->main) << ToText(*split->main);
  if (split->known != nullptr) {
    EXPECT_TRUE(VerifyModule(*split->known).ok()) << ToText(*split->known);
  }
  const std::vector<Literal> inputs = MakeInputs(*module).value();
  std::vector<const Literal*> arguments, main_arguments;
  for (const Literal& input : inputs) arguments.push_back(&input);
  const Literal want = Evaluate(*module, arguments).value();
  const absl::StatusOr<std::vector<Literal>> main_inputs = split->MainInputs(inputs);
  EXPECT_TRUE(main_inputs.ok()) << main_inputs.status();
  for (const Literal& input : *main_inputs) main_arguments.push_back(&input);
  const absl::StatusOr<Literal> got = Evaluate(*split->main, main_arguments);
  EXPECT_TRUE(got.ok()) << got.status() << ToText(*split->main);
  ExpectNear(*got, want, 0);
  return *std::move(split);
}

int64_t Count(const Module& module, Opcode opcode) {
  const std::vector<Instruction*> all = module.entry()->Instructions();
  return std::count_if(all.begin(), all.end(), [&](const Instruction* x) { return x->opcode() == opcode; });
}

TEST(Split, ComputesBeforehandWhatFollowsFromWeights) {
  const KnownSplit split = Split(R"(HloModule m
ENTRY main { w = f32[8,16] parameter(0)
  x = f32[4,8] parameter(1)
  s = f32[16] parameter(2)
  unused = f32[3] parameter(3)
  sb = f32[8,16] broadcast(s), dimensions={1}
  ws = f32[8,16] multiply(w, sb)
  wt = f32[16,8] transpose(ws), dimensions={1,0}
  d = f32[4,16] dot(x, wt), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  b = f32[4,16] broadcast(s), dimensions={1}
  ROOT r = f32[4,16] add(d, b) })",
                                 {0, 2, 3});
  // The input, the transposed product, and the vector itself: its broadcast costs a kernel nothing.
  EXPECT_EQ(split.main->entry()->Parameters().size(), 3);
  EXPECT_EQ(KnownParameters(*split.main), (std::set<int64_t>{1, 2}));
  EXPECT_EQ(Count(*split.main, Opcode::kMultiply) + Count(*split.main, Opcode::kTranspose), 0);
  EXPECT_EQ(Count(*split.main, Opcode::kBroadcast), 1);
  ASSERT_NE(split.known, nullptr);
  EXPECT_EQ(split.known_parameters, (std::vector<int64_t>{0, 2}));
}

TEST(Split, KeepsWeightsNarrowWhereTheyAreWidened) {
  const KnownSplit split = Split(R"(HloModule m
ENTRY main { x = f32[4,512] parameter(0)
  w = s8[512,512] parameter(1)
  s = f32[512] parameter(2)
  f = f32[512,512] convert(w)
  sb = f32[512,512] broadcast(s), dimensions={1}
  ws = f32[512,512] multiply(f, sb)
  ROOT d = f32[4,512] dot(x, ws), lhs_contracting_dims={1}, rhs_contracting_dims={0} })",
                                 {1, 2});
  EXPECT_EQ(split.known, nullptr);
  EXPECT_EQ(Count(*split.main, Opcode::kConvert), 1);
}

TEST(Split, LooksIntoTuplesAndLeavesLoopsTheirState) {
  const KnownSplit split = Split(R"(HloModule m
body { s = (s32[], f32[16], f32[16]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  a = f32[16] get-tuple-element(s), index=1
  w = f32[16] get-tuple-element(s), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
  b = f32[16] multiply(a, w)
  ROOT t = (s32[], f32[16], f32[16]) tuple(j, b, w) }
cond { s = (s32[], f32[16], f32[16]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT l = pred[] compare(i, n), direction=LT }
ENTRY main { x = f32[16] parameter(0)
  p = (f32[16], f32[16]) parameter(1)
  u = f32[16] get-tuple-element(p), index=0
  v = f32[16] get-tuple-element(p), index=1
  w = f32[16] tanh(u)
  z = s32[] constant(0)
  t = (s32[], f32[16], f32[16]) tuple(z, x, w)
  l = (s32[], f32[16], f32[16]) while(t), condition=cond, body=body
  ROOT r = ((s32[], f32[16], f32[16]), f32[16]) tuple(l, v) })",
                                 {1});
  EXPECT_EQ(split.main->entry()->Parameters().size(), 3);
  EXPECT_EQ(Count(*split.main, Opcode::kTanh), 0);
}

TEST(Split, AProgramOfKnownValuesAlone) {
  const KnownSplit split = Split(R"(HloModule m, input_output_alias={ {}: (0, {}, may-alias) }
ENTRY main { w = f32[16] parameter(0)
  ROOT r = f32[16] tanh(w) })",
                                 {0});
  EXPECT_EQ(split.main->entry()->root()->opcode(), Opcode::kParameter);
}

TEST(Split, WithoutKnownParametersNothingIsDone) {
  const KnownSplit split = Split(R"(HloModule m
ENTRY main { x = f32[16] parameter(0)
  c = f32[16] iota(), iota_dimension=0
  ROOT r = f32[16] add(x, c) })",
                                 {});
  EXPECT_EQ(split.known, nullptr);
  EXPECT_EQ(Count(*split.main, Opcode::kIota), 1);
}

}  // namespace
}  // namespace smelt::hlo
