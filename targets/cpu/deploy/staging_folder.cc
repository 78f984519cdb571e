#include "targets/cpu/deploy/staging_folder.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "absl/strings/str_cat.h"

namespace smelt::cpu::deploy {
namespace {

namespace fs = std::filesystem;

constexpr char kEnding[] = ".building";

absl::Status Refused(const std::string& path, const char* what) {
  return absl::UnavailableError(absl::StrCat(path, ": cannot ", what, ": ", std::strerror(errno)));
}

// Removes .NAME.PID.building of processes that are gone.
void RemoveLeftovers(const fs::path& parent, const std::string& beginning) {
  std::error_code error;
  for (fs::directory_iterator at(parent, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with(beginning) || !name.ends_with(kEnding)) continue;
    const auto writer = static_cast<pid_t>(std::strtol(name.c_str() + beginning.size(), nullptr, 10));
    std::error_code ignored;
    if (writer > 0 && ::kill(writer, 0) != 0 && errno == ESRCH) fs::remove_all(at->path(), ignored);
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<StagingFolder>> StagingFolder::Create(const std::string& path,
                                                                     const std::string& proof) {
  std::error_code error;
  fs::path place = fs::absolute(path, error).lexically_normal();
  if (!place.has_filename()) place = place.parent_path();  // a slash at its end
  if (error || !place.has_filename()) return absl::InvalidArgumentError(absl::StrCat(path, ": names no folder"));
  if (fs::exists(place, error) &&
      !(fs::is_directory(place, error) && (fs::is_empty(place, error) || fs::exists(place / proof, error)))) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": holds something else than a deployable module; give another name, or remove it"));
  }
  fs::create_directories(place.parent_path(), error);
  if (error) return absl::UnavailableError(absl::StrCat(place.parent_path().string(), ": ", error.message()));
  const std::string beginning = absl::StrCat(".", place.filename().string(), ".");
  RemoveLeftovers(place.parent_path(), beginning);
  const std::string folder =
      (place.parent_path() / absl::StrCat(beginning, static_cast<int64_t>(::getpid()), kEnding)).string();
  fs::create_directory(folder, error);
  if (error) return absl::UnavailableError(absl::StrCat(folder, ": ", error.message()));
  return std::unique_ptr<StagingFolder>(new StagingFolder(place.string(), folder));
}

StagingFolder::~StagingFolder() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

absl::Status StagingFolder::Commit() {
  if (::rename(folder_.c_str(), path_.c_str()) == 0) return absl::OkStatus();
  if (errno != EEXIST && errno != ENOTEMPTY) return Refused(path_, "be put in its place");
  // An older module is there: both change places, and the older one goes with this object.
  if (::renameat2(AT_FDCWD, folder_.c_str(), AT_FDCWD, path_.c_str(), RENAME_EXCHANGE) != 0)
    return Refused(path_, "be replaced");
  return absl::OkStatus();
}

}  // namespace smelt::cpu::deploy
