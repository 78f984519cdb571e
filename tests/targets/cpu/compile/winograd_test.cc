// Winograd's algorithms compiled for this machine against the evaluator: over shapes, with the error that is declared.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <random>

#include "fusion/kernel.h"
#include "hlo/text/parser.h"
#include "kernels/cost/algorithm_choice.h"
#include "kernels/tiles/tiles.h"
#include "targets/cpu/own_kernels.h"
#include "targets/cpu/processor/detect.h"
#include "tests/kernels/agreement/agreement.h"
#include "tests/kernels/winograd/convolutions.h"
#include "tests/targets/cpu/compile/run_compiled.h"

namespace smelt::cpu {
namespace {

using kernels::ConvolutionCase;
using kernels::MakeReference;
using kernels::Reference;
using kernels::TextOf;
using kernels::nests::Tile;
using kernels::te::ConvolutionAlgorithm;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Target HostTarget(int threads = 1) {
  static const Target* const target = new Target(DetectTarget(/*measure=*/false));
  Target with_threads = *target;
  with_threads.threads = threads;
  return with_threads;
}

std::unique_ptr<hlo::Module> Parse(const std::string& text) {
  absl::StatusOr<std::unique_ptr<hlo::Module>> module = hlo::ParseModule(text);
  EXPECT_TRUE(module.ok()) << module.status() << "\n" << text;
  return *std::move(module);
}

// The largest difference over the root mean square of what is expected.
double ErrorOf(const hlo::Literal& want, const hlo::Literal& got) {
  double largest = 0, squares = 0;
  for (int64_t i = 0; i < want.element_count(); ++i) {
    const double difference = std::abs(want.GetDouble(i) - got.GetDouble(i));
    // A NaN is the largest.
    if (!(difference <= largest)) largest = difference;
    squares += want.GetDouble(i) * want.GetDouble(i);
  }
  return largest / std::sqrt(std::max(squares / static_cast<double>(want.element_count()), 1e-30));
}

// What rounding may do to a sum of so many terms: 4 sqrt(terms) 2^-24 of the results' root mean square. The numbers
// that the transform back combines are terms as well, which counts where there are few features.
double Bound(const ConvolutionCase& c, ConvolutionAlgorithm algorithm) {
  const int64_t transform = kernels::te::OutputTile(algorithm) + 2;
  const double terms = static_cast<double>(9 * c.features + transform * transform);
  return 4 * std::sqrt(terms) * std::ldexp(1.0, -24);
}

// Errors of each algorithm as shares of that bound; the largest of all runs.
struct Errors {
  double two = 0, four = 0;
};

void ExpectAgreement(const ConvolutionCase& c, const Target& target, const std::vector<int64_t>& extents,
                     Errors* errors) {
  const auto module = Parse(TextOf(c));
  const Reference reference = MakeReference(*module);
  for (const ConvolutionAlgorithm algorithm : {ConvolutionAlgorithm::kWinograd2, ConvolutionAlgorithm::kWinograd4}) {
    const absl::StatusOr<CompiledRun> run =
        RunCompiled(*module, reference.inputs, target, {.schedule = Tile{extents, algorithm}, .known = {}});
    ASSERT_TRUE(run.ok()) << c.Name() << ": " << run.status();
    EXPECT_THAT(run->kernel->tile, StartsWith(std::string(kernels::te::AlgorithmName(algorithm)) + ":"));
    const double share = ErrorOf(reference.outputs[0], run->outputs[0]) / Bound(c, algorithm);
    double* largest = algorithm == ConvolutionAlgorithm::kWinograd2 ? &errors->two : &errors->four;
    *largest = std::max(*largest, share);
    ASSERT_LE(share, kernels::nests::ErrorFactor(Tile{{}, algorithm})) << c.Name() << "\n"
                                                                       << run->kernel->tile << "\n"
                                                                       << run->kernel->trace;
  }
}

void Print(const char* what, const Errors& errors) {
  std::printf("%s: largest error, of 4 sqrt(terms) 2^-24 rms: winograd2 %.2f, winograd4 %.2f\n", what, errors.two,
              errors.four);
}

TEST(CompiledWinograd, AgreesOnTheLayersOfNetworks) {
  Errors errors;
  const ConvolutionCase cases[] = {
      {.rows = 7, .columns = 7, .features = 128, .outputs = 96, .epilogue = true},
      {.rows = 14, .columns = 14, .features = 64, .outputs = 64, .epilogue = true},
      {.rows = 28, .columns = 28, .features = 32, .outputs = 32},
      {.rows = 56, .columns = 56, .features = 16, .outputs = 16, .epilogue = true},
  };
  for (const ConvolutionCase& c : cases) {
    for (int threads : {1, 2}) ExpectAgreement(c, HostTarget(threads), {}, &errors);
  }
  Print("layers of networks", errors);
}

TEST(CompiledWinograd, AgreesOnOddSizes) {
  Errors errors;
  for (int64_t size = 5; size <= 17; size += 2) {
    ExpectAgreement({.rows = size, .columns = 22 - size, .features = 7, .outputs = 19, .epilogue = size % 4 == 1},
                    HostTarget(), {}, &errors);
  }
  Print("odd sizes", errors);
}

TEST(CompiledWinograd, AgreesOnRandomShapes) {
  const unsigned seed = 20240611;
  std::printf("seed %u\n", seed);
  std::mt19937 random(seed);
  const auto draw = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<unsigned>(high - low + 1));
  };
  Errors errors;
  constexpr int kRuns = 24;
  for (int run = 0; run < kRuns; ++run) {
    ConvolutionCase c{.images = draw(1, 3), .rows = draw(1, 17), .columns = draw(1, 17)};
    // Long sums and wide results, but not both: the evaluator is in no hurry.
    c.features = run % 3 == 0 ? draw(1, 513) : draw(1, 40);
    c.outputs = run % 3 == 1 ? draw(1, 513) : draw(1, 70);
    c.top = draw(0, 2), c.bottom = draw(0, 2), c.left = draw(0, 2), c.right = draw(0, 2);
    c.epilogue = random() % 2 == 0;
    if (!c.HasOutput()) continue;
    std::vector<int64_t> extents;
    if (run % 2 == 1) {
      // A piece of work of any size.
      const auto tiles = [](int64_t size) { return (size + 3) / 4; };
      extents = {draw(1, c.images), draw(1, tiles(c.rows + c.top + c.bottom - 2)),
                 draw(1, tiles(c.columns + c.left + c.right - 2)), draw(1, c.outputs)};
    }
    SCOPED_TRACE(run);
    ExpectAgreement(c, HostTarget(1 + run % 3), extents, &errors);
    if (HasFatalFailure()) return;
  }
  Print("random shapes", errors);
}

