// The whole way: tensor expressions, a schedule with stages in VDLA's memories, loops, operations, a program, the
// simulator; against the interpreter of tensor expressions.
#include "vdla/lower/loops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "hlo/literal.h"
#include "kernels/ir/interpret.h"
#include "kernels/lower/lower.h"
#include "kernels/schedule/schedule.h"
#include "kernels/te/evaluate.h"
#include "kernels/te/tensor.h"
#include "sim/machine.h"
#include "sim/simulate.h"
#include "vdla/lower/emit.h"
#include "vdla/lower/intrinsics.h"
#include "vdla/lower/memories.h"

namespace smelt::vdla::lower {
namespace {

using isa::Config;
using kernels::schedule::Schedule;
using te::BinaryOp;
using te::Expr;
using te::PrimitiveType;
using te::Tensor;
using testing::HasSubstr;

constexpr te::DataType kS8{PrimitiveType::kS8, 1}, kS32{PrimitiveType::kS32, 1};

Config Pynq() { return Config::Named("pynq").value(); }

absl::StatusOr<kernels::ir::Function> Loops(const Schedule& schedule) {
  return kernels::lower::LowerToLoops(schedule, {});
}

// The outputs of a schedule's program on the simulator for these inputs.
absl::StatusOr<std::vector<std::string>> RunOperations(const kernels::ir::Function& function,
                                                       const Operations& operations, const Config& config,
                                                       absl::Span<const hlo::Literal* const> inputs, Emitted* emitted) {
  SMELT_ASSIGN_OR_RETURN(*emitted, Emit(operations, config));
  for (isa::Segment& segment : emitted->program.segments) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (segment.name == function.arguments[i]->name)
        segment.bytes.assign(static_cast<const char*>(inputs[i]->raw()), static_cast<size_t>(inputs[i]->byte_size()));
    }
  }
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<sim::Machine> machine, sim::Machine::Create(config));
  SMELT_RETURN_IF_ERROR(machine->LoadSegments(emitted->program));
  SMELT_RETURN_IF_ERROR(sim::Simulate(*machine, emitted->program.instructions).ToStatus());
  std::vector<std::string> outputs;
  for (size_t i = static_cast<size_t>(function.input_count); i < function.arguments.size(); ++i) {
    const isa::Segment* segment = emitted->program.Find(function.arguments[i]->name);
    SMELT_ASSIGN_OR_RETURN(outputs.emplace_back(), machine->dram().Read(segment->address, segment->size));
  }
  return outputs;
}

absl::StatusOr<std::vector<std::string>> RunOnSimulator(const Schedule& schedule, const Config& config,
                                                        absl::Span<const hlo::Literal* const> inputs,
                                                        Emitted* emitted) {
  SMELT_ASSIGN_OR_RETURN(const kernels::ir::Function function, Loops(schedule));
  SMELT_ASSIGN_OR_RETURN(const Operations operations, OperationsOf(function, config));
  return RunOperations(function, operations, config, inputs, emitted);
}

hlo::Literal RandomLiteral(PrimitiveType type, std::vector<int64_t> dimensions, int64_t least, int64_t most,
                           std::mt19937& random) {
  hlo::Literal literal(hlo::Shape::Array(type, std::move(dimensions)));
  for (int64_t i = 0; i < literal.element_count(); ++i)
    literal.SetInteger(i, least + static_cast<int64_t>(random() % static_cast<uint64_t>(most - least + 1)));
  return literal;
}

struct ConvolutionGraph {
  int64_t in_blocks, out_blocks, size, kernel, stride;
  int64_t out_size() const { return (size + 2 * (kernel / 2) - kernel) / stride + 1; }

