#include "runtime/native/fft_passes.h"

#include <utility>

#include "runtime/native/cpu_versions.h"

namespace smelt::runtime::native {
namespace {

// Sums of cosines and sines of a radix without a shorter way: cos and -sin of 2 pi k / radix.
template <int R>
struct RootsOf;
template <>
struct RootsOf<7> {
  static constexpr double kCos[] = {1, 0.62348980185873353053, -0.22252093395631440429, -0.90096886790241912624};
  static constexpr double kSin[] = {0, 0.78183148246802980871, 0.97492791218182360702, 0.43388373911755812048};
};

// b[u] = sum of a[t] w^(t u), in place.
template <int R, typename T>
[[gnu::always_inline]] inline void Butterfly(T* re, T* im) {
  if constexpr (R == 2) {
    const T r = re[0] - re[1], i = im[0] - im[1];
    re[0] += re[1];
    im[0] += im[1];
    re[1] = r;
    im[1] = i;
  } else if constexpr (R == 4) {
    const T s0r = re[0] + re[2], s0i = im[0] + im[2], d0r = re[0] - re[2], d0i = im[0] - im[2];
    const T s1r = re[1] + re[3], s1i = im[1] + im[3], d1r = re[1] - re[3], d1i = im[1] - im[3];
    re[0] = s0r + s1r;
    im[0] = s0i + s1i;
    re[2] = s0r - s1r;
    im[2] = s0i - s1i;
    re[1] = d0r + d1i;
    im[1] = d0i - d1r;
    re[3] = d0r - d1i;
    im[3] = d0i + d1r;
  } else if constexpr (R == 8) {
    T er[4] = {re[0], re[2], re[4], re[6]}, ei[4] = {im[0], im[2], im[4], im[6]};
    T odd_r[4] = {re[1], re[3], re[5], re[7]}, odd_i[4] = {im[1], im[3], im[5], im[7]};
    Butterfly<4>(er, ei);
    Butterfly<4>(odd_r, odd_i);
    constexpr T kHalf = static_cast<T>(0.70710678118654752440);
    // Times w^u of an eighth of a turn.
    const T wr[4] = {odd_r[0], kHalf * (odd_r[1] + odd_i[1]), odd_i[2], kHalf * (odd_i[3] - odd_r[3])};
    const T wi[4] = {odd_i[0], kHalf * (odd_i[1] - odd_r[1]), -odd_r[2], -kHalf * (odd_i[3] + odd_r[3])};
    for (int u = 0; u < 4; ++u) {
      re[u] = er[u] + wr[u];
      im[u] = ei[u] + wi[u];
      re[u + 4] = er[u] - wr[u];
      im[u + 4] = ei[u] - wi[u];
    }
  } else if constexpr (R == 3) {
    constexpr T kSin = static_cast<T>(0.86602540378443864676);
    const T sr = re[1] + re[2], si = im[1] + im[2], dr = kSin * (re[1] - re[2]), di = kSin * (im[1] - im[2]);
    const T mr = re[0] - sr / 2, mi = im[0] - si / 2;
    re[0] += sr;
    im[0] += si;
    re[1] = mr + di;
    im[1] = mi - dr;
    re[2] = mr - di;
    im[2] = mi + dr;
  } else if constexpr (R == 5) {
    constexpr T kCos1 = static_cast<T>(0.30901699437494742410), kCos2 = static_cast<T>(-0.80901699437494742410);
    constexpr T kSin1 = static_cast<T>(0.95105651629515357212), kSin2 = static_cast<T>(0.58778525229247312917);
    const T s1r = re[1] + re[4], s1i = im[1] + im[4], d1r = re[1] - re[4], d1i = im[1] - im[4];
    const T s2r = re[2] + re[3], s2i = im[2] + im[3], d2r = re[2] - re[3], d2i = im[2] - im[3];
    const T m1r = re[0] + kCos1 * s1r + kCos2 * s2r, m1i = im[0] + kCos1 * s1i + kCos2 * s2i;
    const T m2r = re[0] + kCos2 * s1r + kCos1 * s2r, m2i = im[0] + kCos2 * s1i + kCos1 * s2i;
    const T n1r = kSin1 * d1r + kSin2 * d2r, n1i = kSin1 * d1i + kSin2 * d2i;
    const T n2r = kSin2 * d1r - kSin1 * d2r, n2i = kSin2 * d1i - kSin1 * d2i;
    re[0] += s1r + s2r;
    im[0] += s1i + s2i;
    re[1] = m1r + n1i;
    im[1] = m1i - n1r;
    re[4] = m1r - n1i;
    im[4] = m1i + n1r;
    re[2] = m2r + n2i;
    im[2] = m2i - n2r;
    re[3] = m2r - n2i;
    im[3] = m2i + n2r;
  } else {
    constexpr int kHalf = (R - 1) / 2;
    T sr[kHalf + 1], si[kHalf + 1], dr[kHalf + 1], di[kHalf + 1];  // from 1
    T sum_r = re[0], sum_i = im[0];
    for (int t = 1; t <= kHalf; ++t) {
      sr[t] = re[t] + re[R - t];
      si[t] = im[t] + im[R - t];
      dr[t] = re[t] - re[R - t];
      di[t] = im[t] - im[R - t];
      sum_r += sr[t];
      sum_i += si[t];
    }
    for (int u = 1; u <= kHalf; ++u) {
      T mr = re[0], mi = im[0], nr = 0, ni = 0;
      for (int t = 1; t <= kHalf; ++t) {
        const int k = t * u % R;
        const T cosine = static_cast<T>(RootsOf<R>::kCos[k <= kHalf ? k : R - k]);
        const T sine = static_cast<T>(k <= kHalf ? RootsOf<R>::kSin[k] : -RootsOf<R>::kSin[R - k]);
        mr += cosine * sr[t];
        mi += cosine * si[t];
        nr += sine * dr[t];
        ni += sine * di[t];
      }
      re[u] = mr + ni;
      im[u] = mi - nr;
      re[R - u] = mr - ni;
      im[R - u] = mi + nr;
    }
    re[0] = sum_r;
    im[0] = sum_i;
  }
}

// One pass over `width` = stride * lanes values that share a twiddle factor; Turned: they are not all 1.
template <int R, bool Turned, typename T>
[[gnu::always_inline]] inline void RunPass(const typename LinePlan<T>::Pass& pass, int64_t width,
                                           const T* __restrict from_re, const T* __restrict from_im,
                                           T* __restrict to_re, T* __restrict to_im) {
  const int64_t far = pass.count * width;
  for (int64_t p = 0; p < pass.count; ++p) {
    T wr[R], wi[R];
    if constexpr (Turned) {
      for (int u = 1; u < R; ++u) {
        wr[u] = pass.twiddles.re[p * (R - 1) + u - 1];
        wi[u] = pass.twiddles.im[p * (R - 1) + u - 1];
      }
    }
    const T* __restrict fr = from_re + p * width;
    const T* __restrict fi = from_im + p * width;
    T* __restrict tr = to_re + R * p * width;
    T* __restrict ti = to_im + R * p * width;
#pragma GCC ivdep
    for (int64_t c = 0; c < width; ++c) {
      T re[R], im[R];
#pragma GCC unroll 16
      for (int t = 0; t < R; ++t) {
        re[t] = fr[t * far + c];
        im[t] = fi[t * far + c];
      }
      Butterfly<R>(re, im);
      tr[c] = re[0];
      ti[c] = im[0];
#pragma GCC unroll 16
      for (int u = 1; u < R; ++u) {
        if constexpr (Turned) {
          tr[u * width + c] = re[u] * wr[u] - im[u] * wi[u];
          ti[u * width + c] = re[u] * wi[u] + im[u] * wr[u];
        } else {
          tr[u * width + c] = re[u];
          ti[u * width + c] = im[u];
        }
      }
    }
  }
}

template <int R, typename T>
[[gnu::always_inline]] inline void RunPassOf(const typename LinePlan<T>::Pass& pass, int64_t lanes,
                                             const Lines<T>& lines) {
  const int64_t width = pass.stride * lanes;
  if (pass.count == 1) {
    RunPass<R, false, T>(pass, width, lines.re, lines.im, lines.spare_re, lines.spare_im);
  } else {
    RunPass<R, true, T>(pass, width, lines.re, lines.im, lines.spare_re, lines.spare_im);
  }
}

template <typename T>
[[gnu::always_inline]] inline void RunPasses(const LinePlan<T>& plan, int64_t lanes, Lines<T>* lines) {
  for (const typename LinePlan<T>::Pass& pass : plan.passes()) {
    switch (pass.radix) {
      case 2:
        RunPassOf<2>(pass, lanes, *lines);
        break;
      case 3:
        RunPassOf<3>(pass, lanes, *lines);
        break;
      case 4:
        RunPassOf<4>(pass, lanes, *lines);
        break;
      case 5:
        RunPassOf<5>(pass, lanes, *lines);
        break;
      case 8:
        RunPassOf<8>(pass, lanes, *lines);
        break;
      default:
        RunPassOf<7>(pass, lanes, *lines);
    }
    std::swap(lines->re, lines->spare_re);
    std::swap(lines->im, lines->spare_im);
  }
}

// Row k of the lanes times factor k.
template <typename T>
[[gnu::always_inline]] inline void MultiplyRows(const Split<T>& factors, int64_t rows, int64_t lanes, T* re, T* im) {
  for (int64_t k = 0; k < rows; ++k) {
    const T wr = factors.re[k], wi = factors.im[k];
    for (int64_t c = k * lanes; c < (k + 1) * lanes; ++c) {
      const T r = re[c], i = im[c];
      re[c] = r * wr - i * wi;
      im[c] = r * wi + i * wr;
    }
  }
}

}  // namespace

// What is compiled for each kind of vectors; what calls it is not, so that there is one copy.
SMELT_FOR_EACH_VECTOR_WIDTH void RunFftPasses(const LinePlan<float>& plan, int64_t lanes, Lines<float>* lines) {
  RunPasses(plan, lanes, lines);
}
SMELT_FOR_EACH_VECTOR_WIDTH void RunFftPasses(const LinePlan<double>& plan, int64_t lanes, Lines<double>* lines) {
  RunPasses(plan, lanes, lines);
}

namespace {

template <typename T>
void Transform(const LinePlan<T>& plan, int64_t lanes, Lines<T>* lines) {
  if (!plan.is_convolution()) return RunFftPasses(plan, lanes, lines);
  MultiplyRows(plan.chirp(), plan.length(), lanes, lines->re, lines->im);
  for (int64_t c = plan.length() * lanes; c < plan.padded() * lanes; ++c) lines->re[c] = lines->im[c] = 0;
  RunFftPasses(plan, lanes, lines);
  MultiplyRows(plan.filter(), plan.padded(), lanes, lines->re, lines->im);
  // Back: with the parts exchanged, which costs nothing.
  Lines<T> back{lines->im, lines->re, lines->spare_im, lines->spare_re};
  RunFftPasses(plan, lanes, &back);
  *lines = {back.im, back.re, back.spare_im, back.spare_re};
  MultiplyRows(plan.chirp(), plan.length(), lanes, lines->re, lines->im);
}

}  // namespace

void TransformLines(const LinePlan<float>& plan, int64_t lanes, Lines<float>* lines) { Transform(plan, lanes, lines); }
void TransformLines(const LinePlan<double>& plan, int64_t lanes, Lines<double>* lines) {
  Transform(plan, lanes, lines);
}

}  // namespace smelt::runtime::native
