#include "runtime/native/sort.h"

#include <algorithm>
#include <cstring>

#include "runtime/native/cpu_versions.h"
#include "runtime/native/parallel.h"
#include "runtime/native/sort_words.h"

namespace smelt::runtime::native {

// What sorts many short lines that lie beside each other: pairs of rows to order, by Batcher's merge exchange (Knuth,
// "The Art of Computer Programming", volume 3, Section 5.2.2, Algorithm M).
struct SortingNetwork {
  std::vector<std::pair<int, int>> pairs;
  int size = 0;
};

namespace {

constexpr int64_t kNetworkLanes = 64;
constexpr int64_t kNetworkRows = 64;

SortingNetwork NetworkOf(int size) {
  SortingNetwork network{{}, size};
  int top = 1;
  while (2 * top < size) top *= 2;
  for (int p = size > 1 ? top : 0; p > 0; p /= 2) {
    int q = top, r = 0, d = p;
    while (true) {
      for (int i = 0; i + d < size; ++i) {
        if ((i & p) == r) network.pairs.push_back({i, i + d});
      }
      if (q == p) break;
      d = q - p;
      q /= 2;
      r = p;
    }
  }
  return network;
}

// The bits of an element as a signed integer in the order of its key, and back.
template <typename T>
[[gnu::always_inline]] inline int32_t SignedKey(T value, bool descending) {
  int32_t key = std::bit_cast<int32_t>(value);
  if constexpr (std::is_same_v<T, float>) key ^= static_cast<int32_t>(static_cast<uint32_t>(key >> 31) >> 1);
  if constexpr (std::is_same_v<T, uint32_t>) key ^= INT32_MIN;
  return descending ? ~key : key;
}
template <typename T>
[[gnu::always_inline]] inline T FromSignedKey(int32_t key, bool descending) {
  if (descending) key = ~key;
  if constexpr (std::is_same_v<T, float>) key ^= static_cast<int32_t>(static_cast<uint32_t>(key >> 31) >> 1);
  if constexpr (std::is_same_v<T, uint32_t>) key ^= INT32_MIN;
  return std::bit_cast<T>(key);
}

// False, and nothing done, where elements that differ may be equal: zeros and NaN.
template <typename T>
[[gnu::always_inline]] inline bool SortLanes(const SortingNetwork& network, bool descending, const T* from, T* to,
                                             int64_t pitch, int64_t lanes) {
  alignas(64) int32_t keys[kNetworkRows * kNetworkLanes];
  int32_t special = 0;
  for (int row = 0; row < network.size; ++row) {
    const T* line = from + row * pitch;
    for (int64_t l = 0; l < lanes; ++l) {
      if constexpr (std::is_same_v<T, float>) {
        const int32_t exponent = std::bit_cast<int32_t>(line[l]) & 0x7f800000;
        special |= (exponent == 0) | (exponent == 0x7f800000);
      }
      keys[row * kNetworkLanes + l] = SignedKey(line[l], descending);
    }
    for (int64_t l = lanes; l < kNetworkLanes; ++l) keys[row * kNetworkLanes + l] = 0;
  }
  if (special != 0) return false;
  for (const auto& [first, second] : network.pairs) {
    int32_t* a = keys + first * kNetworkLanes;
    int32_t* b = keys + second * kNetworkLanes;
#pragma GCC ivdep
    for (int64_t l = 0; l < kNetworkLanes; ++l) {
      const int32_t x = a[l], y = b[l];
      a[l] = x < y ? x : y;
      b[l] = x < y ? y : x;
    }
  }
  for (int row = 0; row < network.size; ++row) {
    for (int64_t l = 0; l < lanes; ++l) {
      to[row * pitch + l] = FromSignedKey<T>(keys[row * kNetworkLanes + l], descending);
    }
  }
  return true;
}

}  // namespace

SMELT_FOR_EACH_VECTOR_WIDTH bool SortFloatLanes(const SortingNetwork& network, bool descending, const float* from,
                                                float* to, int64_t pitch, int64_t lanes) {
  return SortLanes(network, descending, from, to, pitch, lanes);
}
SMELT_FOR_EACH_VECTOR_WIDTH bool SortSignedLanes(const SortingNetwork& network, bool descending, const int32_t* from,
                                                 int32_t* to, int64_t pitch, int64_t lanes) {
  return SortLanes(network, descending, from, to, pitch, lanes);
}
SMELT_FOR_EACH_VECTOR_WIDTH bool SortUnsignedLanes(const SortingNetwork& network, bool descending, const uint32_t* from,
                                                   uint32_t* to, int64_t pitch, int64_t lanes) {
  return SortLanes(network, descending, from, to, pitch, lanes);
}

namespace {

// Stable, and at peace with a comparison that is no order: insertion into short runs, which are then merged.
template <typename Less>
uint32_t* MergeSort(uint32_t* order, uint32_t* spare, int64_t count, const Less& less) {
  constexpr int64_t kRun = 12;
  for (int64_t start = 0; start < count; start += kRun) {
    const int64_t end = std::min(count, start + kRun);
    for (int64_t i = start + 1; i < end; ++i) {
      const uint32_t value = order[i];
      int64_t j = i;
      for (; j > start && less(value, order[j - 1]); --j) order[j] = order[j - 1];
      order[j] = value;
    }
  }
  for (int64_t width = kRun; width < count; width *= 2) {
    for (int64_t start = 0; start < count; start += 2 * width) {
      const int64_t middle = std::min(count, start + width), end = std::min(count, start + 2 * width);
      int64_t left = start, right = middle;
      for (int64_t k = start; k < end; ++k) {
        const bool take_right = right < end && (left == middle || less(order[right], order[left]));
        spare[k] = take_right ? order[right++] : order[left++];
      }
    }
    std::swap(order, spare);
  }
  return order;
}

class Sort : public NativeOperation {
 public:
  explicit Sort(const SortPlan& plan) : plan_(plan) {
    for (ElementType type : plan.operands) bytes_.push_back(BytesOf(type));
    size_ = plan.dimensions.empty() ? 1 : plan.dimensions[plan.dimension];
    for (size_t d = 0; d < plan.dimensions.size(); ++d) {
      if (static_cast<int64_t>(d) > plan.dimension) stride_ *= plan.dimensions[d];
      if (static_cast<int64_t>(d) != plan.dimension) lines_ *= plan.dimensions[d];
    }
    if (size_ == 0) lines_ = 0;
    const ElementType type = plan.operands[0];
    if (plan.operands.size() == 1 && stride_ > 1 && size_ <= kNetworkRows &&
        (type == ElementType::kF32 || type == ElementType::kS32 || type == ElementType::kU32)) {
      network_ = NetworkOf(static_cast<int>(size_));
    }
  }

