// The runtime's statuses, which know no library but the standard one, and absl's.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "runtime/status.h"

namespace smelt::cpu {

inline absl::Status ToAbsl(const runtime::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.code), status.message);
}

inline runtime::Status FromAbsl(const absl::Status& status) {
  return {static_cast<runtime::Status::Code>(status.raw_code()), std::string(status.message())};
}

}  // namespace smelt::cpu
