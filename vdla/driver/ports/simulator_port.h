// The simulators of sim/ as ports.
//
//   std::unique_ptr<Port> port = OpenSimulatorPort("cycle", Options::Parse("machine=pynq").value()).value();
#pragma once

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "vdla/driver/ports/options.h"
#include "vdla/driver/ports/port.h"

namespace smelt::vdla::driver {

// `name` is `functional` or `cycle`. Options: machine, races, dram.
absl::StatusOr<std::unique_ptr<Port>> OpenSimulatorPort(std::string_view name, const Options& options);

}  // namespace smelt::vdla::driver
