// What XLA's fusion for CPUs does, one rule a test. The expectations are what XLA itself made of such programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "fusion/heuristics/heuristics.h"
#include "fusion/heuristics/xla_cpu_pass.h"
#include "fusion/legality.h"
#include "tests/fusion/programs.h"

namespace smelt::fusion {
namespace {

using hlo::Opcode;
using testing::UnorderedElementsAre;

bool Counts(const hlo::Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  return opcode != Opcode::kParameter && opcode != Opcode::kConstant && opcode != Opcode::kBitcast;
}

// "reduce: broadcast multiply": the root's name, then those of what is fused into it, sorted; constants and bitcasts
// left out. Of the entry, fusions of at least two.
std::vector<std::string> Fusions(std::string_view text) {
  const std::unique_ptr<hlo::Module> module = Parse(text);
  std::vector<std::string> fusions;
  for (const xla_cpu::XlaKernel& kernel : xla_cpu::XlaCpuKernels(*module->entry())) {
    std::vector<std::string> names;
    for (size_t i = 1; i < kernel.copies.size(); ++i) {
      if (Counts(*kernel.copies[i].instruction)) names.push_back(kernel.copies[i].instruction->name());
    }
    if (names.empty()) continue;
    std::sort(names.begin(), names.end());
    std::string line = kernel.copies[0].instruction->name() + ":";
    for (const std::string& name : names) line += " " + name;
    fusions.push_back(line);
  }
  return fusions;
}

std::string Entry(std::string_view body) {
  return "HloModule m\nsum { left = f32[] parameter(0) right = f32[] parameter(1) ROOT both = f32[] add(left, right) "
         "}\n"
         "max { left = f32[] parameter(0) right = f32[] parameter(1) ROOT more = f32[] maximum(left, right) }\nENTRY e "
         "{\n" +
         std::string(body) + "\n}\n";
}

TEST(XlaCpu, CheapProducersAreCopiedIntoAllTheirConsumers) {
  EXPECT_THAT(Fusions(Entry(R"(
      x = f32[64] parameter(0)
      n = f32[64] negate(x)
      a = f32[64] abs(n)
      b = f32[64] floor(n)
      ROOT t = (f32[64], f32[64]) tuple(a, b))")),
              UnorderedElementsAre("a: n", "b: n"));
}

TEST(XlaCpu, ExpensiveProducersAreNotCopied) {
  EXPECT_THAT(Fusions(Entry(R"(
      x = f32[64] parameter(0)
      e = f32[64] exponential(x)
      a = f32[64] abs(e)
      b = f32[64] floor(e)
      ROOT t = (f32[64], f32[64]) tuple(a, b))")),
              testing::IsEmpty());
}

TEST(XlaCpu, AnExpensiveProducerWhoseUsersAreInOneFusionIsTaken) {
  EXPECT_THAT(Fusions(Entry(R"(
      x = f32[64] parameter(0)
      e = f32[64] exponential(x)
      a = f32[64] abs(e)
      b = f32[64] floor(e)
      ROOT s = f32[64] add(a, b))")),
              UnorderedElementsAre("s: a b e"));
}

TEST(XlaCpu, SineIsCheap) {
  EXPECT_THAT(Fusions(Entry(R"(
      x = f32[64] parameter(0)
      e = f32[64] sine(x)
      a = f32[64] abs(e)
      b = f32[64] floor(e)
      ROOT t = (f32[64], f32[64]) tuple(a, b))")),
              UnorderedElementsAre("a: e", "b: e"));
}

TEST(XlaCpu, IntegerDivisionIsCheapOfAConstantNotByOne) {
  EXPECT_THAT(Fusions(Entry(R"(
      y = s32[64] parameter(0)
      seven = s32[] constant(7)
      sevens = s32[64] broadcast(seven), dimensions={}
      p = s32[64] divide(sevens, y)
      a = s32[64] negate(p)
      b = s32[64] not(p)
      q = s32[64] divide(y, sevens)
      c = s32[64] negate(q)
      d = s32[64] not(q)
      ROOT t = (s32[64], s32[64], s32[64], s32[64]) tuple(a, b, c, d))")),
              UnorderedElementsAre("a: p sevens", "b: p sevens", "q: sevens"));
}

TEST(XlaCpu, ExpensiveProducersStayOutOfConsumersThatReuseThem) {
  EXPECT_THAT(Fusions(Entry(R"(
      x = f32[64] parameter(0)
      e = f32[64] exponential(x)
      w = f32[8,64] broadcast(e), dimensions={1}
      ROOT n = f32[8,64] negate(w))")),
              UnorderedElementsAre("n: w"));
}

TEST(XlaCpu, ReuseReachesWhatAReusedProducerReads) {
  // The negation is cheap and comes in; the exponential below it would be computed eight times.
  EXPECT_THAT(Fusions(Entry(R"(
      x = f32[64] parameter(0)
      e = f32[64] exponential(x)
      m = f32[64] negate(e)
      w = f32[8,64] broadcast(m), dimensions={1}
      ROOT n = f32[8,64] negate(w))")),
              UnorderedElementsAre("n: m w"));
}

TEST(XlaCpu, DynamicSlicesReuseAndSlicesDoNot) {
  EXPECT_THAT(Fusions(Entry(R"(
      x = f32[64] parameter(0)
      i = s32[] parameter(1)
      e = f32[64] exponential(x)
      d = f32[8] dynamic-slice(e, i), dynamic_slice_sizes={8}
      f = f32[64] exponential(x)
      s = f32[8] slice(f), slice={[0:8]}
      ROOT t = (f32[8], f32[8]) tuple(d, s))")),
              UnorderedElementsAre("s: f"));
}

TEST(XlaCpu, AProducerThatReadsMoreThanItWritesIsFusedIntoAllUsersOrNone) {
  constexpr std::string_view kText = R"(
      x = f32[64] parameter(0)
      y = f32[64] parameter(1)
      s = f32[64] add(x, y)
      a = f32[64] negate(s)
      b = f32[64] %s
      ROOT t = (f32[64], f32[64]) tuple(a, b))";
  const auto with = [&](std::string_view last) {
    std::string text(kText);
    return Entry(text.replace(text.find("%s"), 2, last));
  };
  EXPECT_THAT(Fusions(with("abs(s)")), UnorderedElementsAre("a: s", "b: s"));
  EXPECT_THAT(Fusions(with("custom-call(s), custom_call_target=\"f\"")), testing::IsEmpty());
}

TEST(XlaCpu, EveryPathToAUserMustFuse) {
  // From the sum to the last addition over a sort nothing can be fused.
  EXPECT_THAT(Fusions(R"(HloModule m
      less { left = f32[] parameter(0) right = f32[] parameter(1) ROOT is = pred[] compare(left, right), direction=LT }
      ENTRY e {
      x = f32[64] parameter(0)
      y = f32[64] parameter(1)
      s = f32[64] add(x, y)
      n = f32[64] negate(s)
      o = f32[64] sort(n), dimensions={0}, to_apply=less
      ROOT a = f32[64] add(s, o)
      })"),
              testing::IsEmpty());
}

TEST(XlaCpu, BroadcastsAndWideningConvertsAreAlwaysCopied) {
  EXPECT_THAT(Fusions(Entry(R"(
      x = bf16[64] parameter(0)
      w = f32[64] convert(x)
      a = f32[64] negate(w)
      b = f32[64] abs(w)
      v = f32[] parameter(1)
      l = f32[64] broadcast(v), dimensions={}
      c = f32[64] add(b, l)
      d = f32[64] multiply(a, l)
      ROOT t = (f32[64], f32[64]) tuple(c, d))")),
              UnorderedElementsAre("c: b l w", "d: a l w"));
}

TEST(XlaCpu, RoundingToBf16IsNotCopied) {
  EXPECT_THAT(Fusions(Entry(R"(
      x = f32[64] parameter(0)
      w = bf16[64] convert(x)
      a = bf16[64] negate(w)
      b = bf16[64] abs(w)
      ROOT t = (bf16[64], bf16[64]) tuple(a, b))")),
              testing::IsEmpty());
}

TEST(XlaCpu, ReductionsTakeProducersAndJoinElementwiseConsumers) {
  EXPECT_THAT(Fusions(Entry(R"(
      x = f32[8,64] parameter(0)
      zero = f32[] constant(0)
      e = f32[8,64] exponential(x)
      r = f32[8] reduce(e, zero), dimensions={1}, to_apply=sum
      l = f32[8] log(r)
      w = f32[8,64] broadcast(l), dimensions={0}
      ROOT s = f32[8,64] subtract(x, w))")),
              UnorderedElementsAre("l: e r", "s: w"));
}

TEST(XlaCpu, AtMostSixReductionsShareAFusion) {
  std::string body = "zero = f32[] constant(0)\n";
  std::string sum;
  for (int i = 0; i < 8; ++i) {
    const std::string n = std::to_string(i);
    body += "x" + n + " = f32[8,64] parameter(" + n + ")\n";
    body += "r" + n + " = f32[8] reduce(x" + n + ", zero), dimensions={1}, to_apply=sum\n";
    body += (i == 7 ? "ROOT " : "") + std::string("t") + n + " = f32[8] add(r" + n + ", " +
            (i == 0 ? "r0" : "t" + std::to_string(i - 1)) + ")\n";
  }
  const std::vector<std::string> fusions = Fusions(Entry(body));
  ASSERT_EQ(fusions.size(), 1);
  EXPECT_EQ(std::count(fusions[0].begin(), fusions[0].end(), 'r'), 6) << fusions[0];
  EXPECT_EQ(std::count(fusions[0].begin(), fusions[0].end(), 't'), 8) << fusions[0];
}

TEST(XlaCpu, AReductionIsNotEmittedTwiceInAFusion) {
  // Read at two indices, it stays out. Read at one, it comes in.
  EXPECT_THAT(Fusions(Entry(R"(
      x = f32[64,64] parameter(0)
      zero = f32[] constant(0)
      r = f32[64] reduce(x, zero), dimensions={1}, to_apply=sum
      a = f32[32] slice(r), slice={[0:32]}
      b = f32[32] slice(r), slice={[32:64]}
      ROOT s = f32[32] add(a, b))")),
              UnorderedElementsAre("s: a b"));
}

TEST(XlaCpu, CodeIsCopiedAtMostFifteenTimes) {
  // Sixteen slices of a negation, summed: each reads the negation at an index of its own.
  for (const int slices : {15, 16}) {
    std::string body = "x = f32[64] parameter(0)\nn = f32[64] negate(x)\n";
    for (int i = 0; i < slices; ++i) {
      const std::string begin = std::to_string(i), end = std::to_string(i + 8);
      body += "t" + begin + " = f32[8] slice(n), slice={[" + begin + ":" + end + "]}\n";
      if (i == 0) continue;
      body += (i == slices - 1 ? "ROOT " : "") + std::string("a") + begin + " = f32[8] add(" +
              (i == 1 ? "t0" : "a" + std::to_string(i - 1)) + ", t" + begin + ")\n";
    }
    const std::vector<std::string> fusions = Fusions(Entry(body));
    ASSERT_EQ(fusions.size(), 1);
    EXPECT_EQ(fusions[0].find(" n") != std::string::npos, slices <= 15) << fusions[0];
  }
}

TEST(XlaCpu, LongConcatenationsAlongTheMinorDimensionAreCopiesOfMemory) {
  const auto text = [](int columns) {
    const std::string c = std::to_string(columns), all = std::to_string(2 * columns);
    return Entry("x = f32[4," + c + "] parameter(0)\ny = f32[4," + c + "] parameter(1)\nn = f32[4," + c +
                 "] negate(x)\nc = f32[4," + all + "] concatenate(n, y), dimensions={1}\nROOT a = f32[4," + all +
                 "] abs(c)");
  };
  EXPECT_THAT(Fusions(text(63)), UnorderedElementsAre("a: c n"));
  EXPECT_THAT(Fusions(text(64)), testing::IsEmpty());
}

TEST(XlaCpu, ConcatenationsOfMoreThanEightOperandsStayAlone) {
  for (const int operands : {8, 9}) {
    std::string body = "x = f32[2] parameter(0)\n", list;
    for (int i = 0; i < operands; ++i) {
      body += "n" + std::to_string(i) + " = f32[2] negate(x)\n";
      list += (i == 0 ? "" : ", ") + std::string("n") + std::to_string(i);
    }
    body += "ROOT c = f32[" + std::to_string(2 * operands) + "] concatenate(" + list + "), dimensions={0}";
    EXPECT_EQ(Fusions(Entry(body)).size(), operands <= 8 ? 1 : 0);
  }
}

TEST(XlaCpu, ADotTakesTheMatrixOfAShortVector) {
  EXPECT_THAT(Fusions(Entry(R"(
      m = f32[16,64] parameter(0)
      v = f32[64] parameter(1)
      n = f32[16,64] negate(m)
      w = f32[64] negate(v)
      ROOT d = f32[16] dot(n, w), lhs_contracting_dims={1}, rhs_contracting_dims={0})")),
              UnorderedElementsAre("d: n"));
  EXPECT_THAT(Fusions(Entry(R"(
      m = f32[16,64] parameter(0)
      v = f32[64,16] parameter(1)
      n = f32[16,64] negate(m)
      ROOT d = f32[16,16] dot(n, v), lhs_contracting_dims={1}, rhs_contracting_dims={0})")),
              testing::IsEmpty());
}

TEST(XlaCpu, AnAdditionTakesTheVectorDotBeforeItAndNothingElse) {
  EXPECT_THAT(Fusions(Entry(R"(
      m = f32[16,64] parameter(0)
      v = f32[64] parameter(1)
      b = f32[16] parameter(2)
      d = f32[16] dot(m, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      a = f32[16] add(d, b)
      ROOT n = f32[16] negate(a))")),
              UnorderedElementsAre("a: d"));
}

TEST(XlaCpu, AnUpdateTakesItsSliceButNotTheValueItWritesOver) {
  // The update in place may read what it overwrites only where it overwrites it.
  EXPECT_THAT(Fusions(Entry(R"(
      x = f32[64] parameter(0)
      i = s32[] parameter(1)
      j = s32[] parameter(2)
      s = f32[8] dynamic-slice(x, i), dynamic_slice_sizes={8}
      n = f32[8] negate(s)
      ROOT u = f32[64] dynamic-update-slice(x, n, i))")),
              UnorderedElementsAre("u: n s"));
  EXPECT_THAT(Fusions(Entry(R"(
      x = f32[64] parameter(0)
      i = s32[] parameter(1)
      j = s32[] parameter(2)
      s = f32[8] dynamic-slice(x, j), dynamic_slice_sizes={8}
      n = f32[8] negate(s)
      ROOT u = f32[64] dynamic-update-slice(x, n, i))")),
              UnorderedElementsAre("u: n"));
  EXPECT_THAT(Fusions(Entry(R"(
      x = f32[32] parameter(0)
      y = f32[8] parameter(1)
      i = s32[] parameter(2)
      zero = f32[] constant(0)
      p = f32[64] pad(x, zero), padding=0_32
      n = f32[8] negate(y)
      ROOT u = f32[64] dynamic-update-slice(p, n, i))")),
              UnorderedElementsAre("u: n"));
}

TEST(XlaCpu, AProductThatASoftmaxShiftsIsMadeOnce) {
  EXPECT_THAT(Fusions(Entry(R"(
      x = f32[8,64] parameter(0)
      least = f32[] constant(-inf)
      half = f32[] constant(0.5)
      h = f32[8,64] broadcast(half), dimensions={}
      p = f32[8,64] multiply(x, h)
      m = f32[8] reduce(p, least), dimensions={1}, to_apply=max
      w = f32[8,64] broadcast(m), dimensions={0}
      s = f32[8,64] subtract(p, w)
      ROOT e = f32[8,64] exponential(s))")),
              UnorderedElementsAre("p: h", "e: s w"));
}

TEST(XlaCpu, LargeConstantsAndRootsStayOutside) {
  EXPECT_THAT(Fusions(Entry(R"(
      x = f32[2] parameter(0)
      c = f32[2] constant({1, 2})
      a = f32[2] add(x, c)
      ROOT n = f32[2] negate(a)
      d = f32[2] abs(n))")),
              UnorderedElementsAre("n: a"));
}

TEST(XlaCpu, TheConfigurationIsLegalAndHoldsThePassesEdges) {
  // One kernel in all.
  const std::unique_ptr<hlo::Module> module = Parse(Entry(R"(
      x = f32[8,64] parameter(0)
      zero = f32[] constant(0)
      e = f32[8,64] exponential(x)
      r = f32[8] reduce(e, zero), dimensions={1}, to_apply=sum
      l = f32[8] log(r)
      ROOT n = f32[8] negate(l))"));
  const Space space = BuildSpace(*module);
  const Config config = Heuristic("xla-cpu", space).value();
  for (const std::string_view name : {"e -> r", "r -> l", "l -> n"}) {
    EXPECT_TRUE(config.Get(FindDecision(space, name))) << name;
  }
  EXPECT_EQ(config, Legalize(space, config));
}

}  // namespace
}  // namespace smelt::fusion
