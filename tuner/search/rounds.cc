#include "tuner/search/rounds.h"

#include <algorithm>

#include "base/status_macros.h"

namespace smelt::tuner {

int64_t MovesFor(const fusion::Space& space) { return std::max(kFewestMoves, kMovesPerDecision * space.size()); }

int64_t SearchRounds::moves_per_round() const {
  const int64_t moves = options_.moves > 0 ? options_.moves : MovesFor(space_);
  return std::max<int64_t>(moves / kRounds, 1);
}

absl::StatusOr<ModelSearchResult> SearchRounds::Next(const std::function<bool(int64_t moves, double best)>& proceed) {
  ModelSearchOptions search;
  search.moves = moves_per_round();
  search.keep = options_.keep;
  search.seed = options_.seed * kRounds + static_cast<uint64_t>(round_);
  search.warmth = 1.0 / (1 + round_);
  search.proceed = proceed;
  ++round_;
  SMELT_ASSIGN_OR_RETURN(ModelSearchResult found, SearchUnderModel(space_, counts_, starts_, costs_, search));
  starts_ = found.chain_best;
  return found;
}

void SearchRounds::GoOnFrom(const fusion::Config& best) {
  for (size_t chain = 0; chain < starts_.size(); chain += 2) starts_[chain] = best;
}

}  // namespace smelt::tuner
