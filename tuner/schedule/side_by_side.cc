#include "tuner/schedule/side_by_side.h"

#include <sched.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace smelt::tuner {

void SideBySide(int64_t count, int threads, absl::FunctionRef<void(int64_t, int64_t, int)> work) {
  const int parts = static_cast<int>(std::clamp<int64_t>(threads, 1, std::max<int64_t>(count, 1)));
  std::vector<std::thread> others;
  for (int part = 1; part < parts; ++part)
    others.emplace_back([=, &work] { work(count * part / parts, count * (part + 1) / parts, part); });
  work(0, count / parts, 0);
  for (std::thread& other : others) other.join();
}

int UsableThreads(int most) {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof(cores), &cores) != 0) return 1;
  return std::clamp(CPU_COUNT(&cores), 1, most);
}

}  // namespace smelt::tuner
