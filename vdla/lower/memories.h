// VDLA's memories as rows of a table of scopes, so that a schedule may place stages in them.
//
//   te::ScopeTable memories = Memories(config);
//   te::Scope inputs = *memories.Find("inp");    // also "wgt", "acc"; "dram", where the schedule says nothing
//
// And what the ALU has that expressions have not, as intrinsics.
#pragma once

#include <optional>

#include "kernels/te/intrinsic.h"
#include "kernels/te/scope.h"
#include "vdla/isa/config.h"

namespace smelt::vdla::lower {

namespace te = kernels::te;

te::ScopeTable Memories(const isa::Config& config);

// The memory on the chip that a scope of the table is; none for DRAM.
std::optional<isa::Memory> MemoryOf(const te::Scope& scope);

// vdla_mulshift(x, y) of two s32: AluOp::kMulShift, requantisation by a multiplier and a shift in one number.
const te::IntrinsicRef& MulShift();

}  // namespace smelt::vdla::lower
