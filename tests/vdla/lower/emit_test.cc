// Operations as programs: places in the memories, elementwise work, virtual threads, errors, and tokens that the
// simulator finds to be all necessary.
#include "vdla/lower/emit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "absl/strings/str_cat.h"
#include "sim/machine.h"
#include "sim/simulate.h"
#include "vdla/lower/convolution.h"
#include "vdla/lower/layer.h"
#include "vdla/lower/layout.h"
#include "vdla/lower/storage.h"

namespace smelt::vdla::lower {
namespace {

using isa::AluOp;
using isa::Config;
using isa::Instruction;
using isa::Memory;
using isa::Role;
using testing::HasSubstr;

Config Pynq() { return Config::Named("pynq").value(); }

// y = max(x + x2, 3) in chunks of 8 elements, by `threads` virtual threads.
Operations AddAndMax(int64_t elements, int64_t threads) {
  Operations operations{.name = "add"};
  const DramBuffer x = operations.AddDram("x", Memory::kAcc, elements, Role::kInput);
  const DramBuffer x2 = operations.AddDram("x2", Memory::kAcc8, elements, Role::kInput);
  const DramBuffer y = operations.AddDram("y", Memory::kAcc, elements, Role::kOutput);
  const SramBuffer a = operations.AddSram("a", Memory::kAcc, 8), b = operations.AddSram("b", Memory::kAcc, 8);
  const Variable chunk = operations.AddVariable(), thread = operations.AddVariable();
  const Linear at = 8 * (threads * Linear::Of(chunk) + Linear::Of(thread));
  const std::vector<CopyDim> all = {{.extent = 8, .remaining = Linear(elements) - at}};
  const auto copy = [&](bool store, Memory memory, SramBuffer sram, DramBuffer dram) {
    Copy copy{.store = store, .memory = memory, .sram = sram, .dram = dram, .dram_index = at};
    copy.dims = all;
    return copy;
  };
  Alu add{.op = AluOp::kAdd, .dst = a, .src = b}, max{.op = AluOp::kMax, .dst = a, .imm = 3};
  add.dims = max.dims = {{.extent = 8, .remaining = all[0].remaining, .dst = 1, .src = 1}};
  std::vector<Node> body = {copy(false, Memory::kAcc, a, x), copy(false, Memory::kAcc8, b, x2), add, max,
                            copy(true, Memory::kAcc, a, y)};
  const int64_t chunks = (elements + 8 * threads - 1) / (8 * threads);
  operations.body = {
      VirtualThreads(thread, threads, {Allocate(a, {Allocate(b, {Loop(chunk, chunks, std::move(body))})})})};
  return operations;
}

TEST(Emit, ElementwiseWorkIsRightWithAnyNumberOfThreads) {
  for (const int64_t threads : {1, 2, 4}) {
    for (const int64_t elements : {8, 50, 64}) {
      Emitted emitted = Emit(AddAndMax(elements, threads), Pynq()).value();
      const size_t lanes = static_cast<size_t>(elements * 16);
      std::mt19937 random(1);
      std::vector<int32_t> x(lanes), expected(lanes);
      std::vector<int8_t> x2(lanes);
      for (size_t i = 0; i < lanes; ++i) {
        x[i] = static_cast<int32_t>(random() % 400) - 200;
        x2[i] = static_cast<int8_t>(random());
        expected[i] = std::max(x[i] + x2[i], 3);
      }
      emitted.program.segments[0].bytes.assign(reinterpret_cast<const char*>(x.data()), lanes * 4);
      emitted.program.segments[1].bytes.assign(reinterpret_cast<const char*>(x2.data()), lanes);
      const auto machine = sim::Machine::Create(Pynq()).value();
      ASSERT_TRUE(machine->LoadSegments(emitted.program).ok());
      const sim::Report report = sim::Simulate(*machine, emitted.program.instructions);
      ASSERT_TRUE(report.ToStatus().ok()) << report.ToStatus();
      const std::string bytes = machine->dram().Read(emitted.program.segments[2].address, lanes * 4).value();
      EXPECT_EQ(std::memcmp(bytes.data(), expected.data(), lanes * 4), 0);
    }
  }
}

TEST(Emit, ThreadsRunALeafInTurn) {
  const Emitted emitted = Emit(AddAndMax(64, 2), Pynq()).value();
  std::vector<uint32_t> loads;
  for (const Instruction& i : emitted.program.instructions) {
    if (i.opcode == isa::Opcode::kLoad && i.memory == Memory::kAcc && i.x_size > 0) loads.push_back(i.sram_base);
  }
  // Each thread has its own copy of `a`; `b` lies behind both.
  EXPECT_THAT(loads, testing::ElementsAre(0, 8, 0, 8, 0, 8, 0, 8));
}

TEST(Emit, PrintsOperationsForPeople) {
  EXPECT_EQ(AddAndMax(64, 2).ToString(),
            "threads v1 < 2\n"
            "  allocate ACC a[8]\n"
            "    allocate ACC b[8]\n"
            "      for v0 < 4\n"
            "        load ACC a[0] <- x[16*v0 + 8*v1] {min(8, 64 + -16*v0 + -8*v1) of 1, 1}\n"
            "        load ACC8 b[0] <- x2[16*v0 + 8*v1] {min(8, 64 + -16*v0 + -8*v1) of 1, 1}\n"
            "        alu ADD a[0], b[0] {min(8, 64 + -16*v0 + -8*v1) of 1, 1, 0}\n"
            "        alu MAX a[0], 3 {min(8, 64 + -16*v0 + -8*v1) of 1, 1, 0}\n"
            "        store ACC y[16*v0 + 8*v1] <- a[0] {min(8, 64 + -16*v0 + -8*v1) of 1, 1}\n");
}

TEST(PlanStorage, NeighboursShareAPlaceAndNestedBuffersDoNot) {
  Operations operations;
  const SramBuffer a = operations.AddSram("a", Memory::kInp, 100), b = operations.AddSram("b", Memory::kInp, 50),
                   c = operations.AddSram("c", Memory::kInp, 70);
  operations.body = {Allocate(a, {Allocate(b, {})}), Allocate(c, {})};
  const Storage storage = PlanStorage(operations, Pynq()).value();
  EXPECT_THAT(storage.base, testing::ElementsAre(0, 100, 0));
}

TEST(PlanStorage, VirtualThreadsMultiply) {
  Operations operations;
  const SramBuffer a = operations.AddSram("a", Memory::kWgt, 50);
  const Variable thread = operations.AddVariable();
  operations.body = {VirtualThreads(thread, 2, {Allocate(a, {})})};
  EXPECT_TRUE(PlanStorage(operations, Pynq()).ok());
  operations.body = {VirtualThreads(thread, 4, {Allocate(a, {})})};
  EXPECT_THAT(std::string(PlanStorage(operations, Pynq()).status().message()),
              HasSubstr("`a` takes 200 elements (51200 bytes) of WGT, of whose 128 (32768 bytes) 128 are free"));
}

TEST(PlanStorage, BuffersOutsideTheirAllocateAreRefused) {
  Operations operations;
  const SramBuffer a = operations.AddSram("a", Memory::kAcc, 5);
  Alu alu{.op = AluOp::kMax, .dst = a};
  operations.body = {Allocate(a, {}), alu};
  EXPECT_THAT(std::string(PlanStorage(operations, Pynq()).status().message()),
              HasSubstr("`a` is used where it is not allocated"));
  operations.body = {Allocate(a, {}), Allocate(a, {})};
  EXPECT_THAT(std::string(PlanStorage(operations, Pynq()).status().message()), HasSubstr("`a` is allocated twice"));
}

TEST(Emit, IndicesOutsideABufferAreRefused) {
  Operations operations = AddAndMax(64, 1);
  operations.dram[0].elements = 60;
  EXPECT_THAT(std::string(Emit(operations, Pynq()).status().message()),
              HasSubstr("a copy to or from `a` touches elements 56 to 63 of `x`, which has 60"));
  operations = AddAndMax(64, 1);
  operations.sram[1].elements = 7;
  EXPECT_THAT(std::string(Emit(operations, Pynq()).status().message()),
              HasSubstr("touches elements 0 to 7 of `b`, which has 7"));
}

TEST(Emit, AProgramThatDoesNotFitDramIsRefused) {
  Config config = Pynq();
  config.dram_bytes = 8192;
  EXPECT_THAT(std::string(Emit(AddAndMax(64, 1), config).status().message()),
              HasSubstr("bytes of DRAM, and pynq has 8192"));
}

// Every push, every pop and every pair, one by one, in programs of random layers.
TEST(InsertTokens, TheSimulatorCatchesEveryMissingToken) {
  int64_t mutants = 0, layers = 0;
  for (int seed = 0; layers < 12; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    Config config = Pynq();
    config.inp_bytes = 4096;
    config.wgt_bytes = 10240;
    config.acc_bytes = 8192;
    config.token_queue_depth = 1 + random() % 4;
    Convolution c{.name = "mutant",
                  .height = 4 + static_cast<int64_t>(random() % 5),
                  .width = 4 + static_cast<int64_t>(random() % 5),
                  .kernel_height = 3,
                  .kernel_width = 3};
    c.padding = {1, 1, 1, 1};
    c.epilogue = RequantizeEpilogue(random() % 2 == 0, true);
    const Layer layer = RandomLayer(c, 1, 32, 48, config, random);
    const auto space = ConvolutionSchedules(layer.convolution, config, 1 + static_cast<int64_t>(random() % 2));
    if (space.empty()) continue;
    const Emitted emitted =
        Emit(ScheduleConvolution(layer.convolution, space[random() % space.size()]).value(), config).value();
    const std::vector<Instruction>& right = emitted.program.instructions;
    if (right.size() > 150) continue;
    ++layers;
    ASSERT_TRUE(CheckTokens(right, emitted.image, config).ok()) << CheckTokens(right, emitted.image, config);
    const auto machine = sim::Machine::Create(config).value();
    const auto is_caught = [&](const std::vector<Instruction>& instructions) {
      EXPECT_TRUE(machine->LoadSegments(emitted.program).ok());
      return !sim::Simulate(*machine, instructions, {.timing = sim::Timing::kFunctional}).ToStatus().ok();
    };
    ASSERT_FALSE(is_caught(right));
    std::array<std::vector<std::pair<size_t, bool Instruction::*>>, isa::kTokenQueues> pushes, pops;
    for (size_t i = 0; i < right.size(); ++i) {
      for (const bool next : {false, true}) {
        isa::TokenQueue queue;
        bool Instruction::*const push = next ? &Instruction::push_next : &Instruction::push_prev;
        bool Instruction::*const pop = next ? &Instruction::pop_next : &Instruction::pop_prev;
        if (right[i].*push && isa::QueueOfPush(isa::UnitOf(right[i]), next, &queue))
          pushes[static_cast<int>(queue)].push_back({i, push});
        if (right[i].*pop && isa::QueueOfPop(isa::UnitOf(right[i]), next, &queue))
          pops[static_cast<int>(queue)].push_back({i, pop});
      }
    }
    for (int queue = 0; queue < isa::kTokenQueues; ++queue) {
      ASSERT_EQ(pushes[queue].size(), pops[queue].size());
      for (size_t k = 0; k < pushes[queue].size(); ++k) {
        for (const int without : {1, 2, 3}) {  // the push, the pop, both
          std::vector<Instruction> instructions = right;
          if (without & 1) instructions[pushes[queue][k].first].*pushes[queue][k].second = false;
          if (without & 2) instructions[pops[queue][k].first].*pops[queue][k].second = false;
          // What only the end waits for touches nothing after it: the check knows what the end is for, the simulator
          // does not.
          const bool of_end = without == 3 && pops[queue][k].first + 1 == right.size();
          EXPECT_TRUE(is_caught(instructions) || (of_end && !CheckTokens(instructions, emitted.image, config).ok()))
              << "token " << k << " of queue " << queue << " without " << without;
          ++mutants;
        }
      }
    }
  }
  EXPECT_GT(mutants, 500);
}

TEST(InsertTokens, RefusesWhatIsNoSequentialProgram) {
  EXPECT_THAT(std::string(InsertTokens({{.opcode = isa::Opcode::kGemm}}, {}, Pynq()).status().message()),
              HasSubstr("a program ends with its one FINISH"));
  EXPECT_THAT(
      std::string(InsertTokens({{.opcode = isa::Opcode::kFinish, .pop_prev = true}}, {}, Pynq()).status().message()),
      HasSubstr("instruction 0 has tokens"));
}

TEST(Layout, PacksAndUnpacks) {
  std::mt19937 random(1);
  Config config = Pynq();
  config.batch = 2;
  const Dims dims = {3, 20, 2, 5};
  std::vector<int8_t> values(3 * 20 * 2 * 5);
  for (int8_t& value : values) value = static_cast<int8_t>(random());
  const std::string bytes = PackActivations(values.data(), Nchw(dims), config.batch, config.block_in);
  EXPECT_EQ(bytes.size(), 2u * 2 * 2 * 5 * 2 * 16);
  std::vector<int8_t> back(values.size());
  UnpackActivations(bytes, Nchw(dims), config, /*int8=*/true, back.data());
  EXPECT_TRUE(back == values);
  // Image 1, channel 17, pixel 3: block 1, lane 1 of row 1.
  EXPECT_EQ(bytes[((1 * 10 + 3) * 2 + 1) * 16 + 1], static_cast<char>(values[(20 + 17) * 10 + 3]));
  const std::string weights = PackWeights(values.data(), Oihw({20, 3, 2, 5}), config);
  EXPECT_EQ(weights[(1 * 10 + 4) * 256 + 2 * 16 + 1], static_cast<char>(values[(18 * 3 + 1) * 10 + 4]));
  // The second weight of channel 17, which alone is in row and column 1 of its block.
  const std::string diagonal = PackDiagonalWeights(values.data(), Oihw({20, 1, 2, 5}), config);
  EXPECT_EQ(diagonal[(1 * 10 + 1) * 256 + 1 * 16 + 1], static_cast<char>(values[17 * 10 + 1]));
  EXPECT_EQ(diagonal[(1 * 10 + 1) * 256 + 1 * 16 + 2], 0);
  EXPECT_EQ(PackChannels({7, 8}, config).size(), 2u * 16 * 4);
}

}  // namespace
}  // namespace smelt::vdla::lower
