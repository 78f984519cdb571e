#include "gnn/corpus/record_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "gnn/corpus/crc32c.h"

namespace smelt::gnn {
namespace {

constexpr int kHeaderBytes = 12;
constexpr int kFooterBytes = 4;

template <typename T>
T Read(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

template <typename T>
void Append(std::string* out, T value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(T));
}

}  // namespace

absl::StatusOr<std::unique_ptr<RecordReader>> RecordReader::Open(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return absl::NotFoundError(absl::StrCat(path, ": cannot be opened: ", std::strerror(errno)));
  const long size = std::fseek(file, 0, SEEK_END) == 0 ? std::ftell(file) : -1;
  std::rewind(file);
  if (size < 0) {
    std::fclose(file);
    return absl::InvalidArgumentError(absl::StrCat(path, ": is not a regular file"));
  }
  return std::unique_ptr<RecordReader>(new RecordReader(path, file, static_cast<uint64_t>(size)));
}

RecordReader::~RecordReader() { std::fclose(file_); }

absl::StatusOr<RecordResult> RecordReader::Next(std::string* record) {
  const uint64_t left = file_size_ - good_offset_;
  if (left == 0) return RecordResult::kEnd;
  if (left < kHeaderBytes) return RecordResult::kTorn;
  auto corrupt = [&](std::string_view what) {
    return absl::DataLossError(
        absl::StrCat(path_, ": ", std::string(what), " at byte ", good_offset_,
                     "; the file was changed after it was written. Restore it, or delete it and profile again"));
  };
  // What a disk refuses to read is there all the same: a writer must not take it for a torn tail and cut it off.
  const auto unread = [&]() -> absl::StatusOr<RecordResult> {
    if (std::ferror(file_) == 0) return RecordResult::kTorn;
    return absl::UnavailableError(
        absl::StrCat(path_, ": cannot be read at byte ", good_offset_, ": ", std::strerror(errno)));
  };
  char header[kHeaderBytes];
  if (std::fread(header, 1, kHeaderBytes, file_) != kHeaderBytes) return unread();
  const uint64_t length = Read<uint64_t>(header);
  if (MaskCrc(Crc32c({header, 8})) != Read<uint32_t>(header + 8))
    return corrupt("the checksum of a record's length does not match");
  if (length > kRecordLimitBytes)
    return corrupt(absl::StrCat("a record of ", length, " bytes is longer than any that is written,"));
  if (left < kHeaderBytes + length + kFooterBytes) return RecordResult::kTorn;
  record->resize(length);
  char footer[kFooterBytes];
  if (std::fread(record->data(), 1, length, file_) != length ||
      std::fread(footer, 1, kFooterBytes, file_) != kFooterBytes) {
    return unread();
  }
  if (MaskCrc(Crc32c(*record)) != Read<uint32_t>(footer)) return corrupt("the checksum of a record does not match");
  good_offset_ += kHeaderBytes + length + kFooterBytes;
  return RecordResult::kRecord;
}

absl::StatusOr<std::unique_ptr<RecordWriter>> RecordWriter::Open(const std::string& path, uint64_t offset) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) return absl::UnavailableError(absl::StrCat(path, ": cannot be written: ", std::strerror(errno)));
  if (::ftruncate(descriptor, static_cast<off_t>(offset)) != 0) {
    const std::string why = std::strerror(errno);
    ::close(descriptor);
    return absl::UnavailableError(absl::StrCat(path, ": cannot be cut to its last whole record: ", why));
  }
  return std::unique_ptr<RecordWriter>(new RecordWriter(path, descriptor, offset));
}

RecordWriter::~RecordWriter() { ::close(descriptor_); }

absl::Status RecordWriter::Append(std::string_view record) {
  std::string bytes;
  bytes.reserve(record.size() + kHeaderBytes + kFooterBytes);
  gnn::Append<uint64_t>(&bytes, record.size());
  gnn::Append<uint32_t>(&bytes, MaskCrc(Crc32c({bytes.data(), 8})));
  bytes.append(record);
  gnn::Append<uint32_t>(&bytes, MaskCrc(Crc32c(record)));
  uint64_t written = 0;
  while (written < bytes.size()) {
    const ssize_t n =
        ::pwrite(descriptor_, bytes.data() + written, bytes.size() - written, static_cast<off_t>(offset_ + written));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const std::string why = n < 0 ? std::strerror(errno) : "no progress";
      if (::ftruncate(descriptor_, static_cast<off_t>(offset_)) != 0) {
        // A reader takes the rest for a torn tail.
      }
      return absl::ResourceExhaustedError(
          absl::StrCat(path_, ": cannot be written: ", why, "; what was recorded before is kept"));
    }
    written += static_cast<uint64_t>(n);
  }
  offset_ += bytes.size();
  return absl::OkStatus();
}

}  // namespace smelt::gnn
