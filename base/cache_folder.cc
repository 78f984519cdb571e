#include "base/cache_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <mutex>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/write_file.h"

namespace smelt {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kDefaultLimit = int64_t{2} << 30;
constexpr double kTrimmedTo = 0.9;      // of the limit: the next file is not to trim again
constexpr int64_t kLookShare = 16;      // a process looks again once it has written this part of the limit
constexpr double kLookSeconds = 600;    // how long the look of another process counts for a process's first file
constexpr double kStaleSeconds = 3600;  // age of a half-written file that nobody writes any more
constexpr double kUseSeconds = 3600;    // how exactly the time of a use is kept
constexpr std::string_view kStamp = ".trimmed";  // its lock is held, and its time is that, of the last look

struct Entry {
  std::string path;
  int64_t bytes = 0;
  double used = 0;  // seconds, of the epoch
  bool half_written = false;
};

double Now() {
  timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<double>(now.tv_sec);
}

bool IsHex(std::string_view text, size_t length) {
  return text.size() == length &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isxdigit(c) != 0; });
}

// Whether a file of this name in this folder of the cache (empty: itself) is one of those that are kept in it; `name`
// loses what a file has behind it while it is written.
bool IsEntry(std::string_view folder, std::string_view name) {
  constexpr size_t kHash = 32;
  const std::string_view hash = name.substr(0, std::min(kHash, name.size()));
  const std::string_view kind = name.substr(hash.size());
  if (folder.empty()) return IsHex(hash, kHash) && kind == ".xla.pb";
  if (folder.starts_with("stablehlo/")) return IsHex(folder.substr(10), kHash) && name.ends_with(".pb");
  return IsHex(folder, 2) && IsHex(hash, kHash) && kind == ".kernel";
}

void ListFolder(const fs::path& folder, const std::string& within, std::vector<Entry>* entries) {
  std::error_code error;
  for (fs::directory_iterator at(folder / within, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    const std::string_view entry = FinalName(name);
    struct stat status;
    if (!IsEntry(within, entry) || ::lstat(at->path().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    entries->push_back(
        {at->path().string(), status.st_size, static_cast<double>(status.st_mtim.tv_sec), entry.size() != name.size()});
  }
}

std::vector<Entry> List(const std::string& folder) {
  std::vector<Entry> entries;
  if (folder.empty()) return entries;
  ListFolder(folder, "", &entries);
  for (const std::string parent : {"", "stablehlo"}) {
    std::error_code error;
    for (fs::directory_iterator at(fs::path(folder) / parent, error), end; !error && at != end; at.increment(error)) {
      const std::string name = at->path().filename().string();
      if (IsHex(name, parent.empty() ? 2 : 32))
        ListFolder(folder, parent.empty() ? name : parent + "/" + name, &entries);
    }
  }
  return entries;
}

bool Remove(const std::string& path) { return ::unlink(path.c_str()) == 0; }

// Where there is more than `limit`, as much goes that `left` remain.
CacheUse Trim(const std::string& folder, int64_t limit, int64_t left) {
  std::vector<Entry> entries = List(folder);
  CacheUse use;
  for (const Entry& entry : entries) {
    ++use.entries;
    use.bytes += entry.bytes;
  }
  const int64_t most = use.bytes > limit ? left : limit;
  const double now = Now();
  // Leftovers first, then by the time of the last use.
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(!a.half_written, a.used) < std::pair(!b.half_written, b.used);
  });
  for (const Entry& entry : entries) {
    if (entry.half_written ? now - entry.used < kStaleSeconds : use.bytes <= most) continue;
    if (!Remove(entry.path)) continue;
    --use.entries;
    use.bytes -= entry.bytes;
    ++use.removed;
    use.removed_bytes += entry.bytes;
  }
  return use;
}

// One at a time; another process's look within `fresh_seconds` is as good. False where one is looking just now: it may
// have listed the folder before this process's last file was there.
bool TrimUnlessDone(const std::string& folder, int64_t limit, double fresh_seconds) {
  const std::string stamp = (fs::path(folder) / kStamp).string();
  const int file = ::open(stamp.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return true;
  struct stat status;
  const bool fresh = ::fstat(file, &status) == 0 && status.st_size > 0 &&
                     Now() - static_cast<double>(status.st_mtim.tv_sec) < fresh_seconds;
  const bool looks = !fresh && ::flock(file, LOCK_EX | LOCK_NB) == 0;
  if (looks) {
    Trim(folder, limit, static_cast<int64_t>(kTrimmedTo * static_cast<double>(limit)));
    // Its contents say no more than that somebody looked.
    [[maybe_unused]] const ssize_t written = ::pwrite(file, "looked\n", 7, 0);
  }
  ::close(file);
  return fresh || looks;
}

std::mutex trouble_mutex;
std::string trouble;
bool trouble_told = false;

}  // namespace

std::string DefaultCacheFolder() {
  const auto variable = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
  };
  if (std::string folder = variable("SMELT_CACHE"); !folder.empty()) return folder;
  if (std::string folder = variable("XDG_CACHE_HOME"); !folder.empty()) return folder + "/smelt";
  if (std::string home = variable("HOME"); !home.empty()) return home + "/.cache/smelt";
  return "";
}

