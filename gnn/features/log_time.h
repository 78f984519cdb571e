// The scale on which models see times: the logarithm of seconds in units of 100 ns, which spreads over the range of
// kernels. Features, labels and outputs of networks and trees are all on it.
//
//   LogTime(1e-6);                      // 2.3026
//   SecondsOfLogTime(LogTime(1e-6));    // 1e-6
#pragma once

#include <algorithm>
#include <cmath>

namespace smelt::gnn {

inline constexpr double kLogTimeUnit = 1e-7;   // seconds
inline constexpr double kLeastSeconds = 1e-9;  // seconds; what takes less counts as this

inline double LogTime(double seconds) { return std::log(std::max(seconds, kLeastSeconds) / kLogTimeUnit); }
inline double SecondsOfLogTime(double log_time) { return std::exp(log_time) * kLogTimeUnit; }

}  // namespace smelt::gnn
