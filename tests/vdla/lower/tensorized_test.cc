// Schedules with tensorize: the 8x8 product of the TVM paper (Section 4.3, Figures 5 and 6) as tensor expressions, and
// a convolution whose sums are the GEMM unit's own instruction.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "hlo/literal.h"
#include "kernels/lower/lower.h"
#include "kernels/schedule/schedule.h"
#include "kernels/schedule/state.h"
#include "kernels/te/evaluate.h"
#include "kernels/te/tensor.h"
#include "sim/machine.h"
#include "sim/simulate.h"
#include "vdla/lower/convolution.h"
#include "vdla/lower/emit.h"
#include "vdla/lower/intrinsics.h"
#include "vdla/lower/loops.h"
#include "vdla/lower/memories.h"

namespace smelt::vdla::lower {
namespace {

using isa::Config;
using kernels::schedule::Schedule;
using sim::Timing;
using te::Expr;
using te::PrimitiveType;
using te::Tensor;
using testing::HasSubstr;

constexpr te::DataType kS32{PrimitiveType::kS32, 1};

Expr Product(const Expr& a, const Expr& b) {
  return te::Binary(te::BinaryOp::kMul, te::Cast(kS32, a), te::Cast(kS32, b));
}

// A machine whose unit multiplies 8x8 by 8x8.
Config Eight() {
  Config config = Config::Named("pynq").value();
  config.name = "eight";
  config.batch = config.block_in = config.block_out = 8;
  config.wgt_bytes = 256 * 64;  // as many elements as micro-ops can name
  return config;
}

// c[y, x] = sum over k of a[y, k] * b[x, k], each in blocks of 8x8.
te::Graph BlockedProduct(int64_t rows, int64_t columns, int64_t depth) {
  const Tensor a = te::Placeholder("a", {rows, depth, 8, 8}, PrimitiveType::kS8);
  const Tensor b = te::Placeholder("b", {columns, depth, 8, 8}, PrimitiveType::kS8);
  const te::ReduceAxis ko(depth, "ko"), ki(8, "ki");
  const Tensor c = te::Compute("c", {rows, columns, 8, 8}, [&](te::Indices i) {
    return te::Sum(Product(a(i[0], ko, i[2], ki), b(i[1], ko, i[3], ki)), {ko, ki});
  });
  return te::MakeGraph({a, b}, {c});
}

// The paper's schedule: the sum in the accumulators, its operands copied into their memories a part of the depth at a
// time, the innermost 8x8 put in hardware, tiles of the output shared by virtual threads.
absl::StatusOr<Schedule> PaperSchedule(const te::Graph& graph, const Config& config, int64_t rows, int64_t columns,
                                       int64_t depth, int64_t threads, bool tensorize = true) {
  const te::ScopeTable memories = Memories(config);
  Schedule s(graph, memories, {GemmInstruction(config)});
  SMELT_ASSIGN_OR_RETURN(const std::string cl, s.CacheWrite("c", *memories.Find("acc")));
  SMELT_ASSIGN_OR_RETURN(const std::string al, s.CacheRead("a", *memories.Find("inp"), {cl}));
  SMELT_ASSIGN_OR_RETURN(const std::string bl, s.CacheRead("b", *memories.Find("wgt"), {cl}));
  SMELT_ASSIGN_OR_RETURN(auto tile, s.Tile("c", "i0", "i1", rows, columns));
  if (threads > 1) {
    SMELT_ASSIGN_OR_RETURN(const auto shared, s.Split("c", tile[1], threads));
    SMELT_RETURN_IF_ERROR(s.Bind("c", shared.second, kernels::ir::ForKind::kVirtualThread));
    tile[1] = shared.second;
  }
  SMELT_RETURN_IF_ERROR(s.ComputeAt(cl, "c", tile[1]));
  SMELT_ASSIGN_OR_RETURN(const auto k, s.Split(cl, "r0", depth));
  SMELT_RETURN_IF_ERROR(s.Reorder(cl, {k.first, k.second, "i0", "i1", "i2", "i3", "r1"}));
  SMELT_RETURN_IF_ERROR(s.ComputeAt(al, cl, k.first));
  SMELT_RETURN_IF_ERROR(s.ComputeAt(bl, cl, k.first));
  if (tensorize) SMELT_RETURN_IF_ERROR(s.Tensorize(cl, "i2", "vdla_gemm"));
  return s;
}

hlo::Literal Random(std::vector<int64_t> dimensions, std::mt19937& random) {
  hlo::Literal literal(hlo::Shape::Array(PrimitiveType::kS8, std::move(dimensions)));
  for (int64_t i = 0; i < literal.element_count(); ++i)
    literal.SetInteger(i, static_cast<int64_t>(random() % 256) - 128);
  return literal;
}

// The program of a schedule of `a` and `b`, run on both simulators and compared with the definition. Gives the report
// of the cycle simulator.
absl::StatusOr<sim::Report> RunAndCompare(const Schedule& s, const Config& config) {
  SMELT_ASSIGN_OR_RETURN(const kernels::ir::Function function, kernels::lower::LowerToLoops(s, {}));
  SMELT_ASSIGN_OR_RETURN(const Operations operations, OperationsOf(function, config));
  SMELT_ASSIGN_OR_RETURN(Emitted emitted, Emit(operations, config));
  std::mt19937 random(5);
  std::vector<hlo::Literal> inputs;
  std::vector<const hlo::Literal*> pointers;
  for (const Tensor& input : s.graph().inputs)
    inputs.push_back(Random({input.shape().begin(), input.shape().end()}, random));
  for (size_t i = 0; i < inputs.size(); ++i) {
    pointers.push_back(&inputs[i]);
    for (isa::Segment& segment : emitted.program.segments) {
      if (segment.name == function.arguments[i]->name)
        segment.bytes.assign(static_cast<const char*>(inputs[i].raw()), static_cast<size_t>(inputs[i].byte_size()));
    }
  }
  SMELT_ASSIGN_OR_RETURN(const auto expected, te::Evaluate(s.graph(), pointers));
  const std::string_view want(static_cast<const char*>(expected[0].raw()),
                              static_cast<size_t>(expected[0].byte_size()));
  sim::Report report;
  for (const Timing timing : {Timing::kFunctional, Timing::kCycle}) {
    SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<sim::Machine> machine, sim::Machine::Create(config));
    SMELT_RETURN_IF_ERROR(machine->LoadSegments(emitted.program));
    report = sim::Simulate(*machine, emitted.program.instructions, {.timing = timing});
    SMELT_RETURN_IF_ERROR(report.ToStatus());
    const isa::Segment* out = emitted.program.Find(function.arguments.back()->name);
    SMELT_ASSIGN_OR_RETURN(const std::string got, machine->dram().Read(out->address, out->size));
    if (got != want) return absl::InternalError("the output differs from the definition");
  }
  return report;
}

TEST(Tensorized, TheEightByEightProductOfThePaperRuns) {
  const te::Graph graph = BlockedProduct(16, 16, 16);  // 128 x 128 x 128
  int64_t cycles[3] = {};
  for (const int64_t threads : {1, 2}) {
    const auto s = PaperSchedule(graph, Eight(), 4, 4, 4, threads);
    ASSERT_TRUE(s.ok()) << s.status();
    EXPECT_THAT(s->ToString(), HasSubstr("vdla_gemm"));
    const auto report = RunAndCompare(*s, Eight());
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->gemm_micro_ops, 16 * 16 * 16);  // every block is multiplied once, and no cycle resets
    EXPECT_EQ(report->alu_micro_ops, 0);
    cycles[threads] = report->cycles;
  }
  EXPECT_LT(cycles[2], cycles[1]);  // loads hide behind the other thread's products
}

