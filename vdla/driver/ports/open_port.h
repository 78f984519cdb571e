// Ports by name: the name, then options as key=value.
//
//   std::unique_ptr<Port> port = OpenPort("cycle:machine=big,races=off").value();
//
//   functional   computes at once and counts no cycles         machine, races, dram
//   cycle        computes cycle by cycle                       machine, races, dram
//   xrt          a card under XRT (vdla/xrt/README.md)         xclbin, device, kernel, machine, dram, plugin
//   faulty       another port, which fails in a chosen way     over, fault, at, and the other port's options
//
//   machine=NAME   of vdla/configs/, or the path of a JSON file; `pynq`, where nothing is said
//   races=off      two accesses that no token orders are an error (`on`, the default), or are not looked for
//   dram=BYTES     how much of the machine's DRAM is given out; with K, M or G behind it, 2^10, 2^20 or 2^30 times that
//   over=PORT      `functional`, where nothing is said
//   fault=NAME     ports/faulty_port.h lists them
//   at=N           the N-th call that it concerns fails; the first, where nothing is said
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "vdla/driver/ports/port.h"

namespace smelt::vdla::driver {

// InvalidArgument: an option that the port does not have, or a value that makes no sense. NotFound: no such port; a
// machine, a library, a file or a card that is not there.
absl::StatusOr<std::unique_ptr<Port>> OpenPort(std::string_view name);
std::vector<std::string> PortNames();

}  // namespace smelt::vdla::driver
