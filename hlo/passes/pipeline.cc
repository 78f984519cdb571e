#include "hlo/passes/pipeline.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "base/str_cat.h"
#include "hlo/passes/algebra/algebraic_simplifier.h"
#include "hlo/passes/barrier_removal.h"
#include "hlo/passes/batch_norm_expander.h"
#include "hlo/passes/bitcast_to_reshape.h"
#include "hlo/passes/call_inliner.h"
#include "hlo/passes/common_subexpressions.h"
#include "hlo/passes/complex_expander.h"
#include "hlo/passes/computation_deduplication.h"
#include "hlo/passes/conditional_simplifier.h"
#include "hlo/passes/constant_folding.h"
#include "hlo/passes/convert_mover.h"
#include "hlo/passes/convolution_canonicalizer.h"
#include "hlo/passes/convolution_layout.h"
#include "hlo/passes/convolution_to_dot.h"
#include "hlo/passes/copy_removal.h"
#include "hlo/passes/dead_code.h"
#include "hlo/passes/dot_dimension_merger.h"
#include "hlo/passes/gather_simplifier.h"
#include "hlo/passes/map_inliner.h"
#include "hlo/passes/reshape_mover.h"
#include "hlo/passes/reshape_to_bitcast.h"
#include "hlo/passes/sort_to_top_k.h"
#include "hlo/passes/transpose_folding.h"
#include "hlo/passes/tuple_simplifier.h"
#include "hlo/passes/while_invariant_motion.h"
#include "hlo/passes/while_simplifier.h"
#include "hlo/passes/zero_sized.h"

namespace smelt::hlo {
namespace {

constexpr Pass kPasses[] = {
    {"call-inliner", InlineCalls, "rewriting and fusion must see across outlined functions"},
    {"dead-code", EliminateDeadCode, "what nothing uses costs every later pass"},
    {"bitcast-to-reshape", BitcastsToReshapes, "rules about reshapes then hold for bitcasts of row-major arrays"},
    {"copy-removal", RemoveCopies, "values are immutable: a copy is the identity"},
    {"batch-norm-expander", ExpandBatchNorm, "as arithmetic, normalisation fuses with its neighbours"},
    {"complex-expander", ExpandComplex, "kernels contract and sum real numbers"},
    {"map-inliner", InlineMaps, "map over scalars is elementwise work"},
    {"zero-sized", EliminateZeroSized, "kernels need not treat arrays without elements"},
    {"tuple-simplifier", SimplifyTuples, "values are found behind tuples that only name them"},
    {"conditional-simplifier", SimplifyConditionals, "a branch that is known is plain code"},
    {"while-simplifier", SimplifyWhileLoops, "loops carry less, and constants reach their bodies"},
    {"while-invariant-motion", MoveLoopInvariants,
     "what every iteration computes from the same values is computed once"},
    {"algebraic-simplifier", SimplifyAlgebra, "the table of rules: fewer instructions, same values"},
    {"gather-simplifier", SimplifyGathers, "looking up one row is a dynamic slice"},
    {"sort-to-top-k", SortsToTopK, "the beginning of what is sorted is found without the rest"},
    {"convolution-canonicalizer", CanonicalizeConvolutions, "windows pad and reverse without arrays of their own"},
    {"convolution-layout", LayOutConvolutions, "vectors run over features, and gradients of weights have rows of 3"},
    {"convolution-to-dot", ConvolutionsToDots, "blocks of rows go on where a picture's row ends"},
    {"dot-dimension-merger", MergeDotDimensions, "vectors run over the last dimension, which may be the three colours"},
    {"convert-mover", MoveConverts, "conversions meet where they cancel, and narrow elements move"},
    {"reshape-mover", MoveReshapes, "rearrangements meet where they cancel"},
    {"transpose-folding", FoldTransposes, "dots read transposed operands in place"},
    {"constant-folding", FoldConstants, "what depends on constants only is computed once, here"},
    {"computation-deduplication", DeduplicateComputations, "equal reducers become one, so that equal reductions do"},
    {"common-subexpressions", EliminateCommonSubexpressions, "equal things are computed once"},
    {"barrier-removal", RemoveBarriers, "barriers have done their work once everything is simplified"},
    {"reshape-to-bitcast", ReshapesToBitcasts, "reshapes of row-major arrays move nothing: fusion sees through them"},
};

// Repeated until a whole round changes nothing.
constexpr std::string_view kSimplify[] = {
    "tuple-simplifier",
    "conditional-simplifier",
    "while-simplifier",
    "while-invariant-motion",
    "algebraic-simplifier",
    "gather-simplifier",
    "sort-to-top-k",
    "convolution-canonicalizer",
    "convert-mover",
    "reshape-mover",
    "transpose-folding",
    "constant-folding",
    "computation-deduplication",
    "common-subexpressions",
    "dead-code",
};

constexpr std::string_view kDefault[] = {
    "call-inliner",  // first: every later pass sees whole programs
    "dead-code",     // bodies of what was inlined
    "bitcast-to-reshape", "copy-removal",         "batch-norm-expander", "map-inliner", "zero-sized",
    "simplify",           "barrier-removal",
    "complex-expander",  // once dots have taken transposes in
    "convolution-layout", "convolution-to-dot", "dot-dimension-merger",
    "simplify",  // across the barriers
    "reshape-to-bitcast",
};

// Rounds of `simplify`. Each one only starts if the one before changed something; real programs need about four.
constexpr int kRounds = 16;

const Pass* FindPass(std::string_view name) {
  const auto* it = std::find_if(std::begin(kPasses), std::end(kPasses), [&](const Pass& p) { return p.name == name; });
  return it == std::end(kPasses) ? nullptr : it;
}

class Run {
 public:
  Run(Module& module, const PassOptions& options) : module_(module), options_(options) {}

