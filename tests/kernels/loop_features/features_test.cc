// Features of loops: of known loops they are known numbers, of all kernels they have one length.
#include "kernels/loop_features/features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>

#include "absl/random/random.h"
#include "absl/strings/str_cat.h"
#include "hlo/text/parser.h"
#include "kernels/config/config.h"
#include "kernels/loop_features/loop_tree.h"
#include "kernels/loop_features/machine_facts.h"
#include "kernels/lower/lower.h"
#include "tests/kernels/agreement/snippets.h"

namespace smelt::kernels::loop_features {
namespace {

using te::Placeholder;
using te::ReduceAxis;
using te::Tensor;

constexpr Kind kKinds[] = {Kind::kContextRelation, Kind::kFlattened, Kind::kInvariant, Kind::kMachine};

// c[64, 32] = a[64, 16] * b[16, 32]
te::Graph ProductGraph() {
  const Tensor a = Placeholder("a", {64, 16}, te::PrimitiveType::kF32);
  const Tensor b = Placeholder("b", {16, 32}, te::PrimitiveType::kF32);
  const ReduceAxis k(16, "k");
  const Tensor c = te::Compute("c", {64, 32}, [&](te::Indices i) { return te::Sum(a(i[0], k) * b(k, i[1]), {k}); });
  return te::MakeGraph({a, b}, {c});
}

std::vector<Touch> TouchesOf(const LoopTree& tree, const std::string& buffer) {
  for (const AccessNode& access : tree.accesses) {
    if (access.buffer->name == buffer && !access.store) return access.at;
  }
  return {};
}

TEST(LoopTree, CountsWhatEachLoopTouches) {
  const ir::Function function = lower::LowerToLoops(schedule::Schedule(ProductGraph()), {}).value();
  const LoopTree tree = BuildLoopTree(function);
  const std::vector<Touch> a = TouchesOf(tree, "a"), b = TouchesOf(tree, "b");
  ASSERT_EQ(a.size(), 3);  // the sum, columns, rows
  EXPECT_EQ(a[0].touched, 16);
  EXPECT_EQ(a[0].stride, 1);
  EXPECT_EQ(a[1].touched, 16);
  EXPECT_EQ(a[1].reuse, 32);
  EXPECT_EQ(a[1].stride, 0);
  EXPECT_EQ(a[2].touched, 64 * 16);
  EXPECT_EQ(a[2].stride, 16);
  ASSERT_EQ(b.size(), 3);
  EXPECT_EQ(b[0].stride, 32);
  EXPECT_EQ(b[1].touched, 16 * 32);
  EXPECT_EQ(b[2].reuse, 64);
}

TEST(LoopTree, WindowsOverlap) {
  const Tensor x = Placeholder("x", {34}, te::PrimitiveType::kF32);
  const ReduceAxis k(3, "k");
  const Tensor y = te::Compute("y", {32}, [&](te::Indices i) { return te::Sum(x(i[0] + k), {k}); });
  const ir::Function function = lower::LowerToLoops(schedule::Schedule(te::MakeGraph({x}, {y})), {}).value();
  const LoopTree tree = BuildLoopTree(function);
  const std::vector<Touch> touches = TouchesOf(tree, "x");
  ASSERT_EQ(touches.size(), 2);
  EXPECT_EQ(touches[0].touched, 3);
  EXPECT_EQ(touches[1].touched, 34);
  EXPECT_NEAR(touches[1].reuse, 96.0 / 34, 1e-9);
}

float FactOf(const std::vector<float>& facts, const std::string& name) {
  const auto at = std::find(MachineFactNames().begin(), MachineFactNames().end(), name);
  EXPECT_NE(at, MachineFactNames().end()) << name;
  return facts[static_cast<size_t>(at - MachineFactNames().begin())];
}

// y[64, 32] of x by an index, along whose second axis vectors run.
std::vector<float> FactsOfVectors(
    const std::vector<int64_t>& shape,
    const std::function<te::Expr(const Tensor& x, const te::Expr& row, const te::Expr& column)>& read) {
  const Tensor x = Placeholder("x", shape, te::PrimitiveType::kF32);
  const Tensor y = te::Compute("y", {64, 32}, [&](te::Indices i) { return read(x, i[0], i[1]); });
  schedule::Schedule schedule(te::MakeGraph({x}, {y}));
  const auto lanes = schedule.Split("y", "i1", 16).value();
  EXPECT_TRUE(schedule.Vectorize("y", lanes.second).ok());
  const ir::Function function = lower::LowerToLoops(schedule, {}).value();
  return MachineFacts(BuildLoopTree(function), schedule, function, machine::Machine());
}

TEST(MachineFacts, CountInstructionsByHowLanesAreLoaded) {
  constexpr double kVectors = 64 * 32 / 16;
  using te::Expr;
  const std::vector<float> rows = FactsOfVectors(
      {64, 32}, [](const Tensor& x, const Expr& i, const Expr& j) { return x(i, j) * x(i, j) + x(i, j); });
  EXPECT_EQ(FactOf(rows, "log loads of vectors"), SignedLog(kVectors));
  EXPECT_EQ(FactOf(rows, "log vectors stored"), SignedLog(kVectors));
  EXPECT_EQ(FactOf(rows, "log simple instructions"), SignedLog(2 * kVectors));
  EXPECT_EQ(FactOf(rows, "log loads lane by lane"), 0);
  EXPECT_EQ(FactOf(rows, "log steps of loops"), SignedLog(64 + 64 * 2));

  const std::vector<float> columns =
      FactsOfVectors({32, 64}, [](const Tensor& x, const Expr& i, const Expr& j) { return x(j, i); });
  EXPECT_EQ(FactOf(columns, "log loads lane by lane"), SignedLog(64 * 32));
  EXPECT_EQ(FactOf(columns, "log loads of vectors"), 0);
  EXPECT_GT(FactOf(columns, "log cycles"), FactOf(rows, "log cycles"));

  const std::vector<float> every_other =
      FactsOfVectors({64, 64}, [](const Tensor& x, const Expr& i, const Expr& j) { return x(i, j * 2); });
  EXPECT_EQ(FactOf(every_other, "log loads shuffled"), SignedLog(2 * kVectors));

  // One element a row, whatever the column: loaded outside of the loop over columns.
  const std::vector<float> broadcast =
      FactsOfVectors({64}, [](const Tensor& x, const Expr& i, const Expr&) { return x(i); });
  EXPECT_EQ(FactOf(broadcast, "log loads of single elements"), SignedLog(64));

  const std::vector<float> exponentials = FactsOfVectors(
      {64, 32}, [](const Tensor& x, const Expr& i, const Expr& j) { return te::Unary(te::UnaryOp::kExp, x(i, j)); });
  EXPECT_EQ(FactOf(exponentials, "log slow instructions"), SignedLog(kVectors));
}

TEST(MachineFacts, KnowLanesThreadsAndRegisters) {
  schedule::Schedule schedule(ProductGraph());
  const std::string sum = schedule.CacheWrite("c", ir::Scope::kLocal).value();
  const auto rows = schedule.Split("c", "i0", 4).value();
  const auto columns = schedule.Split("c", "i1", 16).value();
  ASSERT_TRUE(schedule.Reorder("c", {rows.first, columns.first, rows.second, columns.second}).ok());
  ASSERT_TRUE(schedule.Parallel("c", rows.first).ok());
  ASSERT_TRUE(schedule.Vectorize("c", columns.second).ok());
  ASSERT_TRUE(schedule.Unroll("c", rows.second).ok());
  ASSERT_TRUE(schedule.ComputeAt(sum, "c", columns.first).ok());
  ASSERT_TRUE(schedule.Reorder(sum, {"r0", "i0", "i1"}).ok());
  const auto lanes = schedule.Split(sum, "i1", 16).value();
  ASSERT_TRUE(schedule.Vectorize(sum, lanes.second).ok());
  ASSERT_TRUE(schedule.Unroll(sum, "i0").ok());
  machine::Machine machine;
  machine.threads = 3;
  const ir::Function function = lower::LowerToLoops(schedule, {}).value();
  const std::vector<float> facts = MachineFacts(BuildLoopTree(function), schedule, function, machine);
  ASSERT_EQ(facts.size(), MachineFactNames().size());
  const auto fact = [&](const std::string& name) { return FactOf(facts, name); };
  EXPECT_EQ(fact("accumulators"), 4);
  EXPECT_EQ(fact("accumulators over registers"), 4.0f / 32);
  EXPECT_EQ(fact("share of work in vectors"), 1);
  EXPECT_EQ(fact("share of lanes filled"), 1);
  EXPECT_EQ(fact("share of work that is serial"), 0);
  // Sixteen pieces on three threads: the slowest has six.
  EXPECT_NEAR(fact("balance of threads"), 16.0 / 3 / 6, 1e-6);
  // A step of the sum loads one vector of b and four elements of a, for four multiply-adds.
  EXPECT_NEAR(fact("loads a vector operation"), 5.0 / 4, 1e-6);
  EXPECT_EQ(fact("log steps of an accumulator"), SignedLog(16));
}

TEST(MachineFacts, BytesMovedFollowTheCache) {
  const ir::Function function = lower::LowerToLoops(schedule::Schedule(ProductGraph()), {}).value();
  const LoopTree tree = BuildLoopTree(function);
  // All of it fits: each array is read or written once.
  const double all = 4 * (64 * 16 + 16 * 32 + 64 * 32);
  EXPECT_EQ(BytesMoved(tree, 1 << 20), all);
  // A row fits with all of b, not the whole: b is read for each row.
  EXPECT_GT(BytesMoved(tree, 3000), all);
  EXPECT_LE(BytesMoved(tree, 3000), 64 * 4 * (16 + 16 * 32 + 2 * 32));
}

class FeaturesOfSnippet : public ::testing::TestWithParam<Snippet> {};

TEST_P(FeaturesOfSnippet, HaveOneLengthAndAreFinite) {
  const std::unique_ptr<hlo::Module> module = ParseSnippet(GetParam());
  const machine::Machine machine;
  const config::ConfigSpace space = config::SpaceOf(*module->entry(), machine).value();
  const schedule::Schedule schedule = space.ScheduleFor(space.Default()).value();
  for (Kind kind : kKinds) {
    const absl::StatusOr<std::vector<float>> row = Features(schedule, machine, kind);
    ASSERT_TRUE(row.ok()) << row.status();
    EXPECT_EQ(row->size(), Length(kind));
    EXPECT_EQ(*row, *Features(schedule, machine, kind));
    for (size_t i = 0; i < row->size(); ++i) EXPECT_TRUE(std::isfinite((*row)[i])) << Names(kind)[i];
  }
  const LoopSequence sequence = ContextSequence(schedule, machine).value();
  EXPECT_EQ(sequence.width, ContextWidth());
  EXPECT_EQ(sequence.contexts.size(), sequence.width * sequence.parents.size());
  for (int l = 0; l < sequence.size(); ++l) EXPECT_LT(sequence.parents[l], l);
}

INSTANTIATE_TEST_SUITE_P(All, FeaturesOfSnippet, ::testing::ValuesIn(Snippets()),
                         [](const auto& info) { return std::string(info.param.name); });

// Different schedules of one kernel are told apart, and what it takes is printed: cost models ask for thousands.
TEST(Features, TellSchedulesApart) {
  const std::unique_ptr<hlo::Module> module = hlo::ParseModule(R"(HloModule m
ENTRY e {
  x = f32[1,58,58,64] parameter(0)
  w = f32[3,3,64,64] parameter(1)
  ROOT c = f32[1,56,56,64] convolution(x, w), window={size=3x3}, dim_labels=b01f_01io->b01f
})")
                                                  .value();
  machine::Machine machine;
  machine.threads = 2;
  const config::ConfigSpace space = config::SpaceOf(*module->entry(), machine).value();
  std::seed_seq seed{7};
  absl::BitGen bits(seed);
  std::vector<std::vector<float>> rows;
  double schedules = 0, features = 0;
  constexpr int kPoints = 50;
  for (int i = 0; i < kPoints; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const absl::StatusOr<schedule::Schedule> schedule = space.ScheduleFor(space.Random(bits));
    ASSERT_TRUE(schedule.ok()) << schedule.status();
    const auto made = std::chrono::steady_clock::now();
    rows.push_back(Features(*schedule, machine, Kind::kContextRelation).value());
    features += std::chrono::duration<double>(std::chrono::steady_clock::now() - made).count();
    schedules += std::chrono::duration<double>(made - start).count();
  }
  std::printf("a point: schedule %.3f ms, features %.3f ms\n", 1e3 * schedules / kPoints, 1e3 * features / kPoints);
  std::sort(rows.begin(), rows.end());
  EXPECT_GE(std::unique(rows.begin(), rows.end()) - rows.begin(), kPoints * 9 / 10);
}

}  // namespace
}  // namespace smelt::kernels::loop_features
