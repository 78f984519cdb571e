#include "gnn/predictor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "fusion/kernel.h"
#include "gnn/model/model_file.h"
#include "gnn/native/engine.h"
#include "gnn/shipped_model.h"
#include "hlo/text/parser.h"
#include "targets/cpu/processor/detect.h"

namespace smelt::gnn {
namespace {

fusion::Kernel KernelOf(const std::string& root) {
  const auto module =
      hlo::ParseModule("HloModule m\n\nENTRY e {\n  p = f32[8,32]{1,0} parameter(0)\n  ROOT r = " + root + "\n}\n")
          .value();
  return fusion::ExtractKernel(*module->entry()->root()).value();
}

std::unique_ptr<Predictor> Analytical() { return Predictor::Analytical(cpu::ParseTarget("cpu:threads=1").value()); }

TEST(Predictor, WhatTheExecutorDoesNotRunCostsNothing) {
  const auto predictor = Analytical();
  for (const char* free : {"f32[256]{0} reshape(p)", "f32[8,32]{1,0} copy(p)", "f32[256]{0} bitcast(p)"}) {
    EXPECT_EQ(predictor->PredictSeconds(KernelOf(free)).value(), 0) << free;
  }
  for (const char* work :
       {"f32[8,32]{1,0} add(p, p)", "f32[32,8]{1,0} transpose(p), dimensions={1,0}", "f32[32,8]{0,1} bitcast(p)"}) {
    EXPECT_GT(predictor->PredictSeconds(KernelOf(work)).value(), 0) << work;
  }
}

TEST(Predictor, RemembersByHash) {
  const auto predictor = Analytical();
  const fusion::Kernel kernel = KernelOf("f32[8,32]{1,0} add(p, p)");
  EXPECT_FALSE(predictor->Known(kernel.hash).has_value());
  const double seconds = predictor->PredictSeconds(kernel).value();
  EXPECT_EQ(predictor->Known(kernel.hash), seconds);
  EXPECT_EQ(predictor->Known(KernelOf("f32[8,32]{1,0} add(p, p)").hash), seconds);
  EXPECT_FALSE(predictor->Known(KernelOf("f32[8,32]{1,0} multiply(p, p)").hash).has_value());
}

// --- Whose kernels a model predicts ---

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Shipped(const std::string& name) { return std::string(SMELT_SOURCE_DIR) + "/models/" + name; }

TEST(ModelTargets, TheShippedModelsSayWhoseKernelsTheyPredict) {
  EXPECT_EQ(LoadModel(Shipped("cpu.smeltmodel"))->target, "cpu:sapphirerapids,threads=1");
  EXPECT_EQ(LoadModel(Shipped("cpu-znver4.smeltmodel"))->target, "cpu:znver4,threads=1");
  EXPECT_EQ(LoadModel(Shipped("cpu-cascadelake.smeltmodel"))->target, "cpu:cascadelake,threads=1");
  EXPECT_EQ(LoadModel(Shipped("xla-cpu.smeltmodel"))->target, "xla:znver5,threads=1");
  EXPECT_THAT(LoadModel(Shipped("xla-cpu.smeltmodel"))->summary, HasSubstr("for xla:znver5,threads=1"));
}

TEST(ModelTargets, AModelOfAnotherCompilersKernelsIsRefusedByName) {
  const cpu::Target target = cpu::ParseTarget("cpu:threads=1").value();
  for (const auto& [file, trained, asked] :
       {std::tuple("xla-cpu.smeltmodel", "xla", "cpu"), std::tuple("cpu.smeltmodel", "cpu", "xla")}) {
    EXPECT_TRUE(Predictor::Load(Shipped(file), target, trained).ok()) << file;
    const auto refused = Predictor::Load(Shipped(file), target, asked);
    ASSERT_FALSE(refused.ok()) << file;
    EXPECT_THAT(std::string(refused.status().message()),
                AllOf(HasSubstr(file), HasSubstr("`" + LoadModel(Shipped(file))->target + "`"),
                      HasSubstr(std::string("`") + asked + ":")));
  }
}

TEST(ModelTargets, TheShippedModelIsThatOfTheNearestMachine) {
  const auto nearest = [](machine::Machine machine) {
    return std::filesystem::path(NearestModel(Shipped("cpu.smeltmodel"), machine)).filename().string();
  };
  EXPECT_EQ(nearest(cpu::ParseTarget("cpu:znver4,threads=1").value()), "cpu-znver4.smeltmodel");
  EXPECT_EQ(nearest(cpu::ParseTarget("cpu:sapphirerapids,threads=1").value()), "cpu.smeltmodel");
  EXPECT_EQ(nearest(cpu::ParseTarget("cpu:cascadelake,threads=1").value()), "cpu-cascadelake.smeltmodel");
  // A stranger with the figures of one of them.
  machine::Machine stranger;
  stranger.name = "stranger";
  for (const char* file : {"cpu.smeltmodel", "cpu-znver4.smeltmodel", "cpu-cascadelake.smeltmodel"}) {
    ASSERT_TRUE(stranger.SetFigures(LoadModel(Shipped(file))->target_figures).ok());
    EXPECT_EQ(nearest(stranger), file);
  }
}

TEST(ModelTargets, OnlyModelsOfKernelsWithFarArraysLookAtDistances) {
  const auto uses_distances = [](const char* file) {
    return Engine::Create(LoadModel(Shipped(file))->tasks.at("fusion")).value()->UsesDistances();
  };
  EXPECT_TRUE(uses_distances("cpu-znver4.smeltmodel"));
  EXPECT_FALSE(uses_distances("cpu.smeltmodel"));
}

TEST(ModelTargets, AModelOfAnotherCpuIsUsedAndSaysSo) {
  const auto warning = [](const char* target) {
    return Predictor::Load(Shipped("cpu.smeltmodel"), cpu::ParseTarget(target).value()).value()->Warning();
  };
  EXPECT_EQ(warning("cpu:sapphirerapids,threads=1"), "");
  EXPECT_THAT(warning("cpu:haswell,threads=1"),
              AllOf(HasSubstr("cpu.smeltmodel"), HasSubstr("sapphirerapids"), HasSubstr("haswell")));
}

}  // namespace
}  // namespace smelt::gnn
