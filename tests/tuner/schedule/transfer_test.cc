#include "tuner/schedule/transfer.h"

#include <algorithm>
#include <filesystem>
#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/write_file.h"
#include "gtest/gtest.h"
#include "hlo/text/printer.h"
#include "measure/records/records.h"
#include "targets/cpu/own_kernels.h"
#include "targets/cpu/processor/detect.h"
#include "tests/scratch_folder.h"
#include "tests/tuner/schedule/product_task.h"
#include "tuner/schedule/proposer.h"

namespace smelt::tuner {
namespace {

std::vector<Config> Points(const ScheduleTask& task, size_t count) {
  std::mt19937_64 random(1);
  ConfigSet taken;
  std::vector<Config> points;
  AddRandom(task, count, random, HasSchedule(task), taken, points);
  return points;
}

// The column in which rows differ most often.
int64_t LivelyColumn(const gnn::Rows& rows) {
  int64_t best = 0;
  size_t most = 0;
  for (int64_t column = 0; column < rows.columns; ++column) {
    std::set<float> values;
    for (int64_t row = 0; row < rows.size(); ++row) values.insert(rows[row][static_cast<size_t>(column)]);
    if (values.size() > most) {
      most = values.size();
      best = column;
    }
  }
  return best;
}

// What a test has recorded.
struct Recorded {
  int64_t column = 0;        // whose value is the seconds
  int64_t measurements = 0;  // of schedules that have features
};

class TransferTest : public ::testing::Test {
 protected:
  TransferTest() { std::filesystem::create_directories(folder_.path() / "kernels"); }

  // Records of the kernel's schedules: the seconds are one of their features.
  Recorded Record(const ProductTask& product, size_t count) {
    const std::string hash = product.kernel.hash.ToHex();
    EXPECT_TRUE(WriteFile(folder_.In("kernels/" + hash + ".hlo"), hlo::ToText(*product.kernel.module)).ok());
    CandidateFeatures features(product.task, 1);
    const std::vector<Config> points = Points(product.task, count);
    const FeatureTable table = features.Of(points, Representation::kInvariant);
    const int64_t column = LivelyColumn(table.rows);
    auto records = measure::Records::Open(folder_.In("records.db")).value();
    for (size_t i = 0; i < points.size(); ++i) {
      measure::Record record;
      record.key = {absl::StrCat("schedule ", hash, " ", i), target_->RecordName(), measure::DeviceName(), "any",
                    "any"};
      record.kind = "schedule";
      record.description = points[i].ToString();
      const double seconds = 1e-3 + table.rows[static_cast<int64_t>(i)][static_cast<size_t>(column)];
      record.outcome.seconds = {seconds};
      record.outcome.reference_seconds = {1};
      EXPECT_TRUE(records->Add(record).ok());
    }
    return {column, std::count(table.known.begin(), table.known.end(), true)};
  }

  const ScratchFolder folder_;
  // A named CPU: what is learned is the same on every machine.
  const std::unique_ptr<targets::Target> target_ =
      cpu::OwnKernels(cpu::ParseTarget("cpu:haswell,threads=1").value(), {});
};

TEST_F(TransferTest, OrdersTheSchedulesOfAKernelThatWasNeverMeasured) {
  const ProductTask known(96, target_->machine()), other(160, target_->machine());
  const Recorded recorded = Record(known, 150);
  ASSERT_GT(recorded.measurements, 100);
  const auto model = TransferModel::Learn(folder_.path().string(), other.kernel, *target_, 1).value();
  EXPECT_EQ(model->kernels(), 1);
  EXPECT_EQ(model->measurements(), recorded.measurements);
  CandidateFeatures features(other.task, 1);
  const Prior prior = model->For(features);
  ASSERT_TRUE(prior != nullptr);
  const std::vector<Config> points = Points(other.task, 100);
  const FeatureTable table = features.Of(points, Representation::kInvariant);
  std::vector<float> speed;
  for (int64_t i = 0; i < table.rows.size(); ++i) speed.push_back(-table.rows[i][static_cast<size_t>(recorded.column)]);
  EXPECT_LT(gnn::MisorderedShare(prior(points).value(), speed, {}), 0.4);  // chance is 0.5
  // A model of the kernel can say something before its first trial.
  const auto boosted = BoostedCostModel(features, {.representation = Representation::kKnobs, .prior = prior});
  EXPECT_TRUE(boosted->CanScore());
  EXPECT_TRUE(boosted->Score(points).ok());
}

TEST_F(TransferTest, KernelsOwnRecordsAndEmptyFoldersTeachNothing) {
  const ProductTask known(96, target_->machine());
  Record(known, 20);
  CandidateFeatures features(known.task, 1);
  const auto own = TransferModel::Learn(folder_.path().string(), known.kernel, *target_, 1).value();
  EXPECT_EQ(own->measurements(), 0);
  EXPECT_TRUE(own->For(features) == nullptr);
  const auto nowhere = TransferModel::Learn(folder_.In("absent"), known.kernel, *target_, 1).value();
  EXPECT_TRUE(nowhere->For(features) == nullptr);
}

}  // namespace
}  // namespace smelt::tuner
