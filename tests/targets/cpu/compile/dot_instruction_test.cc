// Contractions of short numbers by instructions, compiled: on this machine against the evaluator, and for others to the
// end of code generation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "absl/strings/str_cat.h"
#include "hlo/text/parser.h"
#include "kernels/lower/lower.h"
#include "kernels/te/hlo/from_hlo.h"
#include "kernels/templates/templates.h"
#include "kernels/tiles/kernel_schedule.h"
#include "targets/cpu/codegen/codegen.h"
#include "targets/cpu/processor/detect.h"
#include "tests/kernels/agreement/agreement.h"
#include "tests/targets/cpu/compile/run_compiled.h"

namespace smelt::cpu {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::unique_ptr<hlo::Module> Parse(const std::string& entry) {
  auto module = hlo::ParseModule("HloModule m\nENTRY e {\n" + entry + "\n}\n");
  EXPECT_TRUE(module.ok()) << module.status();
  return *std::move(module);
}

std::string Dot(const std::string& left, const std::string& right, const std::string& sum, int64_t m, int64_t n,
                int64_t k, bool transposed) {
  const std::string b = transposed ? absl::StrCat("[", n, ",", k, "]") : absl::StrCat("[", k, ",", n, "]");
  return absl::StrCat("a = ", left, "[", m, ",", k, "] parameter(0)  b = ", right, b, " parameter(1)  ROOT c = ", sum,
                      "[", m, ",", n, "] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={",
                      transposed ? 1 : 0, "}");
}

std::string Convolution(const char* sum, int size, int features, int channels) {
  const std::string image = absl::StrCat("2,", size, ",", size, ",");
  return absl::StrCat("x = s8[", image, features, "] parameter(0)  w = s8[3,3,", features, ",", channels,
                      "] parameter(1)  ROOT c = ", sum, "[", image, channels,
                      "] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f");
}

bool HostHas(const std::string& instruction) {
  const Target host = DetectTarget(/*measure=*/false);
  return std::find(host.instructions.begin(), host.instructions.end(), instruction) != host.instructions.end();
}

// With one of the machine's instruction sets. `spills`: whether what follows the sum may take more registers than there
// are.
void ExpectAgrees(const std::string& entry, const std::string& set, const std::string& instruction,
                  double tolerance = 2e-5, bool spills = false) {
  const auto module = Parse(entry);
  const kernels::Reference reference = kernels::MakeReference(*module);
  Target target = DetectTarget(/*measure=*/false);
  target.instructions = {set};
  const absl::StatusOr<CompiledRun> run = RunCompiled(*module, reference.inputs, target);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_THAT(run->kernel->trace, HasSubstr(instruction));
  if (!spills) {
    EXPECT_EQ(run->kernel->vector_spills, 0) << run->kernel->trace;
  }
  EXPECT_EQ(kernels::Difference(run->outputs, reference.outputs, tolerance), "") << entry << run->kernel->trace;
}

TEST(CompiledDotInstruction, BytesAreExactOnThisMachine) {
  const struct {
    const char *set, *left, *right, *name;
  } products[] = {
      {"avx512vnni", "s8", "s8", "dot_s8shifted_s8_16"},
      {"avx512vnni", "u8", "s8", "dot_u8s8_16"},
      {"avx512bw", "s8", "s8", "dot_s8s8_16"},
      {"avx512bw", "u8", "s8", "dot_u8s8_16"},
      {"avx512bw", "s8", "u8", "dot_s8u8_16"},
      {"avx2", "s8", "s8", "dot_s8s8_8"},
      {"avx2", "u8", "s8", "dot_u8s8_8"},
      {"avx2", "s8", "u8", "dot_s8u8_8"},
  };
  const int64_t shapes[][3] = {{8, 16, 16},  {64, 64, 64},   {9, 17, 18},  {61, 50, 33},
                               {31, 8, 130}, {128, 100, 75}, {12, 80, 64}, {9, 144, 33}};
  bool any = false;
  for (const auto& [set, left, right, name] : products) {
    if (!HostHas(set)) continue;
    any = true;
    for (const auto& [m, n, k] : shapes) {
      for (const bool transposed : {false, true})
        ExpectAgrees(Dot(left, right, "s32", m, n, k, transposed), set, name, 0);
    }
  }
  if (!any) GTEST_SKIP() << "this CPU has neither VNNI nor AVX2";
}

TEST(CompiledDotInstruction, PairsOfTheLeastBytesAreExactOnThisMachine) {
  if (!HostHas("avx2")) GTEST_SKIP() << "this CPU has no avx2";
  // -128 times -128, twice, is more than 16 bits hold; shorter instructions saturate there.
  const auto module = Parse(Dot("s8", "s8", "s32", 16, 24, 64, false));
  kernels::Reference reference = kernels::MakeReference(*module);
  for (hlo::Literal& input : reference.inputs) {
    for (int64_t i = 0; i < input.shape().ElementCount(); ++i) input.data<int8_t>()[i] = -128;
  }
  Target target = DetectTarget(/*measure=*/false);
  target.instructions = {"avx2"};
  const absl::StatusOr<CompiledRun> run = RunCompiled(*module, reference.inputs, target);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_THAT(run->kernel->trace, HasSubstr("dot_s8s8_8"));
  const hlo::Literal& sums = run->outputs[0];
  for (int64_t i = 0; i < sums.shape().ElementCount(); ++i) ASSERT_EQ(sums.data<int32_t>()[i], 64 * 128 * 128);
}

// Layers of quantised networks: bias, requantisation by a multiplication and a shift, saturation.
void ExpectQuantisedConvolutionsAgree(const std::string& set, const std::string& instruction,
                                      const std::vector<std::pair<int, int>>& sizes) {
  for (const auto& [size, features] : sizes) {
    const std::string image = absl::StrCat("[1,", size, ",", size, ",48]");
    ExpectAgrees(
        absl::StrCat(R"(
  x = s8[1,)",
                     size, ",", size, ",", features, R"(] parameter(0)  w = s8[3,3,)", features, R"(,48] parameter(1)
  bias = s32[48] parameter(2)  m = s64[48] parameter(3)
  c = s32)",
                     image, R"( convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  wide = s32)",
                     image, R"( broadcast(bias), dimensions={3}  sum = s32)", image, R"( add(c, wide)
  long = s64)",
                     image, R"( convert(sum)  factors = s64)", image, R"( broadcast(m), dimensions={3}
  product = s64)",
                     image, R"( multiply(long, factors)  twelve = s64[] constant(12)
  shift = s64)",
                     image, R"( broadcast(twelve), dimensions={}  scaled = s64)", image,
                     R"( shift-right-arithmetic(product, shift)
  lo = s64[] constant(-128)  hi = s64[] constant(127)  kept = s64)",
                     image, R"( clamp(lo, scaled, hi)
  ROOT r = s8)",
                     image, " convert(kept)"),
        set, instruction, 0, /*spills=*/true);
  }
}

