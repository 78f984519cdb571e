#include "gnn/train/train.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/write_file.h"
#include "gmock/gmock.h"
#include "gnn/corpus/crc32c.h"
#include "gnn/eval/evaluate.h"
#include "gnn/eval/metrics.h"
#include "gnn/native/engine.h"
#include "gtest/gtest.h"
#include "hlo/file/read.h"
#include "tests/gnn/train/made_data.h"
#include "tests/scratch_folder.h"

namespace smelt::gnn {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

TrainOptions Quick(Task task) {
  TrainOptions options;
  options.task = task;
  options.hidden = 32;
  options.layers = 2;
  options.embedding = 8;
  options.epochs = 12;
  options.kernels_per_batch = 32;
  options.learning_rate = 5e-3;
  options.threads = 1;
  return options;
}

TEST(Train, LearnsTimesThatTheEstimateDoesNotKnow) {
  const Dataset data = MakeData(400, 1);
  const Split split = SplitByProgram(data, {.validation = 0.2, .test = 0.2, .seed = 3});
  ASSERT_FALSE(split.test.empty());
  for (NetworkKind kind : {NetworkKind::kGraphSage, NetworkKind::kLstm}) {
    TrainOptions options = Quick(Task::kFusion);
    options.kind = kind;
    TrainReport report;
    auto model = TrainTask(data, split, options, &report);
    ASSERT_TRUE(model.ok()) << model.status();
    const auto factors = FitAnalyticalFactors(data, split.train);
    auto table = EvaluateModels(data, split.test,
                                {NetworkContender("learned", &*model, nullptr).value(), AnalyticalContender(factors)});
    ASSERT_TRUE(table.ok());
    auto mean = [](const std::map<std::string, FusionError>& errors) {
      std::vector<double> values;
      for (const auto& [program, e] : errors) values.push_back(e.mape);
      return Mean(values);
    };
    EXPECT_LT(mean(table->contenders[0].large), 0.1);
    EXPECT_GT(mean(table->contenders[1].large), 0.2);
  }
}

TEST(Train, RanksTiles) {
  const Dataset data = MakeData(120, 2, /*tiles=*/true);
  const Split split = SplitByProgram(data, {.validation = 0.2, .test = 0.2, .seed = 3});
  TrainReport report;
  auto model = TrainTask(data, split, Quick(Task::kTile), &report);
  ASSERT_TRUE(model.ok()) << model.status();
  auto table = EvaluateModels(data, split.test, {NetworkContender("learned", nullptr, &*model).value()});
  ASSERT_TRUE(table.ok());
  for (const auto& [program, error] : table->contenders[0].tiles) EXPECT_GT(error.tau, 0.6) << program;
}

TEST(Train, AnInterruptedRunEndsWhereAnUnbrokenOneDoes) {
  const Dataset data = MakeData(100, 4);
  const Split split = SplitByProgram(data, {.seed = 1});
  const ScratchFolder folder;
  TrainOptions options = Quick(Task::kFusion);
  options.epochs = 6;
  TrainReport report;
  auto unbroken = TrainTask(data, split, options, &report);
  ASSERT_TRUE(unbroken.ok());
  options.checkpoint = folder.In("resume.checkpoint");
  options.progress = [](const TrainProgress& p) { return p.epoch < 3; };
  ASSERT_TRUE(TrainTask(data, split, options, &report).ok());
  EXPECT_EQ(report.epochs, 3);
  options.progress = nullptr;
  auto resumed = TrainTask(data, split, options, &report);
  ASSERT_TRUE(resumed.ok());
  EXPECT_EQ(report.resumed_epoch, 3);
  EXPECT_EQ(resumed->weights, unbroken->weights);
}

TEST(Train, RefusesATornCheckpointNamingIt) {
  const Dataset data = MakeData(40, 4);
  const ScratchFolder folder;
  const std::string checkpoint = folder.In("torn.checkpoint");
  std::ofstream(checkpoint) << "not a checkpoint";
  TrainOptions options = Quick(Task::kFusion);
  options.checkpoint = checkpoint;
  TrainReport report;
  auto model = TrainTask(data, SplitByProgram(data, {}), options, &report);
  ASSERT_FALSE(model.ok());
  EXPECT_THAT(std::string(model.status().message()), HasSubstr("torn.checkpoint"));
}

TEST(ModelFile, GivesTheSamePredictionsAfterSavingAndIsRefusedWhenCutAnywhere) {
  const Dataset data = MakeData(60, 6);
  TrainOptions options = Quick(Task::kFusion);
  options.epochs = 2;
  TrainReport report;
  auto task = TrainTask(data, SplitByProgram(data, {}), options, &report);
  ASSERT_TRUE(task.ok());
  ModelFile file;
  file.tasks["fusion"] = *task;
  file.summary = "test";
  file.programs = {"one", "two"};
  const ScratchFolder folder;
  const std::string path = folder.In("model.smeltmodel");
  ASSERT_TRUE(SaveModel(path, file).ok());
  auto loaded = LoadModel(path);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->tasks["fusion"].weights, task->weights);
  EXPECT_EQ(loaded->programs, file.programs);
  auto before = Engine::Create(*task), after = Engine::Create(loaded->tasks["fusion"]);
  ASSERT_TRUE(before.ok() && after.ok());
  const KernelGraph unpacked = data.examples[0].graph.Unpack();
  const KernelGraph* graph = &unpacked;
  EXPECT_EQ((*before)->PredictLogTimes({&graph, 1}), (*after)->PredictLogTimes({&graph, 1}));

