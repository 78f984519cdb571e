#include "tuner/schedule/build_ahead.h"

#include <algorithm>
#include <utility>

#include "measure/core_claim.h"
#include "tuner/schedule/side_by_side.h"

namespace smelt::tuner {
namespace {

constexpr int kMostBuilders = 4;

}  // namespace

BuildPlan PlanBuilds(int cores, int timed) {
  if (cores < 2) return {};
  const int idle = cores - std::max(timed, 1);
  if (idle > 0) return {.builders = std::min(idle, kMostBuilders), .beside = true};
  return {.builders = std::min(cores, kMostBuilders)};
}

BuildAhead::BuildAhead(const targets::Target& target, const fusion::Kernel& kernel,
                       const measure::MeasurePolicy& policy, const std::atomic<bool>* cancel)
    : target_(target),
      kernel_(kernel),
      policy_(policy),
      cancel_(cancel),
      plan_(target.KeepsCode() ? PlanBuilds(UsableThreads(64), target.machine().threads) : BuildPlan()) {
  for (int i = 0; i < plan_.builders; ++i) builders_.emplace_back([this] { Build(); });
}

BuildAhead::~BuildAhead() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  for (std::thread& builder : builders_) builder.join();
}

void BuildAhead::Begin(std::vector<std::string> ways) {
  if (builders_.empty()) return;
  std::unique_lock lock(mutex_);
  ways_ = std::move(ways);
  built_.clear();
  next_ = 0;
  changed_.notify_all();
  if (!plan_.beside) changed_.wait(lock, [this] { return next_ == ways_.size() && busy_ == 0; });
}

std::optional<measure::Outcome> BuildAhead::Await(const std::string& way) {
  std::unique_lock lock(mutex_);
  const auto at = std::find(ways_.begin(), ways_.end(), way);
  if (builders_.empty() || at == ways_.end()) return std::nullopt;
  if (static_cast<size_t>(at - ways_.begin()) >= next_) {
    at->clear();
    return std::nullopt;
  }
  changed_.wait(lock, [&] { return built_.contains(way); });
  return built_.at(way);
}

// What each builder does, with a child of its own.
void BuildAhead::Build() {
  // Held, so that what is timed does not come here.
  const auto timed = plan_.beside ? measure::CoreClaim::Take(target_.machine().threads) : nullptr;
  if (timed != nullptr) measure::StayOff(timed->cores());
  measure::Runner compiler(target_.NewDevice(targets::DeviceUse::kCompiles), policy_, cancel_);
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ended_ || next_ < ways_.size(); });
    if (ended_) return;
    const std::string way = ways_[next_++];
    if (way.empty()) continue;
    ++busy_;
    lock.unlock();
    measure::Outcome outcome = compiler.CompileKernel(kernel_, way);
    lock.lock();
    --busy_;
    built_[way] = std::move(outcome);
    changed_.notify_all();
  }
}

}  // namespace smelt::tuner
