// What an instruction touches, beside a walk over all of its micro-ops and rows.
#include "vdla/isa/accesses.h"

#include <random>
#include <set>

#include "gtest/gtest.h"

namespace smelt::vdla::isa {
namespace {

using Touched = std::set<std::tuple<Space, bool, uint64_t>>;

Touched Enumerate(const Accesses& accesses) {
  Touched touched;
  for (const Access& access : accesses) {
    EXPECT_TRUE(access.run.count == 1 || access.run.stride >= access.run.length);
    for (uint64_t r = 0; r < access.run.count; ++r) {
      for (uint64_t e = 0; e < access.run.length; ++e)
        EXPECT_TRUE(touched.insert({access.space, access.write, access.run.begin + r * access.run.stride + e}).second)
            << "an element stands twice";
    }
  }
  return touched;
}

Touched Walk(const Instruction& i, const std::vector<MicroOp>& ops, const Config& config) {
  Touched touched;
  const auto touch = [&](Space space, bool write, uint64_t at) {
    const auto limit =
        static_cast<uint64_t>(space == Space::kDram ? config.dram_bytes : config.DepthOf(static_cast<Memory>(space)));
    if (at < limit) touched.insert({space, write, at});
  };
  if (i.opcode == Opcode::kLoad || i.opcode == Opcode::kStore) {
    const bool load = i.opcode == Opcode::kLoad;
    const auto element = static_cast<uint64_t>(config.DramElementBytes(i.memory));
    for (uint64_t e = 0; e < SramRowsOf(i) * SramRowElementsOf(i); ++e) touch(SpaceOf(i.memory), load, i.sram_base + e);
    for (uint64_t y = 0; y < i.y_size; ++y) {
      for (uint64_t b = 0; b < i.x_size * element; ++b)
        touch(Space::kDram, !load, (i.dram_base + y * i.x_stride) * element + b);
    }
    return touched;
  }
  const bool gemm = i.opcode == Opcode::kGemm, reset = gemm && i.mode == GemmMode::kReset;
  for (uint64_t o = 0; o < i.iter_out; ++o) {
    for (uint64_t n = 0; n < i.iter_in; ++n) {
      for (uint64_t u = 0; u < i.uop_count; ++u) {
        touch(Space::kUop, false, i.uop_begin + u);
        const uint64_t dst = ops[u].dst + o * i.dst_out + n * i.dst_in, src = ops[u].src + o * i.src_out + n * i.src_in,
                       wgt = ops[u].wgt + o * i.wgt_out + n * i.wgt_in;
        touch(Space::kAcc, true, dst);
        if (!gemm || i.mode == GemmMode::kAccumulate) touch(Space::kAcc, false, dst);
        if (gemm && !reset) touch(Space::kInp, false, src), touch(Space::kWgt, false, wgt);
        if (!gemm && !i.use_imm) touch(Space::kAcc, false, src);
      }
    }
  }
  return touched;
}

TEST(Accesses, AreWhatAWalkTouches) {
  std::mt19937_64 random(1);
  Config config = Config::Named("pynq").value();
  config.dram_bytes = 20000;
  const auto up = [&](uint64_t most) { return static_cast<uint32_t>(random() % most); };
  for (int round = 0; round < 3000; ++round) {
    Instruction i;
    std::vector<MicroOp> ops;
    if (round % 2 == 0) {
      const bool store = up(3) == 0;
      i = {.opcode = store ? Opcode::kStore : Opcode::kLoad,
           .memory = static_cast<Memory>(store ? 3 + up(2) : up(kMemories)),
           .sram_base = up(2100),
           .dram_base = up(1400),
           .y_size = up(6),
           .x_size = up(9),
           .x_stride = up(20)};
      if (!store && i.memory != Memory::kUop)
        i.y_pad_before = up(4), i.y_pad_after = up(4), i.x_pad_before = up(4), i.x_pad_after = up(4);
    } else {
      i = {.opcode = up(2) == 0 ? Opcode::kGemm : Opcode::kAlu,
           .uop_begin = up(8000),
           .uop_count = up(8),
           .iter_out = up(6),
           .iter_in = up(6),
           .dst_out = up(300),
           .dst_in = up(50),
           .src_out = up(300),
           .src_in = up(50)};
      if (i.opcode == Opcode::kGemm)
        i.mode = static_cast<GemmMode>(up(kGemmModes)), i.wgt_out = up(20), i.wgt_in = up(20);
      if (i.opcode == Opcode::kAlu) i.use_imm = up(2) == 0;
      for (uint32_t u = 0; u < i.uop_count; ++u) ops.push_back({up(2048), up(2048), up(128)});
    }
    ASSERT_EQ(Enumerate(AccessesOf(i, ops, config)), Walk(i, ops, config)) << round;
  }
}

TEST(Accesses, AreFewForLargeInstructions) {
  const Config config = Config::Named("pynq").value();
  const Instruction load{.opcode = Opcode::kLoad,
                         .memory = Memory::kInp,
                         .y_size = 16,
                         .x_size = 56,
                         .x_stride = 60,
                         .x_pad_before = 1,
                         .x_pad_after = 1};
  EXPECT_EQ(AccessesOf(load, {}, config).size(), 2u);
  const Instruction gemm{.opcode = Opcode::kGemm,
                         .uop_count = 1,
                         .iter_out = 14,
                         .iter_in = 28,
                         .dst_out = 28,
                         .dst_in = 1,
                         .src_out = 58,
                         .src_in = 1};
  EXPECT_EQ(AccessesOf(gemm, {{0, 0, 0}}, config).size(),
            5u);  // micro-ops, weights, inputs, accumulators read and written
  // Where the micro-ops are not known, all of a memory counts.
  const Accesses unknown = AccessesOf(gemm, {}, config);
  EXPECT_EQ(Enumerate(unknown).count({Space::kAcc, true, 2047}), 1u);
}

TEST(Accesses, RunsOverlapWhereTheyHaveAnElementInCommon) {
  std::mt19937_64 random(2);
  const auto any = [&] {
    isa::Run run{random() % 40, 1 + random() % 6, 0, 1 + random() % 5};
    if (run.count > 1) run.stride = run.length + random() % 9;
    return run;
  };
  int overlapping = 0;
  for (int round = 0; round < 20000; ++round) {
    const isa::Run a = any(), b = any();
    bool want = false;
    for (uint64_t i = 0; i < a.count; ++i) {
      for (uint64_t j = 0; j < b.count; ++j) {
        const uint64_t first = a.begin + i * a.stride, second = b.begin + j * b.stride;
        want = want || (first < second + b.length && second < first + a.length);
      }
    }
    overlapping += want ? 1 : 0;
    ASSERT_EQ(Overlap(a, b), want) << round;
    const Accesses reads = {{Space::kInp, false, a}}, writes = {{Space::kInp, true, b}},
                   elsewhere = {{Space::kAcc, true, b}};
    EXPECT_EQ(Conflict(reads, writes), want);
    EXPECT_FALSE(Conflict(reads, {{Space::kInp, false, b}}));
    EXPECT_FALSE(Conflict(reads, elsewhere));
  }
  EXPECT_GT(overlapping, 1000);
}

}  // namespace
}  // namespace smelt::vdla::isa
