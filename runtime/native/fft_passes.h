// The passes of a Fourier transform over several lines at once, lane beside lane.
//
//   const LinePlan<float> plan(64);
//   std::vector<float> re(64 * 8), im(64 * 8), spare_re(64 * 8), spare_im(64 * 8);   // value k of line l at k * 8 + l
//   Lines<float> lines{re.data(), im.data(), spare_re.data(), spare_im.data()};
//   TransformLines(plan, 8, &lines);   // afterwards lines.re and lines.im are what was transformed
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
