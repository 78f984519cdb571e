// Folding of nests: which micro-ops run, and in which memory they lie.
#include "vdla/lower/micro_ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <tuple>

#include "absl/strings/str_cat.h"

namespace smelt::vdla::lower {
namespace {

using isa::Config;
using isa::Instruction;
using isa::MicroOp;
using testing::HasSubstr;
using Triple = std::tuple<int64_t, int64_t, int64_t>;

Config Pynq() { return Config::Named("pynq").value(); }

std::vector<Triple> Expand(const FoldedNest& folded, uint32_t begin, uint32_t end) {
  std::vector<Triple> all;
  const Instruction& i = folded.instruction;
  for (uint32_t out = 0; out < i.iter_out; ++out) {
    for (uint32_t in = 0; in < i.iter_in; ++in) {
      for (uint32_t u = begin; u < end; ++u) {
        const MicroOp& op = folded.micro_ops[u];
        all.push_back({op.dst + out * i.dst_out + in * i.dst_in, op.src + out * i.src_out + in * i.src_in,
                       op.wgt + out * i.wgt_out + in * i.wgt_in});
      }
    }
  }
  return all;
}

void Visit(const WorkNest& nest, size_t depth, Triple at, std::vector<Triple>& all) {
  if (depth == nest.dims.size()) {
    all.push_back(at);
    return;
  }
  for (int64_t i = 0; i < nest.dims[depth].count; ++i) {
    const auto& dim = nest.dims[depth];
    Visit(nest, depth + 1,
          {std::get<0>(at) + i * dim.dst, std::get<1>(at) + i * dim.src, std::get<2>(at) + i * dim.wgt}, all);
  }
}
std::vector<Triple> Direct(const WorkNest& nest) {
  std::vector<Triple> all;
  Visit(nest, 0, {nest.dst, nest.src, nest.wgt}, all);
  return all;
}

WorkNest RandomNest(std::mt19937& random, bool weights) {
  const auto below = [&](int64_t bound) { return static_cast<int64_t>(random() % static_cast<uint64_t>(bound)); };
  WorkNest nest{.dst = below(10), .src = below(10), .wgt = weights ? below(4) : 0};
  int64_t dst = 1, src = 1;
  for (int64_t d = 1 + below(5); d-- > 0;) {
    WorkNest::Dim dim{.count = 1 + below(4), .src = src, .wgt = weights ? below(3) : 0};
    if (below(3) > 0) {
      dim.dst = dst;
      dst = dst * dim.count + below(2);
    }
    src = src * dim.count + below(2);
    nest.dims.insert(nest.dims.begin(), dim);
  }
  return nest;
}

TEST(FoldGemm, RunsEveryProductOnceAndTheFirstOfEachSumFirst) {
  for (int seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const WorkNest nest = RandomNest(random, true);
    const FoldedNest folded = FoldGemm(nest, Pynq()).value();
    const uint32_t size = static_cast<uint32_t>(folded.micro_ops.size());
    std::vector<Triple> expected = Direct(nest), got = Expand(folded, 0, size);
    std::sort(expected.begin(), expected.end());
    std::sort(got.begin(), got.end());
    EXPECT_TRUE(got == expected);
    // The front of the list writes each destination once, and all of them.
    std::multiset<int64_t> first;
    std::set<int64_t> all;
    for (const auto& [dst, src, wgt] : Expand(folded, 0, folded.first)) first.insert(dst);
    for (const auto& [dst, src, wgt] : expected) all.insert(dst);
    EXPECT_TRUE(std::equal(first.begin(), first.end(), all.begin(), all.end()));
  }
}

TEST(FoldGemm, KeepsSumsIntoOneAccumulatorApart) {
  // One block of channels: were rows and columns both folded, every micro-op would wait for the one before.
  const WorkNest nest{
      .dims = {{.count = 9, .wgt = 1}, {.count = 14, .dst = 14, .src = 16}, {.count = 14, .dst = 1, .src = 1}}};
  const FoldedNest folded = FoldGemm(nest, Pynq()).value();
  EXPECT_EQ(folded.micro_ops.size(), 126u);
  EXPECT_NE(folded.micro_ops[0].dst, folded.micro_ops[1].dst);
  // With two blocks the list has neighbours of its own.
  WorkNest two = nest;
  two.dims.insert(two.dims.begin() + 1, {.count = 2, .dst = 196, .wgt = 9});
  EXPECT_EQ(FoldGemm(two, Pynq()).value().micro_ops.size(), 18u);
}

TEST(FoldGemm, ListsThatDoNotFitAreAvoidedOrRefused) {
  Config small = Pynq();
  small.uop_bytes = 64 * 4;
  const WorkNest nest{
      .dims = {{.count = 9, .wgt = 1}, {.count = 14, .dst = 14, .src = 16}, {.count = 14, .dst = 1, .src = 1}}};
  EXPECT_EQ(FoldGemm(nest, small).value().micro_ops.size(), 9u);
  const WorkNest sums{.dims = {{.count = 65, .src = 1}}};
  EXPECT_THAT(std::string(FoldGemm(sums, small).status().message()),
              HasSubstr("65 micro-ops, and there is room for 64"));
}

TEST(FoldAlu, KeepsTheOrderWhereItMatters) {
  for (int seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const WorkNest nest = RandomNest(random, false);
    const FoldedNest folded = FoldAlu(nest, /*any_order=*/false, Pynq()).value();
    EXPECT_TRUE(Expand(folded, 0, folded.first) == Direct(nest)) << "seed " << seed;
  }
}

TEST(FoldAlu, AnEpilogueIsOneMicroOp) {
  const WorkNest nest{.dims = {{.count = 4, .dst = 196, .src = 1}, {.count = 14, .dst = 14}, {.count = 14, .dst = 1}}};
  const FoldedNest folded = FoldAlu(nest, /*any_order=*/true, Pynq()).value();
  EXPECT_EQ(folded.micro_ops.size(), 1u);
  EXPECT_EQ(folded.instruction.iter_out * folded.instruction.iter_in, 784u);
}

TEST(MicroOpLists, EqualListsAreOne) {
  MicroOpLists lists;
  const int first = lists.Add({{1, 2, 3}, {4, 5, 6}});
  EXPECT_NE(lists.Add({{1, 2, 3}}), first);
  EXPECT_EQ(lists.Add({{1, 2, 3}, {4, 5, 6}}), first);
  EXPECT_EQ(lists.image().size(), 3u);
}

TEST(MicroOpMemory, LoadsEverythingAtOnceWhereItFits) {
  MicroOpLists lists;
  const int a = lists.Add(std::vector<MicroOp>(10, {1, 1, 1})), b = lists.Add(std::vector<MicroOp>(20, {2, 2, 2}));
  MicroOpMemory memory(lists, 1000, Pynq());
  std::vector<Instruction> loads;
  EXPECT_EQ(memory.Need(b, &loads).value(), 10);
  EXPECT_EQ(memory.Need(a, &loads).value(), 0);
  ASSERT_EQ(loads.size(), 1u);
  EXPECT_EQ(loads[0].x_size, 30u);
  EXPECT_EQ(loads[0].dram_base, 1000u);
}

TEST(MicroOpMemory, RandomUseFindsItsListInPlace) {
  for (int seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    Config config = Pynq();
    config.uop_bytes = 64 * 4;
    MicroOpLists lists;
    for (uint32_t i = 0; i < 12; ++i) lists.Add(std::vector<MicroOp>(1 + random() % 30, MicroOp{i, i, i}));
    MicroOpMemory memory(lists, 0, config);
    std::vector<MicroOp> sram(64);
    for (int use = 0; use < 100; ++use) {
      const int list = static_cast<int>(random() % 12);
      std::vector<Instruction> loads;
      const int64_t begin = memory.Need(list, &loads).value();
      for (const Instruction& load : loads) {
        for (uint32_t x = 0; x < load.x_size; ++x) sram.at(load.sram_base + x) = lists.image()[load.dram_base + x];
      }
      for (int64_t i = 0; i < lists.SizeOf(list); ++i) ASSERT_EQ(sram.at(begin + i).dst, list) << "seed " << seed;
    }
  }
}

TEST(MicroOpMemory, AListThatIsTooLongIsRefused) {
  Config config = Pynq();
  config.uop_bytes = 16;
  MicroOpLists lists;
  const int list = lists.Add(std::vector<MicroOp>(5));
  MicroOpMemory memory(lists, 0, config);
  std::vector<Instruction> loads;
  EXPECT_THAT(std::string(memory.Need(list, &loads).status().message()),
              HasSubstr("5 micro-ops, and the memory holds 4"));
}

}  // namespace
}  // namespace smelt::vdla::lower
