#include "runtime/native/scatter.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "runtime/native/combiner.h"
#include "runtime/native/cpu_versions.h"
#include "runtime/native/parallel.h"

namespace smelt::runtime::native {

// One window: rows that are contiguous on both sides, `count` of them at fixed distances, and an odometer over the
// rest.
struct ScatterWindow {
  std::vector<int64_t> sizes, update_strides, operand_strides;  // outside the rows and their last dimension
  int64_t count = 1, update_stride = 0, operand_stride = 0;
  int64_t row = 1;
  int64_t elements = 1;
  int64_t apart = 0;  // elements of the array from one row to the nearest other one
};

// Elements that a worker may touch.
struct ElementRange {
  int64_t begin, end;
};

namespace {

constexpr int kMostDimensions = 64;
constexpr int64_t kWindows = 256;  // windows whose places are found before they are combined

bool Contains(const std::vector<int64_t>& list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

std::vector<int64_t> StridesOf(const std::vector<int64_t>& dimensions) {
  std::vector<int64_t> strides(dimensions.size());
  int64_t stride = 1;
  for (size_t d = dimensions.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= dimensions[d];
  }
  return strides;
}

template <Combiner C, typename T>
[[gnu::always_inline]] inline void CombineRow(const T* __restrict from, T* __restrict to, int64_t count) {
  if constexpr (C == Combiner::kReplace) {
    std::memcpy(static_cast<void*>(to), from, static_cast<size_t>(count) * sizeof(T));
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = CombinedInRow<C>(to[i], from[i]);
  }
}

// Rows of `row` elements, as many as the window has.
template <Combiner C, typename T>
[[gnu::always_inline]] inline void CombineRows(const ScatterWindow& walk, int64_t row, const T* from, int64_t offset,
                                               ElementRange range, T* array) {
  for (int64_t i = 0; i < walk.count; ++i, offset += walk.operand_stride, from += walk.update_stride) {
    const int64_t begin = std::max(offset, range.begin), end = std::min(offset + row, range.end);
    if (begin >= end) continue;
    if (row == 1) {
      array[offset] = Combined<C>(array[offset], *from);
    } else {
      CombineRow<C>(from + (begin - offset), array + begin, end - begin);
    }
  }
}

// How many windows, whose elements all lie apart, begin beside each other on both sides, so that their elements of one
// place are a row: frames of several signals at a time. No two of the windows share an element, so that the order of
// the updates of each stays.
inline int64_t WindowsInARow(const ScatterWindow& walk, const int64_t* offsets, const int64_t* from, int64_t windows) {
  int64_t n = 1;
  if (walk.row > 1) return n;
  windows = std::min(windows, walk.apart);
  while (n < windows && offsets[n] == offsets[0] + n && from[n] == from[0] + n) ++n;
  return n;
}

// Windows at offsets[i] of the array, -1 for those outside, from updates at from[i].
template <Combiner C, typename T>
[[gnu::always_inline]] inline void CombineWindows(const ScatterWindow& walk, const int64_t* offsets,
                                                  const int64_t* from, int64_t windows, ElementRange range,
                                                  const T* updates, T* array) {
  if (walk.elements == 1) {
    for (int64_t i = 0; i < windows; ++i) {
      if (offsets[i] < range.begin || offsets[i] >= range.end) continue;
      array[offsets[i]] = Combined<C>(array[offsets[i]], updates[from[i]]);
    }
    return;
  }
  if (walk.elements == walk.row) {
    for (int64_t i = 0; i < windows; ++i) {
      const int64_t begin = std::max(offsets[i], range.begin), end = std::min(offsets[i] + walk.row, range.end);
      if (offsets[i] < 0 || begin >= end) continue;
      CombineRow<C>(updates + from[i] + (begin - offsets[i]), array + begin, end - begin);
    }
    return;
  }
  const int rank = static_cast<int>(walk.sizes.size());
  for (int64_t i = 0, together = 1; i < windows; i += together) {
    together = offsets[i] < 0 ? 1 : WindowsInARow(walk, offsets + i, from + i, windows - i);
    if (offsets[i] < 0) continue;
    int64_t at[kMostDimensions] = {};
    int64_t offset = offsets[i];
    const T* source = updates + from[i];
    while (true) {
      CombineRows<C>(walk, walk.row * together, source, offset, range, array);
      int d = rank - 1;
      for (; d >= 0; --d) {
        offset += walk.operand_strides[d];
        source += walk.update_strides[d];
        if (++at[d] < walk.sizes[d]) break;
        offset -= walk.operand_strides[d] * walk.sizes[d];
        source -= walk.update_strides[d] * walk.sizes[d];
        at[d] = 0;
      }
      if (d < 0) break;
    }
  }
}

// Windows that follow each other along one dimension of the list of indices, and one component of their indices.
struct PlaceRun {
  int64_t first, stride;  // where it is read
  int64_t count;
  int64_t limit;  // the last place where a window fits
  int64_t step;   // elements that a window moves for one more
};

// numbers[i] = first + i * step. Kept apart, as MovePlaces is: what is written could be any member of a class.
void FillSteps(int64_t first, int64_t step, int64_t count, int64_t* numbers) {
  for (int64_t i = 0; i < count; ++i, first += step) numbers[i] = first;
}

// What an index says, without a sign: negative ones are beyond every limit, and products of wild ones may wrap around.
template <typename Index>
uint64_t Unsigned(Index index) {
  return static_cast<uint64_t>(static_cast<int64_t>(index));
}

// Moves each window by what the component says; what lies beyond the limit is outside.
template <typename Index>
void MovePlaces(const Index* starts, const PlaceRun run, int64_t* __restrict offsets, uint8_t* __restrict outside) {
  starts += run.first;
  for (int64_t i = 0; i < run.count; ++i) {
    const uint64_t start = Unsigned(starts[i * run.stride]);
    outside[i] |= start > static_cast<uint64_t>(run.limit);
    offsets[i] = static_cast<int64_t>(static_cast<uint64_t>(offsets[i]) + start * static_cast<uint64_t>(run.step));
  }
}

constexpr int64_t kRun = 16;
constexpr int64_t kMostAtOnce = 512;  // places that are taken one by one before it is looked again for a run

// How many of `count` numbers follow each other by one from the first on: a multiple of kRun, 0 where it is fewer.
int64_t Consecutive(const int32_t* numbers, int64_t count) {
  int64_t n = 0;
  for (; n + kRun <= count; n += kRun) {
    // The last one alone shows nearly always that they do not.
    if (int64_t{numbers[n + kRun - 1]} - numbers[0] != n + kRun - 1) break;
    uint32_t apart = 0;
    for (int64_t k = 0; k < kRun; ++k) {
      apart |=
          (static_cast<uint32_t>(numbers[n + k]) - static_cast<uint32_t>(numbers[0])) ^ static_cast<uint32_t>(n + k);
    }
    if (apart != 0) break;
  }
  return n;
}

// The usual histogram: windows of one element at `place`, moved by one component, in one pass.
template <Combiner C, typename T>
void CombineElements(const int32_t* starts, const PlaceRun run, int64_t place, ElementRange range,
                     const T* __restrict updates, int64_t update_stride, T* __restrict array) {
  starts += run.first;
  const uint64_t limit = static_cast<uint64_t>(run.limit);
  // Places of a part of the array, so that one comparison says whether they are in it; wild ones wrap around.
  const uint64_t first = static_cast<uint64_t>(range.begin - place),
                 count = static_cast<uint64_t>(range.end - range.begin);
  const auto combine = [=](uint64_t offset, int64_t i) {
    T& element = array[place + static_cast<int64_t>(offset)];
    element = Combined<C>(element, updates[i * update_stride]);
  };
  const auto offset_of = [=](uint64_t start) { return start * static_cast<uint64_t>(run.step); };
  // One worker has the whole array: whatever fits is in it.
  const bool has_all = range.begin <= place && offset_of(limit) - first < count;
  const auto one_by_one = [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; has_all && i < end; ++i) {
      if (const uint64_t start = Unsigned(starts[i * run.stride]); start <= limit) combine(offset_of(start), i);
    }
    for (int64_t i = begin; !has_all && i < end; ++i) {
      const uint64_t start = Unsigned(starts[i * run.stride]), offset = offset_of(start);
      if (start <= limit && offset - first < count) combine(offset, i);
    }
  };
  // Frames of a signal that are added up where they overlap: elements beside each other whose places are so as well.
  const bool beside = run.stride == 1 && run.step == 1 && update_stride == 1;
  if (!beside) return one_by_one(0, run.count);
  for (int64_t i = 0; i < run.count;) {
    int64_t next = i, n = 0;  // a run of n begins there
    for (int64_t step = kRun; next < run.count; next += step, step = std::min(2 * step, kMostAtOnce)) {
      if ((n = Consecutive(starts + next, run.count - next)) > 0) break;
    }
    next = std::min(next, run.count);
    one_by_one(i, next);
    const int64_t from = n > 0 ? starts[next] : 0;
    const int64_t begin = std::max({from, int64_t{0}, range.begin - place});
    const int64_t end = std::min({from + n, run.limit + 1, range.end - place});
    if (begin < end) CombineRow<C>(updates + next + (begin - from), array + place + begin, end - begin);
    i = next + n;
  }
}

}  // namespace

// Sums are what gradients of embeddings and of graphs are made of, maxima what attention over edges begins with.
SMELT_FOR_EACH_VECTOR_WIDTH void AddWindows(const ScatterWindow& walk, const int64_t* offsets, const int64_t* from,
                                            int64_t windows, ElementRange range, const float* updates, float* array) {
  CombineWindows<Combiner::kAdd>(walk, offsets, from, windows, range, updates, array);
}
SMELT_FOR_EACH_VECTOR_WIDTH void AddWindows(const ScatterWindow& walk, const int64_t* offsets, const int64_t* from,
                                            int64_t windows, ElementRange range, const double* updates, double* array) {
  CombineWindows<Combiner::kAdd>(walk, offsets, from, windows, range, updates, array);
}
SMELT_FOR_EACH_VECTOR_WIDTH void MaximizeWindows(const ScatterWindow& walk, const int64_t* offsets, const int64_t* from,
                                                 int64_t windows, ElementRange range, const float* updates,
                                                 float* array) {
  CombineWindows<Combiner::kMaximum>(walk, offsets, from, windows, range, updates, array);
}
SMELT_FOR_EACH_VECTOR_WIDTH void MinimizeWindows(const ScatterWindow& walk, const int64_t* offsets, const int64_t* from,
                                                 int64_t windows, ElementRange range, const float* updates,
                                                 float* array) {
  CombineWindows<Combiner::kMinimum>(walk, offsets, from, windows, range, updates, array);
}

namespace {

// How an array is combined with updates.
struct CombineFunctions {
  void (*windows)(const ScatterWindow&, const int64_t*, const int64_t*, int64_t, ElementRange, const void*,
                  void*) = nullptr;
  // Updates begin at the first of the two numbers, and lie the second one apart.
  void (*elements)(const int32_t*, PlaceRun, int64_t, ElementRange, const void*, int64_t, int64_t, void*) = nullptr;
};

template <Combiner C>
CombineFunctions FunctionsFor(ElementType type) {
  return VisitType(type, [](auto zero) -> CombineFunctions {
    using T = decltype(zero);
    CombineFunctions functions;
    if constexpr (kCombines<C, T>) {
      functions.windows = [](const ScatterWindow& walk, const int64_t* offsets, const int64_t* from, int64_t windows,
                             ElementRange range, const void* updates, void* array) {
        const T* source = static_cast<const T*>(updates);
        if constexpr (C == Combiner::kAdd && std::is_floating_point_v<T>) {
          AddWindows(walk, offsets, from, windows, range, source, static_cast<T*>(array));
        } else if constexpr (C == Combiner::kMaximum && std::is_same_v<T, float>) {
          MaximizeWindows(walk, offsets, from, windows, range, source, static_cast<T*>(array));
        } else if constexpr (C == Combiner::kMinimum && std::is_same_v<T, float>) {
          MinimizeWindows(walk, offsets, from, windows, range, source, static_cast<T*>(array));
        } else {
          CombineWindows<C>(walk, offsets, from, windows, range, source, static_cast<T*>(array));
        }
      };
      functions.elements = [](const int32_t* starts, PlaceRun run, int64_t place, ElementRange range,
                              const void* updates, int64_t first, int64_t stride, void* array) {
        CombineElements<C>(starts, run, place, range, static_cast<const T*>(updates) + first, stride,
                           static_cast<T*>(array));
      };
    }
    return functions;
  });
}

CombineFunctions FunctionsFor(Combiner combiner, ElementType type) {
  switch (combiner) {
    case Combiner::kReplace:
      return FunctionsFor<Combiner::kReplace>(type);
    case Combiner::kAdd:
      return FunctionsFor<Combiner::kAdd>(type);
    case Combiner::kMultiply:
      return FunctionsFor<Combiner::kMultiply>(type);
    case Combiner::kMinimum:
      return FunctionsFor<Combiner::kMinimum>(type);
    case Combiner::kMaximum:
      return FunctionsFor<Combiner::kMaximum>(type);
    case Combiner::kAnd:
      return FunctionsFor<Combiner::kAnd>(type);
    case Combiner::kOr:
      return FunctionsFor<Combiner::kOr>(type);
    default:
      return FunctionsFor<Combiner::kXor>(type);
  }
}

using MovePlacesFunction = void (*)(const void*, PlaceRun, int64_t*, uint8_t*);

// Indices are integers.
MovePlacesFunction MovePlacesBy(ElementType type) {
  return VisitType(type, [](auto zero) -> MovePlacesFunction {
    using Index = std::conditional_t<std::is_integral_v<decltype(zero)>, decltype(zero), int64_t>;
    return [](const void* indices, PlaceRun run, int64_t* offsets, uint8_t* outside) {
      MovePlaces(static_cast<const Index*>(indices), run, offsets, outside);
    };
  });
}

class Scatter : public NativeOperation {
 public:
  explicit Scatter(const ScatterPlan& plan)
      : plan_(plan), operand_strides_(StridesOf(plan.operand)), move_places_(MovePlacesBy(plan.index_type)) {
    MakeWindow();
    MakeList();
    for (const ScatterPlan::Array& array : plan.arrays) functions_.push_back(FunctionsFor(array.combiner, array.type));
    for (int64_t size : plan.operand) elements_ *= size;
  }

