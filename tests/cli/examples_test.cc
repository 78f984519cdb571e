// The commands that the README and each verb's help show, in the order in which someone reads them, end well.
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/cli/every_verb.h"
#include "tests/cli/tool.h"

namespace smelt::cli {
namespace {

namespace fs = std::filesystem;

// Lines of the first block of code under a heading, without their remarks.
std::vector<std::string> ReadmeExamples(const std::string& heading) {
  const std::string readme = ReadFile(fs::path(SMELT_SOURCE_DIR) / "README.md");
  const size_t section = readme.find("\n## " + heading + "\n"), begin = readme.find("\n```\n", section) + 5,
               end = readme.find("\n```\n", begin);
  EXPECT_NE(section, std::string::npos);
  std::vector<std::string> examples;
  std::istringstream block(readme.substr(begin, end - begin));
  for (std::string line; std::getline(block, line);)
    examples.emplace_back(absl::StripAsciiWhitespace(line.substr(0, line.find(" # "))));
  return examples;
}

std::string HelpExample(const std::string& verb) {
  const std::string help = RunTool({"help", verb}).out, title = "Example:\n  ";
  const size_t begin = help.find(title);
  EXPECT_NE(begin, std::string::npos) << verb;
  return begin == std::string::npos
             ? ""
             : help.substr(begin + title.size(), help.find('\n', begin + title.size()) - begin - title.size());
}

// Runs the line as a shell does in a folder that has the models, as the repository's root does.
void RunInShell(const std::string& line, const fs::path& folder) {
  ::setenv("SMELT_CACHE", (folder / "cache").c_str(), 1);
  ::setenv("PATH_OF_TOOL", fs::path(SMELT_TOOL).parent_path().c_str(), 1);
  const std::string command =
      absl::StrCat("cd '", folder.string(), "' && { PATH=$PATH_OF_TOOL:$PATH; ", line, "\n} >out 2>err </dev/null");
  const int status = std::system(command.c_str());
  const std::string error = ReadFile(folder / "err");
  if (error.find("needs a Python") != std::string::npos) return;  // what the example's remark says is missing here
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << line << "\n" << error;
}

fs::path FolderWithModels(const std::string& name) {
  const fs::path folder = FreshFolder(name);
  fs::create_directory_symlink(fs::path(SMELT_SOURCE_DIR) / "models", folder / "models");
  return folder;
}

TEST(Examples, OfTheReadmeEndWell) {
  const fs::path folder = FolderWithModels("readme");
  const std::vector<std::string> examples = ReadmeExamples("Using it");
  EXPECT_GT(examples.size(), 8u);
  for (const std::string& example : examples) RunInShell(example, folder);
}

TEST(Examples, OfEachVerbsHelpEndWell) {
  const fs::path folder = FolderWithModels("help");
  for (const std::string& verb : Verbs()) {
    const std::string example = HelpExample(verb);
    EXPECT_TRUE(example.starts_with("smelt " + verb)) << verb << ": " << example;
    RunInShell(example, folder);
  }
}

}  // namespace
}  // namespace smelt::cli
