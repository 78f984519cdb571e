// How many points of a kernel's configuration space work.
//
//   build/release/bench/config_space [LAYER...] --points=400 --built=8 [--threads=2] [--seed=1] [--shrink=1]
//
// Tells of each layer (bench/layers.h; all of them by default) how large its space is, how many of random options pass
// the space's own check, and of `points` random points that pass it, how many become a schedule and loops. The first
// `built` of these are compiled, run and compared with the evaluator. Every failure is printed. Exit status 1 where
// fewer than 99.5 % work. Times of features and of schedules are medians, and depend on what else runs.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/random/random.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/float_mode.h"
#include "base/status_macros.h"
#include "bench/layers.h"
#include "bench/run_program.h"
#include "fuzz/trial/leaves.h"
#include "hlo/evaluator/evaluator.h"
#include "hlo/golden/inputs.h"
#include "kernels/config/config.h"
#include "kernels/loop_features/features.h"
#include "kernels/lower/lower.h"
#include "measure/outcome.h"
#include "targets/cpu/compile/compile.h"
#include "targets/cpu/processor/detect.h"

namespace smelt::bench {
namespace {

using kernels::config::Config;
using kernels::config::ConfigSpace;

// Root-mean-square errors of sums of a few thousand products in two orders stay far below.
constexpr double kTolerance = 1e-5;
constexpr double kGoal = 0.995;

struct Flags {
  std::vector<std::string> layers;
  int points = 400, built = 8, threads = 1;
  int64_t shrink = 1;
  uint32_t seed = 1;
  bool show = false;
};

struct Counts {
  int points = 0, lowered = 0, built = 0, agreed = 0;
  int Failures() const { return points - lowered + built - agreed; }
};

struct Case {
  std::unique_ptr<hlo::Module> module;
  std::vector<hlo::Literal> inputs;
  hlo::Literal expected;
};

absl::StatusOr<hlo::Literal> RunKernel(const cpu::CompiledKernel& kernel, const Case& subject) {
  const runtime::KernelDescriptor& descriptor = kernel.code->descriptor();
  std::vector<void*> buffers;
  for (const hlo::Literal& input : subject.inputs) buffers.push_back(const_cast<void*>(input.raw()));
  hlo::Literal output(subject.expected.shape());
  buffers.push_back(output.raw());
  const auto bytes = [](int64_t count) {
    return hlo::Literal(hlo::Shape::Array(hlo::PrimitiveType::kU8, {std::max<int64_t>(count, 64)}));
  };
  std::vector<hlo::Literal> scratch;
  for (int64_t size : descriptor.shared_bytes) scratch.push_back(bytes(size));
  for (hlo::Literal& buffer : scratch) buffers.push_back(buffer.raw());
  hlo::Literal worker = bytes(descriptor.thread_scratch_bytes);
  ScopedFlushSubnormals flush;
  for (size_t phase = 0; phase < descriptor.phases.size(); ++phase) {
    kernel.code->function(static_cast<int64_t>(phase))(buffers.data(), worker.raw(), 0,
                                                       descriptor.phases[phase].extent);
  }
  return output;
}

absl::Status BuildAndCompare(const Case& subject, const Config& config, const cpu::Target& target) {
  SMELT_ASSIGN_OR_RETURN(const auto kernel,
                         cpu::CompileKernel(*subject.module->entry(), target,
                                            {.schedule = kernels::config::ConfigText{config.ToString()}}, nullptr));
  SMELT_ASSIGN_OR_RETURN(const hlo::Literal got, RunKernel(*kernel, subject));
  const double error = fuzz::LeafError(subject.expected, got);
  if (error <= kTolerance) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("differs from the evaluator: error ", error));
}

absl::StatusOr<Counts> Try(const Flags& flags, const std::string& name, const cpu::Target& target) {
  Case subject;
  SMELT_ASSIGN_OR_RETURN(subject.module, LayerModule(name, flags.shrink));
  SMELT_ASSIGN_OR_RETURN(const ConfigSpace space, kernels::config::SpaceOf(*subject.module->entry(), target));
  if (flags.built > 0) {
    SMELT_ASSIGN_OR_RETURN(subject.inputs, hlo::MakeInputs(*subject.module));
    std::vector<const hlo::Literal*> arguments;
    for (const hlo::Literal& input : subject.inputs) arguments.push_back(&input);
    SMELT_ASSIGN_OR_RETURN(subject.expected, hlo::Evaluate(*subject.module, arguments));
  }
  std::seed_seq seed{flags.seed};
  absl::BitGen bits(seed);
  int passed = 0;
  constexpr int kDrawn = 2000;
  for (int i = 0; i < kDrawn; ++i) {
    const absl::uint128 index = absl::MakeUint128(absl::Uniform<uint64_t>(bits), absl::Uniform<uint64_t>(bits));
    passed += space.Check(space.At(index % space.size())).ok() ? 1 : 0;
  }
  Counts counts;
  std::vector<double> schedule_seconds, feature_seconds;
  for (int p = 0; p < flags.points; ++p) {
    // The first is what the templates choose.
    const Config config = p == 0 ? space.Default() : space.Random(bits);
    if (flags.show) std::printf("  %s\n", config.ToString().c_str());
    ++counts.points;
    absl::Status status = [&]() -> absl::Status {
      const auto start = Clock::now();
      SMELT_ASSIGN_OR_RETURN(const kernels::schedule::Schedule schedule, space.ScheduleFor(config));
      schedule_seconds.push_back(Since(start));
      const auto features = Clock::now();
      SMELT_RETURN_IF_ERROR(
          kernels::loop_features::Features(schedule, target, kernels::loop_features::Kind::kContextRelation).status());
      feature_seconds.push_back(Since(features));
      return kernels::lower::Lower(schedule, {.vector_bytes = target.vector_bytes}).status();
    }();
    if (status.ok()) {
      ++counts.lowered;
      if (counts.built < flags.built) {
        ++counts.built;
        status = BuildAndCompare(subject, config, target);
        counts.agreed += status.ok() ? 1 : 0;
      }
    }
    if (!status.ok()) {
      std::printf("%s: %s\n  %s\n", name.c_str(), config.ToString().c_str(), std::string(status.message()).c_str());
    }
  }
  const absl::uint128 size = space.size();
  std::printf(
      "%-16s %3zu knobs  %9.3g points  %5.1f %% pass  %6d lowered of %6d  %5d agree of %5d  schedule %.3f ms  "
      "features %.3f ms\n",
      name.c_str(), space.knobs().size(),
      static_cast<double>(absl::Uint128High64(size)) * std::ldexp(1.0, 64) +
          static_cast<double>(absl::Uint128Low64(size)),
      100.0 * passed / kDrawn, counts.lowered, counts.points, counts.agreed, counts.built,
      1e3 * measure::Median(schedule_seconds), 1e3 * measure::Median(feature_seconds));
  std::fflush(stdout);
  return counts;
}

absl::Status Run(const Flags& flags) {
  cpu::Target target = cpu::DetectTarget(/*measure=*/false);
  target.threads = flags.threads;
  Counts all;
  for (const std::string& name : flags.layers.empty() ? LayerNames() : flags.layers) {
    SMELT_ASSIGN_OR_RETURN(const Counts counts, Try(flags, name, target));
    all.points += counts.points;
    all.lowered += counts.lowered;
    all.built += counts.built;
    all.agreed += counts.agreed;
  }
  const double lowered = all.points == 0 ? 1 : static_cast<double>(all.lowered) / all.points;
  const double agreed = all.built == 0 ? 1 : static_cast<double>(all.agreed) / all.built;
  std::printf("%d of %d points lowered (%.2f %%), %d of %d built agree (%.2f %%)\n", all.lowered, all.points,
              100 * lowered, all.agreed, all.built, 100 * agreed);
  return lowered >= kGoal && agreed >= kGoal ? absl::OkStatus() : FailedQuietly();
}

cli::Action Declare(cli::Arguments& arguments) {
  auto flags = std::make_shared<Flags>();
  arguments.Add("LAYER", flags->layers, "Layers by name; all of them by default");
  arguments.Add("--points", flags->points, "Random points of each layer that are lowered").ShowsDefault();
  arguments.Add("--built", flags->built, "How many of them are built, run and compared").ShowsDefault();
  arguments.Add("--threads", flags->threads, "Threads that schedules are made for").ShowsDefault();
  arguments.Add("--shrink", flags->shrink, "Divide sizes by this").Between(1, 64).ShowsDefault();
  arguments.Add("--seed", flags->seed, "Seed of the points").ShowsDefault();
  arguments.AddFlag("--show", flags->show, "Print every point");
  return [flags] { return Run(*flags); };
}

}  // namespace
}  // namespace smelt::bench

int main(int argc, char** argv) {
  return smelt::bench::RunProgram("config_space", "How many points of a kernel's configuration space work",
                                  smelt::bench::Declare, argc, argv);
}