TEST(CompiledDotInstruction, QuantisedConvolutionsAreExactOnThisMachine) {
  const std::pair<const char*, const char*> sets[] = {
      {"avx512vnni", "dot_s8shifted_s8_16"}, {"avx512bw", "dot_s8s8_16"}, {"avx2", "dot_s8s8_8"}};
  bool any = false;
  for (const auto& [set, name] : sets) {
    if (!HostHas(set)) continue;
    any = true;
    ExpectQuantisedConvolutionsAgree(set, name, {{14, 64}, {15, 3}, {7, 33}});
  }
  if (!any) GTEST_SKIP() << "this CPU has neither VNNI nor AVX2";
}

TEST(CompiledDotInstruction, BrainFloatsAreWithinTheirTolerance) {
  if (!HostHas("avx512bf16")) GTEST_SKIP() << "this CPU has no avx512bf16";
  for (const auto& [m, n, k] : {std::tuple{32, 48, 64}, std::tuple{13, 70, 65}, std::tuple{16, 96, 64}}) {
    ExpectAgrees(Dot("bf16", "bf16", "f32", m, n, k, false), "avx512bf16", "dot_bf16_16", 1e-5);
    ExpectAgrees(Dot("bf16", "bf16", "bf16", m, n, k, true), "avx512bf16", "dot_bf16_16", 1.0 / 128);
  }
}

