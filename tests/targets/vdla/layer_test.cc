// Layers of quantised programs on the accelerator: which kernels are one, and that they compute what HLO says.
#include "targets/vdla/layer.h"

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hlo/evaluator/evaluator.h"
#include "hlo/text/parser.h"
#include "machine/descriptor.h"
#include "targets/vdla/accelerator.h"

namespace smelt::vdla {
namespace {

using ::testing::HasSubstr;

isa::Config Pynq() { return isa::Config::Named("pynq").value(); }

// A convolution with all that a layer may have; $PARTS are replaced.
constexpr char kLayer[] = R"(HloModule layer

ENTRY main {
  x = s8[$IN] parameter(0)
  w = s8[$KERNEL] parameter(1)
  sums = s32[$OUT] convolution(x, w), window={$WINDOW}, dim_labels=$LABELS
  b = s32[$CHANNELS] parameter(2)
  biases = s32[$OUT] broadcast(b), dimensions={$FEATURE}
  biased = s32[$OUT] add(sums, biases)
  wide = s64[$OUT] convert(biased)
  m = s64[$CHANNELS] parameter(3)
  multipliers = s64[$OUT] broadcast(m), dimensions={$FEATURE}
  product = s64[$OUT] multiply(wide, multipliers)
  half = s64[] constant(2147483648)
  halves = s64[$OUT] broadcast(half), dimensions={}
  rounded = s64[$OUT] add(product, halves)
  shift = s64[] constant(32)
  shifts = s64[$OUT] broadcast(shift), dimensions={}
  shifted = s64[$OUT] shift-right-arithmetic(rounded, shifts)
  scaled = s32[$OUT] convert(shifted)
  r = s8[$OUT] parameter(4)
  wide_r = s64[$OUT] convert(r)
  factor = s64[] constant(6000000)
  factors = s64[$OUT] broadcast(factor), dimensions={}
  product_r = s64[$OUT] multiply(wide_r, factors)
  half_r = s64[] constant(4194304)
  halves_r = s64[$OUT] broadcast(half_r), dimensions={}
  rounded_r = s64[$OUT] add(product_r, halves_r)
  shift_r = s64[] constant(23)
  shifts_r = s64[$OUT] broadcast(shift_r), dimensions={}
  shifted_r = s64[$OUT] shift-right-arithmetic(rounded_r, shifts_r)
  scaled_r = s32[$OUT] convert(shifted_r)
  together = s32[$OUT] add(scaled, scaled_r)
  low = s32[] constant($LOW)
  lows = s32[$OUT] broadcast(low), dimensions={}
  high = s32[] constant(127)
  highs = s32[$OUT] broadcast(high), dimensions={}
  clipped = s32[$OUT] clamp(lows, together, highs)
  ROOT y = s8[$OUT] convert(clipped)
}
)";

std::shared_ptr<fusion::Kernel> Parse(const std::string& text) {
  absl::StatusOr<std::unique_ptr<hlo::Module>> module = hlo::ParseModule(text);
  if (!module.ok()) {
    ADD_FAILURE() << module.status() << "\n" << text;
    return nullptr;
  }
  return std::make_shared<fusion::Kernel>(fusion::Kernel{*std::move(module), {}, "layer", {}});
}

// Random integers in the range of s8, or of a bias, or of 23-bit multipliers, by the type.
hlo::Literal RandomValues(const hlo::Shape& shape, std::mt19937& random) {
  hlo::Literal literal(shape);
  const hlo::PrimitiveType type = shape.element_type;
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    const auto bits = static_cast<int64_t>(random());
    literal.SetInteger(i, type == hlo::PrimitiveType::kS8    ? bits % 256 - 128
                          : type == hlo::PrimitiveType::kS64 ? (1 << 22) + bits % (1 << 22)
                                                             : bits % 20000 - 10000);
  }
  return literal;
}

