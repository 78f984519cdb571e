// The analytical estimate of a kernel as a formula of its tile: what the kernel is was looked at once, so that a tile
// costs a few arithmetic operations.
//
//   CostFormula formula;   // as FormulaOf leaves it (analytical.h)
//   double extents[] = {1, 8, 32};
//   double seconds = formula.At(extents, 3).seconds();
//
// V is a double, or a vector of doubles with a tile in each lane (gnn/features/tile_rows.h): one formula for both.
#pragma once

#include <cstdint>
#include <vector>

namespace smelt::kernels::cost {

// Functions that pass vectors are all inlined, so that no call depends on how a CPU would pass them.
#pragma GCC diagnostic ignored "-Wpsabi"

// `inline` alone would leave calls where the caller is compiled for wider vectors than this file.
#define SMELT_COST_INLINE __attribute__((always_inline)) inline

// The smallest whole number that is not below x; x from 0 to 2^51.
template <typename V>
SMELT_COST_INLINE V CeilOf(const V& x) {
  constexpr double kWhole = 4503599627370496.0;  // 2^52: doubles beyond it are whole, so the sum is rounded to one
  const V rounded = (x + kWhole) - kWhole;
  return rounded < x ? rounded + 1.0 : rounded;
}
template <typename V>
SMELT_COST_INLINE V LeastOf(const V& a, const V& b) {
  return a < b ? a : b;
}
template <typename V>
SMELT_COST_INLINE V MostOf(const V& a, const V& b) {
  return a < b ? b : a;
}

// Seconds, split into causes; see CostEstimate.
template <typename V>
struct EstimateOf {
  V compute, memory, launch;
  SMELT_COST_INLINE V seconds() const { return MostOf(compute, memory) + launch; }
};

struct CostFormula {
  static constexpr double kTileSeconds = 8e-9;
  // A dot or a convolution as a product of matrices, m x k by k x n.
  struct Contraction {
    double m = 1, n = 1, k = 1;
    double lanes = 16;
    double scaled_flops = 0;  // multiplied by what the element type costs
    double reread_bytes = 0;  // for each panel of columns but the first
  };
  std::vector<Contraction> contractions;
  double compute = 0;         // in peak flops, of everything but contractions
  double memory_seconds = 0;  // of what is read and written once
  double panel_bytes = 0;     // of packing, whatever the tile
  double panel_bandwidth = 1;
  double peak_flops = 1;
  double launch_seconds = 0;
  double fork_seconds = 0;                 // of all phases
  double least_seconds = 0;                // that are worth a fork
  double workers = 1, memory_workers = 1;  // by which a kernel that is worth a fork is divided
  double contraction_share = 1;            // of the peak, that contractions reach
  double lanes = 16;                       // of 32-bit elements
  bool is_contraction = false;
  // What a tile divides; empty where nothing is known of it.
  std::vector<int64_t> dimensions;

  // The formula under these sums over the contractions.
  template <typename V>
  SMELT_COST_INLINE EstimateOf<V> With(const V& contraction_compute, const V& panels) const {
    EstimateOf<V> estimate;
    estimate.compute = (contraction_compute / contraction_share + compute) / peak_flops;
    estimate.memory = panels / panel_bandwidth + memory_seconds;
    const V zero = estimate.compute - estimate.compute;
    estimate.launch = zero + launch_seconds;
    if (workers > 1) {
      const V serial = MostOf(estimate.compute, estimate.memory);
      const V least = zero + least_seconds;
      estimate.compute = serial > least ? estimate.compute / workers : estimate.compute;
      estimate.memory = serial > least ? estimate.memory / memory_workers : estimate.memory;
      estimate.launch = serial > least ? estimate.launch + fork_seconds : estimate.launch;
    }
    return estimate;
  }
  // Flops divided by how well a tile of so many rows and columns keeps the units busy.
  template <typename V>
  SMELT_COST_INLINE static V ComputeOf(const Contraction& c, const V& rows, const V& columns) {
    const V width = LeastOf(columns, columns - columns + c.n);
    const V vectors = CeilOf(V(width / c.lanes));
    const V lane_use = width / (vectors * c.lanes);
    const V two = columns - columns + 2.0;
    const V accumulators = LeastOf(rows, rows - rows + c.m) * LeastOf(vectors, two);
    // Two units of four cycles' latency want eight sums in flight.
    const V efficiency = lane_use * LeastOf(V(accumulators / 8.0), V(two - 1.0)) * (c.k / (c.k + 8));
    return c.scaled_flops / MostOf(efficiency, V(two - 1.98));
  }

  // The kernel as if its tile suited it.
  EstimateOf<double> Whole() const {
    double sum = 0;
    for (const Contraction& c : contractions) sum += ComputeOf(c, 12.0, 2 * c.lanes);
    return With(sum, panel_bytes);
  }

  // The formula under a tile of these `rank` extents, outer first; as many as `dimensions` has.
  template <typename V>
  SMELT_COST_INLINE EstimateOf<V> At(const V* extents, int64_t rank) const {
    if (rank == 0) {
      const EstimateOf<double> whole = Whole();
      const V zero = V() - V();
      return {zero + (whole.compute + kTileSeconds), zero + whole.memory, zero + whole.launch};
    }
    const V inner = extents[rank - 1];
    const V zero = inner - inner;
    V rows = zero + 1.0, tiles = zero + 1.0;
    for (int64_t i = 0; i < rank; ++i) {
      if (i + 1 < rank) rows = rows * extents[i];
      tiles = tiles * CeilOf(V(static_cast<double>(dimensions[i]) / extents[i]));
    }
    rows = LeastOf(rows, V(zero + 12.0));
    V sum = zero, panels = zero + panel_bytes;
    for (const Contraction& c : contractions) {
      sum = sum + ComputeOf(c, rows, inner);
      panels = panels + c.reread_bytes * (CeilOf(V(c.n / inner)) - 1.0);
    }
    EstimateOf<V> estimate = With(sum, panels);
    // Loop overhead: a tile costs a few dozen cycles; and lanes beyond the innermost extent do nothing.
    estimate.compute = estimate.compute + tiles * kTileSeconds;
    if (!is_contraction && static_cast<double>(dimensions[rank - 1]) >= lanes) {
      const V use = inner / (CeilOf(V(inner / lanes)) * lanes);
      estimate.compute = estimate.compute + compute / peak_flops * (1.0 / use - 1.0);
    }
    return estimate;
  }
};

}  // namespace smelt::kernels::cost
