#include "fusion/incremental_fusion.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "fusion/apply.h"
#include "fusion/heuristics/heuristics.h"
#include "fusion/legality.h"
#include "hlo/file/read.h"
#include "hlo/fingerprint.h"
#include "tests/fusion/programs.h"

namespace smelt::fusion {
namespace {

using Counts = std::map<Hash128, int64_t>;

Counts CountsOf(const std::vector<KernelRef>& kernels) {
  Counts counts;
  for (const KernelRef& kernel : kernels) ++counts[kernel.hash];
  return counts;
}

Counts CountsInText(const Space& space, const Config& config) {
  std::vector<KernelCount> counts;
  const auto fused = Apply(space, config);
  const auto kernels = ExtractKernels(*fused, &counts);
  EXPECT_TRUE(kernels.ok()) << kernels.status();
  Counts by_hash;
  for (size_t i = 0; i < counts.size(); ++i) by_hash[(*kernels)[i].hash] += counts[i].stands;
  return by_hash;
}

Move RandomMove(const Space& space, std::mt19937_64& random) {
  const int32_t d = static_cast<int32_t>(random() % space.size());
  switch (random() % 5) {
    case 0:
      return ProducerMove(space, space.decision(d).first, random() % 2);
    case 1:
      return PatternMove(space, space.PatternOf(d), random() % 2);
    case 2: {
      Move move = FlipMove(d);
      move.decisions.push_back(static_cast<int32_t>(random() % space.size()));
      if (move.decisions[1] == d) move.decisions.pop_back();
      return move;
    }
    default:
      return FlipMove(d);
  }
}

// What it keeps must be what legalising and applying from nothing gives, after every move.
void Walk(const Space& space, const Config& start, int moves, uint64_t seed, int check_every) {
  std::mt19937_64 random(seed);
  IncrementalFusion current(space, start);
  Counts counts = CountsOf(current.Kernels());
  for (int i = 0; i < moves; ++i) {
    const Config before = current.config();
    const Counts counts_before = counts;
    const Move move = RandomMove(space, random);
    Config wanted = before;
    for (int32_t d : move.decisions) {
      wanted.Set(d, move.action == Move::Action::kFlip ? !before.Get(d) : move.action == Move::Action::kSet);
    }
    current.Apply(move);
    for (const KernelRef& kernel : current.removed()) {
      if (--counts[kernel.hash] == 0) counts.erase(kernel.hash);
    }
    for (const KernelRef& kernel : current.added()) ++counts[kernel.hash];
    if (i % check_every == 0) {
      ASSERT_EQ(current.config(), Legalize(space, wanted)) << "seed " << seed << " move " << i;
      ASSERT_EQ(current.config().Hash(), Legalize(space, wanted).Hash());
      ASSERT_EQ(counts, CountsOf(current.Kernels())) << "seed " << seed << " move " << i;
      ASSERT_EQ(counts, CountsInText(space, current.config())) << "seed " << seed << " move " << i;
      ASSERT_EQ(current.kernel_count(), static_cast<int64_t>(current.Kernels().size()));
    }
    if (random() % 2 == 0) {
      current.Undo();
      counts = counts_before;
      ASSERT_EQ(current.config(), before);
      if (i % check_every == 0) {
        ASSERT_EQ(counts, CountsOf(current.Kernels()));
      }
    }
  }
}

class EvaluatorOnPrograms : public testing::TestWithParam<Program> {};

INSTANTIATE_TEST_SUITE_P(Random, EvaluatorOnPrograms, testing::ValuesIn(Programs()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(EvaluatorOnPrograms, KeepsWhatLegalisingFromNothingGives) {
  const auto module = Parse(GetParam().text);
  const Space space = BuildSpace(*module);
  if (space.size() == 0) return;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    Walk(space, RandomFusion(space, 0.3 * static_cast<double>(seed), seed), 200, seed, 1);
    if (HasFatalFailure()) return;
  }
}

// Tight limits make legalisation drop often, and far from the move.
TEST_P(EvaluatorOnPrograms, KeepsWhatLegalisingFromNothingGivesUnderTightLimits) {
  const auto module = Parse(GetParam().text);
  Rules target;
  target.max_instructions = 7;
  target.max_operands_and_outputs = 5;
  target.max_depth = 5;
  target.max_scratch_bytes = 256;
  target.reduction_copies = 1;
  target.sibling_bytes = 16;
  const Space space = BuildSpace(*module, target);
  if (space.size() == 0) return;
  Walk(space, RandomFusion(space, 0.7, 3), 400, 11, 1);
}

TEST_P(EvaluatorOnPrograms, HandsOutTheKernelsThatItHashes) {
  const auto module = Parse(GetParam().text);
  const Space space = BuildSpace(*module);
  const Config config = RandomFusion(space, 0.7, 9);
  IncrementalFusion current(space, config);
  std::map<Hash128, Hash128> graphs;
  const auto fused = Apply(space, config);
  for (const Kernel& kernel : KernelsOf(*fused)) {
    graphs[kernel.hash] = hlo::FingerprintComputation(kernel.computation());
  }
  for (const KernelRef& ref : current.Kernels()) {
    const Kernel kernel = current.KernelFor(ref);
    EXPECT_EQ(kernel.hash, ref.hash);
    ASSERT_TRUE(graphs.contains(ref.hash)) << kernel.name;
    EXPECT_EQ(hlo::FingerprintComputation(kernel.computation()), graphs[ref.hash]);
  }
}

TEST(IncrementalFusion, KeepsWhatLegalisingFromNothingGivesOnExampleNetworks) {
  for (const char* name : {"resnet18", "train_step", "bert_block"}) {
    const auto module = hlo::ReadModuleFile(std::string(SMELT_SOURCE_DIR) + "/models/" + name + ".hlo");
    ASSERT_TRUE(module.ok()) << module.status();
    const Space space = BuildSpace(**module);
    Walk(space, PriorityFusion(space), 400, 5, 13);
    if (HasFatalFailure()) return;
  }
}

TEST(IncrementalFusion, ReportsOnlyKernelsThatChanged) {
  const auto module = Parse(ProgramText("layers"));
  const Space space = BuildSpace(*module);
  IncrementalFusion current(space, NoFusion(space));
  current.Apply(FlipMove(FindDecision(space, "two.b -> two.d")));
  EXPECT_TRUE(current.changed());
  EXPECT_EQ(current.removed().size(), 2);  // the broadcast and the division
  EXPECT_EQ(current.added().size(), 1);
}

TEST(IncrementalFusion, SaysWhenAMoveChangesNothing) {
  const auto module = Parse(ProgramText("elementwise"));
  const Space space = BuildSpace(*module);
  IncrementalFusion current(space, NoFusion(space));
  current.Apply(FlipMove(FindDecision(space, "share mul.1")));  // nothing to share yet
  EXPECT_FALSE(current.changed());
  EXPECT_TRUE(current.removed().empty());
  EXPECT_TRUE(current.added().empty());
}

TEST(IncrementalFusion, MovesAPatternInAllItsPlaces) {
  const auto module = Parse(ProgramText("layers"));
  const Space space = BuildSpace(*module);
  const int32_t d = FindDecision(space, "two.e -> two.s");
  IncrementalFusion current(space, NoFusion(space));
  current.Apply(PatternMove(space, space.PatternOf(d), true));
  EXPECT_TRUE(current.config().Get(d));
  EXPECT_GE(current.config().Count(), 2);
}

}  // namespace
}  // namespace smelt::fusion
