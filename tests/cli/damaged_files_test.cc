// Files that were cut off, or that belong to something else: one clear error that names the file, and exit code 1.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/tool.h"

namespace smelt::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

class DamagedFiles : public ::testing::Test {
 protected:
  DamagedFiles() : folder_(FreshFolder(::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    WriteFile(folder_ / "small.hlo", SmallProgram());
    WriteFile(folder_ / "other.hlo", OtherProgram());
  }
  ~DamagedFiles() override { fs::remove_all(folder_); }
  std::string In(const std::string& name) const { return (folder_ / name).string(); }

  // Runs the tool with `flag` naming a copy of `whole` cut off at several lengths.
  void ExpectOneClearErrorWhenCutOff(const std::vector<std::string>& words, const std::string& flag,
                                     const std::string& whole) {
    const std::string bytes = ReadFile(whole);
    ASSERT_GT(bytes.size(), 16u);
    for (double share : {0.0, 0.05, 0.4, 0.9, 0.999}) {
      const size_t length = std::min(static_cast<size_t>(share * static_cast<double>(bytes.size())), bytes.size() - 2);
      WriteFile(In("cut"), bytes.substr(0, length));
      std::vector<std::string> all = words;
      all.push_back(flag + In("cut"));
      const ToolResult result = RunTool(all);
      EXPECT_EQ(result.exit_code, 1) << length << " of " << bytes.size() << " bytes: " << result.err;
      EXPECT_THAT(result.err, HasSubstr(In("cut"))) << length << " of " << bytes.size() << " bytes";
    }
  }

  fs::path folder_;
};

TEST_F(DamagedFiles, AModuleThatIsCutOff) {
  WriteFile(In("cut.hlo"), SmallProgram().substr(0, 700));
  const ToolResult result = RunTool({"inspect", In("cut.hlo")});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, ::testing::ContainsRegex("cut.hlo:[0-9]+:[0-9]+: "));
}

TEST_F(DamagedFiles, AModuleThatNamesWhatItDoesNotHave) {
  WriteFile(In("bad.hlo"), "HloModule m\n\nENTRY e {\n  ROOT x = f32[2] add(y, y)\n}\n");
  const ToolResult result = RunTool({"inspect", In("bad.hlo")});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, ::testing::ContainsRegex("bad.hlo:4:[0-9]+: "));
  const ToolResult missing = RunTool({"inspect", In("missing.hlo")});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.err, HasSubstr("missing.hlo"));
  EXPECT_EQ(RunTool({"run", In("small.hlo"), "--fusion=no-such-name"}).exit_code, 2);
}

TEST_F(DamagedFiles, AGoldenFileThatIsCutOff) {
  const fs::path models = fs::path(SMELT_SOURCE_DIR) / "models";
  ExpectOneClearErrorWhenCutOff({"run", (models / "attention.hlo").string()},
                                "--golden=", (models / "golden" / "attention.safetensors").string());
}

TEST_F(DamagedFiles, AConfigurationThatIsCutOff) {
  const ToolResult tuned = RunTool({"tune", In("small.hlo"), "--out=" + In("run"), "--model=analytical", "--moves=50",
                                    "--hardware-seconds=0.5", "--no-tiles"});
  ASSERT_EQ(tuned.exit_code, 0) << tuned.err;
  ExpectOneClearErrorWhenCutOff({"run", In("small.hlo")}, "--fusion=", In("run/best.fusion.json"));
}

TEST_F(DamagedFiles, AConfigurationOfAnotherModuleNamesTheFirstDifference) {
  const ToolResult tuned = RunTool({"tune", In("small.hlo"), "--out=" + In("run"), "--model=analytical", "--moves=50",
                                    "--hardware-seconds=0.5", "--no-tiles"});
  ASSERT_EQ(tuned.exit_code, 0) << tuned.err;
  const ToolResult result = RunTool({"run", In("other.hlo"), "--fusion=" + In("run/best.fusion.json")});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("made for another module"), HasSubstr("decision 0"), HasSubstr("has no `")));
}

TEST_F(DamagedFiles, AModelThatIsCutOffOrForeign) {
  ASSERT_EQ(RunTool({"profile", In("small.hlo"), In("other.hlo"), "-o", In("corpus"), "--configs=10"}).exit_code, 0);
  const ToolResult trained = RunTool({"train", In("corpus"), "-o", In("model.smeltmodel"), "--task=fusion",
                                      "--epochs=1", "--hidden=16", "--layers=1", "--validation=0.5", "--test=0"});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_EQ(RunTool({"predict", In("small.hlo"), "--model=" + In("model.smeltmodel")}).exit_code, 0);
  ExpectOneClearErrorWhenCutOff({"predict", In("small.hlo")}, "--model=", In("model.smeltmodel"));
  const ToolResult foreign = RunTool({"predict", In("small.hlo"), "--model=" + In("small.hlo")});
  EXPECT_EQ(foreign.exit_code, 1);
  EXPECT_THAT(foreign.err, HasSubstr("small.hlo"));
}

TEST_F(DamagedFiles, ACorpusWithABrokenRecordNamesShardAndPlace) {
  ASSERT_EQ(RunTool({"profile", In("small.hlo"), "-o", In("corpus"), "--configs=5"}).exit_code, 0);
  fs::path shard;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_ / "corpus")) shard = entry.path();
  std::string bytes = ReadFile(shard);
  bytes[bytes.size() / 2] ^= 0x20;
  WriteFile(shard, bytes);
  const ToolResult result = RunTool({"train", In("corpus"), "-o", In("model.smeltmodel"), "--epochs=1"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr(shard.filename().string()));
}

}  // namespace
}  // namespace smelt::cli
