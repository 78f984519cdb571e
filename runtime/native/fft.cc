#include "runtime/native/fft.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "runtime/native/cpu_versions.h"
#include "runtime/native/fft_lines.h"
#include "runtime/native/fft_passes.h"
#include "runtime/native/fft_plan.h"
#include "runtime/native/parallel.h"

namespace smelt::runtime::native {

// Transforms of all lines along one dimension of an array. Lines are `inner` values apart inside one of `outer` blocks.
template <typename T>
struct FftDimension {
  // What the lines are made of before and after, where a half spectrum stands for real values.
  enum class Form : uint8_t { kComplex, kFromReal, kToReal };

  LinePlan<T> plan;  // of `length` values, or of half as many pairs where an even number of them is real
  Form form;
  bool inverse;
  int64_t length, outer, inner;
  T scale;
  Split<T> turns;  // e^(-2 pi i k / length), k <= length / 2: what joins the halves of an even number of reals
  int64_t lanes;
  int64_t rows;  // that a line needs in scratch

  bool paired() const { return form != Form::kComplex && length % 2 == 0; }
  int64_t lines() const { return outer * inner; }
  // Lines that are transformed together lie in one block.
  int64_t groups_in_block() const { return ((inner == 1 ? outer : inner) + lanes - 1) / lanes; }
  int64_t groups() const { return inner == 1 ? groups_in_block() : outer * groups_in_block(); }
  int64_t array_bytes() const { return AlignUp(rows * lanes * static_cast<int64_t>(sizeof(T))) + 5 * 64; }
};

namespace {

template <typename T>
using Form = typename FftDimension<T>::Form;

// X[k] from the transform Z of pairs, z[j] = x[2j] + i x[2j + 1]; Sorensen, Jones, Heideman, Burrus, "Real-valued fast
// Fourier transform algorithms", 1987, Section III.
template <typename T>
[[gnu::always_inline]] inline void JoinHalves(const Split<T>& turns, int64_t half, int64_t lanes, const T* zr,
                                              const T* zi, T* __restrict xr, T* __restrict xi) {
  for (int64_t k = 0; k <= half; ++k) {
    const T* ar = zr + k % half * lanes;
    const T* ai = zi + k % half * lanes;
    const T* br = zr + (half - k) % half * lanes;
    const T* bi = zi + (half - k) % half * lanes;
    const T wr = turns.re[k], wi = turns.im[k];
#pragma GCC ivdep
    for (int64_t l = 0; l < lanes; ++l) {
      const T even_r = (ar[l] + br[l]) / 2, even_i = (ai[l] - bi[l]) / 2;
      const T odd_r = (ai[l] + bi[l]) / 2, odd_i = (br[l] - ar[l]) / 2;
      xr[k * lanes + l] = even_r + (odd_r * wr - odd_i * wi);
      xi[k * lanes + l] = even_i + (odd_r * wi + odd_i * wr);
    }
  }
}

// The way back: Z[k] from X, twice as large.
template <typename T>
[[gnu::always_inline]] inline void SplitHalves(const Split<T>& turns, int64_t half, int64_t lanes, const T* xr,
                                               const T* xi, T* __restrict zr, T* __restrict zi) {
  for (int64_t k = 0; k < half; ++k) {
    const T* ar = xr + k * lanes;
    const T* ai = xi + k * lanes;
    const T* br = xr + (half - k) * lanes;
    const T* bi = xi + (half - k) * lanes;
    const T wr = turns.re[k], wi = -turns.im[k];
#pragma GCC ivdep
    for (int64_t l = 0; l < lanes; ++l) {
      const T even_r = ar[l] + br[l], even_i = ai[l] - bi[l];
      const T far_r = ar[l] - br[l], far_i = ai[l] + bi[l];
      const T odd_r = far_r * wr - far_i * wi, odd_i = far_r * wi + far_i * wr;
      zr[k * lanes + l] = even_r - odd_i;
      zi[k * lanes + l] = even_i + odd_r;
    }
  }
}

template <typename T>
[[gnu::always_inline]] inline void FromReal(const FftDimension<T>& d, const T* from, int64_t lines, Lines<T> at,
                                            T* to) {
  const int64_t n = d.length, half = n / 2, lanes = d.lanes;
  if (d.paired()) {
    LoadRows(from, n, lines, half, lanes, at.re, at.im);
    TransformLines(d.plan, lanes, &at);
    JoinHalves(d.turns, half, lanes, at.re, at.im, at.spare_re, at.spare_im);
    StoreRows(at.spare_re, at.spare_im, d.scale, 2 * (half + 1), lines, half + 1, lanes, to);
    return;
  }
  for (int64_t k = 0; k < n; ++k) {
    for (int64_t l = 0; l < lanes; ++l) {
      at.re[k * lanes + l] = l < lines ? from[l * n + k] : T{0};
      at.im[k * lanes + l] = 0;
    }
  }
  TransformLines(d.plan, lanes, &at);
  StoreRows(at.re, at.im, d.scale, 2 * (half + 1), lines, half + 1, lanes, to);
}

template <typename T>
[[gnu::always_inline]] inline void ToReal(const FftDimension<T>& d, const T* from, int64_t lines, Lines<T> at, T* to) {
  const int64_t n = d.length, half = n / 2, lanes = d.lanes;
  LoadRows(from, 2 * (half + 1), lines, half + 1, lanes, at.re, at.im);
  for (int64_t l = 0; l < lanes; ++l) at.im[l] = 0;
  if (d.paired()) {
    for (int64_t l = 0; l < lanes; ++l) at.im[half * lanes + l] = 0;
    SplitHalves(d.turns, half, lanes, at.re, at.im, at.spare_re, at.spare_im);
    // Backwards, with the parts exchanged.
    Lines<T> back{at.spare_im, at.spare_re, at.im, at.re};
    TransformLines(d.plan, lanes, &back);
    StoreRows(back.im, back.re, d.scale, n, lines, half, lanes, to);
    return;
  }
  for (int64_t k = half + 1; k < n; ++k) {
    for (int64_t l = 0; l < lanes; ++l) {
      at.re[k * lanes + l] = at.re[(n - k) * lanes + l];
      at.im[k * lanes + l] = -at.im[(n - k) * lanes + l];
    }
  }
  Lines<T> back{at.im, at.re, at.spare_im, at.spare_re};
  TransformLines(d.plan, lanes, &back);
  for (int64_t l = 0; l < lines; ++l) {
    for (int64_t k = 0; k < n; ++k) to[l * n + k] = back.im[k * lanes + l] * d.scale;
  }
}

template <typename T>
[[gnu::always_inline]] inline void RunGroups(const FftDimension<T>& d, const T* from, T* to, int64_t begin, int64_t end,
                                             char* scratch) {
  const int64_t lanes = d.lanes, bytes = d.array_bytes();
  T* const arrays[4] = {reinterpret_cast<T*>(scratch), reinterpret_cast<T*>(scratch + bytes),
                        reinterpret_cast<T*>(scratch + 2 * bytes), reinterpret_cast<T*>(scratch + 3 * bytes)};
  for (int64_t group = begin; group < end; ++group) {
    Lines<T> at{arrays[0], arrays[1], arrays[2], arrays[3]};
    const int64_t first = group % d.groups_in_block() * lanes;
    const int64_t lines = std::min(lanes, (d.inner == 1 ? d.outer : d.inner) - first);
    if (d.form == Form<T>::kFromReal) {
      FromReal(d, from + first * d.length, lines, at, to + first * 2 * (d.length / 2 + 1));
      continue;
    }
    if (d.form == Form<T>::kToReal) {
      ToReal(d, from + first * 2 * (d.length / 2 + 1), lines, at, to + first * d.length);
      continue;
    }
    // The inverse is the forward transform with real and imaginary parts exchanged.
    const auto turn = [&] {
      if (!d.inverse) return;
      std::swap(at.re, at.im);
      std::swap(at.spare_re, at.spare_im);
    };
    if (d.inner == 1) {
      const int64_t offset = first * 2 * d.length;
      LoadRows(from + offset, 2 * d.length, lines, d.length, lanes, at.re, at.im);
      turn();
      TransformLines(d.plan, lanes, &at);
      turn();
      StoreRows(at.re, at.im, d.scale, 2 * d.length, lines, d.length, lanes, to + offset);
    } else {
      const int64_t offset = 2 * (group / d.groups_in_block() * d.length * d.inner + first);
      LoadColumns(from + offset, 2 * d.inner, lines, d.length, lanes, at.re, at.im);
      turn();
      TransformLines(d.plan, lanes, &at);
      turn();
      StoreColumns(at.re, at.im, d.scale, 2 * d.inner, lines, d.length, lanes, to + offset);
    }
  }
}

}  // namespace

SMELT_FOR_EACH_VECTOR_WIDTH void RunFftGroups(const FftDimension<float>& dimension, const float* from, float* to,
                                              int64_t begin, int64_t end, char* scratch) {
  RunGroups(dimension, from, to, begin, end, scratch);
}
SMELT_FOR_EACH_VECTOR_WIDTH void RunFftGroups(const FftDimension<double>& dimension, const double* from, double* to,
                                              int64_t begin, int64_t end, char* scratch) {
  RunGroups(dimension, from, to, begin, end, scratch);
}

namespace {

// Scratch of a thread that leaves room for a kernel's tables in the second-level cache.
constexpr int64_t kScratchBytes = 512 << 10;

template <typename T>
class Fft : public NativeOperation {
 public:
  explicit Fft(const FftPlan& plan) {
    const size_t rank = plan.lengths.size();
    const bool real = plan.kind == FftKind::kRealForward || plan.kind == FftKind::kRealInverse;
    const bool inverse = plan.kind == FftKind::kInverse || plan.kind == FftKind::kRealInverse;
    std::vector<int64_t> sizes = plan.lengths;  // of the complex array
    if (real) sizes.back() = sizes.back() / 2 + 1;
    double scale = 1;
    if (inverse) {
      for (int64_t length : plan.lengths) scale /= static_cast<double>(length);
    }
    for (size_t d = 0; d < rank; ++d) {
      int64_t outer = plan.batch, inner = 1;
      for (size_t e = 0; e < d; ++e) outer *= sizes[e];
      for (size_t e = d + 1; e < rank; ++e) inner *= sizes[e];
      const bool last = d + 1 == rank;
      const Form<T> form = !(real && last)                      ? Form<T>::kComplex
                           : plan.kind == FftKind::kRealForward ? Form<T>::kFromReal
                                                                : Form<T>::kToReal;
      if (plan.lengths[d] == 1 && form == Form<T>::kComplex && rank > 1) continue;
      AddDimension(form, inverse, plan.lengths[d], outer, inner);
    }
    if (dimensions_.empty()) AddDimension(Form<T>::kComplex, inverse, 1, plan.batch, 1);
    // Forward from the last dimension on; back to reals, the last dimension comes last.
    if (plan.kind != FftKind::kRealInverse) std::reverse(dimensions_.begin(), dimensions_.end());
    dimensions_.back().scale = static_cast<T>(scale);
    if (plan.kind == FftKind::kRealInverse && dimensions_.size() > 1) {
      between_ = plan.batch * 2 * static_cast<int64_t>(sizeof(T));
      for (int64_t size : sizes) between_ *= size;
    }
    for (const FftDimension<T>& d : dimensions_) thread_bytes_ = std::max(thread_bytes_, 4 * d.array_bytes());
  }

