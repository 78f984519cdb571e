// A network that was trained before a column was added, as one of today's columns: what it does not know has no weight
// in it, so that every prediction stays as it was.
//
//   SMELT_ASSIGN_OR_RETURN(const StoredColumns stored, StoredColumns::Match(names, TileColumns()));
//   SMELT_RETURN_IF_ERROR(stored.Widen(&task.tiles));
//   SMELT_RETURN_IF_ERROR(stored.Widen(&task.weights.at("head.tile")));
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gnn/features/features.h"
#include "gnn/model/model_file.h"

namespace smelt::gnn {

class StoredColumns {
 public:
  // Columns go by their names, the first of a name is the first of it again. FailedPrecondition names a stored one that
  // is not among today's, or more often than there.
  static absl::StatusOr<StoredColumns> Match(const std::vector<std::string>& stored, const std::vector<Column>& today);

  // InvalidArgument where widths are not those of the stored columns.
  absl::Status Widen(Normalizer* normalizer) const;
  absl::Status Widen(WeightTensor* weight) const;  // [outputs, columns]

 private:
  // Values of columns, `count` rows of them, in today's places; 0 elsewhere.
  std::vector<float> Widened(const std::vector<float>& rows, size_t count) const;

  size_t today_ = 0;
  std::vector<size_t> places_;  // of each stored column, among today's
};

}  // namespace smelt::gnn
