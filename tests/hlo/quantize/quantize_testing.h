// What tests of quantisation share: programs as text, random weights and inputs, and a run of the whole pass.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "hlo/evaluator/evaluator.h"
#include "hlo/quantize/quantize.h"
#include "hlo/text/parser.h"
#include "hlo/text/printer.h"
#include "hlo/verifier/verifier.h"

namespace smelt::hlo::quantize {

inline std::unique_ptr<Module> Parse(std::string_view text) {
  absl::StatusOr<std::unique_ptr<Module>> module = ParseModule(text);
  EXPECT_TRUE(module.ok()) << module.status() << "\n" << text;
  return module.ok() ? *std::move(module) : nullptr;
}

// Normally distributed, but for integers, which are small and not negative.
inline Literal RandomLiteral(const Shape& shape, std::mt19937& random, double deviation = 1) {
  Literal literal(Shape::Array(shape.element_type, shape.dimensions));
  std::normal_distribution<double> normal(0, deviation);
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    if (IsFloat(shape.element_type)) {
      literal.SetDouble(i, normal(random));
    } else {
      literal.SetInteger(i, static_cast<int64_t>(random() % 4));
    }
  }
  return literal;
}

// A program, its weights and inputs.
struct Case {
  std::unique_ptr<Module> module;
  Weights weights;
  std::vector<std::vector<Literal>> samples;

  std::vector<const Literal*> Arguments(size_t sample) const {
    std::vector<const Literal*> arguments;
    for (size_t p = 0; p < samples[sample].size(); ++p) {
      const auto weight = weights.find(static_cast<int64_t>(p));
      arguments.push_back(weight != weights.end() ? &weight->second : &samples[sample][p]);
    }
    return arguments;
  }
};

// `inputs`: numbers of the parameters that are no weights. Weights have a deviation of 0.2, but for vectors, which lie
// around 1 so that variances are positive.
inline Case MakeCase(std::string_view text, const std::set<int64_t>& inputs, int64_t samples = 4, int seed = 1) {
  std::mt19937 random(seed);
  Case made;
  made.module = Parse(text);
  const std::vector<Instruction*> parameters = made.module->entry()->Parameters();
  for (size_t p = 0; p < parameters.size(); ++p) {
    if (inputs.contains(static_cast<int64_t>(p))) continue;
    Literal weight = RandomLiteral(parameters[p]->shape(), random, 0.2);
    if (weight.shape().rank() == 1) {
      for (int64_t i = 0; i < weight.element_count(); ++i) weight.SetDouble(i, 1 + weight.GetDouble(i));
    }
    made.weights[static_cast<int64_t>(p)] = std::move(weight);
  }
  for (int64_t s = 0; s < samples; ++s) {
    std::vector<Literal>& sample = made.samples.emplace_back();
    for (size_t p = 0; p < parameters.size(); ++p) {
      const bool input = inputs.contains(static_cast<int64_t>(p));
      sample.push_back(input ? RandomLiteral(parameters[p]->shape(), random) : Literal());
    }
  }
  return made;
}

inline absl::StatusOr<QuantizedProgram> QuantizeCase(const Case& made, const QuantizeOptions& options = {}) {
  return Quantize(*made.module, made.weights, made.samples, EvaluatorEngine(), options);
}

// The result, which verifies and reads back from its text as what it is.
inline QuantizedProgram MustRun(const Case& made, const QuantizeOptions& options = {}) {
  absl::StatusOr<QuantizedProgram> result = QuantizeCase(made, options);
  EXPECT_TRUE(result.ok()) << result.status();
  if (!result.ok()) return {};
  const absl::Status verified = VerifyModule(*result->module);
  EXPECT_TRUE(verified.ok()) << verified;
  const std::string text = ToText(*result->module);
  const absl::StatusOr<std::unique_ptr<Module>> again = ParseModule(text);
  EXPECT_TRUE(again.ok()) << again.status();
  if (again.ok()) {
    EXPECT_EQ(ToText(**again), text);
  }
  return *std::move(result);
}

inline int64_t Count(const Computation& computation, Opcode opcode, PrimitiveType type) {
  int64_t count = 0;
  for (const Instruction* x : computation.Instructions())
    count += x->opcode() == opcode && x->shape().element_type == type;
  return count;
}

inline const LayerReport& LayerOf(const Report& report, std::string_view name) {
  static const LayerReport none;
  for (const LayerReport& layer : report.layers) {
    if (layer.name == name) return layer;
  }
  ADD_FAILURE() << "there is no layer " << name;
  return none;
}

inline std::string WhyOf(const Report& report, std::string_view name) {
  for (const InstructionReport& x : report.instructions) {
    if (x.name == name) return x.integer ? "int8: " + x.why : x.why;
  }
  return "not listed";
}