  int64_t ScratchBytes(int threads) const override { return threads * ThreadBytes(); }

  void Run(const NativeCall& call) const override {
    if (network_.size > 0) return RunNetwork(call);
    double passes = 4;
    for (int64_t left = size_; left > 1; left /= 4) passes += 1;
    InParallel(*call.pool, lines_, static_cast<double>(lines_ * size_) * passes,
               [&](int worker, int64_t begin, int64_t end) { SortLines(call, worker, begin, end); });
  }

 private:
  int64_t ThreadBytes() const { return AlignUp(size_ * 8) * 2 + AlignUp(size_ * 4) * 2; }

  void SortLines(const NativeCall& call, int worker, int64_t begin, int64_t end) const {
    char* scratch = call.scratch + worker * ThreadBytes();
    uint64_t* words = reinterpret_cast<uint64_t*>(scratch);
    uint64_t* spare = reinterpret_cast<uint64_t*>(scratch + AlignUp(size_ * 8));
    uint32_t* order = reinterpret_cast<uint32_t*>(scratch + 2 * AlignUp(size_ * 8));
    uint32_t* other = reinterpret_cast<uint32_t*>(scratch + 2 * AlignUp(size_ * 8) + AlignUp(size_ * 4));
    for (int64_t line = begin; line < end; ++line) {
      const int64_t first = line / stride_ * stride_ * size_ + line % stride_;
      const uint32_t* sorted = OrderOf(call, first, words, spare, order, other);
      for (size_t a = 0; a < bytes_.size(); ++a) {
        const char* from = static_cast<const char*>(call.inputs[a]) + first * bytes_[a];
        char* to = static_cast<char*>(call.outputs[a]) + first * bytes_[a];
        switch (bytes_[a]) {
          case 1:
            Permute<uint8_t>(from, sorted, to);
            break;
          case 2:
            Permute<uint16_t>(from, sorted, to);
            break;
          case 4:
            Permute<uint32_t>(from, sorted, to);
            break;
          case 8:
            Permute<uint64_t>(from, sorted, to);
            break;
          default:
            Permute<unsigned __int128>(from, sorted, to);
        }
      }
    }
  }

  template <typename Word>
  void Permute(const char* from, const uint32_t* order, char* to) const {
    // Whatever the elements are, as words of their size.
    typedef Word Bits __attribute__((may_alias));
    const Bits* source = reinterpret_cast<const Bits*>(from);
    Bits* target = reinterpret_cast<Bits*>(to);
    for (int64_t i = 0; i < size_; ++i) target[i * stride_] = source[order[i] * stride_];
  }

  // The order of the line that begins at element `first`; in `order` or `other`.
  const uint32_t* OrderOf(const NativeCall& call, int64_t first, uint64_t* words, uint64_t* spare, uint32_t* order,
                          uint32_t* other) const {
    for (int64_t i = 0; i < size_; ++i) order[i] = static_cast<uint32_t>(plan_.ties_reversed ? size_ - 1 - i : i);
    if (plan_.partial_order) {
      const uint32_t* merged = OrderWithNan(call, first, order, other);
      if (merged != nullptr) return merged;
    }
    for (size_t k = plan_.keys.size(); k-- > 0;) {
      const SortKey& key = plan_.keys[k];
      VisitType(plan_.operands[key.operand], [&](auto zero) {
        using T = decltype(zero);
        if constexpr (!std::is_same_v<T, std::complex<float>> && !std::is_same_v<T, std::complex<double>>) {
          const T* values = static_cast<const T*>(call.inputs[key.operand]) + first;
          // Wide keys by their lower half, then by their upper half.
          for (int half = 0; half < (sizeof(T) == 8 ? 2 : 1); ++half) {
            for (int64_t i = 0; i < size_; ++i) {
              uint64_t bits = OrderedBits(values[order[i] * stride_], key.order);
              if constexpr (sizeof(T) == 8) bits = half == 0 ? bits & UINT32_MAX : bits >> 32;
              words[i] = bits << 32 | order[i];
            }
            Stabilise(words, spare, order);
          }
        }
      });
    }
    return order;
  }

