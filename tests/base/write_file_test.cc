// What a killed writer leaves beside a file.
#include "base/write_file.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"
#include "tests/scratch_folder.h"

namespace smelt {
namespace {

namespace fs = std::filesystem;

TEST(WriteFileTest, TheNameOfAnUnfinishedFile) {
  EXPECT_EQ(FinalName("report.txt"), "report.txt");
  EXPECT_EQ(FinalName("report.txt.123.0.tmp"), "report.txt");
  EXPECT_EQ(FinalName("report.txt.tmp"), "");
  EXPECT_EQ(FinalName("notes.v2.tmp"), "");
}

TEST(WriteFileTest, LeftoversOfProcessesThatAreGoneAreRemoved) {
  const ScratchFolder scratch;
  const fs::path& folder = scratch.path();
  const pid_t gone = fork();
  if (gone == 0) _exit(0);
  ASSERT_EQ(waitpid(gone, nullptr, 0), gone);
  const auto make = [&](const std::string& name, int seconds) {
    std::ofstream(folder / name) << "half";
    fs::last_write_time(folder / name, fs::file_time_type::clock::now() - std::chrono::seconds(seconds));
    return folder / name;
  };
  const fs::path left = make("report.txt." + std::to_string(gone) + ".0.tmp", 300);
  const fs::path fresh = make("report.txt." + std::to_string(gone) + ".1.tmp", 0);
  const fs::path written = make("report.txt." + std::to_string(getpid()) + ".0.tmp", 300);
  const fs::path other = make("mine.tmp", 300);
  RemoveLeftovers(folder.string());
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(fresh));
  EXPECT_TRUE(fs::exists(written));  // by this process
  EXPECT_TRUE(fs::exists(other));
  RemoveLeftovers((folder / "missing").string());
}

}  // namespace
}  // namespace smelt
