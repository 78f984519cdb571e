// smelt train: becomes the program smelt-train, which alone is linked with LibTorch.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/verb.h"

namespace smelt::cli {
namespace {

// Returns only where the program cannot be started.
absl::Status BecomeTraining(std::vector<std::string> words) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string program = self.parent_path() / "smelt-train";
  words.insert(words.begin(), "smelt train");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv(program.c_str(), argv.data());
  if (errno != ENOENT)
    return absl::NotFoundError(absl::StrCat("smelt train: cannot start ", program, ": ", std::strerror(errno)));
  return absl::NotFoundError(absl::StrCat(
      "smelt train: there is no ", program,
      ", the program that trains, beside smelt. It needs LibTorch, and scripts/demo.sh builds without. Build it in "
      "the repository: scripts/setup.sh && cmake --preset release && cmake --build --preset release --target "
      "smelt-train"));
}

}  // namespace

Action AddTrain(CLI::App& app) {
  app.set_help_flag();  // --help, too, is for the program
  app.prefix_command();
  return [&app] { return BecomeTraining(app.remaining()); };
}

}  // namespace smelt::cli
