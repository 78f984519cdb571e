// Small programs with control flow, tuples and shared buffers, run compiled and by the evaluator on the same inputs.
#include "targets/cpu/program/executable.h"

#include <cmath>
#include <cstring>
#include <random>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "hlo/evaluator/evaluator.h"
#include "hlo/golden/inputs.h"
#include "hlo/text/parser.h"
#include "targets/cpu/processor/detect.h"

namespace smelt::cpu {
namespace {

Target TestTarget(int threads = 1) {
  Target target = DetectTarget(/*measure=*/false);
  target.threads = threads;
  return target;
}

void AppendLeaves(const hlo::Literal& literal, std::vector<const hlo::Literal*>* leaves) {
  if (literal.IsArray()) leaves->push_back(&literal);
  for (const hlo::Literal& element : literal.elements()) AppendLeaves(element, leaves);
}

void ExpectClose(const hlo::Literal& got, const hlo::Literal& want, const std::string& what) {
  ASSERT_TRUE(got.shape().SameAs(want.shape())) << what << ": " << got.shape().ToString();
  for (int64_t i = 0; i < want.element_count(); ++i) {
    const double g = got.GetDouble(i), w = want.GetDouble(i);
    if (std::isnan(w)) {
      ASSERT_TRUE(std::isnan(g)) << what << " element " << i;
    } else {
      ASSERT_NEAR(g, w, 2e-5 * std::max(1.0, std::fabs(w))) << what << " element " << i;
    }
  }
}

struct Outcome {
  std::vector<hlo::Literal> outputs;
  std::unique_ptr<Executable> executable;
};

// Compiles, runs twice, and compares both times with the evaluator; inputs must come out unchanged.
Outcome RunBoth(const std::string& text, int threads = 1) {
  Outcome outcome;
  auto module = hlo::ParseModule(text);
  EXPECT_TRUE(module.ok()) << module.status();
  if (!module.ok()) return outcome;
  auto inputs = hlo::MakeInputs(**module);
  EXPECT_TRUE(inputs.ok()) << inputs.status();
  std::vector<const hlo::Literal*> arguments, leaves;
  for (const hlo::Literal& input : *inputs) {
    arguments.push_back(&input);
    AppendLeaves(input, &leaves);
  }
  auto want = hlo::Evaluate(**module, arguments);
  EXPECT_TRUE(want.ok()) << want.status();
  auto executable = Executable::Compile(**module, TestTarget(threads), {});
  EXPECT_TRUE(executable.ok()) << executable.status();
  if (!want.ok() || !executable.ok()) return outcome;
  std::vector<hlo::Literal> before;
  for (const hlo::Literal* leaf : leaves) before.push_back(*leaf);
  std::vector<const hlo::Literal*> expected;
  AppendLeaves(*want, &expected);
  for (int run = 0; run < 2; ++run) {
    auto outputs = (*executable)->Run(leaves);
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    if (!outputs.ok()) return outcome;
    EXPECT_EQ(outputs->size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      ExpectClose((*outputs)[i], *expected[i], absl::StrCat("run ", run, " output ", i));
    }
    outcome.outputs = std::move(*outputs);
  }
  for (size_t i = 0; i < leaves.size(); ++i) EXPECT_TRUE(*leaves[i] == before[i]) << "input " << i << " changed";
  outcome.executable = std::move(*executable);
  return outcome;
}

TEST(Executable, RunsOneKernel) {
  Outcome outcome = RunBoth(R"(HloModule m
ENTRY main { p = f32[4,33] parameter(0)
  q = f32[4,33] parameter(1)
  s = f32[4,33] add(p, q)
  ROOT t = f32[4,33] tanh(s) })");
  ASSERT_NE(outcome.executable, nullptr);
  EXPECT_EQ(outcome.executable->kernels().size(), 2);
  for (const KernelInfo& kernel : outcome.executable->kernels()) EXPECT_FALSE(kernel.opaque) << kernel.opaque_reason;
}

TEST(Executable, ReturnsAnInputAConstantAndTheSameValueTwice) {
  RunBoth(R"(HloModule m
ENTRY main { p = f32[8] parameter(0)
  c = f32[3] constant({1, 2, 3})
  n = f32[8] negate(p)
  r = f32[2,4] reshape(n)
  ROOT t = (f32[8], f32[3], f32[8], f32[8], f32[2,4], f32[3]) tuple(p, c, n, n, r, c) })");
}

TEST(Executable, LooksThroughNestedTuples) {
  RunBoth(R"(HloModule m
ENTRY main { p = (f32[8], (f32[4], s32[2])) parameter(0)
  a = f32[8] get-tuple-element(p), index=0
  b = (f32[4], s32[2]) get-tuple-element(p), index=1
  c = f32[4] get-tuple-element(b), index=0
  d = s32[2] get-tuple-element(b), index=1
  e = f32[8] exponential(a)
  g = (f32[8], f32[4]) tuple(e, c)
  f = ((f32[8], f32[4]), s32[2]) tuple(g, d)
  h = (f32[8], f32[4]) get-tuple-element(f), index=0
  ROOT r = ((f32[8], f32[4]), (f32[8], (f32[4], s32[2]))) tuple(h, p) })");
}

TEST(Executable, SwapsTheStateOfALoop) {
  for (int count : {0, 1, 2, 5}) {
    RunBoth(absl::StrCat(R"(HloModule m
body { s = (f32[16], f32[16], s32[]) parameter(0)
  a = f32[16] get-tuple-element(s), index=0
  b = f32[16] get-tuple-element(s), index=1
  i = s32[] get-tuple-element(s), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
  ROOT t = (f32[16], f32[16], s32[]) tuple(b, a, j) }
cond { s = (f32[16], f32[16], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=2
  n = s32[] constant()",
                         count, R"()
  ROOT l = pred[] compare(i, n), direction=LT }
ENTRY main { p = f32[16] parameter(0)
  q = f32[16] parameter(1)
  z = s32[] constant(0)
  t = (f32[16], f32[16], s32[]) tuple(p, q, z)
  ROOT w = (f32[16], f32[16], s32[]) while(t), condition=cond, body=body })"));
  }
}

TEST(Executable, AsksTheConditionWhereTheCountIsNotPlain) {
  for (const char* first : {"3", "500"}) {
    RunBoth(absl::StrCat(R"(HloModule m
body { s = (f32[16], f32[], f32[16]) parameter(0)
  a = f32[16] get-tuple-element(s), index=0
  x = f32[] get-tuple-element(s), index=1
  b = f32[16] get-tuple-element(s), index=2
  y = f32[] add(x, x)
  c = f32[16] add(a, b)
  ROOT t = (f32[16], f32[], f32[16]) tuple(c, y, a) }
cond { s = (f32[16], f32[], f32[16]) parameter(0)
  x = f32[] get-tuple-element(s), index=1
  n = f32[] constant(100)
  ROOT l = pred[] compare(x, n), direction=LT }
ENTRY main { p = f32[16] parameter(0)
  q = f32[16] parameter(1)
  x = f32[] constant()",
                         first, R"()
  t = (f32[16], f32[], f32[16]) tuple(p, x, q)
  ROOT w = (f32[16], f32[], f32[16]) while(t), condition=cond, body=body })"));
  }
}

TEST(Executable, RotatesStateAndUsesOldAndNewValues) {
  const Outcome outcome = RunBoth(R"(HloModule m
body { s = (f32[16], f32[16], f32[16], s32[], f32[16]) parameter(0)
  a = f32[16] get-tuple-element(s), index=0
  b = f32[16] get-tuple-element(s), index=1
  c = f32[16] get-tuple-element(s), index=2
  i = s32[] get-tuple-element(s), index=3
  w = f32[16] get-tuple-element(s), index=4
  one = s32[] constant(1)
  j = s32[] add(i, one)
  x = f32[16] multiply(a, w)
  y = f32[16] add(x, c)
  ROOT t = (f32[16], f32[16], f32[16], s32[], f32[16]) tuple(b, y, a, j, w) }
cond { s = (f32[16], f32[16], f32[16], s32[], f32[16]) parameter(0)
  i = s32[] get-tuple-element(s), index=3
  n = s32[] constant(7)
  ROOT l = pred[] compare(i, n), direction=LT }
ENTRY main { p = f32[16] parameter(0)
  q = f32[16] parameter(1)
  z = s32[] constant(0)
  t = (f32[16], f32[16], f32[16], s32[], f32[16]) tuple(p, q, p, z, q)
  v = (f32[16], f32[16], f32[16], s32[], f32[16]) while(t), condition=cond, body=body
  a = f32[16] get-tuple-element(v), index=0
  b = f32[16] get-tuple-element(v), index=1
  d = f32[16] subtract(a, b)
  ROOT r = (f32[16], f32[16], f32[16]) tuple(d, q, a) })");
  ASSERT_NE(outcome.executable, nullptr);
  for (const KernelInfo& kernel : outcome.executable->kernels())
    EXPECT_NE(kernel.name, "l") << "a count that is plain asks no condition";
}

TEST(Executable, RunsNestedLoopsWhoseInnerStateComesFromTheOuter) {
  RunBoth(R"(HloModule m
inner_body { s = (f32[8], s32[], f32[8]) parameter(0)
  a = f32[8] get-tuple-element(s), index=0
  i = s32[] get-tuple-element(s), index=1
  k = f32[8] get-tuple-element(s), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
  x = f32[8] add(a, k)
  ROOT t = (f32[8], s32[], f32[8]) tuple(x, j, k) }
inner_cond { s = (f32[8], s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=1
  n = s32[] constant(3)
  ROOT l = pred[] compare(i, n), direction=LT }
body { s = (f32[8], s32[], f32[8]) parameter(0)
  a = f32[8] get-tuple-element(s), index=0
  i = s32[] get-tuple-element(s), index=1
  k = f32[8] get-tuple-element(s), index=2
  z = s32[] constant(0)
  u = (f32[8], s32[], f32[8]) tuple(a, z, k)
  v = (f32[8], s32[], f32[8]) while(u), condition=inner_cond, body=inner_body
  x = f32[8] get-tuple-element(v), index=0
  m = f32[8] subtract(x, a)
  one = s32[] constant(1)
  j = s32[] add(i, one)
  ROOT t = (f32[8], s32[], f32[8]) tuple(m, j, x) }
cond { s = (f32[8], s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=1
  n = s32[] constant(4)
  ROOT l = pred[] compare(i, n), direction=LT }
ENTRY main { p = f32[8] parameter(0)
  q = f32[8] parameter(1)
  z = s32[] constant(0)
  t = (f32[8], s32[], f32[8]) tuple(p, z, q)
  ROOT w = (f32[8], s32[], f32[8]) while(t), condition=cond, body=body })");
}

constexpr char kUpdateLoop[] = R"(HloModule m
body { s = (f32[6,4], s32[], f32[4]) parameter(0)
  a = f32[6,4] get-tuple-element(s), index=0
  i = s32[] get-tuple-element(s), index=1
  x = f32[4] get-tuple-element(s), index=2
  z = s32[] constant(0)
  one = s32[] constant(1)
  j = s32[] add(i, one)
  y = f32[4] add(x, x)
  row = f32[1,4] reshape(y)
  u = f32[6,4] dynamic-update-slice(a, row, i, z)
  ROOT t = (f32[6,4], s32[], f32[4]) tuple(u, j, y) }
cond { s = (f32[6,4], s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=1
  n = s32[] constant(9)
  ROOT l = pred[] compare(i, n), direction=LT }
ENTRY main { p = f32[6,4] parameter(0)
  q = f32[4] parameter(1)
  z = s32[] constant(0)
  t = (f32[6,4], s32[], f32[4]) tuple(p, z, q)
  w = (f32[6,4], s32[], f32[4]) while(t), condition=cond, body=body
  a = f32[6,4] get-tuple-element(w), index=0
  ROOT r = (f32[6,4], f32[6,4]) tuple(a, p) })";

TEST(Executable, UpdatesSlicesInALoopAndClampsTheirStart) { RunBoth(kUpdateLoop); }

TEST(Executable, KeepsAnArrayThatIsReadAfterItsSliceIsUpdated) {
  RunBoth(R"(HloModule m
ENTRY main { p = f32[3,5,4] parameter(0)
  q = f32[2,2,3] parameter(1)
  i = s32[] constant(1)
  j = s32[] constant(-3)
  k = s32[] constant(9)
  n = f32[3,5,4] negate(p)
  u = f32[3,5,4] dynamic-update-slice(n, q, i, j, k)
  v = f32[3,5,4] dynamic-update-slice(u, q, j, k, i)
  d = f32[3,5,4] subtract(v, n)
  ROOT r = (f32[3,5,4], f32[3,5,4], f32[3,5,4]) tuple(u, d, v) })");
}

// A loop whose fused kernel updates two arrays and reads one of them, with an index that it computes.
constexpr char kFusedUpdateLoop[] = R"(HloModule m
fused { a = f32[6,4] parameter(0)
  b = f32[6,4] parameter(1)
  x = f32[4] parameter(2)
  i = s32[] parameter(3)
  n = s32[] constant(6)
  z = s32[] constant(0)
  neg = pred[] compare(i, z), direction=LT
  wrapped = s32[] add(i, n)
  at = s32[] select(neg, wrapped, i)
  row = f32[1,4] dynamic-slice(a, at, z), dynamic_slice_sizes={1,4}
  flat = f32[4] reshape(row)
  y = f32[4] subtract(x, flat)
  new = f32[1,4] reshape(y)
  u = f32[6,4] dynamic-update-slice(a, new, at, z)
  keep = f32[1,4] reshape(x)
  v = f32[6,4] dynamic-update-slice(b, keep, i, z)
  e = f32[4] multiply(y, y)
  ROOT t = (f32[6,4], f32[4], f32[6,4]) tuple(u, e, v) }
body { s = (f32[6,4], s32[], f32[4], f32[6,4]) parameter(0)
  a = f32[6,4] get-tuple-element(s), index=0
  i = s32[] get-tuple-element(s), index=1
  x = f32[4] get-tuple-element(s), index=2
  b = f32[6,4] get-tuple-element(s), index=3
  one = s32[] constant(1)
  j = s32[] add(i, one)
  f = (f32[6,4], f32[4], f32[6,4]) fusion(a, b, x, i), kind=kLoop, calls=fused
  u = f32[6,4] get-tuple-element(f), index=0
  e = f32[4] get-tuple-element(f), index=1
  v = f32[6,4] get-tuple-element(f), index=2
  ROOT t = (f32[6,4], s32[], f32[4], f32[6,4]) tuple(u, j, e, v) }
cond { s = (f32[6,4], s32[], f32[4], f32[6,4]) parameter(0)
  i = s32[] get-tuple-element(s), index=1
  n = s32[] constant(8)
  ROOT l = pred[] compare(i, n), direction=LT }
ENTRY main { p = f32[6,4] parameter(0)
  q = f32[4] parameter(1)
  z = s32[] constant(-2)
  t = (f32[6,4], s32[], f32[4], f32[6,4]) tuple(p, z, q, p)
  w = (f32[6,4], s32[], f32[4], f32[6,4]) while(t), condition=cond, body=body
  a = f32[6,4] get-tuple-element(w), index=0
  b = f32[6,4] get-tuple-element(w), index=3
  ROOT r = (f32[6,4], f32[6,4], f32[6,4]) tuple(a, p, b) })";

TEST(Executable, PeelsFusedUpdatesAndMakesThemInPlace) {
  Outcome outcome = RunBoth(kFusedUpdateLoop);
  ASSERT_NE(outcome.executable, nullptr);
  // Both arrays are updated in the caller's buffers: the arena holds rows only.
  EXPECT_LE(outcome.executable->arena_bytes(), 6 * 64);
}

TEST(Executable, TakesBranches) {
  for (const char* which : {"-1", "0", "1", "2", "7"}) {
    RunBoth(absl::StrCat(R"(HloModule m
b0 { p = f32[8] parameter(0) ROOT r = (f32[8], f32[8]) tuple(p, p) }
b1 { p = f32[8] parameter(0) n = f32[8] negate(p) ROOT r = (f32[8], f32[8]) tuple(n, p) }
b2 { p = (f32[8], f32[8]) parameter(0)
  a = f32[8] get-tuple-element(p), index=0
  b = f32[8] get-tuple-element(p), index=1
  s = f32[8] add(a, b)
  ROOT r = (f32[8], f32[8]) tuple(b, s) }
ENTRY main { p = f32[8] parameter(0)
  q = f32[8] parameter(1)
  i = s32[] constant()",
                         which, R"()
  e = f32[8] exponential(p)
  t = (f32[8], f32[8]) tuple(e, q)
  c = (f32[8], f32[8]) conditional(i, e, q, t), branch_computations={b0, b1, b2}
  a = f32[8] get-tuple-element(c), index=0
  b = f32[8] get-tuple-element(c), index=1
  m = f32[8] multiply(a, b)
  ROOT r = (f32[8], f32[8], f32[8]) tuple(m, a, e) })"));
  }
  for (const char* which : {"true", "false"}) {
    RunBoth(absl::StrCat(R"(HloModule m
yes { p = f32[8] parameter(0) ROOT n = f32[8] negate(p) }
no { p = f32[8] parameter(0) ROOT n = f32[8] exponential(p) }
ENTRY main { p = f32[8] parameter(0)
  i = pred[] constant()",
                         which, R"()
  ROOT c = f32[8] conditional(i, p, p), true_computation=yes, false_computation=no })"));
  }
}

TEST(Executable, InlinesCallsAndRunsThemAtEveryPlace) {
  RunBoth(R"(HloModule m
twice { p = f32[8] parameter(0) q = f32[8] parameter(1) s = f32[8] add(p, p) ROOT r = (f32[8], f32[8]) tuple(s, q) }
ENTRY main { p = f32[8] parameter(0)
  q = f32[8] parameter(1)
  a = (f32[8], f32[8]) call(p, q), to_apply=twice
  b = f32[8] get-tuple-element(a), index=0
  c = f32[8] get-tuple-element(a), index=1
  d = (f32[8], f32[8]) call(c, b), to_apply=twice
  ROOT r = ((f32[8], f32[8]), (f32[8], f32[8])) tuple(a, d) })");
}

TEST(Executable, RunsWhatHasNeitherLoopsNorANativeOperationThroughTheEvaluatorAndSaysSo) {
  Outcome outcome = RunBoth(R"(HloModule m
less { a = f32[] parameter(0) b = f32[] parameter(1) c = s32[] parameter(2) d = s32[] parameter(3)
  e = f32[] add(a, a)  f = f32[] add(b, b)  ROOT l = pred[] compare(e, f), direction=LT }
ENTRY main { p = f32[32] parameter(0)
  i = s32[32] iota(), iota_dimension=0
  n = f32[32] negate(p)
  s = (f32[32], s32[32]) sort(n, i), dimensions={0}, is_stable=true, to_apply=less
  v = f32[32] get-tuple-element(s), index=0
  e = f32[32] exponential(v)
  k = s32[32] get-tuple-element(s), index=1
  ROOT r = (f32[32], s32[32]) tuple(e, k) })");
  ASSERT_NE(outcome.executable, nullptr);
  int opaque = 0;
  for (const KernelInfo& kernel : outcome.executable->kernels()) {
    if (!kernel.opaque) continue;
    ++opaque;
    EXPECT_EQ(kernel.name, "s");
    EXPECT_FALSE(kernel.opaque_reason.empty());
  }
  EXPECT_EQ(opaque, 1);
}

TEST(Executable, DoesAsynchronousWorkWhereItStarts) {
  const Outcome outcome = RunBoth(R"(HloModule m
work { a = f32[8] parameter(0)  b = f32[8] parameter(1)  ROOT s = f32[8] add(a, b) }
ENTRY main { p = f32[8] parameter(0)
  q = f32[8] parameter(1)
  start = ((f32[8], f32[8]), f32[8], u32[]) async-start(p, q), calls=work
  update = ((f32[8], f32[8]), f32[8], u32[]) async-update(start), calls=work
  done = f32[8] async-done(update), calls=work
  n = f32[8] negate(done)
  c = (f32[8], f32[8], u32[]) copy-start(n)
  d = f32[8] copy-done(c)
  k = u32[] get-tuple-element(c), index=2
  ROOT t = (f32[8], f32[8], u32[]) tuple(d, done, k) })");
  ASSERT_NE(outcome.executable, nullptr);
  EXPECT_EQ(outcome.executable->kernels().size(), 2);
}

// Sizes that shapes do not tell of travel nobody knows where.
TEST(Executable, RunsSizesThatNoShapeTellsOfInOnePieceAndSaysSo) {
  const Outcome outcome = RunBoth(R"(HloModule m
add { a = s32[] parameter(0)  b = s32[] parameter(1)  ROOT s = s32[] add(a, b) }
ENTRY main { p = s32[8] parameter(0)
  n = s32[] constant(3)
  d = s32[8] set-dimension-size(p, n), dimensions={0}
  z = s32[] constant(0)
  s = s32[] reduce(d, z), dimensions={0}, to_apply=add
  ROOT t = (s32[], s32[8]) tuple(s, p) })");
  ASSERT_NE(outcome.executable, nullptr);
  ASSERT_EQ(outcome.executable->kernels().size(), 1);
  EXPECT_TRUE(outcome.executable->kernels()[0].opaque);
  EXPECT_NE(outcome.executable->kernels()[0].opaque_reason.find("known only at run time"), std::string::npos);
}

// A mask at a network's end is such an array: what is before it and after it is compiled.
TEST(Executable, RunsWhatTouchesArraysOfUnknownSizeAsOneOperation) {
  const Outcome outcome = RunBoth(R"(HloModule m
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
count { a = s32[] parameter(0)  b = s32[] parameter(1)  ROOT s = s32[] add(a, b) }
ENTRY main { p = f32[8,64] parameter(0)
  e = f32[8,64] exponential(p)
  h = f32[] constant(0.5)
  hs = f32[8] broadcast(h), dimensions={}
  c = f32[8,1] slice(e), slice={[0:8], [0:1]}
  f = f32[8] reshape(c)
  k = pred[8] compare(f, hs), direction=GT
  ks = s32[8] convert(k)
  zero = s32[] constant(0)
  n = s32[] reduce(ks, zero), dimensions={0}, to_apply=count
  d = f32[<=8,64] set-dimension-size(e, n), dimensions={0}
  q = f32[<=8,64] multiply(d, d)
  z = f32[] constant(0)
  r = f32[64] reduce(q, z), dimensions={0}, to_apply=add
  m = s32[] get-dimension-size(q), dimensions={0}
  mf = f32[] convert(m)
  ms = f32[64] broadcast(mf), dimensions={}
  a = f32[64] divide(r, ms)
  g = f32[64] tanh(a)
  ROOT t = (f32[64], f32[<=8,64], f32[8,64]) tuple(g, q, e) })");
  ASSERT_NE(outcome.executable, nullptr);
  int64_t opaque = 0, compiled = 0;
  for (const auto& kernel : outcome.executable->kernels()) ++(kernel.opaque ? opaque : compiled);
  EXPECT_EQ(opaque, 1);
  EXPECT_EQ(compiled, 10);  // all but set-dimension-size, multiply, reduce and get-dimension-size
}

TEST(Executable, LeavesOutArraysOfUnknownSizeThatNobodyReads) {
  const Outcome outcome = RunBoth(R"(HloModule m
ENTRY main { p = s32[8] parameter(0)
  n = s32[] constant(3)
  d = s32[<=8] set-dimension-size(p, n), dimensions={0}
  q = s32[<=8] negate(d)
  ROOT r = s32[8] negate(p) })");
  ASSERT_NE(outcome.executable, nullptr);
  EXPECT_EQ(outcome.executable->kernels().size(), 1);
}

TEST(Executable, HandlesEmptyArraysAndScalars) {
  RunBoth(R"(HloModule m
ENTRY main { p = f32[0,4] parameter(0)
  q = f32[] parameter(1)
  e = f32[0,4] exponential(p)
  s = f32[] add(q, q)
  ROOT r = (f32[0,4], f32[], f32[0,4]) tuple(e, s, p) })");
}

TEST(Executable, ComputesInTheCallersBuffersWithoutTouchingInputs) {
  auto module = hlo::ParseModule(kUpdateLoop);
  ASSERT_TRUE(module.ok());
  auto executable = Executable::Compile(**module, TestTarget(), {});
  ASSERT_TRUE(executable.ok()) << executable.status();
  // The state of the loop is the caller's output buffer: the arena holds only the small rest.
  EXPECT_LT((*executable)->arena_bytes(), 6 * 4 * 4 * 4);
}

TEST(Executable, StopsAnEndlessLoopWhenCancelled) {
  auto module = hlo::ParseModule(R"(HloModule m
body { s = f32[8] parameter(0) ROOT n = f32[8] negate(s) }
cond { s = f32[8] parameter(0) ROOT t = pred[] constant(true) }
ENTRY main { p = f32[8] parameter(0) ROOT w = f32[8] while(p), condition=cond, body=body })");
  ASSERT_TRUE(module.ok()) << module.status();
  auto executable = Executable::Compile(**module, TestTarget(), {});
  ASSERT_TRUE(executable.ok()) << executable.status();
  std::atomic<bool> cancel = true;
  RunOptions options;
  options.cancel = &cancel;
  hlo::Literal input(hlo::Shape::Array(hlo::PrimitiveType::kF32, {8}));
  const hlo::Literal* inputs[] = {&input};
  EXPECT_EQ((*executable)->Run(inputs, options).status().code(), absl::StatusCode::kCancelled);
}

TEST(Executable, TimesEveryRunOfEveryKernel) {
  for (const auto& [text, runs] : {std::pair{kUpdateLoop, size_t{9}}, std::pair{kFusedUpdateLoop, size_t{10}}}) {
    auto module = hlo::ParseModule(text);
    ASSERT_TRUE(module.ok()) << module.status();
    auto executable = Executable::Compile(**module, TestTarget(), {});
    ASSERT_TRUE(executable.ok()) << executable.status();
    auto inputs = hlo::MakeInputs(**module);
    std::vector<const hlo::Literal*> arguments;
    for (const hlo::Literal& input : *inputs) arguments.push_back(&input);
    std::vector<std::vector<double>> seconds;
    RunOptions options;
    options.kernel_seconds = &seconds;
    ASSERT_TRUE((*executable)->Run(arguments, options).ok());
    ASSERT_EQ(seconds.size(), (*executable)->kernels().size());
    for (size_t i = 0; i < seconds.size(); ++i) {
      const KernelInfo& kernel = (*executable)->kernels()[i];
      EXPECT_EQ(seconds[i].size(), kernel.computation == "cond" ? runs + 1 : runs) << kernel.name;
    }
  }
}

TEST(Executable, RefusesWrongInputs) {
  auto module = hlo::ParseModule("HloModule m\nENTRY main { p = f32[8] parameter(0) ROOT n = f32[8] negate(p) }");
  ASSERT_TRUE(module.ok());
  auto executable = Executable::Compile(**module, TestTarget(), {});
  ASSERT_TRUE(executable.ok()) << executable.status();
  hlo::Literal wrong(hlo::Shape::Array(hlo::PrimitiveType::kF32, {4, 2}));
  const hlo::Literal* inputs[] = {&wrong};
  absl::Status status = (*executable)->Run(inputs).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("f32[4,2]"), std::string::npos) << status;
  EXPECT_FALSE((*executable)->Run({}).ok());
  alignas(64) float memory[32] = {};
  const void* in[] = {memory + 1};
  void* out[] = {memory + 16};
  EXPECT_FALSE((*executable)->RunInto(in, out).ok());
}

TEST(Executable, RefusesOutputsThatShareMemory) {
  auto module = hlo::ParseModule(R"(HloModule m
ENTRY main { p = f32[32] parameter(0)  q = f32[32] parameter(1)  z = f32[0] parameter(2)
  s = f32[32] add(p, q)  d = f32[32] subtract(p, q)  ROOT r = (f32[32], f32[32], f32[0]) tuple(s, d, z) })");
  ASSERT_TRUE(module.ok()) << module.status();
  auto executable = Executable::Compile(**module, TestTarget(), {});
  ASSERT_TRUE(executable.ok()) << executable.status();
  alignas(64) float memory[128] = {};
  float* const a = memory;
  float* const b = memory + 32;
  float* const c = memory + 64;
  float* const d = memory + 96;
  struct Case {
    float *p, *q, *s, *d;
    const char* what;  // of the error; empty: it runs
  };
  const Case cases[] = {
      {a, b, c, d, ""},
      {a, a, c, d, ""},  // reading the same array twice is no harm
      {a, b, c, c, "output 1 and output 0"},
      {a, b, b, d, "output 0"},
      {a, b, b + 16, d, "output 0 and input 1"},
      {a, c + 16, b, c, "input 1 and output 1"},
      {b, b, a + 16, d, "input"},
      {a, b, c, d, ""},
  };
  for (const Case& x : cases) {
    const void* in[] = {x.p, x.q, a};
    void* out[] = {x.s, x.d, c};
    for (int again = 0; again < 2; ++again) {
      const absl::Status status = (*executable)->RunInto(in, out);
      if (x.what[0] == '\0') {
        EXPECT_TRUE(status.ok()) << status;
        continue;
      }
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << x.what;
      EXPECT_NE(status.message().find(x.what), std::string::npos) << status << ", not " << x.what;
    }
  }
}

// A random loop over a few arrays and a count: its body and condition, and, now and then, another one in its body.
class RandomLoop {
 public:
  RandomLoop(std::mt19937* random, std::string name, int state, const std::string& array, bool may_nest)
      : random_(*random), name_(std::move(name)), state_(state), array_(array) {
    std::string body = absl::StrCat(name_, "_body { s = ", Type(), " parameter(0)\n");
    std::vector<std::string> values = Elements("s", &body);
    const auto pick = [&] { return values[random_() % values.size()]; };
    absl::StrAppend(&body, "one = s32[] constant(1)\nj = s32[] add(s_count, one)\n");
    for (int k = 0, operations = static_cast<int>(random_() % 6); k < operations; ++k) {
      const std::string x = pick(), y = pick();
      if (may_nest && random_() % 6 == 0) {
        const RandomLoop inner(random, absl::StrCat(name_, "_", k), state, array, false);
        computations_ += inner.computations_;
        std::string all;
        for (int i = 0; i < state_; ++i) absl::StrAppend(&all, pick(), ", ");
        const std::string loop = absl::StrCat("w", k);
        absl::StrAppend(&body, "zero", k, " = s32[] constant(0)\n", inner.Call(loop, absl::StrCat(all, "zero", k)));
        for (std::string& value : inner.Elements(loop, &body)) values.push_back(std::move(value));
        continue;
      }
      if (random_() % 4 == 0) {
        absl::StrAppend(&body, "h", k, " = f32[2] slice(", y, "), slice={[1:3]}\nv", k, " = ", array_,
                        " dynamic-update-slice(", x, ", h", k, ", s_count)\n");
      } else {
        absl::StrAppend(&body, "v", k, " = ", array_, random_() % 2 ? " subtract(" : " maximum(", x, ", ", y, ")\n");
      }
      values.push_back(absl::StrCat("v", k));
    }
    std::string tuple;
    for (int i = 0; i < state_; ++i) absl::StrAppend(&tuple, pick(), ", ");
    absl::StrAppend(&body, "ROOT t = ", Type(), " tuple(", tuple, "j) }\n");
    std::string condition = absl::StrCat(name_, "_cond { s = ", Type(), " parameter(0)\n");
    Elements("s", &condition);
    // The second count is not plain: such a loop asks.
    const std::string count = random_() % 2 ? "s_count" : "more";
    absl::StrAppend(&condition, "more = s32[] maximum(s_count, s_count)\nn = s32[] constant(", random_() % 8,
                    ")\nROOT l = pred[] compare(", count, ", n), direction=LT }\n");
    absl::StrAppend(&computations_, body, condition);
  }

  std::string Type() const {
    std::string text = "(";
    for (int i = 0; i < state_; ++i) absl::StrAppend(&text, array_, ", ");
    return text + "s32[])";
  }
  // `state`: the operands of its tuple.
  std::string Call(const std::string& name, const std::string& state) const {
    return absl::StrCat(name, "_t = ", Type(), " tuple(", state, ")\n", name, " = ", Type(), " while(", name,
                        "_t), condition=", name_, "_cond, body=", name_, "_body\n");
  }
  // Names of the arrays in a tuple; its count is NAME_count.
  std::vector<std::string> Elements(const std::string& tuple, std::string* text) const {
    std::vector<std::string> names;
    for (int i = 0; i < state_; ++i) {
      names.push_back(absl::StrCat(tuple, "_a", i));
      absl::StrAppend(text, names.back(), " = ", array_, " get-tuple-element(", tuple, "), index=", i, "\n");
    }
    absl::StrAppend(text, tuple, "_count = s32[] get-tuple-element(", tuple, "), index=", state_, "\n");
    return names;
  }
  const std::string& computations() const { return computations_; }

 private:
  std::mt19937& random_;
  const std::string name_;
  const int state_;
  const std::string array_;
  std::string computations_;
};

// Whatever becomes of copies, of small arrays and of those large enough to take turns, results must not change.
TEST(Executable, AgreesWithTheEvaluatorOnRandomLoops) {
  std::mt19937 random(11);
  for (int program = 0; program < 80; ++program) {
    SCOPED_TRACE(absl::StrCat("program ", program));
    const int state = static_cast<int>(2 + random() % 4);
    const std::string array = program % 2 ? "f32[300]" : "f32[8]";
    const RandomLoop loop(&random, "loop", state, array, /*may_nest=*/true);
    std::string init, text, results, outputs = "(";
    for (int i = 0; i < state; ++i) absl::StrAppend(&init, random() % 2 ? "p" : random() % 2 ? "q" : "e", ", ");
    absl::StrAppend(&text, "HloModule m\n", loop.computations(), "ENTRY main { p = ", array,
                    " parameter(0)\nq = ", array, " parameter(1)\ne = ", array, " add(p, q)\nz = s32[] constant(0)\n",
                    loop.Call("w", init + "z"));
    const std::vector<std::string> arrays = loop.Elements("w", &text);
    for (int i = 0; i < 3; ++i) {
      absl::StrAppend(&results, arrays[random() % arrays.size()], ", ");
      absl::StrAppend(&outputs, array, ", ");
    }
    RunBoth(absl::StrCat(text, "ROOT o = ", outputs, array, ") tuple(", results, "e) }"));
    if (testing::Test::HasFailure()) {
      std::cerr << text;
      break;
    }
  }
}

}  // namespace
}  // namespace smelt::cpu
