#include "targets/cpu/program/alternate_state.h"

#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace smelt::cpu {
namespace {

using runtime::BufferId;
using runtime::Sequence;
using runtime::Step;
using ::testing::ElementsAre;
using Kind = runtime::ProgramBuffer::Kind;

constexpr int64_t kLarge = 4096, kSmall = 4;

Step Make(Step::Kind kind, std::vector<BufferId> reads, std::vector<BufferId> writes, int info = -1) {
  Step step;
  step.kind = kind;
  step.info = info;
  step.reads = std::move(reads);
  step.writes = std::move(writes);
  return step;
}
Step Kernel(int info, std::vector<BufferId> reads, std::vector<BufferId> writes) {
  return Make(Step::Kind::kKernel, std::move(reads), std::move(writes), info);
}
Step Copy(BufferId from, BufferId to) { return Make(Step::Kind::kCopy, {from}, {to}); }
Step Repeat(int64_t trips, Sequence body) {
  Step step = Make(Step::Kind::kRepeat, {}, {});
  step.trips = trips;
  step.sequences = {std::move(body)};
  return step;
}

runtime::Program ProgramOf(const std::vector<int64_t>& bytes, Sequence steps) {
  runtime::Program program;
  for (const int64_t size : bytes) program.buffers.push_back({.bytes = size});
  program.steps = std::move(steps);
  return program;
}

// Runs programs whose values are texts, of what was computed from what, and counts the copies of large buffers.
struct Machine {
  std::map<BufferId, std::string> values;
  int copies = 0;

  void Run(const runtime::Program& program, const Sequence& steps) {
    for (const Step& step : steps) {
      std::string read = "k" + std::to_string(step.info) + "(";
      for (const BufferId id : step.reads) read += values[id];
      switch (step.kind) {
        case Step::Kind::kCopy:
          copies += program.buffers[step.writes[0]].bytes == kLarge;
          values[step.writes[0]] = values[step.reads[0]];
          break;
        case Step::Kind::kRepeat:
          for (int64_t i = 0; i < step.trips; ++i) Run(program, step.sequences[0]);
          break;
        case Step::Kind::kWhile:
          for (Run(program, step.sequences[0]); values[step.reads[0]] == "yes"; Run(program, step.sequences[0]))
            Run(program, step.sequences[1]);
          break;
        case Step::Kind::kConditional:
          Run(program, step.sequences[values[step.reads[0]] == "yes" ? 0 : 1]);
          break;
        default:
          // Kernel 9 says whether the text that it reads is still short.
          if (step.info == 9) {
            values[step.writes[0]] = values[step.reads[0]].size() < 40 ? "yes" : "no";
          } else {
            for (size_t i = 0; i < step.writes.size(); ++i)
              values[step.writes[i]] = read + "." + std::to_string(i) + ")";
          }
      }
    }
  }
};

// Runs the program before and after, with every buffer filled; `results` must be the same. The copies of both.
std::pair<int, int> ExpectSame(runtime::Program program, const std::vector<BufferId>& results) {
  Machine before, after;
  for (size_t i = 0; i < program.buffers.size(); ++i)
    before.values[static_cast<BufferId>(i)] = after.values[static_cast<BufferId>(i)] = std::string(1, 'a' + i);
  before.Run(program, program.steps);
  AlternateLoopState(&program);
  after.Run(program, program.steps);
  for (const BufferId id : results) EXPECT_EQ(after.values[id], before.values[id]) << "buffer " << id;
  return {before.copies, after.copies};
}

TEST(AlternateLoopState, TwoPlacesTakeTurns) {
  for (int64_t trips = 1; trips < 8; ++trips) {
    const Sequence body = {Kernel(1, {0, 2}, {1}), Copy(1, 0)};
    const auto [before, after] =
        ExpectSame(ProgramOf({kLarge, kLarge, kLarge}, {Repeat(trips, body), Kernel(2, {0}, {2})}), {0, 2});
    EXPECT_EQ(before, trips);
    EXPECT_EQ(after, trips % 2);
  }
}

TEST(AlternateLoopState, ThreePlacesRotate) {
  for (int64_t trips = 1; trips < 8; ++trips) {
    const Sequence body = {Kernel(1, {0, 1}, {2}), Copy(1, 0), Copy(2, 1)};
    const auto [before, after] = ExpectSame(ProgramOf({kLarge, kLarge, kLarge}, {Repeat(trips, body)}), {0, 1});
    EXPECT_EQ(before, 2 * trips);
    EXPECT_EQ(after, trips % 3 * 2);
  }
}

TEST(AlternateLoopState, LoopsInLoopsDoToo) {
  const Sequence inner = {Kernel(1, {0}, {1}), Copy(1, 0)};
  Sequence outer = {Repeat(4, inner), Kernel(2, {0, 2}, {3}), Copy(3, 2)};
  const auto [before, after] = ExpectSame(ProgramOf({kLarge, kLarge, kLarge, kLarge}, {Repeat(6, outer)}), {0, 2});
  EXPECT_EQ(before, 30);
  EXPECT_EQ(after, 0);
}

TEST(AlternateLoopState, ALoopThatAsksComesHomeWhereItEnds) {
  // The state is a text that grows by the kernel's name; the loop ends when it is long, after an odd and an even count.
  for (const int kernels : {1, 2, 3}) {
    Sequence body;
    for (int i = 0; i < kernels; ++i) body.push_back(Kernel(1, {i == 0 ? 0 : 1}, {1}));
    body.push_back(Copy(1, 0));
    Step loop = Make(Step::Kind::kWhile, {2}, {});
    loop.sequences = {{Kernel(9, {0}, {2})}, body};
    const auto [before, after] = ExpectSame(ProgramOf({kLarge, kLarge, 1}, {loop}), {0, 2});
    EXPECT_GE(before, 2);
    EXPECT_LE(after, 1);
  }
}

TEST(AlternateLoopState, WhatIsNamedElsewhereOrSmallIsCopied) {
  const Sequence body = {Kernel(1, {0}, {1}), Copy(1, 0)};
  EXPECT_EQ(ExpectSame(ProgramOf({kLarge, kLarge}, {Repeat(4, body), Kernel(2, {1}, {0})}), {0, 1}).second, 4);
  runtime::Program small = ProgramOf({kSmall, kSmall}, {Repeat(4, body)});
  EXPECT_EQ(AlternateLoopState(&small), 0);
  EXPECT_THAT(small.steps, ElementsAre(::testing::Field(&Step::trips, 4)));
  // What is in a place before the body comes into its first turn.
  const Sequence reads_first = {Kernel(2, {1}, {2}), Kernel(1, {0, 2}, {1}), Copy(1, 0)};
  EXPECT_EQ(ExpectSame(ProgramOf({kLarge, kLarge, kLarge}, {Repeat(4, reads_first)}), {0, 1}).second, 4);
}

TEST(AlternateLoopState, ACopyThatReadsWhatMovesKeepsItsOrder) {
  // 3 takes the new value of 0, by way of 0.
  const Sequence body = {Kernel(1, {0, 3}, {1}), Copy(1, 0), Copy(0, 3)};
  ExpectSame(ProgramOf({kLarge, kLarge, kLarge, kLarge}, {Repeat(5, body)}), {0, 3});
  // 3 takes the old one, which nobody may overwrite before.
  const Sequence old = {Kernel(1, {0, 3}, {1}), Copy(0, 3), Copy(1, 0)};
  ExpectSame(ProgramOf({kLarge, kLarge, kLarge, kLarge}, {Repeat(5, old)}), {0, 3});
}

}  // namespace
}  // namespace smelt::cpu
