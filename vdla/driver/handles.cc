#include "vdla/driver/handles.h"

#include <iterator>
#include <utility>
#include <vector>

#include "base/str_cat.h"

namespace smelt::vdla::driver {
namespace {

constexpr int kKindShift = 56;
constexpr std::string_view kKindNames[] = {"", "device", "stream", "buffer", "kernel", "program"};

uint64_t KindOf(uint64_t handle) { return handle >> kKindShift; }
uint64_t NumberOf(uint64_t handle) { return handle & ((uint64_t{1} << kKindShift) - 1); }

}  // namespace

uint64_t HandleTable::Add(HandleKind kind, uint64_t device, std::shared_ptr<void> object) {
  std::lock_guard<std::mutex> lock(mutex_);
  const uint64_t handle = static_cast<uint64_t>(kind) << kKindShift | next_++;
  entries_[handle] = {device, std::move(object)};
  return handle;
}

absl::Status HandleTable::Unknown(HandleKind kind, uint64_t handle) const {
  const std::string_view wanted = kKindNames[static_cast<int>(kind)];
  if (handle == 0)
    return absl::UnauthenticatedError(StrCat("0 is no ", wanted,
                                             ": the call that should have made it failed, or was "
                                             "not made"));
  if (KindOf(handle) == 0 || KindOf(handle) >= std::size(kKindNames) || NumberOf(handle) >= next_)
    return absl::UnauthenticatedError(StrCat(handle, " is no ", wanted, ": this driver never gave that number"));
  const std::string_view actual = kKindNames[KindOf(handle)];
  if (KindOf(handle) != static_cast<uint64_t>(kind))
    return absl::UnauthenticatedError(StrCat(actual, " ", NumberOf(handle), " was given where a ", wanted,
                                             " is needed: look at the order of the arguments"));
  return absl::UnauthenticatedError(StrCat(wanted, " ", NumberOf(handle),
                                           " is closed or freed, or its device is: "
                                           "use it before, and free it once"));
}

absl::StatusOr<std::shared_ptr<void>> HandleTable::Find(HandleKind kind, uint64_t handle) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = entries_.find(handle);
  if (found == entries_.end() || KindOf(handle) != static_cast<uint64_t>(kind)) return Unknown(kind, handle);
  return found->second.object;
}

absl::StatusOr<uint64_t> HandleTable::DeviceOf(HandleKind kind, uint64_t handle) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = entries_.find(handle);
  if (found == entries_.end() || KindOf(handle) != static_cast<uint64_t>(kind)) return Unknown(kind, handle);
  return found->second.device;
}

absl::Status HandleTable::Remove(HandleKind kind, uint64_t handle) {
  // Destructors are not run under this lock.
  std::vector<std::shared_ptr<void>> removed;
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = entries_.find(handle);
  if (found == entries_.end() || KindOf(handle) != static_cast<uint64_t>(kind)) return Unknown(kind, handle);
  removed.push_back(std::move(found->second.object));
  entries_.erase(found);
  if (kind != HandleKind::kDevice) return absl::OkStatus();
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    if (entry->second.device != handle) {
      ++entry;
      continue;
    }
    removed.push_back(std::move(entry->second.object));
    entry = entries_.erase(entry);
  }
  return absl::OkStatus();
}

}  // namespace smelt::vdla::driver
