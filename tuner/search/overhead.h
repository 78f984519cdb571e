// What a program takes beyond its kernels alone.
//
//   OverheadFit fit;
//   fit.Add(bytes, kernels, seconds_of_kernels, seconds);   // of each program that was timed
//   fit.Fit().seconds_per_byte
//
// Alone in a loop a kernel finds its data in the nearest cache, in a program where the kernels before left it; and XLA
// hands the kernels of a longer computation to its threads one by one. Both are learned from whole programs as they are
// timed, so that the costs of those that are not follow.
#pragma once

#include <vector>

namespace smelt::tuner {

struct Overhead {
  double seconds_per_byte = 0;    // read or written by kernels
  double seconds_per_kernel = 0;  // that runs
};

class OverheadFit {
 public:
  // Takes what one program says: bytes and number of its kernels' executions, the sum of their times alone, its own
  // time.
  void Add(double bytes, double kernels, double alone_seconds, double seconds);
  // Least squares of the programs' relative errors, neither part negative.
  Overhead Fit() const;

 private:
  struct Program {
    double bytes, kernels, missing;  // each divided by the program's time
  };
  std::vector<Program> programs_;
};

}  // namespace smelt::tuner
