// Do random schedules mean what their graphs say? Random graphs, or with --hlo those of random modules and of the
// kernels of given programs, are scheduled at random, with every primitive that there is; the loop IR is interpreted,
// and compiled code runs in buffers that end at pages that cannot be read. Both must agree with the graph's own
// evaluation.
//
//   build/release/bench/random_schedules --count=20000
//   build/release/bench/random_schedules --hlo --count=5000 models/*.hlo
#include <cstdio>
#include <map>
#include <memory>

#include "base/clock.h"
#include "base/status_macros.h"
#include "bench/compiled_agreement.h"
#include "bench/random_schedule.h"
#include "bench/run_program.h"
#include "fusion/kernel.h"
#include "fuzz/generate/generate.h"
#include "hlo/text/parser.h"
#include "kernels/te/hlo/from_hlo.h"
#include "targets/program.h"

namespace smelt::bench {
namespace {

struct Flags {
  int64_t count = 20000;
  uint64_t seed = 1;
  bool hlo = false;
  std::vector<std::string> programs;
};

// What is interpreted element by element must be small.
constexpr double kMostSteps = 2e5;
constexpr int64_t kMostStores = 2000000;

bool IsSmall(const te::Graph& graph) {
  double steps = 0;
  for (const te::OperationRef& operation : graph.operations) {
    double own = 1;
    for (const int64_t extent : operation->shape) own *= static_cast<double>(extent);
    for (const te::IterVar& axis : operation->reduce_axes) own *= static_cast<double>(axis.extent);
    steps += own;
  }
  return steps <= kMostSteps;
}

// Graphs of the kernels of programs, after the default fusion.
absl::StatusOr<std::vector<te::Graph>> GraphsOf(const std::vector<std::string>& programs) {
  std::vector<te::Graph> graphs;
  for (const std::string& path : programs) {
    absl::StatusOr<targets::Program> program = targets::LoadProgram(path);
    if (!program.ok()) return program.status();
    const cpu::Target target = cpu::DetectTarget(false);
    absl::StatusOr<targets::FusedProgram> fused = targets::FuseProgram(*program, "priority", target);
    if (!fused.ok()) return fused.status();
    absl::StatusOr<std::vector<fusion::Kernel>> kernels = fusion::ExtractKernels(*fused->module);
    if (!kernels.ok()) return kernels.status();
    for (const fusion::Kernel& kernel : *kernels) {
      absl::StatusOr<te::Graph> graph = te::FromHlo(kernel.computation());
      if (graph.ok() && IsSmall(*graph)) graphs.push_back(*std::move(graph));
    }
  }
  return graphs;
}

// Sums in another order, and functions in vectors (at most 4 ulp): a share of the largest result. Short floats round.
double ToleranceOf(const te::Graph& graph) {
  double tolerance = 0;
  for (const te::OperationRef& operation : graph.operations) {
    for (const hlo::PrimitiveType type : operation->types) {
      if (hlo::IsFloat(type)) tolerance = std::max(tolerance, hlo::BitWidth(type) < 32 ? 0.2 : 1e-3);
    }
  }
  return tolerance;
}

class Campaign {
 public:
  explicit Campaign(Flags flags) : flags_(std::move(flags)), target_(cpu::DetectTarget(false)) {}

