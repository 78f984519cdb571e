// `smelt cache`, and what becomes of a cache that cannot be written.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/tool.h"

namespace smelt::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class CacheTest : public ::testing::Test {
 protected:
  CacheTest() : folder_(FreshFolder(::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    WriteFile(folder_ / "small.hlo", SmallProgram());
  }
  ~CacheTest() override { fs::remove_all(folder_); }
  std::string In(const std::string& name) const { return (folder_ / name).string(); }

  fs::path folder_;
};

TEST_F(CacheTest, ShowsWhatItHoldsAndMakesRoom) {
  const ToolOptions options{.cache = In("cache")};
  ASSERT_EQ(RunTool({"run", In("small.hlo")}, options).exit_code, 0);
  const nlohmann::json full = RunTool({"cache", "--json"}, options).json();
  EXPECT_EQ(full["folder"], In("cache"));
  EXPECT_GT(full["entries"].get<int>(), 2);
  EXPECT_EQ(full["limit"].get<int64_t>(), int64_t{2} << 30);
  const int64_t half = full["bytes"].get<int64_t>() / 2;
  const nlohmann::json trimmed = RunTool({"cache", "--trim=" + std::to_string(half), "--json"}, options).json();
  EXPECT_LE(trimmed["bytes"].get<int64_t>(), half);
  EXPECT_GT(trimmed["entries"].get<int>(), 0);
  EXPECT_EQ(trimmed["entries"].get<int>() + trimmed["removed"].get<int>(), full["entries"].get<int>());
  EXPECT_THAT(RunTool({"cache", "--clear"}, options).out, HasSubstr("entries  0\n"));
  EXPECT_EQ(RunTool({"run", In("small.hlo")}, options).exit_code, 0);
  EXPECT_EQ(RunTool({"cache", "--trim=much"}, options).exit_code, 2);
}

TEST_F(CacheTest, OneThatCannotBeWrittenIsSaidOnceByEveryVerbThatCompiles) {
  const ToolOptions options{.cache = "/dev/null/cache"};
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"run", In("small.hlo")},
                                             {"bench", In("small.hlo"), "--seconds=0.05"},
                                             {"tune", In("small.hlo"), "--out=" + In("run"), "--model=analytical",
                                              "--moves=50", "--hardware-seconds=0.3", "--quiet"},
                                             {"profile", In("small.hlo"), "-o", In("corpus"), "--configs=1"}}) {
    const ToolResult result = RunTool(words, options);
    EXPECT_EQ(result.exit_code, 0) << words[0] << ": " << result.err;
    const size_t at = result.err.find("the cache /dev/null/cache keeps nothing");
    ASSERT_NE(at, std::string::npos) << words[0] << ": " << result.err;
    EXPECT_EQ(result.err.find("/dev/null/cache keeps", at + 20), std::string::npos) << words[0] << ": " << result.err;
    EXPECT_THAT(result.err.substr(at), HasSubstr("Not a directory"));
  }
}

}  // namespace
}  // namespace smelt::cli
