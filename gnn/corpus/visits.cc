#include "gnn/corpus/visits.h"

#include <algorithm>
#include <cmath>

namespace smelt::gnn {

double LabelOf(std::vector<Visit> visits) {
  std::erase_if(visits, [](const Visit& visit) { return !(visit.seconds > 0); });
  if (visits.empty()) return 0;
  const auto unsteady = [](const Visit& visit) { return std::fabs(visit.drift) > kSteadyDrift; };
  if (!std::all_of(visits.begin(), visits.end(), unsteady)) std::erase_if(visits, unsteady);
  std::sort(visits.begin(), visits.end(), [](const Visit& a, const Visit& b) { return a.seconds < b.seconds; });
  return visits[(visits.size() - 1) / 2].seconds;
}

}  // namespace smelt::gnn
