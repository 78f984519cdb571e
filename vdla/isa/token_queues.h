// The four queues of tokens of a machine, and what instructions do with them: the one place that says when a unit
// waits.
//
//   TokenQueues<int> tokens(/*depth=*/64);              // each token carries an int
//   const Instruction load{.push_next = true}, gemm{.pop_prev = true};
//   if (!tokens.Full(Unit::kLoad, load).has_value()) tokens.Push(Unit::kLoad, load, 7);
//   tokens.Empty(Unit::kCompute, gemm);                 // no value: it may start
//   int carried = 0;
//   tokens.Pop(Unit::kCompute, gemm, [&](int token) { carried = token; });
//
// Any type with the four flags of an instruction will do. A flag without a neighbour is no token.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "vdla/isa/instruction.h"

namespace smelt::vdla::isa {

template <typename Token>
class TokenQueues {
 public:
  explicit TokenQueues(int64_t depth) : depth_(depth) {}

  // The first queue that the instruction pops and that has no token which `ready` takes; none: it may start.
  template <typename Flags, typename Ready>
  std::optional<TokenQueue> Empty(Unit unit, const Flags& flags, const Ready& ready) const {
    for (const bool next : {false, true}) {
      const std::optional<TokenQueue> queue = Popped(unit, flags, next);
      if (queue && (Of(*queue).empty() || !ready(Of(*queue).front()))) return queue;
    }
    return std::nullopt;
  }
  template <typename Flags>
  std::optional<TokenQueue> Empty(Unit unit, const Flags& flags) const {
    return Empty(unit, flags, [](const Token&) { return true; });
  }
  // The first queue that the instruction pushes and that has no room; none: it may end.
  template <typename Flags>
  std::optional<TokenQueue> Full(Unit unit, const Flags& flags) const {
    for (const bool next : {false, true}) {
      const std::optional<TokenQueue> queue = Pushed(unit, flags, next);
      if (queue && static_cast<int64_t>(Of(*queue).size()) >= depth_) return queue;
    }
    return std::nullopt;
  }

  // Takes all tokens that it pops, where Empty has none; shows each to `take`.
  template <typename Flags, typename Take>
  void Pop(Unit unit, const Flags& flags, const Take& take) {
    for (const bool next : {false, true}) {
      const std::optional<TokenQueue> queue = Popped(unit, flags, next);
      if (!queue) continue;
      take(Queue(*queue).front());
      Queue(*queue).pop_front();
    }
  }
  // Gives `token` to each queue that it pushes, where Full has none; shows the queue to `given`.
  template <typename Flags, typename Given>
  void Push(Unit unit, const Flags& flags, const Token& token, const Given& given) {
    for (const bool next : {false, true}) {
      const std::optional<TokenQueue> queue = Pushed(unit, flags, next);
      if (!queue) continue;
      Queue(*queue).push_back(token);
      given(*queue);
    }
  }
  template <typename Flags>
  void Push(Unit unit, const Flags& flags, const Token& token) {
    Push(unit, flags, token, [](TokenQueue) {});
  }

  const std::deque<Token>& Of(TokenQueue queue) const { return queues_[static_cast<size_t>(queue)]; }
  int64_t depth() const { return depth_; }

 private:
  template <typename Flags>
  static std::optional<TokenQueue> Popped(Unit unit, const Flags& flags, bool next) {
    TokenQueue queue;
    if (!(next ? flags.pop_next : flags.pop_prev) || !QueueOfPop(unit, next, &queue)) return std::nullopt;
    return queue;
  }
  template <typename Flags>
  static std::optional<TokenQueue> Pushed(Unit unit, const Flags& flags, bool next) {
    TokenQueue queue;
    if (!(next ? flags.push_next : flags.push_prev) || !QueueOfPush(unit, next, &queue)) return std::nullopt;
    return queue;
  }
  std::deque<Token>& Queue(TokenQueue queue) { return queues_[static_cast<size_t>(queue)]; }

  const int64_t depth_;
  std::array<std::deque<Token>, kTokenQueues> queues_;
};

}  // namespace smelt::vdla::isa
