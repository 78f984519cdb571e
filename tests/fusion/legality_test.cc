#include "fusion/legality.h"

#include <gtest/gtest.h>

#include "fusion/apply.h"
#include "fusion/kernel.h"
#include "tests/fusion/programs.h"

namespace smelt::fusion {
namespace {

class Legality : public testing::Test {
 protected:
  void Use(std::string_view program, const Rules& target = Rules::OwnKernels()) {
    module_ = Parse(ProgramText(program));
    space_ = std::make_unique<Space>(BuildSpace(*module_, target));
  }
  void UseText(std::string_view text, const Rules& target = Rules::OwnKernels()) {
    module_ = Parse(text);
    space_ = std::make_unique<Space>(BuildSpace(*module_, target));
  }
  Config Everything() const {
    Config config(space_->size());
    for (int64_t d = 0; d < space_->size(); ++d) config.Set(d, true);
    return Legalize(*space_, config);
  }
  Reason WhyPair(const Config& config, std::string_view producer, std::string_view consumer) const {
    return Why(*space_, config, *FindInstruction(*module_, producer), *FindInstruction(*module_, consumer)).reason;
  }
  Reason WhyNone(std::string_view producer, std::string_view consumer) const {
    return WhyPair(Config(space_->size()), producer, consumer);
  }
  // What legalising these decisions drops one of them for.
  Reason DroppedFor(const std::vector<std::string_view>& names, std::string_view decision) const {
    std::vector<Dropped> dropped;
    Legalize(*space_, ConfigOf(*space_, names), &dropped);
    for (const Dropped& d : dropped) {
      if (space_->Name(d.decision) == decision) return d.reason;
    }
    return Reason::kLegal;
  }

