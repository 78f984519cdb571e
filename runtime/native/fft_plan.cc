#include "runtime/native/fft_plan.h"

#include <cmath>
#include <complex>
#include <numbers>

namespace smelt::runtime::native {
namespace {

// e^(-2 pi i index / count), exact at eighths of a turn.
std::complex<double> Root(int64_t index, int64_t count) {
  index %= count;
  // Only angles of at most a quarter turn are computed, the others follow by symmetry.
  const int64_t quarter = 4 * index / count;
  const double angle =
      2 * std::numbers::pi * (static_cast<double>(4 * index - quarter * count) / 4) / static_cast<double>(count);
  const double c = std::cos(angle), s = std::sin(angle);
  switch (quarter) {
    case 0:
      return {c, -s};
    case 1:
      return {-s, -c};
    case 2:
      return {-c, s};
    default:
      return {s, c};
  }
}

// The factors of a length in the order of the passes; empty where another prime divides it.
std::vector<int> FactorsOf(int64_t length) {
  std::vector<int> factors;
  // Powers of two as eights and fours, never a two beside an eight: 16 is 4 * 4.
  int64_t twos = 0;
  while (length % 2 == 0) {
    length /= 2;
    ++twos;
  }
  while (twos > 4 || twos == 3) {
    factors.push_back(8);
    twos -= 3;
  }
  for (; twos >= 2; twos -= 2) factors.push_back(4);
  if (twos == 1) factors.push_back(2);
  for (int radix : {3, 5, 7}) {
    for (; length % radix == 0; length /= radix) factors.push_back(radix);
  }
  if (length != 1) return {};
  return factors;
}

double FlopsOf(const std::vector<int>& factors, int64_t length) {
  double flops = 0;
  for (int radix : factors) {
    // One butterfly, its twiddle factors included.
    const double butterfly = radix == 2   ? 10
                             : radix == 3 ? 28
                             : radix == 4 ? 34
                             : radix == 5 ? 64
                             : radix == 8 ? 110
                                          : 170;
    flops += butterfly * static_cast<double>(length / radix);
  }
  return flops;
}

// The cheapest length of at least `least` with small factors.
int64_t PaddedLength(int64_t least) {
  int64_t best = 1;
  while (best < least) best *= 2;
  double best_flops = FlopsOf(FactorsOf(best), best);
  for (int64_t odd : {3, 5, 7, 9, 15, 21, 25, 27, 35, 45, 63, 75}) {
    int64_t length = odd;
    while (length < least) length *= 2;
    const double flops = FlopsOf(FactorsOf(length), length);
    if (flops >= best_flops) continue;
    best = length;
    best_flops = flops;
  }
  return best;
}

// The transform in double precision, in a few lines: planning needs it once.
std::vector<std::complex<double>> Transformed(const std::vector<std::complex<double>>& values) {
  const int64_t n = static_cast<int64_t>(values.size());
  std::vector<std::complex<double>> x = values, y(values.size());
  int64_t left = n, stride = 1;
  for (int radix : FactorsOf(n)) {
    const int64_t m = left / radix;
    for (int64_t p = 0; p < m; ++p) {
      for (int64_t q = 0; q < stride; ++q) {
        for (int u = 0; u < radix; ++u) {
          std::complex<double> sum = 0;
          for (int t = 0; t < radix; ++t) sum += x[q + stride * (p + t * m)] * Root(int64_t{t} * u, radix);
          y[q + stride * (radix * p + u)] = sum * Root(p * u, left);
        }
      }
    }
    std::swap(x, y);
    left = m;
    stride *= radix;
  }
  return x;
}

}  // namespace

template <typename T>
LinePlan<T>::LinePlan(int64_t length) : length_(length) {
  const std::vector<int> factors = FactorsOf(length);
  auto append = [](std::complex<double> value, Split<T>* to) {
    to->re.push_back(static_cast<T>(value.real()));
    to->im.push_back(static_cast<T>(value.imag()));
  };
  if (length == 1 || !factors.empty()) {
    int64_t left = length, stride = 1;
    for (int radix : factors) {
      Pass pass{radix, left / radix, stride, {}};
      for (int64_t p = 0; p < pass.count; ++p) {
        for (int u = 1; u < radix; ++u) append(Root(p * u, left), &pass.twiddles);
      }
      left /= radix;
      stride *= radix;
      passes_.push_back(std::move(pass));
    }
    return;
  }
  filter_ = std::make_unique<LinePlan>(PaddedLength(2 * length - 1));
  const int64_t padded = filter_->length();
  std::vector<std::complex<double>> filter(static_cast<size_t>(padded), 0);
  for (int64_t i = 0; i < length; ++i) {
    // The angle taken modulo a turn stays exact for large i.
    const std::complex<double> chirp = Root(i * i % (2 * length), 2 * length);
    append(chirp, &chirp_);
    filter[static_cast<size_t>(i)] = std::conj(chirp);
    if (i > 0) filter[static_cast<size_t>(padded - i)] = std::conj(chirp);
  }
  for (const std::complex<double>& value : Transformed(filter)) append(value / static_cast<double>(padded), &spectrum_);
}

template <typename T>
double LinePlan<T>::flops() const {
  if (filter_ != nullptr) return 2 * filter_->flops() + 6.0 * static_cast<double>(padded() + 2 * length_);
  return FlopsOf(FactorsOf(length_), length_);
}

template class LinePlan<float>;
template class LinePlan<double>;

}  // namespace smelt::runtime::native
