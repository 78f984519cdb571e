// Which kernel of a program the next trials go to: the one whose next trials should save the program most.
//
//   TaskScheduler scheduler({{.weight = 12, .seconds = 1e-4}, {.weight = 1, .seconds = 2e-3}}, {});
//   while (const std::optional<size_t> task = scheduler.Next()) {
//     scheduler.Note(*task, /*trials=*/16, /*best_seconds=*/9e-5);
//     scheduler.Finish(*task);   // it has no more
//   }
//
// The gradient of Ansor (Zheng et al., OSDI 2020, Section 6.2): a kernel's seconds count as often as the program runs
// it; what its last trials saved is one estimate of what the next will, and the most that is left is the other: no
// better than to nothing, and no better than `beta` times the rate of the program's best kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace smelt::tuner {

struct KernelTask {
  double weight = 1;   // executions in one run of the program
  double seconds = 0;  // of one execution, by default
  double flops = 0;    // of one execution; 0: not known
};

struct SchedulerOptions {
  double alpha = 0.2;          // trust in the last trials, against what is left to gain
  double beta = 2;             // how much better than the best rate a kernel may become
  int window = 3;              // the last so many turns are "the last trials"
  double least_share = 0.005;  // of the program's time: a kernel with less is left alone
};

class TaskScheduler {
 public:
  TaskScheduler(std::vector<KernelTask> tasks, const SchedulerOptions& options);

  // Each task first has one turn, the heaviest first. None: all are finished, or weigh nothing.
  std::optional<size_t> Next() const;
  // A turn of a task is over.
  void Note(size_t task, int64_t trials, double best_seconds);
  void Finish(size_t task) { states_[task].finished = true; }

  // Seconds of the program that are expected of the next trial of a task.
  double Gain(size_t task) const;
  double seconds() const;  // of all tasks as they are now

 private:
  struct State {
    KernelTask task;
    std::vector<double> best;     // seconds after each turn, the default's first
    std::vector<int64_t> trials;  // until then, 0 first
    bool finished = false;
  };
  const SchedulerOptions options_;
  std::vector<State> states_;
};

}  // namespace smelt::tuner