  absl::Status Run() {
    const Clock::time_point start = Clock::now();
    if (!flags_.programs.empty()) {
      SMELT_ASSIGN_OR_RETURN(graphs_, GraphsOf(flags_.programs));
      std::printf("%zu kernels of %zu programs are small enough to interpret\n", graphs_.size(),
                  flags_.programs.size());
    }
    for (uint64_t seed = flags_.seed; agreed_ < flags_.count; ++seed) {
      const int64_t before = agreed_;
      const std::string difference = Try(seed);
      if (agreed_ > before && agreed_ % 1000 == 0)
        std::fprintf(stderr, "%ld of %ld agree, %.0f seconds\n", agreed_, flags_.count, Since(start));
      if (difference.empty()) continue;
      std::printf("seed %lu: %s\n", seed, difference.c_str());
      return FailedQuietly();
    }
    std::printf(
        "%ld random schedules agree, interpreted and compiled, 0 mismatches; %ld were refused, %ld were too large; "
        "%.0f seconds\n",
        agreed_, refused_, passed_over_, Since(start));
    for (const auto& [primitive, count] : primitives_) std::printf("  %-18s %ld\n", primitive.c_str(), count);
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<te::Graph> GraphOf(uint64_t seed, ScheduleFuzzer& fuzzer) const {
    if (!flags_.hlo) return fuzzer.MakeRandomGraph();
    if (!graphs_.empty() && seed % 2 == 0) return graphs_[seed / 2 % graphs_.size()];
    const std::unique_ptr<hlo::Module> module =
        fuzz::GenerateModule(flags_.seed, seed, {.max_instructions = 6, .max_elements = 256});
    return te::FromHlo(*module->entry());
  }

  std::string Try(uint64_t seed) {
    ScheduleFuzzer fuzzer(seed);
    const absl::StatusOr<te::Graph> graph = GraphOf(seed, fuzzer);
    if (!graph.ok() || !IsSmall(*graph)) {
      ++passed_over_;
      return "";
    }
    kernels::schedule::Schedule schedule(*graph);
    if (const std::string changed = fuzzer.ScheduleAtRandom(&schedule); !changed.empty())
      return "a refused primitive changed the schedule\n" + changed;
    const auto function = kernels::lower::Lower(schedule, {});
    if (!function.ok()) {
      const bool said = function.status().code() == absl::StatusCode::kInvalidArgument ||
                        function.status().code() == absl::StatusCode::kResourceExhausted;
      if (!said) return function.status().ToString() + "\n" + schedule.ToString();
      ++refused_;
      return "";
    }
    const std::vector<hlo::Literal> inputs = RandomInputs(*graph, seed);
    const double tolerance = flags_.hlo ? ToleranceOf(*graph) : 0;
    if (std::string difference = Difference(schedule, inputs, tolerance, {}, kMostStores); !difference.empty()) {
      if (difference != kTooMuch) return difference;
      ++passed_over_;
      return "";
    }
    if (std::string difference = CompiledDifference(schedule, *function, target_, inputs, tolerance);
        !difference.empty())
      return "compiled: " + difference;
    ++agreed_;
    std::map<std::string, bool> used;
    for (const kernels::schedule::Step& step : schedule.trace())
      used[step.primitive == "bind" ? "bind " + step.arguments[2] : step.primitive] = true;
    for (const auto& [primitive, yes] : used) ++primitives_[primitive];
    return "";
  }

  const Flags flags_;
  const cpu::Target target_;
  std::vector<te::Graph> graphs_;
  int64_t agreed_ = 0, refused_ = 0, passed_over_ = 0;
  std::map<std::string, int64_t> primitives_;  // schedules with each
};

cli::Action Declare(cli::Arguments& arguments) {
  auto flags = std::make_shared<Flags>();
  arguments.Add("--count", flags->count, "How many schedules must agree").Positive();
  arguments.Add("--seed", flags->seed, "Of the first; those that follow count up");
  arguments.AddFlag("--hlo", flags->hlo, "Graphs of random HLO modules, and of the programs' kernels");
  arguments.Add("programs", flags->programs, "Programs whose kernels are scheduled, with --hlo");
  return [flags] { return Campaign(*flags).Run(); };
}

}  // namespace
}  // namespace smelt::bench

int main(int argc, char** argv) {
  return smelt::bench::RunProgram("random_schedules",
                                  "Random schedules: interpreted and compiled against the definition of their graphs.",
                                  smelt::bench::Declare, argc, argv);
}
