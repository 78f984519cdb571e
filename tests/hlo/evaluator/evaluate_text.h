// For tests: evaluates an HLO text on literals.
#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo/evaluator/evaluator.h"
#include "hlo/text/parser.h"

namespace smelt::hlo {

inline absl::StatusOr<Literal> EvaluateText(std::string_view text, const std::vector<Literal>& arguments = {},
                                            const EvaluateOptions& options = {}) {
  absl::StatusOr<std::unique_ptr<Module>> module = ParseModule(text);
  if (!module.ok()) return module.status();
  std::vector<const Literal*> pointers;
  for (const Literal& argument : arguments) pointers.push_back(&argument);
  return Evaluate(**module, pointers, options);
}

// The elements of an array as doubles.
inline std::vector<double> Values(const Literal& literal) {
  std::vector<double> values;
  for (int64_t i = 0; i < literal.element_count(); ++i) values.push_back(literal.GetDouble(i));
  return values;
}

// Does what EvaluateText does, for texts whose result is an array; records a failure and gives nothing when the
// evaluation fails.
inline std::vector<double> EvaluateValues(std::string_view text, const std::vector<Literal>& arguments = {}) {
  absl::StatusOr<Literal> result = EvaluateText(text, arguments);
  EXPECT_TRUE(result.ok()) << result.status() << "\n" << text;
  return result.ok() ? Values(*result) : std::vector<double>();
}

inline Literal F32(std::vector<int64_t> dimensions, std::vector<float> values) {
  return Literal::FromValues<float>(PrimitiveType::kF32, std::move(dimensions), values);
}
inline Literal S32(std::vector<int64_t> dimensions, std::vector<int32_t> values) {
  return Literal::FromValues<int32_t>(PrimitiveType::kS32, std::move(dimensions), values);
}

}  // namespace smelt::hlo
