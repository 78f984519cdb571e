#include "tuner/schedule/task_scheduler.h"

#include <algorithm>

namespace smelt::tuner {

TaskScheduler::TaskScheduler(std::vector<KernelTask> tasks, const SchedulerOptions& options) : options_(options) {
  double total = 0;
  for (const KernelTask& task : tasks) total += task.weight * task.seconds;
  for (const KernelTask& task : tasks) {
    const bool counts = task.seconds > 0 && task.weight * task.seconds >= options.least_share * total;
    states_.push_back({task, {task.seconds}, {0}, !counts});
  }
}

double TaskScheduler::Gain(size_t task) const {
  const State& state = states_[task];
  const double now = state.best.back();
  const auto trials = static_cast<double>(state.trials.back());
  if (trials == 0) return state.task.weight * now;
  const size_t before = state.best.size() > static_cast<size_t>(options_.window)
                            ? state.best.size() - 1 - static_cast<size_t>(options_.window)
                            : 0;
  const double spent = trials - static_cast<double>(state.trials[before]);
  const double last = spent > 0 ? (state.best[before] - now) / spent : 0;
  double left = now / trials;  // as if further trials went on to nothing
  double best_rate = 0;
  for (const State& other : states_) best_rate = std::max(best_rate, other.task.flops / other.best.back());
  if (state.task.flops > 0 && best_rate > 0) {
    const double reachable = state.task.flops / (options_.beta * best_rate);
    left = std::min(left, std::max(0.0, now - reachable));
  }
  return state.task.weight * (options_.alpha * last + (1 - options_.alpha) * left);
}

std::optional<size_t> TaskScheduler::Next() const {
  std::optional<size_t> best;
  bool best_is_new = false;
  for (size_t i = 0; i < states_.size(); ++i) {
    if (states_[i].finished) continue;
    const bool is_new = states_[i].trials.back() == 0;
    const bool better = !best || (is_new != best_is_new ? is_new : Gain(i) > Gain(*best));
    if (!better) continue;
    best = i;
    best_is_new = is_new;
  }
  return best;
}

void TaskScheduler::Note(size_t task, int64_t trials, double best_seconds) {
  State& state = states_[task];
  state.best.push_back(best_seconds > 0 ? std::min(best_seconds, state.best.back()) : state.best.back());
  state.trials.push_back(state.trials.back() + trials);
}

double TaskScheduler::seconds() const {
  double sum = 0;
  for (const State& state : states_) sum += state.task.weight * state.best.back();
  return sum;
}

}  // namespace smelt::tuner
