// `smelt corpus` from outside: a stranger's timings become a model in three commands, and what goes in comes out.
#include "gnn/corpus/corpus.h"

#include <cstdio>
#include <cstdlib>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/cli/tool.h"

namespace smelt::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kChip[] = R"({"name": "chip9", "threads": 1, "vector_bytes": 32, "peak_flops_f32": 4e10,
  "levels": [{"scope": "scratch", "bytes": 65536, "bytes_per_second": 8e10},
             {"scope": "memory", "bytes_per_second": 9e9}]})";

class CorpusTest : public ::testing::Test {
 protected:
  CorpusTest() : folder_(FreshFolder(::testing::UnitTest::GetInstance()->current_test_info()->name())) {}
  ~CorpusTest() override { fs::remove_all(folder_); }

  // What somebody has who timed kernels of twelve programs on a chip that Smelt has never heard of.
  void WriteTable() {
    std::string table = "program,kernel,seconds\n";
    for (int program = 0; program < 12; ++program) {
      for (int i = 0; i < 6; ++i) {
        const int rows = 32 * (program + 1), columns = 64 * (i + 1);
        const std::string shape = "f32[" + std::to_string(rows) + "," + std::to_string(columns) + "]{1,0}";
        const double seconds = 2e-6 + 5e-10 * rows * columns * (i % 2 == 0 ? 1 : 4);
        char times[64];
        std::snprintf(times, sizeof(times), "%.3e %.3e %.3e", seconds, 1.02 * seconds, 1.01 * seconds);
        table += "net" + std::to_string(program) + ",\"HloModule k\n\nENTRY e {\n  p = " + shape +
                 " parameter(0)\n  ROOT r = " + shape + (i % 2 == 0 ? " negate(p)" : " tanh(p)") + "\n}\n\"," + times +
                 "\n";
      }
    }
    WriteFile(folder_ / "times.csv", table);
    WriteFile(folder_ / "chip.json", kChip);
  }
  std::string At(const std::string& name) const { return (folder_ / name).string(); }
  std::vector<gnn::KernelExample> Records(const std::string& name) const {
    std::vector<gnn::KernelExample> records;
    EXPECT_TRUE(gnn::ReadCorpus(At(name), [&](gnn::KernelExample example) {
                  records.push_back(std::move(example));
                  return absl::OkStatus();
                }).ok());
    return records;
  }

  fs::path folder_;
};

TEST_F(CorpusTest, AStrangersTimesBecomeAModelInThreeCommands) {
  WriteTable();
  const ToolResult import = RunTool({"corpus", "import", At("times.csv"), "--of=chip:chip9",
                                     "--machine=" + At("chip.json"), "-o", At("corpus"), "--json"});
  ASSERT_EQ(import.exit_code, 0) << import.err;
  EXPECT_EQ(import.json()["records"], 72);
  const ToolResult train = RunTool({"train", At("corpus"), "-o", At("chip.smeltmodel"), "--task=fusion", "--epochs=30",
                                    "--hidden=32", "--test=0.2", "--json"});
  if (train.err.find("there is no") != std::string::npos) GTEST_SKIP() << train.err;
  ASSERT_EQ(train.exit_code, 0) << train.err;
  const ToolResult eval = RunTool({"eval", At("chip.smeltmodel"), At("corpus"), "--test=0.2", "--json"});
  ASSERT_EQ(eval.exit_code, 0) << eval.err;
  EXPECT_EQ(eval.err, "");
  const nlohmann::json model = eval.json()["contenders"][0];
  ASSERT_FALSE(model["large"].empty());
  for (const auto& [program, errors] : model["large"].items()) EXPECT_LT(errors["mape"].get<double>(), 0.6) << program;
  // It is a model of that chip, and of no other: it predicts what the chip's compiler fused, as it stands.
  WriteFile(folder_ / "fused.hlo", R"(HloModule m

fused {
  p = f32[64,256]{1,0} parameter(0)
  t = f32[64,256]{1,0} tanh(p)
  ROOT n = f32[64,256]{1,0} negate(t)
}

ENTRY e {
  x = f32[64,256]{1,0} parameter(0)
  ROOT f = f32[64,256]{1,0} fusion(x), kind=kLoop, calls=fused
}
)");
  const ToolResult own = RunTool({"predict", At("fused.hlo"), "--model=" + At("chip.smeltmodel"), "--json"});
  ASSERT_EQ(own.exit_code, 0) << own.err;
  EXPECT_THAT(own.err, HasSubstr("chip:chip9"));
  ASSERT_EQ(own.json()["kernels"].size(), 1);
  EXPECT_EQ(own.json()["kernels"][0]["count"], 1);
  EXPECT_GT(own.json()["total_ms"].get<double>(), 2e-3);
  const ToolResult refused =
      RunTool({"predict", At("fused.hlo"), "--model=" + At("chip.smeltmodel"), "--fusion=priority"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("chip:chip9"), HasSubstr("--fusion=priority")));
  const ToolResult predict =
      RunTool({"predict", SMELT_SOURCE_DIR "/models/dqn.hlo", "--model=" + At("chip.smeltmodel"), "--target=cpu"});
  EXPECT_EQ(predict.exit_code, 1);
  EXPECT_THAT(predict.err, HasSubstr("chip:chip9"));
}

