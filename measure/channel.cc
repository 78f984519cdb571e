#include "measure/channel.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/status_macros.h"

namespace smelt::measure {
namespace {

constexpr uint32_t kMessageLimitBytes = 1u << 30;

struct Wait {
  bool limited;
  Clock::time_point deadline;
  const std::atomic<bool>* cancel;
};

absl::Status ReadAll(int descriptor, char* bytes, size_t size, const Wait& wait) {
  constexpr double kCancelMilliseconds = 100;  // how long a cancellation may go unnoticed
  while (size > 0) {
    double milliseconds = -1;
    if (wait.limited) {
      milliseconds = std::chrono::duration<double, std::milli>(wait.deadline - Clock::now()).count();
      if (milliseconds <= 0) return absl::DeadlineExceededError("no answer in time");
    }
    if (wait.cancel != nullptr) {
      if (*wait.cancel) return absl::CancelledError("interrupted");
      milliseconds = wait.limited ? std::min(milliseconds, kCancelMilliseconds) : kCancelMilliseconds;
    }
    pollfd poll_descriptor{descriptor, POLLIN, 0};
    const int ready = ::poll(&poll_descriptor, 1, static_cast<int>(std::ceil(std::min(milliseconds, 1e9))));
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
  const bool limited = timeout_seconds >= 0;
  const Wait wait{limited,
                  Clock::now() + std::chrono::microseconds(static_cast<int64_t>(limited ? timeout_seconds * 1e6 : 0)),
                  cancel};
  uint32_t length = 0;
  SMELT_RETURN_IF_ERROR(ReadAll(descriptor, reinterpret_cast<char*>(&length), sizeof(length), wait));
  if (length > kMessageLimitBytes)
    return absl::DataLossError(absl::StrCat("a message of ", length, " bytes is not one of ours"));
  std::string text(length, '\0');
  SMELT_RETURN_IF_ERROR(ReadAll(descriptor, text.data(), length, wait));
  nlohmann::json message = ParseJson(text);
  if (message.is_discarded() || !message.is_object()) return absl::DataLossError("a message that is no JSON object");
  return message;
}

}  // namespace smelt::measure
