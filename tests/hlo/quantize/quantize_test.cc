#include "hlo/quantize/quantize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "hlo/fingerprint.h"
#include "hlo/quantize/multiply_shift.h"
#include "tests/hlo/quantize/quantize_testing.h"

namespace smelt::hlo::quantize {
namespace {

using ::testing::HasSubstr;

TEST(Quantize, AnMlpIsInt8FromFirstToLastDot) {
  const Case made = MakeCase(kMlp, {0});
  const QuantizedProgram quantized = MustRun(made);
  const Report& report = quantized.report;
  EXPECT_EQ(report.integer_contractions, 3);
  EXPECT_GT(report.total.SignalToNoise(), 30) << ReportToText(report);
  EXPECT_LT(report.total.RelativeRms(), 0.03);
  EXPECT_TRUE(report.is_classifier);
  EXPECT_GE(report.agreeing, report.classified * 9 / 10);
  // Between the first quantisation and the last result there is no float.
  const Computation& entry = *quantized.module->entry();
  EXPECT_EQ(Count(entry, Opcode::kDot, PrimitiveType::kS32), 3);
  EXPECT_EQ(Count(entry, Opcode::kDot, PrimitiveType::kF32), 0);
  EXPECT_EQ(Count(entry, Opcode::kConvert, PrimitiveType::kF32), 1);
  EXPECT_EQ(Count(entry, Opcode::kRoundNearestEven, PrimitiveType::kF32), 1);
}

// The arithmetic of kMlp's first two dots again, from the definition: floats to steps, sums of integers, biases,
// rescalings, clips.
TEST(Quantize, IntegersAreThoseOfADirectComputation) {
  const std::string text = std::string(kMlp);
  const Case made = MakeCase(text, {0}, 3);
  const QuantizedProgram quantized = MustRun(made);
  const LayerReport &first = LayerOf(quantized.report, "d0"), &second = LayerOf(quantized.report, "d1"),
                    &last = LayerOf(quantized.report, "d2");
  struct Dense {
    std::vector<int> weights;
    std::vector<double> scales;  // of sums
    std::vector<int> bias;
  };
  auto dense = [&](int64_t number, int64_t bias, double data_scale) {
    const Literal& weight = made.weights.at(number);
    const int64_t inputs = weight.shape().dimensions[0], outputs = weight.shape().dimensions[1];
    Dense layer{std::vector<int>(inputs * outputs), {}, {}};
    for (int64_t o = 0; o < outputs; ++o) {
      double largest = 0;
      for (int64_t i = 0; i < inputs; ++i) largest = std::max(largest, std::fabs(weight.GetDouble(i * outputs + o)));
      for (int64_t i = 0; i < inputs; ++i)
        layer.weights[i * outputs + o] =
            static_cast<int>(std::nearbyint(weight.GetDouble(i * outputs + o) / (largest / 127)));
      layer.scales.push_back(largest / 127 * data_scale);
      const double b = bias < 0 ? 0 : made.weights.at(bias).GetDouble(o);
      layer.bias.push_back(static_cast<int>(std::nearbyint(b / layer.scales[o])));
    }
    return layer;
  };
  auto sums = [](const Dense& layer, const std::vector<int>& data, int64_t rows) {
    const auto outputs = static_cast<int64_t>(layer.scales.size());
    const int64_t inputs = static_cast<int64_t>(layer.weights.size()) / outputs;
    std::vector<int32_t> result(rows * outputs);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t o = 0; o < outputs; ++o) {
        int32_t sum = layer.bias[o];
        for (int64_t i = 0; i < inputs; ++i) sum += data[r * inputs + i] * layer.weights[i * outputs + o];
        result[r * outputs + o] = sum;
      }
    }
    return result;
  };
  auto rescaled = [](const Dense& layer, const std::vector<int32_t>& values, double scale, int low, int high) {
    std::vector<double> factors;
    for (const double s : layer.scales) factors.push_back(s / scale);
    const MultiplyShift rescale = ChooseMultiplyShift(factors).value();
    std::vector<int> result;
    for (size_t i = 0; i < values.size(); ++i) {
      const int32_t y = ApplyMultiplyShift(values[i], rescale.multipliers[i % factors.size()], rescale.shift);
      result.push_back(std::clamp(y, low, high));
    }
    return result;
  };
  const Dense d0 = dense(1, 2, first.data_scale), d1 = dense(3, 4, second.data_scale),
              d2 = dense(5, -1, last.data_scale);
  const int six = std::min(127, static_cast<int>(std::nearbyint(6 / second.out_scale)));
  for (size_t s = 0; s < made.samples.size(); ++s) {
    const Literal& x = made.samples[s][0];
    std::vector<int> data;
    for (int64_t i = 0; i < x.element_count(); ++i) {
      const float step = x.data<float>()[i] * static_cast<float>(1 / first.data_scale);
      data.push_back(std::clamp(static_cast<int>(std::nearbyint(step)), -128, 127));
    }
    data = rescaled(d0, sums(d0, data, 16), first.out_scale, 0, 127);
    data = rescaled(d1, sums(d1, data, 16), second.out_scale, 0, six);
    const std::vector<int32_t> logits = sums(d2, data, 16);
    const absl::StatusOr<Literal> got = Evaluate(*quantized.module, made.Arguments(s));
    ASSERT_TRUE(got.ok()) << got.status();
    for (size_t i = 0; i < logits.size(); ++i) {
      ASSERT_EQ(got->data<float>()[i], static_cast<float>(logits[i]) * static_cast<float>(d2.scales[i % 10]))
          << "sample " << s << ", element " << i;
    }
  }
}

