#include "kernels/te/hlo/from_hlo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "fusion/graph.h"
#include "fusion/kernel.h"
#include "hlo/loop_nest.h"
#include "hlo/text/parser.h"
#include "hlo/text/printer.h"
#include "tests/kernels/agreement/agreement.h"
#include "tests/kernels/agreement/snippets.h"
#include "tests/kernels/from_hlo/graph_interpreter.h"

namespace smelt::kernels::te {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

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

TEST(FromHlo, PositionsThatNoDataSaysAreReadWithoutArrays) {
  for (const Snippet& snippet : Snippets()) {
    if (std::string_view(snippet.name) != "WindowsByPosition") continue;
    const absl::StatusOr<Graph> graph = FromHlo(*ParseSnippet(snippet)->entry());
    ASSERT_TRUE(graph.ok()) << graph.status();
    EXPECT_THAT(ToString(*graph), Not(HasSubstr("iota"))) << "a stage of indices";
    return;
  }
  FAIL() << "no such snippet";
}

const char kScalarComputations[] = R"(HloModule m
bits { a = f32[] parameter(0)  b = f32[] parameter(1)  x = s32[] bitcast(a)  y = s32[] bitcast-convert(b)
  m = s32[] maximum(x, y)  ROOT r = f32[] bitcast-convert(m) }
complexes { a = f32[] parameter(0)  b = f32[] parameter(1)  c = c64[] complex(a, b)  ROOT r = f32[] real(c) }
nested { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] call(a, b), to_apply=bits }
)";

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

TEST(FromHlo, HasARuleForEveryOpcodeWithALoopNest) {
  // Whatever the table says has a loop nest is translated: no instruction passes one and is refused by the other.
  std::set<hlo::Opcode> translated;
  const auto translate = [&](const hlo::Module& module) {
    const absl::Status nest = hlo::HasLoopNest(*module.entry());
    const absl::Status graph = FromHlo(*module.entry()).status();
    EXPECT_EQ(nest.ok(), graph.ok()) << hlo::ToText(module) << nest << "\n" << graph;
    if (!graph.ok()) return;
    for (const hlo::Instruction* instruction : module.entry()->Instructions()) translated.insert(instruction->opcode());
  };
  for (const Snippet& snippet : Snippets()) translate(*ParseSnippet(snippet));
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
      "x = u8[4,4] parameter(0)  ROOT r = u32[4] bitcast-convert(x)",
      "x = f16[4,2] parameter(0)  ROOT r = f32[4] bitcast-convert(x)",
      "x = f8e4m3fn[4,8] parameter(0)  a = f8e8m0fnu[4,2] parameter(1)  ROOT r = f32[4,4] scaled-dot(x, x, a, a), "
      "lhs_contracting_dims={1}, rhs_contracting_dims={1}",
      "x = f32[4] parameter(0)  z = f32[] parameter(1)  ROOT r = f32[] reduce(x, z), dimensions={0}, to_apply=bits",
      "x = f32[4] parameter(0)  z = f32[] parameter(1)  ROOT r = f32[] reduce(x, z), dimensions={0}, "
      "to_apply=complexes",
      "x = f32[4] parameter(0)  ROOT r = f32[4] map(x, x), dimensions={0}, to_apply=nested",
  };
  for (const char* other : others)
    translate(*Parse(std::string(kScalarComputations) + "ENTRY e {\n" + other + "\n}\n"));
  for (int i = 0; i < hlo::kOpcodeCount; ++i) {
    const auto opcode = static_cast<hlo::Opcode>(i);
    if (!hlo::IsElementwise(opcode)) {
      EXPECT_EQ(hlo::LoopsOf(opcode).loop_nest, translated.contains(opcode) && opcode != hlo::Opcode::kParameter &&
                                                    opcode != hlo::Opcode::kTuple &&
                                                    opcode != hlo::Opcode::kGetTupleElement)
          << hlo::OpcodeName(opcode);
    }
  }
}

TEST(FromHlo, AParameterHasTheShapeOfTheOneMergeItIsReadThrough) {
  const auto inputs_of = [](const std::string& entry) {
    const auto graph = FromHlo(*Parse("HloModule m\nENTRY e {\n" + entry + "\n}\n")->entry());
    EXPECT_TRUE(graph.ok()) << graph.status();
    std::vector<std::vector<int64_t>> shapes;
    for (const Tensor& input : graph->inputs) shapes.emplace_back(input.shape().begin(), input.shape().end());
    return shapes;
  };
  using ::testing::ElementsAre;
  const std::string dot = "ROOT r = f32[5,6] dot(w, b), lhs_contracting_dims={0}, rhs_contracting_dims={0}";
  EXPECT_THAT(inputs_of("w = f32[4,5] parameter(0)  x = f32[4,2,3] parameter(1)  b = f32[4,6] bitcast(x)  " + dot),
              ElementsAre(ElementsAre(4, 5), ElementsAre(4, 6)));
  // To more dimensions; read otherwise, too; with its elements in another order.
  EXPECT_THAT(inputs_of("x = f32[4,6] parameter(0)  b = f32[4,2,3] bitcast(x)  ROOT r = f32[4,2,3] negate(b)"),
              ElementsAre(ElementsAre(4, 6)));
  EXPECT_THAT(inputs_of("x = f32[2,3] parameter(0)  b = f32[6] bitcast(x)  y = f32[2,3] negate(x)  "
                        "z = f32[6] bitcast(y)  ROOT r = f32[6] add(b, z)"),
              ElementsAre(ElementsAre(2, 3)));
  EXPECT_THAT(inputs_of("x = f32[2,3]{0,1} parameter(0)  b = f32[6] bitcast(x)  ROOT r = f32[6] negate(b)"),
              ElementsAre(ElementsAre(2, 3)));
}

// Legality and the kernel compiler ask one table: what has a loop nest has a role in fusion that says so.
TEST(Role, IsThatOfTheTableOfLoopNests) {
  for (int i = 0; i < hlo::kOpcodeCount; ++i) {
    const auto opcode = static_cast<hlo::Opcode>(i);
    if (!fusion::IsKernel(opcode) || opcode == hlo::Opcode::kFusion) continue;
    EXPECT_EQ(fusion::IsLoopNest(fusion::RoleOf(opcode)), hlo::LoopsOf(opcode).loop_nest) << hlo::OpcodeName(opcode);
  }
  EXPECT_EQ(fusion::RoleOf(hlo::Opcode::kScaledDot), fusion::Role::kContraction);
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
