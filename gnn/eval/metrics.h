// How good predictions are, by the metrics of the TPU papers: error, rank correlation, cost of a choice.
#pragma once

#include <cstdint>
#include <vector>

namespace smelt::gnn {

// Mean of |predicted - measured| / measured; 0 for no entries.
double MeanAbsolutePercentageError(const std::vector<double>& predicted, const std::vector<double>& measured);

// Kendall's tau-b, with ties on either side counted; n log n. 0 when one side is constant or there are fewer than two
// entries.
double KendallTau(const std::vector<double>& predicted, const std::vector<double>& measured);

// What choosing by score costs: time of the best of the `k` lowest-scored over the best of all, minus 1 (TpuGraphs'
// slowdown at k).
double SlowdownAt(const std::vector<double>& scores, const std::vector<double>& seconds, int64_t k);

// Index of the lowest score, the first of equal ones.
int64_t BestByScore(const std::vector<double>& scores);

double Median(std::vector<double> values);
double Mean(const std::vector<double>& values);

}  // namespace smelt::gnn
