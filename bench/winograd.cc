// Convolutions by the direct sum and by Winograd's algorithms, in turn.
//
//   build/release/bench/winograd [C2 C6 C9 C12] [--threads=1,2] [--tile=winograd4:1x2x14x64] [--seconds=2] [--json]
//
// Layers are named as in Table 2 of the TVM paper (Chen et al., OSDI 2018), or by numbers: 56x64x128 has pictures of
// 56x56, 64 input features and 128 output features. They are f32, channels last, padded by 1, with bias and relu.
// Times are minima of one call without the phase that transforms the weights, which does not depend on the input;
// `weights` is that phase. GF/s count the operations of the direct sum whatever the algorithm, so that shares of the
// peak can exceed 1. The error is the largest difference from the sum in double precision over the root mean square of
// the results.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/clock.h"
#include "base/float_mode.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "bench/direct_sum.h"
#include "bench/run_program.h"
#include "hlo/golden/inputs.h"
#include "hlo/text/parser.h"
#include "measure/timing.h"
#include "runtime/thread_pool.h"
#include "targets/cpu/compile/compile.h"
#include "targets/cpu/processor/detect.h"
#include "targets/cpu/processor/probe.h"

namespace smelt {
namespace {

struct Layer {
  std::string name;
  int64_t size, features, outputs;
};
constexpr int64_t kLargest = 4096;

const Layer kLayers[] = {{"C2", 56, 64, 64}, {"C6", 28, 128, 128}, {"C9", 14, 256, 256}, {"C12", 7, 512, 512}};

struct Flags {
  std::vector<std::string> layers{"C2", "C6", "C9", "C12"};
  std::vector<int> threads{1, 2};
  std::vector<std::string> tiles;
  double seconds = 1;
  bool json = false;
};

absl::StatusOr<Layer> ParseLayer(const std::string& name) {
  for (const Layer& layer : kLayers) {
    if (layer.name == name) return layer;
  }
  Layer layer{name, 0, 0, 0};
  char rest = 0;
  const bool numbers =
      std::sscanf(name.c_str(), "%ldx%ldx%ld%c", &layer.size, &layer.features, &layer.outputs, &rest) == 3;
  const auto fits = [](int64_t value) { return value >= 1 && value <= kLargest; };
  if (numbers && fits(layer.size) && fits(layer.features) && fits(layer.outputs)) return layer;
  return absl::InvalidArgumentError(absl::StrCat("layer `", name, "`: expected C2, C6, C9, C12, or numbers of 1 to ",
                                                 kLargest, " such as 56x64x128"));
}

std::string TextOf(const Layer& layer) {
  const std::string shape = absl::StrFormat("f32[1,%d,%d,%d]", layer.size, layer.size, layer.outputs);
  return absl::StrFormat(R"(ENTRY e {
    x = f32[1,%d,%d,%d] parameter(0)
    w = f32[3,3,%d,%d] parameter(1)
    b = f32[%d] parameter(2)
    y = %s convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
    bias = %s broadcast(b), dimensions={3}
    sum = %s add(y, bias)
    zero = f32[] constant(0)
    zeros = %s broadcast(zero), dimensions={}
    ROOT relu = %s maximum(sum, zeros)
  })",
                         layer.size, layer.size, layer.features, layer.features, layer.outputs, layer.outputs, shape,
                         shape, shape, shape, shape);
}

// The layer's results in double precision.
std::vector<double> Exact(const Layer& layer, const std::vector<hlo::Literal>& inputs) {
  const float* x = inputs[0].data<float>().data();
  const float* w = inputs[1].data<float>().data();
  const float* b = inputs[2].data<float>().data();
  const int64_t n = layer.size, c = layer.features, k = layer.outputs;
  std::vector<double> y(n * n * k);
  for (int64_t p = 0; p < n * n; ++p) {
    double* out = &y[p * k];
    for (int64_t o = 0; o < k; ++o) out[o] = b[o];
    for (int64_t tap = 0; tap < 9; ++tap) {
      const int64_t row = p / n + tap / 3 - 1, column = p % n + tap % 3 - 1;
      if (row < 0 || row >= n || column < 0 || column >= n) continue;
      for (int64_t f = 0; f < c; ++f) {
        const double value = x[(row * n + column) * c + f];
        const float* weights = w + (tap * c + f) * k;
        for (int64_t o = 0; o < k; ++o) out[o] += value * weights[o];
      }
    }
    for (int64_t o = 0; o < k; ++o) out[o] = std::max(out[o], 0.0);
  }
  return y;
}

