// A folder for the files of one test.
//
//   const ScratchFolder folder;
//   std::ofstream(folder.In("small.hlo")) << text;
//   EXPECT_TRUE(std::filesystem::exists(folder.path() / "small.hlo"));
//
// ctest runs every test as a process of its own, several at a time: those that share a name below the temporary folder
// race for it.
#pragma once

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "gtest/gtest.h"

namespace smelt {

// An empty folder below testing::TempDir() that no other process and no other object has; removed with all that is in
// it. A forked child that comes to the destructor leaves the folder to its parent.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);  // what a killed process of the same id has left
    std::filesystem::create_directories(path_, error);
    if (error) ADD_FAILURE() << path_.string() << ": " << error.message();
  }
  ~ScratchFolder() {
    if (::getpid() != owner_) return;
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // The path of a file in the folder, which need not be there.
  std::string In(std::string_view name) const { return (path_ / name).string(); }

 private:
  static std::string NewName() {
    static std::atomic<int> next = 0;
    return "smelt-test-" + std::to_string(::getpid()) + "-" + std::to_string(next++);
  }

  const pid_t owner_ = ::getpid();
  const std::filesystem::path path_ = std::filesystem::path(::testing::TempDir()) / NewName();
};

}  // namespace smelt
