// An xclbin with one kernel and no bitstream: what XRT's noop mode, which programs nothing, needs to be told of a card.
//
//   std::string bytes = SmallXclbin({.kernel = "vdla", .arguments = {{"dram", true}, {"count", false}}});
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace smelt::vdla::xrt {

struct KernelArgument {
  std::string name;
  bool memory = false;  // a buffer in the card's bank 0; else 64 bits in a register
};

struct XclbinContents {
  std::string kernel = "vdla";
  std::vector<KernelArgument> arguments = {{"dram", true}, {"instructions", false}, {"count", false}, {"status", true}};
  uint64_t bank_bytes = uint64_t{1} << 30;
};

std::string SmallXclbin(const XclbinContents& contents);

}  // namespace smelt::vdla::xrt
