#include "tests/cli/tool.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "tests/scratch_folder.h"

namespace smelt::cli {

namespace fs = std::filesystem;

namespace {

// This test process's own, which goes with it.
const fs::path& OwnFolder() {
  static const ScratchFolder folder;
  return folder.path();
}

}  // namespace

Tool Tool::Start(const std::vector<std::string>& arguments, const ToolOptions& options) {
  static std::atomic<int> next{0};
  const fs::path& folder = OwnFolder();
  fs::create_directories(folder / "cache");
  const int number = next++;
  Tool tool;
  tool.out_ = (folder / (std::to_string(number) + ".out")).string();
  tool.err_ = (folder / (std::to_string(number) + ".err")).string();
  ::setenv("SMELT_CACHE", options.cache.empty() ? (folder / "cache").c_str() : options.cache.c_str(), 1);
  std::vector<std::string> words = {SMELT_TOOL};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const std::string& out_path = options.out.empty() ? tool.out_ : options.out;
  const int out = ::open(out_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const int err = ::open(tool.err_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const int in = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  tool.pid_ = ::fork();
  if (tool.pid_ == 0) {
    ::setpgid(0, 0);  // a Ctrl-C of the person who runs the tests is not one for the tool
    // A shell starts what runs in the background with SIGINT ignored, nohup with SIGHUP.
    for (int signal : {SIGINT, SIGHUP}) ::signal(signal, SIG_DFL);
    ::dup2(in, 0);
    ::dup2(out, 1);
    if (options.closed) ::close(1);
    ::dup2(err, 2);
    if (options.file_size_limit > 0) {
      const rlimit limit{static_cast<rlim_t>(options.file_size_limit), static_cast<rlim_t>(options.file_size_limit)};
      ::setrlimit(RLIMIT_FSIZE, &limit);
#ifdef __SANITIZE_THREAD__
      ::setenv("TMPDIR", "/nowhere", 1);  // where its run time, too, would write a file, and die of the limit
#endif
    }
    ::execv(SMELT_TOOL, pointers.data());
    ::_exit(127);
  }
  ::close(in);
  ::close(out);
  ::close(err);
  return tool;
}

Tool::Tool(Tool&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      reaped_(other.reaped_),
      status_(other.status_),
      out_(other.out_),
      err_(other.err_) {}

Tool::~Tool() {
  if (pid_ <= 0) return;
  if (!reaped_) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, &status_, 0);
  }
  fs::remove(out_);
  fs::remove(err_);
}

void Tool::Signal(int signal) {
  if (Running()) ::kill(pid_, signal);
}

bool Tool::Running() {
  if (!reaped_) reaped_ = ::waitpid(pid_, &status_, WNOHANG) == pid_;
  return !reaped_;
}

bool Tool::Listens(int signal) const {
  std::istringstream status(ReadFile("/proc/" + std::to_string(pid_) + "/status"));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("SigCgt:")) return std::stoull(line.substr(7), nullptr, 16) >> (signal - 1) & 1;
  }
  return false;
}

std::string Tool::Error() const { return ReadFile(err_); }

ToolResult Tool::Wait(double timeout_seconds) {
  const auto start = std::chrono::steady_clock::now();
  while (Running()) {
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > timeout_seconds) {
      ::kill(pid_, SIGKILL);
    }
    ::usleep(2000);
  }
  ToolResult result;
  if (WIFEXITED(status_)) result.exit_code = WEXITSTATUS(status_);
  if (WIFSIGNALED(status_)) result.signal = WTERMSIG(status_);
  result.out = ReadFile(out_);
  result.err = ReadFile(err_);
  return result;
}

ToolResult RunTool(const std::vector<std::string>& arguments, const ToolOptions& options) {
  return Tool::Start(arguments, options).Wait();
}

fs::path FreshFolder(const std::string& name) {
  const fs::path folder = OwnFolder() / name;
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void WriteFile(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

std::string SmallProgram() {
  return R"(HloModule small

add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT sum = f32[] add(x, y)
}

max {
  x.1 = f32[] parameter(0)
  y.1 = f32[] parameter(1)
  ROOT largest = f32[] maximum(x.1, y.1)
}

ENTRY main {
  input = f32[32,64] parameter(0)
  weights = f32[64,96] parameter(1)
  bias = f32[96] parameter(2)
  head = f32[96,40] parameter(3)
  zero = f32[] constant(0)
  lowest = f32[] constant(-inf)
  count = f32[] constant(96)
  hidden = f32[32,96] dot(input, weights), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  bias_rows = f32[32,96] broadcast(bias), dimensions={1}
  biased = f32[32,96] add(hidden, bias_rows)
  activated = f32[32,96] tanh(biased)
  total = f32[32] reduce(activated, zero), dimensions={1}, to_apply=add
  counts = f32[32] broadcast(count), dimensions={}
  mean = f32[32] divide(total, counts)
  mean_rows = f32[32,96] broadcast(mean), dimensions={0}
  centered = f32[32,96] subtract(activated, mean_rows)
  logits = f32[32,40] dot(centered, head), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  peak = f32[32] reduce(logits, lowest), dimensions={1}, to_apply=max
  peak_rows = f32[32,40] broadcast(peak), dimensions={0}
  shifted = f32[32,40] subtract(logits, peak_rows)
  powers = f32[32,40] exponential(shifted)
  norm = f32[32] reduce(powers, zero), dimensions={1}, to_apply=add
  norm_rows = f32[32,40] broadcast(norm), dimensions={0}
  ROOT shares = f32[32,40] divide(powers, norm_rows)
}
)";
}

std::string OtherProgram() {
  return R"(HloModule other

ENTRY main {
  first = f32[64,64] parameter(0)
  second = f32[64,64] parameter(1)
  third = f32[64,64] add(first, second)
  fourth = f32[64,64] exponential(third)
  fifth = f32[64,64] multiply(fourth, first)
  ROOT sixth = f32[64,64] tanh(fifth)
}
)";
}

std::vector<pid_t> ChildrenOf(pid_t pid) {
  std::vector<pid_t> children;
  std::error_code error;
  for (const fs::directory_entry& task : fs::directory_iterator("/proc/" + std::to_string(pid) + "/task", error)) {
    std::istringstream list(ReadFile(task.path() / "children"));
    for (pid_t child; list >> child;) children.push_back(child);
  }
  return children;
}

bool Exists(pid_t pid) {
  // A zombie whose parent has not looked yet is gone for this purpose.
  const std::string stat = ReadFile("/proc/" + std::to_string(pid) + "/stat");
  const size_t name_end = stat.rfind(')');
  return name_end != std::string::npos && name_end + 2 < stat.size() && stat[name_end + 2] != 'Z';
}

}  // namespace smelt::cli
