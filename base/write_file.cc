#include "base/write_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/status_macros.h"
#include "base/str_cat.h"

namespace smelt {
namespace {

constexpr std::string_view kTemporary = ".tmp";

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
    : path_(path),
      temporary_(StrCat(path, ".", static_cast<int64_t>(getpid()), ".", serial++, std::string(kTemporary))) {}

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

std::string_view FinalName(std::string_view name) {
  if (!name.ends_with(kTemporary)) return name;
  name.remove_suffix(kTemporary.size());
  for (int part = 0; part < 2; ++part) {
    const size_t dot = name.rfind('.');
    if (dot == std::string_view::npos || dot + 1 == name.size() ||
        !std::all_of(name.begin() + static_cast<int64_t>(dot) + 1, name.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; }))
      return {};
    name = name.substr(0, dot);
  }
  return name;
}

void RemoveLeftovers(const std::string& folder) {
  constexpr int64_t kOldSeconds = 60;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    const std::string_view final_name = FinalName(name);
    struct stat status;
    if (final_name.empty() || final_name.size() == name.size() || ::lstat(at->path().c_str(), &status) != 0 ||
        !S_ISREG(status.st_mode) || std::time(nullptr) - status.st_mtim.tv_sec < kOldSeconds)
      continue;
    const auto writer = static_cast<pid_t>(std::strtol(name.c_str() + final_name.size() + 1, nullptr, 10));
    if (writer > 0 && ::kill(writer, 0) != 0 && errno == ESRCH) ::unlink(at->path().c_str());
  }
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
