// What a kernel takes, from several visits to it.
//
//   std::vector<Visit> visits = {{2.0e-6, 0.01}, {2.1e-6, 0.0}, {3.9e-6, 0.6}};
//   double label = LabelOf(visits);   // 2.0e-6: the last was made while the machine was slow
//
// Times that differ between processes differ in spells of some hundredths of a second to several, in which a machine's
// clock or its neighbours make everything slower or faster; samples of one burst agree with each other and are all
// wrong. A reference kernel that is timed just before and after tells a spell, and a second visit seconds later, in
// another process, is outside of it.
#pragma once

#include <string>
#include <vector>

namespace smelt::gnn {

// Further from its usual time than so, the reference kernel tells a spell.
inline constexpr double kSteadyDrift = 0.05;

struct Visit {
  double seconds = 0;  // the least of its samples
  double drift = 0;    // KernelExample::drift
};

// The lower middle of the steady visits' times; of all, where none was steady. 0 for none.
double LabelOf(std::vector<Visit> visits);

}  // namespace smelt::gnn
