#include "vdla/isa/program.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "vdla/isa/encoding.h"

namespace smelt::vdla::isa {
namespace {

constexpr std::string_view kRoleNames[] = {"constant", "input", "output", "scratch", "result"};
static_assert(std::size(kRoleNames) == kRoles);
constexpr size_t kLongestName = 256;

bool IsSegmentName(std::string_view name) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  return !name.empty() && name.size() <= kLongestName && name.find_first_not_of(kLetters) == std::string_view::npos;
}

absl::Status CheckSegment(const Segment& segment, uint64_t dram_bytes) {
  const auto refuse = [&](std::string_view what) {
    return absl::InvalidArgumentError(StrCat("segment `", segment.name, "`: ", what));
  };
  if (!IsSegmentName(segment.name))
    return absl::InvalidArgumentError("the name of a segment must be 1 to 256 letters, digits, `_`, `.` and `-`");
  if (static_cast<int>(segment.role) >= kRoles) return refuse("has no role of this version");
  if (segment.size > dram_bytes || segment.address > dram_bytes - segment.size)
    return refuse(StrCat("bytes ", segment.address, " to ", segment.address + segment.size, " are outside the ",
                         dram_bytes, " bytes of DRAM"));
  if (segment.bytes.size() > segment.size)
    return refuse(StrCat("brings ", segment.bytes.size(), " bytes, and is ", segment.size, " bytes large"));
  return absl::OkStatus();
}

// Neighbours by address must not overlap.
absl::Status CheckApart(std::vector<const Segment*> segments) {
  std::sort(segments.begin(), segments.end(),
            [](const Segment* a, const Segment* b) { return a->address < b->address; });
  for (size_t i = 1; i < segments.size(); ++i) {
    const Segment &before = *segments[i - 1], &after = *segments[i];
    if (before.address + before.size > after.address)
      return absl::InvalidArgumentError(StrCat("segments `", before.name, "` and `", after.name, "` overlap"));
  }
  return absl::OkStatus();
}

}  // namespace

std::string_view NameOf(Role role) {
  const auto index = static_cast<size_t>(role);
  return index < std::size(kRoleNames) ? kRoleNames[index] : "?";
}

const Segment* Program::Find(std::string_view segment_name) const {
  for (const Segment& segment : segments) {
    if (segment.name == segment_name) return &segment;
  }
  return nullptr;
}

absl::Status CheckProgram(const Program& program) {
  SMELT_RETURN_IF_ERROR(program.config.Check());
  if (!IsSegmentName(program.name))
    return absl::InvalidArgumentError("the name of a program must be 1 to 256 letters, digits, `_`, `.` and `-`");
  SMELT_RETURN_IF_ERROR(CheckInstructions(program.instructions));
  std::set<std::string_view> names;
  std::vector<const Segment*> memory, results;
  for (const Segment& segment : program.segments) {
    SMELT_RETURN_IF_ERROR(CheckSegment(segment, static_cast<uint64_t>(program.config.dram_bytes)));
    if (!names.insert(segment.name).second)
      return absl::InvalidArgumentError(StrCat("two segments are called `", segment.name, "`"));
    if (segment.size > 0) (segment.role == Role::kResult ? results : memory).push_back(&segment);
  }
  SMELT_RETURN_IF_ERROR(CheckApart(memory));
  return CheckApart(results);
}

}  // namespace smelt::vdla::isa
