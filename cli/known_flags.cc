#include "cli/known_flags.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/verb.h"
#include "hlo/file/read.h"
#include "hlo/known/known_parameters.h"

namespace smelt::cli {

void AddKnownFlags(Arguments& arguments, KnownFlags* flags) {
  arguments
      .Add("--constant", flags->constants,
           "Parameters that keep their values from run to run, by name or number, or all-but:x,y: what follows "
           "from them alone is computed once")
      .SplitAt(',');
  arguments.Add("--weights", flags->weights,
                "Safetensors file with values of such parameters, as in.K or by the parameters' names");
}

std::vector<hlo::Literal> KnownInputs::WithWeights(std::vector<hlo::Literal> inputs) const {
  for (const auto& [number, value] : weights) inputs[number] = value;
  return inputs;
}

absl::StatusOr<std::vector<hlo::Literal>> KnownInputs::MainInputs(const std::vector<hlo::Literal>& inputs) const {
  return program.split.MainInputs(inputs);
}

absl::StatusOr<KnownInputs> ReadKnown(const KnownFlags& flags, const std::string& path) {
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<hlo::Module> module, hlo::ReadModuleFile(path));
  KnownInputs known;
  SMELT_ASSIGN_OR_RETURN(std::set<int64_t> numbers, hlo::ReadKnownParameters(*module, flags.constants));
  if (!flags.weights.empty()) {
    SMELT_ASSIGN_OR_RETURN(known.weights, hlo::quantize::ReadWeights(flags.weights, *module));
    for (const auto& [number, value] : known.weights) numbers.insert(number);
  }
  SMELT_ASSIGN_OR_RETURN(known.program, targets::PrepareKnownProgram(std::move(module), numbers));
  return known;
}

absl::Status CheckKnown(const KnownFlags& flags, const machine::TargetId& id, const std::string& fusion) {
  if (!flags.given()) return absl::OkStatus();
  if (id.kind != "cpu") {
    return UsageError(
        absl::StrCat("--constant and --weights are for --target=cpu: programs of ", id.kind, " take all their inputs"));
  }
  if (fusion == "given") {
    return UsageError(
        "--fusion=given is of the module as it came, which --constant and --weights take apart; name another");
  }
  return absl::OkStatus();
}

}  // namespace smelt::cli
