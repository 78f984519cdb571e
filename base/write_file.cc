#include "base/write_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/status_macros.h"
#include "base/str_cat.h"

namespace smelt {
namespace {

std::atomic<const char*> unfinished{nullptr};
std::atomic<int64_t> serial{0};  // threads write at the same time

// Again as long as a signal interrupts it.
template <typename Call>
auto Uninterrupted(const Call& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

}  // namespace

NewFile::NewFile(const std::string& path)
    : path_(path), temporary_(StrCat(path, ".", static_cast<int64_t>(getpid()), ".", serial++, ".tmp")) {}

absl::StatusOr<std::unique_ptr<NewFile>> NewFile::Create(const std::string& path) {
  std::unique_ptr<NewFile> file(new NewFile(path));
  const char* name = file->temporary_.c_str();
  file->descriptor_ = Uninterrupted([&] { return open(name, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0666); });
  if (file->descriptor_ < 0) return file->Failed("be created");
  unfinished = name;
  return file;
}

NewFile::~NewFile() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  unlink(temporary_.c_str());
  const char* name = temporary_.c_str();
  unfinished.compare_exchange_strong(name, nullptr);
}

absl::Status NewFile::Failed(std::string_view what) const {
  return absl::UnavailableError(StrCat(path_, ": cannot ", what, ": ", std::string(std::strerror(errno))));
}

absl::Status NewFile::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = Uninterrupted([&] { return write(descriptor_, bytes.data(), bytes.size()); });
    if (n == 0) errno = ENOSPC;
    if (n <= 0) return Failed("be written");
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

absl::Status NewFile::Finish(bool durable) {
  if (durable && Uninterrupted([&] { return fsync(descriptor_); }) != 0) return Failed("be written");
  const int descriptor = std::exchange(descriptor_, -1);
  absl::Status finished;
  if (close(descriptor) != 0 && errno != EINTR) {
    finished = Failed("be written");
  } else if (std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    finished = Failed("be replaced");
  }
  if (!finished.ok()) unlink(temporary_.c_str());
  const char* name = temporary_.c_str();
  unfinished.compare_exchange_strong(name, nullptr);
  return finished;
}

void RemoveUnfinishedFile() {
  if (const char* path = unfinished.exchange(nullptr)) unlink(path);
}

absl::Status WriteFile(const std::string& path, std::string_view bytes) {
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<NewFile> file, NewFile::Create(path));
  SMELT_RETURN_IF_ERROR(file->Write(bytes));
  return file->Finish();
}

}  // namespace smelt
