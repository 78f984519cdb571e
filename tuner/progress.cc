#include "tuner/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace smelt::tuner {
namespace {

constexpr auto kTerminalPause = std::chrono::milliseconds(100);
constexpr auto kPlainPause = std::chrono::seconds(5);

bool IsTerminal(std::FILE* file) {
  const char* kind = std::getenv("TERM");
  return ::isatty(::fileno(file)) && (kind == nullptr || std::string_view(kind) != "dumb");
}

// A line that reaches the last column would be broken, and only its last part written over.
size_t Columns(std::FILE* file) {
  winsize size{};
  if (::ioctl(::fileno(file), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 118;
  return std::max<size_t>(size.ws_col, 2) - 1;
}

}  // namespace

Progress::Progress() : Progress(stderr, IsTerminal(stderr)) {}

Progress::~Progress() {
  if (open_) std::fputc('\n', file_);
}

void Progress::Update(std::string_view line) {
  const Clock::time_point now = Clock::now();
  if (!last_line_.empty() && now - last_time_ < (terminal_ ? kTerminalPause : kPlainPause)) return;
  last_time_ = now;
  if (!terminal_ && line == last_line_) return;
  last_line_ = line;
  if (terminal_) {
    const size_t length = std::min(line.size(), Columns(file_));
    std::fprintf(file_, "\r%.*s\033[K", static_cast<int>(length), line.data());
    std::fflush(file_);
    open_ = true;
  } else {
    Say(line);
  }
}

void Progress::Say(std::string_view line) {
  std::fprintf(file_, "%s%.*s\n", open_ ? "\r\033[K" : "", static_cast<int>(line.size()), line.data());
  std::fflush(file_);
  open_ = false;
}

}  // namespace smelt::tuner