  const auto size = fs::file_size(path);
  for (uintmax_t length = 0; length < size; length += 1 + size / 50) {
    const std::string cut = path + ".cut";
    fs::copy_file(path, cut, fs::copy_options::overwrite_existing);
    fs::resize_file(cut, length);
    auto torn = LoadModel(cut);
    ASSERT_FALSE(torn.ok());
    EXPECT_THAT(std::string(torn.status().message()), HasSubstr("model.smeltmodel.cut"));
  }
}

TEST(ModelFile, IsRefusedWithAColumnThatIsNotMade) {
  const ScratchFolder folder;
  const std::string path = folder.In("model.smeltmodel");
  ASSERT_TRUE(SaveModel(path, {}).ok());
  std::string bytes = hlo::ReadTextFile(path).value();
  const size_t name = bytes.find("\"tiles_a_thread\"");
  ASSERT_NE(name, std::string::npos);
  bytes[name + 1] = 'f';
  bytes.resize(bytes.size() - sizeof(uint32_t));
  const uint32_t crc = Crc32c(bytes);
  bytes.append(reinterpret_cast<const char*>(&crc), sizeof(crc));
  ASSERT_TRUE(WriteFile(path, bytes).ok());
  const auto loaded = LoadModel(path);
  EXPECT_TRUE(absl::IsFailedPrecondition(loaded.status())) << loaded.status();
  EXPECT_THAT(std::string(loaded.status().message()),
              HasSubstr("model.smeltmodel: it was trained on a column `files_a_thread`"));
}

TEST(Split, KeepsProgramsWholeAndDropsKernelsSeenInTraining) {
  Dataset data = MakeData(200, 8);
  data.examples[0].program = "program_of_test";
  const Split split = SplitByProgram(data, {.test_programs = {"program3", "program_of_test"}});
  std::set<std::string> train, test;
  for (int64_t i : split.train) train.insert(data.examples[i].program);
  for (int64_t i : split.test) test.insert(data.examples[i].program);
  EXPECT_EQ(test, (std::set<std::string>{"program3", "program_of_test"}));
  EXPECT_FALSE(train.contains("program3"));
  data.examples[3].hash = data.examples[4].hash;  // example 3 is program3's, 4 is program4's
  const Split again = SplitByProgram(data, {.validation = 0, .test_programs = {"program3"}});
  EXPECT_EQ(std::count(again.test.begin(), again.test.end(), 3), 0);
}

TEST(Split, WhatCanJudgeAModelIsNeitherOfItsProgramsNorEqualToAKernelOfThem) {
  Dataset data = MakeData(200, 8);
  data.examples[3].hash = data.examples[4].hash;  // example 3 is program3's, 4 is program4's
  const std::vector<int64_t> unseen = UnseenBy(data, {"program4", "program5", "elsewhere"});
  std::set<std::string> judges;
  for (int64_t i : unseen) judges.insert(data.examples[i].program);
  EXPECT_FALSE(judges.contains("program4"));
  EXPECT_FALSE(judges.contains("program5"));
  EXPECT_TRUE(judges.contains("program3"));  // its other kernels
  EXPECT_EQ(std::count(unseen.begin(), unseen.end(), 3), 0);
}

}  // namespace
}  // namespace smelt::gnn
