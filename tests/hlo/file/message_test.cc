#include "hlo/file/message.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hlo/text/parser.h"
#include "hlo/text/printer.h"

namespace smelt::hlo {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Two constants without values, of so many elements each; the second is handed to what stands first in a printed
// module.
std::unique_ptr<Module> TwoLeftOut(const std::string& count) {
  const std::string shape = "u32[" + count + "]";
  return ParseModule("HloModule m\n\nENTRY e {\n  a = " + shape + " constant({...})\n  b = " + shape +
                     " constant({...})\n  ROOT t = (" + shape + ", " + shape + ") tuple(a, b)\n}\n")
      .value();
}

TEST(Message, OfFewConstantsIsTextWithTheValuesThatTheTextLeftOut) {
  const std::string message = ToMessage(*TwoLeftOut("2"));
  EXPECT_THAT(message, HasSubstr("{0, 1}"));
  EXPECT_THAT(message, HasSubstr("{2, 3}"));
  EXPECT_THAT(message, Not(HasSubstr("...")));
}

TEST(Message, OfManyConstantsIsAProtoWithTheSameValues) {
  const std::unique_ptr<Module> module = TwoLeftOut("20000");
  const std::string message = ToMessage(*module);
  EXPECT_THAT(message, StartsWith("proto:"));
  const auto read = FromMessage(message, "m");
  ASSERT_TRUE(read.ok()) << read.status();
  for (int64_t i : {0, 1})
    EXPECT_EQ((*read)->entry()->root()->operand(i)->literal(), module->entry()->root()->operand(i)->literal());
  EXPECT_EQ(ToText(**read), ToText(*module));
}

TEST(Message, ThatIsBrokenIsAnErrorUnderItsName) {
  for (const char* broken : {"", "HloModule m\nENTRY {", "proto:!", "proto:AAAA", "proto:"}) {
    const auto read = FromMessage(broken, "the candidate");
    ASSERT_FALSE(read.ok()) << broken;
    EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument) << broken;
    EXPECT_THAT(std::string(read.status().message()), HasSubstr("the candidate")) << broken;
  }
}

}  // namespace
}  // namespace smelt::hlo