TEST(Tensorized, ThePartsOfADepthThatDoNotDivideAreRight) {
  const auto s = PaperSchedule(BlockedProduct(5, 6, 7), Eight(), 2, 3, 3, 1);
  ASSERT_TRUE(s.ok()) << s.status();
  const auto report = RunAndCompare(*s, Eight());
  EXPECT_TRUE(report.ok()) << report.status();
}

// The loop of another stage at which the stage is computed.
std::string LoopOf(const Schedule& s, const std::string& name) {
  const auto& state = s.state();
  const auto& stage = state.stages[state.IndexOf(name)];
  return state.stages[state.IndexOf(stage.attach_stage)].loops[stage.attach_loop].name;
}

TEST(Tensorized, DoubleBuffersAndPipelinesLoadAheadOfTheProducts) {
  const te::Graph graph = BlockedProduct(16, 16, 16);
  const auto cycles = [&](auto overlap) -> int64_t {
    auto s = PaperSchedule(graph, Eight(), 4, 4, 4, 1);
    EXPECT_TRUE(s.ok()) << s.status();
    const absl::Status overlapped = overlap(*s);
    EXPECT_TRUE(overlapped.ok()) << overlapped;
    const auto report = RunAndCompare(*s, Eight());
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? report->cycles : 0;
  };
  const int64_t plain = cycles([](Schedule&) { return absl::OkStatus(); });
  const int64_t doubled = cycles([](Schedule& s) {
    absl::Status status = s.DoubleBuffer("a.inp");
    status.Update(s.DoubleBuffer("b.wgt"));
    return status;
  });
  const int64_t pipelined = cycles([](Schedule& s) {
    return s.Pipeline("c.acc", LoopOf(s, "a.inp"), {0, 0, 1}, {0, 1, 2});
  });
  const int64_t deeper = cycles([](Schedule& s) {
    return s.Pipeline("c.acc", LoopOf(s, "a.inp"), {0, 0, 2}, {0, 1, 2});
  });
  std::printf("128^3 by one thread: %d cycles, %d with double buffers, %d with three\n", static_cast<int>(plain),
              static_cast<int>(doubled), static_cast<int>(deeper));
  EXPECT_LT(doubled, plain);
  EXPECT_EQ(pipelined, doubled);
  EXPECT_LT(deeper, plain);  // it may be no better than two: each place of a buffer has micro-ops of its own
}

