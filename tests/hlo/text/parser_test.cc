#include "hlo/text/parser.h"

#include <gtest/gtest.h>

#include "base/str_cat.h"
#include "hlo/file/read.h"
#include "hlo/literal.h"
#include "hlo/text/printer.h"

namespace smelt::hlo {
namespace {

std::unique_ptr<Module> Parse(std::string_view text, bool verify = true) {
  ParseOptions options;
  options.verify = verify;
  absl::StatusOr<std::unique_ptr<Module>> module = ParseModule(text, options);
  EXPECT_TRUE(module.ok()) << module.status();
  return module.ok() ? *std::move(module) : nullptr;
}

std::string Error(std::string_view text, bool verify = true) {
  ParseOptions options;
  options.file_name = "f.hlo";
  options.verify = verify;
  return std::string(ParseModule(text, options).status().message());
}

const Instruction& Root(const Module& module) { return *module.entry()->root(); }

TEST(ParserErrors, ShowPlaceExpectationFindingLineAndCaret) {
  EXPECT_EQ(Error("HloModule m\nENTRY e {\n  x = f32[] parameter(0)\n  ROOT s = f32[] add(x, y)\n}\n"),
            "f.hlo:4:25: expected an instruction that is defined above in this computation, found `y`\n"
            "  ROOT s = f32[] add(x, y)\n"
            "                        ^");
}

TEST(ParserErrors, OfTheVerifierCarryThePlaceOfTheInstruction) {
  EXPECT_EQ(Error("ENTRY e {\n  x = f32[2] parameter(0)\n  y = f32[3] parameter(1)\n  ROOT s = f32[2] add(x, y)\n}"),
            "f.hlo:4:8: add: operands must have the same dimensions, are `x` of shape f32[2] and `y` of shape f32[3]\n"
            "  ROOT s = f32[2] add(x, y)\n"
            "       ^");
}

TEST(ParserErrors, ShowTheSurroundingsOfALongLine) {
  const std::string padding(1'000'000, ' ');
  const std::string error = Error("ENTRY e { ROOT x = f32[] parameter(0), index=" + padding + "3, a=" + padding + "}");
  EXPECT_LT(error.size(), 500);
}

struct BadText {
  const char* text;
  const char* expected;  // part of the message
};

class BadTextTest : public testing::TestWithParam<BadText> {};

TEST_P(BadTextTest, IsRefused) {
  const std::string error = Error(GetParam().text);
  EXPECT_TRUE(error.find(GetParam().expected) != std::string::npos) << error;
}

INSTANTIATE_TEST_SUITE_P(
    All, BadTextTest,
    testing::Values(
        BadText{"", "expected a module, a computation or an instruction, found the end of the text"},
        BadText{"HloModule m", "expected a computation, found the end of the text"},
        BadText{"ENTRY e { }", "a computation cannot be empty"},
        BadText{"ENTRY e { ROOT x = f32[] parameter(0)", "expected an instruction or `}`"},
        BadText{"ENTRY e { x = f32[] parameter(0) x = f32[] negate(x) }", "found `x` again"},
        BadText{"f { x = f32[] parameter(0) } ENTRY e { x = f32[] parameter(0) x = f32[] negate(x) }",
                "found `x` again"},
        // The name that we give the second x is not a name of the text.
        BadText{"f { x = f32[] parameter(0) } ENTRY e { x = f32[] parameter(0) ROOT y = f32[] negate(x.1) }",
                "an instruction that is defined above in this computation"},
        BadText{"ENTRY e { ROOT x = f32[] parameter(0) ROOT y = f32[] negate(x) }", "only one ROOT"},
        BadText{"ENTRY e { x = f32[] parameter(0) } ENTRY f { x = f32[] parameter(0) }", "only one ENTRY"},
        BadText{"ENTRY e { x = f32[] parameter(0) ROOT y = f32[] neg(x) }", "expected an opcode of HLO, found `neg`"},
        BadText{"ENTRY e { x = f32[] parameter(0) ROOT y = f32[] negate(x, x) }",
                "expected 1 operand of negate, found 2"},
        BadText{"ENTRY e { x = f32[] parameter(0) ROOT y = f32[] negate(x), index=1 }",
                "unexpected attribute \"index\""},
        BadText{"ENTRY e { x = f32[2] parameter(0) ROOT y = f32[2] transpose(x) }",
                "expected attribute dimensions of transpose, found none"},
        BadText{"ENTRY e { x = f32[2] parameter(0) ROOT y = f32[2] transpose(x), dimensions={0}, dimensions={0} }",
                "attribute dimensions once"},
        BadText{"e { a = f32[4] parameter(0) s = ((f32[4]), f32[4], u32[]) negate-start(a), async_execution_thread=x }",
                "found `x`"},
        BadText{"ENTRY e { x = f32[2] parameter(0) ROOT y = f32[] call(x), to_apply=f }",
                "a computation that is defined above"},
        BadText{"ENTRY e { x = f32[2] parameter(0) ROOT y = f32[3] negate(f32[3] x) }",
                "expected f32[2], the shape of `x`, found f32[3]"},
        BadText{"ENTRY e (x: f32[]) -> f32[2] { ROOT x = f32[] parameter(0) }", "a root of the declared shape f32[2]"},
        BadText{"ENTRY e { ROOT x = q32[] parameter(0) }", "expected a shape such as f32[2,3]"},
        BadText{"ENTRY e { ROOT x = f32[2 parameter(0) }", "expected `]`"},
        BadText{"ENTRY e { ROOT x = f32[2]{0:Q(3)} parameter(0) }", "one of the layout parts"},
        BadText{"ENTRY e { ROOT x = f32[2]{0:S(1)E(4)} parameter(0) }", "in this order"},
        BadText{"ENTRY e { ROOT x = f32[2]{0:L(4)L(4)} parameter(0) }", "in this order"},
        BadText{"ENTRY e { ROOT x = f32[2]{0:D(E)} parameter(0) }", "one of the levels D, C, S, H, found `E`"},
        // Braces inside were once skipped here, and counted where the entry's layout is read.
        BadText{"ENTRY e { ROOT x = u32[]{:D( ROOT y= u32[]{:D(1)} a }s8)} parameter(0) }", "one of the levels"},
        BadText{"ENTRY e { ROOT x = f32[2]{0:L(D)} parameter(0) }", "an integer, found `D`"},
        BadText{"ENTRY e { ROOT x = f32[2]{0:#(D)} parameter(0) }", "a type such as u32, found `D`"},
        BadText{"ENTRY e { ROOT x = f32[2]{0:SC(0)} parameter(0) }", "expected `:`"},
        BadText{"ENTRY e { ROOT x = f32[] parameter(99999999999999999999) }", "of at most 64 bits"},
        BadText{"ENTRY e { ROOT c = s8[] constant(128) }", "a value within the range of s8, found `128`"},
        BadText{"ENTRY e { ROOT c = u8[] constant(-1) }", "a value within the range of u8"},
        BadText{"ENTRY e { ROOT c = pred[] constant(2.5) }", "an integer, since the constant is pred"},
        BadText{"ENTRY e { ROOT c = s32[] constant(1.5) }", "an integer, since the constant is s32"},
        BadText{"ENTRY e { ROOT c = f32[] constant(1e39) }", "a value within the range of f32"},
        BadText{"ENTRY e { ROOT c = f32[2] constant({1, 2, 3}) }",
                "expected `}` after 2 elements of f32[2], found `3`"},
        BadText{"ENTRY e { ROOT c = f32[2,2] constant({{1, 2}, {3}}) }",
                "2 elements in dimension 1 of f32[2,2] instead of 1"},
        BadText{"ENTRY e { ROOT c = f32[2] constant({{1, 2}}) }", "values at 1 levels of braces"},
        BadText{"ENTRY e { ROOT c = f32[] parameter(0), metadata={op_name=\"x }", "a closing quote"},
        BadText{"ENTRY e { ROOT c = f32[] parameter(0), sharding={mirrored} }", "a sharding such as"}));

TEST(Parser, ReadsWindowsAndDimensionLabels) {
  const auto module = Parse(R"(ENTRY e {
    x = f32[1,8,8,3] parameter(0)
    k = f32[3,3,3,4] parameter(1)
    ROOT c = f32[1,4,4,4] convolution(x, k), window={size=3x3 stride=2x2 pad=0_1x1_0 rhs_reversal=1x0}, dim_labels=b01f_01io->b01f
  })");
  ASSERT_NE(module, nullptr);
  const auto& a = Root(*module).attributes<ConvolutionAttributes>();
  EXPECT_EQ(a.window.dimensions[0],
            (WindowDimension{.size = 3, .stride = 2, .padding_low = 0, .padding_high = 1, .reversal = true}));
  EXPECT_EQ(a.window.dimensions[1], (WindowDimension{.size = 3, .stride = 2, .padding_low = 1, .padding_high = 0}));
  EXPECT_EQ(a.dimensions.kernel_output_feature, 3);
  EXPECT_EQ(a.dimensions.output_spatial, (std::vector<int64_t>{1, 2}));
}

TEST(Parser, PutsCalledComputationsInTheOrderOfTheirMeaning) {
  const auto module = Parse(R"(
body { s = s32[] parameter(0) ROOT n = s32[] negate(s) }
cond { s = s32[] parameter(0) ROOT c = pred[] compare(s, s), direction=LT }
ENTRY e { s = s32[] parameter(0) ROOT w = s32[] while(s), condition=cond, body=body })");
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(Root(*module).called(0)->name(), "body");
  EXPECT_EQ(Root(*module).called(1)->name(), "cond");
}

TEST(Parser, KeepsUnknownAttributesAsWritten) {
  const std::string text = R"(ENTRY %e (x: f32[]) -> f32[] {
  %x = f32[] parameter(0), future={a=[1,{"}"}] b}, late=mesh['x'=2] {'x'}, more="q\"", word=kThing
  ROOT %y = f32[] negate(%x), metadata={op_name="}{"}
})";
  const auto module = Parse("HloModule m, novel={1,{2}}\n\n" + text);
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(ToText(*module), "HloModule m, novel={1,{2}}\n\n" + text + "\n");
}

