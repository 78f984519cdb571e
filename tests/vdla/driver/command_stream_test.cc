// Instructions, tokens, barriers and micro-ops as the recorder makes them.
#include "vdla/driver/command_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "vdla/driver/micro_op_cache.h"
#include "vdla/isa/encoding.h"

namespace smelt::vdla::driver {
namespace {

using isa::Instruction;
using isa::Memory;
using isa::Opcode;
using isa::Unit;
using ::testing::AllOf;
using ::testing::HasSubstr;

const isa::Config& Pynq() {
  static const auto* const config = new isa::Config(isa::Config::Named("pynq").value());
  return *config;
}

Instruction LoadOf(Memory memory, uint32_t elements = 1) {
  return {.opcode = Opcode::kLoad, .memory = memory, .y_size = 1, .x_size = elements, .x_stride = elements};
}
Instruction StoreOf(uint32_t elements = 1) {
  return {.opcode = Opcode::kStore, .memory = Memory::kAcc8, .y_size = 1, .x_size = elements, .x_stride = elements};
}
MicroOpKernel KernelOf(uint64_t number, uint32_t count, isa::MicroOp largest = {}) {
  return {.number = number, .dram_address = 4096 * number, .count = count, .largest = largest};
}

std::vector<Instruction> Finished(CommandStream& commands) {
  absl::StatusOr<std::vector<Instruction>> program = commands.Finish();
  EXPECT_TRUE(program.ok()) << program.status();
  if (!program.ok()) return {};
  EXPECT_TRUE(isa::CheckInstructions(*program).ok()) << isa::CheckInstructions(*program);
  return *program;
}

TEST(CommandStream, CarriesTokensOnTheInstructionsAround) {
  CommandStream commands(Pynq());
  ASSERT_TRUE(commands.Move(LoadOf(Memory::kInp)).ok());
  ASSERT_TRUE(commands.Push(Unit::kLoad, Unit::kCompute).ok());
  ASSERT_TRUE(commands.Pop(Unit::kLoad, Unit::kCompute).ok());
  ASSERT_TRUE(commands.Gemm(KernelOf(1, 1), isa::GemmMode::kOverwrite, {}, {}).ok());
  ASSERT_TRUE(commands.Push(Unit::kCompute, Unit::kStore).ok());
  ASSERT_TRUE(commands.Pop(Unit::kCompute, Unit::kStore).ok());
  ASSERT_TRUE(commands.Move(StoreOf()).ok());
  const std::vector<Instruction> program = Finished(commands);
  ASSERT_EQ(program.size(), 6u) << "a load, micro-ops, a GEMM, a store, one push of load that is taken already, FINISH";
  EXPECT_TRUE(program[0].push_next);
  EXPECT_EQ(program[1].memory, Memory::kUop);
  EXPECT_FALSE(program[1].pop_prev) << "micro-ops need not wait for operands";
  EXPECT_TRUE(program[2].pop_prev && program[2].push_next);
  EXPECT_TRUE(program[3].pop_prev && program[3].push_prev);
  EXPECT_TRUE(program[5].pop_prev && program[5].pop_next) << "FINISH waits for both";
}

TEST(CommandStream, UsesNoOpsWhereAnInstructionHasTheFlagAlready) {
  CommandStream commands(Pynq());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(commands.Push(Unit::kCompute, Unit::kLoad).ok());
  EXPECT_EQ(commands.size(), 3u);
  for (const Instruction& none : commands.instructions()) {
    EXPECT_EQ(isa::UnitOf(none), Unit::kCompute);
    EXPECT_EQ(none.x_size, 0u);
    EXPECT_TRUE(none.push_prev);
  }
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(commands.Pop(Unit::kCompute, Unit::kLoad).ok());
  EXPECT_EQ(commands.size(), 3u) << "pops wait for the unit's next instruction";
  ASSERT_TRUE(commands.Move(LoadOf(Memory::kWgt)).ok());
  EXPECT_EQ(commands.size(), 6u);
  EXPECT_TRUE(commands.instructions()[5].pop_next);
  Finished(commands);
}

TEST(CommandStream, APopThatIsPendingComesBeforeALaterPushOfItsUnit) {
  CommandStream commands(Pynq());
  ASSERT_TRUE(commands.Gemm(KernelOf(1, 1), isa::GemmMode::kReset, {}, {}).ok());
  ASSERT_TRUE(commands.Push(Unit::kLoad, Unit::kCompute).ok());
  ASSERT_TRUE(commands.Pop(Unit::kLoad, Unit::kCompute).ok());
  ASSERT_TRUE(commands.Push(Unit::kCompute, Unit::kStore).ok());
  const std::vector<Instruction>& recorded = commands.instructions();
  EXPECT_FALSE(recorded[1].push_next) << "the GEMM ends before what the push must follow";
  EXPECT_TRUE(recorded.back().pop_prev && recorded.back().push_next);
  ASSERT_TRUE(commands.Pop(Unit::kCompute, Unit::kStore).ok());
  Finished(commands);
}

TEST(CommandStream, TokensThatDoNotAddUpAreRefusedByInstruction) {
  CommandStream commands(Pynq());
  ASSERT_TRUE(commands.Move(LoadOf(Memory::kInp)).ok());
  ASSERT_TRUE(commands.Move(LoadOf(Memory::kInp)).ok());
  ASSERT_TRUE(commands.Push(Unit::kLoad, Unit::kCompute).ok());
  ASSERT_TRUE(commands.Move(LoadOf(Memory::kInp)).ok());
  absl::Status status = commands.Finish().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("1 token is left in load->compute"), HasSubstr("instruction 1 (LOAD)")));
  EXPECT_EQ(commands.size(), 0u) << "dropped";

