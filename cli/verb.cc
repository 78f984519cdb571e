#include "cli/verb.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/cache_folder.h"
#include "cli/interrupt.h"
#include "cli/wrong_words.h"

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

int ReadAndRun(CLI::App& app, const Action& chosen, std::vector<std::string> words) {
  const bool has_verbs = !app.get_subcommands({}).empty();
  if (has_verbs && words.empty()) {
    std::cerr << app.help();
    return 2;
  }
  if (has_verbs && words[0] == "help") {  // `help VERB` is `VERB --help`
    words.erase(words.begin());
    words.insert(words.begin() + (words.empty() ? 0 : 1), "--help");
  }
  if (const std::string wrong = has_verbs ? WrongVerb(app, words[0]) : ""; !wrong.empty()) {
    std::cerr << wrong << std::endl;
    return 2;
  }
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    std::cerr << WrongWords(app, error) << std::endl;
    return 2;
  }
  absl::Status status = chosen();
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

int Main(CLI::App& app, const Action& chosen, int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond a limit of the disk is an error to report, not an end
  OpenStandardFiles();
  const int code = ReadAndRun(app, chosen, std::vector<std::string>(argv + 1, argv + argc));
  errno = 0;
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return code;
  std::cerr << VerbName(app) << ": standard output cannot be written"
            << (errno == 0 ? "" : absl::StrCat(": ", std::strerror(errno))) << std::endl;
  return code == 0 ? 1 : code;
}

}  // namespace smelt::cli
