#include "hlo/text/printer.h"

#include <gtest/gtest.h>

#include "hlo/text/parser.h"

namespace smelt::hlo {
namespace {

std::unique_ptr<Module> Parse(std::string_view text) {
  absl::StatusOr<std::unique_ptr<Module>> module = ParseModule(text);
  EXPECT_TRUE(module.ok()) << module.status();
  return module.ok() ? *std::move(module) : nullptr;
}

constexpr char kText[] =
    R"(HloModule m, is_scheduled=true, entry_computation_layout={(f32[8,16]{1,0}, f32[])->f32[8]{0}}

%add (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %s = f32[] add(%x, %y)
}

ENTRY %main (p: f32[8,16], z: f32[]) -> f32[8] {
  %p = f32[8,16]{1,0:T(8,128)S(1)} parameter(0), sharding={replicated}
  %z = f32[] parameter(1)
  ROOT %r = f32[8]{0} reduce(%p, %z), dimensions={1}, to_apply=%add, metadata={op_name="r"}, backend_config={"a":1}
}, execution_thread="main"
)";

TEST(Printer, PrintsWhatWasRead) { EXPECT_EQ(ToText(*Parse(kText)), kText); }

TEST(Printer, ShortLeavesOutWhatDoesNotChangeMeaning) {
  const auto module = Parse(kText);
  EXPECT_EQ(ToText(*module->entry()->root(), {PrintStyle::kShort}),
            "ROOT %r = f32[8]{0} reduce(%p, %z), dimensions={1}, to_apply=%add");
}

// XLA reads branch_computations only where the first operand is an integer.
TEST(Printer, ConditionalsByAPredicateNameTrueAndFalse) {
  const auto module = Parse(R"(HloModule m
one { a = f32[] parameter(0) ROOT r = f32[] negate(a) }
two { a = f32[] parameter(0) ROOT r = f32[] abs(a) }
ENTRY e {
  p = pred[] parameter(0)
  x = f32[] parameter(1)
  ROOT c = f32[] conditional(p, x, x), branch_computations={one, two}
})");
  EXPECT_EQ(ToText(*module->entry()->root(), {PrintStyle::kShort}),
            "ROOT %c = f32[] conditional(%p, %x, %x), true_computation=%one, false_computation=%two");
}

TEST(Printer, CanonicalDoesNotDependOnNames) {
  const auto one = Parse(
      "f { a = f32[] parameter(0) ROOT b = f32[] negate(a) } ENTRY g { q = f32[] parameter(0) ROOT c = f32[] call(q), "
      "to_apply=f }");
  const auto two = Parse(
      "HloModule x\nc1 { z = f32[] parameter(0) ROOT y = f32[] negate(z) } ENTRY c0 { w = f32[] parameter(0) ROOT v = "
      "f32[] call(w), to_apply=c1, metadata={} }");
  EXPECT_EQ(ToText(*one, {PrintStyle::kCanonical}), ToText(*two, {PrintStyle::kCanonical}));
}

// Spellings that mean the same come out in XLA's own.
TEST(Printer, SpellsAttributesAsXlaDoes) {
  const auto printed = [](const std::string& attribute, const std::string& opcode = "exponential") {
    const auto module = Parse("ENTRY e { x = f32[] parameter(0) ROOT y = f32[] " + opcode + "(x), " + attribute + " }");
    const std::string line = ToText(*module->entry()->root());
    const size_t comma = line.find(", ");
    return comma == std::string::npos ? "" : line.substr(comma + 2);
  };
  EXPECT_EQ(printed("result_accuracy={mode=DEFAULT}"), "");
  EXPECT_EQ(printed("result_accuracy={mode=HIGHEST}"), "result_accuracy={mode=highest}");
  EXPECT_EQ(printed("result_accuracy={tolerance={atol=1.0, rtol=1e-3}}"),
            "result_accuracy={tolerance={atol=1,rtol=0.001,ulps=0}}");
  EXPECT_EQ(printed(R"(backend_config="{\"a\":{\"b\":\"}\"}}")"), R"(backend_config={"a":{"b":"}"}})");
  EXPECT_EQ(printed(R"(backend_config="{open")"), R"(backend_config="{open")");
  EXPECT_EQ(printed(R"(backend_config="words")"), R"(backend_config="words")");
  EXPECT_EQ(printed("replica_groups={{0, 1}, {2, 3}}, dimensions={0}", "all-to-all"),
            "replica_groups={{0,1},{2,3}}, dimensions={0}");
}

TEST(Printer, LargeConstantsCanBeElided) {
  const auto module = Parse("ENTRY e { ROOT c = f32[3] constant({1, 2, 3}) }");
  EXPECT_EQ(ToText(*module->entry()->root(), {PrintStyle::kFull, 2}), "ROOT %c = f32[3] constant({...})");
  EXPECT_EQ(ToText(*module->entry()->root(), {PrintStyle::kFull, 3}), "ROOT %c = f32[3] constant({1, 2, 3})");
}

TEST(Printer, HeaderFollowsAChangedEntry) {
  const auto module = Parse(kText);
  Computation& entry = *module->entry();
  Instruction* negated = entry.Add(Opcode::kTuple, Shape::Tuple({entry.root()->shape()}), {entry.root()});
  entry.set_root(negated);
  EXPECT_NE(ToText(*module).find("->(f32[8]{0})}"), std::string::npos) << ToText(*module);
  EXPECT_TRUE(ParseModule(ToText(*module)).ok());
}

TEST(Printer, LongListsAreNumbered) {
  const auto module = Parse(
      "ENTRY e { x = f32[] parameter(0) ROOT t = (f32[], f32[], f32[], f32[], f32[], f32[]) tuple(x, x, x, x, x, x) }");
  EXPECT_EQ(ToText(*module->entry()->root()),
            "ROOT %t = (f32[], f32[], f32[], f32[], f32[], /*index=5*/f32[]) tuple(%x, %x, %x, %x, %x, /*index=5*/%x)");
}

TEST(Printer, LayoutPartsStandInTheOrderThatXlaReads) {
  const std::string shape = "s4[123,456]{1,0:D(D,C)T(8,*)(2,1)L(4)#(u32)*(u32)E(4)S(3)SC(1:50,200)M(1024)}";
  const auto parsed = ParseShape(shape);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->layout->memory_space, 3);
  EXPECT_EQ(parsed->layout->element_size_in_bits, 4);
  EXPECT_EQ(parsed->layout->tiles, (std::vector<std::vector<int64_t>>{{8, INT64_MIN}, {2, 1}}));
  const auto module = Parse("ENTRY e { ROOT p = " + shape + " parameter(0) }");
  EXPECT_EQ(ToText(*module->entry()->root()), "ROOT %p = " + shape + " parameter(0)");
}

TEST(Printer, LayoutPartsAreWrittenAsXlaDoes) {
  const auto parsed = ParseShape("f32[4,8]{1,0:D( D , C+~ )L(1)# (u32)S(1)SC(1:2, 4)(0:1)M(0)}");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->ToString(/*with_layout=*/true), "f32[4,8]{1,0:D(D,C+~)#(u32)S(1)SC(1:2,4)(0:1)}");
}

}  // namespace
}  // namespace smelt::hlo