  // padded input, sums, a bias for each channel, a scale for each channel, relu, int8.
  te::Graph Build() const {
    const int64_t pad = kernel / 2, n = size;
    const Tensor x = te::Placeholder("x", {in_blocks, n, n, 16}, PrimitiveType::kS8);
    const Tensor w = te::Placeholder("w", {out_blocks, in_blocks, kernel, kernel, 16, 16}, PrimitiveType::kS8);
    const Tensor bias = te::Placeholder("bias", {out_blocks, 16}, PrimitiveType::kS32);
    const Tensor scale = te::Placeholder("scale", {out_blocks, 16}, PrimitiveType::kS32);
    const Tensor padded = te::Compute("padded", {in_blocks, n + 2 * pad, n + 2 * pad, 16}, [&](te::Indices i) {
      const Expr inside =
          And(And(i[1] >= Expr(pad), i[1] < Expr(n + pad)), And(i[2] >= Expr(pad), i[2] < Expr(n + pad)));
      return te::If(inside, x(i[0], i[1] - Expr(pad), i[2] - Expr(pad), i[3]), te::IntConst(kS8, 0));
    });
    const te::ReduceAxis block(in_blocks, "block"), row(kernel, "row"), column(kernel, "column"), lane(16, "lane");
    const std::vector<int64_t> shape = {out_blocks, out_size(), out_size(), 16};
    const Tensor sums = te::Compute("sums", shape, [&](te::Indices i) {
      const Expr inp = te::Cast(kS32, padded(block, i[1] * Expr(stride) + row, i[2] * Expr(stride) + column, lane));
      return te::Sum(te::Binary(BinaryOp::kMul, inp, te::Cast(kS32, w(i[0], block, row, column, i[3], lane))),
                     {block, row, column, lane});
    });
    const Tensor biased = te::Compute("biased", shape, [&](te::Indices i) {
      return te::Binary(BinaryOp::kAdd, sums(i[0], i[1], i[2], i[3]), bias(i[0], i[3]));
    });
    const Tensor scaled = te::Compute("scaled", shape, [&](te::Indices i) {
      return te::Call(MulShift(), {biased(i[0], i[1], i[2], i[3]), scale(i[0], i[3])});
    });
    const Tensor out = te::Compute("out", shape, [&](te::Indices i) {
      const Expr cut =
          te::Binary(BinaryOp::kMin, te::Binary(BinaryOp::kMax, scaled(i[0], i[1], i[2], i[3]), te::IntConst(kS32, 0)),
                     te::IntConst(kS32, 127));
      return te::Cast(kS8, cut);
    });
    return te::MakeGraph({x, w, bias, scale}, {out});
  }

  std::vector<hlo::Literal> Inputs(std::mt19937& random) const {
    std::vector<hlo::Literal> inputs;
    inputs.push_back(RandomLiteral(PrimitiveType::kS8, {in_blocks, size, size, 16}, -128, 127, random));
    inputs.push_back(
        RandomLiteral(PrimitiveType::kS8, {out_blocks, in_blocks, kernel, kernel, 16, 16}, -128, 127, random));
    inputs.push_back(RandomLiteral(PrimitiveType::kS32, {out_blocks, 16}, -10000, 10000, random));
    inputs.push_back(RandomLiteral(PrimitiveType::kS32, {out_blocks, 16}, 16000, 32000, random));
    for (int64_t i = 0; i < inputs[3].element_count(); ++i) inputs[3].SetInteger(i, inputs[3].GetInteger(i) * 256 + 24);
    return inputs;
  }
};