TEST(CompiledDotInstruction, TilesAreExactOnThisMachine) {
  if (!HostHas("amx-int8")) GTEST_SKIP() << "this CPU has no amx-int8, or this process may not use it";
  const int64_t shapes[][3] = {{16, 16, 64}, {64, 64, 128}, {9, 17, 50}, {61, 50, 100}, {31, 8, 130}, {130, 100, 575}};
  for (const auto& [m, n, k] : shapes) {
    for (const bool transposed : {false, true}) {
      ExpectAgrees(Dot("s8", "s8", "s32", m, n, k, transposed), "amx-int8", "tile_dot_s8s8_");
      ExpectAgrees(Dot("u8", "s8", "s32", m, n, k, transposed), "amx-int8", "tile_dot_u8s8_");
      ExpectAgrees(Dot("s8", "u8", "s32", m, n, k, transposed), "amx-int8", "tile_dot_s8u8_");
    }
  }
  ExpectAgrees(R"(
  a = s8[3,40,96] parameter(0)  b = s8[3,96,40] parameter(1)
  ROOT c = s32[3,40,40] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1})",
               "amx-int8", "tile_dot_s8s8_14");
}

TEST(CompiledDotInstruction, TilesOfRandomShapesAreExactOnThisMachine) {
  if (!HostHas("amx-int8")) GTEST_SKIP() << "this CPU has no amx-int8, or this process may not use it";
  constexpr unsigned kSeed = 11;
  std::mt19937 random(kSeed);
  const auto draw = [&](int low, int high) { return low + static_cast<int>(random() % (high - low + 1)); };
  for (int i = 0; i < 40; ++i) {
    // Most of a group of 64, beyond whole ones.
    const int k = 64 * draw(0, 5) + draw(48, 64), m = draw(8, 90), n = draw(8, 150);
    SCOPED_TRACE(absl::StrCat("seed ", kSeed, ", shape ", i));
    ExpectAgrees(Dot("s8", "s8", "s32", m, n, k, draw(0, 1) == 1), "amx-int8", "tile_dot_s8s8_");
  }
}

TEST(CompiledDotInstruction, ConvolutionsInTilesAreExactOnThisMachine) {
  if (!HostHas("amx-int8")) GTEST_SKIP() << "this CPU has no amx-int8, or this process may not use it";
  for (const auto& [size, features, channels] :
       {std::tuple{4, 64, 16}, std::tuple{7, 128, 40}, std::tuple{14, 64, 64}, std::tuple{15, 50, 33},
        std::tuple{17, 64, 20}, std::tuple{40, 64, 64}})
    ExpectAgrees(Convolution("s32", size, features, channels), "amx-int8", "tile_dot_s8s8_");
  ExpectQuantisedConvolutionsAgree("amx-int8", "tile_dot_s8s8_", {{14, 64}, {7, 50}, {30, 128}});
}

TEST(CompiledDotInstruction, TilesOfBrainFloatsAreWithinTheirTolerance) {
  if (!HostHas("amx-bf16")) GTEST_SKIP() << "this CPU has no amx-bf16, or this process may not use it";
  for (const auto& [m, n, k] : {std::tuple{32, 48, 64}, std::tuple{13, 70, 50}, std::tuple{100, 33, 290}}) {
    ExpectAgrees(Dot("bf16", "bf16", "f32", m, n, k, false), "amx-bf16", "tile_dot_bf16_", 1e-5);
    ExpectAgrees(Dot("bf16", "bf16", "bf16", m, n, k, true), "amx-bf16", "tile_dot_bf16_", 1.0 / 128);
  }
}

