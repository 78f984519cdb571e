// Products and convolutions whose operands no cache holds, or whose rows meet in one set of it, against the evaluator:
// their packing asks for lines ahead, also beyond the ends of the matrix, and blocks have rests in both directions.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "hlo/text/parser.h"
#include "targets/cpu/processor/detect.h"
#include "tests/targets/cpu/compile/run_compiled.h"

namespace smelt::cpu {
namespace {

std::unique_ptr<hlo::Module> Product(const std::string& type, int64_t rows, int64_t columns, int64_t terms) {
  return hlo::ParseModule(absl::StrCat("HloModule m\nENTRY e { x = ", type, "[", rows, ",", terms,
                                       "] parameter(0)  w = ", type, "[", terms, ",", columns,
                                       "] parameter(1)  ROOT d = ", type, "[", rows, ",", columns,
                                       "] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0} }"))
      .value();
}

void Agrees(const hlo::Module& module, int threads) {
  Target target = DetectTarget(/*measure=*/false);
  target.threads = threads;
  const absl::StatusOr<CompiledError> got = ErrorOfCompiled(module, target);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_LT(got->error, 2e-5) << got->trace;
}

TEST(LargeProducts, OfRowsAPageApartAreTheEvaluators) {
  for (const int threads : {1, 2}) {
    for (const int64_t rows : {7, 70, 140}) {
      SCOPED_TRACE(rows);
      Agrees(*Product("f32", rows, 330, 1024), threads);
      Agrees(*Product("f32", rows, 64, 2048), threads);
    }
  }
}

TEST(LargeProducts, OfMatricesThatArePackedInBlocksAreTheEvaluators) {
  for (const int threads : {1, 2}) {
    Agrees(*Product("f32", 140, 1030, 2080), threads);
    Agrees(*Product("f32", 65, 2056, 1100), threads);
  }
}

void ConvolutionAgrees(const std::string& instructions) {
  const auto module = hlo::ParseModule(absl::StrCat("HloModule m\nENTRY e { ", instructions, " }"));
  ASSERT_TRUE(module.ok()) << module.status();
  for (const int threads : {1, 2}) Agrees(**module, threads);
}

// Four phases of four by four pixels share 8 MB of weights.
TEST(LargeProducts, OfFewPixelsAreTheEvaluators) {
  ConvolutionAgrees(
      "x = f32[1,4,4,520] parameter(0)  w = f32[4,4,520,260] parameter(1)  ROOT c = f32[1,8,8,260] convolution(x, w), "
      "window={size=4x4 pad=2_2x2_2 lhs_dilate=2x2}, dim_labels=b01f_01io->b01f");
}

// Seven lines, two at a time.
TEST(LargeProducts, OfSmallPicturesAreTheEvaluators) {
  ConvolutionAgrees(
      "x = f32[2,7,7,300] parameter(0)  w = f32[3,3,300,500] parameter(1)  ROOT c = f32[2,7,7,500] convolution(x, w), "
      "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f");
}

}  // namespace
}  // namespace smelt::cpu