// Tiles of the output outside; in them the sum's blocks of channels, each with its loads; then the epilogue.
absl::StatusOr<Schedule> TiledSchedule(const te::Graph& graph, const Config& config, int64_t out_blocks, int64_t rows,
                                       int64_t in_blocks, int64_t threads = 1) {
  const te::ScopeTable memories = Memories(config);
  Schedule s(graph, memories);
  const te::Scope inp = *memories.Find("inp"), wgt = *memories.Find("wgt"), acc = *memories.Find("acc");
  SMELT_ASSIGN_OR_RETURN(const std::string weights, s.CacheRead("w", wgt, {"sums"}));
  SMELT_ASSIGN_OR_RETURN(const std::string bias, s.CacheRead("bias", acc, {"biased"}));
  SMELT_ASSIGN_OR_RETURN(const std::string scale, s.CacheRead("scale", acc, {"scaled"}));
  SMELT_RETURN_IF_ERROR(s.SetScope("padded", inp));
  for (const char* stage : {"sums", "biased", "scaled"}) SMELT_RETURN_IF_ERROR(s.SetScope(stage, acc));
  SMELT_ASSIGN_OR_RETURN(auto tile, s.Tile("out", "i0", "i1", out_blocks, rows));
  SMELT_RETURN_IF_ERROR(s.Reorder("out", {tile[0], tile[1], tile[2], tile[3], "i2", "i3"}));
  if (threads > 1) {
    SMELT_ASSIGN_OR_RETURN(const auto shared, s.Split("out", tile[1], threads));
    tile[1] = shared.second;
    SMELT_RETURN_IF_ERROR(s.Bind("out", tile[1], kernels::ir::ForKind::kVirtualThread));
  }
  for (const std::string& stage : {std::string("scaled"), std::string("biased"), std::string("sums")})
    SMELT_RETURN_IF_ERROR(s.ComputeAt(stage, "out", tile[1]));
  for (const std::string& stage : {bias, scale}) SMELT_RETURN_IF_ERROR(s.ComputeAt(stage, "out", tile[0]));
  SMELT_ASSIGN_OR_RETURN(const auto blocks, s.Split("sums", "r0", in_blocks));
  SMELT_RETURN_IF_ERROR(s.Reorder("sums", {blocks.first, blocks.second, "r1", "r2", "i0", "i1", "i2", "i3", "r3"}));
  SMELT_RETURN_IF_ERROR(s.ComputeAt("padded", "sums", blocks.first));
  SMELT_RETURN_IF_ERROR(s.ComputeAt(weights, "sums", blocks.first));
  return s;
}

void ExpectEqual(const ConvolutionGraph& shape, int64_t out_blocks, int64_t rows, int64_t in_blocks, Emitted* emitted,
                 int64_t threads = 1) {
  std::mt19937 random(1);
  const te::Graph graph = shape.Build();
  const std::vector<hlo::Literal> inputs = shape.Inputs(random);
  std::vector<const hlo::Literal*> pointers;
  for (const hlo::Literal& input : inputs) pointers.push_back(&input);
  const auto schedule = TiledSchedule(graph, Pynq(), out_blocks, rows, in_blocks, threads);
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  const auto outputs = RunOnSimulator(*schedule, Pynq(), pointers, emitted);
  ASSERT_TRUE(outputs.ok()) << outputs.status() << "\n" << kernels::ir::ToString(Loops(*schedule).value());
  const auto expected = te::Evaluate(graph, pointers);
  ASSERT_TRUE(expected.ok()) << expected.status();
  const std::string_view bytes(static_cast<const char*>((*expected)[0].raw()),
                               static_cast<size_t>((*expected)[0].byte_size()));
  EXPECT_TRUE((*outputs)[0] == bytes);
}

TEST(OperationsOf, AScheduledConvolutionIsEqualToItsDefinition) {
  const ConvolutionGraph shape{.in_blocks = 2, .out_blocks = 2, .size = 10, .kernel = 3, .stride = 1};
  Emitted emitted;
  ExpectEqual(shape, 1, 5, 1, &emitted);
  // No cycle for a reset: the first products replace it. The epilogue: bias, scale, relu; the store saturates.
  EXPECT_EQ(emitted.gemm_micro_ops, 2 * 10 * 10 * 2 * 9);
  EXPECT_EQ(emitted.alu_micro_ops, 3 * 2 * 10 * 10);
}

TEST(OperationsOf, TilesStridesAndTailsAreEqual) {
  const struct {
    ConvolutionGraph shape;
    int64_t out_blocks, rows, in_blocks;
  } kCases[] = {
      {{.in_blocks = 1, .out_blocks = 1, .size = 6, .kernel = 1, .stride = 1}, 1, 6, 1},
      {{.in_blocks = 3, .out_blocks = 4, .size = 9, .kernel = 3, .stride = 2}, 2, 5, 3},
      {{.in_blocks = 2, .out_blocks = 3, .size = 8, .kernel = 1, .stride = 2}, 3, 2, 1},
      {{.in_blocks = 3, .out_blocks = 3, .size = 8, .kernel = 3, .stride = 1}, 2, 3, 2},
  };
  for (const auto& [shape, out_blocks, rows, in_blocks] : kCases) {
    SCOPED_TRACE(StrCat(shape.size, " ", shape.kernel, " ", shape.stride));
    Emitted emitted;
    ExpectEqual(shape, out_blocks, rows, in_blocks, &emitted);
  }
}

