// When the states of loops are written over: as late as possible, so that fusion is free to read them.
//
// Before fusion XLA finds that many new values of a loop's state can be written over the old ones in place, because all
// that reads the old ones comes before. A fusion that brings such a reader and the new value together, as XLA's own
// fusion does, needs a copy at the end of the body instead. Here each such value gets that copy before fusion, and
// loses it again after fusion where the fused program does not need it.
#pragma once

#include "hlo/module.h"

namespace smelt::xla {

// Adds copies; computes the same.
void OverwriteLate(hlo::Module* module);

// After fusion: removes the copies of values that can be written in place after all, and has the others wait for every
// reader of what they write over.
void SettleOverwriting(hlo::Module* module);

}  // namespace smelt::xla
