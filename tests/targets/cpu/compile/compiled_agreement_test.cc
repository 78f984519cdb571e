// Every snippet compiled for this machine, by its default tile and others, against the evaluator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "hlo/text/parser.h"
#include "kernels/tiles/tiles.h"
#include "targets/cpu/codegen/codegen.h"
#include "targets/cpu/processor/detect.h"
#include "tests/kernels/agreement/agreement.h"
#include "tests/kernels/agreement/snippets.h"
#include "tests/targets/cpu/compile/run_compiled.h"

namespace smelt::cpu {
namespace {

using kernels::MakeReference;

using kernels::Difference;
using kernels::ParseSnippet;
using kernels::Reference;
using kernels::Snippet;
using kernels::Snippets;

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const Target& HostTarget() {
  static const Target* const target = new Target(DetectTarget(/*measure=*/false));
  return *target;
}

class CompiledSnippet : public ::testing::TestWithParam<Snippet> {};

TEST_P(CompiledSnippet, AgreesWithTheEvaluator) {
  const std::unique_ptr<hlo::Module> module = ParseSnippet(GetParam());
  const Reference reference = MakeReference(*module);
  std::vector<kernels::nests::Tile> tiles = kernels::nests::EnumerateTiles(*module->entry(), HostTarget(), 3).value();
  for (const kernels::nests::Tile& tile : tiles) {
    const absl::StatusOr<CompiledRun> run = RunCompiled(*module, reference.inputs, HostTarget(), {.schedule = tile});
    ASSERT_TRUE(run.ok()) << tile.ToString() << ": " << run.status();
    EXPECT_EQ(run->kernel->tile, tile.ToString());
    // The templates schedule every snippet; the fallback is for what they do not foresee.
    EXPECT_THAT(run->kernel->trace, Not(StartsWith("# fallback")));
    ASSERT_EQ(Difference(run->outputs, reference.outputs), "") << tile.ToString() << "\n" << run->kernel->trace;
  }
}

// One definition, which the tile search and the profiler rest on: compile.h.
TEST_P(CompiledSnippet, ItsDefaultTileIsThePreferredOneUnlessThatSpills) {
  const std::unique_ptr<hlo::Module> module = ParseSnippet(GetParam());
  const std::vector<kernels::nests::Tile> tiles =
      kernels::nests::EnumerateTiles(*module->entry(), HostTarget(), 12).value();
  const auto usual = CompileKernel(*module->entry(), HostTarget(), {}, nullptr).value();
  const auto front = CompileKernel(*module->entry(), HostTarget(), {.schedule = tiles.front()}, nullptr).value();
  const absl::StatusOr<kernels::nests::Tile> tile = kernels::nests::Tile::Parse(usual->tile);
  ASSERT_TRUE(tile.ok()) << tile.status();
  EXPECT_THAT(tiles, Contains(*tile));
  if (front->vector_spills == 0) {
    EXPECT_EQ(*tile, tiles.front());
  } else {
    EXPECT_LE(usual->vector_spills, front->vector_spills);
  }
}

INSTANTIATE_TEST_SUITE_P(All, CompiledSnippet, ::testing::ValuesIn(Snippets()),
                         [](const auto& info) { return std::string(info.param.name); });

const Snippet& Find(const std::string& name) {
  for (const Snippet& snippet : Snippets()) {
    if (snippet.name == name) return snippet;
  }
  ADD_FAILURE() << name;
  return Snippets()[0];
}

// What follows the window keeps more of the channels' constants than registers are left; they are spilled, and its
// lines go together all the same.
TEST(CompileKernel, LinesOfADepthwiseWindowGoTogetherWhateverFollows) {
  const auto module = hlo::ParseModule(R"(ENTRY e {
    x = f32[1,14,14,64] parameter(0)
    w = f32[3,3,1,64] parameter(1)
    c = f32[1,14,14,64] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=64
    mean = f32[64] parameter(2)
    mean_b = f32[1,14,14,64] broadcast(mean), dimensions={3}
    scale = f32[64] parameter(3)
    root = f32[64] rsqrt(scale)
    root_b = f32[1,14,14,64] broadcast(root), dimensions={3}
    shift = f32[64] parameter(4)
    shift_b = f32[1,14,14,64] broadcast(shift), dimensions={3}
    centred = f32[1,14,14,64] subtract(c, mean_b)
    scaled = f32[1,14,14,64] multiply(centred, root_b)
    shifted = f32[1,14,14,64] add(scaled, shift_b)
    zero = f32[] constant(0)
    zeros = f32[1,14,14,64] broadcast(zero), dimensions={}
    six = f32[] constant(6)
    sixes = f32[1,14,14,64] broadcast(six), dimensions={}
    above = f32[1,14,14,64] maximum(shifted, zeros)
    ROOT r = f32[1,14,14,64] minimum(above, sixes)
  })");
  ASSERT_TRUE(module.ok()) << module.status();
  Target target;
  target.name = "znver4";
  ASSERT_TRUE(codegen::DescribeVectors(target.name, "", &target.vector_bytes, &target.vector_registers).ok());
  const absl::StatusOr<KernelObject> object = CompileObject(*(*module)->entry(), target, {}, "kernel");
  ASSERT_TRUE(object.ok()) << object.status();
  EXPECT_EQ(object->tile, "1x3x14x32") << object->vector_spills << " spills";
}

TEST(CompileKernel, SumsOfManyTermsAreSummedInBlocks) {
  const auto module = hlo::ParseModule(R"(ENTRY e {
    a = f32[16,16384] parameter(0)
    b = f32[16384,64] parameter(1)
    ROOT d = f32[16,64] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  })");
  ASSERT_TRUE(module.ok()) << module.status();
  std::vector<hlo::Literal> inputs;
  for (const hlo::Instruction* parameter : (*module)->entry()->Parameters()) {
    inputs.emplace_back(parameter->shape());
    for (float& value : inputs.back().data<float>()) value = 0.1f;
  }
  const absl::StatusOr<CompiledRun> run = RunCompiled(**module, inputs, HostTarget());
  ASSERT_TRUE(run.ok()) << run.status();
  const double exact = 16384 * static_cast<double>(0.1f) * 0.1f;
  float one_by_one = 0;
  for (int k = 0; k < 16384; ++k) one_by_one = std::fma(0.1f, 0.1f, one_by_one);
  const double allowed = std::abs(one_by_one - exact) / 10;
  for (float sum : run->outputs[0].data<float>()) ASSERT_NEAR(sum, exact, allowed) << run->kernel->trace;
}

