#include "measure/core_load.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace smelt::measure {
namespace {

// A share below this is what an idle core shows in a short look: one tick of few.
constexpr double kIdle = 0.3;
constexpr double kSiblingCounts = 0.5;

struct Ticks {
  int64_t idle = 0, all = 0;
};

// "cpu3 user nice system idle iowait irq softirq steal guest guest_nice", the last two of which are within the first.
std::map<int, Ticks> ReadTicks(const std::filesystem::path& file) {
  constexpr int kFields = 8, kIdleField = 3, kWaitingField = 4;
  std::map<int, Ticks> ticks;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line) && line.starts_with("cpu");) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    int cpu = 0;
    if (!absl::SimpleAtoi(name.substr(3), &cpu)) continue;  // the sum of all
    Ticks& mine = ticks[cpu];
    int64_t value = 0;
    for (int field = 0; field < kFields && words >> value; ++field) {
      mine.all += value;
      if (field == kIdleField || field == kWaitingField) mine.idle += value;
    }
  }
  return ticks;
}

// "0-1,64-65", without `cpu` itself.
std::vector<int> ReadSiblings(const std::filesystem::path& file, int cpu) {
  std::string line;
  std::ifstream(file) >> line;
  std::vector<int> siblings;
  for (const absl::string_view range : absl::StrSplit(line, ',', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> ends = absl::StrSplit(range, absl::MaxSplits('-', 1));
    int first = 0, last = 0;
    if (!absl::SimpleAtoi(ends.first, &first)) continue;
    if (!absl::SimpleAtoi(ends.second, &last)) last = first;
    for (int other = first; other <= std::min(last, CPU_SETSIZE - 1); ++other) {
      if (other != cpu) siblings.push_back(other);
    }
  }
  return siblings;
}

}  // namespace

absl::StatusOr<std::vector<CoreLoad>> LookAtCores(double seconds, const std::filesystem::path& proc,
                                                  const std::filesystem::path& sys) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
    return absl::UnavailableError(absl::StrCat("which cores there are is not known: ", std::strerror(errno)));
  std::map<int, Ticks> before = ReadTicks(proc / "stat");
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  std::map<int, Ticks> after = ReadTicks(proc / "stat");
  std::vector<CoreLoad> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    CoreLoad& core = cores.emplace_back();
    core.cpu = cpu;
    const int64_t all = after[cpu].all - before[cpu].all, idle = after[cpu].idle - before[cpu].idle;
    if (all > 0) core.busy = 1 - static_cast<double>(idle) / static_cast<double>(all);
    core.siblings = ReadSiblings(sys / absl::StrCat("cpu", cpu) / "topology" / "thread_siblings_list", cpu);
  }
  return cores;
}

std::vector<int> QuietestCores(const std::vector<CoreLoad>& cores, int count) {
  const auto size = static_cast<size_t>(std::max(count, 1));
  if (cores.size() < size) return {};
  std::map<int, double> busy;
  for (const CoreLoad& core : cores) busy[core.cpu] = core.busy < kIdle ? 0 : core.busy;
  std::vector<double> costs;
  for (const CoreLoad& core : cores) {
    double sibling = 0;
    for (const int other : core.siblings) sibling = std::max(sibling, busy.contains(other) ? busy[other] : 0);
    costs.push_back(busy[core.cpu] + kSiblingCounts * sibling);
  }
  size_t best = 0;
  double least = 0;
  for (size_t first = 0; first + size <= costs.size(); ++first) {
    double sum = 0;
    for (size_t i = 0; i < size; ++i) sum += costs[first + i];
    if (first > 0 && sum > least) continue;
    best = first;
    least = sum;
  }
  std::vector<int> quiet;
  for (size_t i = 0; i < size; ++i) quiet.push_back(cores[best + i].cpu);
  return quiet;
}

}  // namespace smelt::measure
