// From a fused module to a program: which instructions run as kernels, and the buffers that values live in.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "hlo/module.h"
#include "targets/cpu/program/built_program.h"

namespace smelt::cpu {

// What the program does for an instruction of this opcode where it is not simply a kernel ("inlined"); empty where it
// is one, or has no compiled form (fusion::IsKernel).
std::string_view WithoutKernel(hlo::Opcode opcode);

// Tuples, get-tuple-element, reshape, bitcast and copy are other names of the same buffer. A while keeps its state in
// buffers of its own, one a leaf: leaves that the body passes through unchanged stay where they are. Calls are inlined.
// Parameters that are marked as known (hlo/known/known_parameters.h) become inputs that are.
// Asynchronous operations are done where they start. Arrays whose size is known only at run time: see
// runtime_size_region.h. Errors: Unimplemented, naming the instruction, for transfers;
// ResourceExhausted where inlining would make a program of more than four million steps or 256 levels.
absl::StatusOr<BuiltProgram> BuildProgram(const hlo::Module& module);

}  // namespace smelt::cpu
