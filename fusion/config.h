// A configuration: one bit for each decision of a space.
//
//   Config config(space.size());
//   config.Set(17, true);
//   config.Hash()                  // equal for equal configurations; a flip changes it in constant time
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/hash.h"

namespace smelt::fusion {

class Config {
 public:
  explicit Config(int64_t size = 0) : size_(size), words_((size + 63) / 64) {}

  int64_t size() const { return size_; }
  bool Get(int64_t i) const { return words_[i >> 6] >> (i & 63) & 1; }
  void Set(int64_t i, bool value) {
    if (Get(i) != value) Flip(i);
  }
  void Flip(int64_t i);
  int64_t Count() const;
  // Exclusive or of one random word a set bit, so that the order of flips does not matter.
  Hash128 Hash() const { return hash_; }
  bool operator==(const Config& other) const { return size_ == other.size_ && words_ == other.words_; }

 private:
  int64_t size_;
  std::vector<uint64_t> words_;
  Hash128 hash_;
};

}  // namespace smelt::fusion
