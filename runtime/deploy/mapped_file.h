// A file's bytes in memory, mapped and not copied.
//
//   MappedFile file;
//   Status status = MappedFile::Open("module/weights.bin", &file);
//   std::string_view bytes = file.bytes();
#pragma once

#include <string>
#include <string_view>

#include "base/hash.h"
#include "runtime/status.h"

namespace smelt::runtime::deploy {

// Begins at a multiple of a page. A file that shrinks while it is mapped ends the process that reads what was cut off:
// modules are replaced as whole folders.
class MappedFile {
 public:
  // kNotFound, kUnavailable: with the system's reason.
  static Status Open(const std::string& path, MappedFile* file);
  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::string_view bytes() const { return {data_, size_}; }

 private:
  const char* data_ = nullptr;
  size_t size_ = 0;
};

// Whether a file holds what was written: kDataLoss where not.
Status CheckFile(const std::string& path, std::string_view bytes, int64_t expected_bytes, const Hash128& expected);

}  // namespace smelt::runtime::deploy
