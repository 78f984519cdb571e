// The machines whose sizes the build gave to the Verilog as parameters: JSON, and the width of the memory's port in
// bytes.
#pragma once

namespace smelt::vdla::rtl {

const char* PynqMachine();
const char* TinyMachine();

inline constexpr int kPynqMemoryBytes = SMELT_VDLA_PYNQ_MEMORY_BYTES;
inline constexpr int kTinyMemoryBytes = SMELT_VDLA_TINY_MEMORY_BYTES;

}  // namespace smelt::vdla::rtl
