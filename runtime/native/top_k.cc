#include <algorithm>

#include "runtime/native/cpu_versions.h"
#include "runtime/native/parallel.h"
#include "runtime/native/sort.h"

namespace smelt::runtime::native {
namespace {

constexpr int64_t kBlock = 64;  // elements that are compared with the worst of the best at once

// A key above and an index below: the smallest word is the best.
template <typename T>
using WordOf = std::conditional_t<sizeof(T) == 8, unsigned __int128, uint64_t>;

template <bool kLargest, typename T>
[[gnu::always_inline]] inline WordOf<T> WordAt(const T* row, int64_t i) {
  return static_cast<WordOf<T>>(OrderedBits(row[i], {.descending = kLargest})) << 32 | static_cast<uint32_t>(i);
}

// The k smallest words of a row, in order, in best[0, k): one look at each element, and an insertion for each that is
// among the best so far.
template <bool kLargest, typename T>
[[gnu::always_inline]] inline void SelectFew(const T* row, int64_t count, int64_t k, WordOf<T>* best) {
  constexpr KeyOrder order{.descending = kLargest};
  for (int64_t i = 0; i < k; ++i) best[i] = WordAt<kLargest>(row, i);
  std::sort(best, best + k);
  KeyBits<T> worst = static_cast<KeyBits<T>>(best[k - 1] >> 32);
  for (int64_t start = k; start < count; start += kBlock) {
    const int64_t end = std::min(count, start + kBlock);
    if (start + kBlock <= count) {
      KeyBits<T> least = worst;
      for (int64_t i = 0; i < kBlock; ++i) least = std::min(least, OrderedBits(row[start + i], order));
      if (least == worst) continue;
    }
    for (int64_t i = start; i < end; ++i) {
      if (OrderedBits(row[i], order) >= worst) continue;
      const WordOf<T> word = WordAt<kLargest>(row, i);
      int64_t j = k - 1;
      for (; j > 0 && best[j - 1] > word; --j) best[j] = best[j - 1];
      best[j] = word;
      worst = static_cast<KeyBits<T>>(best[k - 1] >> 32);
    }
  }
}

}  // namespace

SMELT_FOR_EACH_VECTOR_WIDTH void SelectFewFloats(const float* row, int64_t count, int64_t k, bool largest,
                                                 uint64_t* best) {
  if (largest) {
    SelectFew<true>(row, count, k, best);
  } else {
    SelectFew<false>(row, count, k, best);
  }
}

namespace {

class TopK : public NativeOperation {
 public:
  explicit TopK(const TopKPlan& plan) : plan_(plan) {}

  int64_t ScratchBytes(int threads) const override { return threads * ThreadBytes(); }

  void Run(const NativeCall& call) const override {
    if (plan_.k == 0) return;
    VisitType(plan_.type, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (!std::is_same_v<T, std::complex<float>> && !std::is_same_v<T, std::complex<double>>) {
        InParallel(*call.pool, plan_.rows, static_cast<double>(plan_.rows * plan_.columns),
                   [&](int worker, int64_t begin, int64_t end) {
                     WordOf<T>* words = reinterpret_cast<WordOf<T>*>(call.scratch + worker * ThreadBytes());
                     for (int64_t row = begin; row < end; ++row) SelectRow<T>(call, row, words);
                   });
      }
    });
  }

 private:
  int64_t ThreadBytes() const { return AlignUp(plan_.columns * (BytesOf(plan_.type) == 8 ? 16 : 8)); }

  template <typename T>
  void SelectRow(const NativeCall& call, int64_t row, WordOf<T>* words) const {
    const T* values = static_cast<const T*>(call.inputs[0]) + row * plan_.columns;
    const int64_t k = plan_.k, count = plan_.columns;
    if (plan_.largest) {
      Select<true>(values, count, k, words);
    } else {
      Select<false>(values, count, k, words);
    }
    T* best = static_cast<T*>(call.outputs[0]) + row * k;
    for (int64_t i = 0; i < k; ++i) {
      const uint32_t at = static_cast<uint32_t>(words[i]);
      best[i] = values[at];
      if (plan_.index_type == ElementType::kS64) {
        static_cast<int64_t*>(call.outputs[1])[row * k + i] = at;
      } else {
        static_cast<uint32_t*>(call.outputs[1])[row * k + i] = at;
      }
    }
  }

  template <bool kLargest, typename T>
  static void Select(const T* values, int64_t count, int64_t k, WordOf<T>* words) {
    if (k <= 64 && k * 8 <= count) {
      if constexpr (std::is_same_v<T, float>) {
        SelectFewFloats(values, count, k, kLargest, words);
      } else {
        SelectFew<kLargest>(values, count, k, words);
      }
      return;
    }
    for (int64_t i = 0; i < count; ++i) words[i] = WordAt<kLargest>(values, i);
    if (k < count) std::nth_element(words, words + (k - 1), words + count);
    std::sort(words, words + k);
  }

  const TopKPlan plan_;
};

}  // namespace

std::unique_ptr<NativeOperation> MakeTopK(const TopKPlan& plan) { return std::make_unique<TopK>(plan); }

}  // namespace smelt::runtime::native