  void Run(const NativeCall& call) const override {
    if (windows_ == 0 || walk_.elements == 0) return;
    const double work = static_cast<double>(windows_) * (4 + static_cast<double>(walk_.elements) / 2);
    if (plan_.unique_indices) {
      InParallel(*call.pool, windows_, work, [&](int, int64_t begin, int64_t end) {
        RunWindows(call, begin, end, {0, elements_});
      });
      return;
    }
    // Every worker looks at all windows and combines what falls into its part of the array, in order.
    const int64_t parts = std::min<int64_t>(call.pool->threads(), elements_);
    InParallel(*call.pool, parts, windows_ < 4 * walk_.elements ? work : work / 4,
               [&](int, int64_t begin, int64_t end) {
                 RunWindows(call, 0, windows_, {elements_ * begin / parts, elements_ * end / parts});
               });
  }

 private:
  // Operand dimensions that are neither inserted nor batching take the update window dimensions in order.
  void MakeWindow() {
    const std::vector<int64_t> update_strides = StridesOf(plan_.updates);
    limits_ = plan_.operand;
    size_t next = 0;
    for (size_t d = 0; d < plan_.operand.size(); ++d) {
      int64_t extent = 1;
      const int64_t dimension = static_cast<int64_t>(d);
      if (!Contains(plan_.inserted_window_dims, dimension) && !Contains(plan_.input_batching_dims, dimension)) {
        const int64_t u = plan_.update_window_dims[next++];
        extent = plan_.updates[u];
        if (extent != 1) {
          walk_.sizes.push_back(extent);
          walk_.update_strides.push_back(update_strides[u]);
          walk_.operand_strides.push_back(operand_strides_[d]);
        }
      }
      walk_.elements *= extent;
      limits_[d] -= extent;  // the last place where the window fits
      if (limits_[d] < 0) windows_ = 0;
    }
    const auto take = [](std::vector<int64_t>* list) {
      const int64_t last = list->back();
      list->pop_back();
      return last;
    };
    while (!walk_.sizes.empty() && walk_.update_strides.back() == walk_.row &&
           walk_.operand_strides.back() == walk_.row) {
      walk_.row *= take(&walk_.sizes);
      walk_.update_strides.pop_back();
      walk_.operand_strides.pop_back();
    }
    if (walk_.sizes.empty()) return;
    walk_.apart = *std::min_element(walk_.operand_strides.begin(), walk_.operand_strides.end());
    walk_.count = take(&walk_.sizes);
    walk_.update_stride = take(&walk_.update_strides);
    walk_.operand_stride = take(&walk_.operand_strides);
  }

