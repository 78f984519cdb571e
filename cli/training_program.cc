#include "cli/training_program.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace smelt::cli {

std::string Beside(const std::string& name) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return self.parent_path() / name;
}

absl::Status BecomeTraining(const std::string& verb, std::vector<std::string> words) {
  const std::string program = Beside("smelt-train"), name = absl::StrCat("smelt ", verb);
  words.insert(words.begin(), name);  // by which it knows what to do
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv(program.c_str(), argv.data());
  if (errno != ENOENT)
    return absl::NotFoundError(absl::StrCat(name, ": cannot start ", program, ": ", std::strerror(errno)));
  return absl::NotFoundError(absl::StrCat(
      name, ": there is no ", program,
      ", the program that trains, beside smelt. It needs LibTorch, and scripts/demo.sh builds without. Build it in "
      "the repository: scripts/setup.sh && cmake --preset release && cmake --build --preset release --target "
      "smelt-train"));
}

std::vector<std::string> WordsAfterVerb() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::vector<std::string> words = absl::StrSplit(text, '\0');
  if (!words.empty()) words.pop_back();  // each word ends so
  words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(words.size(), 2)));
  return words;
}

}  // namespace smelt::cli