TEST(Tensorized, TilesOfTheOutputTakeTurns) {
  Schedule s = PaperSchedule(BlockedProduct(16, 16, 16), Eight(), 4, 4, 4, 1).value();
  ASSERT_TRUE(s.Pipeline("c", LoopOf(s, "c.acc"), {0, 1}, {0, 1}).ok());
  const auto function = kernels::lower::LowerToLoops(s, {}).value();
  EXPECT_THAT(OperationsOf(function, Eight()).value().ToString(), HasSubstr("allocate ACC c.acc[16] 2 in turn by v1"));
  const auto report = RunAndCompare(s, Eight());
  EXPECT_TRUE(report.ok()) << report.status();
}

TEST(Tensorized, WhatTheMachineHasNothingForIsRefused) {
  const auto refusal = [](auto annotate) {
    auto s = PaperSchedule(BlockedProduct(8, 8, 16), Eight(), 8, 8, 8, 1, /*tensorize=*/false);
    const absl::Status annotated = annotate(*s);
    EXPECT_TRUE(annotated.ok()) << annotated;
    return std::string(RunAndCompare(*s, Eight()).status().message());
  };
  EXPECT_THAT(refusal([](Schedule& s) {
                return s.Pipeline("c.acc", LoopOf(s, "a.inp"), {0, 0, 1}, {1, 0, 2});
              }),
              HasSubstr("has an order of its own"));
  EXPECT_THAT(refusal([](Schedule& s) { return s.Prefetch("a", "a.inp", "i0", 1); }),
              HasSubstr("no cache to prefetch `a`"));
  EXPECT_THAT(refusal([](Schedule& s) { return s.StorageAlign("a.inp", 0, 32, 8); }),
              HasSubstr("leave storage_align out"));
  // Half of the depth does not fit so many times.
  EXPECT_THAT(refusal([](Schedule& s) {
                return s.Pipeline("c.acc", LoopOf(s, "a.inp"), {0, 0, 16}, {0, 1, 2});
              }),
              HasSubstr("fewer copies fit"));
}

