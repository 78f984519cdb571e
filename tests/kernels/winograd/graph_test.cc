// Winograd's algorithms as tensor expressions, interpreted as they are defined and as their default schedules are
// lowered, against the evaluator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/str_replace.h"
#include "hlo/text/parser.h"
#include "kernels/ir/interpret.h"
#include "kernels/lower/lower.h"
#include "kernels/nests/structure.h"
#include "kernels/te/hlo/from_hlo.h"
#include "kernels/tiles/tiles.h"
#include "tests/kernels/agreement/agreement.h"
#include "tests/kernels/from_hlo/graph_interpreter.h"
#include "tests/kernels/winograd/convolutions.h"

namespace smelt::kernels {
namespace {

using te::ConvolutionAlgorithm;
using ::testing::HasSubstr;

constexpr ConvolutionAlgorithm kBoth[] = {ConvolutionAlgorithm::kWinograd2, ConvolutionAlgorithm::kWinograd4};

std::unique_ptr<hlo::Module> Parse(const std::string& text) {
  absl::StatusOr<std::unique_ptr<hlo::Module>> module = hlo::ParseModule(text);
  EXPECT_TRUE(module.ok()) << module.status() << "\n" << text;
  return *std::move(module);
}

const ConvolutionCase kCases[] = {
    {.rows = 4, .columns = 4, .features = 1, .outputs = 1, .top = 0, .bottom = 0, .left = 0, .right = 0},
    {.rows = 7, .columns = 5, .features = 3, .outputs = 5},
    {.images = 2, .rows = 5, .columns = 9, .features = 4, .outputs = 3, .top = 0, .bottom = 2, .left = 2, .right = 1},
    {.images = 3, .rows = 3, .columns = 3, .features = 2, .outputs = 18, .epilogue = true},
    {.rows = 1, .columns = 13, .features = 17, .outputs = 2, .top = 2, .bottom = 0, .epilogue = true},
};

TEST(Winograd, MeansTheConvolution) {
  for (const ConvolutionCase& c : kCases) {
    const auto module = Parse(TextOf(c));
    const Reference reference = MakeReference(*module);
    for (const ConvolutionAlgorithm algorithm : kBoth) {
      const absl::StatusOr<te::Graph> graph = te::FromHlo(*module->entry(), algorithm);
      ASSERT_TRUE(graph.ok()) << graph.status();
      EXPECT_EQ(Difference(te::Interpret(*graph, reference.inputs), reference.outputs), "")
          << te::AlgorithmName(algorithm) << " of " << c.Name();
    }
  }
}

TEST(Winograd, TakesWindowsAndArraysInEveryOrder) {
  const auto module = Parse(R"(ENTRY e {
    x = f32[3,2,6,7] parameter(0)
    w = f32[5,3,3,3] parameter(1)
    ROOT y = f32[2,5,6,7] convolution(x, w), window={size=3x3 pad=1_1x1_1 rhs_reversal=1x0}, dim_labels=fb01_oi01->bf01
  })");
  const Reference reference = MakeReference(*module);
  for (const ConvolutionAlgorithm algorithm : kBoth) {
    const absl::StatusOr<te::Graph> graph = te::FromHlo(*module->entry(), algorithm);
    ASSERT_TRUE(graph.ok()) << graph.status();
    EXPECT_EQ(Difference(te::Interpret(*graph, reference.inputs), reference.outputs), "");
  }
}

void ExpectLowered(const hlo::Module& module, const nests::Tile& tile, const machine::Machine& machine) {
  const Reference reference = MakeReference(module);
  const absl::StatusOr<schedule::Schedule> schedule = nests::ScheduleForTile(*module.entry(), tile, machine);
  ASSERT_TRUE(schedule.ok()) << tile.ToString() << ": " << schedule.status();
  const absl::StatusOr<ir::Function> function = lower::Lower(*schedule, {});
  ASSERT_TRUE(function.ok()) << function.status() << "\n" << schedule->ToString();
  std::vector<hlo::Literal> outputs;
  std::vector<void*> arguments;
  for (const hlo::Literal& input : reference.inputs) arguments.push_back(const_cast<void*>(input.raw()));
  for (const hlo::Literal& want : reference.outputs) outputs.emplace_back(want.shape());
  for (hlo::Literal& output : outputs) arguments.push_back(output.raw());
  const absl::Status status = ir::Interpret(*function, arguments, {.reverse_parallel = true});
  ASSERT_TRUE(status.ok()) << status << "\n" << schedule->ToString() << ir::ToString(*function);
  ASSERT_EQ(Difference(outputs, reference.outputs), "") << tile.ToString() << "\n" << schedule->ToString();
}

TEST(Winograd, ItsSchedulesLower) {
  machine::Machine machine;
  machine.threads = 2;
  for (const ConvolutionCase& c : kCases) {
    const auto module = Parse(TextOf(c));
    for (const ConvolutionAlgorithm algorithm : kBoth) {
      SCOPED_TRACE(std::string(te::AlgorithmName(algorithm)) + " of " + c.Name());
      ExpectLowered(*module, {{}, algorithm}, machine);
      ExpectLowered(*module, {{1, 1, 1, 1}, algorithm}, machine);
      if (HasFatalFailure()) return;
    }
  }
}

// A phase of its own that reads the weights alone, so that whoever knows them can run it beforehand.
TEST(Winograd, TransformsTheWeightsInAPhaseThatReadsNothingElse) {
  // The second one is so small that all else is one piece of serial work.
  for (const ConvolutionCase& c :
       {ConvolutionCase{.features = 32, .outputs = 64, .epilogue = true},
        ConvolutionCase{.rows = 4, .columns = 4, .features = 3, .outputs = 8, .epilogue = true}}) {
    const auto module = Parse(TextOf(c));
    const schedule::Schedule schedule =
        nests::ScheduleForTile(*module->entry(), {{}, ConvolutionAlgorithm::kWinograd4}, machine::Machine()).value();
    const ir::Function function = lower::Lower(schedule, {}).value();
    ASSERT_EQ(function.phases.size(), 2u) << c.Name();
    ASSERT_EQ(function.shared.size(), 1u);
    const std::string first = ir::ToString(function.phases[0].body);
    EXPECT_THAT(first, HasSubstr("p1["));
    for (const char* other : {"p0[", "p2[", "p3["}) EXPECT_THAT(first, ::testing::Not(HasSubstr(other)));
  }
}

TEST(Winograd, RefusesWhatItIsNotForAndSaysWhy) {
  struct Refusal {
    const char* text;
    const char* why;
  };
  const Refusal refusals[] = {
      {"ENTRY e { a = f32[4,4] parameter(0) ROOT y = f32[4,4] add(a, a) }", "has no convolution"},
      {R"(ENTRY e { x = f32[1,8,8,4] parameter(0) w = f32[3,3,4,4] parameter(1)
         ROOT y = f32[1,4,4,4] convolution(x, w), window={size=3x3 stride=2x2 pad=1_1x1_1}, dim_labels=b01f_01io->b01f })",
       "stride 2"},
      {R"(ENTRY e { x = f32[1,8,8,4] parameter(0) w = f32[5,5,4,4] parameter(1)
         ROOT y = f32[1,8,8,4] convolution(x, w), window={size=5x5 pad=2_2x2_2}, dim_labels=b01f_01io->b01f })",
       "window of size 5"},
      {R"(ENTRY e { x = f32[1,8,8,4] parameter(0) w = f32[3,3,1,4] parameter(1)
         ROOT y = f32[1,8,8,4] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=4 })",
       "4 feature groups"},
      {R"(ENTRY e { x = f16[1,8,8,4] parameter(0) w = f16[3,3,4,4] parameter(1)
         ROOT y = f16[1,8,8,4] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f })",
       "type f16"},
      {R"(ENTRY e { x = f32[1,8,8,4] parameter(0) w = f32[3,3,4,4] parameter(1)
         ROOT y = f32[1,8,8,4] convolution(x, w), window={size=3x3 pad=2_2x2_2 rhs_dilate=2x2}, dim_labels=b01f_01io->b01f })",
       "dilated"},
      {R"(ENTRY e { x = f32[1,8,4] parameter(0) w = f32[3,4,4] parameter(1)
         ROOT y = f32[1,8,4] convolution(x, w), window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f })",
       "1 spatial dimensions"},
      {R"(ENTRY e { x = f32[1,8,8,4] parameter(0) w = f32[3,3,4,4] parameter(1)
         y = f32[1,8,8,4] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
         ROOT z = f32[1,8,8,4] convolution(y, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f })",
       "or several"},
  };
  for (const Refusal& refusal : refusals) {
    const auto module = Parse(refusal.text);
    EXPECT_TRUE(nests::OtherAlgorithms(*module->entry()).empty()) << refusal.text;
    const auto schedule =
        nests::ScheduleForTile(*module->entry(), {{}, ConvolutionAlgorithm::kWinograd4}, machine::Machine());
    EXPECT_EQ(schedule.status().code(), absl::StatusCode::kInvalidArgument) << refusal.text;
    EXPECT_THAT(std::string(schedule.status().message()), HasSubstr(refusal.why));
    EXPECT_THAT(std::string(schedule.status().message()), HasSubstr("winograd4"));
  }
}