  // Update dimensions that are no window dimensions follow the indices', index_vector_dim left out.
  void MakeList() {
    const std::vector<int64_t> index_strides = StridesOf(plan_.indices), update_strides = StridesOf(plan_.updates);
    const int64_t rank = static_cast<int64_t>(plan_.indices.size());
    std::vector<int64_t> place(plan_.indices.size() + 1, -1);
    int64_t u = 0;
    for (int64_t d = 0; d < rank; ++d) {
      if (d == plan_.index_vector_dim) continue;
      while (Contains(plan_.update_window_dims, u)) ++u;
      place[d] = static_cast<int64_t>(list_.size());
      list_.push_back({plan_.updates[u], index_strides[d], update_strides[u], 0});
      windows_ *= plan_.updates[u++];
    }
    // A batching dimension of the operand moves with its place in the list; the window always fits there.
    for (size_t i = 0; i < plan_.input_batching_dims.size(); ++i) {
      list_[place[plan_.scatter_indices_batching_dims[i]]].operand_stride +=
          operand_strides_[plan_.input_batching_dims[i]];
    }
    MergeList();
    component_stride_ = plan_.index_vector_dim < rank ? index_strides[plan_.index_vector_dim] : 0;
  }

  // Long runs are quicker to find the places of: dimensions that go on where the next ones end are one with them.
  void MergeList() {
    std::vector<ListDimension> merged;
    for (const ListDimension& next : list_) {
      if (next.size == 1) continue;
      const auto goes_on = [&](int64_t ListDimension::*stride) {
        return merged.back().*stride == next.*stride * next.size;
      };
      if (!merged.empty() && goes_on(&ListDimension::index_stride) && goes_on(&ListDimension::update_stride) &&
          goes_on(&ListDimension::operand_stride)) {
        const int64_t outer = merged.back().size;
        merged.back() = next;
        merged.back().size *= outer;
      } else {
        merged.push_back(next);
      }
    }
    if (merged.empty()) merged.push_back({1, 0, 0, 0});
    list_ = std::move(merged);
  }

