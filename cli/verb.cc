#include "cli/verb.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/cache_folder.h"
#include "cli/interrupt.h"

namespace smelt::cli {
namespace {

constexpr char kExitCode[] = "smelt/exit-code";
constexpr int kUnsupported = 3;

// A file that is opened while one of the three is closed would get its number, and what is printed would land in it.
void OpenStandardFiles() {
  for (int file = STDIN_FILENO; file <= STDERR_FILENO; ++file) {
    if (::fcntl(file, F_GETFD) == -1) ::open("/dev/null", file == STDOUT_FILENO ? O_RDONLY : O_RDWR);
  }
}

int ExitCode(const absl::Status& status) {
  int code = 1;
  if (absl::IsUnimplemented(status)) code = kUnsupported;
  if (const auto given = status.GetPayload(kExitCode)) (void)absl::SimpleAtoi(std::string(*given), &code);
  return status.ok() ? 0 : code;
}

int ReadAndRun(CommandLine& line, std::vector<std::string> words) {
  const CommandLine::Choice choice = line.Read(std::move(words));
  if (choice.action == nullptr) return choice.exit_code;
  absl::Status status = choice.action();
  // Once, and after the work: it costs time, nothing else.
  if (const std::string trouble = TakeCacheTrouble(); !trouble.empty()) std::cerr << trouble << std::endl;
  if (absl::IsCancelled(status) && Interrupt::Signal() != 0) status = Interrupt::End("nothing was kept");
  if (!status.message().empty()) std::cerr << status.message() << std::endl;
  return ExitCode(status);
}

}  // namespace

absl::Status EndWith(int exit_code, const std::string& message) {
  absl::Status status = absl::AbortedError(message);
  status.SetPayload(kExitCode, absl::Cord(absl::StrCat(exit_code)));
  return status;
}
absl::Status UsageError(const std::string& message) { return EndWith(2, message); }
absl::Status FailedQuietly() { return EndWith(1, ""); }

int Main(CommandLine& line, int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond a limit of the disk is an error to report, not an end
  OpenStandardFiles();
  const int code = ReadAndRun(line, std::vector<std::string>(argv + 1, argv + argc));
  errno = 0;
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return code;
  std::cerr << line.Name() << ": standard output cannot be written"
            << (errno == 0 ? "" : absl::StrCat(": ", std::strerror(errno))) << std::endl;
  return code == 0 ? 1 : code;
}

}  // namespace smelt::cli