TEST_F(CorpusTest, WhatIsExportedIsImportedAgainTheSame) {
  WriteTable();
  ASSERT_EQ(
      RunTool({"corpus", "import", At("times.csv"), "--of=chip:chip9", "--machine=" + At("chip.json"), "-o", At("one")})
          .exit_code,
      0);
  ASSERT_EQ(RunTool({"corpus", "export", At("one"), "-o", At("again.csv")}).exit_code, 0);
  ASSERT_EQ(RunTool({"corpus", "import", At("again.csv"), "-o", At("two")}).exit_code, 0);
  const auto one = Records("one"), two = Records("two");
  ASSERT_EQ(one.size(), two.size());
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].hash, two[i].hash);
    EXPECT_EQ(one[i].kernel_text, two[i].kernel_text);
    EXPECT_EQ(one[i].machine, two[i].machine);
    EXPECT_EQ(one[i].measurements[0].seconds, two[i].measurements[0].seconds);
  }
}

TEST_F(CorpusTest, AKernelWhoseArraysLieFarAwayIsAnotherOne) {
  const std::string kernel = "\"HloModule k\nENTRY e {\n  p = f32[8] parameter(0)\n  ROOT r = f32[8] negate(p)\n}\"";
  WriteFile(folder_ / "far.csv", "kernel,seconds,distances\n" + kernel + ",1e-6,\n" + kernel + ",2e-6,9000000 0\n");
  ASSERT_EQ(RunTool({"corpus", "import", At("far.csv"), "--of=chip", "-o", At("one")}).exit_code, 0);
  ASSERT_EQ(RunTool({"corpus", "export", At("one"), "-o", At("again.csv")}).exit_code, 0);
  ASSERT_EQ(RunTool({"corpus", "import", At("again.csv"), "-o", At("two")}).exit_code, 0);
  for (const char* corpus : {"one", "two"}) {
    const auto records = Records(corpus);
    ASSERT_EQ(records.size(), 2u);
    EXPECT_EQ(records[0].distances, std::vector<int64_t>{});
    EXPECT_EQ(records[1].distances, (std::vector<int64_t>{9000000, 0}));
    EXPECT_NE(records[0].hash, records[1].hash);
  }
}

