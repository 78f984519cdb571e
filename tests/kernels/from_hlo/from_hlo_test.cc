#include "kernels/te/from_hlo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fusion/target.h"
#include "hlo/text/parser.h"
#include "tests/kernels/agreement/agreement.h"
#include "tests/kernels/agreement/snippets.h"
#include "tests/kernels/from_hlo/graph_interpreter.h"

namespace smelt::kernels::te {
namespace {

using ::testing::HasSubstr;

class FromHloSnippet : public ::testing::TestWithParam<Snippet> {};

TEST_P(FromHloSnippet, MeansWhatTheEvaluatorComputes) {
  const std::unique_ptr<hlo::Module> module = ParseSnippet(GetParam());
  const Reference reference = MakeReference(*module);
  const absl::StatusOr<Graph> graph = FromHlo(*module->entry());
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(Difference(Interpret(*graph, reference.inputs), reference.outputs), "") << ToString(*graph);
}

INSTANTIATE_TEST_SUITE_P(All, FromHloSnippet, ::testing::ValuesIn(Snippets()),
                         [](const auto& info) { return std::string(info.param.name); });

std::unique_ptr<hlo::Module> Parse(const std::string& text) {
  absl::StatusOr<std::unique_ptr<hlo::Module>> module = hlo::ParseModule(text);
  EXPECT_TRUE(module.ok()) << module.status();
  return std::move(*module);
}

struct Refusal {
  const char* entry;
  const char* reason;
};

TEST(HasLoopNest, NamesWhatItRefusesAndWhy) {
  const Refusal refusals[] = {
      {"x = c64[4] parameter(0)  ROOT r = c64[4] log(x)", "r: log of complex numbers"},
      {"x = c128[4] parameter(0)  ROOT r = c128[4] divide(x, x)", "the divisor is one finite constant"},
      {"x = c128[4] parameter(0)  ROOT r = f64[4] abs(x)", "of complex numbers of f64"},
      {"x = f64[4] parameter(0)  ROOT r = c64[4] bitcast(x)", "bitcast between real and complex numbers"},
      {"x = f32[4] parameter(0)  ROOT r = c64[3] fft(x), fft_type=RFFT, fft_length={4}", "r: a Fourier transform"},
      {"x = f32[0,4] parameter(0)  ROOT r = f32[0,4] negate(x)", "no elements"},
      {"x = f32[4,4] parameter(0)  ROOT r = f32[4,4] cholesky(x), lower=true", "r: a factorisation"},
      {"x = u8[4,4] parameter(0)  ROOT r = u32[4] bitcast(x)", "different width"},
  };
  for (const Refusal& refusal : refusals) {
    const auto module = Parse(std::string("HloModule m\nENTRY e {\n") + refusal.entry + "\n}\n");
    const absl::Status status = HasLoopNest(*module->entry()->root());
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << refusal.entry;
    EXPECT_THAT(std::string(status.message()), HasSubstr(refusal.reason));
    EXPECT_FALSE(FromHlo(*module->entry()).ok());
  }
}

// What fusion takes for loops the kernel compiler must have; what passes remove before fusion it may have beside that.
void ExpectFusionAgrees(const hlo::Module& module, bool both_ways) {
  for (const hlo::Instruction* instruction : module.entry()->Instructions()) {
    const hlo::Opcode opcode = instruction->opcode();
    if (opcode == hlo::Opcode::kParameter || opcode == hlo::Opcode::kTuple) continue;
    const bool fused = fusion::HasLoopNest(*instruction), compiled = HasLoopNest(*instruction).ok();
    EXPECT_TRUE(both_ways ? fused == compiled : compiled || !fused)
        << module.name() << ": " << instruction->name() << ": " << HasLoopNest(*instruction);
  }
}

TEST(HasLoopNest, IsWhatFusionHasIt) {
  for (const Snippet& snippet : Snippets())
    ExpectFusionAgrees(*ParseSnippet(snippet), std::string(snippet.name).starts_with("Complex"));
  const char* others[] = {
      "x = c64[4] parameter(0)  ROOT r = c64[4] exponential(x)",
      "x = c64[4] parameter(0)  ROOT r = c64[4] divide(x, x)",
      "x = c128[4] parameter(0)  ROOT r = c128[4] divide(x, x)",
      "x = c128[4] parameter(0)  ROOT r = c128[4] exponential(x)",
      "x = c64[4] parameter(0)  ROOT r = c64[4] log(x)",
      "x = c64[4] parameter(0)  k = c64[] constant((0, 0))  b = c64[4] broadcast(k), dimensions={}  ROOT r = c64[4] "
      "divide(x, b)",
      "x = c64[4] parameter(0)  k = c64[] constant((inf, 0))  b = c64[4] broadcast(k), dimensions={}  ROOT r = c64[4] "
      "divide(x, b)",
      "x = c128[4] parameter(0)  ROOT r = f64[4] abs(x)",
      "x = f64[4] parameter(0)  ROOT r = c64[4] bitcast(x)",
      "x = c64[2,3] parameter(0)  ROOT r = c64[2,2] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
      "x = c64[6] parameter(0)  i = s32[] parameter(1)  u = c64[2] parameter(2)  ROOT r = c64[6] "
      "dynamic-update-slice(x, u, i)",
      "x = f32[4] parameter(0)  ROOT r = f32[4] reduce-precision(x), exponent_bits=8, mantissa_bits=7",
      "x = u8[4,4] parameter(0)  ROOT r = u32[4] bitcast(x)",
      "ROOT i = c64[4] iota(), iota_dimension=0",
  };
  for (const char* other : others)
    ExpectFusionAgrees(*Parse(std::string("HloModule m\nENTRY e {\n") + other + "\n}\n"), /*both_ways=*/true);
}

TEST(HasLoopNest, OfAKernelLooksAtItsParametersAndTuplesToo) {
  const auto nest = Parse(
      "HloModule m\nENTRY e { x = s4[4] parameter(0)  y = s4[4] negate(x)  ROOT t = (s4[4], s4[4]) tuple(x, y) }");
  EXPECT_TRUE(HasLoopNest(*nest->entry()).ok()) << HasLoopNest(*nest->entry());
  const auto opaque = Parse("HloModule m\nENTRY e { z = f32[0] parameter(0)  ROOT r = f32[] constant(0) }");
  EXPECT_THAT(std::string(HasLoopNest(*opaque->entry()).message()), HasSubstr("z: parameter f32[0] has no elements"));
}

TEST(FromHlo, GivesEqualKernelsEqualStageNames) {
  const auto a =
      Parse("HloModule m\nENTRY e { x = f32[4] parameter(0)  y = f32[4] exponential(x)  ROOT z = f32[4] negate(y) }");
  const auto b =
      Parse("HloModule n\nENTRY f { q = f32[4] parameter(0)  s = f32[4] exponential(q)  ROOT t = f32[4] negate(s) }");
  EXPECT_EQ(ToString(FromHlo(*a->entry()).value()), ToString(FromHlo(*b->entry()).value()));
}

}  // namespace
}  // namespace smelt::kernels::te
