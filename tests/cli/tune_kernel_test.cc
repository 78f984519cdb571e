// `smelt tune --kernel` and `smelt db` from outside.
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "measure/records/records.h"
#include "tests/cli/tool.h"

namespace smelt::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr const char* kProduct = R"(HloModule product

ENTRY main {
  a = f32[96,64] parameter(0)
  b = f32[64,80] parameter(1)
  ROOT c = f32[96,80] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
)";

class TuneKernelTest : public ::testing::Test {
 protected:
  TuneKernelTest() : folder_(FreshFolder(::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::ofstream(folder_ / "product.hlo") << kProduct;
  }
  ~TuneKernelTest() override { fs::remove_all(folder_); }

  std::vector<std::string> Words(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"tune", (folder_ / "product.hlo").string(), "--out=" + Run(), "--kernel=c",
                                      "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  std::string Run() const { return (folder_ / "run").string(); }
  std::string Store() const { return Run() + "/records.db"; }
  ToolOptions OwnCache() const { return {.cache = (folder_ / "cache").string()}; }

  fs::path folder_;
};

TEST_F(TuneKernelTest, MeasuresVerifiesAndDecides) {
  const ToolResult result = RunTool(Words({"--trials=12", "--batch=6"}), OwnCache());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json json = result.json();
  EXPECT_EQ(json["trials"].size(), 12u);
  EXPECT_EQ(json["measured"].get<int>() + json["known"].get<int>(), 12) << json["known"];
  EXPECT_EQ(json["verified"], true) << json.dump(1);
  EXPECT_TRUE(json["speedup"].is_number());
  if (json["improved"].get<bool>()) {
    EXPECT_GT(json["interval"][0].get<double>(), 1.0);
  }
  auto records = measure::Records::Open(Store()).value()->All().value();
  ASSERT_FALSE(records.empty());
  for (const measure::Record& record : records) {
    EXPECT_EQ(record.kind, "schedule");
    EXPECT_THAT(record.key.subject, HasSubstr(json["hash"].get<std::string>()));
    EXPECT_THAT(record.description, HasSubstr("="));
  }
}

TEST_F(TuneKernelTest, GoesOnFromItsRecordsAndLosesNoTrialToAKill) {
  Tool tool = Tool::Start(Words({"--trials=500"}), OwnCache());
  const auto count = [&]() -> size_t {
    std::error_code error;
    if (!fs::exists(Store(), error)) return 0;
    auto records = measure::Records::Open(Store());
    return records.ok() ? (*records)->All()->size() : 0;
  };
  while (count() < 3 && tool.Running()) ::usleep(100000);
  tool.Signal(SIGKILL);
  const ToolResult killed = tool.Wait();
  const auto held = static_cast<int64_t>(count());
  ASSERT_GE(held, 3) << killed.err;
  const ToolResult again =
      RunTool(Words({absl::StrCat("--trials=", held + 2), "--batch=2", "--no-comparison"}), OwnCache());
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.json()["known"], held);
  EXPECT_LE(again.json()["measured"].get<int>(), 2);
}

TEST_F(TuneKernelTest, EveryStrategyWithoutLibTorchRuns) {
  for (const char* strategy : {"gbt-rank", "gbt-regression", "random", "genetic", "grid"}) {
    const ToolResult result = RunTool(
        Words({absl::StrCat("--strategy=", strategy), "--trials=4", "--batch=2", "--no-comparison", "--no-library"}),
        OwnCache());
    EXPECT_EQ(result.exit_code, 0) << strategy << ": " << result.err;
    fs::remove_all(Run());
  }
}

TEST_F(TuneKernelTest, EndsWhereATrialIsFastEnough) {
  const ToolResult result = RunTool(
      Words({"--strategy=random", "--trials=500", "--until=0.001", "--no-comparison", "--no-library"}), OwnCache());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json trials = result.json()["trials"];
  ASSERT_FALSE(trials.empty());
  EXPECT_LT(trials.size(), 500);
  EXPECT_LE(trials.back()["relative"].get<double>(), 1000) << "the last one is the one that was fast enough";
}

TEST_F(TuneKernelTest, AnUnknownKernelIsNamed) {
  const ToolResult result = RunTool({"tune", (folder_ / "product.hlo").string(), "--out=" + Run(), "--kernel=nobody"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("has no kernel `nobody`"));
}

TEST_F(TuneKernelTest, RecordsAreListedFilteredMergedExportedAndImported) {
  ASSERT_EQ(RunTool(Words({"--strategy=random", "--trials=3", "--no-comparison"}), OwnCache()).exit_code, 0);
  const ToolResult list = RunTool({"db", "list", Store(), "--json"});
  ASSERT_EQ(list.exit_code, 0) << list.err;
  const int held = list.json()["records"].get<int>();
  ASSERT_GT(held, 0);
  const std::string lines = (folder_ / "lines.jsonl").string(), other = (folder_ / "other.db").string(),
                    both = (folder_ / "both.db").string(), log = (folder_ / "log.json").string();
  ASSERT_EQ(RunTool({"db", "export", Store(), "--out=" + lines}).exit_code, 0);
  ASSERT_EQ(RunTool({"db", "import", lines, "--out=" + other}).exit_code, 0);
  // The same records twice are held once.
  ASSERT_EQ(RunTool({"db", "merge", Store(), other, "--out=" + both}).exit_code, 0);
  EXPECT_EQ(RunTool({"db", "list", both, "--json"}).json()["records"], held);
  ASSERT_EQ(RunTool({"db", "export", both, "--format=autotvm", "--out=" + log}).exit_code, 0);
  const std::string tvm = (folder_ / "tvm.db").string();
  ASSERT_EQ(RunTool({"db", "import", log, "--out=" + tvm}).exit_code, 0);
  EXPECT_EQ(RunTool({"db", "list", tvm, "--kind=autotvm", "--json"}).json()["records"], held);
  ASSERT_EQ(RunTool({"db", "filter", both, "--kind=nothing", "--out=" + (folder_ / "none.db").string()}).exit_code, 0);
  EXPECT_EQ(RunTool({"db", "list", (folder_ / "none.db").string(), "--json"}).json()["records"], 0);
  EXPECT_EQ(RunTool({"db", "list", (folder_ / "absent.db").string()}).exit_code, 1);
  EXPECT_EQ(RunTool({"db", "merge", both}).exit_code, 2);
}

// A real log of a search, of which some trials failed.
TEST_F(TuneKernelTest, RealLogsOfAutoTvmAreRead) {
  const fs::path log = fs::path(SMELT_SOURCE_DIR) / "../shared/data/tlcbench/t4_bert-B1-float32.kernel.log.xz";
  if (!fs::exists(log)) GTEST_SKIP() << "there is no " << log;
  const std::string lines = (folder_ / "log.json").string(), store = (folder_ / "log.db").string();
  ASSERT_EQ(std::system(absl::StrCat("xz -dc ", log.string(), " | head -n 1500 >", lines).c_str()), 0);
  const ToolResult import = RunTool({"db", "import", lines, "--out=" + store});
  ASSERT_EQ(import.exit_code, 0) << import.err;
  const nlohmann::json json = RunTool({"db", "list", store, "--json"}).json();
  EXPECT_GT(json["records"].get<int>(), 1400);
  EXPECT_GT(json["outcomes"].size(), 1u) << "no trial of it failed: " << json.dump();
}

}  // namespace
}  // namespace smelt::cli