TEST_F(CorpusTest, StatsSaysHowFarTwoLabelingsAgree) {
  WriteTable();
  ASSERT_EQ(RunTool({"corpus", "import", At("times.csv"), "--of=chip:chip9", "-o", At("one")}).exit_code, 0);
  // The other labeling is 20 % slower for every third kernel.
  auto records = Records("one");
  {
    auto writer = gnn::CorpusWriter::Open(At("two")).value();
    for (size_t i = 0; i < records.size(); ++i) {
      for (double& s : records[i].measurements[0].seconds) s *= i % 3 == 0 ? 1.2 : 1.01;
      ASSERT_TRUE(writer->Append(records[i]).ok());
    }
  }
  const nlohmann::json agreement =
      RunTool({"corpus", "stats", At("one"), At("two"), "--json"}).json()["agreement"]["large"];
  EXPECT_NEAR(agreement["median_difference"].get<double>(), 0.01, 1e-6);
  EXPECT_NEAR(agreement["far"].get<double>(), 1.0 / 3, 0.05);
  EXPECT_GT(agreement["mape_floor"].get<double>(), 0.02);
  EXPECT_GT(agreement["tau_ceiling"].get<double>(), 0.7);
  EXPECT_THAT(RunTool({"corpus", "stats", At("one"), At("two")}).out,
              AllOf(HasSubstr("MAPE floor"), HasSubstr("elementwise 72")));
}

TEST_F(CorpusTest, MergedOnceAndPartedByProgram) {
  WriteTable();
  ASSERT_EQ(RunTool({"corpus", "import", At("times.csv"), "--of=chip", "-o", At("one")}).exit_code, 0);
  EXPECT_EQ(RunTool({"corpus", "merge", At("one"), At("one"), "-o", At("all"), "--json"}).json()["records"], 72);
  EXPECT_EQ(RunTool({"corpus", "merge", At("one"), "-o", At("all"), "--json"}).json()["equal"], 72);
  const ToolResult split = RunTool({"corpus", "split", At("all"), "-o", At("parts"), "--shares=0.5,0.5"});
  ASSERT_EQ(split.exit_code, 0) << split.err;
  std::set<std::string> one, two;
  for (const auto& record : Records("parts/0")) one.insert(record.program);
  for (const auto& record : Records("parts/1")) two.insert(record.program);
  EXPECT_EQ(one.size() + two.size(), 12u);
  for (const std::string& program : one) EXPECT_FALSE(two.contains(program)) << program;
}

TEST_F(CorpusTest, WhatIsWrongInATableIsToldWithItsLine) {
  const auto import = [&](const std::string& table) {
    WriteFile(folder_ / "bad.csv", table);
    return RunTool({"corpus", "import", At("bad.csv"), "--of=chip", "-o", At("bad")});
  };
  const std::string kernel = "\"HloModule k\nENTRY e {\n  p = f32[8] parameter(0)\n  ROOT r = f32[8] negate(p)\n}\"";
  for (const auto& [table, message] :
       {std::pair<std::string, std::string>{"", "is empty"},
        {"kernel,times\n", "column `times` is unknown"},
        {"kernel,kernel,seconds\n", "stands there twice"},
        {"program,seconds\n", "no column `kernel`"},
        {"kernel,seconds\n" + kernel + ",fast\n", "bad.csv:2: column `seconds`: `fast`"},
        {"kernel,seconds\n" + kernel + ",-1\n", "seconds above 0"},
        {"kernel,seconds\n" + kernel + "\n", "1 fields"},
        {"kernel,seconds\n\"" + kernel, "bad.csv:2"},
        {"kernel,seconds,machine\n" + kernel + ",1e-6,{}x\n", "machine descriptor"},
        {"kernel,seconds,distances\n" + kernel + ",1e-6,far\n", "expected bytes"},
        {"kernel,seconds,distances\n" + kernel + ",1e-6,1 2 3\n", "3 distances, expected one for each of the 2 arrays"},
        {"kernel,seconds\nnonsense,1e-6\n", "no row has a kernel"}}) {
    const ToolResult result = import(table);
    EXPECT_EQ(result.exit_code, 1) << table;
    EXPECT_THAT(result.err, HasSubstr(message));
    fs::remove_all(folder_ / "bad");
  }
  EXPECT_EQ(RunTool({"corpus", "stats"}).exit_code, 2);
  EXPECT_EQ(RunTool({"corpus", "merge", At("one")}).exit_code, 2);
}

