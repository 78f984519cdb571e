// Parts a program whose weights are known into what can be computed beforehand and what every run computes.
//
//   before:  ENTRY main(x, w (known), s (known)) = dot(x, multiply(w, broadcast(s)))
//   known:   ENTRY main(w, s) = (multiply(w, broadcast(s)))
//   main:    ENTRY main(x, known_multiply (known)) = dot(x, known_multiply)
//
//   KnownSplit split = SplitKnownPart(module).value();
//   std::vector<Literal> of_main = split.MainInputs(inputs).value();   // the evaluator computes `known`
//
// On these inputs `main` gives what the module gives on its own.
//
// Values are kept where that pays: broadcasts and what follows from constants alone stay in `main`, where they cost a
// kernel nothing, and so does what is much larger than what it is computed from (widened integers). FoldChannelScales
// (channel_scales.h) goes before, so that scales are part of the weights.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo/evaluator/evaluator.h"
#include "hlo/literal.h"
#include "hlo/module.h"

namespace smelt::hlo {

struct KnownSplit {
  // Its parameters are those of the module that are not known, in their order, then known values, marked so.
  std::unique_ptr<Module> main;
  // Gives a tuple of values; null: known parameters are used as they are, or there are none.
  std::unique_ptr<Module> known;
  // Numbers of the module's parameters that `known` takes, in its order.
  std::vector<int64_t> known_parameters;

  // Where a parameter of `main` comes from.
  struct Source {
    bool computed = false;  // by `known`
    int64_t number = 0;     // of its result; else of the module's parameter
  };
  std::vector<Source> sources;  // one a parameter of `main`

  // The inputs of `main`, from those of the module, one a parameter; those that nothing reads may be empty. Errors: the
  // evaluator's.
  absl::StatusOr<std::vector<Literal>> MainInputs(std::vector<Literal> inputs,
                                                  const EvaluateOptions& options = {}) const;
};

// The module's known parameters are those that are marked (known_parameters.h). Aliases between parameters and results
// are left out: they name parameters that `main` does not have. Errors: the module does not verify.
absl::StatusOr<KnownSplit> SplitKnownPart(const Module& module);

}  // namespace smelt::hlo
