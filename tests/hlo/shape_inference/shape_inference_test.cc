#include "hlo/shape_inference/shape_inference.h"

#include <gtest/gtest.h>

#include "base/str_cat.h"
#include "hlo/attribute_family.h"
#include "hlo/text/parser.h"

namespace smelt::hlo {
namespace {

constexpr char kReducers[] = R"(
add { x = f32[] parameter(0) y = f32[] parameter(1) ROOT s = f32[] add(x, y) }
ge { x = f32[] parameter(0) y = f32[] parameter(1) ROOT s = pred[] compare(x, y), direction=GE }
pair { a = f32[] parameter(0) b = s32[] parameter(1) c = f32[] parameter(2) d = s32[] parameter(3) ROOT t = (f32[], s32[]) tuple(a, d) }
)";

// The shape inferred for the last instruction, which is written without one; the parameters come before it.
std::string Inferred(std::string_view parameters, std::string_view operation) {
  std::string text = StrCat(kReducers, "ENTRY e {\n");
  int number = 0;
  std::string_view left = parameters;
  while (!left.empty()) {
    const size_t end = std::min(left.find(';'), left.size());
    StrAppend(&text, "  p", number, " = ", left.substr(0, end), " parameter(", number, ")\n");
    ++number;
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  StrAppend(&text, "  ROOT r = ", operation, "\n}\n");
  const auto module = ParseModule(text);
  if (!module.ok()) return std::string(module.status().message());
  return (*module)->entry()->root()->shape().ToString();
}

struct Case {
  const char *parameters, *operation, *shape;
};

class InferenceTest : public testing::TestWithParam<Case> {};

TEST_P(InferenceTest, GivesTheShape) {
  EXPECT_EQ(Inferred(GetParam().parameters, GetParam().operation), GetParam().shape);
}

INSTANTIATE_TEST_SUITE_P(
    All, InferenceTest,
    testing::Values(
        Case{"f32[2,3]", "abs(p0)", "f32[2,3]"}, Case{"c64[2]", "abs(p0)", "f32[2]"},
        Case{"c128[]", "imag(p0)", "f64[]"}, Case{"f32[2];f32[2]", "complex(p0, p1)", "c64[2]"},
        Case{"f32[2];f32[2]", "compare(p0, p1), direction=LT", "pred[2]"}, Case{"f32[2]", "is-finite(p0)", "pred[2]"},
        Case{"pred[];f32[2];f32[2]", "select(p0, p1, p2)", "f32[2]"},
        Case{"f32[];f32[2]", "clamp(p0, p1, p0)", "f32[2]"}, Case{"f32[<=8,2];f32[8,2]", "add(p0, p1)", "f32[<=8,2]"},
        Case{"f32[2,3,4]", "transpose(p0), dimensions={2,0,1}", "f32[4,2,3]"},
        Case{"f32[10,4]", "slice(p0), slice={[1:8:3], [0:4]}", "f32[3,4]"},
        Case{"f32[10,4];s32[]", "dynamic-slice(p0, p1, p1), dynamic_slice_sizes={2,4}", "f32[2,4]"},
        Case{"f32[10,4];f32[2,2];s32[]", "dynamic-update-slice(p0, p1, p2, p2)", "f32[10,4]"},
        Case{"f32[3,4];f32[]", "pad(p0, p1), padding=1_-1_2x0_5", "f32[7,9]"},
        Case{"f32[0];f32[]", "pad(p0, p1), padding=1_1_3", "f32[2]"},
        Case{"f32[2,3];f32[2,5]", "concatenate(p0, p1), dimensions={1}", "f32[2,8]"},
        Case{"f32[2,3]", "reverse(p0), dimensions={0}", "f32[2,3]"},
        Case{"f32[5,2,3];f32[5,3,7]",
             "dot(p0, p1), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}",
             "f32[5,2,7]"},
        Case{"f32[2,9,9,4];f32[3,3,2,6]",
             "convolution(p0, p1), window={size=3x3 stride=2x1 pad=1_1x0_0 rhs_dilate=1x2}, "
             "dim_labels=b01f_01io->b01f, feature_group_count=2",
             "f32[2,5,5,6]"},
        Case{"f32[4,5];f32[]", "reduce(p0, p1), dimensions={0}, to_apply=add", "f32[5]"},
        Case{"f32[4,5];s32[4,5];f32[];s32[]", "reduce(p0, p1, p2, p3), dimensions={1}, to_apply=pair",
             "(f32[4], s32[4])"},
        Case{"f32[7];f32[]", "reduce-window(p0, p1), window={size=3 stride=2 pad=1_1 lhs_dilate=2}, to_apply=add",
             "f32[7]"},
        Case{"f32[2];f32[]", "reduce-window(p0, p1), window={size=5}, to_apply=add", "f32[0]"},
        Case{"f32[6];f32[3];f32[]", "select-and-scatter(p0, p1, p2), window={size=2 stride=2}, select=ge, scatter=add",
             "f32[6]"},
        Case{"f32[5,6,7];s32[3,2]",
             "gather(p0, p1), offset_dims={1}, collapsed_slice_dims={0,1}, start_index_map={0,1}, index_vector_dim=1, "
             "slice_sizes={1,1,4}",
             "f32[3,4]"},
        Case{"f32[5,6];s32[5,2];f32[5,2]",
             "scatter(p0, p1, p2), update_window_dims={}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, "
             "input_batching_dims={0}, "
             "scatter_indices_batching_dims={0}, index_vector_dim=2, to_apply=add",
             "f32[5,6]"},
        Case{"f32[4,8]", "topk(p0), k=3, largest=true", "(f32[4,3], s32[4,3])"},
        Case{"f32[2,4,3];f32[3]", "batch-norm-training(p0, p1, p1), epsilon=0.1, feature_index=2",
             "(f32[2,4,3], f32[3], f32[3])"},
        Case{"f32[3,8]", "fft(p0), fft_type=RFFT, fft_length={8}", "c64[3,5]"},
        Case{"c64[3,5]", "fft(p0), fft_type=IRFFT, fft_length={8}", "f32[3,8]"},
        Case{"c64[3,1]", "fft(p0), fft_type=IRFFT, fft_length={0}", "f32[3,0]"},
        Case{"c64[3,0]", "fft(p0), fft_type=IRFFT, fft_length={0}", "f32[3,0]"},
        Case{"f64[2,3,3]", "cholesky(p0), lower=true", "f64[2,3,3]"},
        Case{"f32[3,3];f32[3,4]", "triangular-solve(p0, p1), left_side=true, transpose_a=NO_TRANSPOSE", "f32[3,4]"},
        Case{"f32[];s32[2]", "tuple(p0, p1)", "(f32[], s32[2])"},
        Case{"(f32[], s32[2])", "get-tuple-element(p0), index=1", "s32[2]"},
        Case{"f32[];f32[]", "call(p0, p1), to_apply=ge", "pred[]"},
        Case{"f32[2,<=3]", "get-dimension-size(p0), dimensions={1}", "s32[]"},
        Case{"f32[2,3];s32[]", "set-dimension-size(p0, p1), dimensions={1}", "f32[2,<=3]"},
        Case{"f32[11,5];f32[3,5,7];s32[3]",
             "ragged-dot(p0, p1, p2), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, "
             "rhs_group_dims={0}",
             "f32[11,7]"},
        Case{"f32[2];f32[2]", "map(p0, p1), dimensions={0}, to_apply=add", "f32[2]"}));

class RefusalTest : public testing::TestWithParam<Case> {};

TEST_P(RefusalTest, SaysWhy) {
  const std::string message = Inferred(GetParam().parameters, GetParam().operation);
  EXPECT_NE(message.find(GetParam().shape), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusalTest,
    testing::Values(
        Case{"f32[2];f32[3]", "add(p0, p1)", "must have the same dimensions"},
        Case{"f32[2]", "shift-left(p0, p0)", "takes elements that are signed, unsigned"},
        Case{"f32[2]", "convert(p0)", "so it must be given"},
        Case{"f32[2];f32[]", "pad(p0, p1), padding=9223372036854775807_9223372036854775807", "gives no possible size"},
        Case{"f32[2];f32[]", "pad(p0, p1), padding=-3_0", "gives no possible size"},
        Case{"f32[1099511627776,10000,1];f32[]", "pad(p0, p1), padding=0_0x0_0x0_99", "more than 2^60 bytes"},
        Case{"f32[4]", "slice(p0), slice={[2:5]}", "must lie within dimension 0"},
        Case{"f32[4]", "slice(p0), slice={[3:2]}", "must lie within dimension 0"},
        Case{"f32[4,4]", "transpose(p0), dimensions={0,0}", "names dimension 0 twice"},
        Case{"f32[4,4]", "reverse(p0), dimensions={2}", "2 is not"},
        Case{"f32[4];f32[5]", "dot(p0, p1), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
             "must have the same size"},
        Case{"f32[1,4,4,3];f32[2,2,4,5]", "convolution(p0, p1), window={size=2x2}, dim_labels=b01f_01io->b01f",
             "input features"},
        Case{"f32[4];f32[]", "reduce-window(p0, p1), window={size=2 stride=0}, to_apply=add", "positive stride"},
        Case{"f32[4];f32[]",
             "reduce-window(p0, p1), window={size=9223372036854775807 rhs_dilate=9223372036854775807}, to_apply=add",
             "under a window"},
        Case{"f32[4];s32[]", "reduce(p0, p1), dimensions={0}, to_apply=add", "must be a scalar of its type"},
        Case{"(f32[])", "get-tuple-element(p0), index=1", "index 1 must be below 1"},
        Case{"f32[4,8]", "topk(p0), k=9", "k 9 must be from 0"},
        Case{"f32[5,6];s32[3]",
             "gather(p0, p1), offset_dims={0}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
             "slice_sizes={1,7}",
             "slice size 7 must be from 0"}));

TEST(AddInferred, AddsWithDefaultAttributes) {
  Module module("m");
  Computation* entry = module.AddComputation("e");
  Instruction* x =
      entry->Add(Opcode::kParameter, Shape::Array(PrimitiveType::kF32, {2, 3}), {}, ParameterAttributes{0});
  const absl::StatusOr<Instruction*> sum = AddInferred(*entry, Opcode::kAdd, {x, x}, {}, {}, "twice");
  ASSERT_TRUE(sum.ok()) << sum.status();
  EXPECT_EQ((*sum)->name(), "twice");
  EXPECT_EQ((*sum)->shape(), x->shape());
  EXPECT_FALSE(AddInferred(*entry, Opcode::kAdd, {x}).ok());
}

TEST(EmptyAttributes, KnowEveryOpcode) {
  for (int i = 0; i < kOpcodeCount; ++i) {
    const Opcode opcode = static_cast<Opcode>(i);
    EXPECT_TRUE(HasFamilyOf(EmptyAttributes(opcode), opcode));
  }
  EXPECT_FALSE(HasFamilyOf(IotaAttributes{}, Opcode::kDot));
}

}  // namespace
}  // namespace smelt::hlo