  int64_t ScratchBytes(int threads) const override { return AlignUp(between_) + threads * thread_bytes_; }

  void Run(const NativeCall& call) const override {
    const T* from = static_cast<const T*>(call.inputs[0]);
    T* const result = static_cast<T*>(call.outputs[0]);
    for (size_t i = 0; i < dimensions_.size(); ++i) {
      const FftDimension<T>& d = dimensions_[i];
      T* to = between_ > 0 && i + 1 < dimensions_.size() ? reinterpret_cast<T*>(call.scratch) : result;
      InParallel(*call.pool, d.groups(), d.plan.flops() * static_cast<double>(d.lines()) / 16,
                 [&](int worker, int64_t begin, int64_t end) {
                   RunFftGroups(d, from, to, begin, end, call.scratch + AlignUp(between_) + worker * thread_bytes_);
                 });
      from = to;
    }
  }

 private:
  void AddDimension(Form<T> form, bool inverse, int64_t length, int64_t outer, int64_t inner) {
    const bool paired = form != Form<T>::kComplex && length % 2 == 0;
    FftDimension<T> d{LinePlan<T>(paired ? length / 2 : length), form, inverse, length, outer, inner, 1, {}, 1, 0};
    d.rows = std::max(d.plan.padded(), form == Form<T>::kComplex ? length : length / 2 + 1);
    if (!paired && form != Form<T>::kComplex) d.rows = std::max(d.rows, length);
    for (int64_t k = 0; paired && k <= length / 2; ++k) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(length);
      d.turns.re.push_back(static_cast<T>(std::cos(angle)));
      d.turns.im.push_back(static_cast<T>(-std::sin(angle)));
    }
    // Two vectors of 32 bytes, or one of 64; fewer where there are no more lines, or scratch would grow too large.
    const int64_t beside = inner == 1 ? outer : inner;
    const int64_t widest = 64 / static_cast<int64_t>(sizeof(T));
    while (d.lanes < widest && d.lanes < beside) d.lanes *= 2;
    while (d.lanes > Square<T>::N && 4 * d.array_bytes() > kScratchBytes) d.lanes /= 2;
    dimensions_.push_back(std::move(d));
  }

  std::vector<FftDimension<T>> dimensions_;  // in the order in which they are transformed
  int64_t between_ = 0;                      // bytes of the half spectrum between two dimensions
  int64_t thread_bytes_ = 0;
};

}  // namespace

std::unique_ptr<NativeOperation> MakeFft(const FftPlan& plan) {
  if (plan.f64) return std::make_unique<Fft<double>>(plan);
  return std::make_unique<Fft<float>>(plan);
}

}  // namespace smelt::runtime::native
