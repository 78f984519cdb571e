// Several corpora as one, and one as several.
//
//   MergeReport report = MergeCorpora({"corpus-0", "corpus-1"}, "corpus").value();
//   SplitReport parts = SplitCorpus("corpus", {{"corpus/train", 0.9}, {"corpus/test", 0.1}}, 1).value();
//
// Both stream: what is kept of a record are sixteen bytes.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace smelt::gnn {

struct MergeReport {
  int64_t records = 0;                // written
  int64_t equal = 0;                  // that were there already, byte by byte
  std::vector<std::string> warnings;  // torn tails
};
// Appends the records of all `inputs`, in order, to `output`, each distinct one once: a merge that was interrupted goes
// on when it is asked for again. Records of one kernel that differ are visits, and all stay. InvalidArgument: no input,
// an input that is the output, or targets that differ.
absl::StatusOr<MergeReport> MergeCorpora(const std::vector<std::string>& inputs, const std::string& output);

struct SplitReport {
  std::vector<int64_t> records;       // of each part
  std::vector<std::string> warnings;  // torn tails
};
// Programs go to the parts by their shares, each whole, as `train` holds them out: a program's part depends on its name
// and the seed alone. InvalidArgument: a share that is not above 0, shares beyond 1 in all, or a part that is not
// empty. What is left of 1 is in no part.
absl::StatusOr<SplitReport> SplitCorpus(const std::string& input,
                                        const std::vector<std::pair<std::string, double>>& parts, uint64_t seed);

}  // namespace smelt::gnn
