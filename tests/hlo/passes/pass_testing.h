// What tests of passes share: apply a pass to a text, and prove that the program still computes the same.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/str_cat.h"
#include "hlo/evaluator/evaluator.h"
#include "hlo/fingerprint.h"
#include "hlo/golden/inputs.h"
#include "hlo/module.h"
#include "hlo/text/parser.h"
#include "hlo/text/printer.h"
#include "hlo/verifier/verifier.h"

namespace smelt::hlo {

using PassFunction = absl::StatusOr<bool> (*)(Module&);

inline std::unique_ptr<Module> Parse(std::string_view text) {
  absl::StatusOr<std::unique_ptr<Module>> module = ParseModule(text);
  EXPECT_TRUE(module.ok()) << module.status() << "\n" << text;
  return module.ok() ? *std::move(module) : nullptr;
}

// Equal types and dimensions; integers equal, floats within the tolerance relative to the largest magnitude.
inline void ExpectNear(const Literal& got, const Literal& want, double tolerance) {
  ASSERT_TRUE(got.shape().SameAs(want.shape())) << got.shape().ToString() << " and " << want.shape().ToString();
  if (want.shape().IsTuple()) {
    for (size_t i = 0; i < want.elements().size(); ++i) ExpectNear(got.elements()[i], want.elements()[i], tolerance);
    return;
  }
  double largest = 0;
  for (int64_t i = 0; i < want.element_count(); ++i) {
    if (std::isfinite(std::abs(want.GetComplex(i)))) largest = std::max(largest, std::abs(want.GetComplex(i)));
  }
  for (int64_t i = 0; i < want.element_count(); ++i) {
    const std::complex<double> a = got.GetComplex(i), b = want.GetComplex(i);
    if (a == b || (std::isnan(std::abs(a)) && std::isnan(std::abs(b)))) continue;
    const double allowed = IsFloat(want.shape().element_type) || IsComplex(want.shape().element_type) ? tolerance : 0;
    ASSERT_LE(std::abs(a - b), allowed * largest) << "element " << i;
  }
}

inline absl::StatusOr<Literal> RunOnInputs(const Module& module) {
  absl::StatusOr<std::vector<Literal>> inputs = MakeInputs(module);
  if (!inputs.ok()) return inputs.status();
  std::vector<const Literal*> arguments;
  for (const Literal& input : *inputs) arguments.push_back(&input);
  return Evaluate(module, arguments);
}

inline void ExpectSameResults(const Module& before, const Module& after, double tolerance = 1e-5) {
  const absl::StatusOr<Literal> want = RunOnInputs(before);
  const absl::StatusOr<Literal> got = RunOnInputs(after);
  ASSERT_TRUE(want.ok()) << want.status();
  ASSERT_TRUE(got.ok()) << got.status();
  ExpectNear(*got, *want, tolerance);
}

// Runs the pass and proves what every pass promises: the module verifies, computes the same, and a second run changes
// nothing. Returns the module after the pass.
template <typename Function>
std::unique_ptr<Module> Apply(std::string_view text, Function pass, bool expect_change = true) {
  const std::unique_ptr<Module> before = Parse(text);
  std::unique_ptr<Module> after = before->Clone();
  const absl::StatusOr<bool> changed = pass(*after);
  EXPECT_TRUE(changed.ok()) << changed.status();
  EXPECT_EQ(*changed, expect_change) << ToText(*after);
  const absl::Status verified = VerifyModule(*after);
  EXPECT_TRUE(verified.ok()) << verified << "\n" << ToText(*after);
  ExpectSameResults(*before, *after);
  const Hash128 fingerprint = Fingerprint(*after);
  const absl::StatusOr<bool> again = pass(*after);
  EXPECT_TRUE(again.ok() && !*again) << "a second run changes the module: " << ToText(*after);
  EXPECT_EQ(Fingerprint(*after), fingerprint);
  return after;
}

// Opcodes that the root needs, operands first, parameters and constants left out: "reshape broadcast add".
inline std::string OpcodesOf(const Computation& computation) {
  std::vector<const Instruction*> needed = {computation.root()};
  for (size_t i = 0; i < needed.size(); ++i) {
    for (const Instruction* operand : needed[i]->operands()) {
      if (std::find(needed.begin(), needed.end(), operand) == needed.end()) needed.push_back(operand);
    }
  }
  std::string opcodes;
  for (const Instruction* instruction : computation.PostOrder()) {
    const Opcode opcode = instruction->opcode();
    if (opcode == Opcode::kParameter || opcode == Opcode::kConstant) continue;
    if (std::find(needed.begin(), needed.end(), instruction) == needed.end()) continue;
    if (!opcodes.empty()) opcodes += ' ';
    opcodes += OpcodeName(opcode);
  }
  return opcodes;
}

inline std::string OpcodesOf(const Module& module) { return OpcodesOf(*module.entry()); }

}  // namespace smelt::hlo
