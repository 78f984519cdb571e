#include "measure/comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"

namespace smelt::measure {
namespace {

// A standard error below this is not believed however quiet the machine is: a clock frequency step is larger.
constexpr double kLeastError = 0.001;

// What the gains of children differ by, one standard deviation, where other work runs beside them.
constexpr double kChildrenDiffer = 0.02;
constexpr int kFewestToTell = 4;

// What is known of children before any has run, for a comparison that has time for two or three of them: as much as two
// that differ by so much, one standard deviation, tell. Machines where they differ more are rare; at 10 % it calls a
// program faster than itself 0.8 times in 100.
constexpr double kDifferBefore = 0.06;
constexpr size_t kDegreesBefore = 2;

// Student's t that is exceeded once in 200 times, by degrees of freedom: at both ends of an interval that makes one
// miss in 100.
constexpr double kStudent[] = {63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355,
                               3.250,  3.169, 3.106, 3.055, 3.012, 2.977, 2.947};

double Student(size_t degrees) {
  if (degrees == 0) return std::numeric_limits<double>::infinity();
  return kStudent[std::min(degrees, std::size(kStudent)) - 1];
}

// Half of the interval of a mean of gains whose squared distances from it have this sum. Two children say little of how
// much children differ, and Student's interval of the two alone is 64 errors wide; with what is known before it is six.
// The narrower of both is right 99 times of 100: with many children the first, which believes only them.
double Margin(double squares, size_t children) {
  if (children < 2) return std::numeric_limits<double>::infinity();
  const double n = static_cast<double>(children), degrees = n - 1;
  const double alone = std::max(std::sqrt(squares / degrees / n), kLeastError);
  const double before = static_cast<double>(kDegreesBefore) * kDifferBefore * kDifferBefore;
  const double with_before = std::sqrt((before + squares) / (static_cast<double>(kDegreesBefore) + degrees) / n);
  return std::min(Student(children - 1) * alone, Student(children - 1 + kDegreesBefore) * with_before);
}

}  // namespace

int ChildrenToTell(double gain, int most) {
  int children = std::min(kFewestToTell, most);
  // Half of the gain, since it may be less than it seems.
  while (children < most && Student(children - 1) * kChildrenDiffer / std::sqrt(children) > gain / 2) ++children;
  return children;
}

Comparison CompareRounds(const std::vector<std::vector<double>>& usual, const std::vector<std::vector<double>>& tuned,
                         bool exact, bool least) {
  Comparison result;
  std::vector<double> usual_all, tuned_all, gains;
  for (size_t c = 0; c < usual.size(); ++c) {
    const size_t rounds = std::min(usual[c].size(), tuned[c].size());
    if (rounds == 0) continue;
    if (least) {
      const double best_usual = *std::min_element(usual[c].begin(), usual[c].end());
      const double best_tuned = *std::min_element(tuned[c].begin(), tuned[c].end());
      usual_all.push_back(best_usual);
      tuned_all.push_back(best_tuned);
      gains.push_back(std::log(best_usual / best_tuned));
      continue;
    }
    std::vector<double> of_child;
    for (size_t i = 0; i < rounds; ++i) of_child.push_back(std::log(usual[c][i] / tuned[c][i]));
    usual_all.insert(usual_all.end(), usual[c].begin(), usual[c].end());
    tuned_all.insert(tuned_all.end(), tuned[c].begin(), tuned[c].end());
    gains.push_back(Median(std::move(of_child)));
  }
  if (gains.empty()) return result;
  result.usual_seconds = Median(std::move(usual_all));
  result.tuned_seconds = Median(std::move(tuned_all));
  result.children = static_cast<int>(gains.size());
  double sum = 0, squares = 0;
  for (double gain : gains) sum += gain;
  result.gain = sum / static_cast<double>(gains.size());
  for (double gain : gains) squares += (gain - result.gain) * (gain - result.gain);
  const double margin = exact ? 0 : Margin(squares, gains.size());
  result.low = result.gain - margin;
  result.high = result.gain + margin;
  // Where the machine changed its pace between rounds, the medians may say the contrary: that is no better program.
  result.better = result.low > 0 && result.tuned_seconds < result.usual_seconds;
  return result;
}

absl::StatusOr<Comparison> CompareInterleaved(Runner& runner, const Candidate& usual, const Candidate& tuned,
                                              const ComparisonOptions& options, const Candidate* other) {
  std::vector<std::vector<double>> usual_rounds, tuned_rounds;
  std::vector<double> other_rounds;
  std::vector<Candidate> candidates = {usual, tuned};
  if (other != nullptr) candidates.push_back(*other);
  for (int child = 0; child < options.children; ++child) {
    if (options.proceed && !options.proceed(child)) break;
    const std::vector<Outcome> outcomes = runner.TimePrograms(candidates, options.rounds, options.seconds);
    if (runner.out_of_time()) break;
    // A fault of the system decides nothing.
    for (const Outcome& outcome : outcomes) {
      if (outcome.failure == Failure::kEnvironment)
        return absl::UnavailableError(absl::StrCat("the programs cannot be compared: ", outcome.message));
    }
    if (!outcomes[0].ok()) {
      return absl::InternalError(
          absl::StrCat("the default program cannot be timed: ", std::string(FailureName(outcomes[0].failure)), ": ",
                       outcomes[0].message));
    }
    if (!outcomes[1].ok()) {
      Comparison failed;
      failed.usual_seconds = outcomes[0].median();
      failed.tuned_seconds = outcomes[1].median();
      return failed;
    }
    usual_rounds.push_back(outcomes[0].seconds);
    tuned_rounds.push_back(outcomes[1].seconds);
    if (other != nullptr)
      other_rounds.insert(other_rounds.end(), outcomes[2].seconds.begin(), outcomes[2].seconds.end());
  }
  if (usual_rounds.empty()) return absl::DeadlineExceededError("no time for a comparison");
  Comparison compared = CompareRounds(usual_rounds, tuned_rounds, /*exact=*/false, options.least);
  if (!other_rounds.empty()) compared.other_seconds = Median(std::move(other_rounds));
  return compared;
}

}  // namespace smelt::measure
