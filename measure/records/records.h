// Measurements in an SQLite database (WAL): each is committed before the next starts, so that a kill loses at most the
// one in progress.
//
//   auto records = Records::Open("run/records.db").value();
//   SMELT_RETURN_IF_ERROR(records->Add(record));
//   std::optional<Record> known = records->Find(record.key).value();
//
// A record's key names everything that a time depends on, so that a stale one is never used. Several processes may
// write. The only door to SQLite.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "measure/outcome.h"

namespace smelt::measure {

struct RecordKey {
  std::string subject;   // what was timed: kernel hash and tile, or program fingerprint, kernels' hash and tiles
  std::string target;    // TargetId::ToString() (machine/target_id.h)
  std::string device;    // CPU model
  std::string compiler;  // codegen::CompilerVersion()
  std::string policy;    // MeasurePolicy::ToString()
  bool operator==(const RecordKey&) const = default;
};

// A kernel as it ran inside a program.
struct KernelRecord {
  std::string hash;    // 32 hexadecimal digits
  double seconds = 0;  // of one execution
  int64_t executions = 0;
};

struct Record {
  RecordKey key;
  std::string kind;              // "program" or "kernel"
  std::string description;       // for people: the configuration's decisions as bits, or the tile
  double predicted_seconds = 0;  // 0: not predicted
  Outcome outcome;
  std::vector<KernelRecord> kernels;  // of a program, where they were timed one by one
  double hardware_seconds = 0;        // that the trial took, compilation included: what a budget counts
  int64_t unix_seconds = 0;           // when; 0: Add fills it in
};

class Records {
 public:
  virtual ~Records() = default;
  // Makes the file, or opens it and brings an older schema up to date. One that was cut short while it was made is a
  // new one (what there is of it becomes NAME.cut); a newer schema, a damaged or a foreign file is an error that says
  // so.
  static absl::StatusOr<std::unique_ptr<Records>> Open(const std::string& path);

  virtual absl::Status Add(const Record& record) = 0;
  // The latest record of a key, but for those of which nothing is known (kEnvironment): older versions wrote such.
  virtual absl::StatusOr<std::optional<Record>> Find(const RecordKey& key) = 0;
  // Gives all in order of insertion.
  absl::StatusOr<std::vector<Record>> All() {
    int64_t none = 0;
    return Newer(&none);
  }
  // Those that came after the one with the number `*last`, in order; `*last`, 0 at first, becomes the number of the
  // last of them.
  virtual absl::StatusOr<std::vector<Record>> Newer(int64_t* last) = 0;
};

// The CPU's model name as the system gives it.
std::string DeviceName();

}  // namespace smelt::measure
