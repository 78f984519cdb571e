// XLA's own library fusions in a program that is tuned around them.
//
// Where XLA's choice of its library for all of a program is the better one, that program is what a search starts from:
// its kCustom fusions, which hold contractions, reductions and what XLA put beside them, stay as they are, and all else
// is ours to fuse. To the space such a fusion is one opaque instruction, a custom call.
#pragma once

#include "hlo/module.h"

namespace smelt::xla {

bool IsLibraryFusion(const hlo::Instruction& instruction);

// Library fusions become custom calls of their computations; returns how many.
int64_t HoldLibraryFusions(hlo::Module* module);
// And fusions again.
void ReleaseLibraryFusions(hlo::Module* module);

}  // namespace smelt::xla
