#include "fusion/config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hlo/text/parser.h"

namespace smelt::fusion {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ConfigFileTest : public ::testing::Test {
 protected:
  ConfigFileTest()
      : module_(hlo::ParseModule("HloModule m\n\nENTRY e {\n  p = f32[64] parameter(0)\n  n = f32[64] negate(p)\n"
                                 "  ROOT r = f32[64] add(n, n)\n}\n")
                    .value()),
        own_(Space::Build(*module_, Rules::OwnKernels()).value()),
        xla_(Space::Build(*module_, Others()).value()) {}

  static Rules Others() {
    Rules rules;
    rules.name = "xla";
    return rules;
  }
  static SavedConfig Joined(const Space& space, const machine::TargetId& target) {
    SavedConfig saved{Config(space.size()), {}, {}, {}, target};
    saved.config.Set(0, true);
    return saved;
  }
  std::unique_ptr<hlo::Module> module_;
  Space own_, xla_;
};

TEST_F(ConfigFileTest, TellsWhatItWasMadeFor) {
  const machine::TargetId target{"xla", "znver5", 2};
  const std::string json = ConfigToJson(xla_, Joined(xla_, target));
  EXPECT_THAT(json, HasSubstr("\"target\": \"xla:znver5,threads=2\""));
  const auto read = ConfigFromJson(json, "best.fusion.json", xla_);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->target, target);
}

TEST_F(ConfigFileTest, OfAnotherTargetIsRefusedByName) {
  for (const auto& [made, used] : {std::pair(&own_, &xla_), std::pair(&xla_, &own_)}) {
    const auto read = ConfigFromJson(ConfigToJson(*made, Joined(*made, {})), "best.fusion.json", *used);
    ASSERT_FALSE(read.ok());
    EXPECT_THAT(std::string(read.status().message()),
                AllOf(HasSubstr("best.fusion.json"), HasSubstr("`" + made->rules().name + "`"),
                      HasSubstr("`" + used->rules().name + "`"), Not(HasSubstr("another module"))));
  }
}

TEST_F(ConfigFileTest, OfAnEarlierVersionIsRead) {
  std::string json = ConfigToJson(own_, Joined(own_, {}));
  EXPECT_THAT(json, HasSubstr("\"target\": \"cpu\""));
  EXPECT_TRUE(ConfigFromJson(json, "old", own_).ok());
  const std::string line = " \"target\": \"cpu\",\n";
  json.erase(json.find(line), line.size());
  EXPECT_TRUE(ConfigFromJson(json, "older", own_).ok());
}

TEST_F(ConfigFileTest, WithATargetThatIsNoTextIsRefused) {
  std::string json = ConfigToJson(own_, Joined(own_, {}));
  json.replace(json.find("\"cpu\""), 5, "7");
  const auto read = ConfigFromJson(json, "odd", own_);
  ASSERT_FALSE(read.ok());
  EXPECT_THAT(std::string(read.status().message()), HasSubstr("no text `target`"));
}

}  // namespace
}  // namespace smelt::fusion
