#include "gnn/corpus/corpus.h"

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gnn/corpus/crc32c.h"
#include "gtest/gtest.h"
#include "tests/scratch_folder.h"

namespace smelt::gnn {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Corpus : public ::testing::Test {
 protected:
  static KernelExample Example(int i) {
    KernelExample example;
    example.program = "program" + std::to_string(i);
    example.kernel_text = "HloModule k\n\nENTRY e {\n  ROOT p = f32[] parameter(0)\n}\n";
    example.hash = HashOf(example.program);
    example.measurements.push_back({{{1, i}}, true, {3e-6, 2e-6 + i, 4e-6}, ""});
    return example;
  }
  void Write(int begin, int end, int64_t per_shard = 4) {
    auto writer = CorpusWriter::Open(folder_.string(), per_shard);
    ASSERT_TRUE(writer.ok()) << writer.status();
    for (int i = begin; i < end; ++i) ASSERT_TRUE((*writer)->Append(Example(i)).ok());
  }
  absl::StatusOr<CorpusReport> Read(std::vector<std::string>* programs) {
    return ReadCorpus(folder_.string(), [&](KernelExample example) {
      programs->push_back(example.program);
      return absl::OkStatus();
    });
  }

  const ScratchFolder scratch_;
  const fs::path folder_ = scratch_.path() / "corpus";  // which its writer makes
};

TEST(Crc32c, MatchesTheCheckValueOfItsDefinition) { EXPECT_EQ(Crc32c("123456789"), 0xE3069283u); }

TEST_F(Corpus, ReadsBackWhatWasWrittenOverSeveralShardsAndSessions) {
  Write(0, 6);
  Write(6, 10);
  std::vector<std::string> programs;
  auto report = Read(&programs);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->shards, 3);
  ASSERT_EQ(programs.size(), 10u);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(programs[i], "program" + std::to_string(i));
}

TEST_F(Corpus, KeepsDistances) {
  KernelExample example = Example(0);
  example.distances = {0, int64_t{5} << 20};
  ASSERT_TRUE((*CorpusWriter::Open(folder_.string()))->Append(example).ok());
  std::vector<int64_t> read;
  const auto take = [&](const KernelExample& record) {
    read = record.distances;
    return absl::OkStatus();
  };
  ASSERT_TRUE(ReadCorpus(folder_.string(), take).ok());
  EXPECT_EQ(read, example.distances);
}

TEST_F(Corpus, KeepsWholeRecordsAfterTruncationAtEveryByteAndCanBeContinued) {
  Write(0, 3, 100);
  const fs::path shard = folder_ / "shard-00000.tfrecord";
  const auto size = fs::file_size(shard);
  const fs::path backup = folder_ / "backup";
  fs::copy_file(shard, backup);
  for (uintmax_t length = 0; length < size; ++length) {
    fs::copy_file(backup, shard, fs::copy_options::overwrite_existing);
    fs::resize_file(shard, length);
    std::vector<std::string> programs;
    auto report = Read(&programs);
    ASSERT_TRUE(report.ok()) << length << ": " << report.status();
    ASSERT_EQ(programs.size(), length * 3 / size) << length;
    ASSERT_EQ(report->warnings.empty(), length % (size / 3) == 0) << length;
  }
  Write(7, 8, 100);
  std::vector<std::string> programs;
  auto report = Read(&programs);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->warnings.empty());
  EXPECT_EQ(programs, (std::vector<std::string>{"program0", "program1", "program7"}));
}

TEST_F(Corpus, RefusesAChangedByteNamingShardAndOffset) {
  Write(0, 3, 100);
  const fs::path shard = folder_ / "shard-00000.tfrecord";
  std::fstream file(shard, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(20);
  file.put('\x55');
  file.close();
  std::vector<std::string> programs;
  auto report = Read(&programs);
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(std::string(report.status().message()), HasSubstr("shard-00000.tfrecord"));
  EXPECT_THAT(std::string(report.status().message()), HasSubstr("at byte 0"));
}

// A writer cuts a torn end off; what a disk cannot read is none. A folder opens as a file does and cannot be read.
TEST_F(Corpus, WhatCannotBeReadIsNoTornEnd) {
  fs::create_directories(folder_ / "shard-00000.tfrecord");
  const auto writer = CorpusWriter::Open(folder_.string());
  ASSERT_FALSE(writer.ok());
  EXPECT_THAT(std::string(writer.status().message()), HasSubstr("cannot be read at byte 0: Is a directory"));
  std::vector<std::string> programs;
  EXPECT_FALSE(Read(&programs).ok());
}

TEST_F(Corpus, SaysHowToMakeOneWhenTheFolderHoldsNone) {
  fs::create_directories(folder_);
  std::vector<std::string> programs;
  EXPECT_THAT(std::string(Read(&programs).status().message()), HasSubstr("smelt profile"));
}

}  // namespace
}  // namespace smelt::gnn
