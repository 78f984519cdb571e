// Time that has passed.
//
//   const Clock::time_point start = Clock::now();
//   double seconds = Since(start);
#pragma once

#include <chrono>

namespace smelt {

using Clock = std::chrono::steady_clock;  // never set back, nor forward

// Seconds from that moment until now.
inline double Since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

}  // namespace smelt
