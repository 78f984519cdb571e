// Columns of tiles, scores and estimates made many at a time, against the same one by one.
#include "gnn/features/tile_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <thread>

#include "fusion/kernel_of_module.h"
#include "gnn/features/features.h"
#include "gnn/model/model_file.h"
#include "gnn/native/engine.h"
#include "gnn/predictor.h"
#include "hlo/text/parser.h"
#include "kernels/cost/analytical.h"
#include "machine/target_id.h"

namespace smelt::gnn {
namespace {

fusion::Kernel KernelOf(const std::string& body) {
  return fusion::KernelOfModule(*hlo::ParseModule("HloModule m\n\nENTRY e {\n" + body + "}\n").value()).value();
}

const char* const kBodies[] = {
    R"(
  a = f32[96,70]{1,0} parameter(0)
  b = f32[70,130]{1,0} parameter(1)
  d = f32[96,130]{1,0} dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = f32[96,130]{1,0} tanh(d)
)",
    R"(
  p = f32[3,17,129]{2,1,0} parameter(0)
  e = f32[3,17,129]{2,1,0} exponential(p)
  ROOT r = f32[129,3,17]{2,1,0} transpose(e), dimensions={2,0,1}
)",
    R"(
  p = bf16[1024]{0} parameter(0)
  ROOT r = bf16[1024]{0} negate(p)
)",
};

std::vector<int64_t> RandomTiles(const std::vector<int64_t>& dimensions, int count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<int64_t> extents;
  for (int i = 0; i < count; ++i) {
    for (const int64_t dimension : dimensions) extents.push_back(1 + static_cast<int64_t>(random() % dimension));
  }
  return extents;
}

machine::Machine Threads(int threads) {
  machine::Machine machine;
  machine.threads = threads;
  return machine;
}

TEST(TileRows, AreWhatTheNamesOfTheColumnsSay) {
  const fusion::Kernel kernel = KernelOf(kBodies[0]);
  const machine::Machine machine;
  const TileRows rows(kernel.computation(), machine);
  ASSERT_EQ(rows.dimensions(), (std::vector<int64_t>{96, 130}));
  const std::vector<float> row =
      TileFeatures(kernel.computation(), std::vector<kernels::nests::Tile>{{{5, 48}}}, machine);
  ASSERT_EQ(row.size(), 39u);
  const double estimate = kernels::cost::EstimateTile(kernel.computation(), {{5, 48}}, machine)->seconds();
  const double expected[] = {std::log1p(48),
                             std::log1p(5),
                             -1,
                             -1,
                             -1,
                             -1,
                             std::log1p(130),
                             std::log1p(96),
                             -1,
                             -1,
                             -1,
                             -1,
                             34.0 / 48,
                             1.0 / 5,
                             0,
                             0,
                             0,
                             0,
                             std::log1p(53),
                             std::log1p(240),
                             std::log1p(60),
                             0,
                             std::log1p(3),
                             48.0 / 128,
                             std::log1p(960.0 / 32768),
                             std::log1p(960.0 / (1 << 20)),
                             std::log1p(60),
                             std::log(estimate / 1e-7)};
  for (size_t i = 0; i < std::size(expected); ++i) EXPECT_NEAR(row[i], expected[i], 1e-6) << "column " << i;
}

// Rows of 130: a tile of 48 columns has runs of 48, one of whole rows runs on over all of its rows.
TEST(TileRows, TellWhatLiesOneBehindTheOther) {
  const fusion::Kernel kernel = KernelOf(kBodies[0]);
  const std::vector<float> rows =
      TileFeatures(kernel.computation(), std::vector<kernels::nests::Tile>{{{5, 40}}, {{5, 130}}}, machine::Machine());
  const size_t columns = TileColumns().size(), run = 30;
  ASSERT_EQ(TileColumns()[run].name, "run");
  EXPECT_NEAR(rows[run], std::log1p(40), 1e-6);
  EXPECT_NEAR(rows[run + 1], 40.0 / 48, 1e-6);
  EXPECT_NEAR(rows[columns + run], std::log1p(650), 1e-6);
  EXPECT_NEAR(rows[columns + run + 1], 650.0 / 656, 1e-6);
}

TEST(TileRows, TellHowFarATileIsFromTheCompilersOwn) {
  const machine::Machine machine;
  for (const char* body : kBodies) {
    const fusion::Kernel kernel = KernelOf(body);
    const kernels::nests::Tile own = kernels::nests::EnumerateTiles(kernel.computation(), machine, 1)->front();
    kernels::nests::Tile other = own;
    other.extents.back() += 3;
    const std::vector<float> rows =
        TileFeatures(kernel.computation(), std::vector<kernels::nests::Tile>{own, other}, machine);
    const size_t columns = TileColumns().size(), over = 32;
    ASSERT_EQ(TileColumns()[over].name, "over_preferred");
    for (size_t c = over; c < columns; ++c) EXPECT_NEAR(rows[c], 0, 1e-6) << TileColumns()[c].name;
    const double step = std::log1p(other.extents.back()) - std::log1p(own.extents.back());
    EXPECT_NEAR(rows[columns + over], step, 1e-6);
    EXPECT_NEAR(rows[columns + over + 1], 0, 1e-6);
    EXPECT_NEAR(rows[columns + columns - 1], step, 1e-6);
  }
}