absl::StatusOr<int64_t> ParseSize(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  int shift = 0;
  if (unit == "K" || unit == "KB") shift = 10;
  if (unit == "M" || unit == "MB") shift = 20;
  if (unit == "G" || unit == "GB") shift = 30;
  if (error != std::errc() || number < 0 || (shift == 0 && !unit.empty()) ||
      number > std::numeric_limits<int64_t>::max() >> shift) {
    return absl::InvalidArgumentError(
        absl::StrCat("`", std::string(text), "` is no size: expected bytes, or a number with K, M or G, as 500M"));
  }
  return number << shift;
}

absl::StatusOr<int64_t> CacheLimit() {
  const char* text = std::getenv("SMELT_CACHE_LIMIT");
  if (text == nullptr || *text == 0) return kDefaultLimit;
  absl::StatusOr<int64_t> limit = ParseSize(text);
  if (limit.ok()) return limit;
  return absl::InvalidArgumentError(absl::StrCat("$SMELT_CACHE_LIMIT: ", std::string(limit.status().message())));
}

CacheUse MeasureCache(const std::string& folder) {
  CacheUse use;
  for (const Entry& entry : List(folder)) {
    ++use.entries;
    use.bytes += entry.bytes;
  }
  return use;
}

CacheUse TrimCache(const std::string& folder, int64_t limit) { return Trim(folder, limit, limit); }

void KeepInCache(const std::string& folder, const std::string& path, std::string_view bytes) {
  if (folder.empty() || bytes.empty()) return;
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  absl::StatusOr<std::unique_ptr<NewFile>> file = NewFile::Create(path);
  absl::Status written = file.ok() ? (*file)->Write(bytes) : file.status();
  if (written.ok()) written = (*file)->Finish(/*durable=*/false);
  if (!written.ok()) {
    NoteCacheTrouble(absl::StrCat(
        "the cache ", folder, " keeps nothing, so that it is made again next time: ", std::string(written.message())));
    return;
  }
  const absl::StatusOr<int64_t> limit = CacheLimit();
  if (!limit.ok()) {
    NoteCacheTrouble(absl::StrCat(std::string(limit.status().message()), "; the cache ", folder, " is not trimmed"));
    return;
  }
  static std::atomic<int64_t> since_look{-1};  // bytes; -1: no file was written yet
  const bool first = since_look.load() < 0;
  if (since_look.fetch_add(static_cast<int64_t>(bytes.size()) + first) + static_cast<int64_t>(bytes.size()) <
          *limit / kLookShare &&
      !first)
    return;
  // What is written while it looks counts for the next look; so does all of this where somebody else is looking.
  const int64_t unseen = since_look.exchange(0);
  if (!TrimUnlessDone(folder, *limit, first ? kLookSeconds : 0)) since_look += unseen;
}

void NoteCacheUse(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0 || Now() - static_cast<double>(status.st_mtim.tv_sec) < kUseSeconds) return;
  const timespec times[2] = {{0, UTIME_OMIT}, {0, UTIME_NOW}};
  ::utimensat(AT_FDCWD, path.c_str(), times, 0);  // a folder that is only read keeps no times, nor anything else
}

std::string TakeCacheTrouble() {
  const std::lock_guard lock(trouble_mutex);
  if (trouble.empty() || trouble_told) return "";
  trouble_told = true;
  return trouble;
}

void NoteCacheTrouble(const std::string& text) {
  const std::lock_guard lock(trouble_mutex);
  if (trouble.empty()) trouble = text;
}

}  // namespace smelt
