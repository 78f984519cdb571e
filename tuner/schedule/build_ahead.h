// Candidates compiled before they are timed, on cores that the timing leaves idle: the device that times finds their
// code in the target's cache.
//
//   BuildAhead ahead(target, kernel, policy, /*cancel=*/nullptr);
//   ahead.Begin({"i0=8x1x6 ...", "i0=4x2x6 ..."});
//   const std::optional<measure::Outcome> built = ahead.Await("i0=8x1x6 ...");
//   if (built && !built->ok()) ...                     // it need not be tried again
//
// With more cores than the timed kernel has threads, the others compile beside the timing and stay off its core. With
// as many, all of them compile the whole list before anything of it is timed. On a machine of one core, and for a
// target that keeps no code, nothing is built ahead. Not thread-safe.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "fusion/kernel.h"
#include "measure/runner.h"
#include "targets/target.h"

namespace smelt::tuner {

// How the cores are used; `timed`: threads of what is timed.
struct BuildPlan {
  int builders = 0;     // 0: nothing is built ahead
  bool beside = false;  // while something is timed
};
BuildPlan PlanBuilds(int cores, int timed);

class BuildAhead {
 public:
  // `target` and `kernel` must outlive it.
  BuildAhead(const targets::Target& target, const fusion::Kernel& kernel, const measure::MeasurePolicy& policy,
             const std::atomic<bool>* cancel);
  // Waits for what is being compiled.
  ~BuildAhead();

  // Compiles these ways of the kernel, in order; what is left of an earlier list is forgotten.
  void Begin(std::vector<std::string> ways);
  // What became of one of them, once that is known. None for what is not built ahead, or was not begun: whoever asks is
  // idle, and builds it sooner than it would come up.
  std::optional<measure::Outcome> Await(const std::string& way);

 private:
  void Build();

  const targets::Target& target_;
  const fusion::Kernel& kernel_;
  const measure::MeasurePolicy policy_;
  const std::atomic<bool>* cancel_;
  const BuildPlan plan_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> ways_;  // under mutex_, as all below; empty: not to be built any more
  std::map<std::string, measure::Outcome> built_;
  size_t next_ = 0;
  size_t busy_ = 0;  // builders that are compiling
  bool ended_ = false;
  std::vector<std::thread> builders_;
};

}  // namespace smelt::tuner
