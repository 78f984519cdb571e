#include "cli/interrupt.h"

#include <csignal>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/verb.h"

namespace smelt::cli {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

std::atomic<bool> requested{false};
std::atomic<int> which{0};

void Request(int signal) {
  which = signal == SIGHUP ? SIGTERM : signal;
  requested = true;
  std::signal(signal, SIG_DFL);
}

}  // namespace

Interrupt::Interrupt() {
  for (int signal : kSignals) {
    if (std::signal(signal, Request) == SIG_IGN && signal == SIGHUP) std::signal(signal, SIG_IGN);
  }
}

Interrupt::~Interrupt() {
  for (int signal : kSignals) {
    if (std::signal(signal, SIG_DFL) == SIG_IGN && signal == SIGHUP) std::signal(signal, SIG_IGN);
  }
}

bool Interrupt::Requested() const { return requested; }
const std::atomic<bool>* Interrupt::flag() const { return &requested; }
int Interrupt::Signal() { return which; }

absl::Status Interrupt::End(std::string_view kept) {
  if (!requested) return absl::OkStatus();
  return EndWith(128 + which,
                 absl::StrCat("interrupted by ", which == SIGINT ? "SIGINT" : "SIGTERM", ": ", std::string(kept)));
}

}  // namespace smelt::cli
