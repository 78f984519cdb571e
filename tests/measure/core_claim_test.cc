#include "measure/core_claim.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "base/child_process.h"
#include "gtest/gtest.h"
#include "measure/core_load.h"

namespace smelt::measure {
namespace {

class CoreClaimTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (LookAtCores(0).value().size() < 2) GTEST_SKIP() << "there is one core";
  }
};

TEST_F(CoreClaimTest, DevicesThatLiveAtATimeShareOne) {
  const std::shared_ptr<const CoreClaim> one = CoreClaim::Take(1), other = CoreClaim::Take(1);
  ASSERT_NE(one, nullptr);
  EXPECT_EQ(one, other);
  EXPECT_EQ(one->cores().size(), 1);
}

TEST_F(CoreClaimTest, NoneWhereAllCoresAreWanted) {
  const size_t all = LookAtCores(0).value().size();
  EXPECT_EQ(CoreClaim::Take(static_cast<int>(all)), nullptr);
  EXPECT_EQ(CoreClaim::Take(static_cast<int>(all) + 1), nullptr);
}

// This process only waits, so that nothing but the claim tells another one of it.
TEST_F(CoreClaimTest, NotACoreOfAnotherProcess) {
  const std::shared_ptr<const CoreClaim> ours = CoreClaim::Take(1);
  ASSERT_NE(ours, nullptr);
  absl::StatusOr<Pipe> pipe = Pipe::Open();
  ASSERT_TRUE(pipe.ok());
  absl::StatusOr<ChildProcess> child = ChildProcess::Fork(int64_t{1} << 30, [&] {
    const std::shared_ptr<const CoreClaim> claim = CoreClaim::Take(1);
    const int core = claim == nullptr ? -1 : claim->cores().front();
    if (::write(pipe->write(), &core, sizeof(core)) != sizeof(core)) ::_exit(1);
  });
  ASSERT_TRUE(child.ok());
  int theirs = -1;
  ASSERT_EQ(::read(pipe->read(), &theirs, sizeof(theirs)), sizeof(theirs));
  EXPECT_GE(theirs, 0);
  EXPECT_NE(theirs, ours->cores().front());
}

TEST_F(CoreClaimTest, ThreadsStayOnTheirCoresAndOffOthers) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(before), &before), 0);
  const int first = LookAtCores(0).value().front().cpu;
  const auto allowed = [] {
    const std::vector<CoreLoad> cores = LookAtCores(0).value();
    std::vector<int> numbers;
    for (const CoreLoad& core : cores) numbers.push_back(core.cpu);
    return numbers;
  };
  StayOff({first});
  const std::vector<int> others = allowed();
  EXPECT_EQ(std::count(others.begin(), others.end(), first), 0);
  RunOn({first});
  EXPECT_EQ(allowed(), std::vector<int>({first}));
  StayOff({first});
  EXPECT_EQ(allowed(), std::vector<int>({first})) << "there is no other";
  ASSERT_EQ(::sched_setaffinity(0, sizeof(before), &before), 0);
}

}  // namespace
}  // namespace smelt::measure
