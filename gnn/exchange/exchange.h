// Corpora from and to tables that anybody can write: a row a timed tile, a header row with the names of the columns.
//
//   ImportReport report = ImportCsv("times.csv", {.target = "chip"}, "corpus").value();
//   ExportCsv("corpus", "again.csv").ok();
//
// Columns, in any order; those without an asterisk may be left out:
//
//   kernel*     HLO text of one fused computation, or @FILE, a path beside the table (hlo/file: text, proto, .gz, .zst)
//   seconds*    samples of one execution, separated by spaces; empty where `error` says why there are none
//   program     what it was cut from: splits are by program. By default the file of the kernel, or the table's name
//   tile        extents joined by x; empty: the default
//   default     1: it is the tile that the compiler takes by itself; by default where `tile` is empty
//   distances   bytes that its program touches between its uses of each array of the parameters, then of the results,
//               separated by spaces (fusion/kernel.h); empty: all are near
//   error, target, device, policy, compiler, machine, provenance, unix_seconds, placement, drift, reference_seconds,
//   trace, hash    as in a record (corpus/corpus.h); a hash that is given is not looked at
//
// Rows one after the other with equal program, kernel, distances, target, device and placement become one record. Both
// stream: a record at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace smelt::gnn {

struct ImportOptions {
  std::string target;   // of rows that tell none: KIND or KIND:CPU,threads=N
  std::string machine;  // the same: JSON (machine/descriptor.h)
};

struct ImportReport {
  int64_t rows = 0, records = 0;
  std::vector<std::string> refused;  // kernels that are none, with their line: the first ten
  int64_t left_out = 0;              // rows of all that were refused
};

// Appends to the corpus. InvalidArgument: a table that is none, a column that is unknown, twice or missing, a value
// that is no number, a machine that is none. Rows whose kernel cannot be read are left out, and counted.
absl::StatusOr<ImportReport> ImportCsv(const std::string& path, const ImportOptions& options,
                                       const std::string& corpus);
// The same from a corpus whose records have no hash, as a program without Smelt writes it.
absl::StatusOr<ImportReport> ImportRecords(const std::string& folder, const ImportOptions& options,
                                           const std::string& corpus);

// All columns, a row a measurement. Returns the number of rows.
absl::StatusOr<int64_t> ExportCsv(const std::string& corpus, const std::string& path);

}  // namespace smelt::gnn