TEST(Quantize, ANetworkWithAResidualStaysInInt8) {
  const Case made = MakeCase(kResidualNet, {0});
  const QuantizedProgram quantized = MustRun(made);
  const Report& report = quantized.report;
  EXPECT_EQ(report.integer_contractions, 4);
  EXPECT_GT(report.total.SignalToNoise(), 28) << ReportToText(report);
  EXPECT_TRUE(LayerOf(report, "v2").residual);
  EXPECT_TRUE(LayerOf(report, "v2").clipped);
  EXPECT_TRUE(LayerOf(report, "v0").scaled) << "the normalisation is part of the weights";
  EXPECT_TRUE(LayerOf(report, "total").integer_out);
  EXPECT_EQ(WhyOf(report, "p0"), "int8: at its operand's scale");
  const Computation& entry = *quantized.module->entry();
  EXPECT_EQ(Count(entry, Opcode::kConvolution, PrimitiveType::kS32), 3);
  EXPECT_EQ(Count(entry, Opcode::kReduceWindow, PrimitiveType::kS8), 1);
  EXPECT_EQ(Count(entry, Opcode::kReduce, PrimitiveType::kS32), 1);
  EXPECT_EQ(Count(entry, Opcode::kConvert, PrimitiveType::kF32), 1) << "the result alone is made float";
  EXPECT_EQ(Count(entry, Opcode::kDivide, PrimitiveType::kF32), 0) << "the mean is part of a rescaling";
}

TEST(Quantize, OfATransformerBlockTheDotsWithWeightsAreInt8) {
  const Case made = MakeCase(kTransformerBlock, {0});
  const QuantizedProgram quantized = MustRun(made);
  const Report& report = quantized.report;
  EXPECT_EQ(report.contractions, 8);
  EXPECT_EQ(report.integer_contractions, 6);
  EXPECT_GT(report.total.SignalToNoise(), 28) << ReportToText(report);
  EXPECT_THAT(WhyOf(report, "scores"), HasSubstr("neither is a weight"));
  EXPECT_THAT(WhyOf(report, "weights"), HasSubstr("float"));
  // What reads floats gets them from the sums, unrounded.
  EXPECT_FALSE(LayerOf(report, "q").integer_out);
}