inline constexpr char kMlp[] = R"(HloModule mlp
ENTRY e {
  x = f32[16,24] parameter(0)
  w0 = f32[24,48] parameter(1)
  b0 = f32[48] parameter(2)
  w1 = f32[48,32] parameter(3)
  b1 = f32[32] parameter(4)
  w2 = f32[32,10] parameter(5)
  zero = f32[] constant(0)
  d0 = f32[16,48] dot(x, w0), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  c0 = f32[16,48] broadcast(b0), dimensions={1}
  a0 = f32[16,48] add(d0, c0)
  z0 = f32[16,48] broadcast(zero), dimensions={}
  r0 = f32[16,48] maximum(a0, z0)
  d1 = f32[16,32] dot(r0, w1), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  c1 = f32[16,32] broadcast(b1), dimensions={1}
  a1 = f32[16,32] add(d1, c1)
  six = f32[] constant(6)
  r1 = f32[16,32] clamp(zero, a1, six)
  ROOT d2 = f32[16,10] dot(r1, w2), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})";

// Two convolutions with normalisations, one of them next to a residual; poolings; a dot.
inline constexpr char kResidualNet[] = R"(HloModule residual_net
max { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT m = f32[] maximum(a, b) }
sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
ENTRY e {
  x = f32[2,16,16,3] parameter(0)
  k0 = f32[3,3,3,8] parameter(1)
  scale = f32[8] parameter(2)
  offset = f32[8] parameter(3)
  mean = f32[8] parameter(4)
  variance = f32[8] parameter(5)
  k1 = f32[3,3,8,8] parameter(6)
  k2 = f32[3,3,8,8] parameter(7)
  head = f32[8,5] parameter(8)
  zero = f32[] constant(0)
  v0 = f32[2,16,16,8] convolution(x, k0), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  n0 = f32[2,16,16,8] batch-norm-inference(v0, scale, offset, mean, variance), epsilon=0.001, feature_index=3
  z0 = f32[2,16,16,8] broadcast(zero), dimensions={}
  r0 = f32[2,16,16,8] maximum(n0, z0)
  low = f32[] constant(-inf)
  p0 = f32[2,8,8,8] reduce-window(r0, low), window={size=1x2x2x1 stride=1x2x2x1}, to_apply=max
  v1 = f32[2,8,8,8] convolution(p0, k1), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  z1 = f32[2,8,8,8] broadcast(zero), dimensions={}
  r1 = f32[2,8,8,8] maximum(v1, z1)
  v2 = f32[2,8,8,8] convolution(r1, k2), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  t2 = f32[2,8,8,8] add(p0, v2)
  r2 = f32[2,8,8,8] maximum(t2, z1)
  total = f32[2,8] reduce(r2, zero), dimensions={1,2}, to_apply=sum
  count = f32[] constant(64)
  counts = f32[2,8] broadcast(count), dimensions={}
  pooled = f32[2,8] divide(total, counts)
  ROOT logits = f32[2,5] dot(pooled, head), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})";

// One head of attention, a residual, a feed-forward part.
inline constexpr char kTransformerBlock[] = R"(HloModule block
max { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT m = f32[] maximum(a, b) }
sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
ENTRY e {
  x = f32[12,32] parameter(0)
  wq = f32[32,32] parameter(1)
  wk = f32[32,32] parameter(2)
  wv = f32[32,32] parameter(3)
  wo = f32[32,32] parameter(4)
  w1 = f32[32,64] parameter(5)
  b1 = f32[64] parameter(6)
  w2 = f32[64,32] parameter(7)
  zero = f32[] constant(0)
  low = f32[] constant(-inf)
  q = f32[12,32] dot(x, wq), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  k = f32[12,32] dot(x, wk), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  v = f32[12,32] dot(x, wv), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  scores = f32[12,12] dot(q, k), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  share = f32[] constant(0.1767767)
  shares = f32[12,12] broadcast(share), dimensions={}
  scaled = f32[12,12] multiply(scores, shares)
  m = f32[12] reduce(scaled, low), dimensions={1}, to_apply=max
  ms = f32[12,12] broadcast(m), dimensions={0}
  shifted = f32[12,12] subtract(scaled, ms)
  weights = f32[12,12] exponential(shifted)
  t = f32[12] reduce(weights, zero), dimensions={1}, to_apply=sum
  ts = f32[12,12] broadcast(t), dimensions={0}
  softmax = f32[12,12] divide(weights, ts)
  mixed = f32[12,32] dot(softmax, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  o = f32[12,32] dot(mixed, wo), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  h = f32[12,32] add(x, o)
  f1 = f32[12,64] dot(h, w1), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  c1 = f32[12,64] broadcast(b1), dimensions={1}
  g1 = f32[12,64] add(f1, c1)
  g2 = f32[12,64] tanh(g1)
  f2 = f32[12,32] dot(g2, w2), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT y = f32[12,32] add(h, f2)
})";

}  // namespace smelt::hlo::quantize
