// LOADs and STOREs of a box of elements: dimensions that lie one behind the other become one, two fit an instruction,
// and each step of what remains is an instruction of its own.
//
//   CopyBox box{.memory = isa::Memory::kInp};
//   box.dims.push_back({.before = 1, .size = 14, .sram_stride = 16, .dram_stride = 20});   // a row of padding above
//   box.dims.push_back({.size = 16});                                                      // 16 of 20 elements
//   std::vector<isa::Instruction> loads;
//   absl::Status status = AppendCopies(box, &loads);                                       // one instruction
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "vdla/isa/instruction.h"

namespace smelt::vdla::lower {

// A box whose position is known. Dimensions from the slowest to the fastest.
struct CopyBox {
  struct Dim {
    int64_t before = 0, size = 1, after = 0;  // elements of padding, of DRAM, of padding
    int64_t sram_stride = 1, dram_stride = 1;
  };
  bool store = false;
  isa::Memory memory = isa::Memory::kInp;
  int64_t sram = 0;  // element of the memory where the box begins, padding included
  int64_t dram = 0;  // element in DRAM, in the form of `memory`, where what is not padding begins
  std::vector<Dim> dims;
  int32_t pad_value = 0;
};

// Appends the instructions, in the order of SRAM; none for an empty box. InvalidArgument: padding of more than 15
// elements beside rows, padding of a store, rows further apart in DRAM than the encoding can say.
absl::Status AppendCopies(const CopyBox& box, std::vector<isa::Instruction>* out);

}  // namespace smelt::vdla::lower