// Two heads: their scores, and the scores by the values.
constexpr char kHeads[] = R"(HloModule heads
ENTRY e {
  x = f32[2,12,32] parameter(0)
  w = f32[32,16] parameter(1)
  q = f32[2,12,16] dot(x, w), lhs_contracting_dims={2}, rhs_contracting_dims={0}
  scores = f32[2,12,12] dot(q, q), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}
  share = f32[] constant(0.25)
  shares = f32[2,12,12] broadcast(share), dimensions={}
  scaled = f32[2,12,12] multiply(scores, shares)
  mixing = f32[2,12,12] tanh(scaled)
  ROOT y = f32[2,12,16] dot(mixing, q), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
})";

TEST(Quantize, BatchesOfProductsOfActivationsAreInt8) {
  const QuantizedProgram quantized = MustRun(MakeCase(kHeads, {0}));
  const Report& report = quantized.report;
  EXPECT_EQ(report.contractions, 3);
  EXPECT_EQ(report.integer_contractions, 3);
  EXPECT_GT(report.total.SignalToNoise(), 28) << ReportToText(report);
  EXPECT_EQ(Count(*quantized.module->entry(), Opcode::kDot, PrimitiveType::kS32), 3);
  EXPECT_TRUE(LayerOf(report, "q").integer_out) << "both products read it";
  EXPECT_TRUE(LayerOf(report, "scores").scaled) << "the share is part of its step";
}

TEST(Quantize, ASecondTimeNothingChanges) {
  for (const char* text : {kMlp, kResidualNet, kTransformerBlock}) {
    Case made = MakeCase(text, {0});
    QuantizedProgram once = MustRun(made);
    const std::string before = ToText(*once.module);
    made.module = std::move(once.module);
    const QuantizedProgram twice = MustRun(made);
    EXPECT_EQ(ToText(*twice.module), before);
    EXPECT_TRUE(twice.report.layers.empty());
  }
}

TEST(Quantize, KeepsTheParametersUnlessAskedNotTo) {
  const Case made = MakeCase(kMlp, {0});
  EXPECT_EQ(MustRun(made).module->entry()->Parameters().size(), 6u);
  QuantizeOptions options;
  options.drop_unread_parameters = true;
  const QuantizedProgram dropped = MustRun(made, options);
  ASSERT_EQ(dropped.module->entry()->Parameters().size(), 1u);
  const Literal* arguments[] = {&made.samples[0][0]};
  const absl::StatusOr<Literal> got = Evaluate(*dropped.module, arguments);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(*got, *Evaluate(*MustRun(made).module, made.Arguments(0)));
}

TEST(Quantize, KeepsFloatWhatItIsAskedTo) {
  const Case made = MakeCase(kMlp, {0});
  QuantizeOptions options;
  options.keep_float = {"d1"};
  const QuantizedProgram quantized = MustRun(made, options);
  EXPECT_EQ(quantized.report.integer_contractions, 2);
  EXPECT_EQ(WhyOf(quantized.report, "d1"), "kept float as asked");
  EXPECT_EQ(Count(*quantized.module->entry(), Opcode::kDot, PrimitiveType::kF32), 1);
  EXPECT_GT(quantized.report.total.SignalToNoise(), 30);
  options.keep_float = {"d9"};
  EXPECT_THAT(QuantizeCase(made, options).status().message(), HasSubstr("no convolution or dot `d9`"));
}

TEST(Quantize, FewerLargeValuesMakeFinerSteps) {
  const Case made = MakeCase(kMlp, {0});
  QuantizeOptions options;
  const double widest = LayerOf(MustRun(made, options).report, "d0").out_scale;
  options.calibration = {CalibrationMethod::kPercentile, 99};
  EXPECT_LT(LayerOf(MustRun(made, options).report, "d0").out_scale, widest);
}

TEST(Quantize, AChannelWithoutWeightsKeepsItsBias) {
  Case made = MakeCase(kMlp, {0});
  Literal& w0 = made.weights.at(1);
  for (int64_t i = 0; i < 24; ++i) w0.SetDouble(i * 48 + 5, i == 0 ? 1e-12 : 0);
  for (int64_t i = 0; i < 24; ++i) w0.SetDouble(i * 48 + 6, 0);
  EXPECT_GT(MustRun(made).report.total.SignalToNoise(), 30);
}