TEST(TileRows, ManyAtOnceAreEachAlone) {
  for (const char* body : kBodies) {
    for (const int threads : {1, 8}) {
      const fusion::Kernel kernel = KernelOf(body);
      const machine::Machine machine = Threads(threads);
      const TileRows rows(kernel.computation(), machine);
      const int64_t rank = static_cast<int64_t>(rows.dimensions().size());
      const std::vector<int64_t> extents = RandomTiles(rows.dimensions(), 50, 3);
      std::vector<float> columns(TileColumns().size() * TileRows::kBlock), one(columns.size()), seconds(50);
      rows.FillBlock(extents.data(), 50, columns.data());
      rows.Estimate(extents.data(), 50, seconds.data());
      for (int i = 0; i < 50; ++i) {
        rows.FillBlock(&extents[i * rank], 1, one.data());
        for (size_t c = 0; c < TileColumns().size(); ++c)
          EXPECT_EQ(columns[c * TileRows::kBlock + i], one[c * TileRows::kBlock]) << "column " << c;
        const kernels::nests::Tile tile{{extents.begin() + i * rank, extents.begin() + (i + 1) * rank}};
        const double estimate = kernels::cost::EstimateTile(kernel.computation(), tile, machine)->seconds();
        EXPECT_NEAR(seconds[i], estimate, 1e-6 * estimate) << tile.ToString();
      }
    }
  }
}

class PreparedKernels : public ::testing::Test {
 protected:
  PreparedKernels()
      : predictor_(Predictor::Load(std::string(SMELT_SOURCE_DIR) + "/models/cpu.smeltmodel", machine_, "cpu").value()) {
  }
  machine::Machine machine_;
  std::unique_ptr<Predictor> predictor_;
};

TEST_F(PreparedKernels, ScoreAsTheModelDoesTileByTile) {
  const auto analytical = Predictor::Analytical(machine_);
  for (Predictor* predictor : {predictor_.get(), analytical.get()}) {
    for (const char* body : kBodies) {
      const fusion::Kernel kernel = KernelOf(body);
      const auto prepared = predictor->Prepare(kernel.computation()).value();
      const int64_t rank = static_cast<int64_t>(prepared->dimensions().size());
      const std::vector<int64_t> extents = RandomTiles(prepared->dimensions(), 200, 7);
      std::vector<kernels::nests::Tile> tiles;
      for (int i = 0; i < 200; ++i) tiles.push_back({{extents.begin() + i * rank, extents.begin() + (i + 1) * rank}});
      const std::vector<double> expected = predictor->ScoreTiles(kernel, tiles).value();
      std::vector<float> scores(200);
      EXPECT_EQ(prepared->Score(extents.data(), 200, scores.data()), 0);
      for (int i = 0; i < 200; ++i) EXPECT_NEAR(scores[i], expected[i], 2e-5 * std::max(1.0, std::fabs(expected[i])));
    }
  }
}

TEST_F(PreparedKernels, ATileThatDoesNotFitScoresInfinityAndChangesNoOther) {
  const auto prepared = predictor_->Prepare(KernelOf(kBodies[0]).computation()).value();
  const int64_t good[] = {5, 48, 5, 48, 96, 130}, bad[] = {5, 48, 0, 48, 96, 131};
  float expected[3], scores[3];
  EXPECT_EQ(prepared->Score(good, 3, expected), 0);
  EXPECT_EQ(prepared->Score(bad, 3, scores), 2);
  EXPECT_EQ(scores[0], expected[0]);
  EXPECT_TRUE(std::isinf(scores[1]));
  EXPECT_TRUE(std::isinf(scores[2]));
}

TEST_F(PreparedKernels, MayBeAskedFromManyThreads) {
  const auto prepared = predictor_->Prepare(KernelOf(kBodies[1]).computation()).value();
  const std::vector<int64_t> extents = RandomTiles(prepared->dimensions(), 333, 11);
  std::vector<float> expected(333);
  prepared->Score(extents.data(), 333, expected.data());
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      std::vector<float> scores(333);
      for (int round = 0; round < 20; ++round) {
        prepared->Score(extents.data(), 333, scores.data());
        EXPECT_EQ(scores, expected);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace smelt::gnn
