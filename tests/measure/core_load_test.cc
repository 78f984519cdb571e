#include "measure/core_load.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "gtest/gtest.h"
#include "tests/scratch_folder.h"

namespace smelt::measure {
namespace {

using Cores = std::vector<int>;

// Cores 0, 1, ... that are so busy; the first half and the second half are siblings, where that is asked.
std::vector<CoreLoad> Loads(const std::vector<double>& busy, bool siblings = false) {
  const auto count = static_cast<int>(busy.size());
  std::vector<CoreLoad> cores;
  for (int cpu = 0; cpu < count; ++cpu) {
    cores.push_back({.cpu = cpu, .busy = busy[cpu], .siblings = {}});
    if (siblings) cores.back().siblings = {(cpu + count / 2) % count};
  }
  return cores;
}

TEST(QuietestCores, TheLastWhereNothingRuns) {
  EXPECT_EQ(QuietestCores(Loads({0, 0, 0, 0}), 1), Cores({3}));
  EXPECT_EQ(QuietestCores(Loads({0, 0, 0, 0}), 2), Cores({2, 3}));
  // One tick of few is what an idle core shows.
  EXPECT_EQ(QuietestCores(Loads({0, 0, 0, 0.25}), 1), Cores({3}));
}

TEST(QuietestCores, NotTheLastWhereItIsBusy) {
  EXPECT_EQ(QuietestCores(Loads({0, 0, 0, 1}), 1), Cores({2}));
  EXPECT_EQ(QuietestCores(Loads({0, 0, 1, 0}), 2), Cores({0, 1}));
  EXPECT_EQ(QuietestCores(Loads({0.6, 0.5, 1, 1}), 2), Cores({0, 1}));
}

TEST(QuietestCores, NotBesideABusySibling) {
  EXPECT_EQ(QuietestCores(Loads({0, 1, 0, 0}, true), 1), Cores({2}));
  EXPECT_EQ(QuietestCores(Loads({1, 1, 0, 1}, true), 1), Cores({2}))
      << "half of a sibling's work is less than one's own";
}

TEST(QuietestCores, NumbersAreTheSystems) {
  std::vector<CoreLoad> cores = Loads({0, 0});
  cores[0].cpu = 5;
  cores[1].cpu = 9;
  EXPECT_EQ(QuietestCores(cores, 2), Cores({5, 9}));
  EXPECT_TRUE(QuietestCores(cores, 3).empty());
  EXPECT_TRUE(QuietestCores({}, 1).empty());
}

TEST(LookAtCores, ReadsTicksAndSiblings) {
  const absl::StatusOr<std::vector<CoreLoad>> here = LookAtCores(0);
  ASSERT_TRUE(here.ok()) << here.status();
  ASSERT_FALSE(here->empty());
  const std::string first = std::to_string(here->front().cpu);
  const ScratchFolder scratch;
  const std::filesystem::path& folder = scratch.path();
  const std::filesystem::path topology = folder / ("cpu" + first) / "topology";
  std::filesystem::create_directories(topology);
  std::ofstream(topology / "thread_siblings_list") << first << ",70-71\n";
  const auto write = [&](int user, int idle, int waiting) {
    std::ofstream(folder / "stat.new") << "cpu  0 0 0 0 0 0 0 0 0 0\ncpu" << first << " " << user << " 0 0 " << idle
                                       << " " << waiting << " 0 0 0 7 7\nintr 5\n";
    std::filesystem::rename(folder / "stat.new", folder / "stat");
  };
  write(100, 500, 10);
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    write(103, 501, 10);
  });
  const absl::StatusOr<std::vector<CoreLoad>> cores = LookAtCores(1, folder, folder);
  later.join();
  ASSERT_TRUE(cores.ok());
  EXPECT_DOUBLE_EQ(cores->front().busy, 0.75);
  EXPECT_EQ(cores->front().siblings, Cores({70, 71}));
}

TEST(LookAtCores, AnIdleMachineWhereTheSystemTellsNothing) {
  const absl::StatusOr<std::vector<CoreLoad>> cores = LookAtCores(0, "/nowhere", "/nowhere");
  ASSERT_TRUE(cores.ok());
  for (const CoreLoad& core : *cores) EXPECT_EQ(core.busy, 0);
  EXPECT_EQ(QuietestCores(*cores, 1), Cores({cores->back().cpu}));
}

}  // namespace
}  // namespace smelt::measure
