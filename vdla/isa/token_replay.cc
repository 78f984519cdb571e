#include "vdla/isa/token_replay.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "vdla/isa/token_queues.h"

namespace smelt::vdla::isa {
namespace {

class Replay {
 public:
  Replay(absl::Span<const TokenStep> steps, const ReplayOptions& options)
      : steps_(steps), options_(options), tokens_(options.token_depth) {}

  absl::Status Run() {
    for (bool moved = true; moved;) {
      moved = Fetch();
      for (const Unit unit : kAllUnits) SMELT_RETURN_IF_ERROR(Advance(unit, &moved));
    }
    const bool idle = std::all_of(units_.begin(), units_.end(), [](const UnitState& u) { return u.queue.empty(); });
    if (fetched_ < steps_.size() || !idle) return absl::AbortedError(Deadlock());
    for (int q = 0; q < kTokenQueues; ++q) {
      if (!tokens_.Of(static_cast<TokenQueue>(q)).empty())
        return absl::AbortedError(Leftover(static_cast<TokenQueue>(q)));
    }
    return absl::OkStatus();
  }

 private:
  struct Token {
    int64_t pusher;
    StepClock clock;
  };
  struct UnitState {
    std::deque<size_t> queue;  // numbers of steps
    bool worked = false;       // the first of them has its tokens and has done its work
    StepClock clock{-1, -1, -1};
  };
  UnitState& StateOf(Unit unit) { return units_[static_cast<size_t>(unit)]; }

  bool Fetch() {
    const size_t before = fetched_;
    for (; fetched_ < steps_.size(); ++fetched_) {
      std::deque<size_t>& queue = StateOf(steps_[fetched_].unit).queue;
      if (static_cast<int64_t>(queue.size()) >= options_.command_depth) break;
      queue.push_back(fetched_);
    }
    return fetched_ > before;
  }

  // Lets the unit go as far as its tokens let it.
  absl::Status Advance(Unit unit, bool* moved) {
    UnitState& state = StateOf(unit);
    while (!state.queue.empty()) {
      const size_t number = state.queue.front();
      const TokenStep& step = steps_[number];
      if (!state.worked) {
        if (tokens_.Empty(unit, step).has_value()) break;
        tokens_.Pop(unit, step, [&](const Token& token) {
          for (int u = 0; u < kUnits; ++u) state.clock[u] = std::max(state.clock[u], token.clock[u]);
        });
        if (options_.work) SMELT_RETURN_IF_ERROR(options_.work(static_cast<int64_t>(number), state.clock));
        state.clock[static_cast<size_t>(unit)] = static_cast<int64_t>(number);
        state.worked = *moved = true;
      }
      if (tokens_.Full(unit, step).has_value()) break;
      tokens_.Push(unit, step, {static_cast<int64_t>(number), state.clock});
      state.queue.pop_front();
      state.worked = false;
      *moved = true;
    }
    return absl::OkStatus();
  }

  std::string Named(int64_t number) const { return options_.name ? options_.name(number) : StrCat("step ", number); }

  std::string Deadlock() const {
    std::string text = "deadlock: the program would wait for ever: ";
    const char* separator = "";
    for (const Unit unit : kAllUnits) {
      const UnitState& state = units_[static_cast<size_t>(unit)];
      if (state.queue.empty()) continue;
      const size_t number = state.queue.front();
      const std::optional<TokenQueue> queue =
          state.worked ? tokens_.Full(unit, steps_[number]) : tokens_.Empty(unit, steps_[number]);
      if (!queue) continue;
      StrAppend(&text, separator, Named(static_cast<int64_t>(number)),
                state.worked ? " waits for room in " : " waits for a token of ", NameOf(*queue));
      separator = ", ";
    }
    if (fetched_ < steps_.size()) {
      StrAppend(&text, ", and ", Named(static_cast<int64_t>(fetched_)), " waits behind ", options_.command_depth,
                " others of its unit");
    }
    StrAppend(&text, ". Record the push of each token before more than a queue's depth of other work, or drop the pop");
    return text;
  }

  std::string Leftover(TokenQueue queue) const {
    const std::deque<Token>& tokens = tokens_.Of(queue);
    return StrCat(tokens.size(), tokens.size() == 1 ? " token is" : " tokens are", " left in ", NameOf(queue),
                  " at the end: ", Named(tokens.front().pusher),
                  " pushed the first, and nothing pops it. Pop it, or drop the push");
  }

  const absl::Span<const TokenStep> steps_;
  const ReplayOptions& options_;
  size_t fetched_ = 0;
  std::array<UnitState, kUnits> units_;
  TokenQueues<Token> tokens_;
};

}  // namespace

absl::Status ReplayTokens(absl::Span<const TokenStep> steps, const ReplayOptions& options) {
  return Replay(steps, options).Run();
}

absl::Status ReplayTokens(absl::Span<const Instruction> instructions, const Config& machine) {
  std::vector<TokenStep> steps;
  steps.reserve(instructions.size());
  for (const Instruction& i : instructions)
    steps.push_back({UnitOf(i), i.pop_prev, i.pop_next, i.push_prev, i.push_next});
  return ReplayTokens(steps, {.token_depth = machine.token_queue_depth,
                              .command_depth = machine.command_queue_depth,
                              .work = {},
                              .name = [&](int64_t number) {
                                return StrCat("instruction ", number, " (",
                                              NameOf(instructions[static_cast<size_t>(number)].opcode), ")");
                              }});
}

}  // namespace smelt::vdla::isa
