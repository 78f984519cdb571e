// Programs that run on inputs from a file, in the measuring child.
#include <fstream>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hlo/evaluator/evaluator.h"
#include "hlo/golden/inputs.h"
#include "hlo/golden/safetensors.h"
#include "hlo/text/parser.h"
#include "measure/runner.h"
#include "tests/scratch_folder.h"

namespace smelt::measure {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// Types that a file stores as others, and arrays within a tuple.
constexpr char kInputsProgram[] = R"(HloModule inputs

ENTRY main {
  pair = (s4[4], c64[3]) parameter(0)
  n = s4[4] get-tuple-element(pair), index=0
  c = c64[3] get-tuple-element(pair), index=1
  x = f32[2,4] parameter(1)
  wide = f32[4] convert(n)
  rows = f32[2,4] broadcast(wide), dimensions={1}
  sum = f32[2,4] add(x, rows)
  twice = c64[3] add(c, c)
  ROOT t = (f32[2,4], c64[3]) tuple(sum, twice)
}
)";

class InputsFile : public ::testing::Test {
 protected:
  std::string Path(const char* name) const { return folder_.In(name); }
  // Writes values of these shapes as in.0, in.1, ...
  std::vector<hlo::Literal> Write(const std::vector<hlo::Shape>& shapes, int first_stream = 100) const {
    std::vector<hlo::Literal> values;
    hlo::SafetensorsFile file;
    for (size_t i = 0; i < shapes.size(); ++i) {
      values.push_back(hlo::MakeInput(shapes[i], static_cast<int64_t>(i),
                                      hlo::DefaultInputRange(shapes[i].element_type),
                                      {.first_stream = static_cast<uint64_t>(first_stream)})
                           .value());
      file.tensors.push_back({absl::StrCat("in.", i), hlo::ToStorable(values.back())});
    }
    EXPECT_TRUE(hlo::WriteSafetensors(Path("inputs"), file).ok());
    return values;
  }

  const std::vector<hlo::Shape> shapes_ = {hlo::Shape::Array(hlo::PrimitiveType::kS4, {4}),
                                           hlo::Shape::Array(hlo::PrimitiveType::kC64, {3}),
                                           hlo::Shape::Array(hlo::PrimitiveType::kF32, {2, 4})};
  const ScratchFolder folder_;
};

TEST_F(InputsFile, AProgramRunsOnTheInputsOfAFile) {
  const auto module = hlo::ParseModule(kInputsProgram);
  ASSERT_TRUE(module.ok()) << module.status();
  Runner runner({.program = SMELT_TOOL, .target = "cpu:threads=1"}, {.repeats = 3, .seconds = 0.2});
  for (const int stream : {100, 200}) {  // the second time another file of the same name
    std::vector<hlo::Literal> values = Write(shapes_, stream);
    std::vector<hlo::Literal> pair;
    pair.push_back(std::move(values[0]));
    pair.push_back(std::move(values[1]));
    std::vector<hlo::Literal> arguments;
    arguments.push_back(hlo::Literal::Tuple(std::move(pair)));
    arguments.push_back(std::move(values[2]));
    const auto want = hlo::Evaluate(**module, {&arguments[0], &arguments[1]});
    ASSERT_TRUE(want.ok()) << want.status();
    runner.UseInputsFile(Path("inputs"));
    const auto outputs = runner.Outputs({kInputsProgram, {}}, Path("outputs"));
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    ASSERT_THAT(*outputs, SizeIs(2));
    for (int i = 0; i < 2; ++i) EXPECT_TRUE((*outputs)[i] == hlo::ToStorable(want->elements()[i])) << i;
  }
}

TEST_F(InputsFile, OneThatDoesNotFitIsAClearErrorAndNotTheProgramsFault) {
  Runner runner({.program = SMELT_TOOL, .target = "cpu:threads=1"}, {.repeats = 3, .seconds = 0.2});
  runner.UseInputsFile(Path("inputs"));
  const auto refused = [&] {
    const absl::Status status = runner.Outputs({kInputsProgram, {}}, Path("outputs")).status();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(refused(), HasSubstr("inputs: no such file"));
  Write({shapes_[0], shapes_[1]});
  EXPECT_THAT(refused(), HasSubstr("has 2 inputs (in.0, in.1, ...), and the parameters have 3 arrays"));
  Write({shapes_[0], shapes_[1], shapes_[1]});
  EXPECT_THAT(refused(), HasSubstr("input `in.2`: expected f32[2,4]"));
  std::ofstream(Path("inputs")) << "torn";
  EXPECT_THAT(refused(), HasSubstr("not a complete safetensors file"));
  Write(shapes_);
  const auto outputs = runner.Outputs({kInputsProgram, {}}, Path("outputs"));
  EXPECT_TRUE(outputs.ok()) << outputs.status();
}

}  // namespace
}  // namespace smelt::measure
