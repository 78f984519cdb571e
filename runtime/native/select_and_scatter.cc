#include "runtime/native/select_and_scatter.h"

#include <algorithm>

#include "runtime/native/combiner.h"
#include "runtime/native/cpu_versions.h"
#include "runtime/native/parallel.h"

namespace smelt::runtime::native {
namespace {

constexpr int64_t kLanesAtOnce = 256;  // that a worker takes at once
constexpr int kMaxRank = 16;
constexpr int64_t kMaxTaps = 1024;

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

template <typename T>
using TapOf = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;

// kBytes of lanes at once. `places`: the elements inside the window, in row-major order.
template <Comparison C, int kBytes, typename T>
[[gnu::always_inline]] inline void SelectVector(const T* operand, const T* source, const int64_t* places, int64_t count,
                                                T* result) {
  typedef T Lanes __attribute__((vector_size(kBytes), aligned(sizeof(T)), may_alias));
  typedef TapOf<T> Taps __attribute__((vector_size(kBytes)));
  Lanes best = *reinterpret_cast<const Lanes*>(operand + places[0]);
  Taps chosen = {};
  for (int64_t tap = 1; tap < count; ++tap) {
    const Lanes next = *reinterpret_cast<const Lanes*>(operand + places[tap]);
    Taps stays;
    if constexpr (C == Comparison::kLess) stays = best < next;
    if constexpr (C == Comparison::kLessEqual) stays = best <= next;
    if constexpr (C == Comparison::kGreater) stays = best > next;
    if constexpr (C == Comparison::kGreaterEqual) stays = best >= next;
    best = stays ? best : next;
    chosen = stays ? chosen : Taps{} + static_cast<TapOf<T>>(tap);
  }
  const Lanes update = *reinterpret_cast<const Lanes*>(source);
  for (int64_t tap = 0; tap < count; ++tap) {
    const Lanes old = *reinterpret_cast<const Lanes*>(result + places[tap]);
    *reinterpret_cast<Lanes*>(result + places[tap]) = chosen == static_cast<TapOf<T>>(tap) ? old + update : old;
  }
}

// One window for all lanes.
template <Comparison C, typename T>
[[gnu::always_inline]] inline void SelectLanes(const T* operand, const T* source, const int64_t* places, int64_t count,
                                               int64_t lanes, T* result) {
  int64_t l = 0;
  if constexpr (std::is_floating_point_v<T>) {
    constexpr int64_t kWide = 64 / sizeof(T);
    for (; l + kWide <= lanes; l += kWide) SelectVector<C, 64>(operand + l, source + l, places, count, result + l);
    for (; l + kWide / 4 <= lanes; l += kWide / 4)
      SelectVector<C, 16>(operand + l, source + l, places, count, result + l);
  }
  for (; l < lanes; ++l) {
    T best = operand[places[0] + l];
    int64_t chosen = places[0];
    for (int64_t tap = 1; tap < count; ++tap) {
      const T next = operand[places[tap] + l];
      const bool stays = Stays<C>(best, next);
      best = stays ? best : next;
      chosen = stays ? chosen : places[tap];
    }
    T& to = result[chosen + l];
    to = Combined<Combiner::kAdd>(to, source[l]);
  }
}

template <typename T>
[[gnu::always_inline]] inline void SelectAny(Comparison comparison, const T* operand, const T* source,
                                             const int64_t* places, int64_t count, int64_t lanes, T* result) {
  switch (comparison) {
    case Comparison::kLess:
      return SelectLanes<Comparison::kLess>(operand, source, places, count, lanes, result);
    case Comparison::kLessEqual:
      return SelectLanes<Comparison::kLessEqual>(operand, source, places, count, lanes, result);
    case Comparison::kGreater:
      return SelectLanes<Comparison::kGreater>(operand, source, places, count, lanes, result);
    case Comparison::kGreaterEqual:
      return SelectLanes<Comparison::kGreaterEqual>(operand, source, places, count, lanes, result);
  }
}

}  // namespace

SMELT_FOR_EACH_VECTOR_WIDTH void SelectFloats(Comparison comparison, const float* operand, const float* source,
                                              const int64_t* places, int64_t count, int64_t lanes, float* result) {
  SelectAny(comparison, operand, source, places, count, lanes, result);
}
SMELT_FOR_EACH_VECTOR_WIDTH void SelectFloats(Comparison comparison, const double* operand, const double* source,
                                              const int64_t* places, int64_t count, int64_t lanes, double* result) {
  SelectAny(comparison, operand, source, places, count, lanes, result);
}

namespace {

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
    for (int64_t tap = 0; Fits() && tap < taps_; ++tap) {
      int64_t offset = 0, rest = tap;
      for (size_t d = outer_.size(); d-- > independent_; rest /= outer_[d].window)
        offset += rest % outer_[d].window * outer_[d].dilation * operand_strides_[d];
      offsets_.push_back(offset);
    }
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
    const T* operand = static_cast<const T*>(call.inputs[0]);
    const T* source = static_cast<const T*>(call.inputs[1]);
    const T initial = *static_cast<const T*>(call.inputs[2]);
    T* result = static_cast<T*>(call.outputs[0]);
    if (operand_ * lanes_ == 0) return;
    const int64_t blocks = (lanes_ + kLanesAtOnce - 1) / kLanesAtOnce, image = operand_ / images_ * lanes_;
    // Workers share the channels of a single image.
    InParallel(*call.pool, images_ * blocks, static_cast<double>(source_ * taps_ * lanes_) / 8,
               [&](int, int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t first = i % blocks * kLanesAtOnce, at = i / blocks * image;
                   const int64_t count = std::min(kLanesAtOnce, lanes_ - first);
                   for (int64_t p = first; p < image; p += blocks == 1 ? image : lanes_)
                     std::fill_n(result + at + p, blocks == 1 ? image : count, initial);
                   RunImage(operand + at + first, source + i / blocks * image_sources_ * lanes_ + first,
                            result + at + first, count);
                 }
               });
  }

  // All windows of one image, for `count` lanes of it.
  template <typename T>
  void RunImage(const T* operand, const T* source, T* result, int64_t count) const {
    int64_t at[kMaxRank] = {}, places[kMaxTaps];
    const int begin = static_cast<int>(independent_), end = static_cast<int>(outer_.size());
    for (int64_t window = 0; window < image_sources_; ++window) {
      const int64_t inside = FindPlaces(at, places);
      if (inside > 0) {
        if constexpr (std::is_floating_point_v<T>) {
          SelectFloats(plan_.comparison, operand, source + window * lanes_, places, inside, count, result);
        } else {
          SelectAny(plan_.comparison, operand, source + window * lanes_, places, inside, count, result);
        }
      }
      for (int d = end - 1; d >= begin && ++at[d] == outer_[d].source; --d) at[d] = 0;
    }
  }

  // The elements of the window at `at` that lie inside an image, in row-major order.
  int64_t FindPlaces(const int64_t* at, int64_t* places) const {
    const int begin = static_cast<int>(independent_), rank = static_cast<int>(outer_.size());
    int64_t base = 0, corner[kMaxRank];
    bool whole = true;
    for (int d = begin; d < rank; ++d) {
      corner[d] = at[d] * outer_[d].stride - outer_[d].padding_low;
      base += corner[d] * operand_strides_[d];
      whole = whole && corner[d] >= 0 && corner[d] + (outer_[d].window - 1) * outer_[d].dilation < outer_[d].operand;
    }
    if (whole) {
      for (int64_t tap = 0; tap < taps_; ++tap) places[tap] = (base + offsets_[tap]) * lanes_;
      return taps_;
    }
    int64_t inside = 0, w[kMaxRank] = {};
    for (int64_t tap = 0; tap < taps_; ++tap) {
      bool fits = true;
      for (int d = begin; d < rank; ++d) {
        const int64_t position = corner[d] + w[d] * outer_[d].dilation;
        fits = fits && position >= 0 && position < outer_[d].operand;
      }
      if (fits) places[inside++] = (base + offsets_[tap]) * lanes_;
      for (int d = rank - 1; d >= begin && ++w[d] == outer_[d].window; --d) w[d] = 0;
    }
    return inside;
  }

 public:
  bool Fits() const { return taps_ <= kMaxTaps && outer_.size() <= kMaxRank; }

 private:
  const SelectAndScatterPlan plan_;
  std::vector<Dimension> outer_;  // without the lanes
  int64_t lanes_ = 1;
  std::vector<int64_t> operand_strides_;  // in units of all lanes
  std::vector<int64_t> offsets_;          // of a window's elements from its first, in units of all lanes
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
