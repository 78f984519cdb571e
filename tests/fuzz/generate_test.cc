#include "fuzz/generate/generate.h"

#include <algorithm>
#include <set>

#include "fuzz/generate/rules.h"
#include "gtest/gtest.h"
#include "hlo/fingerprint.h"
#include "hlo/text/parser.h"
#include "hlo/text/printer.h"
#include "hlo/verifier/verifier.h"

namespace smelt::fuzz {
namespace {

constexpr uint64_t kSeed = 20;

TEST(Generate, MakesModulesThatVerify) {
  for (uint64_t i = 0; i < 2000; ++i) {
    const std::unique_ptr<hlo::Module> module = GenerateModule(kSeed, i);
    const absl::Status status = hlo::VerifyModule(*module);
    ASSERT_TRUE(status.ok()) << "seed " << kSeed << ", module " << i << ": " << status << "\n" << hlo::ToText(*module);
  }
}

TEST(Generate, MakesTheSameModuleWhateverWasMadeBefore) {
  const std::string alone = hlo::ToText(*GenerateModule(kSeed, 7));
  for (uint64_t i = 0; i < 7; ++i) GenerateModule(kSeed, i);
  EXPECT_EQ(hlo::ToText(*GenerateModule(kSeed, 7)), alone);
  EXPECT_NE(hlo::ToText(*GenerateModule(kSeed + 1, 7)), alone);
}

TEST(Generate, UsesEveryOpcodeOfItsTable) {
  std::set<hlo::Opcode> missing;
  for (const OpcodeRule& rule : Rules()) missing.insert(rule.opcode);
  EXPECT_GT(missing.size(), 85u);
  for (uint64_t i = 0; i < 3000 && !missing.empty(); ++i) {
    const std::unique_ptr<hlo::Module> module = GenerateModule(kSeed, i);
    for (const hlo::Computation* computation : module->Computations()) {
      for (const hlo::Instruction* instruction : computation->Instructions()) missing.erase(instruction->opcode());
    }
  }
  for (const hlo::Opcode opcode : missing) ADD_FAILURE() << hlo::OpcodeName(opcode) << " is never made";
}

// What few programs have and tools forget: of each opcode that takes a list of dimensions, one on a scalar or with an
// empty list, and one on no elements.
TEST(Generate, MakesScalarsAndArraysOfNothingForEveryOpcodeWithDimensions) {
  using enum hlo::Opcode;
  const std::set<hlo::Opcode> scalars = {
      kBroadcast, kTranspose,          kSlice,  kPad,          kReverse,          kDynamicSlice, kGather,
      kScatter,   kDynamicUpdateSlice, kReduce, kReduceWindow, kSelectAndScatter, kDot,          kMap,
      kReshape};
  std::set<hlo::Opcode> no_scalar = scalars, not_empty = scalars, no_index = {kGather, kScatter, kDynamicSlice};
  not_empty.insert({kConcatenate, kSort, kConvolution, kIota, kFft, kCholesky, kTriangularSolve, kScaledDot, kRaggedDot,
                    kBatchNormTraining, kTopK});
  for (uint64_t i = 0; i < 20000 && !(no_scalar.empty() && not_empty.empty() && no_index.empty()); ++i) {
    const std::unique_ptr<hlo::Module> module = GenerateModule(kSeed, i);
    for (const hlo::Computation* computation : module->Computations()) {
      for (const hlo::Instruction* instruction : computation->Instructions()) {
        const auto empty = [](const hlo::Shape& shape) { return shape.IsArray() && shape.ElementCount() == 0; };
        const auto& operands = instruction->operands();
        if (empty(instruction->shape()) || std::any_of(operands.begin(), operands.end(),
                                                       [&](const auto* operand) { return empty(operand->shape()); })) {
          not_empty.erase(instruction->opcode());
        }
        if (operands.empty()) continue;
        if (operands[0]->shape().IsScalar()) no_scalar.erase(instruction->opcode());
        if (operands.size() > 1 && operands[1]->shape().IsArray() && operands[1]->shape().rank() > 0 &&
            operands[1]->shape().dimensions.back() == 0 && !empty(instruction->shape())) {
          no_index.erase(instruction->opcode());
        }
      }
    }
  }
  for (const hlo::Opcode opcode : no_scalar) ADD_FAILURE() << "no " << hlo::OpcodeName(opcode) << " of a scalar";
  for (const hlo::Opcode opcode : not_empty) ADD_FAILURE() << "no " << hlo::OpcodeName(opcode) << " of nothing";
  for (const hlo::Opcode opcode : no_index) ADD_FAILURE() << "no " << hlo::OpcodeName(opcode) << " without an index";
}

TEST(Generate, PrintsModulesThatReadBack) {
  for (uint64_t i = 0; i < 2000; ++i) {
    const std::unique_ptr<hlo::Module> module = GenerateModule(kSeed, i);
    const absl::StatusOr<std::unique_ptr<hlo::Module>> again = hlo::ParseModule(hlo::ToText(*module));
    ASSERT_TRUE(again.ok()) << "seed " << kSeed << ", module " << i << ": " << again.status();
    EXPECT_EQ(hlo::Fingerprint(**again), hlo::Fingerprint(*module)) << hlo::ToText(*module);
  }
}

TEST(Generate, GivesAParameterTheSameInputsWhenOthersGo) {
  const auto parse = [](const char* text) { return hlo::ParseModule(text).value(); };
  const auto both = parse("ENTRY e { p0 = f32[3] parameter(0) p1 = f32[3] parameter(1) ROOT r = f32[3] add(p0, p1) }");
  const auto one = parse("ENTRY e { p1 = f32[3] parameter(0) ROOT r = f32[3] negate(p1) }");
  const auto inputs = GenerateInputs(*both, 5).value();
  EXPECT_EQ(GenerateInputs(*one, 5).value()[0], inputs[1]);
  EXPECT_FALSE(inputs[0] == inputs[1]);
}

}  // namespace
}  // namespace smelt::fuzz