  ASSERT_TRUE(commands.Pop(Unit::kStore, Unit::kCompute).ok());
  ASSERT_TRUE(commands.Gemm(KernelOf(1, 1), isa::GemmMode::kReset, {}, {}).ok());
  status = commands.Finish().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("for ever"), HasSubstr("instruction 1 (GEMM) waits for a token of store->compute")));

  ASSERT_TRUE(commands.Pop(Unit::kCompute, Unit::kLoad).ok());
  EXPECT_FALSE(commands.Finish().ok()) << "a pop that no instruction follows is not forgotten";
}

TEST(CommandStream, LoadAndStoreHaveNoTokensOfTheirOwn) {
  CommandStream commands(Pynq());
  EXPECT_THAT(std::string(commands.Push(Unit::kLoad, Unit::kStore).message()), HasSubstr("meet through compute"));
  EXPECT_FALSE(commands.Pop(Unit::kStore, Unit::kLoad).ok());
  EXPECT_FALSE(commands.Push(Unit::kCompute, Unit::kCompute).ok());
}

TEST(CommandStream, IndicesOutsideOfAMemoryAreRefusedByNumberAndDepth) {
  CommandStream commands(Pynq());
  ASSERT_TRUE(commands.Move(LoadOf(Memory::kWgt, 128)).ok());
  Instruction high = LoadOf(Memory::kWgt, 1);
  high.sram_base = 128;
  absl::Status status = commands.Move(high);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("instruction 1 (LOAD)"), HasSubstr("element 128"), HasSubstr("the machine has 128")));
  const MicroOpKernel kernel = KernelOf(1, 4, {.dst = 2040, .src = 10, .wgt = 100});
  EXPECT_TRUE(commands.Gemm(kernel, isa::GemmMode::kAccumulate, {.iter_out = 8, .dst_out = 1}, {}).ok());
  status = commands.Gemm(kernel, isa::GemmMode::kAccumulate, {.iter_out = 9, .dst_out = 1}, {});
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("instruction 3 (GEMM)"), HasSubstr("dst of ACC"), HasSubstr("element 2048")));
  status = commands.Gemm(kernel, isa::GemmMode::kAccumulate, {.iter_in = 30, .wgt_in = 1}, {});
  EXPECT_THAT(std::string(status.message()), HasSubstr("wgt of WGT"));
  EXPECT_TRUE(commands.Gemm(kernel, isa::GemmMode::kReset, {.iter_in = 30, .wgt_in = 1}, {}).ok())
      << "a reset reads no weights";
  status = commands.Alu(kernel, isa::AluOp::kAdd, {.iter_in = 4095, .src_in = 1}, {});
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("(ALU)"), HasSubstr("src of ACC")));
  EXPECT_TRUE(commands.AluImmediate(kernel, isa::AluOp::kAdd, 1, {.iter_in = 4095, .src_in = 1}, {}).ok());
  status = commands.AluImmediate(kernel, isa::AluOp::kAdd, 40000, {}, {});
  EXPECT_THAT(std::string(status.message()), HasSubstr("imm"));
  status = commands.Alu(kernel, isa::AluOp::kAdd, {.wgt_in = 1}, {});
  EXPECT_THAT(std::string(status.message()), HasSubstr("which only a GEMM has"));
  EXPECT_EQ(commands.size(), 5u) << "what was refused is not recorded";
}

