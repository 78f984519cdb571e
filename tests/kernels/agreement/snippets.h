// Small programs, one kernel each, with odd sizes: every opcode family that has a loop nest, alone and fused. Tests run
// them through the tensor expressions, the schedules and the compiler, and compare with the evaluator.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hlo/module.h"

namespace smelt::kernels {

struct Snippet {
  const char* name;
  const char* entry;  // instructions of the entry computation
};

const std::vector<Snippet>& Snippets();
// Those of them that are matrix products, product_snippets.cc, and convolutions, convolution_snippets.cc.
std::vector<Snippet> ProductSnippets();
std::vector<Snippet> ConvolutionSnippets();

// The snippet with the reducers that it may name: add, mul, max, min, or, argmax, ... by element type.
std::unique_ptr<hlo::Module> ParseSnippet(const Snippet& snippet);

}  // namespace smelt::kernels
