// A card under XRT as a port, by way of libvdla_xrt.so (vdla/xrt), which is opened when the first such port is: a
// program that never asks for a card needs no XRT.
//
//   Options options = Options::Parse("xclbin=vdla.xclbin,device=0,machine=pynq").value();
//   std::unique_ptr<Port> port = OpenXrtPort("xrt", options).value();
//
//   xclbin=FILE    what the card is programmed with; needed
//   device=CARD    an index, or a PCIe address as 0000:17:00.1; `0`, where nothing is said
//   kernel=NAME    of the core in the xclbin; `vdla`, where nothing is said
//   machine=NAME   what the core is; each run compares it with what the core says of itself
//   dram=BYTES     what is taken of the card's memory; all that the machine has, where nothing is said
//   plugin=FILE    libvdla_xrt.so; beside this code, then where the loader looks, where nothing is said
#pragma once

#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "vdla/driver/ports/options.h"
#include "vdla/driver/ports/port.h"
#include "vdla/isa/config.h"

namespace smelt::vdla::driver {

// NotFound: the library, XRT, the card, the file or its kernel is not there; says which, and what to do.
// FailedPrecondition: the library is of another version.
absl::StatusOr<std::unique_ptr<Port>> OpenXrtPort(std::string_view name, const Options& options);

// What a kernel's status block says of a run (xrt_plugin.h). Unavailable: nothing was written into it.
// FailedPrecondition: the core is another machine. Aborted: it stopped at an instruction.
absl::StatusOr<RunResult> ReadStatusBlock(absl::Span<const uint32_t> words, const isa::Config& machine);

}  // namespace smelt::vdla::driver
