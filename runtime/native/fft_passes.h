// The passes of a Fourier transform over several lines at once, lane beside lane.
//
//   T re[n * lanes], im[n * lanes];   // value k of line l at k * lanes + l
//   Lines<T> lines{re, im, spare_re, spare_im};
//   TransformLines(plan, lanes, &lines);   // afterwards lines.re and lines.im are what was transformed
//
// All loops run over the lanes and the places that share a twiddle factor, so that they are vectors of full width from
// the second pass on even where there is one line.
#pragma once

#include <cstdint>

#include "runtime/native/fft_plan.h"

namespace smelt::runtime::native {

template <typename T>
struct Lines {
  T* re;
  T* im;
  T* spare_re;
  T* spare_im;
};

// Forward, unscaled; inverse by giving the imaginary parts for the real ones. Arrays of plan.padded() * lanes values.
void TransformLines(const LinePlan<float>& plan, int64_t lanes, Lines<float>* lines);
void TransformLines(const LinePlan<double>& plan, int64_t lanes, Lines<double>* lines);

}  // namespace smelt::runtime::native
