// Every opcode and type runs when rounded otherwise, and the shapes of its results are the same.
#include <gtest/gtest.h>

#include "fuzz/generate/generate.h"
#include "hlo/evaluator/evaluator.h"
#include "hlo/text/printer.h"

namespace smelt::fuzz {
namespace {

TEST(OtherRoundings, OfRandomModulesRun) {
  for (uint64_t index = 0; index < 400; ++index) {
    const auto module = GenerateModule(11, index, {.max_instructions = 8, .max_elements = 128});
    const std::vector<hlo::Literal> inputs = GenerateInputs(*module, 11).value();
    std::vector<const hlo::Literal*> arguments;
    for (const hlo::Literal& input : inputs) arguments.push_back(&input);
    const auto base = hlo::Evaluate(*module, arguments, {.threads = 1, .max_seconds = 10});
    const auto other = hlo::Evaluate(*module, arguments, {.threads = 1, .max_seconds = 10, .other_roundings = 1});
    ASSERT_EQ(base.status().code(), other.status().code()) << index << "\n" << hlo::ToText(*module);
    if (base.ok()) {
      EXPECT_EQ(base->shape().ToString(), other->shape().ToString()) << index;
    }
  }
}

}  // namespace
}  // namespace smelt::fuzz