// The reader and writer of docs/formats.md, in a Python without any package.
TEST_F(CorpusTest, PythonReadsAndWritesCorporaWithoutSmelt) {
  if (std::system("python3 -c pass") != 0) GTEST_SKIP() << "there is no python3";
  WriteTable();
  ASSERT_EQ(RunTool({"corpus", "import", At("times.csv"), "--of=chip", "-o", At("one")}).exit_code, 0);
  WriteFile(folder_ / "copy.py", R"(import importlib.util, sys
spec = importlib.util.spec_from_file_location("corpus", sys.argv[1])
corpus = importlib.util.module_from_spec(spec)
spec.loader.exec_module(corpus)
records = list(corpus.read(sys.argv[2]))
assert len(records) == 72 and len(records[0]["hash"]) == 32, records[:1]
assert corpus.masked_crc(b"123456789") == ((0xE3069283 >> 15 | 0xE3069283 << 17) + 0xA282EAD8) & 0xFFFFFFFF
for record in records:
    record["hash"] = ""
    record["drift"] = 0.25
    record["measurements"].append({"tile": [4, 64], "seconds": [1e-6, 2e-6]})
assert corpus.write(sys.argv[3], records) == 72
)");
  const std::string command =
      "python3 " + At("copy.py") + " " SMELT_SOURCE_DIR "/python/smelt/corpus.py " + At("one") + " " + At("raw");
  ASSERT_EQ(std::system(command.c_str()), 0);
  const ToolResult import = RunTool({"corpus", "import", At("raw"), "-o", At("two")});
  ASSERT_EQ(import.exit_code, 0) << import.err;
  const auto one = Records("one"), two = Records("two");
  ASSERT_EQ(two.size(), 72u);
  EXPECT_EQ(one[5].hash, two[5].hash);
  EXPECT_EQ(two[5].drift, 0.25);
  EXPECT_EQ(two[5].measurements[1].tile.extents, (std::vector<int64_t>{4, 64}));
  EXPECT_EQ(two[5].measurements[1].label(), 1e-6);
}

TEST_F(CorpusTest, KernelsAreTimedAgainAndCompared) {
  WriteFile(folder_ / "small.hlo", SmallProgram());
  ASSERT_EQ(RunTool({"profile", At("small.hlo"), "-o", At("one"), "--configs=2", "--visits=1"}).exit_code, 0);
  const ToolResult again = RunTool({"corpus", "again", At("one"), "-o", At("two"), "--json"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_GT(again.json()["kernels"], 5);
  const nlohmann::json stats = RunTool({"corpus", "stats", At("one"), At("two"), "--json"}).json();
  EXPECT_EQ(stats["agreement"]["large"]["kernels"].get<int>() + stats["agreement"]["small"]["kernels"].get<int>(),
            stats["one"]["kernels"].get<int>());
}

TEST_F(CorpusTest, KernelsWhoseScheduleHasChangedAreTimedAgain) {
  WriteFile(folder_ / "small.hlo", SmallProgram());
  ASSERT_EQ(RunTool({"profile", At("small.hlo"), "-o", At("one"), "--configs=2", "--visits=1"}).exit_code, 0);
  const auto again = [&](const std::string& from, const std::string& to) {
    const ToolResult result = RunTool({"corpus", "again", At(from), "--changed", "-o", At(to), "--json"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.json()["kernels"].get<int>();
  };
  EXPECT_EQ(again("one", "none"), 0);
  // Two of them are told to have been timed under schedules of before.
  int changed = 0;
  const auto writer = gnn::CorpusWriter::Open(At("older")).value();
  for (gnn::KernelExample& record : Records("one")) {
    if (!record.trace.empty() && record.trace[0] != '#' && changed < 2) {
      record.trace += "unroll r i0\n";
      ++changed;
    }
    ASSERT_TRUE(writer->Append(record).ok());
  }
  ASSERT_EQ(changed, 2);
  EXPECT_EQ(again("older", "two"), 2);
  const ToolResult refused = RunTool({"corpus", "again", At("one"), "--changed", "-o", At("x"), "--target=vdla"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("schedules of kernels of --target=vdla are not known"));
}

}  // namespace
}  // namespace smelt::cli
