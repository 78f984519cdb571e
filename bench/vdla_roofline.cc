// How much of VDLA's multipliers do the convolutions of ResNet-18 use, without and with virtual threads? Figure 10 of
// the TVM paper: 70 % and 88 %. And how many times as fast as the host's processor are they (Figure 21: 40)?
//
//   build/release/bench/vdla_roofline [--machine=pynq] [--epilogue=requantize] [--check] [--json=FILE] [--svg=FILE]
//
// The best schedule of each layer is searched: all tiles, orders and ways to share them among threads that fit the
// memories are ranked by a formula (vdla/lower/schedule_space.cc); the first `--lowered` of them are made into programs
// and ranked by sim/estimate.h; the first `--simulated` of these run on the cycle simulator, with the race detector,
// and the fastest counts. Utilisation is the number of products of blocks, one a cycle, over the cycles of the
// simulator.
//
// Epilogues, all with int8 outputs: `requantize` adds a bias, multiplies and shifts by channel and cuts off at 0 (5
// cycles an output element), `shift` shifts and cuts off, both by constants (2 cycles), as VTA's own benchmark does.
//
// The host is that of targets/vdla/accelerator.cc: for `pynq` a Cortex-A9 that reaches 1.63 GOP/s, what the TVM project
// measured for C2 on the board; it is given that rate on every layer.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "bench/run_program.h"
#include "bench/vdla_layers.h"
#include "sim/estimate.h"
#include "sim/machine.h"
#include "sim/roofline.h"
#include "sim/simulate.h"
#include "targets/vdla/accelerator.h"
#include "vdla/lower/convolution.h"
#include "vdla/lower/emit.h"
#include "vdla/lower/layer.h"

