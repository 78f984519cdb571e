#include "measure/channel.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/deadline.h"
#include "base/json.h"
#include "base/status_macros.h"

namespace smelt::measure {
namespace {

constexpr uint32_t kMessageLimitBytes = 1u << 30;

absl::Status ReadAll(int descriptor, char* bytes, size_t size, Deadline& deadline, const std::atomic<bool>* cancel) {
  constexpr double kCancelSeconds = 0.1;  // how long a cancellation may go unnoticed
  while (size > 0) {
    const double left = deadline.Left();
    if (left <= 0) return absl::DeadlineExceededError("no answer in time");
    if (cancel != nullptr && *cancel) return absl::CancelledError("interrupted");
    double seconds = std::min(left, cancel != nullptr ? kCancelSeconds : Deadline::kLook);
    if (cancel == nullptr && std::isinf(left)) seconds = -1;  // nothing to look for
    pollfd poll_descriptor{descriptor, POLLIN, 0};
    const int ready = ::poll(&poll_descriptor, 1, static_cast<int>(std::ceil(1e3 * seconds)));
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
  const std::string text = JsonText(message);
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

absl::StatusOr<nlohmann::json> ReceiveMessage(int descriptor, double timeout_seconds, const std::atomic<bool>* cancel) {
  Deadline deadline(timeout_seconds >= 0 ? timeout_seconds : std::numeric_limits<double>::infinity());
  uint32_t length = 0;
  SMELT_RETURN_IF_ERROR(ReadAll(descriptor, reinterpret_cast<char*>(&length), sizeof(length), deadline, cancel));
  if (length > kMessageLimitBytes)
    return absl::DataLossError(absl::StrCat("a message of ", length, " bytes is not one of ours"));
  std::string text(length, '\0');
  SMELT_RETURN_IF_ERROR(ReadAll(descriptor, text.data(), length, deadline, cancel));
  nlohmann::json message = ParseJson(text);
  if (message.is_discarded() || !message.is_object()) return absl::DataLossError("a message that is no JSON object");
  return message;
}

}  // namespace smelt::measure