TEST(CompiledDotInstruction, TilesServeSeveralThreads) {
  if (!HostHas("amx-int8")) GTEST_SKIP() << "this CPU has no amx-int8, or this process may not use it";
  const auto module = Parse(Dot("s8", "s8", "s32", 200, 300, 256, false));
  const kernels::Reference reference = kernels::MakeReference(*module);
  Target target = DetectTarget(/*measure=*/false);
  target.threads = 3;
  const absl::StatusOr<CompiledRun> run = RunCompiled(*module, reference.inputs, target);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(kernels::Difference(run->outputs, reference.outputs, 0), "");
}

TEST(CompiledDotInstruction, WhereLinuxGivesNoTilesOtherInstructionsServe) {
  std::string cpu, granted, denied;
  codegen::DescribeHost(&cpu, &granted, [] { return true; });
  codegen::DescribeHost(&cpu, &denied, [] { return false; });
  EXPECT_THAT(denied, Not(HasSubstr("+amx")));
  const std::vector<std::string> all = codegen::DescribeInstructions(cpu, granted).value();
  const std::vector<std::string> left = codegen::DescribeInstructions(cpu, denied).value();
  std::vector<std::string> expected;
  for (const std::string& instruction : all) {
    if (!instruction.starts_with("amx")) expected.push_back(instruction);
  }
  EXPECT_EQ(left, expected);
  // Code with tiles and code without are told apart in every cache.
  Target with, without;
  with.name = without.name = cpu;
  with.features = granted;
  without.features = denied;
  EXPECT_EQ(with.CodeHash() == without.CodeHash(), all == left);
}

struct Other {
  const char* cpu;
  const char* instruction;
  const char* type;
};

TEST(CompiledDotInstruction, OtherMachinesHaveTheirs) {
  const Other others[] = {{"icelake-server", "vpdpbusd", "s8"},   {"alderlake", "vpdpbusd", "s8"},
                          {"haswell", "vpmaddwd", "s8"},          {"skylake-avx512", "vpmaddwd", "s8"},
                          {"neoverse-n1", "sdot", "s8"},          {"sapphirerapids", "tdpbssd", "s8"},
                          {"sapphirerapids", "tdpbf16ps", "bf16"}};
  for (const auto& [cpu, instruction, type] : others) {
    Target target;
    target.name = cpu;
    ASSERT_TRUE(codegen::DescribeVectors(cpu, "", &target.vector_bytes, &target.vector_registers).ok());
    target.instructions = codegen::DescribeInstructions(cpu, "").value();
    const auto module = Parse(Dot(type, type, std::string(type) == "s8" ? "s32" : "f32", 64, 64, 128, false));
    const auto structure = kernels::nests::AnalyseStructure(kernels::te::FromHlo(*module->entry()).value());
    const auto tile = kernels::nests::PreferredTiles(structure.main_nest(), target).front();
    const auto schedule = kernels::nests::ScheduleStructure(structure, tile, target).value();
    const auto function = kernels::lower::Lower(schedule, {.vector_bytes = target.vector_bytes}).value();
    std::string assembly;
    codegen::CodegenOptions options;
    options.assembly_text = &assembly;
    const auto object = codegen::EmitObject(function, target, options);
    ASSERT_TRUE(object.ok()) << cpu << object.status();
    EXPECT_EQ(object->vector_spills, 0) << cpu;
    EXPECT_THAT(assembly, HasSubstr(instruction)) << cpu;
    EXPECT_EQ(object->descriptor.uses_tiles, assembly.find("ldtilecfg") != std::string::npos) << cpu;
    // A CPU without it is told so, and nothing is emitted.
    Target old;
    old.name = "x86-64";
    const auto refused = codegen::EmitObject(function, old);
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kUnimplemented);
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr("which this CPU has not"));
  }
}

}  // namespace
}  // namespace smelt::cpu
