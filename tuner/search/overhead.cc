#include "tuner/search/overhead.h"

#include <algorithm>

namespace smelt::tuner {
namespace {

constexpr double kMostSecondsPerByte = 1e-9, kMostSecondsPerKernel = 1e-4;

}  // namespace

void OverheadFit::Add(double bytes, double kernels, double alone_seconds, double seconds) {
  if (seconds > 0) programs_.push_back({bytes / seconds, kernels / seconds, 1 - alone_seconds / seconds});
}

Overhead OverheadFit::Fit() const {
  double bb = 0, kk = 0, bk = 0, bm = 0, km = 0;
  for (const Program& program : programs_) {
    bb += program.bytes * program.bytes;
    kk += program.kernels * program.kernels;
    bk += program.bytes * program.kernels;
    bm += program.bytes * program.missing;
    km += program.kernels * program.missing;
  }
  const double determinant = bb * kk - bk * bk;
  Overhead overhead;
  if (determinant > 1e-6 * bb * kk) {
    overhead.seconds_per_byte = (bm * kk - km * bk) / determinant;
    overhead.seconds_per_kernel = (km * bb - bm * bk) / determinant;
  }
  // Where both cannot be told apart, or one would be negative, one of them explains what it can: kernels where bytes do
  // worse.
  if (overhead.seconds_per_byte <= 0 || overhead.seconds_per_kernel <= 0) {
    const double by_bytes = bb > 0 ? bm * bm / bb : 0, by_kernels = kk > 0 ? km * km / kk : 0;
    overhead = {};
    if (bm > 0 && (by_bytes >= by_kernels || km <= 0)) {
      overhead.seconds_per_byte = bm / bb;
    } else if (km > 0) {
      overhead.seconds_per_kernel = km / kk;
    }
  }
  overhead.seconds_per_byte = std::clamp(overhead.seconds_per_byte, 0.0, kMostSecondsPerByte);
  overhead.seconds_per_kernel = std::clamp(overhead.seconds_per_kernel, 0.0, kMostSecondsPerKernel);
  return overhead;
}

}  // namespace smelt::tuner
