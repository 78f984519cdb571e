// Contractions of short numbers by instructions, compiled: on this machine against the evaluator, and for others to the
// end of code generation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

bool HostHas(const std::string& instruction) {
  const Target host = DetectTarget(/*measure=*/false);
  return std::find(host.instructions.begin(), host.instructions.end(), instruction) != host.instructions.end();
}

// `spills`: whether what follows the sum may take more registers than there are.
void ExpectAgrees(const std::string& entry, const std::string& instruction, double tolerance = 2e-5,
                  bool spills = false) {
  const auto module = Parse(entry);
  const kernels::Reference reference = kernels::MakeReference(*module);
  Target target = DetectTarget(/*measure=*/false);
  const absl::StatusOr<CompiledRun> run = RunCompiled(*module, reference.inputs, target);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_THAT(run->kernel->trace, HasSubstr(instruction));
  if (!spills) {
    EXPECT_EQ(run->kernel->vector_spills, 0) << run->kernel->trace;
  }
  EXPECT_EQ(kernels::Difference(run->outputs, reference.outputs, tolerance), "") << entry << run->kernel->trace;
}

TEST(CompiledDotInstruction, BytesAreExactOnThisMachine) {
  if (!HostHas("avx512vnni")) GTEST_SKIP() << "this CPU has no avx512vnni";
  const int64_t shapes[][3] = {{8, 16, 16}, {64, 64, 64}, {9, 17, 18}, {61, 50, 33}, {31, 8, 130}, {128, 100, 75}};
  for (const auto& [m, n, k] : shapes) {
    for (const bool transposed : {false, true}) {
      ExpectAgrees(Dot("s8", "s8", "s32", m, n, k, transposed), "dot_s8shifted_s8_16");
      ExpectAgrees(Dot("u8", "s8", "s32", m, n, k, transposed), "dot_u8s8_16");
    }
  }
}

TEST(CompiledDotInstruction, QuantisedConvolutionsAreExactOnThisMachine) {
  if (!HostHas("avx512vnni")) GTEST_SKIP() << "this CPU has no avx512vnni";
  for (const auto& [size, features] : {std::pair{14, 64}, std::pair{15, 3}, std::pair{7, 33}}) {
    // Bias, requantisation by a multiplication and a shift, saturation: what quantised layers are.
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
        "dot_s8shifted_s8_16", 0, /*spills=*/true);
  }
}

TEST(CompiledDotInstruction, BrainFloatsAreWithinTheirTolerance) {
  if (!HostHas("avx512bf16")) GTEST_SKIP() << "this CPU has no avx512bf16";
  for (const auto& [m, n, k] : {std::tuple{32, 48, 64}, std::tuple{13, 70, 65}}) {
    ExpectAgrees(Dot("bf16", "bf16", "f32", m, n, k, false), "dot_bf16_16", 1e-5);
    ExpectAgrees(Dot("bf16", "bf16", "bf16", m, n, k, true), "dot_bf16_16", 1.0 / 128);
  }
}

struct Other {
  const char* cpu;
  const char* asked;  // beside what is found
  const char* instruction;
};

TEST(CompiledDotInstruction, OtherMachinesHaveTheirs) {
  const Other others[] = {{"icelake-server", "", "vpdpbusd"},
                          {"alderlake", "", "vpdpbusd"},
                          {"neoverse-n1", "", "sdot"},
                          {"sapphirerapids", "amx-int8", "tdpbssd"}};
  for (const auto& [cpu, asked, instruction] : others) {
    Target target;
    target.name = cpu;
    ASSERT_TRUE(codegen::DescribeVectors(cpu, "", &target.vector_bytes, &target.vector_registers).ok());
    target.instructions = codegen::DescribeInstructions(cpu, "").value();
    target.instructions.push_back(asked);
    const auto module = Parse(Dot("s8", "s8", "s32", 64, 64, 64, false));
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
    // A CPU without it is told so, and nothing is emitted.
    Target old;
    old.name = "haswell";
    const auto refused = codegen::EmitObject(function, old);
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kUnimplemented);
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr("which this CPU has not"));
  }
}

}  // namespace
}  // namespace smelt::cpu
