// Fits in closed form: to data whose answer is known, and of a whole model to a machine that never was.
#include "gnn/calibration/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "fusion/kernel_of_module.h"
#include "gnn/dataset/kernel_kind.h"
#include "gnn/eval/contender.h"
#include "gnn/features/features.h"
#include "gnn/model/model_file.h"
#include "gnn/native/engine.h"
#include "gnn/predictor.h"
#include "hlo/text/parser.h"
#include "tests/scratch_folder.h"

namespace smelt::gnn {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(NonNegativeLeastSquares, FindsCoefficientsAndLeavesThoseOutThatWouldBeNegative) {
  const Equations rows = {{1, 0, 1}, {0, 1, 1}, {1, 1, 1}, {2, 1, 1}};
  EXPECT_THAT(NonNegativeLeastSquares(rows, {5, 6, 8, 10}).value(),
              ElementsAre(DoubleNear(2, 1e-9), DoubleNear(3, 1e-9), DoubleNear(3, 1e-9)));
  const std::vector<double> x = NonNegativeLeastSquares({{1, 1}, {1, 2}, {1, 3}}, {3, 2, 1}).value();
  EXPECT_EQ(x[1], 0);
  EXPECT_NEAR(x[0], 2, 1e-9);
  EXPECT_FALSE(NonNegativeLeastSquares({}, {}).ok());
}

TEST(FitLinear, FindsThePlantedCoefficientsAndTellsHowSureItIs) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  const std::vector<double> planted = {0.7, -0.3, 0.0, 1.1};
  Equations rows;
  std::vector<double> targets;
  const auto draw = [&] {
    std::vector<double> row;
    for (size_t i = 0; i < planted.size(); ++i) row.push_back(normal(random));
    double target = 0.1 * normal(random);
    for (size_t i = 0; i < planted.size(); ++i) target += planted[i] * row[i];
    return std::pair(row, target);
  };
  for (int i = 0; i < 300; ++i) {
    auto [row, target] = draw();
    rows.push_back(row);
    targets.push_back(i % 50 == 0 ? target + 20 : target);  // some are altogether wrong
  }
  double error = 0;
  const LinearPosterior posterior = FitLinear(rows, targets, {{0, 0, 0, 0}, {1, 1, 1, 1}}, &error).value();
  for (size_t i = 0; i < planted.size(); ++i) EXPECT_NEAR(posterior.mean[i], planted[i], 0.05) << i;
  int inside = 0;
  for (int i = 0; i < 1000; ++i) {
    auto [row, target] = draw();
    inside += std::fabs(posterior.Mean(row.data()) - target) <= 1.645 * std::sqrt(posterior.Variance(row.data()));
  }
  EXPECT_GE(inside, 850);
  EXPECT_LE(inside, 960);
}

TEST(FitLinear, ACoefficientWithoutDeviationStays) {
  const Equations rows = {{1, 1}, {2, 1}, {3, 1}, {4, 1}};
  const LinearPosterior fit = FitLinear(rows, {7, 9, 11, 13}, {{0, 5}, {10, 0}}).value();
  EXPECT_NEAR(fit.mean[0], 2, 0.05);
  EXPECT_NEAR(fit.mean[1], 5, 1e-6);
}

// Kernels of many sizes, and a machine that runs each kind by a law of its own: elementwise work twice as fast as the
// model believes, products five times slower.
class CalibrationOfAModel : public ::testing::Test {
 protected:
  CalibrationOfAModel() {
    model_ = LoadModel(std::string(SMELT_SOURCE_DIR) + "/models/cpu.smeltmodel").value();
    EXPECT_TRUE(machine_.SetFigures(model_.target_figures).ok());
    engine_ = Engine::Create(model_.tasks["fusion"]).value();
    std::mt19937_64 random(1);
    for (int i = 0; i < 240; ++i) {
      const int64_t m = 8 + static_cast<int64_t>(random() % 500), n = 16 + static_cast<int64_t>(random() % 500);
      const std::string shape = "f32[" + std::to_string(m) + "," + std::to_string(n) + "]{1,0}";
      const std::string body = i % 2 == 0 ? "  p = " + shape + " parameter(0)\n  ROOT r = " + shape + " tanh(p)\n"
                                          : "  a = f32[" + std::to_string(m) + ",64]{1,0} parameter(0)\n  b = f32[64," +
                                                std::to_string(n) + "]{1,0} parameter(1)\n  ROOT d = " + shape +
                                                " dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n";
      kernels_.push_back(
          fusion::KernelOfModule(*hlo::ParseModule("HloModule k\n\nENTRY e {\n" + body + "}\n").value()).value());
      const KernelGraph graph = ExtractFeatures(kernels_.back().computation(), machine_);
      const KernelGraph* const pointer = &graph;
      Probe probe;
      const double believed = std::exp(engine_->PredictLogTimes({&pointer, 1}, &probe.hidden)[0]) * 1e-7;
      probe.kind = KernelKind(kernels_.back().computation());
      probe.here = kernels::cost::EstimateKernel(kernels_.back().computation(), machine_);
      probe.log_estimate = graph.LogEstimate();
      probe.seconds = believed * (i % 2 == 0 ? 0.5 : 5) * std::exp(0.02 * std::normal_distribution<double>()(random));
      probes_.push_back(probe);
    }
  }
  ModelFile model_;
  machine::Machine machine_;
  std::unique_ptr<Engine> engine_;
  std::vector<fusion::Kernel> kernels_;
  std::vector<Probe> probes_;
};

