// Schedules as texts: what is read is what was printed, and a file that is none of ours says why.
#include "kernels/config/choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace smelt::kernels::config {
namespace {

using ::testing::HasSubstr;

const Hash128 kOne{1, 2}, kOther{3, 4};

std::string File() {
  return PrintTraces({{kOne, "fusion.1", "cpu:znver4", "split c i0 8 guard\nvectorize c i0.inner\n"},
                      {kOther, "dot", "cpu:znver4", "unroll d r0\n"}});
}

TEST(TraceFile, RoundTrips) {
  const absl::StatusOr<std::vector<KernelTrace>> traces = ParseTraces(File(), "f");
  ASSERT_TRUE(traces.ok()) << traces.status();
  ASSERT_EQ(traces->size(), 2);
  EXPECT_EQ((*traces)[0].kernel, kOne);
  EXPECT_EQ((*traces)[0].name, "fusion.1");
  EXPECT_EQ((*traces)[0].steps, "split c i0 8 guard\nvectorize c i0.inner\n");
  EXPECT_EQ(PrintTraces(*traces), File());
}

TEST(TraceFile, CommentsOfAListingAreNoSteps) {
  const std::string text = PrintTraces({{kOne, "k", "", "# fallback: why\nunroll d r0\n"}});
  EXPECT_EQ(ParseTraces(text, "f")->front().steps, "unroll d r0\n");
}

// Whatever is cut off, it is one clear error, or whole kernels are left.
TEST(TraceFile, TornAnywhereIsAnError) {
  const std::string text = File();
  const size_t first = text.find("\nkernel", text.find("kernel") + 1);
  for (size_t length = 0; length + 1 < text.size(); ++length) {
    const absl::StatusOr<std::vector<KernelTrace>> traces = ParseTraces(text.substr(0, length), "f.schedule");
    if (length == first || length == first + 1) {
      EXPECT_TRUE(traces.ok()) << length;
      continue;
    }
    ASSERT_FALSE(traces.ok()) << text.substr(0, length);
    EXPECT_THAT(std::string(traces.status().message()), HasSubstr("f.schedule:"));
  }
}

TEST(TraceFile, ErrorsSayWhatAndWhere) {
  const auto message = [](const std::string& text) { return std::string(ParseTraces(text, "f").status().message()); };
  EXPECT_THAT(message("HloModule m\n"), HasSubstr("f:1: is no file of schedules"));
  EXPECT_THAT(message("smelt schedule 2\n"), HasSubstr("has version 2 of the format, and this program reads 1"));
  EXPECT_THAT(message(absl::StrReplaceAll(File(), {{"i0 8", "i0 9"}})),
              HasSubstr("were changed since they were printed"));
  EXPECT_THAT(message(absl::StrReplaceAll(File(), {{"unroll d r0\n", ""}})),
              HasSubstr("should have 1 steps and has 0"));
  EXPECT_THAT(message("smelt schedule 1\nkernel 12\nend any\n"), HasSubstr("f:2: expected `kernel HASH [NAME]`"));
  EXPECT_THAT(message(absl::StrCat(File(), File().substr(File().find("kernel")))), HasSubstr("stands there twice"));
  EXPECT_THAT(message("smelt schedule 1\n"), HasSubstr("holds no kernel"));
  // Written by hand.
  EXPECT_EQ(message(absl::StrCat("smelt schedule 1\nkernel ", kOne.ToHex(), "\nunroll d r0\nend any\n")), "");
}

TEST(Choice, IsReadByWhatItLooksLike) {
  EXPECT_EQ(ParseChoice("").value(), ScheduleChoice());
  EXPECT_EQ(ParseChoice("default").value(), ScheduleChoice());
  EXPECT_FALSE(IsExplicit(ParseChoice("default").value()));
  EXPECT_EQ(ParseChoice("4x8").value(), ScheduleChoice(nests::Tile{{4, 8}}));
  EXPECT_EQ(ParseChoice("i0=1x1x4 vectors=i1").value(), ScheduleChoice(ConfigText{"i0=1x1x4 vectors=i1"}));
  const KernelTrace trace{kOne, "k", "", "unroll d r0\n"};
  EXPECT_EQ(ParseChoice(PrintTraces({trace})).value(), ScheduleChoice(trace));
  EXPECT_EQ(ParseChoice("direct").value(), ScheduleChoice(DefaultSchedule{.direct = true}));
  EXPECT_FALSE(IsExplicit(ParseChoice("direct").value()));
  for (const char* text : {"", "direct", "4x8", "i0=1x1x4"}) EXPECT_EQ(ToText(ParseChoice(text).value()), text);
  EXPECT_FALSE(ParseChoice("huge").ok());
  EXPECT_THAT(std::string(ParseChoice(File()).status().message()), HasSubstr("holds those of 2 kernels"));
}

TEST(Choice, ATraceOfAnotherKernelIsRefusedNamingBoth) {
  const KernelTrace trace{kOne, "k", "", "unroll d r0\n"};
  EXPECT_TRUE(CheckChoice(trace, kOne).ok());
  EXPECT_TRUE(CheckChoice(ScheduleChoice(), kOther).ok());
  const std::string message(CheckChoice(trace, kOther).message());
  EXPECT_THAT(message, HasSubstr(kOne.ToHex()));
  EXPECT_THAT(message, HasSubstr(kOther.ToHex()));
}

}  // namespace
}  // namespace smelt::kernels::config