// Runs the kernel under a schedule (-1: the default) and compares every bit with the evaluator's.
void Compare(const std::shared_ptr<fusion::Kernel>& kernel, const isa::Config& config, sim::Timing timing, int64_t way,
             std::mt19937& random) {
  const Accelerator accelerator(config);
  const std::vector<std::string> ways = accelerator.WaysOf(kernel->computation());
  ASSERT_FALSE(ways.empty());
  const std::string chosen = way < 0 ? "" : ways[static_cast<size_t>(way) % ways.size()];
  SCOPED_TRACE(absl::StrCat("schedule ", chosen));
  absl::StatusOr<std::unique_ptr<LayerProgram>> program = accelerator.Build(kernel, chosen);
  if (!chosen.empty() && absl::IsInvalidArgument(program.status())) return;  // it does not fit
  ASSERT_TRUE(program.ok()) << program.status();
  std::vector<hlo::Literal> inputs;
  for (const hlo::Instruction* parameter : kernel->computation().Parameters())
    inputs.push_back(RandomValues(parameter->shape(), random));
  std::vector<const hlo::Literal*> arguments;
  std::vector<const void*> pointers;
  for (const hlo::Literal& input : inputs) {
    arguments.push_back(&input);
    pointers.push_back(input.raw());
  }
  const hlo::Literal expected = hlo::Evaluate(*kernel->module, arguments).value();
  hlo::Literal got(expected.shape());
  const std::unique_ptr<Simulator> simulator = Simulator::Create(config, timing).value();
  const absl::Status ran = (*program)->Run(*simulator, pointers, got.raw());
  ASSERT_TRUE(ran.ok()) << ran;
  EXPECT_EQ(std::memcmp(got.raw(), expected.raw(), static_cast<size_t>(expected.byte_size())), 0);
  EXPECT_GT((*program)->seconds(), 0);
}

std::string ConvolutionText(int64_t images, int64_t size, int64_t in, int64_t out, int64_t kernel, int64_t stride,
                            int64_t pad, bool channels_first, bool reversed, int low) {
  const int64_t out_size = (size + 2 * pad - kernel) / stride + 1;
  const auto shape = [&](int64_t side, int64_t channels) {
    return channels_first ? absl::StrCat(images, ",", channels, ",", side, ",", side)
                          : absl::StrCat(images, ",", side, ",", side, ",", channels);
  };
  return absl::StrReplaceAll(
      kLayer, {{"$IN", shape(size, in)},
               {"$OUT", shape(out_size, out)},
               {"$KERNEL", channels_first ? absl::StrCat(out, ",", in, ",", kernel, ",", kernel)
                                          : absl::StrCat(kernel, ",", kernel, ",", in, ",", out)},
               {"$WINDOW", absl::StrCat("size=", kernel, "x", kernel, " stride=", stride, "x", stride, " pad=", pad,
                                        "_", pad, "x", pad, "_", pad, reversed ? " rhs_reversal=1x1" : "")},
               {"$LABELS", channels_first ? "bf01_oi01->bf01" : "b01f_01io->b01f"},
               {"$CHANNELS", absl::StrCat(out)},
               {"$FEATURE", channels_first ? "1" : "3"},
               {"$LOW", absl::StrCat(low)}});
}

TEST(VdlaLayer, RandomConvolutionsComputeWhatTheEvaluatorDoes) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937 random(seed);
  const auto draw = [&](int64_t from, int64_t to) {
    return from + static_cast<int64_t>(random() % static_cast<uint64_t>(to - from + 1));
  };
  for (int i = 0; i < 100; ++i) {
    const int64_t kernel = draw(1, 3), size = draw(kernel, 11);
    const std::string text =
        ConvolutionText(draw(1, 2), size, draw(1, 40), draw(1, 40), kernel, draw(1, 2), draw(0, kernel - 1),
                        draw(0, 1) == 1, draw(0, 1) == 1, i % 2 == 0 ? 0 : -128);
    SCOPED_TRACE(text);
    const std::shared_ptr<fusion::Kernel> layer = Parse(text);
    ASSERT_NE(layer, nullptr);
    Compare(layer, isa::Config::Named(i % 4 == 0 ? "big" : "pynq").value(),
            i % 3 == 0 ? sim::Timing::kCycle : sim::Timing::kFunctional, i % 2 == 0 ? -1 : draw(0, 30), random);
  }
}

constexpr char kProduct[] = R"(HloModule product

ENTRY main {
  x = s8[5,70] parameter(0)
  w = s8[$W] parameter(1)
  sums = s32[5,33] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={$K}
  b = s32[33] parameter(2)
  biases = s32[5,33] broadcast(b), dimensions={1}
  ROOT y = s32[5,33] add(sums, biases)
}
)";

TEST(VdlaLayer, ProductsOfMatricesGiveTheirSums) {
  std::mt19937 random(7);
  Compare(Parse(absl::StrReplaceAll(kProduct, {{"$W", "70,33"}, {"$K", "0"}})), Pynq(), sim::Timing::kCycle, -1,
          random);
  Compare(Parse(absl::StrReplaceAll(kProduct, {{"$W", "33,70"}, {"$K", "1"}})), Pynq(), sim::Timing::kFunctional, 1,
          random);
}