TEST(OperationsOf, VirtualThreadsHaveMemoriesOfTheirOwn) {
  const ConvolutionGraph shape{.in_blocks = 2, .out_blocks = 2, .size = 9, .kernel = 3, .stride = 1};
  Emitted one, two;
  ExpectEqual(shape, 1, 2, 1, &one);
  ExpectEqual(shape, 1, 2, 1, &two, /*threads=*/2);  // five tiles of rows: the second thread has one less
  EXPECT_EQ(one.gemm_micro_ops, two.gemm_micro_ops);
  const auto machine = sim::Machine::Create(Pynq()).value();
  ASSERT_TRUE(machine->LoadSegments(one.program).ok());
  const int64_t alone = sim::Simulate(*machine, one.program.instructions).cycles;
  ASSERT_TRUE(machine->LoadSegments(two.program).ok());
  EXPECT_LT(sim::Simulate(*machine, two.program.instructions).cycles, alone * 9 / 10);
}

// out[n][r] = sum over k of x[r][k] * w[n][k], in blocks, with calls of the products; `full`: one block of k, so that a
// call is the whole sum.
kernels::ir::Function ProductByCalls(const Config& config, int64_t rows, int64_t depth, int64_t columns, bool full) {
  using namespace kernels::ir;  // NOLINT: statements
  const te::ScopeTable memories = Memories(config);
  const GemmIntrinsics gemm = GemmIntrinsicsOf(config);
  const auto buffer = [&](const char* name, PrimitiveType type, std::vector<int64_t> shape, const te::Scope& scope,
                          int64_t argument) {
    return std::make_shared<const BufferNode>(
        BufferNode{.name = name, .type = type, .shape = std::move(shape), .scope = scope, .argument = argument});
  };
  const Buffer x = buffer("x", PrimitiveType::kS8, {rows, depth, 16}, memories.argument, 0),
               w = buffer("w", PrimitiveType::kS8, {columns, depth, 256}, memories.argument, 1),
               out = buffer("out", PrimitiveType::kS32, {columns, rows, 16}, memories.argument, 2);
  const Buffer inp = buffer("inp", PrimitiveType::kS8, {rows, depth, 16}, *memories.Find("inp"), -1),
               wgt = buffer("wgt", PrimitiveType::kS8, {columns, depth, 256}, *memories.Find("wgt"), -1),
               acc = buffer("acc", PrimitiveType::kS32, {columns, rows, 16}, *memories.Find("acc"), -1);
  const te::Var i("i"), j("j"), k("k"), n("n"), r("r"), b("b");
  const auto copy = [&](const Buffer& to, const Buffer& from) {
    return For(
        i, Expr(0), Expr(from->shape[0]), ForKind::kSerial,
        For(j, Expr(0), Expr(from->shape[1]), ForKind::kSerial,
            For(k, Expr(0), Expr(from->shape[2]), ForKind::kSerial, Store(to, {i, j, k}, te::Load(from, {i, j, k})))));
  };
  const auto over = [&](bool sums, const Expr& call) {
    Stmt body = Evaluate(call);
    if (sums) body = For(b, Expr(0), Expr(depth), ForKind::kSerial, body);
    return For(n, Expr(0), Expr(columns), ForKind::kSerial, For(r, Expr(0), Expr(rows), ForKind::kSerial, body));
  };
  const Expr to = te::AddressOf(acc, {n, r, Expr(0)}), from = te::AddressOf(inp, {r, b, Expr(0)}),
             weight = te::AddressOf(wgt, {n, b, Expr(0)});
  std::vector<Stmt> body = {copy(inp, x), copy(wgt, w)};
  if (full) {
    body.push_back(over(false, te::Call(gemm.full, {to, te::AddressOf(inp, {r, Expr(0), Expr(0)}),
                                                    te::AddressOf(wgt, {n, Expr(0), Expr(0)})})));
  } else {
    body.push_back(over(false, te::Call(gemm.reset, {to})));
    body.push_back(over(true, te::Call(gemm.update, {to, from, weight})));
  }
  body.push_back(copy(out, acc));
  return {.name = "product",
          .arguments = {x, w, out},
          .input_count = 2,
          .phases = {{.body = Allocate(inp, Allocate(wgt, Allocate(acc, Seq(body))))}}};
}

