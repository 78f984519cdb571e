// A port that fails as cards do, so that what must survive a failing card can be tested without one.
//
//   std::unique_ptr<Port> port = OpenPort("faulty:over=cycle,fault=timeout,at=2").value();   // the second run
//
//   fault=           the call that it concerns, the N-th of which (`at`) fails
//   timeout          run: uses the whole time-out, then DeadlineExceeded; the next run is in order
//   trap             run: Aborted, at the program's middle instruction
//   vanish           run: Unavailable after half of the program, and everything after it too
//   wrong_geometry   run: FailedPrecondition, the card's core has other sizes
//   write, read      copy: DataLoss, a DMA error
//   partial          copy, each from the N-th on: at most half of the bytes, one at least
//   stuck            copy, each from the N-th on: no bytes
//   memory           allocate: ResourceExhausted
//   none             nothing
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "vdla/driver/ports/port.h"

namespace smelt::vdla::driver {

// InvalidArgument: no such fault. `at` counts from 1.
absl::StatusOr<std::unique_ptr<Port>> MakeFaultyPort(std::unique_ptr<Port> over, std::string_view fault, uint64_t at);
std::vector<std::string_view> FaultNames();

}  // namespace smelt::vdla::driver
