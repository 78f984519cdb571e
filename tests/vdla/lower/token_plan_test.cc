// The planner of tokens on access sets made by hand and at random, checked by a replay that knows nothing of it.
#include "vdla/lower/token_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "vdla/lower/dependences.h"
#include "vdla/lower/token_check.h"

namespace smelt::vdla::lower {
namespace {

using isa::Access;
using isa::Accesses;
using isa::Space;
using isa::Unit;
using testing::HasSubstr;

Access Touch(Space space, uint64_t begin, uint64_t length, bool write) {
  return {.space = space, .write = write, .run = {.begin = begin, .length = length}};
}
Access Read(Space space, uint64_t begin, uint64_t length = 1) { return Touch(space, begin, length, false); }
Access Write(Space space, uint64_t begin, uint64_t length = 1) { return Touch(space, begin, length, true); }

// A program that owns its access sets; ends with a FINISH.
struct Sequence {
  std::vector<Unit> units;
  std::vector<Accesses> accesses;

  void Add(Unit unit, Accesses touched) {
    units.push_back(unit);
    accesses.push_back(std::move(touched));
  }
  void Load(uint64_t at) { Add(Unit::kLoad, {Write(Space::kInp, at)}); }
  void Gemm(uint64_t from, uint64_t to) { Add(Unit::kCompute, {Read(Space::kInp, from), Write(Space::kAcc, to)}); }
  void Store(uint64_t from, uint64_t to) { Add(Unit::kStore, {Read(Space::kAcc, from), Write(Space::kDram, to)}); }

