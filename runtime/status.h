// Whether something went well, and why not, for a library that links nothing but the standard library.
//
//   Status status = Failed(Status::Code::kNotFound, "plan.bin: there is no such file");
//   if (!status.ok()) return status;
#pragma once

#include <string>
#include <utility>

namespace smelt::runtime {

struct Status {
  // The numbers are those of absl::StatusCode, so that whoever has it can convert one to the other.
  enum class Code : int {
    kOk = 0,
    kCancelled = 1,           // the caller's flag said so
    kInvalidArgument = 3,     // what the caller gave cannot be right
    kNotFound = 5,            // a file that is needed is not there
    kResourceExhausted = 8,   // no memory
    kFailedPrecondition = 9,  // right elsewhere: this machine or this version cannot do it
    kInternal = 13,           // a bug of ours
    kUnavailable = 14,        // the system refused something
    kDataLoss = 15,           // a file is torn or was changed
  };
  Code code = Code::kOk;
  std::string message;

  bool ok() const { return code == Code::kOk; }
};

inline Status Failed(Status::Code code, std::string message) { return {code, std::move(message)}; }

}  // namespace smelt::runtime
