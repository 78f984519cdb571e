// How fast is the cycle simulator, what share of the multipliers' time do layers of ResNet-18 use, and how far is the
// estimate by formulas from the simulator?
//
//   build/release/bench/simulator                  # every layer with one and with two threads
//   build/release/bench/simulator --check          # and their results against a direct convolution
//
// Each layer is timed by the median of `--runs` runs on one core, in seconds of the processor.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <memory>

#include "base/json.h"
#include "base/status_macros.h"
#include "bench/run_program.h"
#include "bench/vdla_layers.h"
#include "sim/estimate.h"
#include "sim/simulate.h"

namespace smelt::bench {
namespace {

struct Flags {
  std::string machine = "pynq", json;
  int runs = 5;
  bool check = false;
};

// Cycles of ResNet-18's layers together, and what they took here.
struct Total {
  int64_t cycles = 0, ideal = 0, simulated = 0;
  double seconds = 0, racing_seconds = 0, error = 0;
  int64_t layers = 0;
};

// Seconds of the processor, so that others on the machine do not count.
double ProcessorSeconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double MedianSeconds(sim::Machine& machine, const vdla::isa::Program& program, bool find_races, int runs,
                     sim::Report* report) {
  std::vector<double> seconds;
  for (int run = 0; run < runs; ++run) {
    const double start = ProcessorSeconds();
    *report = sim::Simulate(machine, program.instructions, {.find_races = find_races});
    seconds.push_back(ProcessorSeconds() - start);
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

absl::Status Run(const Flags& flags) {
  SMELT_ASSIGN_OR_RETURN(const vdla::isa::Config config, vdla::isa::Config::Open(flags.machine));
  nlohmann::json rows = nlohmann::json::array();
  for (const int64_t threads : {1, 2}) {
    Total total;
    std::printf("%-4s %3s %12s %12s %6s %9s %7s %14s %14s\n", "", "thr", "ideal", "cycles", "GEMM", "estimate", "error",
                "Mcycles/s", "with races");
    for (const Layer& layer : kResNet18Layers) {
      SMELT_ASSIGN_OR_RETURN(const vdla::isa::Program program, LayerProgram(layer, threads, config, /*seed=*/1));
      SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<sim::Machine> machine, sim::Machine::Create(config));
      SMELT_RETURN_IF_ERROR(machine->LoadSegments(program));
      sim::Report report;
      const double with_races = MedianSeconds(*machine, program, true, flags.runs, &report);
      SMELT_RETURN_IF_ERROR(report.ToStatus());
      const double seconds = MedianSeconds(*machine, program, false, flags.runs, &report);
      SMELT_ASSIGN_OR_RETURN(const sim::Estimate estimate, sim::EstimateCycles(program));
      if (flags.check) {
        const vdla::isa::Segment* y = program.Find("y");
        if (machine->dram().Read(y->address, y->size).value() != LayerResult(layer, program, config))
          return absl::DataLossError(StrCat(layer.name, ": the result differs from a direct convolution"));
      }
      const auto cycles = static_cast<double>(report.cycles);
      const double error = static_cast<double>(estimate.cycles) / cycles - 1;
      std::printf("%-4s %3ld %12ld %12ld %5.1f%% %9ld %6.1f%% %14.1f %14.1f\n", layer.name, threads,
                  report.gemm_micro_ops, report.cycles, report.Utilisation() * 100, estimate.cycles, error * 100,
                  cycles / seconds / 1e6, cycles / with_races / 1e6);
      rows.push_back({{"layer", layer.name},
                      {"threads", threads},
                      {"cycles", report.cycles},
                      {"utilisation", report.Utilisation()},
                      {"estimate", estimate.cycles},
                      {"cycles_per_second", cycles / seconds},
                      {"cycles_per_second_with_races", cycles / with_races}});
      total.cycles += report.cycles * layer.count;
      total.ideal += report.gemm_micro_ops * layer.count;
      total.seconds += seconds * static_cast<double>(layer.count);
      total.racing_seconds += with_races * static_cast<double>(layer.count);
      total.error += std::abs(error);
      ++total.layers;
    }
    const auto cycles = static_cast<double>(total.cycles);
    std::printf("all  %3ld %12ld %12ld %5.1f%% %9s %6.1f%% %14.1f %14.1f%s\n", threads, total.ideal, total.cycles,
                static_cast<double>(total.ideal) / cycles * 100, "mean of",
                total.error / static_cast<double>(total.layers) * 100, cycles / total.seconds / 1e6,
                cycles / total.racing_seconds / 1e6, flags.check ? "   results are right" : "");
  }
  if (!flags.json.empty()) std::ofstream(flags.json) << JsonText(rows, 2) << "\n";
  return absl::OkStatus();
}

cli::Action Declare(cli::Arguments& arguments) {
  auto flags = std::make_shared<Flags>();
  arguments.Add("--machine", flags->machine, "pynq, big, or a file of that form");
  arguments.Add("--runs", flags->runs, "Runs of each layer").Positive();
  arguments.AddFlag("--check", flags->check, "Compare results with a direct convolution");
  arguments.Add("--json", flags->json, "Write the figures to this file");
  return [flags] { return Run(*flags); };
}

}  // namespace
}  // namespace smelt::bench

int main(int argc, char** argv) {
  return smelt::bench::RunProgram(
      "simulator", "How fast is the simulator of VDLA, and how full are its multipliers on layers of ResNet-18?",
      smelt::bench::Declare, argc, argv);
}
