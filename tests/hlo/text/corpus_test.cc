// Every text of the corpora is read, verified and printed, and the print reads back to itself.
#include "tests/hlo/text/corpus.h"

#include <gtest/gtest.h>

#include <string_view>

#include "base/str_cat.h"
#include "hlo/file/read.h"
#include "hlo/fingerprint.h"
#include "hlo/text/parser.h"
#include "hlo/text/printer.h"

namespace smelt::hlo {
namespace {

std::string Message(const absl::Status& status) { return std::string(status.message()); }

// What is wrong with printing this module and reading it again; nothing if all is well.
std::string RoundTripProblem(const Module& module, bool verify) {
  ParseOptions options;
  options.file_name = "print";
  options.verify = verify;
  const std::string text = ToText(module);
  absl::StatusOr<std::unique_ptr<Module>> again = ParseModule(text, options);
  if (!again.ok()) return Message(again.status());
  if (ToText(**again) != text) return "printing is not a fixed point";
  if (Fingerprint(**again) != Fingerprint(module)) return "the fingerprint changed";
  if (text.size() > 200'000) return "";  // enough of the same
  const PrintOptions canonical{PrintStyle::kCanonical};
  absl::StatusOr<std::unique_ptr<Module>> renamed = ParseModule(ToText(module, canonical), options);
  if (!renamed.ok()) return "canonical: " + Message(renamed.status());
  if (Fingerprint(**renamed) != Fingerprint(module)) return "canonical: the fingerprint changed";
  if (ToText(**renamed, canonical) != ToText(module, canonical)) return "canonical: printing is not a fixed point";
  return "";
}

// Texts that are not modules, or that XLA refuses, too.
bool IsNoModule(std::string_view name) {
  static constexpr std::string_view kNoModules[] = {"EvaluatorSparse",   "NoTransposeOnBlackwellF8", "operand_upcaster",
                                                    "module_attributes", "stacktrace_to_location",   "list_passes"};
  for (std::string_view part : kNoModules) {
    if (name.find(part) != std::string_view::npos) return true;
  }
  return false;
}

class CorpusTest : public testing::TestWithParam<const char*> {};

TEST_P(CorpusTest, IsReadAndPrinted) {
  const auto files = CorpusFiles(GetParam());
  if (files.empty()) GTEST_SKIP() << "no corpus at ../shared/corpora/" << GetParam();
  const bool verify = std::string_view(GetParam()) != "xla/parser_ok";
  int read = 0;
  for (const auto& file : files) {
    if (IsNoModule(file.filename().string())) continue;
    absl::StatusOr<std::unique_ptr<Module>> module = ReadModuleFile(file.string(), verify);
    if (!module.ok()) {
      ADD_FAILURE() << Message(module.status());
      continue;
    }
    EXPECT_EQ(RoundTripProblem(**module, verify), "") << file;
    ++read;
  }
  RecordProperty("read", read);
  EXPECT_GT(read, 0);
}

INSTANTIATE_TEST_SUITE_P(Folders, CorpusTest,
                         testing::Values("programs", "xla/models", "xla/exec", "xla/lit", "xla/parser_ok",
                                         "xla/parser_limits"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '/', '_');
                           return name;
                         });

TEST(BadTexts, AreRefusedWithAPosition) {
  const auto files = CorpusFiles("xla/parser_bad");
  if (files.empty()) GTEST_SKIP() << "no corpus at ../shared/corpora/xla/parser_bad";
  for (const auto& file : files) {
    const absl::StatusOr<std::unique_ptr<Module>> module = ReadModuleFile(file.string(), /*verify=*/false);
    ASSERT_FALSE(module.ok()) << file;
    const std::string message = Message(module.status());
    EXPECT_TRUE(std::string_view(message).starts_with(StrCat(file.string(), ":"))) << message;
    EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 2) << message;
    EXPECT_EQ(message.back(), '^') << message;
  }
}

}  // namespace
}  // namespace smelt::hlo
