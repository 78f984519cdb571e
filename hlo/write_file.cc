#include "hlo/write_file.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "hlo/str_cat.h"

namespace smelt {
namespace {

std::atomic<const char*> unfinished{nullptr};

}  // namespace

UnfinishedFile::UnfinishedFile(const std::string& path) { unfinished = path.c_str(); }
UnfinishedFile::~UnfinishedFile() { unfinished = nullptr; }

void RemoveUnfinishedFile() {
  if (const char* path = unfinished.exchange(nullptr)) unlink(path);
}

absl::Status WriteFile(const std::string& path, std::string_view bytes) {
  const std::string temporary = StrCat(path, ".", static_cast<int64_t>(getpid()), ".tmp");
  const UnfinishedFile unfinished_file(temporary);
  const auto failed = [&](std::string_view what) {
    const int error = errno;
    std::remove(temporary.c_str());
    return absl::UnavailableError(StrCat(path, ": cannot ", what, ": ", std::string(std::strerror(error))));
  };
  std::FILE* file = std::fopen(temporary.c_str(), "wb");
  if (file == nullptr) return failed("be created");
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size() && std::fflush(file) == 0 &&
                       fsync(fileno(file)) == 0;
  if (!written) {
    const absl::Status status = failed("be written");
    std::fclose(file);
    return status;
  }
  if (std::fclose(file) != 0) return failed("be written");
  if (std::rename(temporary.c_str(), path.c_str()) != 0) return failed("be replaced");
  return absl::OkStatus();
}

}  // namespace smelt
