#include "targets/cpu/deploy/link_objects.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "base/write_file.h"
#include "runtime/deploy/cpu_features.h"

extern char** environ;

namespace smelt::cpu::deploy {
namespace {

constexpr size_t kShownBytes = 2000;  // of what a linker says

struct Run {
  int error = 0;    // of starting it
  int status = -1;  // of waiting for it
};

Run RunProgram(const std::vector<std::string>& words, const std::string& says) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, says.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  ::posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  Run run;
  pid_t child = -1;
  run.error = ::posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (run.error != 0) return run;
  while (::waitpid(child, &run.status, 0) < 0 && errno == EINTR) {
  }
  return run;
}

std::string Beginning(const std::string& path) {
  std::ifstream in(path);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  return text.substr(0, kShownBytes);
}

}  // namespace

absl::Status LinkObjects(const std::vector<std::string>& objects, const std::string& architecture,
                         const std::string& output, const std::string& scratch) {
  // A list in a file, because a command line has an end.
  std::string list;
  for (const std::string& object : objects) absl::StrAppend(&list, "\"", object, "\"\n");
  const std::string response = absl::StrCat(output, ".objects");
  SMELT_RETURN_IF_ERROR(WriteFile(response, list));
  std::vector<std::string> linkers = {"ld", "ld.lld", "mold", "ld.gold"};
  // The system's own linker and gold are for its own architecture.
  if (architecture != runtime::deploy::Architecture())
    linkers = {absl::StrCat(architecture, "-linux-gnu-ld"), "ld.lld", "mold"};
  const std::string usual = absl::StrJoin(linkers, ", ");
  const char* given = std::getenv("SMELT_LD");
  const bool chosen = given != nullptr && *given != '\0';
  if (chosen) linkers = {given};
  for (const std::string& linker : linkers) {
    const Run run = RunProgram({linker, "-shared", "-z", "noexecstack", "-z", "relro", "--hash-style=gnu", "-o", output,
                                absl::StrCat("@", response)},
                               scratch);
    if (run.error == ENOENT) continue;
    ::unlink(response.c_str());
    if (run.error != 0)
      return absl::UnavailableError(absl::StrCat(linker, ": cannot be started: ", std::strerror(run.error)));
    if (WIFEXITED(run.status) && WEXITSTATUS(run.status) == 0) return absl::OkStatus();
    return absl::InternalError(
        absl::StrCat("linker ", linker, " failed on the module's kernels: ", Beginning(scratch)));
  }
  ::unlink(response.c_str());
  return absl::FailedPreconditionError(absl::StrCat("no linker for ", architecture, ": `smelt build` needs one of ",
                                                    usual, " on PATH, or its name in SMELT_LD",
                                                    chosen ? absl::StrCat(" (which is ", given, ")") : ""));
}

}  // namespace smelt::cpu::deploy
