#include "measure/timing.h"

#include <algorithm>

#include "base/clock.h"
#include "base/status_macros.h"

namespace smelt::measure {
namespace {

// What disturbs a machine for less than that makes nothing seem hopeless: another process takes the core for several
// milliseconds at a time.
constexpr double kDisturbance = 25e-3;

// Whether in each round each of the others took at least so many times as long as the first.
bool AreHopeless(const std::vector<std::vector<double>>& samples, double times) {
  if (times <= 0 || samples.size() < 2) return false;
  for (size_t i = 1; i < samples.size(); ++i) {
    for (size_t round = 0; round < samples[i].size(); ++round) {
      if (samples[i][round] < times * samples[0][round]) return false;
    }
  }
  return true;
}

}  // namespace

absl::StatusOr<std::vector<std::vector<double>>> TimeInTurn(size_t count, const SampleLimits& limits,
                                                            absl::FunctionRef<absl::StatusOr<double>(size_t)> sample,
                                                            absl::FunctionRef<double()> elapsed) {
  constexpr int kInAnyCase = 3;
  const double least_seconds = std::min(limits.least_seconds, limits.seconds);
  std::vector<std::vector<double>> samples(count);
  for (int round = 0; round < kInAnyCase || elapsed() < limits.seconds; ++round) {
    if (round >= limits.rounds && (round >= limits.most_rounds || elapsed() >= least_seconds)) break;
    for (size_t k = 0; k < count; ++k) {
      const size_t i = round % 2 == 0 ? k : count - 1 - k;
      SMELT_ASSIGN_OR_RETURN(samples[i].emplace_back(), sample(i));
    }
    if (elapsed() >= kDisturbance && AreHopeless(samples, limits.hopeless)) break;
  }
  return samples;
}

absl::StatusOr<std::vector<std::vector<double>>> TimeInTurn(size_t count, const SampleLimits& limits,
                                                            absl::FunctionRef<absl::StatusOr<double>(size_t)> sample) {
  return TimeInTurn(count, limits, sample, [start = Clock::now()] { return Since(start); });
}

}  // namespace smelt::measure
