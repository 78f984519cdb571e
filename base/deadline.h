// How long something may take, by a clock that stands still while this process does. What it waits for is stopped with
// it, by Ctrl-Z in a shell or as a virtual machine is moved, and is not late when both go on.
//
//   Deadline deadline(30);                // seconds; infinity: without end
//   const double left = deadline.Left();  // 0 when they are over; asked every kLook seconds
#pragma once

#include <algorithm>

#include "base/clock.h"

namespace smelt {

class Deadline {
 public:
  // Seconds after which whoever waits asks again, at the latest; and those without a question that mean that this
  // process stood still.
  static constexpr double kLook = 0.5;
  static constexpr double kStill = 5;

  explicit Deadline(double seconds, Clock::time_point now = Clock::now()) : left_(seconds), asked_(now) {}

  // Seconds, 0 when they are over.
  double Left(Clock::time_point now = Clock::now()) {
    const double since = std::chrono::duration<double>(now - asked_).count();
    asked_ = now;
    if (since < kStill) left_ = std::max(left_ - since, 0.0);
    return left_;
  }

 private:
  double left_;
  Clock::time_point asked_;
};

}  // namespace smelt
