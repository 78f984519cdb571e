// Tables as comma-separated values (RFC 4180): fields with commas, quotes or line breaks stand in quotes, and a quote
// in them twice.
//
//   CsvReader reader(std::cin, "times.csv");
//   std::vector<std::string> row;
//   while (reader.Next(&row).value()) std::cout << row.size();
//
// Streams: a row at a time.
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace smelt::gnn {

class CsvReader {
 public:
  CsvReader(std::istream& in, std::string name) : in_(in), name_(std::move(name)) {}
  // The next row that is not empty; false at the end. InvalidArgument names file and line: a quote that is not closed,
  // text behind one, a field beyond 64 MiB.
  absl::StatusOr<bool> Next(std::vector<std::string>* row);
  // Where the last row began, from 1.
  int64_t line() const { return row_line_; }
  absl::Status Wrong(std::string_view what) const;  // as an error of that row

 private:
  std::istream& in_;
  const std::string name_;
  int64_t line_ = 1, row_line_ = 1;
};

// A row with its line break.
std::string CsvRow(const std::vector<std::string>& fields);

}  // namespace smelt::gnn