TEST(CommandStream, KernelsAreLoadedOnceAndAgainWhenOthersTookTheirPlace) {
  CommandStream commands(Pynq());  // 8192 micro-ops
  const MicroOpKernel a = KernelOf(1, 4000), b = KernelOf(2, 4000), c = KernelOf(3, 4000);
  const auto gemm = [&](const MicroOpKernel& kernel) {
    const uint64_t before = commands.size();
    EXPECT_TRUE(commands.Gemm(kernel, isa::GemmMode::kReset, {}, {}).ok());
    return commands.size() - before;
  };
  EXPECT_EQ(gemm(a), 2u);
  EXPECT_EQ(gemm(a), 1u);
  EXPECT_EQ(gemm(b), 2u);
  EXPECT_EQ(gemm(a), 1u);
  EXPECT_EQ(gemm(c), 2u);  // where a was
  EXPECT_EQ(gemm(b), 1u);
  EXPECT_EQ(commands.evictions(), 1u);
  EXPECT_EQ(gemm(a), 2u);
  EXPECT_EQ(commands.instructions().back().uop_begin, 4000u) << "the ring goes on behind c";
  Finished(commands);
  EXPECT_EQ(gemm(a), 2u) << "others may have had the machine since";
}

TEST(MicroOpCache, NeverGivesTwoResidentKernelsTheSamePlace) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    constexpr uint64_t kDepth = 100;
    MicroOpCache cache(kDepth);
    std::vector<uint64_t> holder(kDepth, 0), count_of(40);
    for (uint64_t& count : count_of) count = 1 + random() % 60;
    for (int i = 0; i < 500; ++i) {
      const uint64_t kernel = 1 + random() % 39, count = count_of[kernel];
      const bool resident = cache.IsResident(kernel);
      const MicroOpCache::Place place = cache.Use(kernel, count);
      ASSERT_EQ(place.resident, resident);
      ASSERT_LE(place.begin + count, kDepth);
      for (uint64_t at = place.begin; at < place.begin + count; ++at) {
        if (place.resident) {
          ASSERT_EQ(holder[at], kernel) << "what is resident is whole";
        } else {
          holder[at] = kernel;
        }
      }
    }
    EXPECT_GT(cache.evictions(), 0u);
  }
}