TEST(OperationsOf, CallsOfTheGemmIntrinsicsAreProducts) {
  std::mt19937 random(4);
  for (const bool full : {false, true}) {
    const int64_t rows = 5, depth = full ? 1 : 3, columns = 2;
    const kernels::ir::Function function = ProductByCalls(Pynq(), rows, depth, columns, full);
    hlo::Literal x = RandomLiteral(PrimitiveType::kS8, {rows, depth, 16}, -128, 127, random),
                 w = RandomLiteral(PrimitiveType::kS8, {columns, depth, 256}, -128, 127, random);
    hlo::Literal expected(hlo::Shape::Array(PrimitiveType::kS32, {columns, rows, 16}));
    const absl::Status interpreted =
        kernels::ir::Interpret(function, std::vector<void*>{x.raw(), w.raw(), expected.raw()});
    ASSERT_TRUE(interpreted.ok()) << interpreted;
    const auto operations = OperationsOf(function, Pynq());
    ASSERT_TRUE(operations.ok()) << operations.status();
    Emitted emitted;
    const auto outputs = RunOperations(function, *operations, Pynq(), {&x, &w}, &emitted);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_EQ(std::memcmp((*outputs)[0].data(), expected.raw(), (*outputs)[0].size()), 0);
    EXPECT_EQ(emitted.gemm_micro_ops, rows * depth * columns);
  }
}

// y = f(a, b) over (4, 16) lanes, a and b in the accumulators, in two tiles.
absl::StatusOr<Schedule> ElementwiseSchedule(const te::Graph& graph, const Config& config,
                                             const std::vector<std::string>& stages) {
  const te::ScopeTable memories = Memories(config);
  Schedule s(graph, memories);
  const te::Scope acc = *memories.Find("acc");
  SMELT_ASSIGN_OR_RETURN(const auto rows, s.Split("y", "i0", 2));
  for (auto stage = stages.rbegin(); stage != stages.rend(); ++stage) {
    SMELT_RETURN_IF_ERROR(s.SetScope(*stage, acc));
    SMELT_RETURN_IF_ERROR(s.ComputeAt(*stage, "y", rows.first));
  }
  for (const char* input : {"a", "b"}) {
    SMELT_ASSIGN_OR_RETURN(const std::string cached, s.CacheRead(input, acc, {stages.empty() ? "y" : stages[0]}));
    SMELT_RETURN_IF_ERROR(s.ComputeAt(cached, "y", rows.first));
  }
  return s;
}
const Tensor& A() {
  static const Tensor& a = *new Tensor(te::Placeholder("a", {4, 16}, PrimitiveType::kS32));
  return a;
}
const Tensor& B() {
  static const Tensor& b = *new Tensor(te::Placeholder("b", {4, 16}, PrimitiveType::kS32));
  return b;
}
absl::StatusOr<std::vector<std::string>> RunElementwise(const te::Graph& graph, const std::vector<std::string>& stages,
                                                        std::string* expected, Emitted* emitted) {
  std::mt19937 random(3);
  const hlo::Literal a = RandomLiteral(PrimitiveType::kS32, {4, 16}, -1000, 1000, random),
                     b = RandomLiteral(PrimitiveType::kS32, {4, 16}, -1000, 1000, random);
  SMELT_ASSIGN_OR_RETURN(const auto literals, te::Evaluate(graph, {&a, &b}));
  expected->assign(static_cast<const char*>(literals[0].raw()), static_cast<size_t>(literals[0].byte_size()));
  SMELT_ASSIGN_OR_RETURN(const Schedule schedule, ElementwiseSchedule(graph, Pynq(), stages));
  return RunOnSimulator(schedule, Pynq(), {&a, &b}, emitted);
}

