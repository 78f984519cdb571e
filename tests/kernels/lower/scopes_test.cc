// Memories that a target brings: rows that only its own schedules know.
#include "gmock/gmock.h"
#include "kernels/ir/mutate.h"
#include "tests/kernels/lower/check_lowering.h"

namespace smelt::kernels::lower {
namespace {

using testing::HasSubstr;

// An SRAM of 256 bytes that is addressed by 16 bytes, and one of 1 KiB.
const te::Scope kSmall{.name = "small",
                       .capacity_bytes = 256,
                       .alignment = 16,
                       .granularity_bytes = 16,
                       .allocator = te::Allocator::kTarget};
const te::Scope kLarge{.name = "large", .capacity_bytes = 1024, .allocator = te::Allocator::kTarget};

te::ScopeTable Memories() {
  te::ScopeTable table;
  table.others = {kSmall, kLarge};
  return table;
}

te::Graph Increment(int64_t rows, int64_t columns) {
  Tensor a = Placeholder("a", {rows, columns}, PrimitiveType::kF32);
  Tensor b = Compute("b", {rows, columns}, [&](Indices i) { return Add(a(i[0], i[1]), Constant(1)); });
  return MakeGraph({a}, {b});
}

// The buffers of a function that are neither inputs nor outputs.
std::vector<ir::Buffer> Scratch(const ir::Function& function) {
  std::vector<ir::Buffer> buffers = function.shared;
  for (const ir::Phase& phase : function.phases) {
    ir::VisitStmts(phase.body, [&](const ir::StmtNode& node) {
      if (node.kind == ir::StmtKind::kAllocate) buffers.push_back(node.buffer);
    });
  }
  return buffers;
}

TEST(Scopes, StagesLieWhereTheTargetsRowsSay) {
  const te::Graph graph = Increment(8, 12);
  Schedule s(graph, Memories());
  const std::string copy = s.CacheRead("a", kSmall, {"b"}).value();
  EXPECT_EQ(copy, "a.small");
  ASSERT_TRUE(s.ComputeAt(copy, "b", "i0").ok());
  const ir::Function function = Lower(s, {}).value();
  const std::vector<ir::Buffer> buffers = Scratch(function);
  ASSERT_EQ(buffers.size(), 1);
  EXPECT_EQ(buffers[0]->scope, kSmall);
  EXPECT_EQ(buffers[0]->alignment, 16);
  EXPECT_EQ(buffers[0]->ByteSize(), 48);
  EXPECT_THAT(ir::ToString(function), HasSubstr("small f32 a.small["));
  // A trace names the row; who reads it must bring the table.
  const auto replayed = Schedule::Replay(graph, s.ToString(), Memories());
  ASSERT_TRUE(replayed.ok()) << replayed.status();
  EXPECT_EQ(replayed->trace(), s.trace());
  EXPECT_THAT(std::string(Schedule::Replay(graph, s.ToString()).status().message()),
              HasSubstr("line 1 of the trace: `small` is no scope; there are: shared thread local"));
}

TEST(Scopes, MemoryThatLastsForTheCallMayLieOutsideOfAllLoops) {
  Schedule s(Increment(4, 12), Memories());
  ASSERT_TRUE(s.CacheRead("a", kSmall, {"b"}).ok());
  const ir::Function function = Lower(s, {}).value();
  ASSERT_EQ(function.shared.size(), 1);
  EXPECT_EQ(function.shared[0]->scope, kSmall);
}

TEST(Scopes, CapacityIsCheckedInWholeUnits) {
  // 5 rows of 13 floats are 260 bytes; 4 rows of 13 are 208, which take 208 of the 256.
  for (const int64_t rows : {4, 5}) {
    Schedule s(Increment(rows, 13), Memories());
    ASSERT_TRUE(s.CacheRead("a", kSmall, {"b"}).ok());
    const auto function = Lower(s, {});
    EXPECT_EQ(function.ok(), rows == 4);
    if (rows == 5) {
      EXPECT_THAT(std::string(function.status().message()),
                  HasSubstr("stage `a.small` takes 272 bytes of small memory where it is computed, at most 256"));
    }
  }
}

TEST(Scopes, MemoryOfAnotherTargetIsRefused) {
  Schedule s(Increment(8, 12));
  EXPECT_THAT(std::string(s.CacheRead("a", kSmall, {"b"}).status().message()), HasSubstr("no scope `small` here"));
  te::Scope larger = kSmall;
  larger.capacity_bytes *= 2;
  Schedule t(Increment(8, 12), Memories());
  EXPECT_FALSE(t.CacheRead("a", larger, {"b"}).ok());
  EXPECT_EQ(t.ToString(), "");
}

}  // namespace
}  // namespace smelt::kernels::lower
