#include "machine/target_id.h"

#include <utility>

#include "gtest/gtest.h"

namespace smelt::machine {
namespace {

TEST(TargetId, ReadsEverySpellingThatWasWritten) {
  for (const auto& [text, id] : {
           std::pair("cpu:znver5,threads=1", TargetId{"cpu", "znver5", 1}),
           std::pair("xla:znver5,threads=2", TargetId{"xla", "znver5", 2}),
           std::pair("xla:threads=2", TargetId{"xla", "", 2}),  // records of tuning XLA
           std::pair("xla", TargetId{"xla", "", 0}),            // configurations of earlier versions
           std::pair("", TargetId{}),
       }) {
    EXPECT_EQ(TargetId::Parse(text), id) << text;
    EXPECT_EQ(id.ToString(), text);
  }
  EXPECT_EQ(TargetId::Parse("xla, cpu:znver5,threads=1"), (TargetId{"xla", "znver5", 1}));  // corpora before
}

TEST(TargetId, DisagreesInWhatBothKnow) {
  const TargetId id = TargetId::Parse("cpu:znver5,threads=1");
  for (const char* same : {"cpu", "cpu:threads=1", "cpu:znver5", ""}) EXPECT_TRUE(id.Agrees(TargetId::Parse(same)));
  for (const char* other : {"xla", "cpu:threads=2", "cpu:znver4", "gpu:sm_90,threads=1"})
    EXPECT_FALSE(id.Agrees(TargetId::Parse(other))) << other;
}

}  // namespace
}  // namespace smelt::machine
