// What a convolution's sum leaves out: rows of its border, by a branch before much work, for whose sake no loop is cut;
// and columns, by copies of the body that know.
#include <cmath>
#include <limits>

#include "base/check.h"
#include "gmock/gmock.h"
#include "hlo/text/parser.h"
#include "kernels/ir/annotation.h"
#include "kernels/te/hlo/from_hlo.h"
#include "kernels/tiles/kernel_schedule.h"
#include "tests/kernels/lower/check_lowering.h"

namespace smelt::kernels::lower {
namespace {

te::Graph ConvolutionOf(int size, int channels, int stride) {
  const int result = (size + stride - 1) / stride;
  const auto module =
      hlo::ParseModule(absl::StrCat("HloModule m\nENTRY e {\n  x = f32[1,", size, ",", size, ",", channels,
                                    "] parameter(0)\n  w = f32[3,3,", channels, ",32] parameter(1)\n  ROOT r = f32[1,",
                                    result, ",", result, ",32] convolution(x, w), window={size=3x3 pad=1_1x1_1",
                                    " stride=", stride, "x", stride, "}, dim_labels=b01f_01io->b01f\n}\n"));
  Check(module.ok(), "a module");
  return te::FromHlo(*(*module)->entry()).value();
}

// AVX2's registers hold four pixels of 32 channels, AVX-512's a whole line of seven.
Schedule DefaultOf(const te::Graph& graph, int vector_bytes = 32, int vector_registers = 16) {
  machine::Machine machine;
  machine.vector_bytes = vector_bytes;
  machine.vector_registers = vector_registers;
  const nests::Structure structure = nests::AnalyseStructure(graph);
  return nests::ScheduleStructure(structure, nests::PreferredTiles(structure.main_nest(), machine).front(), machine)
      .value();
}

TEST(Border, SumsAreAsWithIt) {
  for (const int size : {5, 7, 8}) {
    for (const int stride : {1, 2}) {
      const te::Graph graph = ConvolutionOf(size, 96, stride);
      const std::vector<hlo::Literal> inputs = RandomInputs(graph);
      EXPECT_EQ(Difference(DefaultOf(graph), inputs), "") << size << " pixels, stride " << stride;
      EXPECT_EQ(Difference(DefaultOf(graph, 64, 32), inputs), "") << size << " pixels, stride " << stride;
    }
  }
}

// An infinite weight of the first line of taps would make NaN of the zeros above the picture.
TEST(Border, RowsAreNotMultiplied) {
  const te::Graph graph = ConvolutionOf(7, 96, 1);
  const Schedule schedule = DefaultOf(graph);
  const ir::Function function = Lower(schedule, {}).value();
  std::vector<hlo::Literal> inputs = RandomInputs(graph);
  for (int64_t i = 0; i < 96 * 32; ++i) inputs[1].SetDouble(96 * 32 + i, std::numeric_limits<double>::infinity());
  hlo::Literal result(hlo::Shape::Array(PrimitiveType::kF32, {1, 7, 7, 32}));
  ASSERT_TRUE(ir::Interpret(function, {inputs[0].raw(), inputs[1].raw(), result.raw()}).ok());
  for (int64_t i = 0; i < result.element_count(); ++i)
    EXPECT_EQ(std::isfinite(result.GetDouble(i)), i < 7 * 32) << "element " << i;
}

// The same of the first column of taps, left of the picture: only the pixels of the first column stay finite.
TEST(Border, ColumnsOfUnrolledLinesAreNotMultiplied) {
  const te::Graph graph = ConvolutionOf(7, 96, 1);
  const ir::Function function = Lower(DefaultOf(graph, 64, 32), {}).value();
  std::vector<hlo::Literal> inputs = RandomInputs(graph);
  for (int64_t row = 0; row < 3; ++row) {
    for (int64_t i = 0; i < 96 * 32; ++i)
      inputs[1].SetDouble(3 * row * 96 * 32 + i, std::numeric_limits<double>::infinity());
  }
  hlo::Literal result(hlo::Shape::Array(PrimitiveType::kF32, {1, 7, 7, 32}));
  ASSERT_TRUE(ir::Interpret(function, {inputs[0].raw(), inputs[1].raw(), result.raw()}).ok());
  for (int64_t i = 0; i < result.element_count(); ++i)
    EXPECT_EQ(std::isfinite(result.GetDouble(i)), i / 32 % 7 == 0) << "element " << i;
}

TEST(Border, NoLoopIsCut) {
  const std::string loops = ir::ToString(Lower(DefaultOf(ConvolutionOf(7, 96, 1)), {}).value());
  EXPECT_THAT(loops, testing::ContainsRegex("r0 = 0; [a-z0-9_.]*r0 < 3;"));
  EXPECT_THAT(loops, testing::ContainsRegex("i1 = 0; i1 < 7;"));
  EXPECT_THAT(loops, testing::ContainsRegex("if .*i1 . [a-z0-9_.]*r0"));
  EXPECT_THAT(loops, testing::Not(testing::HasSubstr(ir::kRareBranch)));
}

}  // namespace
}  // namespace smelt::kernels::lower
