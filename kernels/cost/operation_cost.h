// What operations without a loop nest take: sorts, scatters, Fourier transforms, factorisations.
#pragma once

#include <optional>

#include "hlo/instruction.h"

namespace smelt::kernels::cost {

// Processor cycles on one thread of code that is written for the operation, apart from reading and writing its arrays;
// fitted to measurements of such code on one CPU with AVX-512. Nothing for other opcodes.
std::optional<double> OperationCycles(const hlo::Instruction& instruction);

}  // namespace smelt::kernels::cost
