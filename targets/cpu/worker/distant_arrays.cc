#include "targets/cpu/worker/distant_arrays.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "base/status_macros.h"
#include "machine/machine.h"

namespace smelt::cpu {
namespace {

constexpr int64_t kPage = 4096;
constexpr int64_t kGap = 17 * machine::kLineBytes;  // as PlacedArray's: no two windows begin at one place of a page

int64_t RoundUp(int64_t bytes, int64_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

int64_t DistantArrays::StepBytes(const Window& window) {
  return RoundUp(window.place + window.touched_bytes, window.unit) + window.unit - machine::kLineBytes;
}

DistantArrays::Window& DistantArrays::Add(const InputPool::BlockKey& key, const hlo::Shape& shape, int64_t distance) {
  const int64_t bytes = shape.ByteSize();
  Window window{.key = key, .bytes = bytes, .touched_bytes = bytes, .distance = std::min(distance, far_bytes_)};
  // Small ones lie close together: in a program each has neighbours in its page, too.
  window.unit = window.bytes < kPage ? machine::kLineBytes : kPage;
  window.place = static_cast<int64_t>(windows_.size()) * kGap % window.unit;
  window.far = distance >= far_bytes_;
  window.key.far = window.far;
  windows_.push_back(std::move(window));
  return windows_.back();
}

void DistantArrays::AddInput(const hlo::Shape& shape, const hlo::InputRange& range, int64_t distance,
                             int64_t read_bytes, const void** pointer) {
  Window& window = Add({.type = shape.element_type, .range = range}, shape, distance);
  window.touched_bytes = std::clamp<int64_t>(read_bytes, 1, window.bytes);
  window.input = pointer;
}

void DistantArrays::AddOutput(const hlo::Shape& shape, int64_t distance, void** pointer) {
  Add({.type = hlo::PrimitiveType::kU8}, shape, distance).output = pointer;
}

absl::Status DistantArrays::Prepare() {
  int64_t passed = 0;  // in one run
  for (const Window& window : windows_) passed += RoundUp(window.touched_bytes, machine::kLineBytes);
  std::map<InputPool::BlockKey, int64_t> needed;
  for (Window& window : windows_) {
    const int64_t runs = 1 + (window.distance + passed - 1) / std::max<int64_t>(passed, 1);
    int64_t& bytes = needed[window.key];
    window.begin = window.cursor = bytes;
    bytes += runs * StepBytes(window) + window.bytes - window.touched_bytes;
    window.end = bytes;
  }
  for (Window& window : windows_) {
    const int64_t bytes = std::max(needed[window.key], window.far ? far_bytes_ + window.bytes : 0);
    SMELT_ASSIGN_OR_RETURN(window.block, pool_.GetBlock(window.key, bytes));
    if (window.far) {
      window.begin = 0;
      window.end = window.block->values.size();
      continue;
    }
    // Its caches hold some of it, as they will while it is timed.
    const volatile std::byte* values = window.block->values.data();
    for (int64_t at = window.begin; at < window.end; at += machine::kLineBytes) (void)values[at];
  }
  return absl::OkStatus();
}

void DistantArrays::Next() {
  for (Window& window : windows_) {
    int64_t& cursor = window.far ? window.block->cursor : window.cursor;
    int64_t at = RoundUp(cursor, window.unit) + window.place;
    if (at + window.bytes > window.end) at = RoundUp(window.begin, window.unit) + window.place;
    cursor = RoundUp(at + window.touched_bytes, machine::kLineBytes);
    std::byte* const place = window.block->values.data() + at;
    if (window.input != nullptr) *window.input = place;
    if (window.output != nullptr) *window.output = place;
  }
}

}  // namespace smelt::cpu
