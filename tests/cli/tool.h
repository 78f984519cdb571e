// Runs the real `smelt` in tests: to its end, or only until a moment of the test's choice.
//
//   Tool tool = Tool::Start({"tune", "a.hlo", "--out=run"});
//   tool.Kill(SIGKILL);
//   EXPECT_EQ(RunTool({"inspect", "a.hlo"}).exit_code, 0);
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"

namespace smelt::cli {

struct ToolResult {
  int exit_code = -1;  // -1: ended by a signal
  int signal = 0;
  std::string out, err;
  nlohmann::json json() const { return ParseJson(out); }
};

struct ToolOptions {
  int64_t file_size_limit = 0;  // bytes of any one file, as a disk that fills up; 0: none
  std::string cache;            // the cache folder; empty: one for all tests of the program
  std::string out;              // standard output goes to this file, and the result has none
  bool closed = false;          // standard output is closed
};

// A running tool. Kernels are cached in one folder for the whole test program.
class Tool {
 public:
  static Tool Start(const std::vector<std::string>& arguments, const ToolOptions& options = {});
  ~Tool();
  Tool(Tool&& other) noexcept;
  Tool(const Tool&) = delete;
  Tool& operator=(const Tool&) = delete;

  void Signal(int signal);
  // Waits for the end, at most this long; after that the tool is killed, which the result shows.
  ToolResult Wait(double timeout_seconds = 300);
  bool Running();
  bool Listens(int signal) const;  // whether it has a handler of this signal
  std::string Error() const;       // what it has said on standard error so far
  pid_t pid() const { return pid_; }

 private:
  Tool() = default;
  pid_t pid_ = -1;
  bool reaped_ = false;
  int status_ = 0;
  std::string out_, err_;  // files
};

ToolResult RunTool(const std::vector<std::string>& arguments, const ToolOptions& options = {});

// A new empty folder below the test's temporary one.
std::filesystem::path FreshFolder(const std::string& name);
std::string ReadFile(const std::filesystem::path& path);
void WriteFile(const std::filesystem::path& path, const std::string& text);

// A small network with everything that fusion decides about: two dense layers, a softmax and a normalisation.
std::string SmallProgram();
// Another one, none of whose instructions has a name of the first.
std::string OtherProgram();

// Processes whose parent is `pid`.
std::vector<pid_t> ChildrenOf(pid_t pid);
bool Exists(pid_t pid);

}  // namespace smelt::cli
