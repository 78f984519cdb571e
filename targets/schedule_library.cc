#include "targets/schedule_library.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/write_file.h"
#include "fusion/kernel.h"
#include "measure/records/records.h"

namespace smelt::targets {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFirstLine = "smelt tuned schedule 1";

// The lines after the first: a word and the rest.
std::map<std::string, std::string> ReadLines(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  std::map<std::string, std::string> entries;
  if (lines[0] != kFirstLine) return entries;
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::pair<std::string, std::string> entry = absl::StrSplit(lines[i], absl::MaxSplits(' ', 1));
    entries[entry.first] = entry.second;
  }
  return entries;
}

}  // namespace

ScheduleLibrary::ScheduleLibrary(const Target& target, std::string cache_folder)
    : folder_(std::move(cache_folder)),
      target_(target.RecordName()),
      device_(measure::DeviceName()),
      compiler_(target.CompilerVersion()) {}

std::string ScheduleLibrary::PathOf(const Hash128& kernel) const {
  // One machine's cache may be mounted on another: each has files of its own.
  const Hash128 machine = Hasher().Add(target_).Add(device_).Finish();
  const std::string hash = kernel.ToHex();
  return (fs::path(folder_) / "schedules" / hash.substr(0, 2) /
          absl::StrCat(hash, "-", machine.ToHex().substr(0, 8), ".schedule"))
      .string();
}

absl::Status ScheduleLibrary::Keep(const TunedSchedule& tuned) const {
  if (folder_.empty()) return absl::OkStatus();
  if (absl::StrContains(tuned.way, '\n')) {
    return absl::InvalidArgumentError(absl::StrCat("the schedule of kernel ", tuned.kernel.ToHex(),
                                                   " is of several lines; expected a configuration"));
  }
  const std::string path = PathOf(tuned.kernel);
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  if (error) return absl::UnavailableError(absl::StrCat(path, ": its folder cannot be made: ", error.message()));
  return WriteFile(
      path, absl::StrFormat("%s\nkernel %s\ntarget %s\ndevice %s\ncompiler %s\ngain %.4f\nway %s\nend\n", kFirstLine,
                            tuned.kernel.ToHex(), target_, device_, compiler_, tuned.gain, tuned.way));
}

std::optional<TunedSchedule> ScheduleLibrary::Find(const Hash128& kernel) const {
  if (folder_.empty()) return std::nullopt;
  std::map<std::string, std::string> entries = ReadLines(PathOf(kernel));
  TunedSchedule tuned{.kernel = kernel, .way = entries["way"]};
  const bool fits = entries.contains("end") && entries["kernel"] == kernel.ToHex() && entries["target"] == target_ &&
                    entries["device"] == device_ && entries["compiler"] == compiler_ && !tuned.way.empty() &&
                    absl::SimpleAtod(entries["gain"], &tuned.gain);
  if (!fits) return std::nullopt;
  return tuned;
}

int ScheduleLibrary::AddTo(const hlo::Module& fused, Knobs* chosen) const {
  std::error_code error;
  if (folder_.empty() || !fs::exists(fs::path(folder_) / "schedules", error)) return 0;
  const absl::StatusOr<std::vector<fusion::Kernel>> kernels = fusion::ExtractKernels(fused);
  if (!kernels.ok()) return 0;  // compiling it says why
  int found = 0;
  for (const fusion::Kernel& kernel : *kernels) {
    const std::string hash = kernel.hash.ToHex();
    if (chosen->contains(hash)) continue;
    if (std::optional<TunedSchedule> tuned = Find(kernel.hash)) {
      (*chosen)[hash] = std::move(tuned->way);
      ++found;
    }
  }
  return found;
}

}  // namespace smelt::targets
