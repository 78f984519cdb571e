// Which of many good candidates to measure next: fast ones that differ.
//
//   std::vector<size_t> chosen = SelectDiverse(ranked, 64, {.alpha = 0.1, .lambda = 2});
//
// Equation 3 of Learning to Optimize Tensor Programs (NeurIPS 2018): the sum of the candidates' scores plus `alpha` for
// each value of a knob that at least one of them has. It is submodular, so that taking the best addition each time is
// within 1 - 1/e of the best choice.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "tuner/schedule/parallel_annealing.h"

namespace smelt::tuner {

struct SelectionOptions {
  double alpha = 0.1;  // worth of one new value, in standard deviations of the candidates' scores
  double lambda = 2;   // the best lambda * count candidates are looked at; 1: scores alone decide
};

// Positions in `ranked`, which is the best first, in the order in which they were taken; at most `count`.
std::vector<size_t> SelectDiverse(absl::Span<const RankedConfig> ranked, size_t count, const SelectionOptions& options);

}  // namespace smelt::tuner
