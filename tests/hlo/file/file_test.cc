// Module files: their form by their name, packed or not, whole or damaged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/write_file.h"
#include "hlo/file/compression.h"
#include "hlo/file/format.h"
#include "hlo/file/read.h"
#include "hlo/file/write.h"
#include "hlo/text/parser.h"
#include "hlo/text/printer.h"
#include "tests/scratch_folder.h"

namespace smelt::hlo {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr char kText[] =
    "HloModule m\n\nENTRY %e (x: f32[2]) -> f32[2] {\n  %x = f32[2]{0} parameter(0)\n"
    "  ROOT %y = f32[2]{0} negate(%x)\n}\n";

std::string ErrorOf(const std::string& path) {
  const auto module = ReadModuleFile(path);
  return module.ok() ? "accepted" : std::string(module.status().message());
}

TEST(ModuleFile, TheNameSaysTheForm) {
  EXPECT_EQ(FormatOf("a.hlo"), (FileFormat{ModuleForm::kText, Compression::kNone}));
  EXPECT_EQ(FormatOf("module_0001.jit_f.hlo.pb.gz"), (FileFormat{ModuleForm::kBinaryProto, Compression::kGzip}));
  EXPECT_EQ(FormatOf("a.pbtxt.zst"), (FileFormat{ModuleForm::kTextProto, Compression::kZstd}));
  EXPECT_EQ(FormatOf("a.gz"), std::nullopt);
  EXPECT_EQ(FormatOf("hlo"), std::nullopt);
}

TEST(ModuleFile, EveryFormIsReadAsItWasWritten) {
  const auto module = ParseModule(kText);
  const ScratchFolder folder;
  for (const char* ending : {"hlo", "txt", "pb", "pbtxt", "txtpb", "textproto"}) {
    for (const char* packing : {"", ".gz", ".zst"}) {
      const std::string path = folder.In(std::string("all.") + ending + packing);
      ASSERT_TRUE(WriteModuleFile(path, **module).ok()) << path;
      const auto back = ReadModuleFile(path);
      ASSERT_TRUE(back.ok()) << back.status();
      EXPECT_EQ(ToText(**back), kText) << path;
    }
  }
}

TEST(ModuleFile, AnUnknownFormIsNotWritten) {
  const ScratchFolder folder;
  const absl::Status status = WriteModuleFile(folder.In("x.onnx"), **ParseModule(kText));
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("x.onnx"), HasSubstr(".pbtxt")));
}

TEST(ModuleFile, WritingTwiceGivesTheSameBytes) {
  const auto module = ParseModule(kText);
  const ScratchFolder folder;
  for (const char* name : {"same.hlo.gz", "same.pb.zst", "same.pb"}) {
    ASSERT_TRUE(WriteModuleFile(folder.In(name), **module).ok());
    const std::string first = *ReadTextFile(folder.In(name));
    ASSERT_TRUE(WriteModuleFile(folder.In(name), **module).ok());
    EXPECT_EQ(*ReadTextFile(folder.In(name)), first);
  }
}

class PackedFile : public testing::TestWithParam<Compression> {
 protected:
  std::string Path() const { return folder_.In(GetParam() == Compression::kGzip ? "packed.hlo.gz" : "packed.hlo.zst"); }
  std::string ErrorOfBytes(const std::string& bytes) {
    EXPECT_TRUE(WriteFile(Path(), bytes).ok());
    return ErrorOf(Path());
  }

 private:
  const ScratchFolder folder_;
};

TEST_P(PackedFile, CutShortIsRefusedAtEveryByte) {
  const std::string bytes = *Compress(kText, GetParam());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THAT(ErrorOfBytes(bytes.substr(0, size)), AllOf(HasSubstr(Path()), HasSubstr("cut short"))) << size;
  }
}

TEST_P(PackedFile, DamageIsRefused) {
  std::string bytes = *Compress(kText, GetParam());
  bytes[0] = 'x';
  EXPECT_THAT(ErrorOfBytes(bytes), HasSubstr("or damaged"));
}

TEST_P(PackedFile, ABombIsRefusedBeforeItFillsMemory) {
  // A hundred megabytes of spaces in a few kilobytes.
  const std::string bytes = *Compress(std::string(100'000'000, ' '), GetParam());
  ASSERT_LT(bytes.size(), size_t{1} << 20);
  EXPECT_THAT(ErrorOfBytes(bytes), HasSubstr("unpack to more than"));
}

TEST_P(PackedFile, SeveralPiecesAreOneFile) {
  const std::string text = kText;
  const std::string bytes = *Compress(text.substr(0, 20), GetParam()) + *Compress(text.substr(20), GetParam());
  EXPECT_EQ(ErrorOfBytes(bytes), "accepted");
}

INSTANTIATE_TEST_SUITE_P(Kinds, PackedFile, testing::Values(Compression::kGzip, Compression::kZstd));

}  // namespace
}  // namespace smelt::hlo