namespace smelt::bench {
namespace {

using vdla::isa::AluOp;
using vdla::isa::Config;
using vdla::lower::Convolution;
using vdla::lower::ConvolutionSchedule;
using vdla::lower::Emitted;
using vdla::lower::EpilogueStep;

struct Flags {
  std::string machine = "pynq", epilogue = "requantize", json, svg;
  std::vector<int> threads{1, 2};
  int lowered = 48, simulated = 8;
  bool check = false;
};

struct Best {
  ConvolutionSchedule schedule;
  Emitted emitted;
  sim::Report report;
  sim::RooflinePoint point;
  int64_t fitting = 0;  // schedules that fit
  int lowered = 0, simulated = 0;
};

Convolution ConvolutionOf(const Layer& layer, const Flags& flags, const Config& config) {
  Convolution c;
  c.name = layer.name;
  c.in_blocks = layer.in / config.block_in;
  c.out_blocks = layer.out / config.block_out;
  c.height = c.width = layer.size;
  c.kernel_height = c.kernel_width = layer.kernel;
  c.stride_height = c.stride_width = layer.stride;
  c.padding = {layer.pad(), layer.pad(), layer.pad(), layer.pad()};
  if (flags.epilogue == "requantize") c.epilogue = vdla::lower::RequantizeEpilogue(/*residual=*/false, /*relu=*/true);
  if (flags.epilogue == "shift") {
    c.epilogue = {{.op = AluOp::kRshr, .imm = kLayerShift}, {.op = AluOp::kMax, .imm = 0}};
  }
  return c;
}

// Errors: none fits; a program that is not right. A schedule whose micro-ops do not fit is passed over.
absl::StatusOr<Best> Search(const Convolution& convolution, int threads, const Flags& flags, const Config& config) {
  const std::vector<ConvolutionSchedule> space = ConvolutionSchedules(convolution, config, threads);
  std::vector<std::pair<int64_t, Best>> lowered;
  for (const ConvolutionSchedule& schedule : space) {
    if (static_cast<int>(lowered.size()) == flags.lowered) break;
    SMELT_ASSIGN_OR_RETURN(const vdla::lower::Operations operations, ScheduleConvolution(convolution, schedule));
    absl::StatusOr<Emitted> emitted = Emit(operations, config);
    if (absl::IsResourceExhausted(emitted.status())) continue;
    if (!emitted.ok()) return emitted.status();
    SMELT_ASSIGN_OR_RETURN(const sim::Estimate estimate, sim::EstimateCycles(emitted->program));
    lowered.push_back({estimate.cycles, {.schedule = schedule, .emitted = *std::move(emitted)}});
  }
  std::stable_sort(lowered.begin(), lowered.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  const int simulated = std::min(flags.simulated, static_cast<int>(lowered.size()));
  if (simulated == 0)
    return absl::NotFoundError(
        StrCat("no schedule of ", convolution.name, " fits ", config.name, " with ", threads, " threads"));
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<sim::Machine> machine, sim::Machine::Create(config));
  Best* best = nullptr;
  for (int i = 0; i < simulated; ++i) {
    Best& candidate = lowered[i].second;
    SMELT_RETURN_IF_ERROR(machine->LoadSegments(candidate.emitted.program));
    candidate.report = sim::Simulate(*machine, candidate.emitted.program.instructions, {.timing = sim::Timing::kCycle});
    SMELT_RETURN_IF_ERROR(candidate.report.ToStatus());
    if (best == nullptr || candidate.report.cycles < best->report.cycles) best = &candidate;
  }
  best->point = sim::PointOf(best->report, best->emitted.program);
  best->point.name = StrCat(convolution.name, "/", threads);
  best->fitting = static_cast<int64_t>(space.size());
  best->lowered = static_cast<int>(lowered.size());
  best->simulated = simulated;
  return std::move(*best);
}

// The program on random values against the definition.
absl::Status Check(const Layer& layer, const Convolution& convolution, const Best& best, const Config& config) {
  std::mt19937 random(1);
  const vdla::lower::Layer values = vdla::lower::RandomLayer(convolution, 1, layer.in, layer.out, config, random);
  vdla::isa::Program program = best.emitted.program;
  FillSegments(values, config, &program);
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<sim::Machine> machine, sim::Machine::Create(config));
  SMELT_RETURN_IF_ERROR(machine->LoadSegments(program));
  SMELT_RETURN_IF_ERROR(sim::Simulate(*machine, program.instructions, {.timing = sim::Timing::kFunctional}).ToStatus());
  const vdla::isa::Segment& output = *program.Find("output");
  SMELT_ASSIGN_OR_RETURN(const std::string bytes, machine->dram().Read(output.address, output.size));
  if (OutputOf(values, config, bytes) == Reference(values)) return absl::OkStatus();
  return absl::DataLossError(
      StrCat(layer.name, ": the result differs from the definition, with ", best.schedule.ToString()));
}

absl::Status Run(const Flags& flags) {
  SMELT_ASSIGN_OR_RETURN(const Config config, Config::Open(flags.machine));
  const Clock::time_point start = Clock::now();
  nlohmann::json json = {{"machine", config.name}, {"epilogue", flags.epilogue}, {"layers", nlohmann::json::array()}};
  std::vector<sim::RooflinePoint> points;
  std::printf("%s, epilogue `%s`: cycles of the best schedule that was found\n", config.name.c_str(),
              flags.epilogue.c_str());
  const machine::Machine host = vdla::Accelerator(config).host();
  // Times the host's speed, where every multiply-add is two operations.
  const auto beside_host = [&](int64_t micro_ops, int64_t cycles) {
    const double operations = 2.0 * static_cast<double>(micro_ops * config.MacsOfGemm());
    return operations / host.peak_flops_f32 / config.SecondsOf(cycles);
  };
  std::printf("%-6s %-8s %10s %10s %7s %8s %6s  %s\n", "layer", "threads", "ideal", "cycles", "GEMM", "GOP/s", "host",
              "schedule");
  for (const int threads : flags.threads) {
    int64_t ideal = 0, cycles = 0, count = 0;
    for (const Layer& layer : kResNet18Layers) {
      const Convolution convolution = ConvolutionOf(layer, flags, config);
      SMELT_ASSIGN_OR_RETURN(const Best best, Search(convolution, threads, flags, config));
      if (flags.check) SMELT_RETURN_IF_ERROR(Check(layer, convolution, best, config));
      const std::string name = layer.count == 1 ? layer.name : StrCat(layer.name, " x", layer.count);
      std::printf("%-6s %-8d %10ld %10ld %6.1f%% %8.1f %5.1fx  %s\n", name.c_str(), threads, convolution.micro_ops(),
                  best.report.cycles, best.report.Utilisation() * 100, best.point.ops_per_second / 1e9,
                  beside_host(convolution.micro_ops(), best.report.cycles), best.schedule.ToString().c_str());
      std::fflush(stdout);
      ideal += layer.count * convolution.micro_ops();
      cycles += layer.count * best.report.cycles;
      count += layer.count;
      points.push_back(best.point);
      json["layers"].push_back({{"layer", layer.name},
                                {"count", layer.count},
                                {"threads", threads},
                                {"ideal_cycles", convolution.micro_ops()},
                                {"cycles", best.report.cycles},
                                {"utilisation", best.report.Utilisation()},
                                {"schedule", best.schedule.ToString()},
                                {"alu_micro_ops", best.report.alu_micro_ops},
                                {"gemm_stalls", best.report.gemm_stalls},
                                {"dram_bytes", best.emitted.dram_bytes},
                                {"instructions", best.emitted.program.instructions.size()},
                                {"tokens", best.emitted.tokens},
                                {"schedules_that_fit", best.fitting},
                                {"lowered", best.lowered},
                                {"simulated", best.simulated}});
    }
    const double utilisation = static_cast<double>(ideal) / static_cast<double>(cycles);
    std::printf("%-6s %-8d %10ld %10ld %6.1f%% %8s %5.1fx  a %s at %.2f GOP/s\n", StrCat("all ", count).c_str(),
                threads, ideal, cycles, utilisation * 100, "", beside_host(ideal, cycles), host.name.c_str(),
                host.peak_flops_f32 / 1e9);
    json["total"].push_back({{"threads", threads},
                             {"ideal_cycles", ideal},
                             {"cycles", cycles},
                             {"utilisation", utilisation},
                             {"times_the_host", beside_host(ideal, cycles)}});
  }
  std::printf("searched in %.1f s%s\n", Since(start), flags.check ? "; all results are right" : "");
  if (!flags.json.empty()) std::ofstream(flags.json) << JsonText(json, 2) << "\n";
  if (!flags.svg.empty()) std::ofstream(flags.svg) << sim::RooflineSvg(config, points);
  return absl::OkStatus();
}

cli::Action Declare(cli::Arguments& arguments) {
  auto flags = std::make_shared<Flags>();
  arguments.Add("--machine", flags->machine, "pynq, big, or a file of that form");
  arguments.Add("--epilogue", flags->epilogue, "What follows the sums").OneOf({"requantize", "shift", "none"});
  arguments.Add("--threads", flags->threads, "Numbers of virtual threads");
  arguments.Add("--lowered", flags->lowered, "Schedules of a layer that are made into programs").Positive();
  arguments.Add("--simulated", flags->simulated, "Programs of a layer that are simulated").Positive();
  arguments.AddFlag("--check", flags->check, "Compare results with a convolution by its definition");
  arguments.Add("--json", flags->json, "Write the figures to this file");
  arguments.Add("--svg", flags->svg, "Draw the roofline into this file");
  return [flags] { return Run(*flags); };
}

}  // namespace
}  // namespace smelt::bench

int main(int argc, char** argv) {
  return smelt::bench::RunProgram(
      "vdla_roofline",
      "How full are VDLA's multipliers on the convolutions of ResNet-18, without and with virtual threads?",
      smelt::bench::Declare, argc, argv);
}
