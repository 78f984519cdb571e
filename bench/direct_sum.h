// The direct sum of a convolution, whose default may be Winograd's algorithm.
//
//   SMELT_ASSIGN_OR_RETURN(options.schedule, DirectSum(*module->entry(), target));
#pragma once

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "hlo/module.h"
#include "kernels/nests/structure.h"
#include "kernels/te/hlo/from_hlo.h"
#include "kernels/templates/templates.h"
#include "kernels/tiles/tiles.h"
#include "machine/machine.h"

namespace smelt::bench {

// The tile that suits it best. Errors: an instruction without a loop nest.
inline absl::StatusOr<kernels::nests::Tile> DirectSum(const hlo::Computation& layer, const machine::Machine& target) {
  SMELT_ASSIGN_OR_RETURN(kernels::te::Graph graph, kernels::te::FromHlo(layer));
  const kernels::nests::Structure structure = kernels::nests::AnalyseStructure(std::move(graph));
  return kernels::nests::Tile{kernels::nests::PreferredTiles(structure.main_nest(), target).front()};
}

}  // namespace smelt::bench
