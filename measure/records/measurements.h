// Measurements that are made once: found in the records, else made now, counted and kept.
//
//   Measurements measurements(Records::Open("run/records.db").value(),
//                             {.name = "model.hlo", .spent = [&] { return runner.hardware_seconds(); }});
//   const auto measure = [&](Record* record) {
//     record->outcome = runner.TimeKernel(kernel, "1x8x32").outcome;
//     return absl::OkStatus();
//   };
//   auto got = measurements.Get({{.subject = kernel.hash.ToHex()}, "kernel", kernel.name}, measure).value();
//   if (got.record.outcome.ok() && got.known) return absl::OkStatus();
//
// The only copy of the rules on what is recorded, what counts as whose time, and when a run gives up. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "measure/records/records.h"

namespace smelt::measure {

class Measurements {
 public:
  struct Options {
    std::string name;                                  // of what is measured, in errors
    std::function<double()> spent;                     // seconds of trials of this process so far; may be empty
    std::function<void(const std::string&)> log = {};  // a line for each failure
  };
  Measurements(std::unique_ptr<Records> records, Options options)
      : records_(std::move(records)), options_(std::move(options)) {}

  struct Got {
    Record record;
    bool known = false;  // it was not measured now
  };
  // Fills outcome and kernels of a record. An error of it is Get's, and then nothing is recorded or counted.
  using Measure = absl::FunctionRef<absl::Status(Record*)>;
  // Looks at an outcome, known or new, and returns whether it changed it: then the record is kept anew. An error of it
  // is Get's, and then nothing is recorded.
  using Check = absl::FunctionRef<absl::StatusOr<bool>(Record*)>;
  enum class Failures : uint8_t {
    kFinal,        // a failure that is recorded is the answer
    kMeasureAgain  // it is not: where a folder would never get over it
  };

  // `wanted` has the key, and what else is recorded with it. An outcome is kept unless nothing became known by it
  // (IsLasting): then the next run measures it again. Errors: those of `measure`, of `check` and of the records;
  // Unavailable after several measurements in a row that gave nothing.
  absl::StatusOr<Got> Get(const Record& wanted, Measure measure, Failures failures = Failures::kFinal);
  absl::StatusOr<Got> Get(const Record& wanted, Measure measure, Check check, Failures failures = Failures::kFinal);

  // Counted for one kind of record (Record::kind).
  struct Counts {
    int64_t measured = 0;  // now
    int64_t known = 0;     // from earlier runs; asked for again, it counts once
    int64_t failed = 0;    // of both
  };
  Counts counts(const std::string& kind) const;
  // Seconds that earlier runs spent on what this one asked for.
  double known_seconds() const { return known_seconds_; }

 private:
  absl::Status Keep(const Record& record);

  std::unique_ptr<Records> records_;
  const Options options_;
  std::map<std::string, Counts> counts_;
  std::set<std::string> seen_;  // subjects of this run
  double known_seconds_ = 0;
  int faults_ = 0;  // of the environment, one after the other
};

}  // namespace smelt::measure
