// Lines of an array to and from lanes: value k of line l at k * lanes + l, real and imaginary parts apart.
#pragma once

#include <cstdint>
#include <cstring>

namespace smelt::runtime::native {

// N vectors of N values, transposed by log2(N) perfect shuffles.
template <typename T>
struct Square {
  static constexpr int N = 32 / sizeof(T);
  typedef T Vector __attribute__((vector_size(32), aligned(sizeof(T))));
  using Index = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  typedef Index Mask __attribute__((vector_size(32)));

  Vector rows[N];

  [[gnu::always_inline]] void Transpose() {
    Mask low, high;
    for (int i = 0; i < N; ++i) {
      low[i] = i / 2 + i % 2 * N;
      high[i] = low[i] + N / 2;
    }
    for (int round = 1; round < N; round *= 2) {
      Vector next[N];
      for (int i = 0; i < N / 2; ++i) {
        next[2 * i] = __builtin_shuffle(rows[i], rows[i + N / 2], low);
        next[2 * i + 1] = __builtin_shuffle(rows[i], rows[i + N / 2], high);
      }
      for (int i = 0; i < N; ++i) rows[i] = next[i];
    }
  }
};

// `count` complex values of each of `lines` lines, `pitch` reals apart; lanes beyond `lines` get zeros.
template <typename T>
[[gnu::always_inline]] inline void LoadRows(const T* from, int64_t pitch, int64_t lines, int64_t count, int64_t lanes,
                                            T* re, T* im) {
  constexpr int N = Square<T>::N;
  using Vector = typename Square<T>::Vector;
  for (int64_t lane = 0; lane < lanes; lane += N) {
    int64_t k = 0;
    if (lane + N <= lines) {
      for (; k + N / 2 <= count; k += N / 2) {
        Square<T> square;
        for (int i = 0; i < N; ++i)
          square.rows[i] = *reinterpret_cast<const Vector*>(from + (lane + i) * pitch + 2 * k);
        square.Transpose();
        for (int i = 0; i < N / 2; ++i) {
          *reinterpret_cast<Vector*>(re + (k + i) * lanes + lane) = square.rows[2 * i];
          *reinterpret_cast<Vector*>(im + (k + i) * lanes + lane) = square.rows[2 * i + 1];
        }
      }
    }
    const int64_t end = lane + N < lanes ? lane + N : lanes;
    for (; k < count; ++k) {
      for (int64_t l = lane; l < end; ++l) {
        re[k * lanes + l] = l < lines ? from[l * pitch + 2 * k] : T{0};
        im[k * lanes + l] = l < lines ? from[l * pitch + 2 * k + 1] : T{0};
      }
    }
  }
}

template <typename T>
[[gnu::always_inline]] inline void StoreRows(const T* re, const T* im, T scale, int64_t pitch, int64_t lines,
                                             int64_t count, int64_t lanes, T* to) {
  constexpr int N = Square<T>::N;
  using Vector = typename Square<T>::Vector;
  for (int64_t lane = 0; lane < lines; lane += N) {
    int64_t k = 0;
    if (lane + N <= lines) {
      for (; k + N / 2 <= count; k += N / 2) {
        Square<T> square;
        for (int i = 0; i < N / 2; ++i) {
          square.rows[2 * i] = *reinterpret_cast<const Vector*>(re + (k + i) * lanes + lane) * scale;
          square.rows[2 * i + 1] = *reinterpret_cast<const Vector*>(im + (k + i) * lanes + lane) * scale;
        }
        square.Transpose();
        for (int i = 0; i < N; ++i) *reinterpret_cast<Vector*>(to + (lane + i) * pitch + 2 * k) = square.rows[i];
      }
    }
    const int64_t end = lane + N < lines ? lane + N : lines;
    for (; k < count; ++k) {
      for (int64_t l = lane; l < end; ++l) {
        to[l * pitch + 2 * k] = re[k * lanes + l] * scale;
        to[l * pitch + 2 * k + 1] = im[k * lanes + l] * scale;
      }
    }
  }
}

// Lines that lie beside each other: value k of line l at k * pitch + 2 * l.
template <typename T>
[[gnu::always_inline]] inline void LoadColumns(const T* from, int64_t pitch, int64_t lines, int64_t count,
                                               int64_t lanes, T* __restrict re, T* __restrict im) {
  for (int64_t k = 0; k < count; ++k) {
    for (int64_t l = 0; l < lines; ++l) {
      re[k * lanes + l] = from[k * pitch + 2 * l];
      im[k * lanes + l] = from[k * pitch + 2 * l + 1];
    }
    for (int64_t l = lines; l < lanes; ++l) re[k * lanes + l] = im[k * lanes + l] = 0;
  }
}

template <typename T>
[[gnu::always_inline]] inline void StoreColumns(const T* __restrict re, const T* __restrict im, T scale, int64_t pitch,
                                                int64_t lines, int64_t count, int64_t lanes, T* __restrict to) {
  for (int64_t k = 0; k < count; ++k) {
    for (int64_t l = 0; l < lines; ++l) {
      to[k * pitch + 2 * l] = re[k * lanes + l] * scale;
      to[k * pitch + 2 * l + 1] = im[k * lanes + l] * scale;
    }
  }
}

}  // namespace smelt::runtime::native
