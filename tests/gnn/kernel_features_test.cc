// Columns of kernels and their nodes that tell how a kernel computes, and not only what.
#include <algorithm>
#include <cmath>
#include <string>

#include "fusion/kernel_of_module.h"
#include "gnn/features/features.h"
#include "gtest/gtest.h"
#include "hlo/text/parser.h"
#include "kernels/cost/kernel_work.h"

namespace smelt::gnn {
namespace {

constexpr float kNear = 1e-5;

struct Features {
  fusion::Kernel kernel;
  KernelGraph graph;

  explicit Features(const std::string& body)
      : kernel(
            fusion::KernelOfModule(
                *hlo::ParseModule("HloModule m\n"
                                  "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n"
                                  "ENTRY e {\n" +
                                  body + "}\n")
                     .value())
                .value()),
        graph(ExtractFeatures(kernel.computation(), machine::Machine())) {}

  // The columns of a name, of the one node with this opcode.
  std::vector<float> Of(hlo::Opcode opcode, std::string_view name) const {
    const auto node = std::find(graph.opcodes.begin(), graph.opcodes.end(), static_cast<int32_t>(opcode));
    std::vector<float> values;
    for (size_t c = 0; c < NodeColumns().size(); ++c) {
      const size_t row = static_cast<size_t>(node - graph.opcodes.begin());
      if (NodeColumns()[c].name == name) values.push_back(graph.node_features[row * NodeColumns().size() + c]);
    }
    return values;
  }
  float Of(std::string_view name) const {
    for (size_t c = 0; c < KernelColumns().size(); ++c) {
      if (KernelColumns()[c].name == name) return graph.kernel_features[c];
    }
    ADD_FAILURE() << "no column " << name;
    return 0;
  }
};

TEST(KernelFeatures, TellHowFarArraysLieAway) {
  const Features near("x = f32[64,256] parameter(0)  w = f32[64,256] parameter(1)  ROOT y = f32[64,256] add(x, w)\n");
  const std::vector<int64_t> distances = {0, int64_t{3} << 20, int64_t{90} << 20};
  const KernelGraph far = ExtractFeatures(near.kernel.computation(), machine::Machine(), {}, distances);
  const size_t width = NodeColumns().size();
  size_t first = 0;
  while (NodeColumns()[first].name != "distance") ++first;
  const auto row = [&](size_t node) { return &far.node_features[node * width + first]; };
  EXPECT_EQ(row(0)[0], 0);
  EXPECT_EQ(row(1)[0], 1);
  EXPECT_NEAR(row(1)[1], std::log1p(3 << 20), kNear);
  EXPECT_NEAR(row(2)[1], std::log1p(90 << 20), kNear);
  EXPECT_NEAR(row(2)[2], std::log1p(4 * 64 * 256), kNear);
  const auto column = [&](std::string_view name) {
    size_t c = 0;
    while (KernelColumns()[c].name != name) ++c;
    return far.kernel_features[c];
  };
  EXPECT_NEAR(column("far"), std::log1p(2 * 4 * 64 * 256), kNear);
  EXPECT_NEAR(column("far_beyond_l3"), std::log1p(4 * 64 * 256), kNear);
  EXPECT_GT(column("far_seconds"), 0);
  EXPECT_EQ(near.Of("far"), 0);
  EXPECT_EQ(near.Of("far_seconds"), 0);
}

TEST(KernelFeatures, DimensionsAlsoCountFromTheMinorOne) {
  const Features features("x = f32[5,48,130] parameter(0)  ROOT y = f32[5,48,130] negate(x)\n");
  const std::vector<float> minor = features.Of(hlo::Opcode::kNegate, "minor_dims");
  ASSERT_EQ(minor.size(), 6);
  EXPECT_NEAR(minor[0], std::log1p(130), kNear);
  EXPECT_NEAR(minor[1], std::log1p(48), kNear);
  EXPECT_NEAR(minor[2], std::log1p(5), kNear);
  EXPECT_EQ(minor[3], -1);
}

// Windows of four that overlap: an exponential within them is computed four times.
TEST(KernelFeatures, ANodeTellsHowOftenItIsComputed) {
  const Features features(
      "x = f32[1003] parameter(0)  e = f32[1003] exponential(x)  z = f32[] constant(0)  "
      "ROOT y = f32[1000] reduce-window(e, z), window={size=4}, to_apply=add\n");
  const std::vector<float> inside = features.Of(hlo::Opcode::kExp, "use");
  ASSERT_EQ(inside.size(), 4);
  EXPECT_NEAR(inside[0], std::log1p(4000), kNear);
  EXPECT_NEAR(inside[1], std::log(4000.0 / 1003), kNear);
  EXPECT_NEAR(inside[2], std::log(4.0), kNear);
  EXPECT_NEAR(features.Of(hlo::Opcode::kReduceWindow, "use")[1], 0, kNear);
}

// Elements of a stack along short rows look for their part one by one, and so does what it is made of.
TEST(KernelFeatures, ANodeTellsOfLanesThatLieIdle) {
  const Features features(
      "x = f32[1000,1] parameter(0)  e = f32[1000,1] exponential(x)  y = f32[1000,1] parameter(1)  "
      "s = f32[1000,2] concatenate(e, y), dimensions={1}  ROOT n = f32[1000,2] negate(s)\n");
  EXPECT_NEAR(features.Of(hlo::Opcode::kExp, "use")[3], std::log(machine::Machine().vector_bytes / 4.0), kNear);
  EXPECT_EQ(features.Of(hlo::Opcode::kNegate, "use")[3], 0);
}

// A column that is read along its rows, and rows: the same bytes by other loads.
TEST(KernelFeatures, TellOfTheSchedule) {
  const Features rows("x = f32[300,300] parameter(0)  ROOT y = f32[300,300] negate(x)\n");
  const Features columns("x = f32[300,300] parameter(0)  ROOT y = f32[300,300] transpose(x), dimensions={1,0}\n");
  EXPECT_EQ(rows.Of("schedule: there is one"), 1);
  EXPECT_NEAR(rows.Of("schedule: log loads of vectors"), std::log2(1 + 300 * 300 / 16.0), 0.5);
  EXPECT_GT(columns.Of("schedule: log cycles"), rows.Of("schedule: log cycles"));
  const Features sorted(
      "x = f32[300,300] parameter(0)  ROOT y = c64[300,151] fft(x), fft_type=RFFT, fft_length={300}\n");
  EXPECT_EQ(sorted.Of("schedule: there is one"), 0);
  EXPECT_EQ(sorted.Of("schedule: log cycles"), 0);
}

TEST(KernelFeatures, OfTheScheduleCostNothingWhereNobodyLooksAtThem) {
  const Features with("x = f32[300,300] parameter(0)  ROOT y = f32[300,300] negate(x)\n");
  const KernelGraph without = ExtractFeatures(with.kernel.computation(), machine::Machine(), {}, {}, false);
  ASSERT_EQ(without.kernel_features.size(), with.graph.kernel_features.size());
  for (size_t c = 0; c < KernelColumns().size(); ++c) {
    const bool of_schedule = KernelColumns()[c].name.starts_with("schedule: ");
    EXPECT_EQ(without.kernel_features[c], of_schedule ? 0 : with.graph.kernel_features[c]) << KernelColumns()[c].name;
  }
}

TEST(KernelFeatures, WorkIsThatOfTheAnalyticalModel) {
  const Features features(
      "x = f32[64,512] parameter(0)  e = f32[64,512] exponential(x)  z = f32[] constant(0)  "
      "ROOT y = f32[64] reduce(e, z), dimensions={1}, to_apply=add\n");
  const kernels::cost::KernelWork work = kernels::cost::WorkOf(features.kernel.computation(), machine::Machine());
  using Work = kernels::cost::KernelWork;
  EXPECT_GT(work.operations[Work::kElementwise], 64 * 512);
  EXPECT_NEAR(features.Of("work_elementwise"), std::log1p(work.operations[Work::kElementwise]), kNear);
  EXPECT_NEAR(features.Of("work_row_sums"), std::log1p(2 * 64 * 512), kNear);
  EXPECT_NEAR(features.Of("work_row_ends"), std::log1p(64), kNear);
  EXPECT_EQ(features.Of("work_strided"), 0);
  EXPECT_NEAR(features.Of("work_bytes"), std::log1p(work.bytes), kNear);
}

}  // namespace
}  // namespace smelt::gnn
