#include "measure/budget.h"

#include "absl/strings/str_format.h"

namespace smelt::measure {

Budget::Clock::time_point Budget::At(double seconds) const {
  return begin_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

void Budget::Enter(Phase phase) {
  spent_[static_cast<size_t>(phase_)] += Since(entered_);
  entered_ = Clock::now();
  phase_ = phase;
}

double Budget::spent(Phase phase) const {
  return spent_[static_cast<size_t>(phase)] + (phase == phase_ ? Since(entered_) : 0);
}

std::string Budget::ToString() const {
  std::string text = absl::StrFormat("%.1f s of %g s:", spent(), seconds_);
  for (int i = 0; i < kPhases; ++i)
    absl::StrAppendFormat(&text, "%s %.1f s %s", i == 0 ? "" : ",", spent(static_cast<Phase>(i)), kPhaseNames[i]);
  return text;
}

}  // namespace smelt::measure
