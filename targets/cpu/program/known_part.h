// Takes out of a program what need not be done in every run: what reads nothing but known inputs and constants.
//
//   dot packs its weights, phase 0, then multiplies, phase 1; the weights are a known input
//   setup:  dot, phase 0, into memory that is kept
//   steps:  dot, phase 1
#pragma once

#include <vector>

#include "runtime/execution.h"
#include "runtime/program.h"

namespace smelt::cpu {

// Moves into Program::setup
//   - kernels and native operations that read known values alone, a known input among them, and what follows from them;
//   - of other kernels, the phases that read known values alone and write scratch: a packed operand, for example. Steps
//     that run the same kernel on the same known values share what is kept.
// Only where what is kept has at most six times the bytes that are read: Winograd's F(4x4, 3x3) makes four of one.
// Inside loops and branches too: nothing that is moved has an effect but its result. Runs before CoalesceCopies; the
// steps have their shared scratch.
void TakeOutKnownPart(const std::vector<runtime::ProgramJob>& jobs, runtime::Program* program);

}  // namespace smelt::cpu