TEST(Tensorized, AProductThatIsNotTheUnitsIsRefusedWithWhatDiffers) {
  const te::Graph graph = BlockedProduct(4, 4, 4);
  const Config other = Config::Named("pynq").value();  // multiplies 1x16 by 16x16
  const auto s = PaperSchedule(graph, other, 2, 2, 2, 1);
  const absl::Status refused = s.ok() ? kernels::lower::LowerToLoops(*s, {}).status() : s.status();
  EXPECT_THAT(std::string(refused.message()), HasSubstr("vdla_gemm"));
}

// sums[o, y, x, lane] of a convolution of three by three, tensorized, against the template's own program: the same
// products, in more cycles.
TEST(Tensorized, AConvolutionIsRightAndTakesAQuarterMoreThanTheTemplate) {
  const Config config = Config::Named("pynq").value();
  const int64_t blocks = 4, size = 14;
  const Tensor x = te::Placeholder("x", {blocks, size + 2, size + 2, 1, 16}, PrimitiveType::kS8);
  const Tensor w = te::Placeholder("w", {blocks, blocks, 3, 3, 16, 16}, PrimitiveType::kS8);
  const te::ReduceAxis ib(blocks, "ib"), ky(3, "ky"), kx(3, "kx"), ki(16, "ki");
  const Tensor out = te::Compute("out", {blocks, size, size, 1, 16}, [&](te::Indices i) {
    return te::Sum(Product(x(ib, i[1] + ky, i[2] + kx, i[3], ki), w(i[0], ib, ky, kx, i[4], ki)), {ib, ky, kx, ki});
  });
  const te::ScopeTable memories = Memories(config);
  Schedule s(te::MakeGraph({x, w}, {out}), memories, {GemmInstruction(config)});
  const std::string sums = s.CacheWrite("out", *memories.Find("acc")).value();
  const std::string inp = s.CacheRead("x", *memories.Find("inp"), {sums}).value(),
                    wgt = s.CacheRead("w", *memories.Find("wgt"), {sums}).value();
  std::vector<std::string> tile = s.Tile("out", "i0", "i1", 2, 7).value();
  const auto threads = s.Split("out", tile[1], 2).value();
  ASSERT_TRUE(s.Bind("out", threads.second, kernels::ir::ForKind::kVirtualThread).ok());
  ASSERT_TRUE(s.ComputeAt(sums, "out", threads.second).ok());
  const auto parts = s.Split(sums, "r0", 2).value();
  ASSERT_TRUE(s.Reorder(sums, {parts.first, parts.second, "r1", "r2", "i0", "i1", "i2", "i3", "i4", "r3"}).ok());
  ASSERT_TRUE(s.ComputeAt(inp, sums, parts.first).ok());
  ASSERT_TRUE(s.ComputeAt(wgt, sums, parts.first).ok());
  ASSERT_TRUE(s.Tensorize(sums, "i3", "vdla_gemm").ok());
  const auto report = RunAndCompare(s, config);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->gemm_micro_ops, blocks * blocks * size * size * 9);

  Convolution c{.name = "template", .in_blocks = blocks, .out_blocks = blocks, .height = size + 2, .width = size + 2};
  c.kernel_height = c.kernel_width = 3;
  c.int8_output = false;
  const ConvolutionSchedule same{.out_blocks = 2, .rows = 7, .columns = 14, .in_blocks = 2, .threads = 2};
  const Emitted emitted = Emit(ScheduleConvolution(c, same).value(), config).value();
  const auto machine = sim::Machine::Create(config).value();
  ASSERT_TRUE(machine->LoadSegments(emitted.program).ok());
  const int64_t cycles = sim::Simulate(*machine, emitted.program.instructions).cycles;
  std::printf("a convolution of %d blocks: %d cycles tensorized, %d by the template\n", static_cast<int>(blocks),
              static_cast<int>(report->cycles), static_cast<int>(cycles));
  EXPECT_LT(report->cycles, cycles * 13 / 10);
}

}  // namespace
}  // namespace smelt::vdla::lower
