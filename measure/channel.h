// Messages between the tuner and its measuring child: JSON with a length before it, over a pair of file descriptors.
#pragma once

#include <atomic>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

namespace smelt::measure {

// Unavailable when the other side is gone.
absl::Status SendMessage(int descriptor, const nlohmann::json& message);
// Waits at most `timeout_seconds` (negative: for ever). DeadlineExceeded, Unavailable (end of file), DataLoss, or
// Cancelled soon after `cancel`, where given, becomes true.
absl::StatusOr<nlohmann::json> ReceiveMessage(int descriptor, double timeout_seconds,
                                              const std::atomic<bool>* cancel = nullptr);

}  // namespace smelt::measure