TEST(Parser, InfersMissingShapes) {
  const auto module = Parse(
      "ENTRY e { a = f32[2,3] parameter(0) b = f32[3,4] parameter(1) d = dot(a, b), lhs_contracting_dims={1}, "
      "rhs_contracting_dims={0} ROOT t = tuple(d, negate(d)) }");
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(Root(*module).shape().ToString(), "(f32[2,4], f32[2,4])");
  EXPECT_NE(Error("ENTRY e { a = f32[2] parameter(0) ROOT b = convert(a) }").find("so it must be given"),
            std::string::npos);
}

TEST(Parser, TakesWhatARecvDoneReceivesFromItsRecv) {
  const auto module = Parse(R"(HloModule m
ENTRY e { first = token[] parameter(0)
  recv = (f32[128,32], u32[], token[]) recv(first), channel_id=5
  done = (f32[128,21], token[]) recv-done(recv), channel_id=5
  ROOT received = get-tuple-element(done), index=0 })");
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(Root(*module).shape().ToString(), "f32[128,32]");
}

TEST(Parser, ReadsNestedOperandsAndCompactTupleAccess) {
  const auto module =
      Parse("ENTRY e { p = (f32[10], (f32[20], f32[20])) parameter(0) ROOT r = add(p#1#0, negate(p#1#1)) }");
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(Root(*module).shape(), Shape::Array(PrimitiveType::kF32, {20}));
  EXPECT_EQ(Root(*module).operand(1)->opcode(), Opcode::kNegate);
  EXPECT_EQ(module->entry()->instruction_count(), 6);  // p#1 is taken out once
}

