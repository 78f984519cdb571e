// Machines as JSON: the two that are built in, and what is wrong with files.
#include "vdla/isa/config.h"

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace smelt::vdla::isa {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string ErrorOf(const std::string& json) {
  return std::string(Config::Parse(json, "mine.json").status().message());
}

// pynq's JSON with one part changed; the part must be there.
std::string Changed(const std::string& from, const std::string& to) {
  const std::string json = Config::Named("pynq").value().ToJson();
  EXPECT_THAT(json, HasSubstr(from));
  return absl::StrReplaceAll(json, {{from, to}});
}

TEST(Config, HasTheMachinesOfTheDocument) {
  EXPECT_THAT(Config::Names(), ElementsAre("pynq", "big"));
  const Config pynq = Config::Named("pynq").value(), big = Config::Named("big").value();
  EXPECT_EQ(pynq.MacsOfGemm() * pynq.clock_hz * 2, 102'400'000'000);
  EXPECT_EQ(pynq.DepthOf(Memory::kInp), 2048);
  EXPECT_EQ(pynq.DepthOf(Memory::kWgt), 128);
  EXPECT_EQ(pynq.DepthOf(Memory::kAcc), 2048);
  EXPECT_EQ(pynq.DepthOf(Memory::kAcc8), 2048);
  EXPECT_EQ(pynq.DepthOf(Memory::kUop), 8192);
  EXPECT_EQ(pynq.DramElementBytes(Memory::kAcc), 64);
  EXPECT_EQ(pynq.DramElementBytes(Memory::kAcc8), 16);
  EXPECT_EQ(pynq.timing.dram_bytes_per_cycle, 7.9);
  EXPECT_EQ(pynq.command_queue_depth, 512);
  EXPECT_EQ(pynq.token_queue_depth, 64);
  EXPECT_EQ(big.DepthOf(Memory::kInp), 4096);
  EXPECT_EQ(big.DepthOf(Memory::kWgt), 256);
  EXPECT_EQ(big.DepthOf(Memory::kAcc), 4096);
  EXPECT_EQ(big.DepthOf(Memory::kUop), 16384);
  EXPECT_EQ(big.clock_hz, 300'000'000);
}

TEST(Config, ComesBackFromItsText) {
  for (const std::string& name : Config::Names()) {
    const Config config = Config::Named(name).value();
    EXPECT_EQ(Config::Parse(config.ToJson(), "text").value(), config);
  }
  EXPECT_EQ(Config::Open("big").value().name, "big");
  EXPECT_EQ(Config::Open(SMELT_SOURCE_DIR "/vdla/configs/pynq.json").value(), Config::Named("pynq").value());
}

TEST(Config, NamesWhatIsWrong) {
  EXPECT_THAT(std::string(Config::Named("zynq").status().message()),
              HasSubstr("no machine is called `zynq`; there are pynq, big"));
  EXPECT_THAT(std::string(Config::Open("/nowhere.json").status().message()),
              HasSubstr("`/nowhere.json` is no machine that is built in (pynq, big), and no file"));
  EXPECT_EQ(ErrorOf("{"), "mine.json: is no JSON");
  EXPECT_EQ(ErrorOf("[]"), "mine.json: is no JSON object");
  EXPECT_EQ(ErrorOf(std::string(100000, '[')), "mine.json: is no machine: it nests too deep");
  EXPECT_EQ(ErrorOf("{}"), "mine.json: has no text `name`");
  EXPECT_EQ(ErrorOf(Changed("\"version\": 1", "\"version\": 2")), "mine.json: `version` is 2; it must be 1");
  EXPECT_EQ(ErrorOf(Changed("\"batch\": 1,", "")), "mine.json: has no `batch`");
  EXPECT_EQ(ErrorOf(Changed("\"batch\": 1", "\"batch\": 1.5")), "mine.json: `batch` is no whole number");
  EXPECT_EQ(ErrorOf(Changed("\"batch\": 1", "\"batch\": 18446744073709551615")),
            "mine.json: `batch` is no whole number");
  EXPECT_EQ(ErrorOf(Changed("\"batch\": 1", "\"batch\": 0")), "mine.json: `batch` is 0; it must be from 1 to 64");
  EXPECT_EQ(ErrorOf(Changed("\"batch\": 1", "\"batches\": 1")), "mine.json: `batches` is no field of a machine");
  EXPECT_EQ(ErrorOf(Changed("\"gemm_drain\": 5", "\"gemm_drain\": -1")),
            "mine.json: `timing.gemm_drain` is -1; it must be from 0 to 1000000");
  EXPECT_EQ(ErrorOf(Changed("\"sram_ports\": 2", "\"ports\": 2")),
            "mine.json: `timing.ports` is no field of a machine");
  EXPECT_EQ(ErrorOf(Changed("7.9", "\"fast\"")), "mine.json: has no number `timing.dram_bytes_per_cycle`");
  EXPECT_THAT(ErrorOf(Changed("7.9", "0")),
              HasSubstr("`timing.dram_bytes_per_cycle` is 0; it must be from 0.001 to 4096 in thousandths"));
  EXPECT_THAT(ErrorOf(Changed("7.9", "7.90001")), HasSubstr("in thousandths"));
  EXPECT_THAT(ErrorOf(Changed("\"name\": \"pynq\"", "\"name\": \"a b\"")), HasSubstr("`name` must be"));
  EXPECT_THAT(ErrorOf(Changed("\"inp_bytes\": 32768", "\"inp_bytes\": 32769")),
              HasSubstr("`inp_bytes` is 32769; it must be a multiple of the 16 bytes"));
  EXPECT_THAT(
      ErrorOf(Changed("\"wgt_bytes\": 32768", "\"wgt_bytes\": 131072")),
      HasSubstr("`wgt_bytes` is 131072; it must be a multiple of the 256 bytes of an element, and at most 256"));
  EXPECT_THAT(ErrorOf(Changed("\"acc_bytes\": 131072", "\"acc_bytes\": 524288")), HasSubstr("`acc_bytes`"));
}

}  // namespace
}  // namespace smelt::vdla::isa
