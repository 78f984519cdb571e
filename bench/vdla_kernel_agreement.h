// One random layer on the accelerator against the evaluator: the check that bench/vdla_random and the tests run.
//
//   KernelCount count;
//   std::string difference = FindKernelDifference(/*seed=*/7, &count);   // empty: all is well
#pragma once

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/vdla_random_kernel.h"
#include "hlo/evaluator/evaluator.h"
#include "hlo/text/parser.h"
#include "targets/vdla/accelerator.h"

namespace smelt::bench {

struct KernelCount {
  int64_t kernels = 0, schedules = 0, refused = 0, instructions = 0;  // refused: no tile fits, or it is no layer
};

// Values of a parameter by its type: int8, a bias, a multiplier of 23 bits.
inline hlo::Literal RandomOperand(const hlo::Shape& shape, std::mt19937_64& random) {
  hlo::Literal literal(shape);
  const hlo::PrimitiveType type = shape.element_type;
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    const auto bits = static_cast<int64_t>(random() >> 16);
    literal.SetInteger(i, type == hlo::PrimitiveType::kS8    ? bits % 256 - 128
                          : type == hlo::PrimitiveType::kS64 ? (1 << 22) + bits % (1 << 22)
                                                             : bits % 20000 - 10000);
  }
  return literal;
}

// What differs from the evaluator under the default or another schedule, or how lowering or a run failed where it
// should not: races, leftover tokens and deadlocks are such failures.
inline std::string FindKernelDifference(uint64_t seed, KernelCount* count) {
  std::mt19937_64 random(seed);
  const vdla::isa::Config config = vdla::isa::Config::Named(seed % 4 == 0 ? "big" : "pynq").value();
  RandomLayers layers(seed, {.side = 11, .channels = 50});
  layers.Add();
  const std::string text = layers.Finish();
  absl::StatusOr<std::unique_ptr<hlo::Module>> module = hlo::ParseModule(text);
  if (!module.ok()) return absl::StrCat(module.status().message(), "\n", text);
  const auto kernel = std::make_shared<const fusion::Kernel>(fusion::Kernel{*std::move(module), {}, "layer", {}});
  const vdla::Accelerator accelerator(config);
  const std::vector<std::string> ways = accelerator.WaysOf(kernel->computation());
  ++count->kernels;
  if (ways.size() < 2) {
    ++count->refused;
    const absl::Status layer = vdla::LayerOf(kernel->computation(), config).status();
    return layer.ok() ? "" : absl::StrCat(layer.message(), "\n", text);
  }
  std::vector<hlo::Literal> inputs;
  for (const hlo::Instruction* parameter : kernel->computation().Parameters())
    inputs.push_back(RandomOperand(parameter->shape(), random));
  std::vector<const hlo::Literal*> arguments;
  std::vector<const void*> pointers;
  for (const hlo::Literal& input : inputs) {
    arguments.push_back(&input);
    pointers.push_back(input.raw());
  }
  const absl::StatusOr<hlo::Literal> expected = hlo::Evaluate(*kernel->module, arguments);
  if (!expected.ok()) return absl::StrCat(expected.status().message(), "\n", text);
  for (const std::string& way : {ways[0], ways[random() % (ways.size() - 1)]}) {
    const absl::StatusOr<std::unique_ptr<vdla::LayerProgram>> program = accelerator.Build(kernel, way);
    if (absl::IsInvalidArgument(program.status())) {  // its tiles fit, and their fragments do not
      ++count->refused;
      continue;
    }
    if (!program.ok()) return absl::StrCat(program.status().message(), "\n", text);
    ++count->schedules;
    count->instructions += static_cast<int64_t>((*program)->program().instructions.size());
    for (const sim::Timing timing : {sim::Timing::kFunctional, sim::Timing::kCycle}) {
      hlo::Literal got(expected->shape());
      const absl::Status ran = (*program)->Run(*vdla::Simulator::Create(config, timing).value(), pointers, got.raw());
      if (!ran.ok()) return absl::StrCat(ran.message(), "\n", text);
      if (std::memcmp(got.raw(), expected->raw(), static_cast<size_t>(expected->byte_size())) != 0)
        return absl::StrCat("schedule ", way, " computes something else than the evaluator\n", text);
    }
  }
  return "";
}

}  // namespace smelt::bench
