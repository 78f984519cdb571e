// The discrete Fourier transform of one length: factors and twiddle factors, made once.
//
//   const LinePlan<float> plan(12);
//   const int64_t padded = plan.padded();   // 12, by 4 * 3
//
// A length with a prime factor above 7 is padded to that of a convolution.
//
// Lengths that are products of 2, 3, 4, 5, 7 and 8 go through Stockham's passes, which need no reversal of
// bits: Van Loan, "Computational Frameworks for the Fast Fourier Transform", 1992, Section 1.7. Others become a
// convolution with a chirp: Bluestein, "A linear filtering approach to the computation of discrete Fourier transform",
// 1970.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace smelt::runtime::native {

// Complex numbers as two arrays.
template <typename T>
struct Split {
  std::vector<T> re, im;
};

template <typename T>
class LinePlan {
 public:
  // One pass: groups of `radix` values, `count` (p below) of them at each of `stride` places.
  struct Pass {
    int radix;
    int64_t count;
    int64_t stride;
    Split<T> twiddles;  // w^(p * u), p < count, 0 < u < radix; p * (radix - 1) + u - 1
  };

  explicit LinePlan(int64_t length);

  int64_t length() const { return length_; }
  // Values that a line needs room for while it is transformed.
  int64_t padded() const { return filter_ == nullptr ? length_ : filter_->length(); }
  bool is_convolution() const { return filter_ != nullptr; }
  const std::vector<Pass>& passes() const { return filter_ == nullptr ? passes_ : filter_->passes(); }
  // Bluestein: x times chirp, convolved with the filter, times chirp. The filter is transformed and divided by its
  // length.
  const Split<T>& chirp() const { return chirp_; }
  const Split<T>& filter() const { return spectrum_; }
  double flops() const;  // of one line

 private:
  int64_t length_;
  std::vector<Pass> passes_;
  std::unique_ptr<const LinePlan> filter_;
  Split<T> chirp_, spectrum_;
};

extern template class LinePlan<float>;
extern template class LinePlan<double>;

}  // namespace smelt::runtime::native