  // Sorts the words by their upper halves, stably, and takes the order from them.
  void Stabilise(uint64_t* words, uint64_t* spare, uint32_t* order) const {
    // Short lines are sorted by whole words: what stands below must then rise.
    const bool rises =
        plan_.keys.size() == 1 && !plan_.ties_reversed && BytesOf(plan_.operands[plan_.keys[0].operand]) < 8;
    if (rises) {
      const uint64_t* sorted = SortWords(words, spare, size_);
      for (int64_t i = 0; i < size_; ++i) order[i] = static_cast<uint32_t>(sorted[i]);
      return;
    }
    for (int64_t i = 0; i < size_; ++i) words[i] = (words[i] >> 32 << 32) | static_cast<uint32_t>(i);
    const uint64_t* sorted = SortWords(words, spare, size_);
    // Positions in the order so far; the spare words hold it meanwhile.
    uint32_t* before = reinterpret_cast<uint32_t*>(sorted == words ? spare : words);
    std::memcpy(before, order, static_cast<size_t>(size_) * sizeof(uint32_t));
    for (int64_t i = 0; i < size_; ++i) order[i] = before[static_cast<uint32_t>(sorted[i])];
  }

  // Null where the line holds no NaN.
  const uint32_t* OrderWithNan(const NativeCall& call, int64_t first, uint32_t* order, uint32_t* spare) const {
    const SortKey& key = plan_.keys[0];
    return VisitType(plan_.operands[key.operand], [&](auto zero) -> const uint32_t* {
      using T = decltype(zero);
      if constexpr (kIsFloatKey<T>) {
        using Wide = std::conditional_t<kIsSmallFloat<T>, float, T>;
        const T* values = static_cast<const T*>(call.inputs[key.operand]) + first;
        bool any = false;
        for (int64_t i = 0; i < size_; ++i) any |= IsNan(values[i * stride_]);
        if (!any) return nullptr;
        for (int64_t i = 0; i < size_; ++i) order[i] = static_cast<uint32_t>(i);
        return MergeSort(order, spare, size_, [&](uint32_t a, uint32_t b) {
          Wide x = static_cast<Wide>(values[a * stride_]), y = static_cast<Wide>(values[b * stride_]);
          if (key.order.descending) std::swap(x, y);
          return plan_.ties_reversed ? x <= y : x < y;
        });
      }
      return nullptr;
    });
  }

  void RunNetwork(const NativeCall& call) const {
    const int64_t blocks = (stride_ + kNetworkLanes - 1) / kNetworkLanes;
    const double exchanges = static_cast<double>(network_.pairs.size());
    InParallel(*call.pool, lines_ / stride_ * blocks, static_cast<double>(lines_) * exchanges / 8,
               [&](int worker, int64_t begin, int64_t end) {
                 for (int64_t b = begin; b < end; ++b) {
                   const int64_t lane = b % blocks * kNetworkLanes, lanes = std::min(kNetworkLanes, stride_ - lane);
                   const int64_t at = b / blocks * stride_ * size_ + lane;
                   if (SortBlock(call, at, lanes)) continue;
                   const int64_t line = b / blocks * stride_ + lane;
                   SortLines(call, worker, line, line + lanes);
                 }
               });
  }

  bool SortBlock(const NativeCall& call, int64_t at, int64_t lanes) const {
    const bool descending = plan_.keys[0].order.descending;
    if (plan_.operands[0] == ElementType::kF32) {
      return SortFloatLanes(network_, descending, static_cast<const float*>(call.inputs[0]) + at,
                            static_cast<float*>(call.outputs[0]) + at, stride_, lanes);
    }
    if (plan_.operands[0] == ElementType::kS32) {
      return SortSignedLanes(network_, descending, static_cast<const int32_t*>(call.inputs[0]) + at,
                             static_cast<int32_t*>(call.outputs[0]) + at, stride_, lanes);
    }
    return SortUnsignedLanes(network_, descending, static_cast<const uint32_t*>(call.inputs[0]) + at,
                             static_cast<uint32_t*>(call.outputs[0]) + at, stride_, lanes);
  }

  const SortPlan plan_;
  std::vector<int64_t> bytes_;
  int64_t size_ = 1, stride_ = 1, lines_ = 1;
  SortingNetwork network_;  // empty: lines are sorted one by one
};

}  // namespace

std::unique_ptr<NativeOperation> MakeSort(const SortPlan& plan) { return std::make_unique<Sort>(plan); }

}  // namespace smelt::runtime::native
