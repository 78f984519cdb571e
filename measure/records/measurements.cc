#include "measure/records/measurements.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace smelt::measure {

absl::StatusOr<Measurements::Got> Measurements::Get(const Record& wanted, Measure measure, Failures failures) {
  return Get(
      wanted, measure, [](Record*) { return false; }, failures);
}

absl::StatusOr<Measurements::Got> Measurements::Get(const Record& wanted, Measure measure, Check check,
                                                    Failures failures) {
  Counts& counts = counts_[wanted.kind];
  SMELT_ASSIGN_OR_RETURN(std::optional<Record> found, records_->Find(wanted.key));
  if (found && !found->outcome.ok() && failures == Failures::kMeasureAgain) found.reset();
  const bool known = found.has_value();
  Record record = known ? *std::move(found) : wanted;
  if (known) {
    // What this run measured itself counts already.
    if (seen_.insert(wanted.key.subject).second) {
      known_seconds_ += record.hardware_seconds;
      ++counts.known;
    }
  } else {
    const double before = options_.spent ? options_.spent() : 0;
    SMELT_RETURN_IF_ERROR(measure(&record));
    record.hardware_seconds = (options_.spent ? options_.spent() : 0) - before;
    seen_.insert(wanted.key.subject);
    ++counts.measured;
  }
  SMELT_ASSIGN_OR_RETURN(const bool changed, check(&record));
  if (changed || !known) SMELT_RETURN_IF_ERROR(Keep(record));
  counts.failed += !record.outcome.ok();
  return Got{std::move(record), known};
}

absl::Status Measurements::Keep(const Record& record) {
  // The next trials will fare no better after so many of which nothing became known.
  constexpr int kMostFaults = 5;
  const Outcome& outcome = record.outcome;
  if (IsLasting(outcome.failure)) SMELT_RETURN_IF_ERROR(records_->Add(record));
  if (!outcome.ok() && options_.log) {
    options_.log(absl::StrCat("trial ", record.key.subject, " of ", record.description, ": ",
                              std::string(FailureName(outcome.failure)), ": ", outcome.message,
                              IsLasting(outcome.failure) ? "" : "; not recorded"));
  }
  faults_ = outcome.failure == Failure::kEnvironment ? faults_ + 1 : 0;
  if (faults_ < kMostFaults) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(options_.name, ": ", kMostFaults,
                                             " measurements one after the other gave nothing, the last for this: ",
                                             outcome.message, ". The same command goes on from here"));
}

Measurements::Counts Measurements::counts(const std::string& kind) const {
  const auto found = counts_.find(kind);
  return found == counts_.end() ? Counts() : found->second;
}

}  // namespace smelt::measure
