#include "tuner/measure/channel.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "hlo/status_macros.h"

namespace smelt::tuner {
namespace {

constexpr uint32_t kMessageLimitBytes = 1u << 30;

using Clock = std::chrono::steady_clock;

absl::Status ReadAll(int descriptor, char* bytes, size_t size, bool limited, Clock::time_point deadline) {
  while (size > 0) {
    int wait = -1;
    if (limited) {
      const double left = std::chrono::duration<double, std::milli>(deadline - Clock::now()).count();
      if (left <= 0) return absl::DeadlineExceededError("no answer in time");
      wait = static_cast<int>(std::ceil(left));
    }
    pollfd poll_descriptor{descriptor, POLLIN, 0};
    const int ready = ::poll(&poll_descriptor, 1, wait);
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return absl::UnavailableError(std::strerror(errno));
    if (ready == 0) continue;
    const ssize_t n = ::read(descriptor, bytes, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return absl::UnavailableError("the other side closed the channel");
    bytes += n;
    size -= static_cast<size_t>(n);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status SendMessage(int descriptor, const nlohmann::json& message) {
  const std::string text = message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (text.size() > kMessageLimitBytes)
    return absl::ResourceExhaustedError("a message over 1 GiB cannot be sent to the measuring process");
  const uint32_t length = static_cast<uint32_t>(text.size());
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof(length));
  bytes += text;
  size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t n = ::write(descriptor, bytes.data() + sent, bytes.size() - sent);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return absl::UnavailableError("the other side closed the channel");
    sent += static_cast<size_t>(n);
  }
  return absl::OkStatus();
}

absl::StatusOr<nlohmann::json> ReceiveMessage(int descriptor, double timeout_seconds) {
  const bool limited = timeout_seconds >= 0;
  const Clock::time_point deadline =
      Clock::now() + std::chrono::microseconds(static_cast<int64_t>(limited ? timeout_seconds * 1e6 : 0));
  uint32_t length = 0;
  SMELT_RETURN_IF_ERROR(ReadAll(descriptor, reinterpret_cast<char*>(&length), sizeof(length), limited, deadline));
  if (length > kMessageLimitBytes)
    return absl::DataLossError(absl::StrCat("a message of ", length, " bytes is not one of ours"));
  std::string text(length, '\0');
  SMELT_RETURN_IF_ERROR(ReadAll(descriptor, text.data(), length, limited, deadline));
  nlohmann::json message = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (message.is_discarded() || !message.is_object()) return absl::DataLossError("a message that is no JSON object");
  return message;
}

}  // namespace smelt::tuner
