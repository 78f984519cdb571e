// The protocol itself; tests/targets/protocol_test.cc asks every child that speaks it.
#include "measure/protocol.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "measure/worker_process.h"
#include "nlohmann/json.hpp"

namespace smelt::measure {
namespace {

using ::testing::HasSubstr;

// A child that answers the greeting with this text, and nothing else.
absl::Status Greeted(const std::string& reply) {
  WorkerOptions options;
  options.command = {"/bin/sh", "-c",
                     absl::StrFormat("printf '\\%03o\\000\\000\\000%s' >&3; exec sleep 600", reply.size(), reply)};
  options.start_seconds = 30;
  return WorkerProcess::Start(options).status();
}

TEST(Protocol, AChildOfAnotherVersionIsRefusedInALineThatSaysWhatToDo) {
  EXPECT_TRUE(Greeted(absl::StrCat("{\"protocol\": ", kProtocolVersion, "}")).ok());
  const absl::Status other = Greeted(absl::StrCat("{\"protocol\": ", kProtocolVersion + 1, "}"));
  EXPECT_TRUE(absl::IsFailedPrecondition(other)) << other;
  EXPECT_THAT(std::string(other.message()), HasSubstr("/bin/sh"));
  EXPECT_THAT(std::string(other.message()), HasSubstr(absl::StrCat("speaks version ", kProtocolVersion + 1)));
  EXPECT_THAT(std::string(other.message()), HasSubstr(absl::StrCat("this smelt version ", kProtocolVersion)));
  EXPECT_THAT(std::string(other.message()), HasSubstr("one build or installation"));
  const absl::Status old = Greeted("{\"pid\": 1}");
  EXPECT_TRUE(absl::IsFailedPrecondition(old)) << old;
  EXPECT_THAT(std::string(old.message()), HasSubstr("no known version"));
}

TEST(Protocol, AChildThatRefusesToWorkIsQuotedAsItSaysIt) {
  EXPECT_EQ(Greeted("{\"error\": \"not here\", \"code\": 9}"), absl::FailedPreconditionError("not here"));
}

TEST(Protocol, AFailureGoesIntoAReplyAndBack) {
  const absl::Status failure = absl::UnavailableError("a disk is full");
  EXPECT_EQ(ErrorOf(ErrorReply(failure, true)), failure);
  EXPECT_EQ(ErrorReply(failure, true).value("build", false), true);
  EXPECT_EQ(ErrorOf({{"error", "without a code"}}), absl::InternalError("without a code"));
  EXPECT_TRUE(ErrorOf({{"seconds", {1, 2}}}).ok());
}

}  // namespace
}  // namespace smelt::measure
