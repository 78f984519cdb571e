// Programs at the edge of what is legal: scalars, arrays without elements and empty lists of dimensions, for each
// opcode that takes a list of dimensions; and what no engine can run. Both engines must give the same, or refuse the
// same.
#include <gmock/gmock.h>

#include "fuzz/trial/trial.h"
#include "gtest/gtest.h"
#include "hlo/evaluator/evaluator.h"
#include "hlo/text/parser.h"
#include "targets/cpu/processor/detect.h"
#include "targets/cpu/program/executable.h"

namespace smelt::fuzz {
namespace {

struct Program {
  const char* name;
  const char* entry;
};

std::string TextOf(const Program& program) {
  return std::string(R"(HloModule m
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
larger { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = pred[] compare(a, b), direction=GE }
ENTRY e {
)") + program.entry +
         "\n}\n";
}

const Program kDegenerate[] = {
    {"GatherOfAScalar", R"(x = f32[] parameter(0)  i = s32[0] parameter(1)
      ROOT r = f32[] gather(x, i), offset_dims={}, collapsed_slice_dims={}, start_index_map={}, index_vector_dim=0, slice_sizes={})"},
    {"GatherOfAScalarFourTimes", R"(x = f32[] parameter(0)  i = s32[4,0] parameter(1)
      ROOT r = f32[4] gather(x, i), offset_dims={}, collapsed_slice_dims={}, start_index_map={}, index_vector_dim=1, slice_sizes={})"},
    {"GatherWithoutStartIndices", R"(x = f32[3,5] parameter(0)  i = s32[0,2] parameter(1)
      ROOT r = f32[2,3,4] gather(x, i), offset_dims={1,2}, collapsed_slice_dims={}, start_index_map={}, index_vector_dim=0, slice_sizes={3,4})"},
    {"GatherOfNoSlices", R"(x = f32[3] parameter(0)  i = s32[0] parameter(1)
      ROOT r = f32[0] gather(x, i), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1})"},
    {"GatherOfEmptySlices", R"(x = f32[3] parameter(0)  i = s32[2,1] parameter(1)
      ROOT r = f32[2,0] gather(x, i), offset_dims={1}, collapsed_slice_dims={}, start_index_map={0}, index_vector_dim=1, slice_sizes={0})"},
    {"ScatterIntoAScalar", R"(x = f32[] parameter(0)  i = s32[4,0] parameter(1)  u = f32[4] parameter(2)
      ROOT r = f32[] scatter(x, i, u), update_window_dims={}, inserted_window_dims={}, scatter_dims_to_operand_dims={}, index_vector_dim=1, to_apply=add)"},
    {"ScatterWithoutIndices", R"(x = f32[3] parameter(0)  i = s32[0] parameter(1)  u = f32[2] parameter(2)
      ROOT r = f32[3] scatter(x, i, u), update_window_dims={0}, inserted_window_dims={}, scatter_dims_to_operand_dims={}, index_vector_dim=0, to_apply=add)"},
    {"ScatterOfNothing", R"(x = f32[3] parameter(0)  i = s32[0,1] parameter(1)  u = f32[0] parameter(2)
      ROOT r = f32[3] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add)"},
    {"DynamicSliceOfAScalar", "x = f32[] parameter(0)  ROOT r = f32[] dynamic-slice(x), dynamic_slice_sizes={}"},
    {"DynamicSliceOfAScalarByAVector", R"(x = f32[] parameter(0)  i = s32[0] parameter(1)
      ROOT r = f32[] dynamic-slice(x, i), dynamic_slice_sizes={})"},
    {"DynamicSliceOfNothing", R"(x = f32[4] parameter(0)  i = s32[] parameter(1)
      ROOT r = f32[0] dynamic-slice(x, i), dynamic_slice_sizes={0})"},
    {"DynamicUpdateSliceOfAScalar",
     "x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT r = f32[] dynamic-update-slice(x, y)"},
    {"DynamicUpdateSliceOfAScalarByAVector", R"(x = f32[] parameter(0)  y = f32[] parameter(1)  i = s32[0] parameter(2)
      ROOT r = f32[] dynamic-update-slice(x, y, i))"},
    {"DynamicUpdateSliceByAVector",
     R"(x = f32[5,7] parameter(0)  y = f32[2,3] parameter(1)  i = s64[2] parameter(2)
      ROOT r = f32[5,7] dynamic-update-slice(x, y, i))"},
    {"DynamicSliceByAVector",
     R"(x = f32[5,7] parameter(0)  i = u8[2] parameter(1)
      ROOT r = f32[2,3] dynamic-slice(x, i), dynamic_slice_sizes={2,3})"},
    {"DynamicSliceByAConstantVector",
     R"(x = f32[5,7] parameter(0)  i = s32[2] constant({9, 1})
      ROOT r = f32[2,3] dynamic-slice(x, i), dynamic_slice_sizes={2,3})"},
    {"DynamicUpdateSliceOfNothing", R"(x = f32[4] parameter(0)  y = f32[0] parameter(1)  i = s32[] parameter(2)
      ROOT r = f32[4] dynamic-update-slice(x, y, i))"},
    {"ReduceOverNoDimension",
     "x = f32[3] parameter(0)  z = f32[] parameter(1)  ROOT r = f32[3] reduce(x, z), dimensions={}, to_apply=add"},
    {"ReduceOfAScalar",
     "x = f32[] parameter(0)  z = f32[] parameter(1)  ROOT r = f32[] reduce(x, z), dimensions={}, to_apply=add"},
    {"ReduceOfNothing",
     "x = f32[2,0] parameter(0)  z = f32[] parameter(1)  ROOT r = f32[2] reduce(x, z), dimensions={1}, to_apply=add"},
    {"ReduceWindowOfAScalar",
     "x = f32[] parameter(0)  z = f32[] parameter(1)  ROOT r = f32[] reduce-window(x, z), window={}, to_apply=add"},
    {"ReduceWindowOfPadding", R"(x = f32[0] parameter(0)  z = f32[] constant(0)
      ROOT r = f32[2] reduce-window(x, z), window={size=2 pad=1_2}, to_apply=add)"},
    {"SelectAndScatterOfAScalar", R"(x = f32[] parameter(0)  y = f32[] parameter(1)  z = f32[] parameter(2)
      ROOT r = f32[] select-and-scatter(x, y, z), window={}, select=larger, scatter=add)"},
    {"SelectAndScatterOfNothing", R"(x = f32[0,3] parameter(0)  y = f32[0,1] parameter(1)  z = f32[] parameter(2)
      ROOT r = f32[0,3] select-and-scatter(x, y, z), window={size=1x3 stride=1x3}, select=larger, scatter=add)"},
    {"TransposeOfAScalar", "x = f32[] parameter(0)  ROOT r = f32[] transpose(x), dimensions={}"},
    {"TransposeOfNothing", "x = f32[0,3] parameter(0)  ROOT r = f32[3,0] transpose(x), dimensions={1,0}"},
    {"BroadcastOfAScalarToAScalar", "x = f32[] parameter(0)  ROOT r = f32[] broadcast(x), dimensions={}"},
    {"BroadcastToNothing", "x = f32[3] parameter(0)  ROOT r = f32[0,3] broadcast(x), dimensions={1}"},
    {"ConcatenateOfOne", "x = f32[3] parameter(0)  ROOT r = f32[3] concatenate(x), dimensions={0}"},
    {"ConcatenateWithNothing", R"(x = f32[3] parameter(0)  n = f32[0] parameter(1)
      ROOT r = f32[6] concatenate(n, x, n, x), dimensions={0})"},
    {"SliceOfAScalar", "x = f32[] parameter(0)  ROOT r = f32[] slice(x), slice={}"},
    {"SliceOfNothing", "x = f32[4] parameter(0)  ROOT r = f32[0] slice(x), slice={[2:2]}"},
    {"PadOfNothing", "x = f32[0] parameter(0)  z = f32[] parameter(1)  ROOT r = f32[3] pad(x, z), padding=1_2"},
    {"PadToNothing", "x = f32[3] parameter(0)  z = f32[] parameter(1)  ROOT r = f32[0] pad(x, z), padding=-1_-2"},
    {"ReverseOfAScalar", "x = f32[] parameter(0)  ROOT r = f32[] reverse(x), dimensions={}"},
    {"ReverseOfNoDimension", "x = f32[3] parameter(0)  ROOT r = f32[3] reverse(x), dimensions={}"},
    {"SortOfNothing", "x = f32[0] parameter(0)  ROOT r = f32[0] sort(x), dimensions={0}, to_apply=larger"},
    {"SortOfNoRows", "x = f32[0,4] parameter(0)  ROOT r = f32[0,4] sort(x), dimensions={1}, to_apply=larger"},
    {"TopKOfNothing", "x = f32[4] parameter(0)  ROOT r = (f32[0], s32[0]) topk(x), k=0, largest=true"},
    {"DotOfScalars", "x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT r = f32[] dot(x, y)"},
    {"DotOfNothing", R"(x = f32[2,0] parameter(0)  y = f32[0,3] parameter(1)
      ROOT r = f32[2,3] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0})"},
    {"DotOfNoBatches", R"(x = f32[0,2] parameter(0)  y = f32[0,2] parameter(1)
      ROOT r = f32[0] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_contracting_dims={1})"},
    {"ScaledDotOfNothing", R"(x = f8e4m3fn[2,0] parameter(0)  y = f8e4m3fn[3,0] parameter(1)
      a = f8e8m0fnu[2,0] parameter(2)  b = f8e8m0fnu[3,0] parameter(3)
      ROOT r = f32[2,3] scaled-dot(x, y, a, b), lhs_contracting_dims={1}, rhs_contracting_dims={1})"},
    {"RaggedDotOfNoRows", R"(x = f32[0,2] parameter(0)  y = f32[3,2,4] parameter(1)  g = s32[3] constant({0, 0, 0})
      ROOT r = f32[0,4] ragged-dot(x, y, g), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0})"},
    {"ConvolutionWithoutWindow",
     "x = f32[2,3] parameter(0)  y = f32[3,4] parameter(1)  ROOT r = f32[2,4] convolution(x, y), dim_labels=bf_io->bf"},
    {"ConvolutionOfNoFeatures", R"(x = f32[2,5,0] parameter(0)  y = f32[3,0,4] parameter(1)
      ROOT r = f32[2,3,4] convolution(x, y), window={size=3}, dim_labels=b0f_0io->b0f)"},
    {"ConvolutionOfPadding", R"(x = f32[1,0,2] parameter(0)  y = f32[2,2,3] parameter(1)
      ROOT r = f32[1,3,3] convolution(x, y), window={size=2 pad=2_2}, dim_labels=b0f_0io->b0f)"},
    {"IotaOfNothing", "ROOT r = s32[0,3] iota(), iota_dimension=1"},
    {"MapOfAScalar", "x = f32[] parameter(0)  ROOT r = f32[] map(x, x), dimensions={}, to_apply=add"},
    {"ReshapeOfNothing", "x = f32[0,3] parameter(0)  ROOT r = f32[5,0,2] reshape(x)"},
    {"FftOfNoRows", "x = c64[0,4] parameter(0)  ROOT r = c64[0,4] fft(x), fft_type=FFT, fft_length={4}"},
    {"CholeskyOfNothing", "x = f32[0,0] parameter(0)  ROOT r = f32[0,0] cholesky(x), lower=true"},
    {"TriangularSolveOfNothing", R"(a = f32[2,0,0] parameter(0)  b = f32[2,0,3] parameter(1)
      ROOT r = f32[2,0,3] triangular-solve(a, b), left_side=true, lower=true, transpose_a=NO_TRANSPOSE)"},
    {"RandomBitsOfNothing", R"(s = u64[2] parameter(0)
      ROOT r = (u64[2], u32[0]) rng-bit-generator(s), algorithm=rng_three_fry)"},
    {"BatchNormOfNothing", R"(x = f32[0,2] parameter(0)  s = f32[2] parameter(1)  o = f32[2] parameter(2)
      ROOT r = (f32[0,2], f32[2], f32[2]) batch-norm-training(x, s, o), epsilon=0.1, feature_index=1)"},
    {"SelectByAScalar", R"(p = pred[] parameter(0)  x = f32[0] parameter(1)
      ROOT r = f32[0] select(p, x, x))"},
};

