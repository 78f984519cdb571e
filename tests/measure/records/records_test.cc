#include "measure/records/records.h"

#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/scratch_folder.h"

namespace smelt::measure {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class RecordsTest : public ::testing::Test {
 protected:
  void Remove() {
    for (const char* suffix : {"", "-wal", "-shm", "-journal", ".cut", ".cut-wal", ".cut-shm", ".cut-journal"})
      fs::remove(path_.string() + suffix);
  }
  static std::string ReadFile(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(in)), {});
  }
  // Writes the files anew and expects that records can be kept in them.
  void ExpectNew(const std::string& database, const std::string& log) {
    Remove();
    std::ofstream(path_, std::ios::binary) << database;
    if (!log.empty()) std::ofstream(path_.string() + "-wal", std::ios::binary) << log;
    auto records = Records::Open(path_.string());
    ASSERT_TRUE(records.ok()) << database.size() << " and " << log.size() << " bytes: " << records.status();
    ASSERT_TRUE((*records)->Add(Make(1)).ok());
    ASSERT_EQ((*records)->All()->size(), 1u) << database.size() << " and " << log.size() << " bytes";
  }
  void Execute(const char* sql) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
    sqlite3_close(database);
  }
  static Record Make(int i) {
    Record record;
    record.key = {"subject" + std::to_string(i), "cpu", "device", "compiler", "policy"};
    record.kind = "program";
    record.description = "0101";
    record.outcome.seconds = {0.5 + i, 0.25};
    return record;
  }

  const ScratchFolder folder_;
  const fs::path path_ = folder_.path() / "records.db";
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

TEST_F(RecordsTest, NewerOnesComeOnceToEachReader) {
  auto writer = Records::Open(path_.string()).value(), reader = Records::Open(path_.string()).value();
  int64_t last = 0;
  for (const int count : {3, 0, 2}) {
    for (int i = 0; i < count; ++i) ASSERT_TRUE(writer->Add(Make(i)).ok());
    const auto newer = reader->Newer(&last);
    ASSERT_TRUE(newer.ok()) << newer.status();
    ASSERT_EQ(newer->size(), static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) EXPECT_EQ((*newer)[i].key.subject, Make(i).key.subject);
  }
  EXPECT_EQ(reader->All()->size(), 5u);
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

// Each opens, writes one and closes, so that creation, the switch to the write-ahead log and its removal meet each
// other.
TEST_F(RecordsTest, SeveralProcessesMayMakeItAtOnce) {
  constexpr int kRounds = 60, kRecords = 3;
  for (int round = 0; round < kRounds; ++round) {
    Remove();
    std::array<pid_t, 4> children;
    for (pid_t& child : children) {
      child = ::fork();
      ASSERT_GE(child, 0);
      if (child > 0) continue;
      for (int i = 0; i < kRecords; ++i) {
        auto records = Records::Open(path_.string());
        absl::Status status = records.ok() ? (*records)->Add(Make(i)) : records.status();
        if (status.ok()) status = (*records)->All().status();
        if (status.ok()) continue;
        std::cerr << status << "\n";
        ::_exit(1);
      }
      ::_exit(0);
    }
    for (const pid_t child : children) {
      int status = 0;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      ASSERT_EQ(status, 0) << "round " << round;
    }
    auto records = Records::Open(path_.string());
    ASSERT_TRUE(records.ok()) << records.status();
    ASSERT_EQ((*records)->All()->size(), children.size() * kRecords) << "round " << round;
    ASSERT_FALSE(fs::exists(path_.string() + ".cut")) << "round " << round;
  }
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

TEST_F(RecordsTest, CutShortAtAnyByteOfItsCreationItIsNew) {
  ASSERT_TRUE(Records::Open(path_.string()).ok());
  const std::string whole = ReadFile(path_);
  ASSERT_EQ(whole.size(), 3 * 4096u);  // what the code takes for a file without records
  // Every byte of the header and around the pages' ends, some of the rest.
  for (size_t length = 0; length < whole.size(); length += length < 102 || (length + 2) % 4096 < 4 ? 1 : 1000)
    ExpectNew(whole.substr(0, length), "");
}

// Versions that switched to the write-ahead log before they had made the table.
TEST_F(RecordsTest, CutShortWithAWriteAheadLogItIsNew) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, "PRAGMA journal_mode=WAL", nullptr, nullptr, nullptr), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, "BEGIN; CREATE TABLE t (x); CREATE INDEX i ON t (x)", nullptr, nullptr, nullptr),
            SQLITE_OK);
  const std::string page = ReadFile(path_);
  ASSERT_EQ(sqlite3_exec(database, "COMMIT", nullptr, nullptr, nullptr), SQLITE_OK);
  const std::string log = ReadFile(path_.string() + "-wal");
  sqlite3_close(database);
  ASSERT_EQ(page.size(), 4096u);
  ASSERT_GT(log.size(), 4096u);
  for (size_t length = 0; length <= page.size(); length += length < 32 ? 1 : 509) ExpectNew(page.substr(0, length), "");
  // Without the frame that commits.
  for (size_t length = 0; length < log.size(); length += length < 34 ? 1 : 1999) ExpectNew(page, log.substr(0, length));
}

