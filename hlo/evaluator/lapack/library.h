// The system's LAPACK, opened when the first program asks for it: no other program should wait for its threads.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace smelt::hlo {

// A Fortran routine, for example `spotrf`; the caller knows its type.
// FailedPrecondition: there is no LAPACK on this machine; the message names the package.
absl::StatusOr<void*> LapackRoutine(const std::string& name);

}  // namespace smelt::hlo
