// Runs that go wrong, each with its diagnosis; and how long things take.
#include "sim/simulate.h"

#include <atomic>
#include <numeric>

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "sim/estimate.h"
#include "sim/report.h"
#include "sim/roofline.h"
#include "sim/trace.h"
#include "tests/sim/run_text.h"
#include "vdla/isa/program_file.h"

namespace smelt::sim {
namespace {

using ::testing::HasSubstr;
using vdla::isa::Config;

// pynq with fields changed, on one line.
std::string Machine1(const std::vector<std::pair<std::string, std::string>>& changes) {
  std::string json = Config::Named("pynq").value().ToJson();
  for (const auto& [from, to] : changes) {
    EXPECT_THAT(json, HasSubstr(from));
    json = absl::StrReplaceAll(json, {{from, to}});
  }
  return absl::StrReplaceAll(json, {{"\n", " "}});
}

const Timing kBoth[] = {Timing::kFunctional, Timing::kCycle};

TEST(Tokens, AnUnderflowIsADeadlockThatSaysWhoWaits) {
  for (const Timing timing : kBoth) {
    const TextRun run =
        RunText("LOAD INP y_size=1 x_size=1\nGEMM reset pop_prev\nFINISH pop_next\n", {.timing = timing});
    EXPECT_EQ(run.report.end, End::kDeadlock);
    EXPECT_THAT(run.report.message, HasSubstr("compute waits in instruction 1 (GEMM) since cycle"));
    EXPECT_THAT(run.report.message, HasSubstr("for a token of load->compute, which is empty"));
    EXPECT_THAT(run.report.message, HasSubstr("load has no instruction"));
    EXPECT_EQ(run.report.ToStatus().code(), absl::StatusCode::kFailedPrecondition);
  }
}

TEST(Tokens, UnitsThatWaitForEachOtherAreADeadlock) {
  for (const Timing timing : kBoth) {
    const TextRun run = RunText(
        "LOAD INP pop_next push_next\nGEMM reset pop_prev push_prev\nSTORE ACC pop_prev\nFINISH\n", {.timing = timing});
    EXPECT_EQ(run.report.end, End::kDeadlock);
    EXPECT_THAT(run.report.message, HasSubstr("load waits in instruction 0 (LOAD INP)"));
    EXPECT_THAT(run.report.message, HasSubstr("for a token of compute->load, which is empty"));
    EXPECT_THAT(run.report.message, HasSubstr("store waits in instruction 2 (STORE ACC)"));
  }
}

TEST(Tokens, ThatAreLeftAtTheEndAreAnError) {
  for (const Timing timing : kBoth) {
    const TextRun run =
        RunText("LOAD INP push_next\nLOAD INP push_next\nSTORE ACC push_prev\nFINISH pop_prev\n", {.timing = timing});
    EXPECT_EQ(run.report.end, End::kLeftoverTokens);
    EXPECT_THAT(run.report.message, HasSubstr("1 in load->compute, 1 in store->compute"));
  }
}

TEST(Tokens, AFullQueueHoldsUpWhoPushes) {
  const std::string machine = Machine1({{"\"token_queue_depth\": 64", "\"token_queue_depth\": 2"}});
  std::string three, pops;
  for (int i = 0; i < 3; ++i) three += "LOAD INP push_next\n", pops += "LOAD UOP pop_prev\n";
  for (const Timing timing : kBoth) {
    EXPECT_EQ(RunText(three + pops + "FINISH\n", {.timing = timing}, machine).report.end, End::kFinished);
    // Nobody pops: the third push waits for ever.
    const TextRun run = RunText(three + "FINISH\n", {.timing = timing}, machine);
    EXPECT_EQ(run.report.end, End::kDeadlock);
    EXPECT_THAT(run.report.message, HasSubstr("load waits in instruction 2 (LOAD INP)"));
    EXPECT_THAT(run.report.message, HasSubstr("for room in load->compute, which holds 2 tokens"));
  }
}

TEST(CommandQueue, ThatIsFullStallsFetchAndIsNoError) {
  const std::string machine = Machine1({{"\"command_queue_depth\": 512", "\"command_queue_depth\": 2"}});
  std::string text;
  for (int i = 0; i < 20; ++i) text += "LOAD INP y_size=1 x_size=64 x_stride=64\n";
  text += "FINISH\n";
  const TextRun narrow = RunText(text, {}, machine), wide = RunText(text);
  EXPECT_EQ(narrow.report.end, End::kFinished);
  EXPECT_GT(narrow.report.fetch_blocked, 0);
  EXPECT_EQ(wide.report.fetch_blocked, 0);
  EXPECT_EQ(RunText(text, {.timing = Timing::kFunctional}, machine).report.end, End::kFinished);
}

TEST(CommandQueue, HoldsUpOtherUnitsBehindItsHead) {
  // The load unit waits for a token of an instruction that cannot be fetched past the full queue of loads.
  const std::string machine = Machine1({{"\"command_queue_depth\": 512", "\"command_queue_depth\": 2"}});
  std::string text = "LOAD INP pop_next\n";
  for (int i = 0; i < 4; ++i) text += "LOAD INP\n";
  text += "LOAD UOP push_prev\nFINISH\n";
  for (const Timing timing : kBoth) {
    const TextRun run = RunText(text, {.timing = timing}, machine);
    EXPECT_EQ(run.report.end, End::kDeadlock);
    EXPECT_THAT(run.report.message, HasSubstr("fetch waits with instruction 3 (LOAD INP)"));
    EXPECT_THAT(run.report.message, HasSubstr("for room in the queue of load, which holds 2"));
    EXPECT_EQ(RunText(text, {.timing = timing}).report.end, End::kFinished);  // 512 have room
  }
}

TEST(Traps, EndARunWithTheInstructionsNumber) {
  for (const Timing timing : kBoth) {
    const TextRun run = RunText("LOAD INP\nLOAD INP sram_base=2048 y_size=1 x_size=1\nFINISH\n", {.timing = timing});
    EXPECT_EQ(run.report.end, End::kTrap);
    EXPECT_EQ(run.report.instruction, 1);
    EXPECT_THAT(run.report.message, HasSubstr("instruction 1 (LOAD INP): row 0 writes elements 2048"));
    EXPECT_EQ(run.report.ToStatus().code(), absl::StatusCode::kOutOfRange);
  }
}

TEST(Illegal, InstructionsDoNotRun) {
  const std::unique_ptr<Machine> machine = Machine::Create(Config::Named("pynq").value()).value();
  const Report report = Simulate(*machine, {{.opcode = vdla::isa::Opcode::kLoad}});
  EXPECT_EQ(report.end, End::kIllegal);
  EXPECT_THAT(report.message, HasSubstr("that must be FINISH"));
  vdla::isa::Program other{.name = "other", .config = Config::Named("big").value()};
  EXPECT_THAT(std::string(machine->LoadSegments(other).message()), HasSubstr("was made for the machine `big`"));
}

TEST(Races, NameBothInstructionsAndWhatTheyShare) {
  const std::string uops = ".segment constant uops address=0 size=4\n.uop dst=0\n";
  for (const Timing timing : kBoth) {
    TextRun run = RunText(uops +
                              "LOAD UOP y_size=1 x_size=1\nLOAD INP dram_base=100 sram_base=5 y_size=1 x_size=10\nGEMM "
                              "accumulate uop_count=1 iter_out=1 iter_in=8 src_in=1\nFINISH\n",
                          {.timing = timing});
    EXPECT_EQ(run.report.end, End::kFinished);
    EXPECT_EQ(run.report.race_count, 1);
    ASSERT_EQ(run.report.races.size(), 1u);
    EXPECT_THAT(run.report.races[0].message, HasSubstr("INP element 5"));
    EXPECT_THAT(run.report.races[0].message, HasSubstr("instruction 1 (LOAD INP) of the load unit"));
    EXPECT_THAT(run.report.races[0].message, HasSubstr("instruction 2 (GEMM) of the compute unit"));
    EXPECT_EQ(run.report.ToStatus().code(), absl::StatusCode::kAborted);
    run = RunText(uops +
                      "LOAD UOP y_size=1 x_size=1\nLOAD INP push_next dram_base=100 sram_base=5 y_size=1 "
                      "x_size=10\nGEMM accumulate pop_prev uop_count=1 iter_out=1 iter_in=8 src_in=1\nFINISH\n",
                  {.timing = timing});
    EXPECT_TRUE(run.report.ToStatus().ok()) << run.report.ToStatus();
    // Neighbours in a memory do not race, nor do two that read.
    run = RunText(uops +
                      "LOAD UOP y_size=1 x_size=1\nLOAD INP dram_base=100 sram_base=8 y_size=1 x_size=10\nGEMM "
                      "accumulate uop_count=1 iter_out=1 iter_in=8 src_in=1\nFINISH\n",
                  {.timing = timing});
    EXPECT_TRUE(run.report.ToStatus().ok()) << run.report.ToStatus();
  }
}

TEST(Races, AreFoundInDramAndOverTwoTokens) {
  // A store, and a load of the same bytes: only a chain through compute orders them.
  const auto text = [](const char* store, const char* between, const char* load) {
    return std::string("STORE ACC dram_base=10 y_size=1 x_size=1 ") + store + "\n" + between +
           "LOAD INP dram_base=42 y_size=1 x_size=1 " + load + "\nFINISH\n";
  };
  for (const Timing timing : kBoth) {
    const TextRun racing = RunText(text("", "", ""), {.timing = timing});
    ASSERT_EQ(racing.report.races.size(), 1u);
    EXPECT_THAT(racing.report.races[0].what, HasSubstr("DRAM between bytes 672 and 687"));
    EXPECT_TRUE(RunText(text("push_prev", "LOAD UOP pop_next push_prev\n", "pop_next"), {.timing = timing})
                    .report.ToStatus()
                    .ok());
    // Two tokens that are not connected order nothing.
    const TextRun apart = RunText(
        "STORE ACC dram_base=10 y_size=1 x_size=1 push_prev\nLOAD UOP push_prev\nLOAD INP dram_base=42 y_size=1 "
        "x_size=1 pop_next\nFINISH pop_next\n",
        {.timing = timing});
    EXPECT_EQ(apart.report.races.size(), 1u);
  }
}

TEST(Limits, EndWhatTakesTooLong) {
  const std::string huge =
      ".segment constant uops address=0 size=4\n.uop dst=0\nLOAD UOP y_size=1 x_size=8191 x_stride=8191\nGEMM "
      "overwrite uop_count=8191 iter_out=4095 iter_in=4095\nFINISH\n";
  const std::string tall = Machine1({{"\"uop_bytes\": 32768", "\"uop_bytes\": 65536"}});
  TextRun run = RunText(huge, {.max_cycles = 1000000}, tall);
  EXPECT_EQ(run.report.end, End::kLimit);
  EXPECT_THAT(run.report.message, HasSubstr("the limit of 1000000 cycles was reached"));
  run = RunText(huge, {.timing = Timing::kFunctional, .max_seconds = 0.05}, tall);
  EXPECT_EQ(run.report.end, End::kLimit);
  EXPECT_THAT(run.report.message, HasSubstr("the limit of 0.05 seconds was reached"));
  const std::atomic<bool> cancel = true;
  run = RunText(huge, {.timing = Timing::kFunctional, .cancel = &cancel}, tall);
  EXPECT_THAT(run.report.message, HasSubstr("cancelled"));
  EXPECT_EQ(run.report.ToStatus().code(), absl::StatusCode::kDeadlineExceeded);
  run = RunText("LOAD INP y_size=1 x_size=1000 x_stride=1000\nFINISH\n", {.max_cycles = 200});
  EXPECT_THAT(run.report.message, HasSubstr("load works on instruction 0 (LOAD INP)"));
}

// Cycles from the start of each instruction's work to its end.
std::vector<int64_t> Durations(const std::string& text, const std::string& machine = "pynq") {
  Trace trace;
  const TextRun run = RunText(text, {.trace = &trace}, machine);
  EXPECT_EQ(run.report.end, End::kFinished) << run.report.message;
  std::vector<int64_t> durations(run.program.instructions.size());
  for (const Retired& retired : trace.retired)
    durations[static_cast<size_t>(retired.instruction)] = retired.end - retired.start;
  return durations;
}

TEST(Time, OfComputationIsThatOfTheDocument) {
  const std::string uops =
      ".segment constant uops address=0 size=16\n.uop dst=0\n.uop dst=1\n.uop dst=0\n.uop dst=2\nLOAD UOP y_size=1 "
      "x_size=4 x_stride=4\n";
  const std::vector<int64_t> cycles =
      Durations(uops +
                "GEMM reset uop_count=4 iter_out=3 iter_in=2\n"                 // 24, and the drain of 5
                "GEMM accumulate uop_count=1 iter_out=1 iter_in=10 dst_in=1\n"  // apart: 10 + 5
                "GEMM accumulate uop_count=1 iter_out=1 iter_in=10\n"           // the same ten times: 2 * 9 + 1 + 5
                "GEMM overwrite uop_count=2 iter_out=5 iter_in=1\n"             // 0 1 0 1: distance 2, 10 + 5
                "GEMM accumulate uop_count=4\n"                                 // no iterations: 5
                "ALU ADD uop_count=4 iter_out=2 iter_in=1\n"                    // 8 * 2 + 5
                "ALU ADD use_imm uop_count=4 iter_out=2 iter_in=1\n"            // 8 + 5
                "LOAD UOP\nFINISH\n");
  EXPECT_EQ(std::vector<int64_t>(cycles.begin() + 1, cycles.end()),
            (std::vector<int64_t>{29, 15, 24, 15, 5, 21, 13, 1, 1}));
  // Distance 4: 0 at 0, 1 at 1, 0 at 4, 2 at 5; then 0 at 8, 1 at 9, 0 at 12, 2 at 13.
  const std::vector<int64_t> far = Durations(uops + "GEMM accumulate uop_count=4 iter_out=1 iter_in=2\nFINISH\n",
                                             Machine1({{"\"gemm_raw_distance\": 2", "\"gemm_raw_distance\": 4"}}));
  EXPECT_EQ(far[1], 14 + 5);
}

TEST(Time, OfTransfersIsThatOfTheDocument) {
  // 8 bytes a cycle make whole numbers. Fetch is over before the loads begin.
  const std::string machine = Machine1({{"7.9", "8"}, {"\"fetch_cycles\": 1", "\"fetch_cycles\": 0"}});
  // One row of 256 bytes: 2 for the row, 1 to issue, 64 latency, 32 on the bus.
  EXPECT_EQ(Durations("LOAD INP y_size=1 x_size=16 x_stride=16\nFINISH\n", machine)[0], 2 + 1 + 64 + 32);
  // Two requests: the second waits for the bus, not for its latency.
  EXPECT_EQ(Durations("LOAD INP y_size=1 x_size=32 x_stride=32\nFINISH\n", machine)[0], 2 + 1 + 64 + 64);
  // It begins within a burst: 8 elements, then 16, then 8.
  EXPECT_EQ(Durations("LOAD INP dram_base=8 y_size=1 x_size=32 x_stride=32\nFINISH\n", machine)[0], 2 + 1 + 64 + 64);
  // Rows that touch are one; others start at 3 cycles' distance, and the bus is free again after 2.
  EXPECT_EQ(Durations("LOAD INP y_size=4 x_size=1 x_stride=1\nFINISH\n", machine)[0], 2 + 1 + 64 + 8);
  EXPECT_EQ(Durations("LOAD INP y_size=4 x_size=1 x_stride=16\nFINISH\n", machine)[0], 4 * 3 + 64 + 2);
  // Padding: two rows of 4 before, 2 elements in each row, and a row of 4 after the data.
  EXPECT_EQ(Durations("LOAD INP y_size=3 x_size=2 x_stride=2 y_pad_before=2 x_pad_before=1 x_pad_after=1\nFINISH\n",
                      machine)[0],
            8 + 3 * (2 + 2 + 1) + 64 + 4);
  EXPECT_EQ(Durations("LOAD INP y_pad_before=2 x_pad_before=5\nFINISH\n", machine)[0], 10);
  // A write is safe a latency after it went over the bus.
  EXPECT_EQ(Durations("STORE ACC y_size=1 x_size=4 x_stride=4\nFINISH\n", machine)[0], 2 + 1 + 32 + 64);
  // Nine requests, of which eight may be under way: the ninth waits for the first.
  const std::string slow = Machine1({{"7.9", "8"},
                                     {"\"fetch_cycles\": 1", "\"fetch_cycles\": 0"},
                                     {"\"dram_latency\": 64", "\"dram_latency\": 1000"}});
  EXPECT_EQ(Durations("LOAD INP y_size=9 x_size=1 x_stride=16\nFINISH\n", slow)[0], 3 + 1000 + 2 + 1000 + 2);
}

TEST(Time, OneBusServesAllUnits) {
  const std::string machine = Machine1({{"7.9", "8"}, {"\"fetch_cycles\": 1", "\"fetch_cycles\": 0"}});
  const std::string load = "LOAD INP dram_base=1024 y_size=1 x_size=512 x_stride=512\n",
                    acc = "LOAD ACC sram_base=100 y_size=1 x_size=128 x_stride=128\n";
  const int64_t alone = Durations(load + "FINISH\n", machine)[0];
  const std::vector<int64_t> both = Durations(load + acc + "FINISH\n", machine);
  EXPECT_EQ(alone, 67 + 1024);
  EXPECT_NEAR(static_cast<double>(std::max(both[0], both[1])), 67 + 2048, 40);  // each takes its turn
}

TEST(Time, OnePortDelaysComputation) {
  const std::string text =
      ".segment constant uops address=0 size=4\n.uop dst=0\nLOAD UOP push_prev y_size=1 x_size=1 x_stride=1\nLOAD INP "
      "pop_next sram_base=1024 dram_base=1024 y_size=1 x_size=64 x_stride=64\n"
      "GEMM accumulate uop_count=1 iter_out=10 iter_in=100 dst_in=1\nFINISH\n";
  Trace trace;
  const TextRun two = RunText(text);
  const TextRun one = RunText(text, {}, Machine1({{"\"sram_ports\": 2", "\"sram_ports\": 1"}}));
  EXPECT_EQ(two.report.units[1].port, 0);
  EXPECT_EQ(one.report.units[1].port, 64);
  EXPECT_EQ(one.report.cycles, two.report.cycles + 64);
}

TEST(Time, IsTheSameEachTime) {
  const vdla::isa::Program program = vdla::isa::ReadProgramFile(SMELT_SOURCE_DIR "/models/products.vdla").value();
  const TextRun first = RunProgram(program), second = RunProgram(program);
  EXPECT_TRUE(first.report.ToStatus().ok()) << first.report.ToStatus();
  EXPECT_TRUE(first.machine->CheckResults(program).ok());
  EXPECT_EQ(ToJson(first.report, program), ToJson(second.report, program));
  // Another run of the same machine finds its memories as they were left, and gives the same result.
  const Report again = Simulate(*first.machine, program.instructions);
  EXPECT_EQ(again.cycles, first.report.cycles);
  EXPECT_TRUE(first.machine->CheckResults(program).ok());
  ASSERT_TRUE(first.machine->dram().Write(program.Find("y")->address + 3, "\x55").ok());
  EXPECT_THAT(std::string(first.machine->CheckResults(program).message()),
              HasSubstr("result `expected` differs at byte 3: it is 85"));
}

TEST(Reports, SharesSumToOneHundredPerCent) {
  for (const UnitReport& unit : {UnitReport{1, 1, 1, 1, 0, 0}, UnitReport{1, 0.1, 99.9, 7, 3, 1e6},
                                 UnitReport{1, 5, 0, 0, 0, 0}, UnitReport{1, 1, 1, 1, 1, 1}}) {
    const std::array<int, 5> shares = Shares(unit);
    EXPECT_EQ(std::accumulate(shares.begin(), shares.end(), 0), 1000);
  }
  EXPECT_EQ(Shares({}), (std::array<int, 5>{}));
}

TEST(Reports, TraceJsonAndRooflineTellOfTheRun) {
  const vdla::isa::Program program = vdla::isa::ReadProgramFile(SMELT_SOURCE_DIR "/models/products.vdla").value();
  Trace trace;
  const TextRun run = RunProgram(program, {.trace = &trace});
  EXPECT_EQ(trace.retired.size(), program.instructions.size());
  const nlohmann::json events = nlohmann::json::parse(ToChromeTrace(trace, program))["traceEvents"];
  int work = 0, bus = 0;
  for (const nlohmann::json& event : events) {
    work += event.value("cat", "") == "work" ? 1 : 0;
    bus += event.value("cat", "") == "bus" ? 1 : 0;
    if (event["ph"] == "X") {
      EXPECT_GE(event["dur"].get<double>(), 0);
      EXPECT_LE(event["ts"].get<double>() + event["dur"].get<double>(), run.report.seconds * 1e6 * (1 + 1e-9));
    }
  }
  EXPECT_EQ(work, static_cast<int>(program.instructions.size()));
  EXPECT_EQ(bus, static_cast<int>(trace.transfers.size()));
  EXPECT_GT(bus, 5);
  const nlohmann::json report = nlohmann::json::parse(ToJson(run.report, program));
  EXPECT_EQ(report["cycles"], run.report.cycles);
  EXPECT_EQ(report["gemm_micro_ops"], 16);
  for (const auto& [name, unit] : report["units"].items()) {
    const double sum = unit["busy_percent"].get<double>() + unit["token_percent"].get<double>() +
                       unit["dma_percent"].get<double>() + unit["port_percent"].get<double>() +
                       unit["queue_percent"].get<double>();
    EXPECT_NEAR(sum, 100, 1e-9) << name;
  }
  EXPECT_THAT(ToTable(run.report, program), HasSubstr("products on pynq: "));
  const RooflinePoint point = PointOf(run.report, program);
  EXPECT_NEAR(point.ops_per_byte, 2.0 * 16 * 256 / (780 + 128), 1e-9);
  const std::string svg = RooflineSvg(program.config, {point});
  EXPECT_THAT(svg, HasSubstr("products "));
  EXPECT_THAT(svg, HasSubstr("</svg>"));
  EXPECT_EQ(RooflineSvg(program.config, {}).find("<circle"), std::string::npos);
}

TEST(Estimate, RefusesWhatWouldNotRun) {
  const vdla::isa::Program program =
      vdla::isa::Assemble(".vdla 1\n.machine pynq\nGEMM reset pop_prev\nFINISH\n", "text").value();
  EXPECT_THAT(std::string(EstimateCycles(program).status().message()),
              HasSubstr("instruction 0 (GEMM): waits for a token that nothing pushes"));
}

}  // namespace
}  // namespace smelt::sim
