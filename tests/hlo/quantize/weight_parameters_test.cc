#include "hlo/quantize/weight_parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hlo/golden/safetensors.h"
#include "tests/hlo/quantize/quantize_testing.h"
#include "tests/scratch_folder.h"

namespace smelt::hlo::quantize {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kNamed[] = R"(HloModule m
  ENTRY e { params__stem____kernel__.1 = f32[4,4] parameter(0)  batch_stats__mean__.1 = f32[4] parameter(1)
    image.1 = f32[2,4] parameter(2)
    ROOT d = f32[2,4] dot(image.1, params__stem____kernel__.1), lhs_contracting_dims={1}, rhs_contracting_dims={0} })";

constexpr char kUnnamed[] = R"(HloModule m
  ENTRY e { xs_0_ = f32[2,4] parameter(0)  xs_1_ = f32[5,4] parameter(1)  xs_2_ = f32[5] parameter(2)
    xs_3_ = s32[2] parameter(3)
    t = f32[4,5] transpose(xs_1_), dimensions={1,0}
    d = f32[2,5] dot(xs_0_, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    b = f32[2,5] broadcast(xs_2_), dimensions={1}
    ROOT r = f32[2,5] add(d, b) })";

TEST(WeightParameters, AreKnownByTheirNames) {
  const absl::StatusOr<WeightParameters> found = FindWeightParameters(*Parse(kNamed), {});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(found->numbers, ElementsAre(0, 1));
}

TEST(WeightParameters, AreKnownByUseWhereNoNameTells) {
  const absl::StatusOr<WeightParameters> found = FindWeightParameters(*Parse(kUnnamed), {});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(found->numbers, ElementsAre(1, 2));
}

TEST(WeightParameters, AreAllButTheInputsThatAreNamed) {
  const std::unique_ptr<Module> module = Parse(kUnnamed);
  EXPECT_THAT(FindWeightParameters(*module, {"xs_0_"})->numbers, ElementsAre(1, 2));
  EXPECT_THAT(FindWeightParameters(*module, {"0", "xs[2]"})->numbers, ElementsAre(1));
  EXPECT_THAT(FindWeightParameters(*module, {"picture"}).status().message(), HasSubstr("no parameter `picture`"));
}

TEST(WeightParameters, OfAFileAreNamedAsParametersOrLeavesAre) {
  const std::unique_ptr<Module> module = Parse(kNamed);
  const ScratchFolder folder;
  const std::string path = folder.In("weights.safetensors");
  std::mt19937 random(1);
  const Literal kernel = RandomLiteral(module->entry()->Parameters()[0]->shape(), random);
  const Literal mean = RandomLiteral(module->entry()->Parameters()[1]->shape(), random);
  for (const char* name : {"in.0", "params__stem____kernel__.1", "params.stem.kernel", "params['stem']['kernel']"}) {
    SafetensorsFile file;
    file.tensors = {{name, kernel}, {"batch_stats/mean", mean}};
    ASSERT_TRUE(WriteSafetensors(path, file).ok());
    const absl::StatusOr<Weights> weights = ReadWeights(path, *module);
    ASSERT_TRUE(weights.ok()) << weights.status();
    EXPECT_EQ(weights->at(0), kernel);
    EXPECT_EQ(weights->at(1), mean);
    EXPECT_EQ(weights->size(), 2u);
  }
  SafetensorsFile file;
  file.tensors = {{"params.stem.bias", kernel}};
  ASSERT_TRUE(WriteSafetensors(path, file).ok());
  EXPECT_THAT(ReadWeights(path, *module).status().message(), HasSubstr("`params.stem.bias` fits no parameter"));
  file.tensors = {{"in.0", mean}};
  ASSERT_TRUE(WriteSafetensors(path, file).ok());
  EXPECT_THAT(ReadWeights(path, *module).status().message(), HasSubstr("parameter `params__stem____kernel__.1`"));
}

}  // namespace
}  // namespace smelt::hlo::quantize
