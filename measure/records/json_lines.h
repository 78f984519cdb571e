// Records as JSON lines, for other tools and other stores: our own form, and the log of AutoTVM.
//
//   std::string line = ToJsonLine(record);
//   Record same = FromJsonLine(line).value();
//
// docs/formats.md lists the fields of both.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "measure/records/records.h"

namespace smelt::measure {

std::string ToJsonLine(const Record& record);

// Reads either form: a line with `input`, `config` and `result` is AutoTVM's (version 0.2), of whose kind the record is
// then ("autotvm"). InvalidArgument naming the field that is missing or of another type.
absl::StatusOr<Record> FromJsonLine(std::string_view line);

// A line that AutoTVM's own tools read: a record that came from such a line as it was, but for spaces and the digits of
// numbers; one of a schedule of ours with its knobs as entities. InvalidArgument: records of other kinds have no
// configuration.
absl::StatusOr<std::string> ToAutoTvmLine(const Record& record);

}  // namespace smelt::measure
