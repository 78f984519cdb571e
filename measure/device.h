// Something that answers the requests of the measuring protocol: a child process on this machine (worker_process.h), a
// simulator within this process, a machine elsewhere.
//
//   DeviceFactory factory = LocalChild({.target = "cpu:threads=1"});
//   std::unique_ptr<Device> device = factory(/*start_seconds=*/60).value();
//   auto reply = device->Call({{"do", "load"}, {"module", text}}, 60);
//
// A device may die of a request. It is never mended: whoever asks it makes a new one, as Runner does.
#pragma once

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

namespace smelt::measure {

class Device {
 public:
  virtual ~Device() = default;

  // The reply to a request, which is awaited for so long. A reply may say that the request failed; an error of this
  // function says that the device did, and then it is gone: DeadlineExceeded (no answer in time), Aborted (it crashed
  // of what it did), ResourceExhausted (its memory limit), Unavailable (something that the request is not to blame
  // for), Cancelled.
  virtual absl::StatusOr<nlohmann::json> Call(const nlohmann::json& request, double timeout_seconds) = 0;
  // False once it is gone.
  virtual bool alive() const = 0;
};

// Makes a device that is ready to answer. It may take up to `start_seconds`, or less where it has a limit of its own;
// DeadlineExceeded where it took longer. Other errors say why there is none.
using DeviceFactory = std::function<absl::StatusOr<std::unique_ptr<Device>>(double start_seconds)>;

}  // namespace smelt::measure
