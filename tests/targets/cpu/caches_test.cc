#include "targets/cpu/processor/caches.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/scratch_folder.h"

namespace smelt::cpu {
namespace {

class CacheBytesTest : public testing::Test {
 protected:
  void Add(int index, const std::string& level, const std::string& type, const std::string& size) {
    const std::filesystem::path cache = folder_ / ("index" + std::to_string(index));
    std::filesystem::create_directories(cache);
    std::ofstream(cache / "level") << level << "\n";
    std::ofstream(cache / "type") << type << "\n";
    std::ofstream(cache / "size") << size << "\n";
  }

  const ScratchFolder scratch_;
  const std::filesystem::path folder_ = scratch_.path() / "cache";  // made with its first cache
};

TEST_F(CacheBytesTest, ReadsWhatLinuxSays) {
  Add(0, "1", "Data", "48K");
  Add(1, "1", "Instruction", "32K");
  Add(2, "2", "Unified", "2048K");
  Add(3, "3", "Unified", "32M");
  EXPECT_EQ(CacheBytes(1, folder_), 48 << 10);
  EXPECT_EQ(CacheBytes(2, folder_), 2 << 20);
  EXPECT_EQ(CacheBytes(3, folder_), 32 << 20);
}

TEST_F(CacheBytesTest, InstructionsHaveNoDataCache) {
  Add(0, "1", "Instruction", "32K");
  Add(1, "1", "Data", "16K");
  EXPECT_EQ(CacheBytes(1, folder_), 16 << 10);
}

TEST_F(CacheBytesTest, WhatIsNotToldIsZero) {
  EXPECT_EQ(CacheBytes(1, folder_), 0);
  Add(0, "1", "Data", "lots");
  Add(1, "2", "Data", "");
  EXPECT_EQ(CacheBytes(1, folder_), 0);
  EXPECT_EQ(CacheBytes(2, folder_), 0);
  EXPECT_EQ(CacheBytes(3, folder_), 0);
}

}  // namespace
}  // namespace smelt::cpu
