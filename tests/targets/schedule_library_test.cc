#include "targets/schedule_library.h"

#include <filesystem>
#include <fstream>

#include "fusion/kernel.h"
#include "gtest/gtest.h"
#include "hlo/text/parser.h"
#include "targets/cpu/own_kernels.h"
#include "targets/cpu/processor/detect.h"
#include "tests/scratch_folder.h"

namespace smelt::targets {
namespace {

namespace fs = std::filesystem;

class ScheduleLibraryTest : public ::testing::Test {
 protected:
  // The only file that there is.
  fs::path File() const {
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      if (entry.is_regular_file()) return entry.path();
    }
    return {};
  }
  void Replace(const std::string& word, const std::string& other) const {
    std::ifstream file(File());
    std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    ASSERT_NE(text.find(word), std::string::npos) << text;
    std::ofstream(File()) << text.replace(text.find(word), word.size(), other);
  }

  const ScratchFolder scratch_;
  const fs::path folder_ = scratch_.path() / "library";  // which the first schedule makes
  const std::unique_ptr<Target> target_ = cpu::OwnKernels(cpu::DetectTarget(/*measure=*/false), {});
  const TunedSchedule tuned_{.kernel = {1, 2}, .way = "i0=4x1x8 r0=1x64x1", .gain = 1.25};
};

TEST_F(ScheduleLibraryTest, FindsWhatWasKept) {
  const ScheduleLibrary library(*target_, folder_.string());
  EXPECT_FALSE(library.Find(tuned_.kernel).has_value());
  ASSERT_TRUE(library.Keep(tuned_).ok());
  const std::optional<TunedSchedule> found = library.Find(tuned_.kernel);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->way, tuned_.way);
  EXPECT_EQ(found->gain, tuned_.gain);
  EXPECT_FALSE(library.Find({1, 3}).has_value());
  EXPECT_EQ(File().extension(), ".schedule");
}

TEST_F(ScheduleLibraryTest, KnowsNothingOfOtherCompilersMachinesAndTargetsOrOfDamagedFiles) {
  const ScheduleLibrary library(*target_, folder_.string());
  for (const char* word : {"compiler ", "device ", "target ", "gain 1", "end", "smelt tuned schedule 1"}) {
    ASSERT_TRUE(library.Keep(tuned_).ok());
    Replace(word, std::string(word) + "x");
    EXPECT_FALSE(library.Find(tuned_.kernel).has_value()) << word;
  }
}

TEST_F(ScheduleLibraryTest, GivesWaysToKernelsThatHaveNone) {
  const std::unique_ptr<hlo::Module> module =
      hlo::ParseModule(
          "HloModule m\n\nENTRY e {\n  a = f32[8,8] parameter(0)\n  ROOT b = f32[8,8] dot(a, a), "
          "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n",
          {.file_name = "m"})
          .value();
  const Hash128 hash = fusion::ExtractKernels(*module).value()[0].hash;
  const ScheduleLibrary library(*target_, folder_.string());
  Knobs chosen;
  EXPECT_EQ(library.AddTo(*module, &chosen), 0);
  ASSERT_TRUE(library.Keep({.kernel = hash, .way = "k=1"}).ok());
  EXPECT_EQ(library.AddTo(*module, &chosen), 1);
  EXPECT_EQ(chosen[hash.ToHex()], "k=1");
  chosen[hash.ToHex()] = "8x8";
  EXPECT_EQ(library.AddTo(*module, &chosen), 0);
  EXPECT_EQ(chosen[hash.ToHex()], "8x8");
}

TEST_F(ScheduleLibraryTest, WithoutAFolderNothingIsKept) {
  const ScheduleLibrary library(*target_, "");
  EXPECT_TRUE(library.Keep(tuned_).ok());
  EXPECT_FALSE(library.Find(tuned_.kernel).has_value());
  EXPECT_FALSE(ScheduleLibrary(*target_, folder_.string()).Keep({.way = "a\nb"}).ok());
}

}  // namespace
}  // namespace smelt::targets
