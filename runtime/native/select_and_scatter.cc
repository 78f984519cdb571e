#include "runtime/native/select_and_scatter.h"

#include <algorithm>

#include "runtime/native/combiner.h"
#include "runtime/native/parallel.h"

namespace smelt::runtime::native {
namespace {

constexpr int64_t kLanes = 64;
constexpr int kMaxRank = 16;

template <Comparison C, typename T>
[[gnu::always_inline]] inline bool Stays(T selected, T next) {
  if constexpr (kIsSmallFloat<T>) {
    return Stays<C>(static_cast<float>(selected), static_cast<float>(next));
  } else if constexpr (C == Comparison::kLess) {
    return selected < next;
  } else if constexpr (C == Comparison::kLessEqual) {
    return selected <= next;
  } else if constexpr (C == Comparison::kGreater) {
    return selected > next;
  } else {
    return selected >= next;
  }
}

// Works on lanes along the innermost dimension where its window is one element (channels, mostly): they never meet.
class SelectAndScatter : public NativeOperation {
 public:
  explicit SelectAndScatter(const SelectAndScatterPlan& plan) : plan_(plan), outer_(plan.dimensions) {
    if (!outer_.empty() && IsTrivial(outer_.back())) {
      lanes_ = outer_.back().operand;
      outer_.pop_back();
    }
    operand_strides_.resize(outer_.size());
    for (size_t d = outer_.size(); d-- > 0;) {
      operand_strides_[d] = operand_;
      operand_ *= outer_[d].operand;
      source_ *= outer_[d].source;
      taps_ *= outer_[d].window;
    }
    // Leading dimensions without a window are independent of each other.
    while (independent_ < outer_.size() && IsTrivial(outer_[independent_])) images_ *= outer_[independent_++].operand;
    for (size_t d = independent_; d < outer_.size(); ++d) image_sources_ *= outer_[d].source;
  }

  void Run(const NativeCall& call) const override {
    VisitType(plan_.type, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (!kIsComplex<T> && !std::is_same_v<T, bool>) RunType<T>(call);
    });
  }

 private:
  using Dimension = SelectAndScatterPlan::Dimension;

  static bool IsTrivial(const Dimension& d) {
    return d.window == 1 && d.stride == 1 && d.padding_low == 0 && d.operand == d.source;
  }

  template <typename T>
  void RunType(const NativeCall& call) const {
    switch (plan_.comparison) {
      case Comparison::kLess:
        return RunBlocks<Comparison::kLess, T>(call);
      case Comparison::kLessEqual:
        return RunBlocks<Comparison::kLessEqual, T>(call);
      case Comparison::kGreater:
        return RunBlocks<Comparison::kGreater, T>(call);
      case Comparison::kGreaterEqual:
        return RunBlocks<Comparison::kGreaterEqual, T>(call);
    }
  }

  template <Comparison C, typename T>
  void RunBlocks(const NativeCall& call) const {
    const T* operand = static_cast<const T*>(call.inputs[0]);
    const T* source = static_cast<const T*>(call.inputs[1]);
    const T initial = *static_cast<const T*>(call.inputs[2]);
    T* result = static_cast<T*>(call.outputs[0]);
    if (operand_ * lanes_ == 0) return;
    const int64_t blocks = (lanes_ + kLanes - 1) / kLanes, image = operand_ / images_ * lanes_;
    // With one image, workers share its channels.
    InParallel(*call.pool, images_ * blocks, static_cast<double>(source_ * taps_ * lanes_) / 4,
               [&](int, int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t first = i % blocks * kLanes, at = i / blocks * image;
                   const int64_t count = std::min(kLanes, lanes_ - first);
                   if (blocks == 1) {
                     std::fill_n(result + at, image, initial);
                   } else {
                     for (int64_t p = first; p < image; p += lanes_) std::fill_n(result + at + p, count, initial);
                   }
                   RunImage<C>(operand + at + first, source + (i / blocks) * image_sources_ * lanes_ + first,
                               result + at + first, count);
                 }
               });
  }

  // All windows of one image, for `count` lanes of it.
  template <Comparison C, typename T>
  void RunImage(const T* operand, const T* source, T* result, int64_t count) const {
    int64_t at[kMaxRank] = {};
    const int begin = static_cast<int>(independent_), end = static_cast<int>(outer_.size());
    for (int64_t window = 0; window < image_sources_; ++window) {
      if (count == 1) {
        RunWindow<C, T, 1>(operand, source + window * lanes_, result, at, 1);
      } else {
        RunWindow<C, T, kLanes>(operand, source + window * lanes_, result, at, count);
      }
      for (int d = end - 1; d >= begin && ++at[d] == outer_[d].source; --d) at[d] = 0;
    }
  }

  template <Comparison C, typename T, int64_t kMost>
  void RunWindow(const T* operand, const T* source, T* result, const int64_t* at, int64_t count) const {
    using Tap = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
    T best[kMost];
    Tap chosen[kMost];
    int64_t places[kMaxTaps];
    int64_t inside = 0;
    // Where the window lies inside the operand, in row-major order.
    const int first_dimension = static_cast<int>(independent_), rank = static_cast<int>(outer_.size());
    int64_t w[kMaxRank] = {};
    const auto visit = [&](int64_t place) {
      const T* next = operand + place * lanes_;
      if (inside == 0) {
        for (int64_t l = 0; l < count; ++l) {
          best[l] = next[l];
          chosen[l] = 0;
        }
      } else {
        const Tap tap = static_cast<Tap>(inside);
        for (int64_t l = 0; l < count; ++l) {
          const bool stays = Stays<C>(best[l], next[l]);
          best[l] = stays ? best[l] : next[l];
          chosen[l] = stays ? chosen[l] : tap;
        }
      }
      places[inside++] = place;
    };
    for (int64_t tap = 0; tap < taps_; ++tap) {
      int64_t place = 0;
      bool fits = true;
      for (int d = first_dimension; d < rank; ++d) {
        const int64_t position = at[d] * outer_[d].stride + w[d] * outer_[d].dilation - outer_[d].padding_low;
        fits = fits && position >= 0 && position < outer_[d].operand;
        place += position * operand_strides_[d];
      }
      if (fits) visit(place);
      for (int d = rank - 1; d >= first_dimension && ++w[d] == outer_[d].window; --d) w[d] = 0;
    }
    for (int64_t tap = 0; tap < inside; ++tap) {
      T* to = result + places[tap] * lanes_;
      for (int64_t l = 0; l < count; ++l) {
        const T sum = Combined<Combiner::kAdd>(to[l], source[l]);
        to[l] = chosen[l] == static_cast<Tap>(tap) ? sum : to[l];
      }
    }
  }

 public:
  static constexpr int64_t kMaxTaps = 1024;
  bool Fits() const { return taps_ <= kMaxTaps && outer_.size() <= kMaxRank; }

 private:
  const SelectAndScatterPlan plan_;
  std::vector<Dimension> outer_;  // without the lanes
  int64_t lanes_ = 1;
  std::vector<int64_t> operand_strides_;  // in units of all lanes
  int64_t operand_ = 1, source_ = 1, taps_ = 1;
  size_t independent_ = 0;
  int64_t images_ = 1, image_sources_ = 1;
};

}  // namespace

std::unique_ptr<NativeOperation> MakeSelectAndScatter(const SelectAndScatterPlan& plan) {
  auto operation = std::make_unique<SelectAndScatter>(plan);
  if (!operation->Fits()) return nullptr;
  return operation;
}

}  // namespace smelt::runtime::native
