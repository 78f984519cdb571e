// The wall-clock time of one run: how much there is, and what it went for.
//
//   Budget budget(40);                     // begins now, with loading the program
//   budget.Enter(Phase::kSearching);
//   while (budget.left() > 10) ...
//   budget.spent(Phase::kPreparing)        // seconds
//
// Everything that a run does counts. What cannot be stopped half way is begun only while there is time for it, so that
// a run ends within a tenth and five seconds of its budget.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>

#include "base/clock.h"

namespace smelt::measure {

enum class Phase : uint8_t {
  kPreparing,  // the program is loaded, evaluated and compiled; its default is timed
  kSearching,  // candidates are proposed, compiled and timed
  kComparing,  // the best one is timed in turn with the default
  kVerifying,  // the answer's results are compared, and the answer is written
};
inline constexpr int kPhases = 4;
inline constexpr const char* kPhaseNames[kPhases] = {"preparing", "searching", "comparing", "verifying"};

class Budget {
 public:
  using Clock = smelt::Clock;

  // `spent`: seconds of it that are over already.
  explicit Budget(double seconds, double spent = 0)
      : seconds_(seconds),
        begin_(Clock::now() - std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(spent))) {}

  double seconds() const { return seconds_; }  // all that there is
  double spent() const { return Since(begin_); }
  double left() const { return seconds_ - spent(); }
  // The moment after `seconds` of it.
  Clock::time_point At(double seconds) const;

  // From now on time goes for this.
  void Enter(Phase phase);
  double spent(Phase phase) const;

  // "15.2 s of 15 s: 2.1 s preparing, 9.0 s searching, 3.6 s comparing, 0.5 s verifying".
  std::string ToString() const;

 private:
  double seconds_;
  Clock::time_point begin_, entered_ = begin_;
  Phase phase_ = Phase::kPreparing;
  std::array<double, kPhases> spent_ = {};  // before the present phase was entered
};

}  // namespace smelt::measure
