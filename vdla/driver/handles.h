// The numbers that C callers hold in place of pointers, and what stands behind them.
//
//   HandleTable handles;
//   uint64_t number = handles.Add(HandleKind::kBuffer, /*device=*/0, std::make_shared<Buffer>());
//   std::shared_ptr<Buffer> buffer = handles.Get<Buffer>(HandleKind::kBuffer, number).value();
//   absl::Status removed = handles.Remove(HandleKind::kBuffer, number);
//
// A number holds its kind and is never given twice, so that one that is old or of another kind is told from one that is
// in use. What a call works on lives until the call ends, whoever removes it meanwhile. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace smelt::vdla::driver {

enum class HandleKind : uint8_t { kDevice = 1, kStream = 2, kBuffer = 3, kKernel = 4, kProgram = 5 };

class HandleTable {
 public:
  // `device` is the handle of the device that it was made on; 0 for a device itself.
  uint64_t Add(HandleKind kind, uint64_t device, std::shared_ptr<void> object);
  // Unauthenticated, here and below: no such handle.
  template <typename Object>
  absl::StatusOr<std::shared_ptr<Object>> Get(HandleKind kind, uint64_t handle) const {
    absl::StatusOr<std::shared_ptr<void>> found = Find(kind, handle);
    if (!found.ok()) return std::move(found).status();
    return std::static_pointer_cast<Object>(*std::move(found));
  }
  // The device's handle that it was added with.
  absl::StatusOr<uint64_t> DeviceOf(HandleKind kind, uint64_t handle) const;
  // A device takes all that was made on it along.
  absl::Status Remove(HandleKind kind, uint64_t handle);

 private:
  struct Entry {
    uint64_t device = 0;
    std::shared_ptr<void> object;
  };
  absl::StatusOr<std::shared_ptr<void>> Find(HandleKind kind, uint64_t handle) const;
  absl::Status Unknown(HandleKind kind, uint64_t handle) const;

  mutable std::mutex mutex_;
  uint64_t next_ = 1;
  std::map<uint64_t, Entry> entries_;
};

}  // namespace smelt::vdla::driver
