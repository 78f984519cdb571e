#include "vdla/driver/token_replay.h"

#include <array>
#include <cstdint>
#include <deque>
#include <string>

#include "base/str_cat.h"

namespace smelt::vdla::driver {
namespace {

using isa::Instruction;
using isa::TokenQueue;
using isa::Unit;

struct Flag {
  bool Instruction::*set;
  bool pop, next;
};
constexpr Flag kFlags[] = {{&Instruction::pop_prev, true, false},
                           {&Instruction::pop_next, true, true},
                           {&Instruction::push_prev, false, false},
                           {&Instruction::push_next, false, true}};

class Replay {
 public:
  Replay(absl::Span<const Instruction> instructions, const isa::Config& machine)
      : instructions_(instructions),
        command_depth_(static_cast<size_t>(machine.command_queue_depth)),
        token_depth_(static_cast<size_t>(machine.token_queue_depth)) {}

  absl::Status Run() {
    while (Fetch() | Step(Unit::kLoad) | Step(Unit::kCompute) | Step(Unit::kStore)) {
    }
    if (fetched_ < instructions_.size() || !AllIdle()) return absl::AbortedError(Deadlock());
    for (int q = 0; q < isa::kTokenQueues; ++q) {
      if (!tokens_[q].empty()) return absl::AbortedError(Leftover(static_cast<TokenQueue>(q)));
    }
    return absl::OkStatus();
  }

 private:
  struct UnitState {
    std::deque<size_t> queue;  // numbers of instructions
    bool popped = false;       // the first of them has its tokens
  };

  bool Fetch() {
    const size_t before = fetched_;
    for (; fetched_ < instructions_.size(); ++fetched_) {
      auto& queue = units_[static_cast<int>(isa::UnitOf(instructions_[fetched_]))].queue;
      if (queue.size() >= command_depth_) break;
      queue.push_back(fetched_);
    }
    return fetched_ > before;
  }

  // The first flag of the kind that the instruction has to wait with; null: none.
  const Flag* Blocked(Unit unit, size_t number, bool pop) const {
    for (const Flag& flag : kFlags) {
      TokenQueue queue;
      if (flag.pop != pop || !(instructions_[number].*flag.set) || !QueueOf(unit, flag, &queue)) continue;
      const size_t tokens = tokens_[static_cast<int>(queue)].size();
      if (pop ? tokens == 0 : tokens >= token_depth_) return &flag;
    }
    return nullptr;
  }
  static bool QueueOf(Unit unit, const Flag& flag, TokenQueue* queue) {
    return flag.pop ? isa::QueueOfPop(unit, flag.next, queue) : isa::QueueOfPush(unit, flag.next, queue);
  }

  bool Step(Unit unit) {
    UnitState& state = units_[static_cast<int>(unit)];
    bool moved = false;
    while (!state.queue.empty()) {
      const size_t number = state.queue.front();
      if (!state.popped) {
        if (Blocked(unit, number, true) != nullptr) break;
        Move(unit, number, true);
        state.popped = moved = true;
      }
      if (Blocked(unit, number, false) != nullptr) break;
      Move(unit, number, false);
      state.queue.pop_front();
      state.popped = false;
      moved = true;
    }
    return moved;
  }
  void Move(Unit unit, size_t number, bool pop) {
    for (const Flag& flag : kFlags) {
      TokenQueue queue;
      if (flag.pop != pop || !(instructions_[number].*flag.set) || !QueueOf(unit, flag, &queue)) continue;
      std::deque<size_t>& tokens = tokens_[static_cast<int>(queue)];
      if (pop) {
        tokens.pop_front();
      } else {
        tokens.push_back(number);
      }
    }
  }

  bool AllIdle() const {
    for (const UnitState& state : units_) {
      if (!state.queue.empty()) return false;
    }
    return true;
  }

  std::string Named(size_t number) const {
    return StrCat("instruction ", number, " (", isa::NameOf(instructions_[number].opcode), ")");
  }

  std::string Deadlock() const {
    std::string text = "the program would wait for ever: ";
    const char* separator = "";
    for (const Unit unit : isa::kAllUnits) {
      const UnitState& state = units_[static_cast<int>(unit)];
      if (state.queue.empty()) continue;
      const size_t number = state.queue.front();
      const Flag* flag = Blocked(unit, number, !state.popped);
      TokenQueue queue;
      if (flag == nullptr || !QueueOf(unit, *flag, &queue)) continue;
      StrAppend(&text, separator, Named(number), flag->pop ? " waits for a token of " : " waits for room in ",
                isa::NameOf(queue));
      separator = ", ";
    }
    if (fetched_ < instructions_.size())
      StrAppend(&text, ", and ", Named(fetched_), " waits behind ", command_depth_, " others of its unit");
    StrAppend(&text, ". Record the push of each token before more than a queue's depth of other work, or drop the pop");
    return text;
  }

  std::string Leftover(TokenQueue queue) const {
    const std::deque<size_t>& tokens = tokens_[static_cast<int>(queue)];
    return StrCat(tokens.size(), tokens.size() == 1 ? " token is" : " tokens are", " left in ", isa::NameOf(queue),
                  " at the end: ", Named(tokens.front()),
                  " pushed the first, and nothing pops it. Pop it, or drop the push");
  }

  const absl::Span<const Instruction> instructions_;
  const size_t command_depth_, token_depth_;
  size_t fetched_ = 0;
  std::array<UnitState, isa::kUnits> units_;
  std::array<std::deque<size_t>, isa::kTokenQueues> tokens_;  // numbers of the instructions that pushed
};

}  // namespace

absl::Status ReplayTokens(absl::Span<const Instruction> instructions, const isa::Config& machine) {
  return Replay(instructions, machine).Run();
}

}  // namespace smelt::vdla::driver
