// The cache folder's limit: what was not used for longest goes, and nothing that is not the cache's.
#include "base/cache_folder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/hash.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/scratch_folder.h"

namespace smelt {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class CacheFolderTest : public testing::Test {
 protected:
  ~CacheFolderTest() override { ::unsetenv("SMELT_CACHE_LIMIT"); }
  // The path of the kernel of a number.
  std::string Kernel(int number) const {
    const std::string hex = HashOf("kernel " + std::to_string(number)).ToHex();
    return (folder_ / hex.substr(0, 2) / (hex + ".kernel")).string();
  }
  static void Age(const std::string& path, double seconds) {
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::seconds(static_cast<int64_t>(seconds)));
  }
  void Write(const std::string& path, size_t bytes) const {
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path) << std::string(bytes, 'x');
  }

  const ScratchFolder scratch_;
  const fs::path& folder_ = scratch_.path();
};

TEST_F(CacheFolderTest, WhatWasNotUsedForLongestGoesFirst) {
  for (int i = 0; i < 10; ++i) {
    Write(Kernel(i), 1000);
    Age(Kernel(i), 1e6 - 1e4 * i);
  }
  NoteCacheUse(Kernel(0));
  EXPECT_EQ(MeasureCache(folder_).entries, 10);
  const CacheUse use = TrimCache(folder_, 4500);
  EXPECT_EQ(use.removed, 6);
  EXPECT_EQ(use.bytes, 4000);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(fs::exists(Kernel(i)), i == 0 || i > 6) << i;
  EXPECT_EQ(TrimCache(folder_, 0).entries, 0);
}

TEST_F(CacheFolderTest, OnlyWhatIsTheCachesOwnIsTouched) {
  const std::string hash = HashOf("module").ToHex();
  const std::vector<std::string> theirs = {"thesis.pdf",
                                           "photos/cat.jpg",
                                           "targets/machine.txt",
                                           "ab/notes.txt",
                                           hash + ".txt",
                                           "ab/" + hash + ".kernel.bak",
                                           "stablehlo/" + hash + "/model.mlir",
                                           "x.tmp"};
  const std::vector<std::string> ours = {hash + ".xla.pb", "stablehlo/" + hash + "/model.pb"};
  for (const std::string& name : theirs) Write((folder_ / name).string(), 100);
  for (const std::string& name : ours) Write((folder_ / name).string(), 100);
  Write(Kernel(1), 100);
  EXPECT_EQ(TrimCache(folder_, 0).removed, 3);
  for (const std::string& name : theirs) EXPECT_TRUE(fs::exists(folder_ / name)) << name;
  for (const std::string& name : ours) EXPECT_FALSE(fs::exists(folder_ / name)) << name;
}

TEST_F(CacheFolderTest, WhatAKilledProcessLeftHalfWrittenGoesOnceNobodyCanBeWritingIt) {
  Write(Kernel(1), 100);
  Write(Kernel(1) + ".77.0.tmp", 100);
  Write(Kernel(2) + ".78.3.tmp", 100);
  Age(Kernel(1) + ".77.0.tmp", 1e5);
  const CacheUse use = TrimCache(folder_, 1 << 20);
  EXPECT_EQ(use.removed, 1);
  EXPECT_TRUE(fs::exists(Kernel(1)));
  EXPECT_FALSE(fs::exists(Kernel(1) + ".77.0.tmp"));
  EXPECT_TRUE(fs::exists(Kernel(2) + ".78.3.tmp"));
}

TEST_F(CacheFolderTest, ProcessesThatWriteKeepItBelowTheLimit) {
  ::setenv("SMELT_CACHE_LIMIT", "100K", 1);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) KeepInCache(folder_.string(), Kernel(100 * t + i), std::string(3000, 'x'));
    });
  }
  for (std::thread& thread : threads) thread.join();
  // What was written while one of the four looked is seen with the next file.
  KeepInCache(folder_.string(), Kernel(400), std::string(3000, 'x'));
  const CacheUse use = MeasureCache(folder_);
  EXPECT_GT(use.entries, 10);
  // What is written between two looks, a sixteenth of the limit and a file of each, comes on top.
  EXPECT_LT(use.bytes, 100 * 1024 + 100 * 1024 / 16 + 5 * 3000);
  EXPECT_EQ(TakeCacheTrouble(), "");
}

TEST(CacheLimit, IsASizeOrAnErrorThatNamesTheVariable) {
  for (const auto& [text, bytes] : std::vector<std::pair<std::string, int64_t>>{
           {"0", 0}, {"123", 123}, {"2K", 2048}, {"500M", int64_t{500} << 20}, {"4GB", int64_t{4} << 30}})
    EXPECT_EQ(*ParseSize(text), bytes) << text;
  for (const std::string text : {"", "-1", "4.5G", "G", "9999999999G", "1T", "nan"})
    EXPECT_FALSE(ParseSize(text).ok()) << text;
  ::setenv("SMELT_CACHE_LIMIT", "much", 1);
  EXPECT_THAT(std::string(CacheLimit().status().message()), HasSubstr("$SMELT_CACHE_LIMIT: `much`"));
  ::unsetenv("SMELT_CACHE_LIMIT");
  EXPECT_EQ(*CacheLimit(), int64_t{2} << 30);
}

}  // namespace
}  // namespace smelt