class Degenerate : public ::testing::TestWithParam<Program> {};

TEST_P(Degenerate, BothEnginesGiveTheSame) {
  const auto module = hlo::ParseModule(TextOf(GetParam()));
  ASSERT_TRUE(module.ok()) << module.status();
  TrialOptions options;
  options.seed = 3;
  options.configs = 5;
  options.target = cpu::DetectTarget(/*measure=*/false);
  const Verdict verdict = TryModule(**module, options);
  EXPECT_EQ(verdict.kind, VerdictKind::kAgrees)
      << VerdictName(verdict.kind) << " in " << verdict.stage << ": " << verdict.detail;
}

INSTANTIATE_TEST_SUITE_P(All, Degenerate, ::testing::ValuesIn(kDegenerate),
                         [](const auto& info) { return std::string(info.param.name); });

const Program kImpossible[] = {
    {"UnusedInfeed", R"(t = token[] after-all()  unused = (f32[3], token[]) infeed(t)
      x = f32[3] parameter(0)  ROOT r = f32[3] add(x, x))"},
    {"UnusedOutfeed", R"(t = token[] after-all()  x = f32[3] parameter(0)
      unused = token[] outfeed(x, t), outfeed_shape=f32[3]  ROOT r = f32[3] add(x, x))"},
    {"UnusedCustomCall", R"(x = f32[3] parameter(0)
      unused = f32[] custom-call(x), custom_call_target="prints", custom_call_has_side_effect=true  ROOT r = f32[3] add(x, x))"},
};

class Impossible : public ::testing::TestWithParam<Program> {};

// What has an effect is part of the program though nobody reads it.
TEST_P(Impossible, BothEnginesRefuse) {
  const auto module = hlo::ParseModule(TextOf(GetParam()));
  ASSERT_TRUE(module.ok()) << module.status();
  const hlo::Literal x(hlo::Shape::Array(hlo::PrimitiveType::kF32, {3}));
  const absl::Status evaluated = hlo::Evaluate(**module, {&x}).status();
  const auto executable = cpu::Executable::Compile(**module, cpu::DetectTarget(/*measure=*/false), {});
  const absl::Status compiled = executable.ok() ? (*executable)->Run({&x}).status() : executable.status();
  for (const absl::Status& status : {evaluated, compiled}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << status;
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("`unused`"));
  }
}

INSTANTIATE_TEST_SUITE_P(All, Impossible, ::testing::ValuesIn(kImpossible),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace smelt::fuzz