TEST(Quantize, ValuesThatAreAlwaysZeroAreNoTrouble) {
  Case made = MakeCase(kMlp, {0});
  for (std::vector<Literal>& sample : made.samples) sample[0] = Literal(sample[0].shape());
  Literal& b0 = made.weights.at(2);
  for (int64_t i = 0; i < b0.element_count(); ++i) b0.SetDouble(i, -1);
  const QuantizedProgram quantized = MustRun(made);
  EXPECT_LT(quantized.report.total.max(), 0.05);
}

TEST(Quantize, WorksWithNarrowFloatsAndEitherSideOfADot) {
  constexpr char kText[] = R"(HloModule m
    ENTRY e { x = bf16[24,6] parameter(0)  w = bf16[24,32] parameter(1)  v = f16[3,10,32] parameter(2)
      d = bf16[32,6] dot(w, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}
      t = bf16[6,32] transpose(d), dimensions={1,0}
      two = bf16[] constant(2)  twos = bf16[6,32] broadcast(two), dimensions={}
      m = bf16[6,32] multiply(t, twos)
      c = f16[6,32] convert(m)
      ROOT r = f16[6,3,10] dot(c, v), lhs_contracting_dims={1}, rhs_contracting_dims={2} })";
  const QuantizedProgram quantized = MustRun(MakeCase(kText, {0}));
  EXPECT_EQ(quantized.report.integer_contractions, 2);
  EXPECT_EQ(LayerOf(quantized.report, "d").channels, 32);
  EXPECT_EQ(LayerOf(quantized.report, "r").channels, 30);
  EXPECT_TRUE(LayerOf(quantized.report, "d").integer_out);
  EXPECT_GT(quantized.report.total.SignalToNoise(), 28) << ReportToText(quantized.report);
}

TEST(Quantize, KeepsConcatenationsSlicesAndPaddingsInInt8) {
  constexpr char kText[] = R"(HloModule m
    ENTRY e { x = f32[1,8,8,4] parameter(0)  k = f32[1,1,4,6] parameter(1)  h = f32[1,1,4,2] parameter(2)  g = f32[3,3,8,4] parameter(3)
      a = f32[1,8,8,6] convolution(x, k), window={size=1x1}, dim_labels=b01f_01io->b01f
      b = f32[1,8,8,2] convolution(x, h), window={size=1x1}, dim_labels=b01f_01io->b01f
      j = f32[1,8,8,8] concatenate(a, b), dimensions={3}
      zero = f32[] constant(0)
      p = f32[1,10,10,8] pad(j, zero), padding=0_0x1_1x1_1x0_0
      s = f32[1,6,10,8] slice(p), slice={[0:1], [2:8], [0:10], [0:8]}
      ROOT r = f32[1,4,8,4] convolution(s, g), window={size=3x3}, dim_labels=b01f_01io->b01f })";
  const QuantizedProgram quantized = MustRun(MakeCase(kText, {0}));
  for (const char* name : {"j", "p", "s"}) EXPECT_EQ(WhyOf(quantized.report, name), "int8: at its operand's scale");
  EXPECT_EQ(LayerOf(quantized.report, "a").out_scale, LayerOf(quantized.report, "b").out_scale);
  EXPECT_GT(quantized.report.total.SignalToNoise(), 30);
}

TEST(Quantize, AddsTwoInt8ValuesThatOthersReadToo) {
  constexpr char kText[] = R"(HloModule m
    ENTRY e { x = f32[8,16] parameter(0)  w = f32[16,16] parameter(1)  v = f32[16,16] parameter(2)
      a = f32[8,16] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      b = f32[8,16] dot(a, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      c = f32[8,16] add(a, b)
      d = f32[8,16] add(c, a)
      e1 = f32[8,16] add(d, c)
      ROOT r = f32[8,16] dot(e1, w), lhs_contracting_dims={1}, rhs_contracting_dims={0} })";
  const QuantizedProgram quantized = MustRun(MakeCase(kText, {0}));
  EXPECT_TRUE(LayerOf(quantized.report, "b").residual);
  EXPECT_EQ(LayerOf(quantized.report, "d").opcode, "add");
  EXPECT_EQ(Count(*quantized.module->entry(), Opcode::kAdd, PrimitiveType::kF32), 0);
  EXPECT_GT(quantized.report.total.SignalToNoise(), 28);
}