TEST(Winograd, TilesSayTheAlgorithm) {
  for (const char* text : {"winograd2", "winograd4", "winograd4:1x2x14x64", "1x14x14x32", "scalar"}) {
    const absl::StatusOr<nests::Tile> tile = nests::Tile::Parse(text);
    ASSERT_TRUE(tile.ok()) << tile.status();
    EXPECT_EQ(tile->ToString(), text);
  }
  for (const char* text : {"winograd3", "winograd4:", "winograd4:1x", "winograd4:0x4x4x32", "direct", "direct:1x2",
                           "winograd4 1x2", "4winograd"}) {
    EXPECT_FALSE(nests::Tile::Parse(text).ok()) << text;
  }
  const auto module = Parse(TextOf({}));
  for (const char* text : {"winograd4:1x4x4", "winograd4:1x5x4x32", "winograd4:1x4x4x33"}) {
    const auto schedule = nests::ScheduleForTile(*module->entry(), *nests::Tile::Parse(text), machine::Machine());
    EXPECT_EQ(schedule.status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

// The piece of work divides all of it into as many as there are threads, or into many more.
TEST(Winograd, ThreadsShareTheWorkEvenly) {
  for (const int64_t size : {56, 28, 14, 7}) {
    const auto module = Parse(TextOf({.rows = size, .columns = size, .features = 3584 / size, .outputs = 3584 / size}));
    for (int threads = 1; threads <= 8; threads *= 2) {
      machine::Machine machine;
      machine.threads = threads;
      for (const nests::Tile& way : nests::OtherAlgorithms(*module->entry())) {
        const schedule::Schedule schedule = nests::ScheduleForTile(*module->entry(), way, machine).value();
        const double extent = static_cast<double>(lower::LowerToLoops(schedule, {}).value().phases.back().extent);
        EXPECT_GE(extent / threads / std::ceil(extent / threads), 0.8)
            << size << " " << way.ToString() << " on " << threads << " threads\n"
            << schedule.ToString();
      }
    }
  }
}

}  // namespace
}  // namespace smelt::kernels