TEST(CommandStream, BarrierOrdersUnitsWhateverTokensAreOnTheirWay) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    CommandStream commands(Pynq());
    const std::pair<Unit, Unit> edges[] = {{Unit::kLoad, Unit::kCompute},
                                           {Unit::kCompute, Unit::kLoad},
                                           {Unit::kCompute, Unit::kStore},
                                           {Unit::kStore, Unit::kCompute}};
    int on_the_way[4] = {};
    std::vector<uint64_t> barriers;  // numbers of the instructions around each
    for (int i = 0; i < 30; ++i) {
      const int edge = static_cast<int>(random() % 4);
      switch (random() % 6) {
        case 0:
          ASSERT_TRUE(commands.Move(LoadOf(Memory::kInp)).ok());
          break;
        case 1:
          ASSERT_TRUE(commands.Move(StoreOf()).ok());
          break;
        case 2:
          ASSERT_TRUE(commands.Gemm(KernelOf(1 + random() % 3, 5), isa::GemmMode::kReset, {}, {}).ok());
          break;
        case 3:
          ASSERT_TRUE(commands.Push(edges[edge].first, edges[edge].second).ok());
          ++on_the_way[edge];
          break;
        case 4:
          if (on_the_way[edge] == 0) break;
          ASSERT_TRUE(commands.Pop(edges[edge].first, edges[edge].second).ok());
          --on_the_way[edge];
          break;
        default:
          commands.Barrier();
          barriers.push_back(commands.size());
      }
    }
    for (int edge = 0; edge < 4; ++edge) {
      for (; on_the_way[edge] > 0; --on_the_way[edge])
        ASSERT_TRUE(commands.Pop(edges[edge].first, edges[edge].second).ok());
    }
    const std::vector<Instruction> program = Finished(commands);
    // A unit that is held back before a barrier must hold all others at the barrier. Each unit in turn stops at its
    // first instruction, and the others run as far as their tokens let them.
    for (const Unit held : isa::kAllUnits) {
      for (const uint64_t barrier : barriers) {
        int64_t tokens[4] = {};
        uint64_t at[isa::kUnits] = {};
        std::vector<uint64_t> of_unit[isa::kUnits];
        for (uint64_t number = 0; number < program.size(); ++number)
          of_unit[static_cast<int>(isa::UnitOf(program[number]))].push_back(number);
        const auto& held_queue = of_unit[static_cast<int>(held)];
        // The last one that the unit has before the barrier's own no-ops does not end.
        uint64_t stop = program.size();
        for (const uint64_t number : held_queue) {
          if (number < barrier && (program[number].x_size > 0 || program[number].iter_out > 0)) stop = number;
        }
        if (stop == program.size()) continue;
        for (bool moved = true; moved;) {
          moved = false;
          for (int unit = 0; unit < isa::kUnits; ++unit) {
            while (at[unit] < of_unit[unit].size()) {
              const uint64_t number = of_unit[unit][at[unit]];
              if (number == stop) break;
              const Instruction& i = program[number];
              isa::TokenQueue queue;
              bool ready = true;
              const std::pair<bool, bool> pops[] = {{i.pop_prev, false}, {i.pop_next, true}};
              for (const auto& [set, next] : pops) {
                if (set && isa::QueueOfPop(static_cast<Unit>(unit), next, &queue))
                  ready = ready && tokens[static_cast<int>(queue)] > 0;
              }
              if (!ready) break;
              for (const auto& [set, next] : pops) {
                if (set && isa::QueueOfPop(static_cast<Unit>(unit), next, &queue)) --tokens[static_cast<int>(queue)];
              }
              const std::pair<bool, bool> pushes[] = {{i.push_prev, false}, {i.push_next, true}};
              for (const auto& [set, next] : pushes) {
                if (set && isa::QueueOfPush(static_cast<Unit>(unit), next, &queue)) ++tokens[static_cast<int>(queue)];
              }
              ASSERT_LT(number, barrier) << "instruction " << number << " ran past a barrier at " << barrier
                                         << " while instruction " << stop << " before it had not";
              ++at[unit];
              moved = true;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace smelt::vdla::driver
