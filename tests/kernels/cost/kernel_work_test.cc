#include "kernels/cost/kernel_work.h"

#include "gtest/gtest.h"
#include "hlo/text/parser.h"
#include "kernels/cost/analytical.h"

namespace smelt::kernels::cost {
namespace {

KernelWork Of(const std::string& entry) {
  const auto module = hlo::ParseModule(
                          "HloModule m\n"
                          "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n" +
                          entry)
                          .value();
  return WorkOf(*module->entry(), machine::Machine());
}

TEST(KernelWork, SumsOfRowsHaveEndsAndSumsOfColumnsHaveNone) {
  const auto sum = [](const std::string& along) {
    return Of(
        "ENTRY e { x = f32[64,64] parameter(0)  z = f32[] constant(0)  ROOT y = f32[64] reduce(x, z), "
        "dimensions={" +
        along + "}, to_apply=add }");
  };
  EXPECT_EQ(sum("1").operations[KernelWork::kRowSums], 2 * 64 * 64);
  EXPECT_EQ(sum("1").operations[KernelWork::kRowEnds], 64);
  EXPECT_EQ(sum("0").operations[KernelWork::kColumnSums], 2 * 64 * 64);
  EXPECT_EQ(sum("0").operations[KernelWork::kRowEnds], 0);
}

TEST(KernelWork, ShortSumsGoInVectorsOverTheirResults) {
  const KernelWork work =
      Of("ENTRY e { x = f32[64,64,4] parameter(0)  z = f32[] constant(0)  ROOT y = f32[64,64] reduce(x, z), "
         "dimensions={2}, to_apply=add }");
  EXPECT_EQ(work.operations[KernelWork::kRowSums], 2 * 64 * 64 * 4);
  EXPECT_EQ(work.operations[KernelWork::kRowEnds], 0);
}

TEST(KernelWork, DepthwiseConvolutionsHaveTheirGroupsAsColumns) {
  const KernelWork work =
      Of("ENTRY e { x = f32[1,8,8,32] parameter(0)  w = f32[3,3,1,32] parameter(1)  ROOT y = f32[1,6,6,32] "
         "convolution(x, w), window={size=3x3}, dim_labels=b01f_01io->b01f, feature_group_count=32 }");
  ASSERT_EQ(work.contractions.size(), 1);
  EXPECT_EQ(work.contractions[0].n, 32);
  EXPECT_EQ(work.contractions[0].k, 9);
}

TEST(KernelWork, AProductWithOneColumnIsSumsOfRows) {
  const KernelWork work =
      Of("ENTRY e { x = f32[64,512] parameter(0)  y = f32[512] parameter(1)  ROOT z = f32[64] dot(x, y), "
         "lhs_contracting_dims={1}, rhs_contracting_dims={0} }");
  EXPECT_TRUE(work.contractions.empty());
  EXPECT_EQ(work.operations[KernelWork::kRowSums], 2 * 64 * 512);
  EXPECT_EQ(work.operations[KernelWork::kRowEnds], 64);
}

TEST(KernelWork, WhereASliceStartsIsComputedOnceForAllOfIt) {
  const KernelWork work =
      Of("ENTRY e { x = f32[1000,256] parameter(0)  i = s32[64,1] parameter(1)  n = s32[64,1] negate(i)  ROOT y = "
         "f32[64,256] gather(x, n), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
         "index_vector_dim=1, slice_sizes={1,256} }");
  EXPECT_LE(work.operations[KernelWork::kElementwise], 64 * 4);
  EXPECT_EQ(work.operations[KernelWork::kSingles], 0);
}

// Windows of a signal: no index is computed, and elements lie beside each other.
TEST(KernelWork, APlaceThatNoDataSaysCostsNothing) {
  const KernelWork work =
      Of("ENTRY e { x = f32[1000] parameter(0)  i = s32[960,40] iota(), iota_dimension=0  "
         "j = s32[960,40] iota(), iota_dimension=1  s = s32[960,40] add(i, j)  ROOT y = f32[960,40] gather(x, s), "
         "offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=2, slice_sizes={1} }");
  EXPECT_EQ(work.operations[KernelWork::kSingles], 0);
  EXPECT_LE(work.operations[KernelWork::kElementwise], 960 * 40);
}

// Places in a picture: the gather reads y and x, not an element of their stack.
TEST(KernelWork, StartsOfAGatherAreReadAsParts) {
  const auto singles = [](const std::string& root) {
    return Of("ENTRY e { x = f32[256,256] parameter(0)  i = s32[4096,1] parameter(1)  j = s32[4096,1] parameter(2)  "
              "s = s32[4096,2] concatenate(i, j), dimensions={1}  ROOT y = " +
              root + " }")
        .operations[KernelWork::kSingles];
  };
  EXPECT_EQ(singles("f32[4096] gather(x, s), offset_dims={}, collapsed_slice_dims={0,1}, start_index_map={0,1}, "
                    "index_vector_dim=1, slice_sizes={1,1}"),
            4096);
  EXPECT_EQ(singles("s32[4096,2] negate(s)"), 2 * 4096);
}

// Vectors go over the rows of a stack that is written; one that is read on is put together element by element.
TEST(KernelWork, AStackAlongShortRowsIsWrittenInVectors) {
  const std::string parts =
      "ENTRY e { a = f32[512,64,1] parameter(0)  b = f32[512,64,1] parameter(1)  c = f32[512,64,1] exponential(b)  ";
  const std::string stack = "f32[512,64,2] concatenate(a, c), dimensions={2}  ";
  const KernelWork written = Of(parts + "ROOT s = " + stack + "}");
  const KernelWork read = Of(parts + "s = " + stack + "ROOT n = f32[512,64,2] negate(s) }");
  EXPECT_EQ(written.operations[KernelWork::kSingles], 0);
  EXPECT_EQ(read.operations[KernelWork::kSingles], 2 * 512 * 64);
  EXPECT_GT(read.operations[KernelWork::kElementwise], 4 * written.operations[KernelWork::kElementwise]);
}

TEST(KernelWork, ElementsApartAreStridedOrSingle) {
  const auto every = [](const std::string& stride, const std::string& elements) {
    return Of("ENTRY e { x = f32[64,512] parameter(0)  ROOT y = f32[64," + elements +
              "] slice(x), slice={[0:64], [0:512:" + stride + "]} }");
  };
  EXPECT_EQ(every("8", "64").operations[KernelWork::kStrided], 64 * 64);
  EXPECT_DOUBLE_EQ(every("2", "256").operations[KernelWork::kStrided], 64 * 256 / 3.0);  // shuffled
  EXPECT_EQ(every("2", "256").bytes, 4 * 64 * (512 + 256));  // what lies between comes along
  const KernelWork turned =
      Of("ENTRY e { x = f32[64,512] parameter(0)  ROOT y = f32[512,64] transpose(x), dimensions={1,0} }");
  EXPECT_EQ(turned.operations[KernelWork::kStrided], 64 * 512);
}

TEST(KernelWork, ShortRowsThatAreTurnedComeOneByOne) {
  const auto singles = [](const std::string& shape) {
    return Of("ENTRY e { x = f32[" + shape + "] parameter(0)  ROOT y = f32[" + shape + "] reverse(x), dimensions={1} }")
        .operations[KernelWork::kSingles];
  };
  EXPECT_EQ(singles("100,56,3"), 100 * 56 * 3);
  EXPECT_EQ(singles("100,56,64"), 0);
  EXPECT_EQ(singles("100,56"), 0);
  EXPECT_EQ(singles("100,1,3"), 0);
}

}  // namespace
}  // namespace smelt::kernels::cost