  void RunWindows(const NativeCall& call, int64_t begin, int64_t end, ElementRange range) const {
    const int rank = static_cast<int>(list_.size());
    int64_t at[kMostDimensions] = {};
    int64_t index = 0, update = 0, operand = 0;
    int64_t rest = begin;
    for (int d = rank - 1; d >= 0; --d) {
      at[d] = rest % list_[d].size;
      rest /= list_[d].size;
      index += at[d] * list_[d].index_stride;
      update += at[d] * list_[d].update_stride;
      operand += at[d] * list_[d].operand_stride;
    }
    const auto advance = [&](int64_t steps) {  // along the last dimension, at most to its end
      for (int d = rank - 1; d >= 0; --d, steps = 1) {
        index += list_[d].index_stride * steps;
        update += list_[d].update_stride * steps;
        operand += list_[d].operand_stride * steps;
        if ((at[d] += steps) < list_[d].size) break;
        index -= list_[d].index_stride * list_[d].size;
        update -= list_[d].update_stride * list_[d].size;
        operand -= list_[d].operand_stride * list_[d].size;
        at[d] = 0;
      }
    };
    const ListDimension& last = list_.back();
    if (IsHistogram()) {
      for (int64_t run; begin < end; begin += run, advance(run)) {
        run = std::min(end - begin, last.size - at[rank - 1]);
        const PlaceRun places = RunOf(index, run, plan_.scatter_dims_to_operand_dims[0]);
        for (size_t a = 0; a < functions_.size(); ++a) {
          functions_[a].elements(static_cast<const int32_t*>(call.inputs[0]), places, operand, range,
                                 call.inputs[1 + a], update, last.update_stride, call.outputs[a]);
        }
      }
      return;
    }
    int64_t offsets[kWindows], from[kWindows];
    for (; begin < end; begin += kWindows) {
      const int64_t count = std::min(kWindows, end - begin);
      for (int64_t i = 0, run; i < count; i += run, advance(run)) {
        run = std::min(count - i, last.size - at[rank - 1]);
        FindPlaces(call.inputs[0], index, operand, run, offsets + i);
        FillSteps(update, last.update_stride, run, from + i);
      }
      for (size_t a = 0; a < functions_.size(); ++a) {
        functions_[a].windows(walk_, offsets, from, count, range, call.inputs[1 + a], call.outputs[a]);
      }
    }
  }

