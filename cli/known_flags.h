// --constant and --weights: parameters whose values are known before the program runs.
//
//   KnownFlags flags;
//   AddKnownFlags(arguments, &flags);
//   absl::StatusOr<KnownInputs> known = ReadKnown(flags, "model.hlo");
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/words/arguments.h"
#include "hlo/literal.h"
#include "hlo/quantize/weight_parameters.h"
#include "machine/target_id.h"
#include "targets/known_program.h"

namespace smelt::cli {

struct KnownFlags {
  std::string weights;
  std::vector<std::string> constants;
  bool given() const { return !weights.empty() || !constants.empty(); }
};

void AddKnownFlags(Arguments& arguments, KnownFlags* flags);

struct KnownInputs {
  targets::KnownProgram program;
  hlo::quantize::Weights weights;  // values of the file, by parameter number

  // The inputs of the original, with the weights of the file in their places.
  std::vector<hlo::Literal> WithWeights(std::vector<hlo::Literal> inputs) const;
  // Those of the main module.
  absl::StatusOr<std::vector<hlo::Literal>> MainInputs(const std::vector<hlo::Literal>& inputs) const;
};

// The module file, prepared for what the flags say. Errors: those of the files, and of words that name no parameter.
absl::StatusOr<KnownInputs> ReadKnown(const KnownFlags& flags, const std::string& path);

// A usage error where the flags are given and the target, or the fusion, has no use for them.
absl::Status CheckKnown(const KnownFlags& flags, const machine::TargetId& id, const std::string& fusion);

}  // namespace smelt::cli
