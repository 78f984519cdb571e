#include "gnn/predictor.h"

#include <gtest/gtest.h>

#include "fusion/kernel.h"
#include "hlo/text/parser.h"

namespace smelt::gnn {
namespace {

fusion::Kernel KernelOf(const std::string& root) {
  const auto module =
      hlo::ParseModule("HloModule m\n\nENTRY e {\n  p = f32[8,32]{1,0} parameter(0)\n  ROOT r = " + root + "\n}\n")
          .value();
  return fusion::ExtractKernel(*module->entry()->root()).value();
}

std::unique_ptr<Predictor> Analytical() {
  return Predictor::Analytical(kernels::Target::Parse("cpu:threads=1").value());
}

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

}  // namespace
}  // namespace smelt::gnn