TEST(Quantize, SaysWhatIsMissing) {
  Case made = MakeCase("HloModule m ENTRY e { x = f32[4] parameter(0) ROOT r = f32[4] negate(x) }", {0});
  EXPECT_THAT(QuantizeCase(made).status().message(), HasSubstr("no convolution and no dot"));
  made = MakeCase(kMlp, {0}, 0);
  EXPECT_THAT(QuantizeCase(made).status().message(), HasSubstr("no input is given"));
  made = MakeCase(kMlp, {0});
  made.samples[1][0] = Literal(Shape::Array(PrimitiveType::kF32, {3}));
  EXPECT_THAT(QuantizeCase(made).status().message(), HasSubstr("input 1: the argument for parameter `x` is f32[3]"));
  made = MakeCase(kMlp, {0});
  made.weights[1] = Literal(Shape::Array(PrimitiveType::kF32, {3}));
  EXPECT_THAT(QuantizeCase(made).status().message(),
              HasSubstr("the weight for parameter `w0` is f32[3], expected f32[24,48]"));
  made = MakeCase(kMlp, {0});
  made.samples[0][0].SetDouble(0, std::nan(""));
  EXPECT_THAT(QuantizeCase(made).status().message(), HasSubstr("`x` has 1 infinite values or NaN"));
  made = MakeCase(kMlp, {0});
  made.weights[1].SetDouble(0, INFINITY);
  made.weights[3].SetDouble(0, INFINITY);
  made.weights[5].SetDouble(0, INFINITY);
  EXPECT_THAT(WhyOf(MustRun(made).report, "d0"), HasSubstr("a weight is infinite"));
}

TEST(Quantize, EndsWhenItIsCancelled) {
  const Case made = MakeCase(kMlp, {0});
  std::atomic<bool> cancel = true;
  QuantizeOptions options;
  options.cancel = &cancel;
  EXPECT_EQ(QuantizeCase(made, options).status().code(), absl::StatusCode::kCancelled);
}

TEST(Quantize, LeavesLoopsAndGradientsFloat) {
  constexpr char kText[] = R"(HloModule m
    body { s = (s32[], f32[4,4], f32[4,4]) parameter(0)  i = s32[] get-tuple-element(s), index=0
      x = f32[4,4] get-tuple-element(s), index=1  w = f32[4,4] get-tuple-element(s), index=2
      inner = f32[4,4] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      one = s32[] constant(1)  j = s32[] add(i, one)  ROOT t = (s32[], f32[4,4], f32[4,4]) tuple(j, inner, w) }
    condition { s = (s32[], f32[4,4], f32[4,4]) parameter(0)  i = s32[] get-tuple-element(s), index=0
      n = s32[] constant(3)  ROOT c = pred[] compare(i, n), direction=LT }
    ENTRY e { x = f32[4,4] parameter(0)  w = f32[4,4] parameter(1)  z = s32[] constant(0)
      s = (s32[], f32[4,4], f32[4,4]) tuple(z, x, w)
      loop = (s32[], f32[4,4], f32[4,4]) while(s), body=body, condition=condition
      y = f32[4,4] get-tuple-element(loop), index=1
      outer = f32[4,4] dot(y, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      ROOT g = f32[4,4] dot(y, outer), lhs_contracting_dims={0}, rhs_contracting_dims={0} })";
  const QuantizedProgram quantized = MustRun(MakeCase(kText, {0}));
  EXPECT_EQ(quantized.report.contractions, 3);
  EXPECT_EQ(quantized.report.integer_contractions, 1);
  EXPECT_THAT(WhyOf(quantized.report, "inner"), HasSubstr("body of a loop"));
  EXPECT_THAT(WhyOf(quantized.report, "loop"), HasSubstr("what a while runs"));
}

}  // namespace
}  // namespace smelt::hlo::quantize
