#include "gnn/labels/statistics.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

#include "base/status_macros.h"
#include "gnn/corpus/corpus.h"
#include "gnn/dataset/kernel_kind.h"
#include "gnn/eval/evaluate.h"
#include "gnn/eval/metrics.h"
#include "hlo/text/parser.h"

namespace smelt::gnn {
namespace {

Hash128 KeyOf(const KernelExample& example, const Measurement& measurement) {
  Hasher hasher;
  hasher.Add(example.hash);
  if (!measurement.default_tile) hasher.Add(measurement.tile.ToString());
  return hasher.Finish();
}

double SpreadOf(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2] / seconds[0] - 1;
}

std::string KindOf(const KernelExample& example) {
  const absl::StatusOr<std::unique_ptr<hlo::Module>> module =
      hlo::ParseModule(example.kernel_text, {.file_name = example.program});
  return module.ok() ? KernelKind(*(*module)->entry()) : "unreadable";
}

struct Pairs {
  std::vector<double> one, other, differences;
  std::map<std::string, std::pair<std::vector<double>, std::vector<double>>> programs;
};

AgreementOf Summarise(Pairs pairs) {
  AgreementOf result;
  result.kernels = static_cast<int64_t>(pairs.one.size());
  if (pairs.one.empty()) return result;
  std::sort(pairs.differences.begin(), pairs.differences.end());
  result.median_difference = Median(pairs.differences);
  result.ninetieth = pairs.differences[std::min(pairs.differences.size() - 1, pairs.differences.size() * 9 / 10)];
  const auto far = std::upper_bound(pairs.differences.begin(), pairs.differences.end(), 0.1);
  result.far = static_cast<double>(pairs.differences.end() - far) / static_cast<double>(pairs.differences.size());
  std::vector<double> errors, taus;
  for (const auto& [program, both] : pairs.programs) {
    errors.push_back(MeanAbsolutePercentageError(both.first, both.second));
    if (both.first.size() > 1) taus.push_back(KendallTau(both.first, both.second));
  }
  result.mape = Median(errors);
  result.tau = Median(taus);
  return result;
}

// `label`: of the visits to one entry in each labeling; 0: it has none.
Agreement CompareBy(const CorpusStatistics& one,
                    const std::function<std::pair<double, double>(const Hash128&, const std::vector<Visit>&)>& labels) {
  Pairs large, small;
  for (const auto& [key, visits] : one.labels) {
    const auto [a, b] = labels(key, visits);
    if (!(a > 0) || !(b > 0)) continue;
    Pairs& pairs = std::max(a, b) >= kLargeKernelSeconds ? large : small;
    pairs.one.push_back(a);
    pairs.other.push_back(b);
    pairs.differences.push_back(std::fabs(a - b) / std::min(a, b));
    auto& program = pairs.programs[one.program_of.at(key)];
    program.first.push_back(a);
    program.second.push_back(b);
  }
  return {Summarise(std::move(large)), Summarise(std::move(small))};
}

}  // namespace

absl::StatusOr<CorpusStatistics> ReadStatistics(const std::string& folder, bool kinds) {
  CorpusStatistics result;
  result.folder = folder;
  absl::flat_hash_map<Hash128, int32_t> visits;
  std::vector<double> spreads;
  std::vector<std::pair<Hash128, bool>> defaults;
  const auto visit = [&](const KernelExample& example) {
    ++result.records;
    ++result.programs[example.program];
    ++result.targets[example.target];
    ++result.compilers[example.compiler];
    ++result.provenances[example.provenance.substr(0, example.provenance.find(':'))];
    result.unsteady += std::fabs(example.drift) > kSteadyDrift;
    int32_t& times = visits[example.hash];
    if (++times == 1 && kinds) ++result.kinds[KindOf(example)];
    result.revisited += times == 2;
    for (const Measurement& m : example.measurements) {
      if (m.label() <= 0) {
        ++result.failed;
        continue;
      }
      ++result.timed;
      result.tiles += !m.default_tile && !m.tile.extents.empty();
      spreads.push_back(SpreadOf(m.seconds));
      const Hash128 key = KeyOf(example, m);
      result.labels[key].push_back({m.label(), example.drift});
      if (result.program_of.emplace(key, example.program).second)
        defaults.push_back({key, m.default_tile || m.tile.extents.empty()});
    }
    return absl::OkStatus();
  };
  SMELT_ASSIGN_OR_RETURN(CorpusReport report, ReadCorpus(folder, visit));
  result.warnings = std::move(report.warnings);
  result.kernels = static_cast<int64_t>(visits.size());
  result.repeat_noise = Median(std::move(spreads));
  for (const auto& [key, is_default] : defaults) {
    if (is_default) result.seconds.push_back(LabelOf(result.labels.at(key)));
  }
  std::sort(result.seconds.begin(), result.seconds.end());
  return result;
}

Agreement Compare(const CorpusStatistics& one, const CorpusStatistics& other) {
  return CompareBy(one, [&](const Hash128& key, const std::vector<Visit>& visits) -> std::pair<double, double> {
    const auto found = other.labels.find(key);
    if (found == other.labels.end()) return {0, 0};
    return {LabelOf(visits), LabelOf(found->second)};
  });
}

Agreement CompareVisits(const CorpusStatistics& corpus) {
  return CompareBy(corpus, [](const Hash128&, const std::vector<Visit>& visits) -> std::pair<double, double> {
    if (visits.size() < 2) return {0, 0};
    return {visits[0].seconds, visits[1].seconds};
  });
}

}  // namespace smelt::gnn
