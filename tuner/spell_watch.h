// Notices the spells in which a machine runs everything faster or slower, by a kernel whose time is known.
//
//   SpellWatch watch;
//   watch.Add(1.0e-5);                    // the reference kernel, before and after what is timed
//   double drift = watch.Drift();         // of the last two: 0.2 is a fifth slower than usual
//
// Spells last from some hundredths of a second to several, and share a factor of 0.55 to 1.5: the clock, or a
// neighbour, who may be there for most of an hour. The usual time is the one without him.
#pragma once

#include <cstddef>
#include <vector>

namespace smelt::tuner {

class SpellWatch {
 public:
  void Add(double seconds);
  // What a tenth of all so far lies below; 0 before the first.
  double usual() const;
  // How far the last two, between which something was timed, lie from the usual time, as a share of it: of the two, the
  // one that lies further off. 0 while fewer than `kLeast` are known.
  double Drift() const;
  bool IsWarm() const { return in_order_.size() >= kLeast; }
  // The last two.
  std::vector<double> Around() const;

  static constexpr size_t kLeast = 5;

 private:
  std::vector<double> in_order_, sorted_;
};

}  // namespace smelt::tuner