double ErrorOf(const std::vector<double>& want, const float* got) {
  double largest = 0, squares = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    largest = std::max(largest, std::abs(want[i] - got[i]));
    squares += want[i] * want[i];
  }
  return largest / std::sqrt(squares / static_cast<double>(want.size()));
}

// A compiled way to compute a layer, with memory to run in.
class Run {
 public:
  static absl::StatusOr<std::unique_ptr<Run>> Make(const hlo::Module& module, const std::vector<hlo::Literal>& inputs,
                                                   const cpu::Target& target, const std::string& way) {
    cpu::CompileOptions options;
    if (way == "direct") {
      SMELT_ASSIGN_OR_RETURN(options.schedule, bench::DirectSum(*module.entry(), target));
    } else {
      SMELT_ASSIGN_OR_RETURN(options.schedule, kernels::config::ParseChoice(way));
    }
    auto run = std::make_unique<Run>();
    SMELT_ASSIGN_OR_RETURN(run->kernel, cpu::CompileKernel(*module.entry(), target, options, nullptr));
    const runtime::KernelDescriptor& descriptor = run->kernel->code->descriptor();
    run->memory.emplace_back(module.entry()->root()->shape());
    for (const hlo::Literal& input : inputs) run->buffers.push_back(const_cast<void*>(input.raw()));
    for (int64_t bytes : descriptor.shared_bytes) run->memory.push_back(Bytes(bytes));
    for (hlo::Literal& buffer : run->memory) run->buffers.push_back(buffer.raw());
    for (int i = 0; i < target.threads; ++i) {
      run->scratch.push_back(Bytes(std::max<int64_t>(64, descriptor.thread_scratch_bytes)));
    }
    return run;
  }

  double Phase(size_t phase, runtime::ThreadPool& pool) {
    const auto start = Clock::now();
    pool.ParallelFor(kernel->code->descriptor().phases[phase].extent, [&](int worker, int64_t begin, int64_t end) {
      kernel->code->function(static_cast<int64_t>(phase))(buffers.data(), scratch[worker].raw(), begin, end);
    });
    return Since(start);
  }
  size_t phases() const { return kernel->code->descriptor().phases.size(); }
  // The phase that transforms the weights comes first.
  size_t first() const { return kernel->tile.starts_with("winograd") && phases() > 1 ? 1 : 0; }
  double Sample(runtime::ThreadPool& pool) {
    double seconds = 0;
    for (size_t phase = first(); phase < phases(); ++phase) seconds += Phase(phase, pool);
    return seconds;
  }
  const float* result() const { return static_cast<const float*>(memory[0].raw()); }

  std::shared_ptr<const cpu::CompiledKernel> kernel;

 private:
  static hlo::Literal Bytes(int64_t count) {
    return hlo::Literal(hlo::Shape::Array(hlo::PrimitiveType::kU8, {std::max<int64_t>(count, 64)}));
  }
  std::vector<hlo::Literal> memory, scratch;
  std::vector<void*> buffers;
};

