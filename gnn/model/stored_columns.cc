#include "gnn/model/stored_columns.h"

#include "absl/strings/str_cat.h"

namespace smelt::gnn {

absl::StatusOr<StoredColumns> StoredColumns::Match(const std::vector<std::string>& stored,
                                                   const std::vector<Column>& today) {
  StoredColumns columns;
  columns.today_ = today.size();
  std::vector<bool> taken(today.size());
  for (const std::string& name : stored) {
    size_t place = 0;
    while (place < today.size() && (taken[place] || today[place].name != name)) ++place;
    if (place == today.size()) {
      return absl::FailedPreconditionError(
          absl::StrCat("it was trained on a column `", name, "` that this program does not make"));
    }
    taken[place] = true;
    columns.places_.push_back(place);
  }
  return columns;
}

std::vector<float> StoredColumns::Widened(const std::vector<float>& rows, size_t count) const {
  std::vector<float> result(count * today_);
  for (size_t row = 0; row < count; ++row) {
    for (size_t c = 0; c < places_.size(); ++c) result[row * today_ + places_[c]] = rows[row * places_.size() + c];
  }
  return result;
}

absl::Status StoredColumns::Widen(Normalizer* normalizer) const {
  // Where the scale is 0 a value counts nothing.
  for (std::vector<float>* values : {&normalizer->mean, &normalizer->scale, &normalizer->low, &normalizer->high}) {
    if (values->size() != places_.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("a normalisation has ", values->size(), " values for ", places_.size(), " columns"));
    }
    *values = Widened(*values, 1);
  }
  return absl::OkStatus();
}

absl::Status StoredColumns::Widen(WeightTensor* weight) const {
  const size_t columns = places_.size(), outputs = columns == 0 ? 0 : weight->values.size() / columns;
  // Counted by the values: a product of the extents in a file may wrap.
  if (outputs * columns != weight->values.size() ||
      weight->shape != std::vector<int64_t>{static_cast<int64_t>(outputs), static_cast<int64_t>(columns)}) {
    return absl::InvalidArgumentError(absl::StrCat("a weight has not ", columns, " columns"));
  }
  weight->values = Widened(weight->values, outputs);
  weight->shape[1] = static_cast<int64_t>(today_);
  return absl::OkStatus();
}

}  // namespace smelt::gnn