TEST(CompileKernel, TakesCodeFromTheCacheWhateverTheNames) {
  KernelCache cache;
  const auto module = ParseSnippet(Find("Softmax"));
  const auto first = CompileKernel(*module->entry(), HostTarget(), {}, &cache);
  ASSERT_TRUE(first.ok()) << first.status();
  for (hlo::Instruction* instruction : module->entry()->Instructions()) {
    module->entry()->Rename(instruction, instruction->name() + "_renamed");
  }
  const auto second = CompileKernel(*module->entry(), HostTarget(), {}, &cache);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(*first, *second);
  // Another tile is other code.
  const auto third = CompileKernel(*module->entry(), HostTarget(), {.schedule = kernels::nests::Tile{{2, 50}}}, &cache);
  ASSERT_TRUE(third.ok()) << third.status();
  EXPECT_NE(*first, *third);
}

TEST(CompileKernel, NamesTheInstructionWithoutALoopNest) {
  hlo::Module module("m");
  hlo::Computation* entry = module.AddComputation("e");
  const hlo::Shape shape = hlo::Shape::Array(hlo::PrimitiveType::kF32, {4, 4});
  hlo::Instruction* x = entry->Add(hlo::Opcode::kParameter, shape, {}, hlo::ParameterAttributes{0}, "x");
  entry->set_root(entry->Add(hlo::Opcode::kCholesky, shape, {x}, hlo::CholeskyAttributes{}, "factor"));
  module.set_entry(entry);
  const auto compiled = CompileKernel(*entry, HostTarget(), {}, nullptr);
  EXPECT_EQ(compiled.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(compiled.status().message()), HasSubstr("factor"));
}

TEST(CompileKernel, RefusesATileOfAnotherShape) {
  const auto module = ParseSnippet(Find("Dot"));
  for (const kernels::nests::Tile& tile :
       {kernels::nests::Tile{{4}}, kernels::nests::Tile{{4, 0}}, kernels::nests::Tile{{20, 4}}}) {
    const auto compiled = CompileKernel(*module->entry(), HostTarget(), {.schedule = tile}, nullptr);
    EXPECT_EQ(compiled.status().code(), absl::StatusCode::kInvalidArgument) << tile.ToString();
  }
}

}  // namespace
}  // namespace smelt::cpu