TEST(OperationsOf, AStageThatReadsATileTwiceMovesIt) {
  // `sum` may not take the place of a: y needs both.
  const Tensor sum = te::Compute(
      "sum", {4, 16}, [](te::Indices i) { return te::Binary(BinaryOp::kAdd, A()(i[0], i[1]), B()(i[0], i[1])); });
  const Tensor y = te::Compute("y", {4, 16}, [&](te::Indices i) {
    return te::Binary(BinaryOp::kMax, te::Binary(BinaryOp::kSub, sum(i[0], i[1]), te::IntConst(kS32, 7)),
                      te::IntConst(kS32, -3));
  });
  std::string expected;
  Emitted emitted;
  const auto outputs = RunElementwise(te::MakeGraph({A(), B()}, {y}), {"sum"}, &expected, &emitted);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_TRUE((*outputs)[0] == expected);
  EXPECT_EQ(emitted.alu_micro_ops, 3 * 4);  // add, subtract, max: all in the place of a
}

TEST(OperationsOf, TwoReadersOfOneTileKeepIt) {
  const Tensor sum = te::Compute(
      "sum", {4, 16}, [](te::Indices i) { return te::Binary(BinaryOp::kAdd, A()(i[0], i[1]), B()(i[0], i[1])); });
  const Tensor twice = te::Compute("twice", {4, 16}, [&](te::Indices i) {
    return te::Binary(BinaryOp::kShiftLeft, sum(i[0], i[1]), te::IntConst(kS32, 1));
  });
  const Tensor y = te::Compute(
      "y", {4, 16}, [&](te::Indices i) { return te::Binary(BinaryOp::kMin, twice(i[0], i[1]), sum(i[0], i[1])); });
  std::string expected;
  Emitted emitted;
  const auto outputs = RunElementwise(te::MakeGraph({A(), B()}, {y}), {"sum", "twice"}, &expected, &emitted);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_TRUE((*outputs)[0] == expected);
  EXPECT_EQ(emitted.alu_micro_ops, 4 * 4);  // a move more
}

TEST(OperationsOf, WhatTheMachineCannotDoIsSaid) {
  const auto refusal = [](const std::function<Expr(te::Indices)>& body) {
    std::string expected;
    Emitted emitted;
    return std::string(
        RunElementwise(te::MakeGraph({A(), B()}, {te::Compute("y", {4, 16}, body)}), {}, &expected, &emitted)
            .status()
            .message());
  };
  EXPECT_THAT(refusal([](te::Indices i) { return te::Binary(BinaryOp::kXor, A()(i[0], i[1]), B()(i[0], i[1])); }),
              HasSubstr("the ALU does not compute"));
  EXPECT_THAT(refusal([](te::Indices i) {
                return te::Binary(BinaryOp::kAdd, A()(i[0], i[1]),
                                  te::Binary(BinaryOp::kAdd, B()(i[0], i[1]), te::IntConst(kS32, 70000)));
              }),
              HasSubstr("neither an accumulator nor a constant of 16 bits"));
  EXPECT_THAT(refusal([](te::Indices i) {
                return te::Cast(kS8, te::Binary(BinaryOp::kAdd, A()(i[0], i[1]), B()(i[0], i[1])));
              }),
              HasSubstr("is not cut off at -128 and 127"));
  EXPECT_THAT(refusal([](te::Indices i) {
                return te::Binary(BinaryOp::kAdd, A()(i[0], FloorMod(i[1] + Expr(3), 16)), B()(i[0], i[1]));
              }),
              HasSubstr("is not linear in"));
  EXPECT_THAT(
      refusal([](te::Indices i) { return te::Binary(BinaryOp::kAdd, A()(i[0], Expr(15) - i[1]), B()(i[0], i[1])); }),
      HasSubstr("no loop runs over the 16 lanes"));
}

}  // namespace
}  // namespace smelt::vdla::lower
