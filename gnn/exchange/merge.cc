#include "gnn/exchange/merge.h"

#include <filesystem>
#include <memory>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "gnn/corpus/corpus.h"
#include "gnn/dataset/dataset.h"
#include "machine/target_id.h"

namespace smelt::gnn {
namespace {

namespace fs = std::filesystem;

Hash128 Identity(const KernelExample& example) {
  Hasher hasher;
  hasher.Add(example.program).Add(example.kernel_text).Add(example.target).Add(example.device).Add(example.policy);
  hasher.Add(example.compiler).Add(example.placement).Add(example.unix_seconds);
  for (const int64_t bytes : example.distances) hasher.Add(bytes);
  for (const Measurement& m : example.measurements) {
    hasher.Add(m.tile.ToString()).Add(m.error);
    for (const double seconds : m.seconds)
      hasher.Add(std::string_view(reinterpret_cast<const char*>(&seconds), sizeof(seconds)));
  }
  return hasher.Finish();
}

bool IsEmptyOrAbsent(const std::string& folder) {
  std::error_code error;
  return !fs::exists(folder, error) || fs::is_empty(folder, error);
}

}  // namespace

absl::StatusOr<MergeReport> MergeCorpora(const std::vector<std::string>& inputs, const std::string& output) {
  if (inputs.empty()) return absl::InvalidArgumentError("no corpus to merge is named");
  for (const std::string& input : inputs) {
    std::error_code error;
    if (fs::equivalent(input, output, error))
      return absl::InvalidArgumentError(absl::StrCat(input, ": is what the others are merged into; name it once"));
  }
  MergeReport report;
  absl::flat_hash_set<Hash128> there;
  machine::TargetId target;
  const auto check = [&](const std::string& folder, const KernelExample& example) -> absl::Status {
    const machine::TargetId other = machine::TargetId::Parse(example.target);
    if (target.kind.empty()) target = other;
    if (target.Agrees(other)) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(folder, ": was measured for `", other.ToString(),
                                                   "`, and the others for `", target.ToString(),
                                                   "`; a corpus is of one target"));
  };
  if (!IsEmptyOrAbsent(output)) {
    const auto known = [&](const KernelExample& example) {
      there.insert(Identity(example));
      return check(output, example);
    };
    SMELT_RETURN_IF_ERROR(ReadCorpus(output, known).status());
  }
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<CorpusWriter> writer, CorpusWriter::Open(output));
  for (const std::string& input : inputs) {
    const auto visit = [&](const KernelExample& example) -> absl::Status {
      SMELT_RETURN_IF_ERROR(check(input, example));
      if (!there.insert(Identity(example)).second) {
        ++report.equal;
        return absl::OkStatus();
      }
      ++report.records;
      return writer->Append(example);
    };
    SMELT_ASSIGN_OR_RETURN(CorpusReport read, ReadCorpus(input, visit));
    report.warnings.insert(report.warnings.end(), read.warnings.begin(), read.warnings.end());
  }
  return report;
}

absl::StatusOr<SplitReport> SplitCorpus(const std::string& input,
                                        const std::vector<std::pair<std::string, double>>& parts, uint64_t seed) {
  double total = 0;
  for (const auto& [folder, share] : parts) {
    if (!(share > 0))
      return absl::InvalidArgumentError(absl::StrCat(folder, ": a share of ", share, " is not above 0"));
    if (!IsEmptyOrAbsent(folder))
      return absl::InvalidArgumentError(absl::StrCat(folder, ": is not empty; a part is a folder of its own"));
    total += share;
  }
  constexpr double kRounding = 1e-9;
  if (parts.empty() || total > 1 + kRounding)
    return absl::InvalidArgumentError(absl::StrCat("the shares of the parts come to ", total, ", expected at most 1"));
  SplitReport report;
  report.records.resize(parts.size());
  std::vector<std::unique_ptr<CorpusWriter>> writers;
  for (const auto& [folder, share] : parts) {
    SMELT_ASSIGN_OR_RETURN(writers.emplace_back(), CorpusWriter::Open(folder));
  }
  const auto visit = [&](const KernelExample& example) -> absl::Status {
    const double position = ProgramPosition(example.program, seed);
    double end = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      end += parts[i].second;
      const bool takes_the_rest = i + 1 == parts.size() && total > 1 - kRounding;
      if (position >= end && !takes_the_rest) continue;
      ++report.records[i];
      return writers[i]->Append(example);
    }
    return absl::OkStatus();
  };
  SMELT_ASSIGN_OR_RETURN(CorpusReport read, ReadCorpus(input, visit));
  report.warnings = std::move(read.warnings);
  return report;
}

}  // namespace smelt::gnn