TEST(Parser, ReadsSingleInstructionsWithUnknownOperandsAsParameters) {
  const auto module = Parse("%m = f32[2,4]{1,0} multiply(f32[2,4]{1,0} %a, f32[2,4]{1,0})");
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(module->entry()->Parameters().size(), 2);
  EXPECT_EQ(module->entry()->Parameters()[0]->name(), "a");
}

TEST(Parser, TakesTheLastInstructionAndComputationWithoutRootAndEntry) {
  const auto module = Parse("c1 { x = f32[] parameter(0) y = f32[] negate(x) } c2 { x = f32[2] parameter(0) }");
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(module->entry()->name(), "c2");
  EXPECT_EQ(module->Computations()[0]->root()->opcode(), Opcode::kNegate);
}

TEST(Parser, KeepsNamesOfOtherComputationsApart) {
  const auto module = Parse(
      "f { x = f32[] parameter(0) ROOT y = f32[] negate(x) } ENTRY e { x = f32[] parameter(0) ROOT y = f32[] call(x), "
      "to_apply=f }");
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(Root(*module).operand(0)->parent(), module->entry());
  EXPECT_NE(Root(*module).operand(0)->name(), module->Computations()[0]->Parameters()[0]->name());
}

TEST(Parser, LooksNamesUpAsTheTextHasThem) {
  // The x of e becomes x.1, and the text's x.1 something else.
  const auto module = Parse(
      "f { ROOT x = f32[] parameter(0) } ENTRY e { x = f32[] parameter(0) x.1 = f32[] negate(x) ROOT y = f32[] add(x, "
      "x.1) }");
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(Root(*module).operand(0)->opcode(), Opcode::kParameter);
  EXPECT_EQ(Root(*module).operand(1)->opcode(), Opcode::kNegate);
  EXPECT_EQ(module->FindInstruction(Root(*module).operand(1)->name()), Root(*module).operand(1));
  EXPECT_EQ(module->FindInstruction("z"), nullptr);
}