  // Windows of one element that one component of the usual type places.
  bool IsHistogram() const {
    return walk_.elements == 1 && plan_.scatter_dims_to_operand_dims.size() == 1 &&
           plan_.index_type == ElementType::kS32 && list_.back().operand_stride == 0;
  }

  PlaceRun RunOf(int64_t index, int64_t count, int64_t dimension) const {
    return {index, list_.back().index_stride, count, limits_[dimension], operand_strides_[dimension]};
  }

  // The elements at which `count` windows along the list's last dimension begin, or -1 where one does not fit.
  void FindPlaces(const void* indices, int64_t index, int64_t operand, int64_t count, int64_t* offsets) const {
    FillSteps(operand, list_.back().operand_stride, count, offsets);
    uint8_t outside[kWindows];
    std::memset(outside, 0, static_cast<size_t>(count));
    for (int64_t dimension : plan_.scatter_dims_to_operand_dims) {
      move_places_(indices, RunOf(index, count, dimension), offsets, outside);
      index += component_stride_;
    }
    for (int64_t i = 0; i < count; ++i) offsets[i] = outside[i] ? -1 : offsets[i];
  }

  struct ListDimension {
    int64_t size, index_stride, update_stride, operand_stride;
  };

  const ScatterPlan plan_;
  const std::vector<int64_t> operand_strides_;
  const MovePlacesFunction move_places_;
  std::vector<int64_t> limits_;
  ScatterWindow walk_;
  std::vector<ListDimension> list_;
  int64_t windows_ = 1, elements_ = 1, component_stride_ = 0;
  std::vector<CombineFunctions> functions_;
};

}  // namespace

bool Combines(Combiner combiner, ElementType type) { return FunctionsFor(combiner, type).windows != nullptr; }

std::unique_ptr<NativeOperation> MakeScatter(const ScatterPlan& plan) { return std::make_unique<Scatter>(plan); }

}  // namespace smelt::runtime::native
