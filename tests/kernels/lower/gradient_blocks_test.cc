// Gradients of weights in blocks of pixels, interpreted: a picture that outgrows the second cache, as one pixel line,
// all lines of an image or all images are a block.
#include "gmock/gmock.h"
#include "hlo/text/parser.h"
#include "kernels/te/hlo/from_hlo.h"
#include "kernels/tiles/kernel_schedule.h"
#include "tests/kernels/lower/check_lowering.h"

namespace smelt::kernels::lower {
namespace {

TEST(GradientBlocks, OfLinesImagesAndAll) {
  machine::Machine machine;
  machine.vector_bytes = 32;
  machine.vector_registers = 16;
  machine.levels[0].bytes = 8 << 10;
  machine.levels[1].bytes = 8 << 10;
  const struct {
    int images, size;
    const char* loops;
  } pictures[] = {
      {6, 3, " i3.outer r0 r1 r2 "}, {12, 3, " r0 i0 i1 i2.outer i3.outer r1 r2 "}, {4, 9, " r0 r1 i0 i1 "}};
  for (const auto& [images, size, loops] : pictures) {
    const auto module = hlo::ParseModule(absl::StrCat(
        "HloModule m\nENTRY e {\n  x = f32[", images, ",", size + 2, ",", size + 2, ",16] parameter(0)\n  g = f32[",
        images, ",", size, ",", size, ",17] parameter(1)\n  ROOT r = f32[3,3,16,17] convolution(x, g), window={size=",
        size, "x", size, "}, dim_labels=f01b_i01o->01bf\n}\n"));
    ASSERT_TRUE(module.ok()) << module.status();
    const te::Graph graph = te::FromHlo(*(*module)->entry()).value();
    const nests::Structure structure = nests::AnalyseStructure(graph);
    const Schedule s =
        nests::ScheduleStructure(structure, nests::PreferredTiles(structure.main_nest(), machine).front(), machine)
            .value();
    EXPECT_THAT(s.ToString(), testing::HasSubstr(loops)) << images << " pictures of " << size;
    EXPECT_EQ(Difference(s, RandomInputs(graph)), "") << images << " pictures of " << size;
  }
}

}  // namespace
}  // namespace smelt::kernels::lower
