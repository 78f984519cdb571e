// The operand of a product whose rows are broadcast against vectors of the other one, where the kernel computes it: a
// stack of features, a scaled input. All columns of the result read a row once each. Where one pass over the rows makes
// them all, a block of rows is computed just before its products, and need not go through memory.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "kernels/templates/register_tile.h"
#include "kernels/templates/templates.h"

namespace smelt::kernels::nests {

// Those operands, too large for the caches near a core, of the only sum of a nest. None where some of the sum's results
// other than a vector's next ones read the same elements, or where the tile leaves columns to another pass.
std::vector<const Access*> RowOperandsOf(const NestInput& input, const std::vector<const te::Operation*>& sums,
                                         const RegisterTile& registers);

// Makes the operand a stage in scratch of the thread, computed at a loop of the stage `consumer`.
absl::Status ComputeRowsAt(schedule::Schedule& schedule, const NestInput& input, const Access& operand,
                           const std::string& consumer, const std::string& loop);

}  // namespace smelt::kernels::nests
