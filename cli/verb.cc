#include "cli/verb.h"

#include <csignal>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "kernels/compile/cache_folder.h"

namespace smelt::cli {

absl::Status FailedQuietly() { return absl::CancelledError("smelt:quiet"); }
bool IsQuiet(const absl::Status& status) { return absl::IsCancelled(status) && status.message() == "smelt:quiet"; }

int Main(CLI::App& app, const Action& chosen, int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond a limit of the disk is an error to report, not an end
  try {
    app.parse(argc, argv);
  } catch (const CLI::RequiredError& error) {
    // A flag that does not exist may be why another is missing: it is told first.
    const std::vector<std::string> unknown = app.remaining(/*recurse=*/true);
    app.exit(unknown.empty() ? static_cast<const CLI::Error&>(error) : CLI::ExtrasError(unknown));
    return 2;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const absl::Status status = chosen();
  // Once, and after the work: it costs time, nothing else.
  if (const std::string trouble = kernels::TakeCacheTrouble(); !trouble.empty()) std::cerr << trouble << std::endl;
  if (status.ok()) return std::fflush(stdout) == 0 ? 0 : 1;
  if (!IsQuiet(status)) std::cerr << status.message() << std::endl;
  return absl::IsOutOfRange(status) ? 2 : 1;
}

}  // namespace smelt::cli