TEST(VdlaLayer, WhatItCannotRunIsRefusedByName) {
  const auto why = [](const std::string& text) {
    const std::shared_ptr<fusion::Kernel> kernel = Parse(text);
    return kernel == nullptr ? "" : std::string(LayerOf(kernel->computation(), Pynq()).status().message());
  };
  const std::string right = ConvolutionText(1, 6, 4, 5, 3, 1, 1, false, false, 0);
  EXPECT_EQ(why(right), "");
  EXPECT_THAT(
      why(absl::StrReplaceAll(right, {{"y = s8[1,6,6,5] convert(clipped)", "y = f32[1,6,6,5] convert(clipped)"}})),
      HasSubstr("`y` gives neither s8 nor s32"));
  EXPECT_THAT(why(absl::StrReplaceAll(right, {{"convert(clipped)", "convert(together)"}})),
              HasSubstr("outside its range"));
  EXPECT_THAT(why(absl::StrReplaceAll(right, {{"pad=1_1x1_1", "pad=2_2x2_2 rhs_dilate=2x2"}})), HasSubstr("dilated"));
  EXPECT_THAT(why(absl::StrReplaceAll(right, {{"constant(127)", "constant(200)"}})), HasSubstr("outside its range"));
  // The last clip counts: a lower bound above 127 undoes the upper one.
  EXPECT_THAT(why(absl::StrReplaceAll(right, {{"clipped = s32[1,6,6,5] clamp(lows, together, highs)",
                                               "capped = s32[1,6,6,5] minimum(together, highs)\n"
                                               "  clipped = s32[1,6,6,5] maximum(capped, floors)"},
                                              {"low = s32[] constant(0)",
                                               "floor = s32[] constant(200)\n"
                                               "  floors = s32[1,6,6,5] broadcast(floor), dimensions={}\n"
                                               "  low = s32[] constant(0)"}})),
              HasSubstr("outside its range"));
  // A shift by less than 24 bits may leave s32, where HLO wraps around.
  EXPECT_THAT(
      why(absl::StrReplaceAll(right, {{"constant(32)", "constant(20)"}, {"constant(2147483648)", "constant(524288)"}})),
      HasSubstr("`scaled` wraps around"));
}

TEST(VdlaLayer, AMultiplierOfMoreThan24BitsIsAnError) {
  const std::shared_ptr<fusion::Kernel> kernel = Parse(ConvolutionText(1, 4, 2, 2, 1, 1, 0, false, false, 0));
  const Accelerator accelerator(Pynq());
  const std::unique_ptr<LayerProgram> program = accelerator.Build(kernel, "").value();
  std::vector<hlo::Literal> inputs;
  std::vector<const void*> pointers;
  for (const hlo::Instruction* parameter : kernel->computation().Parameters()) inputs.emplace_back(parameter->shape());
  inputs[3].SetInteger(1, int64_t{1} << 23);
  for (const hlo::Literal& input : inputs) pointers.push_back(input.raw());
  std::vector<int8_t> output(1 * 4 * 4 * 2);
  const std::unique_ptr<Simulator> simulator = Simulator::Create(Pynq(), sim::Timing::kFunctional).value();
  const absl::Status status = program->Run(*simulator, pointers, output.data());
  EXPECT_THAT(std::string(status.message()), HasSubstr("multiplier 8388608 of channel 1 has more than 24 bits"));
}

TEST(VdlaLayer, EveryMachineIsDescribedInWordsThatAreRead) {
  for (const char* name : {"pynq", "big"}) {
    isa::Config config = isa::Config::Named(name).value();
    for (const int64_t weights : {config.wgt_bytes, 4 * config.acc_bytes}) {
      config.wgt_bytes = weights;
      const Accelerator accelerator(config);
      const auto read = machine::ReadMachine(machine::DescribeMachine(accelerator.machine()));
      EXPECT_TRUE(read.ok()) << read.status();
    }
  }
}

TEST(VdlaLayer, AScheduleThatThereIsNotIsRefused) {
  const std::shared_ptr<fusion::Kernel> kernel = Parse(ConvolutionText(1, 4, 2, 2, 1, 1, 0, false, false, 0));
  EXPECT_THAT(std::string(Accelerator(Pynq()).Build(kernel, "9x9x9").status().message()),
              HasSubstr("no schedule `9x9x9`"));
}

}  // namespace
}  // namespace smelt::vdla
