#include "cli/split.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/target.h"
#include "cli/verb.h"
#include "targets/registry.h"

namespace smelt::cli {

absl::StatusOr<gnn::SplitOptions> ReadSplit(double validation, double test, uint64_t seed,
                                            const std::string& test_programs_file) {
  gnn::SplitOptions options{validation, test, seed, {}};
  if (test_programs_file.empty()) return options;
  std::ifstream file(test_programs_file);
  if (!file) return absl::NotFoundError(absl::StrCat(test_programs_file, ": cannot be opened: ", std::strerror(errno)));
  std::string line;
  while (std::getline(file, line)) {
    if (!line.empty() && line[0] != '#') options.test_programs.push_back(line);
  }
  if (options.test_programs.empty())
    return absl::InvalidArgumentError(absl::StrCat(test_programs_file, ": names no program; expected one a line"));
  return options;
}

absl::StatusOr<gnn::KernelEstimate> FeatureTarget::EstimateOf(const machine::TargetId& told) const {
  const bool names_all = id.kind != "cpu";
  if (names_all && !id.Agrees(told)) {
    return UsageError(
        absl::StrCat("--target=", id.ToString(), ": the corpus was measured for `", told.ToString(), "`"));
  }
  const machine::TargetId& measured = names_all || told.kind.empty() ? asked : told;
  const auto kind = targets::Kinds().find(measured.kind);
  if (kind == targets::Kinds().end() || kind->second.estimate == nullptr) return gnn::KernelEstimate();
  absl::StatusOr<gnn::KernelEstimate> estimate = kind->second.estimate(measured);
  if (estimate.ok() || names_all) return estimate;
  return UsageError(absl::StrCat("the corpus was measured for ", estimate.status().message(),
                                 "; --target=", measured.kind, ":FILE says where it is described"));
}

absl::StatusOr<FeatureTarget> ReadFeatureTarget(const std::string& words) {
  const absl::StatusOr<machine::TargetId> id = targets::ReadTargetId(words);
  if (!id.ok() || id->kind == "cpu") {
    SMELT_ASSIGN_OR_RETURN(const cpu::Target processor, ReadProcessor(words));
    return FeatureTarget{{}, machine::TargetId::Parse(processor.ToString()), processor};
  }
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<targets::Target> target, targets::Open(*id, {}));
  return FeatureTarget{*id, target->id(), target->machine()};
}

}  // namespace smelt::cli