TEST(Parser, TheEntryIsAComputationOfTheText) {
  // Not the one that is made for what runs asynchronously.
  const auto module = Parse(R"(main {
    a = f32[4] parameter(0)
    s = ((f32[4]), f32[4], u32[]) negate-start(a), async_execution_thread="other"
    ROOT d = f32[4] negate-done(s)
  })");
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(module->entry()->name(), "main");
}

TEST(Parser, MakesAsynchronousSpellingsExplicit) {
  const auto module = Parse(R"(ENTRY e {
    a = f32[4,4] parameter(0)
    b = f32[4,4] parameter(1)
    s = ((f32[4,4], f32[4,4]), f32[4,4], u32[]) dot-start(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    ROOT d = f32[4,4] dot-done(s)
  })");
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(Root(*module).opcode(), Opcode::kAsyncDone);
  const Instruction& start = *Root(*module).operand(0);
  EXPECT_EQ(start.opcode(), Opcode::kAsyncStart);
  EXPECT_EQ(start.called(0)->root()->opcode(), Opcode::kDot);
  EXPECT_NE(Error("ENTRY e { a = f32[2] parameter(0) s = ((f32[2]), f32[2], u32[]) negate-start(a) ROOT d = f32[2] "
                  "abs-done(s) }")
                .find("expected the continuation of negate, found abs"),
            std::string::npos);
}

TEST(Parser, DropsUnreachableComputationsThatBreakRules) {
  const auto module =
      Parse("f { x = f32[1] parameter(0) ROOT y = f32[3] negate(x) } ENTRY e { ROOT x = f32[] parameter(0) }");
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(module->Computations().size(), 1);
}

TEST(Parser, ReadsEveryOpcodeOfTheTable) {
  // With no operands and no attributes most are wrong, but each is known by its name.
  for (int i = 0; i < kOpcodeCount; ++i) {
    const std::string error =
        Error(StrCat("ENTRY e { ROOT x = f32[] ", OpcodeName(static_cast<Opcode>(i)), "() }"), false);
    EXPECT_EQ(error.find("expected an opcode"), std::string::npos) << error;
  }
}

TEST(ReadModuleFile, NamesTheFileAndTheReason) {
  EXPECT_NE(std::string(ReadModuleFile("/nowhere/x.hlo").status().message()).find("/nowhere/x.hlo: cannot be opened"),
            std::string::npos);
}

}  // namespace
}  // namespace smelt::hlo
