#include "tuner/comparison.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace smelt::tuner {
namespace {

// Gains below this are not believed however quiet the machine is: a clock frequency step is larger.
constexpr double kLeastNoise = 0.0025;

double MedianDeviation(const std::vector<double>& values, double median) {
  std::vector<double> deviations;
  for (double value : values) deviations.push_back(std::abs(value - median));
  return Median(std::move(deviations));
}

}  // namespace

Comparison CompareRounds(const std::vector<std::vector<double>>& usual, const std::vector<std::vector<double>>& tuned) {
  Comparison result;
  std::vector<double> usual_all, tuned_all, gains, child_gains;
  for (size_t c = 0; c < usual.size(); ++c) {
    std::vector<double> of_child;
    for (size_t i = 0; i < std::min(usual[c].size(), tuned[c].size()); ++i)
      of_child.push_back(std::log(usual[c][i] / tuned[c][i]));
    if (of_child.empty()) continue;
    usual_all.insert(usual_all.end(), usual[c].begin(), usual[c].end());
    tuned_all.insert(tuned_all.end(), tuned[c].begin(), tuned[c].end());
    gains.insert(gains.end(), of_child.begin(), of_child.end());
    child_gains.push_back(Median(std::move(of_child)));
  }
  if (gains.empty()) return result;
  result.usual_seconds = Median(usual_all);
  result.tuned_seconds = Median(tuned_all);
  result.gain = Median(gains);
  // 1.4826 median deviations are a standard deviation; the median's standard error is 1.2533 times the mean's.
  const double n = static_cast<double>(gains.size()), children = static_cast<double>(child_gains.size());
  const double of_rounds = 1.2533 * 1.4826 * MedianDeviation(gains, result.gain) / std::sqrt(n);
  double square = 0;
  for (double gain : child_gains) square += (gain - result.gain) * (gain - result.gain);
  const double of_children = children > 1 ? std::sqrt(square / (children - 1) / children) : 0;
  result.noise = std::max({of_rounds, of_children, kLeastNoise});
  result.always = std::all_of(child_gains.begin(), child_gains.end(), [](double gain) { return gain > 0; });
  // Where the machine changed its pace between rounds, the medians may say the contrary: that is no better program.
  result.better = result.gain > 2 * result.noise && result.always && result.tuned_seconds < result.usual_seconds;
  return result;
}

absl::StatusOr<Comparison> CompareInterleaved(Runner& runner, const Candidate& usual, const Candidate& tuned,
                                              const ComparisonOptions& options, const Candidate* other) {
  std::vector<std::vector<double>> usual_rounds, tuned_rounds;
  std::vector<double> other_rounds;
  std::vector<Candidate> candidates = {usual, tuned};
  if (other != nullptr) candidates.push_back(*other);
  Comparison compared;
  // Faster in every child, but by too little to tell: as many again may.
  const auto goes_on = [&](int child) {
    return child < options.children || (child < 2 * options.children && compared.always && !compared.better);
  };
  for (int child = 0; goes_on(child); ++child) {
    const std::vector<Outcome> outcomes = runner.TimePrograms(candidates, options.rounds, options.seconds);
    if (!outcomes[0].ok()) {
      return absl::InternalError(
          absl::StrCat("the default program cannot be timed: ", std::string(FailureName(outcomes[0].failure)), ": ",
                       outcomes[0].message));
    }
    // A program of which nothing is known decides nothing.
    for (const Outcome& outcome : outcomes) {
      if (outcome.failure == Failure::kEnvironment)
        return absl::UnavailableError(absl::StrCat("the programs cannot be compared: ", outcome.message));
    }
    usual_rounds.push_back(outcomes[0].seconds);
    tuned_rounds.push_back(outcomes[1].seconds);
    if (other != nullptr)
      other_rounds.insert(other_rounds.end(), outcomes[2].seconds.begin(), outcomes[2].seconds.end());
    if (!outcomes[1].ok()) {
      Comparison failed;
      failed.usual_seconds = outcomes[0].median();
      failed.tuned_seconds = outcomes[1].median();
      return failed;
    }
    compared = CompareRounds(usual_rounds, tuned_rounds);
  }
  if (!other_rounds.empty()) compared.other_seconds = Median(std::move(other_rounds));
  return compared;
}

}  // namespace smelt::tuner
