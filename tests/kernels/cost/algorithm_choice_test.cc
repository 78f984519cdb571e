#include "kernels/cost/algorithm_choice.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "hlo/text/parser.h"
#include "kernels/cost/analytical.h"

namespace smelt::kernels::cost {
namespace {

// A layer of 3x3 taps from a square picture with `channels` features to as many; `epilogue`: what is done with it.
std::string Layer(int64_t pixels, int64_t channels, int64_t stride = 1, const std::string& epilogue = "") {
  const std::string in = absl::StrCat("f32[1,", pixels, ",", pixels, ",", channels, "]");
  const std::string out = absl::StrCat("f32[1,", pixels / stride, ",", pixels / stride, ",", channels, "]");
  const std::string window = absl::StrCat("{size=3x3 pad=1_1x1_1", stride > 1 ? " stride=2x2" : "", "}");
  return absl::StrCat("HloModule m\nENTRY e {\n x = ", in, " parameter(0)\n w = f32[3,3,", channels, ",", channels,
                      "] parameter(1)\n ", epilogue.empty() ? "ROOT " : "", "c = ", out,
                      " convolution(x, w), window=", window, ", dim_labels=b01f_01io->b01f\n",
                      epilogue.empty() ? "" : absl::StrCat(" ROOT r = ", out, " ", epilogue, "(c)\n"), "}\n");
}

class Kernel {
 public:
  explicit Kernel(const std::string& text) : module_(hlo::ParseModule(text).value()) {}
  const hlo::Computation& computation() const { return *module_->entry(); }
  double seconds() const { return EstimateKernel(computation(), machine_).seconds(); }
  double directly() const { return EstimateDirectly(computation(), machine_).seconds(); }
  const machine::Machine& machine() const { return machine_; }

 private:
  std::unique_ptr<hlo::Module> module_;
  machine::Machine machine_;
};

TEST(EstimateKernel, FollowsTheAlgorithmThatComputesAConvolution) {
  const Kernel layer(Layer(56, 64));
  ASSERT_TRUE(DefaultAlgorithm(layer.computation(), /*weights_known=*/false, layer.machine()));
  EXPECT_LT(layer.seconds(), kWinogradGain * layer.directly());
  EXPECT_EQ(layer.seconds(), Kernel(Layer(56, 64)).seconds()) << "remembered";
  EXPECT_GT(Kernel(Layer(56, 64, 1, "tanh")).seconds(), layer.seconds()) << "what is fused with it";
}

TEST(EstimateKernel, IsTheDirectSumsWhereThatIsTaken) {
  const Kernel weights(Layer(7, 512));  // to transform these in every call takes longer than it gains
  ASSERT_FALSE(DefaultAlgorithm(weights.computation(), /*weights_known=*/false, weights.machine()));
  EXPECT_EQ(weights.seconds(), weights.directly());
  EXPECT_FALSE(ConvolutionByDefault(weights.computation(), weights.machine()));
  const Kernel strided(Layer(56, 64, 2));
  EXPECT_EQ(strided.seconds(), strided.directly());
}

TEST(DefaultAlgorithm, LargerTilesHaveToGainMoreThanTheEstimatesMayErr) {
  // Weights of 256 features, transformed in every call, are nearly all that tiles of four gain on so few pixels.
  const Kernel layer(Layer(14, 256));
  const auto in_a_call = DefaultAlgorithm(layer.computation(), /*weights_known=*/false, layer.machine());
  ASSERT_TRUE(in_a_call);
  EXPECT_EQ(in_a_call->algorithm, te::ConvolutionAlgorithm::kWinograd2) << in_a_call->ToString();
  const auto before = DefaultAlgorithm(layer.computation(), /*weights_known=*/true, layer.machine());
  ASSERT_TRUE(before);
  EXPECT_EQ(before->algorithm, te::ConvolutionAlgorithm::kWinograd4) << before->ToString();
}

TEST(EstimateKernel, RemembersByMachine) {
  const Kernel layer(Layer(28, 128));
  machine::Machine slow = layer.machine();
  slow.peak_flops_f32 /= 10;
  EXPECT_GT(EstimateKernel(layer.computation(), slow).seconds(), 2 * layer.seconds());
  EXPECT_EQ(EstimateKernel(layer.computation(), layer.machine()).seconds(), layer.seconds());
}

}  // namespace
}  // namespace smelt::kernels::cost
