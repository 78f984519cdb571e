#include "measure/protocol.h"

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace smelt::measure {

using nlohmann::json;

absl::Status CheckVersion(const json& hello) {
  const auto version = hello.find("protocol");
  if (version != hello.end() && *version == kProtocolVersion) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "it speaks ", version == hello.end() ? "no known version" : absl::StrCat("version ", version->dump()),
      " of the measuring protocol, and this smelt version ", kProtocolVersion,
      ": take both from one build or installation of smelt"));
}

json ErrorReply(const absl::Status& error, bool building) {
  return {{"error", std::string(error.message())}, {"build", building}, {"code", static_cast<int>(error.code())}};
}

absl::Status ErrorOf(const json& reply) {
  if (!reply.contains("error")) return absl::OkStatus();
  return absl::Status(static_cast<absl::StatusCode>(reply.value("code", static_cast<int>(absl::StatusCode::kInternal))),
                      reply.value("error", ""));
}

}  // namespace smelt::measure
