#include "vdla/driver/micro_op_cache.h"

#include <iterator>

namespace smelt::vdla::driver {

MicroOpCache::Place MicroOpCache::Use(uint64_t kernel, uint64_t count) {
  if (const auto found = begin_of_.find(kernel); found != begin_of_.end())
    return {.begin = static_cast<uint32_t>(found->second), .resident = true};
  if (depth_ - next_ < count) next_ = 0;
  const uint64_t begin = next_, end = begin + count;
  auto range = end_and_kernel_.upper_bound(begin);
  if (range != end_and_kernel_.begin() && std::prev(range)->second.first > begin) --range;
  while (range != end_and_kernel_.end() && range->first < end) {
    begin_of_.erase(range->second.second);
    range = end_and_kernel_.erase(range);
    ++evictions_;
  }
  begin_of_[kernel] = begin;
  end_and_kernel_[begin] = {end, kernel};
  next_ = end;
  return {.begin = static_cast<uint32_t>(begin), .resident = false};
}

void MicroOpCache::Clear() {
  next_ = 0;
  begin_of_.clear();
  end_and_kernel_.clear();
}

}  // namespace smelt::vdla::driver
