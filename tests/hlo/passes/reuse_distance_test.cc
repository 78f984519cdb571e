#include "hlo/passes/reuse_distance.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "hlo/text/parser.h"

namespace smelt::hlo {
namespace {

constexpr int64_t kMatrix = 4 * 512 * 512;  // bytes of a matrix of these programs
constexpr int64_t kRow = 4 * 512;

std::unique_ptr<Module> Parse(const std::string& text) { return ParseModule("HloModule m\n" + text).value(); }

// The distance of an operand of the instruction of this name.
int64_t Of(const Module& module, const std::string& user, int64_t operand) {
  const Instruction* instruction = module.FindInstruction(user);
  return ReuseDistances(module).Of(*instruction, *instruction->operand(operand));
}

constexpr char kDims[] = "lhs_contracting_dims={1}, rhs_contracting_dims={0}";

std::string Product(const std::string& name, const std::string& x, const std::string& w) {
  return "  " + name + " = f32[1,512] dot(" + x + ", " + w + "), " + kDims + "\n";
}

std::unique_ptr<Module> ThreeLayers() {
  return Parse("ENTRY e {\n  x = f32[1,512] parameter(0)\n  u = f32[512,512] parameter(1)\n" +
               std::string("  v = f32[512,512] parameter(2)\n  w = f32[512,512] parameter(3)\n") +
               Product("a", "x", "u") + "  n = f32[1,512] negate(a)\n" + Product("b", "n", "v") +
               Product("c", "b", "w") + "  ROOT s = f32[1,512] add(c, n)\n}\n");
}

TEST(ReuseDistances, WeightsAreReadOnceInARun) {
  const std::unique_ptr<Module> module = ThreeLayers();
  // Two other matrices, two results in memory and the argument lie between two runs of a layer, its own do not.
  EXPECT_EQ(Of(*module, "b", 1), 2 * kMatrix + 4 * kRow);
  EXPECT_EQ(Of(*module, "a", 1), 2 * kMatrix + 3 * kRow);
}

TEST(ReuseDistances, WhatWasJustComputedIsNear) {
  const std::unique_ptr<Module> module = ThreeLayers();
  EXPECT_EQ(Of(*module, "b", 0), 0);
  EXPECT_EQ(Of(*module, "c", 0), 0);
}

TEST(ReuseDistances, WhatWasReadLongAgoIsFar) {
  const std::unique_ptr<Module> module = ThreeLayers();
  EXPECT_EQ(Of(*module, "s", 1), kMatrix + kRow);  // last read by b
}

TEST(ReuseDistances, ResultsOfTheProgramAreFarAndOthersAreNot) {
  const std::unique_ptr<Module> module = ThreeLayers();
  const ReuseDistances distances(*module);
  const Instruction& sum = *module->FindInstruction("s");
  EXPECT_EQ(distances.OfResult(sum, 0, distances.OwnBytes(sum)), 3 * kMatrix + 4 * kRow);
  EXPECT_EQ(distances.OfResult(*module->FindInstruction("b"), 0, 0), 0);
}

TEST(ReuseDistances, AProgramOfOneKernelFindsAllNear) {
  const auto module = Parse("ENTRY e {\n  x = f32[1,512] parameter(0)\n  w = f32[512,512] parameter(1)\n  ROOT" +
                            Product("y", "x", "w") + "}\n");
  EXPECT_EQ(Of(*module, "y", 0), 0);
  EXPECT_EQ(Of(*module, "y", 1), 0);
  const ReuseDistances distances(*module);
  const Instruction& product = *module->FindInstruction("y");
  EXPECT_EQ(distances.OfResult(product, 0, distances.OwnBytes(product)), 0);
}

TEST(ReuseDistances, ALittleIsNear) {
  const auto module = Parse(
      "ENTRY e {\n  x = f32[64,64] parameter(0)\n  y = f32[64,64] parameter(1)\n  a = f32[64,64] exponential(x)\n"
      "  b = f32[64,64] exponential(y)\n  ROOT s = f32[64,64] add(a, b)\n}\n");
  EXPECT_EQ(Of(*module, "a", 0), 0);
}

TEST(ReuseDistances, SharedWeightsAreNearerThanOthers) {
  const auto module =
      Parse("ENTRY e {\n  x = f32[1,512] parameter(0)\n  u = f32[512,512] parameter(1)\n" +
            std::string("  v = f32[512,512] parameter(2)\n") + Product("a", "x", "u") + Product("b", "a", "v") +
            Product("c", "b", "u") + "  ROOT" + Product("d", "c", "v") + "}\n");
  EXPECT_EQ(Of(*module, "c", 1), kMatrix + kRow);
  EXPECT_EQ(Of(*module, "a", 1), kMatrix + kRow);
}

TEST(ReuseDistances, ALoopReadsItsStateInEachTurn) {
  const auto module =
      Parse("body {\n  s = (s32[], f32[1,512], f32[512,512]) parameter(0)\n" +
            std::string("  i = s32[] get-tuple-element(s), index=0\n") +
            "  h = f32[1,512] get-tuple-element(s), index=1\n" + "  w = f32[512,512] get-tuple-element(s), index=2\n" +
            Product("p", "h", "w") + "  w2 = f32[512,512] get-tuple-element(s), index=2\n" + Product("q", "p", "w2") +
            "  one = s32[] constant(1)\n  next = s32[] add(i, one)\n"
            "  ROOT r = (s32[], f32[1,512], f32[512,512]) tuple(next, q, w)\n}\n"
            "condition {\n  s = (s32[], f32[1,512], f32[512,512]) parameter(0)\n"
            "  i = s32[] get-tuple-element(s), index=0\n  ten = s32[] constant(10)\n"
            "  ROOT less = pred[] compare(i, ten), direction=LT\n}\n"
            "ENTRY e {\n  x = f32[1,512] parameter(0)\n  m = f32[512,512] parameter(1)\n"
            "  v = f32[512,512] parameter(2)\n  zero = s32[] constant(0)\n" +
            Product("first", "x", "v") +
            "  t = (s32[], f32[1,512], f32[512,512]) tuple(zero, first, m)\n"
            "  l = (s32[], f32[1,512], f32[512,512]) while(t), condition=condition, body=body\n"
            "  ROOT y = f32[1,512] get-tuple-element(l), index=1\n}\n");
  EXPECT_EQ(Of(*module, "q", 1), 0);  // p has read the same weights, by another name
  EXPECT_EQ(Of(*module, "p", 1), 0);
  EXPECT_GE(Of(*module, "first", 1), kMatrix);  // what the loop reads lies between
}

TEST(ReuseDistances, ABranchReadsWhatItsCallerHas) {
  const auto module =
      Parse("yes {\n  t = (f32[1,512], f32[512,512]) parameter(0)\n" +
            std::string("  x = f32[1,512] get-tuple-element(t), index=0\n") +
            "  w = f32[512,512] get-tuple-element(t), index=1\n  ROOT" + Product("p", "x", "w") + "}\n" +
            "no {\n  y = f32[1,512] parameter(0)\n  ROOT n = f32[1,512] negate(y)\n}\n"
            "ENTRY e {\n  c = pred[] parameter(0)\n  x0 = f32[1,512] parameter(1)\n"
            "  w0 = f32[512,512] parameter(2)\n  v0 = f32[512,512] parameter(3)\n" +
            Product("first", "x0", "v0") +
            "  given = (f32[1,512], f32[512,512]) tuple(first, w0)\n"
            "  ROOT r = f32[1,512] conditional(c, given, first), true_computation=yes, "
            "false_computation=no\n}\n");
  EXPECT_GE(Of(*module, "p", 1), kMatrix);
  EXPECT_EQ(Of(*module, "p", 0), 0);
}

}  // namespace
}  // namespace smelt::hlo
