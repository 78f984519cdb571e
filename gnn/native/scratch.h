// Memory for one thread's passes through a network, kept for its next: a pass allocates nothing once it is large
// enough.
//
//   Scratch scratch;
//   float* state = scratch.Take(count);   // until `scratch` goes; what is taken behind it may not stay longer
#pragma once

#include <cstdint>
#include <vector>

namespace smelt::gnn {

class Scratch {
 public:
  Scratch() : floats_before_(Of().floats_used), lists_before_(Of().lists_used) {}
  ~Scratch() {
    Of().floats_used = floats_before_;
    Of().lists_used = lists_before_;
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // Both uninitialised.
  float* Take(int64_t count) { return Next(Of().floats, &Of().floats_used, count); }
  int32_t* TakeList(int64_t count) { return Next(Of().lists, &Of().lists_used, count); }

 private:
  struct Kept {
    std::vector<std::vector<float>> floats;
    std::vector<std::vector<int32_t>> lists;
    size_t floats_used = 0, lists_used = 0;
  };
  static Kept& Of() {
    thread_local Kept kept;
    return kept;
  }
  template <typename T>
  static T* Next(std::vector<std::vector<T>>& buffers, size_t* used, int64_t count) {
    if (*used == buffers.size()) buffers.emplace_back();
    std::vector<T>& buffer = buffers[(*used)++];
    if (buffer.size() < static_cast<size_t>(count)) buffer.resize(static_cast<size_t>(count));
    return buffer.data();
  }

  size_t floats_before_, lists_before_;
};

}  // namespace smelt::gnn