  std::vector<Step> Steps() const {
    std::vector<Step> steps;
    for (size_t i = 0; i < units.size(); ++i) steps.push_back({.unit = units[i], .accesses = &accesses[i]});
    steps.push_back({.unit = Unit::kCompute, .waits_for_all = true});
    return steps;
  }
};

TokenPlan Plan(const std::vector<Step>& steps, int64_t depth) {
  std::vector<Unit> units;
  for (const Step& step : steps) units.push_back(step.unit);
  return PlanTokens(units, FindDependences(steps), depth).value();
}

// The steps with the planned no-ops between them.
std::vector<Step> WithNoOps(const std::vector<Step>& steps, const TokenPlan& plan) {
  std::vector<Step> all;
  for (const PlannedStep& planned : plan.steps)
    all.push_back(planned.step < 0 ? Step{.unit = Unit::kCompute} : steps[planned.step]);
  return all;
}

absl::Status Check(const std::vector<Step>& steps, const TokenPlan& plan, int64_t depth) {
  return CheckTokens(WithNoOps(steps, plan), plan.steps, depth);
}

int64_t TokensOf(const TokenPlan& plan) {
  int64_t sum = 0;
  for (const int64_t tokens : plan.tokens) sum += tokens;
  return sum;
}

TEST(TokenPlan, OrdersLoadComputeAndStore) {
  Sequence program;
  program.Load(0);
  program.Gemm(0, 0);
  program.Store(0, 0);
  const TokenPlan plan = Plan(program.Steps(), 64);
  ASSERT_EQ(plan.steps.size(), 4u);
  EXPECT_TRUE(plan.steps[0].push_next && plan.steps[1].pop_prev);  // read after write
  EXPECT_TRUE(plan.steps[1].push_next && plan.steps[2].pop_prev);
  EXPECT_TRUE(plan.steps[2].push_prev && plan.steps[3].pop_next);  // the end waits for the store
  EXPECT_FALSE(plan.steps[3].pop_prev);                            // and knows of the load by then
  EXPECT_EQ(TokensOf(plan), 3);
  EXPECT_TRUE(Check(program.Steps(), plan, 64).ok());
}

TEST(TokenPlan, LetsLoadsRunAheadAsFarAsBuffersAllow) {
  Sequence program;
  for (uint64_t i = 0; i < 8; ++i) {
    program.Load(i % 2);
    program.Gemm(i % 2, 0);
  }
  const TokenPlan plan = Plan(program.Steps(), 64);
  EXPECT_TRUE(Check(program.Steps(), plan, 64).ok());
  EXPECT_EQ(plan.tokens[static_cast<int>(isa::TokenQueue::kLoadToCompute)], 8);
  // Two buffers: only the third load and those after it wait, each for the computation two before.
  EXPECT_EQ(plan.tokens[static_cast<int>(isa::TokenQueue::kComputeToLoad)], 6);
  EXPECT_FALSE(plan.steps[2].pop_next);
  EXPECT_TRUE(plan.steps[4].pop_next && plan.steps[1].push_prev);
}

TEST(TokenPlan, LoopsThatNeverRunOrRunOnceLeaveNoToken) {
  Sequence none;
  EXPECT_EQ(TokensOf(Plan(none.Steps(), 64)), 0);
  EXPECT_TRUE(Check(none.Steps(), Plan(none.Steps(), 64), 64).ok());
  Sequence once;
  once.Load(0);
  once.Gemm(0, 0);
  EXPECT_EQ(TokensOf(Plan(once.Steps(), 64)), 1);
  EXPECT_TRUE(Check(once.Steps(), Plan(once.Steps(), 64), 64).ok());
}

TEST(TokenPlan, WaitsOnlyForTheLatestOfOneUnit) {
  Sequence program;
  for (uint64_t i = 0; i < 5; ++i) program.Load(i);
  program.Add(Unit::kCompute, {Read(Space::kInp, 0, 5)});
  const TokenPlan plan = Plan(program.Steps(), 64);
  EXPECT_EQ(TokensOf(plan), 1);
  EXPECT_TRUE(plan.steps[4].push_next);
}

TEST(TokenPlan, DropsWhatAnotherTokenImplies) {
  Sequence program;
  program.Load(0);
  program.Gemm(0, 0);
  program.Store(0, 0);
  // Needs the load's element, which the computation before the store waited for already.
  program.Add(Unit::kCompute, {Read(Space::kInp, 0), Write(Space::kAcc, 0)});
  const TokenPlan plan = Plan(program.Steps(), 64);
  EXPECT_FALSE(plan.steps[3].pop_prev);
  EXPECT_TRUE(plan.steps[3].pop_next);  // write after read
  EXPECT_TRUE(Check(program.Steps(), plan, 64).ok());
}

TEST(TokenPlan, OneStoreTokenSaysWhatTheLoadWouldSay) {
  Sequence program;
  program.Load(0);
  program.Add(Unit::kCompute, {});
  program.Add(Unit::kCompute, {Read(Space::kInp, 0), Write(Space::kAcc, 0)});
  program.Add(Unit::kLoad, {Write(Space::kInp, 9)});
  program.Store(0, 0);
  const TokenPlan plan = Plan(program.Steps(), 64);
  EXPECT_TRUE(Check(program.Steps(), plan, 64).ok());
}

TEST(TokenPlan, OrdersALoadAfterAStoreThroughANoOp) {
  Sequence program;
  program.Gemm(0, 0);
  program.Store(0, 100);
  program.Add(Unit::kLoad, {Read(Space::kDram, 100), Write(Space::kInp, 5)});
  const TokenPlan plan = Plan(program.Steps(), 64);
  ASSERT_EQ(plan.no_ops, 1);
  ASSERT_EQ(plan.steps[2].step, -1);
  EXPECT_TRUE(plan.steps[2].pop_next && plan.steps[2].push_prev);
  EXPECT_TRUE(plan.steps[3].pop_next);
  EXPECT_TRUE(Check(program.Steps(), plan, 64).ok());
}

TEST(TokenPlan, UsesAComputationThatKnowsInsteadOfANoOp) {
  Sequence program;
  program.Gemm(0, 0);
  program.Store(0, 100);
  program.Gemm(0, 0);  // waits for the store: write after read
  program.Add(Unit::kLoad, {Read(Space::kDram, 100), Write(Space::kInp, 5)});
  const TokenPlan plan = Plan(program.Steps(), 64);
  EXPECT_EQ(plan.no_ops, 0);
  EXPECT_TRUE(plan.steps[2].pop_next && plan.steps[2].push_prev);
  EXPECT_TRUE(Check(program.Steps(), plan, 64).ok());
}

TEST(TokenPlan, OrdersAStoreAfterALoadOfTheSameBytes) {
  Sequence program;
  program.Add(Unit::kLoad, {Read(Space::kDram, 100), Write(Space::kInp, 5)});
  program.Store(0, 100);
  const TokenPlan plan = Plan(program.Steps(), 64);
  EXPECT_EQ(plan.no_ops, 1);
  EXPECT_TRUE(Check(program.Steps(), plan, 64).ok());
}

TEST(TokenPlan, KeepsShortQueuesFromBlocking) {
  Sequence program;
  for (uint64_t i = 0; i < 6; ++i) program.Load(i);
  for (uint64_t i = 0; i < 6; ++i) program.Gemm(i, i);
  EXPECT_EQ(TokensOf(Plan(program.Steps(), 64)), 6);
  for (const int64_t depth : {1, 2, 3, 5}) {
    const TokenPlan plan = Plan(program.Steps(), depth);
    EXPECT_TRUE(Check(program.Steps(), plan, depth).ok()) << depth;
    EXPECT_EQ(TokensOf(plan), depth);
    EXPECT_GT(plan.merged, 0);
  }
}

TEST(TokenPlan, RefusesQueuesWithoutRoom) {
  EXPECT_THAT(PlanTokens({}, {}, 0).status().message(), HasSubstr("0 deep"));
}

TEST(TokenCheck, TellsRaceDeadlockAndLeftoverApart) {
  Sequence program;
  program.Load(0);
  program.Gemm(0, 0);
  const std::vector<Step> steps = program.Steps();
  std::vector<PlannedStep> flags(3);
  EXPECT_THAT(CheckTokens(steps, flags, 64).message(), HasSubstr("race: step 1 (compute) and step 0 (load)"));
  flags[1].pop_prev = true;
  EXPECT_THAT(CheckTokens(steps, flags, 64).message(),
              AllOf(HasSubstr("deadlock"), HasSubstr("step 1 waits for a token of load->compute")));
  flags[0].push_next = true;
  EXPECT_TRUE(CheckTokens(steps, flags, 64).ok());
  flags[1].push_prev = true;
  EXPECT_THAT(CheckTokens(steps, flags, 64).message(),
              HasSubstr("1 token is left in compute->load at the end: step 1 pushed"));
}

TEST(TokenCheck, SeesAPushThatWaitsForEver) {
  // Load pushes two tokens before it pops any, and so does compute.
  Sequence program;
  for (int i = 0; i < 4; ++i) program.Add(Unit::kLoad, {});
  for (int i = 0; i < 4; ++i) program.Add(Unit::kCompute, {});
  std::vector<PlannedStep> flags(9);
  flags[0].push_next = flags[1].push_next = flags[2].pop_next = flags[3].pop_next = true;
  flags[4].push_prev = flags[5].push_prev = flags[6].pop_prev = flags[7].pop_prev = true;
  flags[3].push_next = flags[8].pop_prev = true;
  EXPECT_TRUE(CheckTokens(program.Steps(), flags, 2).ok());
  EXPECT_THAT(CheckTokens(program.Steps(), flags, 1).message(),
              HasSubstr("step 1 waits for room in load->compute, step 5 waits for room in compute->load"));
}

Sequence RandomProgram(std::mt19937& random) {
  const auto below = [&](uint64_t bound) { return random() % bound; };
  Sequence program;
  const uint64_t size = below(40), room = 1 + below(6);
  for (uint64_t i = 0; i < size; ++i) {
    const Unit unit = isa::kAllUnits[below(3)];
    Accesses accesses;
    for (uint64_t n = below(3); n-- > 0;) {
      Access access = Touch(below(2) == 0 ? Space::kDram : Space::kAcc, below(room), 1 + below(2), below(2) == 0);
      if (below(3) == 0) access.run = {.begin = below(3), .length = 1, .stride = 1 + below(3), .count = 1 + below(3)};
      accesses.push_back(access);
    }
    program.Add(unit, accesses);
  }
  return program;
}

// The place of the k-th push and the k-th pop of each queue.
struct Ends {
  std::vector<std::pair<size_t, bool>> pushes, pops;  // step, whether by the `next` flag
};
std::array<Ends, isa::kTokenQueues> EndsOf(const std::vector<Step>& steps, const std::vector<PlannedStep>& flags) {
  std::array<Ends, isa::kTokenQueues> ends;
  for (size_t i = 0; i < steps.size(); ++i) {
    for (const bool next : {false, true}) {
      isa::TokenQueue queue;
      if (next ? flags[i].push_next : flags[i].push_prev) {
        EXPECT_TRUE(isa::QueueOfPush(steps[i].unit, next, &queue));
        ends[static_cast<int>(queue)].pushes.push_back({i, next});
      }
      if (next ? flags[i].pop_next : flags[i].pop_prev) {
        EXPECT_TRUE(isa::QueueOfPop(steps[i].unit, next, &queue));
        ends[static_cast<int>(queue)].pops.push_back({i, next});
      }
    }
  }
  return ends;
}

// SMELT_TOKEN_PROGRAMS=1000 for a long run.
TEST(TokenPlan, EveryTokenOfRandomProgramsIsNecessary) {
  const char* wanted = std::getenv("SMELT_TOKEN_PROGRAMS");
  const int programs = wanted == nullptr ? 50 : std::atoi(wanted);
  int64_t mutants = 0, tokens = 0, no_ops = 0, merged = 0;
  for (int seed = 0; seed < programs; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const Sequence program = RandomProgram(random);
    const std::vector<Step> steps = program.Steps();
    const int64_t depth = std::vector<int64_t>{1, 2, 3, 64}[random() % 4];
    const TokenPlan plan = Plan(steps, depth);
    const std::vector<Step> all = WithNoOps(steps, plan);
    ASSERT_TRUE(CheckTokens(all, plan.steps, depth).ok()) << CheckTokens(all, plan.steps, depth);
    tokens += TokensOf(plan);
    no_ops += plan.no_ops;
    merged += plan.merged;
    for (const Ends& ends : EndsOf(all, plan.steps)) {
      ASSERT_EQ(ends.pushes.size(), ends.pops.size());
      for (size_t k = 0; k < ends.pushes.size(); ++k) {
        for (const int without : {1, 2, 3}) {  // the push, the pop, both
          std::vector<PlannedStep> flags = plan.steps;
          const auto [pusher, push_next] = ends.pushes[k];
          const auto [popper, pop_next] = ends.pops[k];
          if (without & 1) (push_next ? flags[pusher].push_next : flags[pusher].push_prev) = false;
          if (without & 2) (pop_next ? flags[popper].pop_next : flags[popper].pop_prev) = false;
          EXPECT_FALSE(CheckTokens(all, flags, depth).ok())
              << "token " << k << " of step " << pusher << " without " << without;
          ++mutants;
        }
      }
    }
  }
  std::printf("%d programs, %lld tokens, %lld no-ops, %lld pairs merged; all %lld mutants were caught\n", programs,
              static_cast<long long>(tokens), static_cast<long long>(no_ops), static_cast<long long>(merged),
              static_cast<long long>(mutants));
  EXPECT_GT(mutants, programs);
}

}  // namespace
}  // namespace smelt::vdla::lower
