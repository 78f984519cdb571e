#include "fusion/kernel.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fusion/apply.h"
#include "fusion/incremental_fusion.h"
#include "hlo/known/known_parameters.h"
#include "hlo/passes/execution_counts.h"
#include "tests/fusion/programs.h"

namespace smelt::fusion {
namespace {

// How often the kernels of each name stand in the text, and run.
std::map<std::string, std::pair<int64_t, double>> Counts(const hlo::Module& module) {
  std::vector<KernelCount> counts;
  const auto kernels = ExtractKernels(module, &counts);
  EXPECT_TRUE(kernels.ok()) << kernels.status();
  std::map<std::string, std::pair<int64_t, double>> found;
  for (size_t i = 0; i < counts.size(); ++i) found[(*kernels)[i].name] = {counts[i].stands, counts[i].runs};
  return found;
}

// A loop that ends when `condition` says so, over a counter and an array.
std::unique_ptr<hlo::Module> Loop(const std::string& condition) {
  return Parse(R"(HloModule m
body { s = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x = f32[8] get-tuple-element(s), index=1
  e = f32[8] exponential(x)
  ROOT r = (s32[], f32[8]) tuple(next, e) }
condition { s = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  )" + condition +
               R"( }
ENTRY main { p = f32[8] parameter(0)
  zero = s32[] constant(0)
  s = (s32[], f32[8]) tuple(zero, p)
  w = (s32[], f32[8]) while(s), condition=condition, body=body
  x = f32[8] get-tuple-element(w), index=1
  a = f32[8] negate(x)
  ROOT b = f32[8] negate(a) })");
}

TEST(ExtractKernels, CountsWhatStandsInTheTextAndWhatRuns) {
  const auto counts = Counts(*Loop("five = s32[] constant(5)  ROOT less = pred[] compare(i, five), direction=LT"));
  EXPECT_EQ(counts.at("e"), std::make_pair(int64_t{1}, 5.0));
  EXPECT_EQ(counts.at("a"), std::make_pair(int64_t{2}, 2.0));
  EXPECT_EQ(counts.at("less"), std::make_pair(int64_t{1}, 0.0));  // five times, as the text says
}

TEST(FindKernel, ByNameByMainInstructionOrByHash) {
  const auto module = Parse(R"(HloModule m
f { x = f32[8] parameter(0)  y = f32[8] exponential(x)  ROOT z = f32[8] negate(y) }
ENTRY main { p = f32[8] parameter(0)
  fusion.z = f32[8] fusion(p), kind=kLoop, calls=f
  ROOT a = f32[8] sine(fusion.z) })");
  std::vector<Kernel> kernels = ExtractKernels(*module).value();
  ASSERT_EQ(kernels.size(), 2);
  EXPECT_EQ(FindKernel(kernels, "a"), &kernels[1]);
  EXPECT_EQ(FindKernel(kernels, "fusion.z"), &kernels[0]);
  EXPECT_EQ(FindKernel(kernels, "z"), &kernels[0]);
  EXPECT_EQ(FindKernel(kernels, kernels[1].hash.ToHex()), &kernels[1]);
  EXPECT_EQ(FindKernel(kernels, "nobody"), nullptr);
}

TEST(ExtractKernels, KnowWhatIsKnownWhereverTheyStand) {
  const auto known = [](const std::string& second) {
    const auto module = Parse(
        "HloModule m\nENTRY main { p = (f32[2], f32[2]) parameter(0)  w = f32[2] parameter(1)\n"
        "c = f32[2] constant({1, 2})  x = f32[2] get-tuple-element(p), index=0\n"
        "a = f32[2] add(x, w)  ROOT b = f32[2] add(a, " +
        second + ") }");
    hlo::MarkKnownParameters(*module, {1});
    return ExtractKernels(*module).value()[0].known;
  };
  EXPECT_EQ(known("c"), std::vector<int64_t>{1});
  EXPECT_EQ(known("x"), std::vector<int64_t>{});
}

// Three layers of weights of a megabyte, and what a search and a fused module say of their distances.
TEST(Distances, AreTheSameBeforeAndAfterFusion) {
  std::string text = "HloModule m\nENTRY main { x0 = f32[8,512] parameter(0)\n";
  for (const std::string layer : {"1", "2", "3"}) {
    const std::string before = std::to_string(std::stoi(layer) - 1);
    text += "  w" + layer + " = f32[512,512] parameter(" + layer + ")\n  d" + layer + " = f32[8,512] dot(x" + before +
            ", w" + layer + "), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n  x" + layer +
            " = f32[8,512] tanh(d" + layer + ")\n";
  }
  const auto module = Parse(text + "  ROOT r = f32[8,512] negate(x3) }");
  const Space space = Space::Build(*module, Rules::OwnKernels()).value();
  Config all(space.size());
  for (int32_t d = 0; d < space.size(); ++d) all.Set(d, true);
  IncrementalFusion current(space, all);
  std::map<Hash128, std::vector<int64_t>> searched;
  for (const KernelRef& kernel : current.Kernels()) searched[kernel.hash] = current.KernelFor(kernel).distances;
  constexpr int64_t kWeights = 4 * 512 * 512;
  const auto fused = Apply(space, current.config());
  const std::vector<Kernel> kernels = ExtractKernels(*fused).value();
  for (const Kernel& kernel : kernels) {
    ASSERT_EQ(kernel.distances.size(), 3);  // the row, the weights, the result
    EXPECT_GE(kernel.distances[1], 2 * kWeights) << kernel.name;
    EXPECT_LT(kernel.distances[1], 3 * kWeights) << kernel.name;
    for (size_t i = 0; i < kernel.distances.size(); ++i) {
      const double before = static_cast<double>(searched.at(kernel.hash)[i]);
      EXPECT_NEAR(before, kernel.distances[i], 0.05 * before) << kernel.name;  // rows are in memory or are not
    }
    EXPECT_NE(TimedHash(kernel), kernel.hash);
    EXPECT_TRUE(CheckDistances(kernel.computation(), kernel.distances).ok());
  }
}

TEST(Distances, ThereIsOneForEachArrayOfATuple) {
  const auto module = Parse(R"(HloModule m
least { a = f32[] parameter(0)  i = s32[] parameter(1)  b = f32[] parameter(2)  j = s32[] parameter(3)
  l = pred[] compare(a, b), direction=LT  x = f32[] select(l, a, b)  y = s32[] select(l, i, j)
  ROOT t = (f32[], s32[]) tuple(x, y) }
ENTRY main { p = f32[512,64] parameter(0)  q = f32[512,64] parameter(1)  s = f32[512,64] add(p, q)
  n = s32[512,64] iota(), iota_dimension=1  z = f32[] constant(0)  k = s32[] constant(0)
  ROOT r = (f32[512], s32[512]) reduce(s, n, z, k), dimensions={1}, to_apply=least })");
  const Space space = Space::Build(*module, Rules::OwnKernels()).value();
  IncrementalFusion current(space, Config(space.size()));
  for (const KernelRef& reference : current.Kernels()) {
    const Kernel kernel = current.KernelFor(reference);
    EXPECT_TRUE(CheckDistances(kernel.computation(), kernel.distances).ok()) << kernel.name;
  }
}

TEST(TimedHash, IsTheHashWhereAllIsNearAndGoesByPowersOfTwo) {
  const auto module = Parse("HloModule m\nENTRY main { x = f32[8] parameter(0)  ROOT e = f32[8] exponential(x) }");
  Kernel kernel = std::move(ExtractKernels(*module).value()[0]);
  const auto hash = [&](std::vector<int64_t> distances) {
    kernel.distances = std::move(distances);
    return TimedHash(kernel);
  };
  EXPECT_EQ(hash({}), kernel.hash);
  EXPECT_EQ(hash({0, 0}), kernel.hash);
  EXPECT_EQ(hash({1 << 20, 0}), hash({(1 << 20) + 5, 0}));
  EXPECT_NE(hash({1 << 20, 0}), hash({1 << 21, 0}));
  EXPECT_NE(hash({1 << 20, 0}), hash({0, 1 << 20}));
  EXPECT_FALSE(CheckDistances(kernel.computation(), {1}).ok());
}

TEST(ExtractKernels, CountsALoopOfUnknownLengthByAGuess) {
  const auto counts = Counts(*Loop(R"(x = f32[8] get-tuple-element(s), index=1
  first = f32[1] slice(x), slice={[0:1]}
  value = f32[] reshape(first)
  limit = f32[] constant(9)
  ROOT less = pred[] compare(value, limit), direction=LT)"));
  EXPECT_EQ(counts.at("e"), std::make_pair(int64_t{1}, hlo::kUnknownTrips));
  EXPECT_EQ(counts.at("less"), std::make_pair(int64_t{1}, hlo::kUnknownTrips + 1));
}

}  // namespace
}  // namespace smelt::fusion