absl::Status MeasureLayer(const Layer& layer, int threads, const Flags& flags, nlohmann::json* rows) {
  SMELT_ASSIGN_OR_RETURN(const cpu::Target target, cpu::ParseTarget(absl::StrCat("cpu:threads=", threads)));
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<hlo::Module> module, hlo::ParseModule(TextOf(layer)));
  SMELT_ASSIGN_OR_RETURN(const std::vector<hlo::Literal> inputs, hlo::MakeInputs(*module));
  const std::vector<double> exact = Exact(layer, inputs);
  std::vector<std::string> ways = flags.tiles;
  if (ways.empty()) ways = {"direct", "winograd2", "winograd4"};
  std::vector<std::unique_ptr<Run>> runs;
  for (const std::string& way : ways) {
    SMELT_ASSIGN_OR_RETURN(runs.emplace_back(), Run::Make(*module, inputs, target, way));
  }
  runtime::ThreadPool pool(threads);
  const runtime::ThreadPool::CallerPin pin(pool);
  const ScopedFlushSubnormals flush;
  std::vector<double> weights(runs.size(), 0);
  for (size_t i = 0; i < runs.size(); ++i) {
    for (int round = 0; runs[i]->first() == 1 && round < 5; ++round) {
      const double seconds = runs[i]->Phase(0, pool);
      weights[i] = round == 0 ? seconds : std::min(weights[i], seconds);
    }
  }
  constexpr int kMostSamples = 1 << 16;
  const measure::SampleLimits limits{
      .seconds = flags.seconds, .least_seconds = flags.seconds, .most_rounds = kMostSamples};
  SMELT_ASSIGN_OR_RETURN(const auto samples,
                         measure::TimeInTurn(runs.size(), limits, [&](size_t i) -> absl::StatusOr<double> {
                           return runs[i]->Sample(pool);
                         }));
  const double flops = 2.0 * 9 * static_cast<double>(layer.size * layer.size * layer.features * layer.outputs);
  for (size_t i = 0; i < runs.size(); ++i) {
    const double best = *std::min_element(samples[i].begin(), samples[i].end());
    std::vector<double> sorted = samples[i];
    std::nth_element(sorted.begin(), sorted.begin() + sorted.size() / 2, sorted.end());
    const double median = sorted[sorted.size() / 2];
    const double error = ErrorOf(exact, runs[i]->result());
    const cpu::CompiledKernel& kernel = *runs[i]->kernel;
    rows->push_back({{"layer", layer.name},
                     {"threads", threads},
                     {"tile", kernel.tile},
                     {"seconds", best},
                     {"median_seconds", median},
                     {"weights_seconds", weights[i]},
                     {"gflops", flops / best * 1e-9},
                     {"error", error},
                     {"vector_spills", kernel.vector_spills},
                     {"scratch_bytes", kernel.code->descriptor().thread_scratch_bytes}});
    if (flags.json) continue;
    std::printf("%-4s %d  %-24s %8.3f ms %8.3f median %7.1f GF/s  weights %7.3f ms  error %.1e  %3d spills\n",
                layer.name.c_str(), threads, kernel.tile.c_str(), 1e3 * best, 1e3 * median, flops / best * 1e-9,
                1e3 * weights[i], error, kernel.vector_spills);
    std::fflush(stdout);
  }
  return absl::OkStatus();
}

absl::Status Measure(const Flags& flags) {
  nlohmann::json rows = nlohmann::json::array();
  for (const std::string& name : flags.layers) {
    SMELT_ASSIGN_OR_RETURN(const Layer layer, ParseLayer(name));
    for (int threads : flags.threads) SMELT_RETURN_IF_ERROR(MeasureLayer(layer, threads, flags, &rows));
  }
  if (flags.json) std::printf("%s\n", JsonText(rows, 2).c_str());
  return absl::OkStatus();
}

cli::Action Declare(cli::Arguments& arguments) {
  auto flags = std::make_shared<Flags>();
  arguments.Add("LAYERS", flags->layers, "C2, C6, C9, C12, or numbers such as 56x64x128");
  arguments.Add("--threads", flags->threads, "Numbers of threads").SplitAt(',').Between(1, 256);
  arguments.Add("--tile", flags->tiles, "Instead of direct, winograd2 and winograd4: these, of which direct is one")
      .SplitAt(',');
  arguments.Add("--seconds", flags->seconds, "Of timing each layer").Positive().ShowsDefault();
  arguments.AddFlag("--json", flags->json, "Machine-readable result");
  return [flags] { return Measure(*flags); };
}

}  // namespace
}  // namespace smelt

int main(int argc, char** argv) {
  return smelt::bench::RunProgram("winograd", "Convolutions by the direct sum and by Winograd's algorithms",
                                  smelt::Declare, argc, argv);
}