// The narrower vectors and fewer registers of other processors change the schedule.
TEST(CompiledWinograd, AgreesWithNarrowVectors) {
  Errors errors;
  const absl::StatusOr<Target> target = ParseTarget("cpu:haswell,threads=2");
  ASSERT_TRUE(target.ok()) << target.status();
  ExpectAgreement({.rows = 14, .columns = 13, .features = 24, .outputs = 40, .epilogue = true}, *target, {}, &errors);
  Print("haswell", errors);
}

TEST(CompiledWinograd, IsOneOfTwoResults) {
  const auto module = Parse(R"(ENTRY e { x = f32[1,14,14,16] parameter(0)  w = f32[3,3,16,32] parameter(1)
    c = f32[1,14,14,32] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
    z = f32[] constant(0)  b = f32[1,14,14,32] broadcast(z), dimensions={}  m = f32[1,14,14,32] maximum(c, b)
    ROOT r = (f32[1,14,14,32], f32[1,14,14,32]) tuple(c, m) })");
  const Reference reference = MakeReference(*module);
  for (const char* way : {"direct", "winograd2", "winograd4"}) {
    CompileOptions options;  // the default: the direct sum
    if (std::string(way) != "direct") options.schedule = Tile::Parse(way).value();
    const absl::StatusOr<CompiledRun> run = RunCompiled(*module, reference.inputs, HostTarget(), options);
    ASSERT_TRUE(run.ok()) << way << ": " << run.status();
    for (size_t i = 0; i < 2; ++i) EXPECT_LE(ErrorOf(reference.outputs[i], run->outputs[i]), 1e-4) << way;
  }
}

TEST(CompiledWinograd, IsNotReplacedByAFallback) {
  const auto strided = Parse(R"(ENTRY e { x = f32[1,8,8,4] parameter(0) w = f32[3,3,4,4] parameter(1)
    ROOT y = f32[1,4,4,4] convolution(x, w), window={size=3x3 stride=2x2 pad=1_1x1_1}, dim_labels=b01f_01io->b01f })");
  const auto compiled = CompileKernel(*strided->entry(), HostTarget(),
                                      {.schedule = Tile::Parse("winograd4").value(), .known = {}}, nullptr);
  EXPECT_EQ(compiled.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(compiled.status().message()), HasSubstr("stride 2"));
  const auto object = CompileObject(*strided->entry(), HostTarget(),
                                    {.schedule = Tile::Parse("winograd2:1x1x1x4").value(), .known = {}}, "kernel");
  EXPECT_EQ(object.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(CompiledWinograd, IsTheDefaultOnlyWhereItPays) {
  const auto large = Parse(TextOf({.rows = 56, .columns = 56, .features = 64, .outputs = 64}));
  for (const std::vector<int64_t>& known : {std::vector<int64_t>{}, {1}}) {
    EXPECT_THAT(CompileKernel(*large->entry(), HostTarget(), {.schedule = {}, .known = known}, nullptr).value()->tile,
                StartsWith("winograd4:"))
        << known.size();
    const CompileOptions direct{.schedule = kernels::config::ParseChoice("direct").value(), .known = known};
    EXPECT_THAT(CompileKernel(*large->entry(), HostTarget(), direct, nullptr).value()->tile,
                Not(StartsWith("winograd")))
        << known.size();
  }
  // Weights that few pixels share take longer to transform than to multiply, where that is done in every call.
  const auto deep = Parse(TextOf({.rows = 4, .columns = 4, .features = 1024, .outputs = 1024}));
  EXPECT_THAT(CompileKernel(*deep->entry(), HostTarget(), {}, nullptr).value()->tile, Not(StartsWith("winograd")));
  // Most of a tile of four lies beyond the edge of these, and the transforms have few products to pay for them.
  const auto small = Parse(
      TextOf({.rows = 3, .columns = 3, .features = 2, .outputs = 2, .top = 0, .bottom = 0, .left = 0, .right = 0}));
  EXPECT_THAT(CompileKernel(*small->entry(), HostTarget(), {.schedule = {}, .known = {1}}, nullptr).value()->tile,
              Not(StartsWith("winograd")));
}

}  // namespace
}  // namespace smelt::cpu