  std::unique_ptr<hlo::Module> module_;
  std::unique_ptr<Space> space_;
};

TEST_F(Legality, SoftmaxIsOneKernel) {
  Use("softmax");
  EXPECT_EQ(KernelsOf(*Apply(*space_, Everything())).size(), 1);
}

TEST_F(Legality, LayerNormIsOneKernelWithItsStatistics) {
  Use("layer_norm");
  EXPECT_EQ(KernelsOf(*Apply(*space_, Everything())).size(), 1);
}

TEST_F(Legality, StatisticsAcrossRowsDoNotFuseIntoWhatNeedsThemInEveryRow) {
  Use("batch_norm");
  EXPECT_EQ(DroppedFor({"sum -> mean", "mean -> means"}, "mean -> means"), Reason::kReductionRows);
}

TEST_F(Legality, TwoReductionsOfOneOperandShareAKernel) {
  Use("batch_norm");
  EXPECT_EQ(DroppedFor({"square -> sum.squares", "sum | square"}, "sum | square"), Reason::kLegal);
}

TEST_F(Legality, ContractionTakesElementwiseConsumersThroughBitcasts) {
  Use("dense");
  EXPECT_EQ(WhyNone("dot.1", "add.1"), Reason::kNotChosen);
  EXPECT_EQ(DroppedFor({"dot.1 -> add.1", "add.1 -> relu"}, "add.1 -> relu"), Reason::kLegal);
}

TEST_F(Legality, ContractionIsComputedOnce) {
  Use("dense");
  // relu is an output, so a second kernel with it would run the dot again.
  EXPECT_EQ(DroppedFor({"dot.1 -> add.1", "add.1 -> relu", "relu -> scaled"}, "relu -> scaled"), Reason::kCopies);
}

TEST_F(Legality, TwoContractionsNeverShareAKernel) {
  UseText(R"(
ENTRY main {
  a = f32[8,8] parameter(0)
  d = f32[8,8] dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  n = f32[8,8] negate(d)
  ROOT e = f32[8,8] dot(n, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})");
  EXPECT_EQ(DroppedFor({"d -> n", "n -> e"}, "n -> e"), Reason::kTwoContractions);
}

TEST_F(Legality, ContractionAndReductionNeedATileThatHoldsTheReducedDimension) {
  UseText(R"(
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
ENTRY main {
  a = f32[8,8] parameter(0)
  zero = f32[] constant(0)
  d = f32[8,8] dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  n = f32[8,8] negate(d)
  ROOT s = f32[8] reduce(n, zero), dimensions={1}, to_apply=add
})");
  EXPECT_EQ(DroppedFor({"d -> n", "n -> s"}, "n -> s"), Reason::kContractionTile);
}

TEST_F(Legality, DataMovementDoesNotFollowAContraction) {
  UseText(R"(
ENTRY main {
  a = f32[8,8] parameter(0)
  d = f32[8,8] dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  n = f32[8,8] negate(d)
  ROOT t = f32[8,8] transpose(n), dimensions={1,0}
})");
  EXPECT_EQ(DroppedFor({"d -> n", "n -> t"}, "n -> t"), Reason::kContractionConsumer);
}

TEST_F(Legality, ExpensiveProducerIsNotRepeatedForEveryColumnOfAProduct) {
  Rules target;
  target.max_scratch_bytes = 512;
  Use("dense", target);
  EXPECT_EQ(DroppedFor({"exp.x -> dot.1"}, "exp.x -> dot.1"), Reason::kRecompute);
  target.recompute_factor = 1e6;  // the factor is the target's
  Use("dense", target);
  EXPECT_EQ(DroppedFor({"exp.x -> dot.1"}, "exp.x -> dot.1"), Reason::kLegal);
}

TEST_F(Legality, OpaqueOperationsRunAlone) {
  Use("opaque");
  EXPECT_EQ(WhyNone("exp.1", "sorted"), Reason::kOpaque);
  EXPECT_EQ(WhyNone("sorted", "neg.1"), Reason::kOpaque);
}

TEST_F(Legality, FunctionsOfComplexNumbersAreOpaque) {
  UseText(R"(
ENTRY main { x = c64[8] parameter(0)  n = c64[8] negate(x)  ROOT m = c64[8] add(n, n) })");
  EXPECT_EQ(space_->size(), 1);
  UseText(R"(
ENTRY main { x = c64[8] parameter(0)  n = c64[8] log(x)  ROOT m = c64[8] add(n, n) })");
  EXPECT_EQ(space_->size(), 0);
  EXPECT_EQ(WhyNone("n", "m"), Reason::kOpaque);
}

TEST_F(Legality, ControlDependenciesKeepInstructionsApart) {
  Use("ordered");
  EXPECT_EQ(WhyNone("a", "c"), Reason::kOrder);
  EXPECT_EQ(WhyNone("b", "d"), Reason::kOrder);
}

TEST_F(Legality, ParametersAndFreeRidersAreNoDecisions) {
  Use("elementwise");
  EXPECT_EQ(WhyNone("x", "add.1"), Reason::kNotKernel);
  EXPECT_EQ(WhyNone("halves", "mul.1"), Reason::kFreeRider);
  EXPECT_EQ(WhyNone("add.1", "neg.1"), Reason::kNoUse);
}

TEST_F(Legality, InstructionsOfReducersAreNoDecisions) {
  Use("softmax");
  EXPECT_EQ(
      Why(*space_, Config(space_->size()), *FindInstruction(*module_, "r"), *FindInstruction(*module_, "exp.1")).reason,
      Reason::kOtherComputation);
}

TEST_F(Legality, SharingThatCouldCloseACycleIsRefused) {
  Use("cycle");
  EXPECT_EQ(DroppedFor({"y -> z", "share y"}, "share y"), Reason::kCycle);
  EXPECT_EQ(DroppedFor({"y -> u", "share y"}, "share y"), Reason::kCycle);  // w lies beside y
}

TEST_F(Legality, UpdateDoesNotReadTheBufferThatItWrites) {
  Use("update");
  EXPECT_EQ(DroppedFor({"old -> sum", "sum -> next"}, "sum -> next"), Reason::kInPlace);
  EXPECT_EQ(DroppedFor({"twice -> other"}, "twice -> other"), Reason::kLegal);
  EXPECT_EQ(WhyNone("next", "other"), Reason::kInPlace);
  EXPECT_EQ(WhyNone("other", "out"), Reason::kInPlace);
}

TEST_F(Legality, LimitsComeFromTheTarget) {
  Rules target;
  target.max_instructions = 6;
  Use("adam", target);
  std::vector<Dropped> dropped;
  Config config(space_->size());
  for (int64_t d = 0; d < space_->edge_count(); ++d) config.Set(d, true);
  Legalize(*space_, config, &dropped);
  ASSERT_FALSE(dropped.empty());
  for (const Dropped& d : dropped) EXPECT_EQ(d.reason, Reason::kCodeLimit);
  for (const Kernel& kernel : KernelsOf(*Apply(*space_, config))) {
    // Parameters aside.
    EXPECT_LE(kernel.computation().instruction_count() - static_cast<int64_t>(kernel.operands.size()), 6);
  }

  target = Rules();
  target.max_operands_and_outputs = 4;
  Use("adam", target);
  for (const Kernel& kernel : KernelsOf(*Apply(*space_, config))) EXPECT_LE(kernel.operands.size(), 3);

  target = Rules();
  target.max_depth = 2;
  Use("elementwise", target);
  EXPECT_EQ(DroppedFor({"add.1 -> mul.1", "mul.1 -> tanh.1"}, "mul.1 -> tanh.1"), Reason::kDepthLimit);
}

TEST_F(Legality, ReductionIsComputedInAsManyKernelsAsTheTargetAllows) {
  constexpr std::string_view kText = R"(
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
ENTRY main {
  x = f32[8,8] parameter(0)
  zero = f32[] constant(0)
  s = f32[8] reduce(x, zero), dimensions={1}, to_apply=add
  u = f32[8] negate(s)
  v = f32[8] sine(s)
  w = f32[8] abs(s)
  ROOT out = (f32[8], f32[8], f32[8]) tuple(u, v, w)
})";
  UseText(kText);
  // Its own kernel and one more: together two.
  EXPECT_EQ(Everything().Count() - (Everything().Get(FindDecision(*space_, "share s")) ? 1 : 0), 1);
  Rules target;
  target.reduction_copies = 3;
  UseText(kText, target);
  EXPECT_EQ(DroppedFor({"s -> u", "s -> v", "s -> w"}, "s -> w"), Reason::kLegal);
}

TEST_F(Legality, EveryReasonHasACodeAndAText) {
  for (int r = 0; r <= static_cast<int>(Reason::kNotChosen); ++r) {
    const ReasonInfo info = Describe(static_cast<Reason>(r));
    EXPECT_NE(info.code, "unknown");
    EXPECT_FALSE(info.text.empty());
  }
}

// A chain in which every value is used twice: the number of paths doubles at each step, the number of instructions does
// not.
TEST_F(Legality, DiamondsCountOnceHoweverManyPathsTheyHave) {
  std::string text = "ENTRY main {\n  v0 = f32[256] parameter(0)\n";
  for (int i = 1; i <= 80; ++i) {
    const std::string p = "v" + std::to_string(i - 1);
    text += "  v" + std::to_string(i) + " = f32[256] add(" + p + ", n" + std::to_string(i) + ")\n";
    text.insert(text.rfind("  v" + std::to_string(i)), "  n" + std::to_string(i) + " = f32[256] negate(" + p + ")\n");
  }
  text += "  ROOT out = f32[256] abs(v80)\n}\n";
  UseText(text);
  Rules target;
  EXPECT_EQ(KernelsOf(*Apply(*space_, Everything())).size(), 2);  // 161 deep, the limit is 96
  target.max_depth = 1000;
  UseText(text, target);
  EXPECT_EQ(KernelsOf(*Apply(*space_, Everything())).size(), 1);
}

}  // namespace
}  // namespace smelt::fusion
