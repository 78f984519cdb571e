// libsmelt.so through its header: what each function gives, whose memory it is, and many threads at once. Under the
// sanitizers this is where the library's own memory and locks are looked at, which Python's tests cannot do as closely.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "capi/smelt.h"
#include "tests/scratch_folder.h"

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kChain[] = R"(HloModule chain
ENTRY main {
  x = f32[64,128]{1,0} parameter(0)
  e = f32[64,128]{1,0} exponential(x)
  n = f32[64,128]{1,0} negate(e)
  w = f32[128,32]{1,0} parameter(1)
  ROOT d = f32[64,32]{1,0} dot(n, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
)";
constexpr char kTarget[] = "cpu:threads=1";

struct Free {
  void operator()(char* text) const { smelt_free(text); }
  void operator()(SmeltModule* module) const { smelt_module_delete(module); }
  void operator()(SmeltPredictor* predictor) const { smelt_predictor_delete(predictor); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

std::string Taken(char* text) {
  const Owned<char> owned(text);
  return owned == nullptr ? std::string("(null)") : std::string(owned.get());
}

Owned<SmeltModule> Read(const std::string& text) {
  return Owned<SmeltModule>(smelt_module_read(text.data(), text.size(), SMELT_TEXT, "chain.hlo", nullptr));
}
Owned<SmeltPredictor> Analytical() {
  return Owned<SmeltPredictor>(smelt_predictor_open("analytical", kTarget, nullptr));
}

TEST(Capi, TextAndProtoAreTheSameModule) {
  const Owned<SmeltModule> module = Read(kChain);
  ASSERT_NE(module, nullptr);
  size_t size = 0;
  const Owned<char> proto(smelt_module_proto(module.get(), &size, nullptr));
  ASSERT_NE(proto, nullptr);
  const Owned<SmeltModule> again(smelt_module_read(proto.get(), size, SMELT_PROTO, "chain.pb", nullptr));
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(Taken(smelt_module_text(module.get())), Taken(smelt_module_text(again.get())));
}

TEST(Capi, FusesPredictsAndRanks) {
  const Owned<SmeltModule> module = Read(kChain);
  const Owned<SmeltModule> fused(smelt_module_fuse(module.get(), "priority", kTarget, 0, nullptr));
  ASSERT_NE(fused, nullptr);
  EXPECT_THAT(Taken(smelt_module_inspect(fused.get(), nullptr)),
              AllOf(HasSubstr("\"fusion\":"), HasSubstr("\"kernels\":[{")));
  const Owned<SmeltPredictor> predictor = Analytical();
  ASSERT_NE(predictor, nullptr);
  EXPECT_THAT(Taken(smelt_predictor_describe(predictor.get())), HasSubstr("nalytical"));
  EXPECT_THAT(Taken(smelt_predict(predictor.get(), fused.get(), nullptr)),
              AllOf(HasSubstr("\"seconds\":"), HasSubstr("\"hash\":")));
  EXPECT_THAT(Taken(smelt_rank(predictor.get(), fused.get(), nullptr, 3, 100, nullptr)), HasSubstr("\"tile\":\""));
}

TEST(Capi, WithoutAModelTheNearestShippedOneIsTaken) {
  const smelt::ScratchFolder cache;
  ASSERT_EQ(setenv("SMELT_CACHE", cache.path().c_str(), 1), 0);  // no model was adapted to this machine there
  for (const std::string cpu : {"znver4", "sapphirerapids"}) {
    const Owned<SmeltPredictor> predictor(smelt_predictor_open(nullptr, ("cpu:" + cpu).c_str(), nullptr));
    ASSERT_NE(predictor, nullptr);
    EXPECT_THAT(Taken(smelt_predictor_describe(predictor.get())), HasSubstr(cpu));
  }
  unsetenv("SMELT_CACHE");
}

// Calls with something wrong, each of which gives null and a message.
struct Wrong {
  const char* name;
  void* (*call)(const SmeltModule* module, SmeltPredictor* predictor, char** error);
  const char* message;
};
const Wrong kWrong[] = {
    {"broken text",
     [](auto*, auto*, char** error) -> void* { return smelt_module_read("HloModule", 9, SMELT_TEXT, "a.hlo", error); },
     "a.hlo:1:"},
    {"no proto",
     [](auto*, auto*, char** error) -> void* { return smelt_module_read("\xff\xff", 2, SMELT_PROTO, "a.pb", error); },
     "a.pb"},
    {"no such form", [](auto*, auto*, char** error) -> void* { return smelt_module_read("", 0, 7, "a.hlo", error); },
     "form 7"},
    {"no such fusion",
     [](auto* module, auto*, char** error) -> void* { return smelt_module_fuse(module, "best", kTarget, 0, error); },
     "best"},
    {"no such target",
     [](auto* module, auto*, char** error) -> void* { return smelt_module_fuse(module, "none", "tpu", 0, error); },
     "tpu"},
    {"no such model",
     [](auto*, auto*, char** error) -> void* { return smelt_predictor_open("/nowhere.smeltmodel", kTarget, error); },
     "/nowhere.smeltmodel"},
    {"no such kernel",
     [](auto* module, auto* predictor, char** error) -> void* {
       return smelt_rank(predictor, module, "nobody", 3, 100, error);
     },
     "no kernel `nobody`"},
};

TEST(Capi, AnErrorIsNullAndAMessageThatTheCallerOwns) {
  const Owned<SmeltModule> module = Read(kChain);
  const Owned<SmeltPredictor> predictor = Analytical();
  for (const Wrong& wrong : kWrong) {
    SCOPED_TRACE(wrong.name);
    char* error = nullptr;
    EXPECT_EQ(wrong.call(module.get(), predictor.get(), &error), nullptr);
    EXPECT_THAT(Taken(error), HasSubstr(wrong.message));
    EXPECT_EQ(wrong.call(module.get(), predictor.get(), nullptr), nullptr);  // the message is not asked for
  }
}

TEST(Capi, EveryFunctionMayBeCalledFromAnyThread) {
  const Owned<SmeltModule> module = Read(kChain);
  const Owned<SmeltPredictor> predictor = Analytical();
  const std::string predicted = Taken(smelt_predict(predictor.get(), module.get(), nullptr));
  const std::string ranked = Taken(smelt_rank(predictor.get(), module.get(), nullptr, 3, 100, nullptr));
  ASSERT_THAT(predicted, StartsWith("{"));
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int round = 0; round < 5; ++round) {
        const Owned<SmeltModule> fused(smelt_module_fuse(module.get(), "priority", kTarget, 1, nullptr));
        EXPECT_NE(fused, nullptr);
        EXPECT_EQ(Taken(smelt_predict(predictor.get(), module.get(), nullptr)), predicted);
        EXPECT_EQ(Taken(smelt_rank(predictor.get(), module.get(), nullptr, 3, 100, nullptr)), ranked);
        EXPECT_THAT(Taken(smelt_module_inspect(fused.get(), nullptr)), StartsWith("{"));
        EXPECT_NE(Read(kChain), nullptr);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// The shipped model's engine keeps buffers between calls: they must not be shared between threads.
TEST(Capi, ALearnedModelMayBeAskedFromAnyThread) {
  const Owned<SmeltModule> module = Read(kChain);
  const Owned<SmeltPredictor> predictor(
      smelt_predictor_open(SMELT_SOURCE_DIR "/models/cpu.smeltmodel", kTarget, nullptr));
  ASSERT_NE(predictor, nullptr);
  const std::string predicted = Taken(smelt_predict(predictor.get(), module.get(), nullptr));
  ASSERT_THAT(predicted, StartsWith("{"));
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round)
        EXPECT_EQ(Taken(smelt_predict(predictor.get(), module.get(), nullptr)), predicted);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
