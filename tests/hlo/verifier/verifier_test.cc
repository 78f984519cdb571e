#include "hlo/verifier/verifier.h"

#include <gtest/gtest.h>

#include "hlo/attribute_family.h"
#include "hlo/text/parser.h"

namespace smelt::hlo {
namespace {

struct Case {
  const char* text;
  const char* problem;  // part of the message
};

class VerifierTest : public testing::TestWithParam<Case> {};

TEST_P(VerifierTest, NamesTheRuleThatIsBroken) {
  ParseOptions options;
  options.verify = false;
  const auto module = ParseModule(GetParam().text, options);
  ASSERT_TRUE(module.ok()) << module.status();
  const std::optional<Problem> problem = FindProblem(**module);
  ASSERT_TRUE(problem.has_value());
  EXPECT_NE(problem->message.find(GetParam().problem), std::string::npos) << problem->message;
}

INSTANTIATE_TEST_SUITE_P(
    All, VerifierTest,
    testing::Values(
        Case{"ENTRY e { a = f32[] parameter(0) ROOT b = f32[] parameter(2) }", "there is no parameter 1"},
        Case{"ENTRY e { a = f32[] parameter(0) ROOT b = f32[] parameter(0) }", "there must be one parameter 0"},
        // Said before what it may have caused.
        Case{"ENTRY e { a = f32[2] parameter(0) b = s32[2] negate(a) ROOT c = f32[] parameter(2) }",
             "there is no parameter 1"},
        Case{"ENTRY e { ROOT a = f32[2,3]{0} parameter(0) }", "the layout must name every dimension once"},
        Case{"ENTRY e { ROOT a = f32[2,3]{1,1} parameter(0) }", "the layout must name every dimension once"},
        Case{"ENTRY e { a = f32[2] parameter(0) ROOT b = s32[2] negate(a) }", "the result must be f32[2], is s32[2]"},
        Case{"ENTRY e { a = f32[2] parameter(0) b = s32[2] parameter(1) ROOT c = f32[2] add(a, b) }",
             "must have the same element type"},
        Case{"ENTRY e { a = pred[2] parameter(0) ROOT c = pred[2] subtract(a, a) }",
             "takes elements that are signed, unsigned"},
        Case{"f { x = f32[2] parameter(0) ROOT y = f32[2] negate(x) } ENTRY e { a = f32[] parameter(0) ROOT b = f32[2] "
             "call(a), to_apply=f }",
             "operand 0 must be f32[2], which computation `f` takes"},
        Case{"f { x = f32[] parameter(0) ROOT y = f32[] negate(x) } ENTRY e { a = f32[4] parameter(0) z = f32[] "
             "constant(0) ROOT b = f32[] reduce(a, z), "
             "dimensions={0}, to_apply=f }",
             "computation `f` must take 2 parameters, takes 1"},
        Case{"b { s = s32[] parameter(0) ROOT t = (s32[]) tuple(s) } c { s = s32[] parameter(0) ROOT p = pred[] "
             "constant(true) } "
             "ENTRY e { a = s32[] parameter(0) ROOT w = s32[] while(a), condition=c, body=b }",
             "must give the loop's state s32[]"},
        Case{"f { x = f32[] parameter(0) y = f32[] parameter(1) ROOT s = f32[] subtract(x, y) } ENTRY e { a = f32[4] "
             "parameter(0) ROOT b = f32[4] "
             "sort(a), dimensions={0}, to_apply=f }",
             "must give pred[]"},
        Case{"HloModule m, input_output_alias={ {1}: (0, {}) }\nENTRY e { ROOT a = f32[] parameter(0) }",
             "names part {1} of the result"},
        Case{"HloModule m, input_output_alias={ {}: (0, {}) }\nENTRY e { a = f32[2] parameter(0) ROOT b = f32[1] "
             "slice(a), "
             "slice={[0:1]} }",
             "gives the result part f32[1] the buffer of f32[2]"},
        Case{"HloModule m, buffer_donor={ (3, {}) }\nENTRY e { ROOT a = f32[] parameter(0) }", "names parameter 3"}));

std::unique_ptr<Module> Small() {
  auto module = std::make_unique<Module>("m");
  Computation* entry = module->AddComputation("e");
  const Shape scalar = Shape::Scalar(PrimitiveType::kF32);
  Instruction* x = entry->Add(Opcode::kParameter, scalar, {}, ParameterAttributes{0}, "x");
  Instruction* y = entry->Add(Opcode::kNegate, scalar, {x}, {}, "y");
  entry->set_root(entry->Add(Opcode::kAbs, scalar, {y}, {}, "z"));
  module->set_entry(entry);
  return module;
}

TEST(Verifier, AcceptsASoundModule) { EXPECT_TRUE(VerifyModule(*Small()).ok()) << VerifyModule(*Small()); }

TEST(Verifier, RefusesAliasesThatItCannotRead) {
  const auto module = Small();
  module->raw_attributes() = {{"input_output_alias", "{ {}: 0 }"}};
  EXPECT_NE(std::string(VerifyModule(*module).message()).find("input_output_alias expects (parameter, {index})"),
            std::string::npos)
      << VerifyModule(*module);
}

TEST(Verifier, TakesInstructionsMadeBeforeTheirOperands) {
  const auto module = Small();
  Computation* entry = module->entry();
  Instruction* late = entry->Add(Opcode::kAbs, entry->root()->shape(), {entry->Parameters()[0]}, {}, "late");
  entry->root()->operand(0)->ReplaceOperand(0, late);
  EXPECT_TRUE(VerifyModule(*module).ok()) << VerifyModule(*module);
  // What is wrong with one of them is found all the same.
  late->shape() = Shape::Array(PrimitiveType::kF32, {2});
  EXPECT_NE(std::string(VerifyModule(*module).message()).find("the result must be f32[]"), std::string::npos);
  late->shape() = entry->root()->shape();
  entry->set_root(entry->Add(Opcode::kCall, entry->root()->shape(), {entry->root()}, {}, "again", {entry}));
  EXPECT_NE(std::string(VerifyModule(*module).message()).find("recursion"), std::string::npos) << VerifyModule(*module);
}

TEST(Verifier, FindsCyclesOfInstructions) {
  const auto module = Small();
  Instruction* z = module->entry()->root();
  z->operand(0)->ReplaceOperand(0, z);
  EXPECT_NE(std::string(VerifyModule(*module).message()).find("a cycle"), std::string::npos) << VerifyModule(*module);
}

TEST(Verifier, FindsCyclesOfControlDependencies) {
  const auto module = Small();
  Instruction* z = module->entry()->root();
  z->operand(0)->AddControlPredecessor(z);
  EXPECT_NE(std::string(VerifyModule(*module).message()).find("a cycle"), std::string::npos) << VerifyModule(*module);
}

TEST(Verifier, FindsRecursion) {
  const auto module = Small();
  Computation* entry = module->entry();
  entry->set_root(entry->Add(Opcode::kCall, entry->root()->shape(), {entry->root()}, {}, "again", {entry}));
  EXPECT_NE(std::string(VerifyModule(*module).message()).find("recursion"), std::string::npos) << VerifyModule(*module);
}

TEST(Verifier, FindsOperandsOfOtherComputations) {
  const auto module = Small();
  Computation* other = module->AddComputation("other");
  Instruction* q = other->Add(Opcode::kParameter, Shape::Scalar(PrimitiveType::kF32), {}, ParameterAttributes{0});
  other->set_root(q);
  module->entry()->root()->ReplaceOperand(0, q);
  EXPECT_NE(std::string(VerifyModule(*module).message()).find("must be in the same computation"), std::string::npos)
      << VerifyModule(*module);
}

TEST(Verifier, FindsAttributesOfAnotherOpcode) {
  const auto module = Small();
  module->entry()->root()->set_attributes(IotaAttributes{0});
  EXPECT_NE(std::string(VerifyModule(*module).message()).find("carries the attributes of another opcode"),
            std::string::npos);
}

TEST(Verifier, FindsAMissingRootAndEntry) {
  Module module("m");
  EXPECT_FALSE(VerifyModule(module).ok());
  Computation* entry = module.AddComputation("e");
  module.set_entry(entry);
  EXPECT_FALSE(VerifyModule(module).ok());
}

}  // namespace
}  // namespace smelt::hlo
