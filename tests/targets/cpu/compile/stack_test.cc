// Arrays stacked along their last dimension, each computed in a way of its own: in vectors over the rows, against the
// evaluator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "hlo/text/parser.h"
#include "targets/cpu/processor/detect.h"
#include "tests/targets/cpu/compile/run_compiled.h"

namespace smelt::cpu {
namespace {

using ::testing::HasSubstr;

// stack([x + y, exponential(x) * y, x - y * y, ...], axis=-1), `width` of them.
std::unique_ptr<hlo::Module> Stack(const std::string& type, int64_t images, int64_t rows, int64_t width) {
  const std::string shape = absl::StrCat(type, "[", images, ",", rows, "]");
  std::string text =
      absl::StrCat("HloModule m\n\nENTRY e {\n  x = ", shape, " parameter(0)\n  y = ", shape,
                   " parameter(1)\n  e = ", shape, " exponential(x)\n  s = ", shape, " multiply(y, y)\n");
  std::string parts;
  for (int64_t k = 0; k < width; ++k) {
    const std::string operation = k % 3 == 0 ? "add(x, y)" : k % 3 == 1 ? "multiply(e, y)" : "subtract(x, s)";
    absl::StrAppend(&text, "  v", k, " = ", shape, " ", operation, "\n  r", k, " = ", type, "[", images, ",", rows,
                    ",1] reshape(v", k, ")\n");
    absl::StrAppend(&parts, k == 0 ? "" : ", ", "r", k);
  }
  absl::StrAppend(&text, "  ROOT t = ", type, "[", images, ",", rows, ",", width, "] concatenate(", parts,
                  "), dimensions={2}\n}\n");
  return hlo::ParseModule(text).value();
}

TEST(Stack, OfAnyWidthTypeAndNumberOfRowsIsTheEvaluators) {
  const Target target = DetectTarget(/*measure=*/false);
  for (const std::string type : {"f32", "f64", "bf16", "f16"}) {
    for (const int64_t width : {2, 3, 4, 5, 8, 9}) {
      for (const auto& [images, rows] : {std::pair{5, 64}, std::pair{3, 37}, std::pair{2, 15}, std::pair{1, 300}}) {
        const absl::StatusOr<CompiledError> got = ErrorOfCompiled(*Stack(type, images, rows, width), target);
        ASSERT_TRUE(got.ok()) << got.status();
        EXPECT_LT(got->error, type == "f64"   ? 1e-12
                              : type == "f32" ? 1e-6
                                              : 1e-2)
            << type << " " << images << "x" << rows << "x" << width << "\n"
            << got->trace;
      }
    }
  }
}

TEST(Stack, GoesInVectorsOverTheRows) {
  const absl::StatusOr<CompiledError> got = ErrorOfCompiled(*Stack("f32", 5, 64, 3), DetectTarget(/*measure=*/false));
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_THAT(got->trace, HasSubstr("unroll"));
  EXPECT_THAT(got->trace, HasSubstr("i1.inner"));
}

}  // namespace
}  // namespace smelt::cpu
