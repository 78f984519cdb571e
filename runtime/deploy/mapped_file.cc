#include "runtime/deploy/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace smelt::runtime::deploy {

Status MappedFile::Open(const std::string& path, MappedFile* file) {
  const auto failed = [&] {
    const bool missing = errno == ENOENT || errno == ENOTDIR;
    return Failed(missing ? Status::Code::kNotFound : Status::Code::kUnavailable,
                  path + ": cannot be read: " + std::strerror(errno));
  };
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return failed();
  struct stat facts;
  Status status;
  MappedFile mapped;
  if (::fstat(descriptor, &facts) != 0) {
    status = failed();
  } else if (!S_ISREG(facts.st_mode)) {
    status = Failed(Status::Code::kNotFound, path + ": is no file");
  } else if (facts.st_size > 0) {
    void* data = ::mmap(nullptr, static_cast<size_t>(facts.st_size), PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (data == MAP_FAILED) {
      status = failed();
    } else {
      mapped.data_ = static_cast<const char*>(data);
      mapped.size_ = static_cast<size_t>(facts.st_size);
    }
  }
  ::close(descriptor);
  if (status.ok()) *file = std::move(mapped);
  return status;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<char*>(data_), size_);
}

Status CheckFile(const std::string& path, std::string_view bytes, int64_t expected_bytes, const Hash128& expected) {
  if (expected_bytes < 0 || bytes.size() != static_cast<uint64_t>(expected_bytes)) {
    return Failed(Status::Code::kDataLoss, path + ": has " + std::to_string(bytes.size()) + " bytes, the plan says " +
                                               std::to_string(expected_bytes) + ": it was cut off or changed");
  }
  if (HashOf(bytes) != expected)
    return Failed(Status::Code::kDataLoss, path + ": was changed after it was written: its checksum differs");
  return {};
}

}  // namespace smelt::runtime::deploy
