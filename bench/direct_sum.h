// The direct sum of a convolution, whose default may be Winograd's algorithm.
//
//   kernels::config::ScheduleChoice schedule = DirectSum(*module.entry(), target).value();
#pragma once

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "hlo/module.h"
#include "kernels/config/choice.h"
#include "kernels/cost/algorithm_choice.h"
#include "kernels/nests/structure.h"
#include "kernels/te/hlo/from_hlo.h"
#include "kernels/templates/templates.h"
#include "kernels/tiles/tiles.h"
#include "machine/machine.h"

namespace smelt::bench {

// The default where it is that anyway; otherwise the tile that suits the sum best. Errors: an instruction without a
// loop nest.
inline absl::StatusOr<kernels::config::ScheduleChoice> DirectSum(const hlo::Computation& layer,
                                                                 const machine::Machine& target) {
  if (!kernels::cost::DefaultAlgorithm(layer, /*weights_known=*/false, target))
    return kernels::config::ScheduleChoice();
  SMELT_ASSIGN_OR_RETURN(kernels::te::Graph graph, kernels::te::FromHlo(layer));
  const kernels::nests::Structure structure = kernels::nests::AnalyseStructure(std::move(graph));
  return kernels::nests::Tile{kernels::nests::PreferredTiles(structure.main_nest(), target).front()};
}

}  // namespace smelt::bench
