#include "gnn/eval/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace smelt::gnn {
namespace {

int64_t PairsTied(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  int64_t pairs = 0;
  for (size_t begin = 0; begin < values.size();) {
    size_t end = begin;
    while (end < values.size() && values[end] == values[begin]) ++end;
    const int64_t n = static_cast<int64_t>(end - begin);
    pairs += n * (n - 1) / 2;
    begin = end;
  }
  return pairs;
}

// Sorts and counts the exchanges that a bubble sort would make.
int64_t CountInversions(std::vector<double>& values, std::vector<double>& scratch, size_t begin, size_t end) {
  if (end - begin < 2) return 0;
  const size_t middle = (begin + end) / 2;
  int64_t count = CountInversions(values, scratch, begin, middle) + CountInversions(values, scratch, middle, end);
  size_t i = begin, j = middle, out = begin;
  while (i < middle && j < end) {
    if (values[j] < values[i]) {
      count += static_cast<int64_t>(middle - i);
      scratch[out++] = values[j++];
    } else {
      scratch[out++] = values[i++];
    }
  }
  std::copy(values.begin() + i, values.begin() + middle, scratch.begin() + out);
  std::copy(values.begin() + j, values.begin() + end, scratch.begin() + out + (middle - i));
  std::copy(scratch.begin() + begin, scratch.begin() + end, values.begin() + begin);
  return count;
}

}  // namespace

double MeanAbsolutePercentageError(const std::vector<double>& predicted, const std::vector<double>& measured) {
  if (predicted.empty()) return 0;
  double sum = 0;
  for (size_t i = 0; i < predicted.size(); ++i) sum += std::fabs(predicted[i] - measured[i]) / measured[i];
  return sum / static_cast<double>(predicted.size());
}

double KendallTau(const std::vector<double>& predicted, const std::vector<double>& measured) {
  const int64_t n = static_cast<int64_t>(predicted.size());
  if (n < 2) return 0;
  // Knight's method (JASA 1966): sort by one side, ties by the other; discordant pairs are the inversions of the other.
  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return predicted[a] != predicted[b] ? predicted[a] < predicted[b] : measured[a] < measured[b];
  });
  std::vector<double> other(n), scratch(n);
  for (int64_t i = 0; i < n; ++i) other[i] = measured[order[i]];
  int64_t both_tied = 0;
  for (int64_t begin = 0; begin < n;) {
    int64_t end = begin;
    while (end < n && predicted[order[end]] == predicted[order[begin]] && other[end] == other[begin]) ++end;
    both_tied += (end - begin) * (end - begin - 1) / 2;
    begin = end;
  }
  const int64_t discordant = CountInversions(other, scratch, 0, other.size());
  const int64_t pairs = n * (n - 1) / 2, tied_x = PairsTied(predicted), tied_y = PairsTied(measured);
  const double concordant_minus_discordant = static_cast<double>(pairs - tied_x - tied_y + both_tied - 2 * discordant);
  const double scale = std::sqrt(static_cast<double>(pairs - tied_x)) * std::sqrt(static_cast<double>(pairs - tied_y));
  return scale > 0 ? concordant_minus_discordant / scale : 0;
}

double SlowdownAt(const std::vector<double>& scores, const std::vector<double>& seconds, int64_t k) {
  std::vector<int64_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return scores[a] < scores[b]; });
  double chosen = std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < std::min<int64_t>(k, static_cast<int64_t>(order.size())); ++i)
    chosen = std::min(chosen, seconds[order[i]]);
  return chosen / *std::min_element(seconds.begin(), seconds.end()) - 1;
}

int64_t BestByScore(const std::vector<double>& scores) {
  return std::min_element(scores.begin(), scores.end()) - scores.begin();
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double Mean(const std::vector<double>& values) {
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace smelt::gnn
