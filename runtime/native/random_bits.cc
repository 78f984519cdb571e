#include "runtime/native/random_bits.h"

#include <algorithm>
#include <cstring>

#include "runtime/native/cpu_versions.h"
#include "runtime/native/parallel.h"

namespace smelt::runtime::native {
namespace {

constexpr int64_t kCounters = 256;  // counters at once
constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};

}  // namespace

// Words for `count` counters from `counter` on.
SMELT_FOR_EACH_VECTOR_WIDTH void ThreeFryBlock(uint64_t key, uint64_t counter, int64_t count, uint32_t* first,
                                               uint32_t* second) {
  const uint32_t keys[3] = {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32),
                            static_cast<uint32_t>(key) ^ static_cast<uint32_t>(key >> 32) ^ 0x1BD11BDA};
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t at = counter + static_cast<uint64_t>(i);
    uint32_t x = static_cast<uint32_t>(at) + keys[0], y = static_cast<uint32_t>(at >> 32) + keys[1];
#pragma GCC unroll 5
    for (uint32_t round = 0; round < 5; ++round) {
#pragma GCC unroll 4
      for (int r = 0; r < 4; ++r) {
        const int bits = kRotations[round % 2][r];
        x += y;
        y = (y << bits | y >> (32 - bits)) ^ x;
      }
      x += keys[(round + 1) % 3];
      y += keys[(round + 2) % 3] + round + 1;
    }
    first[i] = x;
    second[i] = y;
  }
}

// Word w of counter i at words[4 * i + w].
SMELT_FOR_EACH_VECTOR_WIDTH void PhiloxBlock(uint64_t key, uint64_t low, uint64_t high, int64_t count,
                                             uint32_t* words) {
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t counter = low + static_cast<uint64_t>(i), upper = high + (counter < low ? 1 : 0);
    uint32_t a = static_cast<uint32_t>(counter), b = static_cast<uint32_t>(counter >> 32);
    uint32_t c = static_cast<uint32_t>(upper), d = static_cast<uint32_t>(upper >> 32);
    uint32_t key0 = static_cast<uint32_t>(key), key1 = static_cast<uint32_t>(key >> 32);
#pragma GCC unroll 10
    for (int round = 0; round < 10; ++round) {
      const uint64_t product0 = uint64_t{a} * 0xD2511F53, product1 = uint64_t{c} * 0xCD9E8D57;
      a = static_cast<uint32_t>(product1 >> 32) ^ b ^ key0;
      b = static_cast<uint32_t>(product1);
      c = static_cast<uint32_t>(product0 >> 32) ^ d ^ key1;
      d = static_cast<uint32_t>(product0);
      key0 += 0x9E3779B9;
      key1 += 0xBB67AE85;
    }
    words[4 * i] = a;
    words[4 * i + 1] = b;
    words[4 * i + 2] = c;
    words[4 * i + 3] = d;
  }
}

namespace {

class RandomBits : public NativeOperation {
 public:
  explicit RandomBits(const RandomBitsPlan& plan) : plan_(plan) {
    for (int64_t size : plan.dimensions) elements_ *= size;
    // ThreeFry splits the first even dimension, or the largest, into pairs that are the words of one counter.
    std::vector<int64_t> half = plan.dimensions;
    const auto even = std::find_if(half.begin(), half.end(), [](int64_t size) { return size % 2 == 0; });
    const auto split = even != half.end() ? even : std::max_element(half.begin(), half.end());
    if (split != half.end()) {
      split_ = *split;
      for (auto d = split + 1; d != half.end(); ++d) inner_ *= *d;
      *split = (*split + 1) / 2;
    }
    for (int64_t size : half) counters_ *= size;
    if (!plan.three_fry) {
      counters_ = (elements_ * (plan.element_bytes == 8 ? 2 : 1) + 3) / 4;
    } else if (plan.element_bytes == 8) {
      counters_ = elements_;
    }
  }

  void Run(const NativeCall& call) const override {
    const uint64_t* state = static_cast<const uint64_t*>(call.inputs[0]);
    uint64_t* next = static_cast<uint64_t*>(call.outputs[0]);
    char* bits = static_cast<char*>(call.outputs[1]);
    const uint64_t key = state[0], counter = state[1];
    // A state of two words has no upper half of the counter: XLA takes the key for it.
    const uint64_t high = plan_.state_words > 2 ? state[2] : key;
    const int64_t blocks = (counters_ + kCounters - 1) / kCounters;
    InParallel(*call.pool, blocks, static_cast<double>(counters_) * 4, [&](int, int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        const int64_t first = block * kCounters, count = std::min(kCounters, counters_ - first);
        uint32_t words[4 * kCounters];
        const uint64_t at = counter + static_cast<uint64_t>(first);
        if (plan_.three_fry) {
          ThreeFryBlock(key, at, count, words, words + kCounters);
          StoreThreeFry(words, words + kCounters, first, count, bits);
        } else {
          PhiloxBlock(key, at, high + (at < counter ? 1 : 0), count, words);
          StorePhilox(words, first, count, bits);
        }
      }
    });
    next[0] = key;
    next[1] = counter + static_cast<uint64_t>(counters_);
    if (plan_.state_words > 2) next[2] = high + (next[1] < counter ? 1 : 0);
  }

 private:
  // The low bits of a word.
  void Store(char* bits, int64_t i, uint64_t word) const {
    std::memcpy(bits + i * plan_.element_bytes, &word, static_cast<size_t>(plan_.element_bytes));
  }

  void StoreThreeFry(const uint32_t* x, const uint32_t* y, int64_t first, int64_t count, char* bits) const {
    const int64_t half = (split_ + 1) / 2;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = first + i;
      if (plan_.element_bytes == 8) {
        Store(bits, at, uint64_t{x[i]} | uint64_t{y[i]} << 32);
        continue;
      }
      const int64_t pair = at / inner_ % half, base = at / (half * inner_) * split_ * inner_ + at % inner_;
      Store(bits, base + 2 * pair * inner_, x[i]);
      if (2 * pair + 1 < split_) Store(bits, base + (2 * pair + 1) * inner_, y[i]);
    }
  }

  void StorePhilox(const uint32_t* words, int64_t first, int64_t count, char* bits) const {
    if (plan_.element_bytes >= 4) {
      const int64_t offset = first * 16, bytes = std::min(count * 16, elements_ * plan_.element_bytes - offset);
      std::memcpy(bits + offset, words, static_cast<size_t>(bytes));
      return;
    }
    for (int64_t i = 0; i < 4 * count && 4 * first + i < elements_; ++i) Store(bits, 4 * first + i, words[i]);
  }

  const RandomBitsPlan plan_;
  int64_t elements_ = 1, split_ = 1, inner_ = 1, counters_ = 1;
};

}  // namespace

std::unique_ptr<NativeOperation> MakeRandomBits(const RandomBitsPlan& plan) {
  return std::make_unique<RandomBits>(plan);
}

}  // namespace smelt::runtime::native