  absl::StatusOr<bool> ByName(std::string_view name) {
    if (name == "default") return All(kDefault);
    if (name == "simplify") {
      bool changed = false;
      for (int round = 0; round < kRounds; ++round) {
        const absl::StatusOr<bool> again = All(kSimplify);
        if (!again.ok() || !*again) return again.ok() ? changed : again;
        changed = true;
      }
      return changed;
    }
    return One(*FindPass(name));
  }

 private:
  absl::StatusOr<bool> All(absl::Span<const std::string_view> names) {
    bool changed = false;
    for (std::string_view name : names) {
      const absl::StatusOr<bool> result = ByName(name);
      if (!result.ok()) return result;
      changed |= *result;
    }
    return changed;
  }

  absl::StatusOr<bool> One(const Pass& pass) {
    absl::StatusOr<bool> changed = pass.run(module_);
    if (!changed.ok()) {
      return absl::Status(changed.status().code(), StrCat("pass ", pass.name, ": ", changed.status().message()));
    }
    if (*changed && options_.dump) {
      if (absl::Status status = options_.dump(pass.name, module_); !status.ok()) return status;
    }
    return changed;
  }

  Module& module_;
  const PassOptions& options_;
};

}  // namespace

absl::Span<const Pass> Passes() { return kPasses; }

std::vector<std::string> DefaultPasses() { return {std::begin(kDefault), std::end(kDefault)}; }

absl::StatusOr<bool> RunPasses(Module& module, absl::Span<const std::string> names, const PassOptions& options) {
  for (const std::string& name : names) {
    if (name == "default" || name == "simplify" || FindPass(name) != nullptr) continue;
    return absl::InvalidArgumentError(
        StrCat("unknown pass `", name, "`; the passes are default, simplify, ",
               absl::StrJoin(kPasses, ", ", [](std::string* out, const Pass& pass) { out->append(pass.name); })));
  }
  if (module.entry() == nullptr) return absl::InvalidArgumentError("passes: the module has no entry computation");
  if (options.dump) {
    if (absl::Status status = options.dump("", module); !status.ok()) return status;
  }
  Run run(module, options);
  bool changed = false;
  for (const std::string& name : names) {
    const absl::StatusOr<bool> result = run.ByName(name);
    if (!result.ok()) return result;
    changed |= *result;
  }
  if (changed) {
    // The order of execution that the text gave is that of the instructions before.
    std::erase_if(module.raw_attributes(),
                  [](const RawAttribute& attribute) { return attribute.name == "is_scheduled"; });
  }
  return changed;
}

}  // namespace smelt::hlo
