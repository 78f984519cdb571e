// The TFRecord framing of one file: length (8 bytes), masked CRC-32C of it, data, masked CRC-32C of the data; little
// endian.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace smelt::gnn {

// Longer records are taken for corruption: a kernel's text with its measurements stays far below.
inline constexpr uint64_t kRecordLimitBytes = uint64_t{256} << 20;

enum class RecordResult {
  kRecord,
  kEnd,   // exactly at the end of the file
  kTorn,  // the file ends inside a record: what a kill or a full disk leaves
};

class RecordReader {
 public:
  static absl::StatusOr<std::unique_ptr<RecordReader>> Open(const std::string& path);
  ~RecordReader();
  // Corruption that is not a torn tail (a checksum that does not match with data after it) is an error naming file and
  // offset, and so is a part of the file that cannot be read (Unavailable).
  absl::StatusOr<RecordResult> Next(std::string* record);
  // Where the last whole record ended.
  uint64_t good_offset() const { return good_offset_; }
  uint64_t file_size() const { return file_size_; }

 private:
  RecordReader(std::string path, std::FILE* file, uint64_t size)
      : path_(std::move(path)), file_(file), file_size_(size) {}
  std::string path_;
  std::FILE* file_;
  uint64_t file_size_;
  uint64_t good_offset_ = 0;
};

// Appends to a file, whole record by whole record.
class RecordWriter {
 public:
  // Continues an existing file at `offset` (what follows is cut off), or makes a new one.
  static absl::StatusOr<std::unique_ptr<RecordWriter>> Open(const std::string& path, uint64_t offset);
  ~RecordWriter();
  // Written and handed to the system before it returns. On error (a full disk) the file is cut back to the last whole
  // record.
  absl::Status Append(std::string_view record);

 private:
  RecordWriter(std::string path, int descriptor, uint64_t offset)
      : path_(std::move(path)), descriptor_(descriptor), offset_(offset) {}
  std::string path_;
  int descriptor_;
  uint64_t offset_;
};

}  // namespace smelt::gnn
