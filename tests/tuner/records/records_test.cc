#include "tuner/records/records.h"

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace smelt::tuner {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class RecordsTest : public ::testing::Test {
 protected:
  RecordsTest()
      : path_(fs::path(::testing::TempDir()) /
              (std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) + ".db")) {
    Remove();
  }
  ~RecordsTest() override { Remove(); }
  void Remove() {
    for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(path_.string() + suffix);
  }
  static Record Make(int i) {
    Record record;
    record.key = {"subject" + std::to_string(i), "cpu", "device", "compiler", "policy"};
    record.kind = "program";
    record.description = "0101";
    record.outcome.seconds = {0.5 + i, 0.25};
    return record;
  }
  fs::path path_;
};

TEST_F(RecordsTest, FindsTheLatestOfAKeyAfterReopening) {
  {
    auto records = Records::Open(path_.string());
    ASSERT_TRUE(records.ok()) << records.status();
    ASSERT_TRUE((*records)->Add(Make(1)).ok());
    ASSERT_TRUE((*records)->Add(Make(2)).ok());
    Record again = Make(1);
    again.outcome.failure = Failure::kRunCrashed;
    again.outcome.message = "signal 11";
    ASSERT_TRUE((*records)->Add(again).ok());
  }
  auto records = Records::Open(path_.string());
  ASSERT_TRUE(records.ok()) << records.status();
  auto found = (*records)->Find(Make(1).key);
  ASSERT_TRUE(found.ok() && found->has_value());
  EXPECT_EQ((*found)->outcome.failure, Failure::kRunCrashed);
  EXPECT_EQ((*found)->outcome.message, "signal 11");
  EXPECT_EQ((*records)->All()->size(), 3u);
  RecordKey other = Make(1).key;
  other.compiler = "another";
  EXPECT_FALSE((*records)->Find(other)->has_value());
}

TEST_F(RecordsTest, TwoWritersLoseNothing) {
  auto a = Records::Open(path_.string());
  auto b = Records::Open(path_.string());
  ASSERT_TRUE(a.ok() && b.ok());
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE((*a)->Add(Make(2 * i)).ok());
    ASSERT_TRUE((*b)->Add(Make(2 * i + 1)).ok());
  }
  EXPECT_EQ((*a)->All()->size(), 40u);
}

TEST_F(RecordsTest, EveryTruncationOpensOrIsOneClearError) {
  {
    auto records = Records::Open(path_.string());
    ASSERT_TRUE(records.ok());
    for (int i = 0; i < 3; ++i) ASSERT_TRUE((*records)->Add(Make(i)).ok());
  }
  std::ifstream in(path_, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  for (size_t length = 0; length < bytes.size(); length += 257) {
    Remove();
    std::ofstream(path_, std::ios::binary) << bytes.substr(0, length);
    auto records = Records::Open(path_.string());
    if (!records.ok()) {
      EXPECT_THAT(std::string(records.status().message()), HasSubstr(path_.string()));
      continue;
    }
    auto all = (*records)->All();
    if (!all.ok()) {
      EXPECT_THAT(std::string(all.status().message()), HasSubstr(path_.string()));
    }
  }
}

TEST_F(RecordsTest, RefusesAForeignFileNamingIt) {
  std::ofstream(path_) << std::string(5000, 'x');
  auto records = Records::Open(path_.string());
  ASSERT_FALSE(records.ok());
  EXPECT_THAT(std::string(records.status().message()), HasSubstr(path_.string()));
  EXPECT_THAT(std::string(records.status().message()), HasSubstr("no record file"));
}

}  // namespace
}  // namespace smelt::tuner