TEST_F(RecordsTest, DamagedLaterItIsPutNowhere) {
  {
    auto records = Records::Open(path_.string());
    ASSERT_TRUE(records.ok());
    for (int i = 0; i < 200; ++i) ASSERT_TRUE((*records)->Add(Make(i)).ok());
  }
  const std::string whole = ReadFile(path_);
  ASSERT_GT(whole.size(), 5 * 4096u);
  fs::resize_file(path_, whole.size() / 2);
  auto records = Records::Open(path_.string());
  EXPECT_TRUE(!records.ok() || !(*records)->All().ok());
  EXPECT_EQ(fs::file_size(path_), whole.size() / 2);
  EXPECT_FALSE(fs::exists(path_.string() + ".cut"));
}

// What is lost by it is measured once more; what was measured is kept.
TEST_F(RecordsTest, FailuresThatAnOlderVersionRecordedAreNotTrusted) {
  {
    auto records = Records::Open(path_.string());
    ASSERT_TRUE(records.ok());
    ASSERT_TRUE((*records)->Add(Make(1)).ok());
    Record failed = Make(2);
    failed.outcome = {.failure = Failure::kWrongAnswer, .message = "outputs.safetensors: cannot be written"};
    ASSERT_TRUE((*records)->Add(failed).ok());
  }
  Execute("PRAGMA user_version=3");
  {
    auto records = Records::Open(path_.string());
    ASSERT_TRUE(records.ok()) << records.status();
    EXPECT_TRUE((*records)->Find(Make(1).key)->has_value());
    EXPECT_FALSE((*records)->Find(Make(2).key)->has_value());
    EXPECT_EQ((*records)->All()->size(), 2u);
    Record failed = Make(2);
    failed.outcome.failure = Failure::kBuildFailed;
    ASSERT_TRUE((*records)->Add(failed).ok());
  }
  auto records = Records::Open(path_.string());
  EXPECT_EQ((*(*records)->Find(Make(2).key))->outcome.failure, Failure::kBuildFailed);
}

TEST_F(RecordsTest, RefusesAnotherProgramsDatabase) {
  Execute("CREATE TABLE theirs (x)");
  auto records = Records::Open(path_.string());
  ASSERT_FALSE(records.ok());
  EXPECT_THAT(std::string(records.status().message()), HasSubstr("of another program"));
}

TEST_F(RecordsTest, RefusesAForeignFileNamingIt) {
  std::ofstream(path_) << std::string(5000, 'x');
  auto records = Records::Open(path_.string());
  ASSERT_FALSE(records.ok());
  EXPECT_THAT(std::string(records.status().message()), HasSubstr(path_.string()));
  EXPECT_THAT(std::string(records.status().message()), HasSubstr("no record file"));
}

}  // namespace
}  // namespace smelt::measure
