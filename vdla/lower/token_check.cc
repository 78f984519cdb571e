#include "vdla/lower/token_check.h"

#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/check.h"
#include "base/str_cat.h"
#include "vdla/isa/instruction.h"

namespace smelt::vdla::lower {
namespace {

using isa::Access;
using isa::kUnits;
using isa::NameOf;
using isa::TokenQueue;
using isa::Unit;

using Clock = std::array<int64_t, kUnits>;  // by unit: the last step that is known to be done

struct Latest {
  Clock read = {-1, -1, -1}, write = {-1, -1, -1};
};

class Replay {
 public:
  Replay(absl::Span<const Step> steps, absl::Span<const PlannedStep> flags, int64_t depth)
      : steps_(steps), flags_(flags), depth_(depth) {
    for (size_t i = 0; i < steps.size(); ++i) program_[static_cast<int>(steps[i].unit)].push_back(i);
  }

  absl::Status Run() {
    for (bool progress = true; progress;) {
      progress = false;
      for (int unit = 0; unit < kUnits; ++unit) {
        for (bool ran = true; ran;) {
          ran = false;
          absl::Status status = Advance(unit, &ran);
          if (!status.ok()) return status;
          progress |= ran;
        }
      }
    }
    for (int unit = 0; unit < kUnits; ++unit) {
      if (next_[unit] < program_[unit].size()) return Deadlock();
    }
    for (int queue = 0; queue < isa::kTokenQueues; ++queue) {
      if (queues_[queue].empty()) continue;
      return absl::InvalidArgumentError(
          StrCat("leftover: ", queues_[queue].size(), " token(s) stay in ", NameOf(static_cast<TokenQueue>(queue))));
    }
    return absl::OkStatus();
  }

 private:
  enum class Stage { kPop, kWork, kPush };

  // One stage of the unit's next step, where it need not wait.
  absl::Status Advance(int unit, bool* ran) {
    if (next_[unit] == program_[unit].size()) return absl::OkStatus();
    const size_t step = program_[unit][next_[unit]];
    if (stage_[unit] == Stage::kPop) {
      if (Blocked(step, stage_[unit])) return absl::OkStatus();
      for (const bool next : {false, true}) {
        if (!(next ? flags_[step].pop_next : flags_[step].pop_prev)) continue;
        std::deque<Clock>& queue = queues_[QueueOf(step, next, /*pop=*/true)];
        for (int other = 0; other < kUnits; ++other)
          clocks_[unit][other] = std::max(clocks_[unit][other], queue.front()[other]);
        queue.pop_front();
      }
      stage_[unit] = Stage::kWork;
    }
    if (stage_[unit] == Stage::kWork) {
      absl::Status status = Work(unit, static_cast<int64_t>(step));
      if (!status.ok()) return status;
      clocks_[unit][unit] = static_cast<int64_t>(step);
      stage_[unit] = Stage::kPush;
    }
    *ran = true;
    if (Blocked(step, stage_[unit])) {
      *ran = false;
      return absl::OkStatus();
    }
    for (const bool next : {false, true}) {
      if (next ? flags_[step].push_next : flags_[step].push_prev)
        queues_[QueueOf(step, next, /*pop=*/false)].push_back(clocks_[unit]);
    }
    stage_[unit] = Stage::kPop;
    ++next_[unit];
    return absl::OkStatus();
  }

  // The queue that the step waits at in this stage.
  std::optional<TokenQueue> Blocked(size_t step, Stage stage) const {
    const bool pop = stage == Stage::kPop;
    for (const bool next : {false, true}) {
      const PlannedStep& flags = flags_[step];
      if (!(pop ? (next ? flags.pop_next : flags.pop_prev) : (next ? flags.push_next : flags.push_prev))) continue;
      const int queue = QueueOf(step, next, pop);
      const int64_t size = static_cast<int64_t>(queues_[queue].size());
      if (pop ? size == 0 : size >= depth_) return static_cast<TokenQueue>(queue);
    }
    return std::nullopt;
  }

  int QueueOf(size_t step, bool next, bool pop) const {
    TokenQueue queue;
    const bool has =
        pop ? isa::QueueOfPop(steps_[step].unit, next, &queue) : isa::QueueOfPush(steps_[step].unit, next, &queue);
    Check(has, "a token between neighbours");
    return static_cast<int>(queue);
  }

  absl::Status Work(int unit, int64_t step) {
    if (steps_[step].waits_for_all) {
      for (int other = 0; other < kUnits; ++other) {
        if (other == unit || program_[other].empty()) continue;
        const int64_t last = static_cast<int64_t>(program_[other].back());
        if (clocks_[unit][other] < last) return Race(step, last, "which the end does not wait for");
      }
    }
    if (steps_[step].accesses == nullptr) return absl::OkStatus();
    for (const Access& access : *steps_[step].accesses) {
      for (uint64_t i = 0; i < access.run.count; ++i) {
        const uint64_t begin = access.run.begin + i * access.run.stride;
        for (uint64_t at = begin; at < begin + access.run.length; ++at) {
          Latest& latest = latest_[{static_cast<int>(access.space), at}];
          for (int other = 0; other < kUnits; ++other) {
            if (other == unit) continue;
            const int64_t conflict =
                access.write ? std::max(latest.read[other], latest.write[other]) : latest.write[other];
            if (conflict > clocks_[unit][other])
              return Race(step, conflict, StrCat("at ", NameOf(access.space), " ", at));
          }
          (access.write ? latest.write : latest.read)[unit] = step;
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status Race(int64_t step, int64_t other, const std::string& where) const {
    return absl::InvalidArgumentError(StrCat("race: step ", step, " (", NameOf(steps_[step].unit), ") and step ", other,
                                             " (", NameOf(steps_[other].unit), ") are not ordered, ", where));
  }

  absl::Status Deadlock() const {
    std::string text = "deadlock:";
    for (int unit = 0; unit < kUnits; ++unit) {
      if (next_[unit] == program_[unit].size()) continue;
      const size_t step = program_[unit][next_[unit]];
      StrAppend(&text, " ", NameOf(static_cast<Unit>(unit)), " waits at step ", step,
                stage_[unit] == Stage::kPop ? " for a token of " : " for room in ",
                NameOf(*Blocked(step, stage_[unit])), ";");
    }
    return absl::InvalidArgumentError(text);
  }

  const absl::Span<const Step> steps_;
  const absl::Span<const PlannedStep> flags_;
  const int64_t depth_;
  std::array<std::vector<size_t>, kUnits> program_;
  std::array<size_t, kUnits> next_ = {};
  std::array<Stage, kUnits> stage_ = {};
  std::array<Clock, kUnits> clocks_ = {Clock{-1, -1, -1}, Clock{-1, -1, -1}, Clock{-1, -1, -1}};
  std::array<std::deque<Clock>, isa::kTokenQueues> queues_;
  absl::flat_hash_map<std::pair<int, uint64_t>, Latest> latest_;
};

}  // namespace

absl::Status CheckTokens(absl::Span<const Step> steps, absl::Span<const PlannedStep> flags, int64_t depth) {
  Check(steps.size() == flags.size(), "flags for each step");
  return Replay(steps, flags, depth).Run();
}

}  // namespace smelt::vdla::lower
