// What a corpus holds, and how far two labelings of the same kernels agree: no model can be told to be better than
// that.
//
//   CorpusStatistics all = ReadStatistics("corpus").value();
//   Agreement agreement = Compare(all, ReadStatistics("again").value());
//   std::cout << FormatStatistics(all);
//
// Streams: what is kept of a kernel are its hash and its times.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "base/hash.h"
#include "gnn/corpus/visits.h"
#include "nlohmann/json_fwd.hpp"

namespace smelt::gnn {

// The times of a kernel, or of a tile of it, from all visits. The key is a hash of both.
using Labels = absl::flat_hash_map<Hash128, std::vector<Visit>>;

struct CorpusStatistics {
  std::string folder;
  int64_t records = 0, kernels = 0, timed = 0, failed = 0, tiles = 0;  // visits; hashes; measurements of the rest
  int64_t revisited = 0;                                               // kernels with a second visit
  int64_t unsteady = 0;                                                // visits in a spell, by the reference kernel
  std::map<std::string, int64_t> programs, kinds, targets, provenances, compilers;  // records of each
  std::vector<double> seconds;                                                      // labels of default tiles
  double repeat_noise = 0;  // median of (median - least) / least in a visit
  Labels labels;
  absl::flat_hash_map<Hash128, std::string> program_of;  // by the keys of `labels`
  std::vector<std::string> warnings;
};

// `kinds`: whether each kernel is read to tell its kind, which takes most of the time.
absl::StatusOr<CorpusStatistics> ReadStatistics(const std::string& folder, bool kinds = true);

// What holds for the kernels that take at least, or less than, 5 us (evaluate.h).
struct AgreementOf {
  int64_t kernels = 0;           // in both
  double median_difference = 0;  // of |a - b| over the lesser
  double ninetieth = 0;          // the 90th percentile of the same
  double far = 0;                // share of kernels that are off by more than 10 %
  double mape = 0;               // median over programs of the mean of |a - b| / b: the floor of a model's error
  double tau = 0;                // median over programs: the ceiling of a model's rank correlation
};
struct Agreement {
  AgreementOf large, small;
};
Agreement Compare(const CorpusStatistics& one, const CorpusStatistics& other);
// The first visits to kernels against the second ones; of kernels with both.
Agreement CompareVisits(const CorpusStatistics& corpus);

std::string FormatStatistics(const CorpusStatistics& corpus);
std::string FormatAgreement(const Agreement& agreement, const std::string& title);
nlohmann::json ToJson(const CorpusStatistics& corpus);
nlohmann::json ToJson(const Agreement& agreement);

}  // namespace smelt::gnn
