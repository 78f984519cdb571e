// Tiles of the kernels that take a program's time: ranked by the model, and measured one after the other as long as
// there is time, more of those kernels that take more.
//
//   std::vector<TileChoice> tiles = SearchTiles(trials, space, trial, times, predictor, options).value();
//
// A tile is chosen where it beats the default tile by more than kScreeningGain (comparison.h), each the least of its
// samples, twice. What the records hold is not measured again.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gnn/predictor.h"
#include "machine/machine.h"
#include "tuner/trials.h"

namespace smelt::tuner {

struct TileSearchOptions {
  int64_t ranked_tiles = 200;  // of each kernel, spread over its space
  machine::Machine machine;
  // Called before each measurement with a line for people; false ends the search with what it has.
  std::function<bool(const std::string& line)> proceed;
};

struct TileChoice {
  std::string name;  // of an instruction of the fused program
  std::string hash;  // 32 hexadecimal digits
  std::string tile;
  double default_seconds = 0, seconds = 0;  // of one execution alone
};

// `times`: of the trial's kernels inside the program. Fails only where records cannot be kept, or with Cancelled; where
// the runner's time is over, what was chosen until then is the result.
absl::StatusOr<std::vector<TileChoice>> SearchTiles(Trials& trials, const fusion::Space& space, const Trial& trial,
                                                    const std::vector<measure::KernelRecord>& times,
                                                    gnn::Predictor& predictor, const TileSearchOptions& options);

}  // namespace smelt::tuner