TEST_F(CalibrationOfAModel, LearnsWhatTheMachineChangesFromFewKernelsAndKeepsItInTheFile) {
  const std::vector<Probe> seen(probes_.begin(), probes_.begin() + 120);
  Calibration calibration = Calibrate(seen, LastLayerOf(model_.tasks["fusion"])).value();
  calibration.figures = machine_.Figures();
  double before = 0, after = 0;
  int inside = 0;
  for (size_t i = 120; i < probes_.size(); ++i) {
    const Probe& probe = probes_[i];
    const Prediction p =
        calibration.Predict(probe.kind, probe.here, probe.log_estimate, probe.hidden.data(), probe.hidden.size());
    after += std::fabs(std::log(p.seconds / probe.seconds)) / 120;
    before += std::fabs(std::log(i % 2 == 0 ? 0.5 : 5.0)) / 120;
    inside += std::fabs(std::log(p.seconds / probe.seconds)) <= 1.645 * p.log_deviation;
  }
  EXPECT_GT(before, 1);
  EXPECT_LT(after, 0.05);
  EXPECT_GE(inside, 96);  // of 120, for 90 %
  // The file gives the same predictions, through the predictor.
  model_.calibration = calibration;
  const ScratchFolder folder;
  const std::string path = folder.In("calibrated.smeltmodel");
  ASSERT_TRUE(SaveModel(path, model_).ok());
  const auto predictor = Predictor::Load(path, machine_, "cpu").value();
  EXPECT_EQ(predictor->Warning(), "");
  for (size_t i = 200; i < 210; ++i) {
    const fusion::Kernel* const pointer = &kernels_[i];
    const Prediction p = predictor->Predict({&pointer, 1}).value()[0];
    EXPECT_NEAR(std::log(p.seconds / probes_[i].seconds), 0, 0.3);
    EXPECT_GT(p.log_deviation, 0);
    EXPECT_NEAR(predictor->PredictSeconds(kernels_[i]).value(), p.seconds, 1e-9);
  }
}

TEST_F(CalibrationOfAModel, AnEvaluationJudgesTheCalibratedModel) {
  const Calibration calibration = Calibrate(probes_, LastLayerOf(model_.tasks["fusion"])).value();
  Dataset data;
  const auto rows = std::make_shared<NodeRows>();
  for (size_t i = 0; i < 20; ++i) {
    Example& example = data.examples.emplace_back();
    example.graph = PackedGraph(ExtractFeatures(kernels_[i].computation(), machine_), rows);
    example.kind = probes_[i].kind;
    example.here = probes_[i].here;
  }
  const Contender contender = NetworkContender("calibrated", &model_.tasks["fusion"], nullptr, calibration).value();
  const std::vector<double> seconds = contender.seconds(data, {3, 8, 13}).value();
  ASSERT_EQ(seconds.size(), 3u);
  for (const size_t k : {0, 1, 2}) {
    const Probe& probe = probes_[3 + 5 * k];
    EXPECT_NEAR(std::log(seconds[k] / probe.seconds), 0, 0.2) << k;
  }
}

TEST_F(CalibrationOfAModel, TooFewKernelsAreRefused) {
  const auto few = Calibrate({probes_.begin(), probes_.begin() + 5}, LastLayerOf(model_.tasks["fusion"]));
  ASSERT_FALSE(few.ok());
  EXPECT_THAT(std::string(few.status().message()), HasSubstr("5 timed kernels are too few"));
}

}  // namespace
}  // namespace smelt::gnn
