#include "targets/vdla/accelerator.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kernels/cost/analytical.h"

namespace smelt::vdla {
namespace {

// A call of the driver: the instructions' address into a register, the wait for its answer.
constexpr double kSubmitSeconds = 10e-6;
constexpr int64_t kThreads[] = {1, 2, 4};  // virtual
constexpr char kHostWay[] = "host";
// So many schedules of each number of virtual threads are offered; so many of all are simulated to find the default.
constexpr size_t kWaysPerThreads = 12, kTriedForDefault = 3;

// The processor beside the accelerator. The PYNQ-Z1's is a Cortex-A9 at 650 MHz: NEON has 64-bit units, so at most 4
// flops a cycle in f32, of which compiled code reaches about 1.6 GOP/s (the TVM project's own measurements on the
// board: 1.0 to 1.6 GOP/s for ResNet-18's layers), 32 KiB and 512 KiB of caches, one 16-bit DDR3 channel of 2.1 GB/s.
// The larger one is a present server core.
machine::Machine HostOf(const isa::Config& config) {
  machine::Machine host;
  if (config.clock_hz > 250'000'000) {
    host.name = "server core";
    return host;
  }
  host.name = "Cortex-A9";
  host.vector_bytes = 16;
  host.vector_registers = 16;
  host.levels = {{"l1", 32 << 10, 4e9}, {"l2", 512 << 10, 2e9}, {"memory", INT64_MAX, 1e9}};
  host.peak_flops_f32 = host.vector_flops_f32 = 1.63e9;
  host.launch_seconds = 2e-6;
  return host;
}

machine::Machine MachineOf(const isa::Config& config) {
  const double clock = static_cast<double>(config.clock_hz);
  const double gemm = clock * static_cast<double>(config.MacsOfGemm());
  machine::Machine machine;
  machine.name = config.name;
  machine.vector_bytes = static_cast<int>(config.block_out * 4);
  machine.levels = {{"inp", config.inp_bytes, clock * static_cast<double>(config.DramElementBytes(isa::Memory::kInp))},
                    {"wgt", config.wgt_bytes, clock * static_cast<double>(config.DramElementBytes(isa::Memory::kWgt))},
                    {"acc", config.acc_bytes, clock * static_cast<double>(config.DramElementBytes(isa::Memory::kAcc))},
                    {"memory", INT64_MAX, clock * config.timing.dram_bytes_per_cycle}};
  // They stand beside each other; who reads levels goes by their sizes.
  std::stable_sort(machine.levels.begin(), machine.levels.end(),
                   [](const machine::MemoryLevel& a, const machine::MemoryLevel& b) { return a.bytes < b.bytes; });
  machine.peak_flops_f32 = machine.vector_flops_f32 = 2 * gemm;
  machine.launch_seconds = kSubmitSeconds;
  return machine;
}

}  // namespace

Accelerator::Accelerator(isa::Config config)
    : config_(std::move(config)), machine_(MachineOf(config_)), host_(HostOf(config_)) {}

double Accelerator::HostSeconds(const hlo::Computation& kernel) const {
  return kernels::cost::EstimateKernel(kernel, host_).seconds();
}

absl::Status Accelerator::WhyOnHost(const hlo::Computation& kernel) const {
  const absl::StatusOr<Layer> layer = LayerOf(kernel, config_);
  if (!layer.ok()) return layer.status();
  const double cycles = LeastCycles(layer->convolution);
  if (cycles == 0) return absl::ResourceExhaustedError("no tile of it fits the memories");
  if (HostSeconds(kernel) < kSubmitSeconds + cycles / static_cast<double>(config_.clock_hz))
    return absl::UnavailableError("the host is done with it sooner");
  return absl::OkStatus();
}

double Accelerator::PackSeconds(double read, double written) const {
  return (read + written) / host_.levels.back().bytes_per_second;
}

double Accelerator::RoughSeconds(const hlo::Computation& kernel) const {
  const absl::StatusOr<Layer> layer = LayerOf(kernel, config_);
  if (!layer.ok()) return HostSeconds(kernel);
  const double least = LeastCycles(layer->convolution);
  const double host = HostSeconds(kernel);
  return least == 0 ? host : std::min(host, kSubmitSeconds + least / static_cast<double>(config_.clock_hz));
}

double Accelerator::LeastCycles(const lower::Convolution& c) const {
  std::string key = absl::StrCat(static_cast<int>(c.sum), " ", c.weights_by_image, " ", c.images, " ", c.in_blocks, " ",
                                 c.out_blocks, " ", c.height, " ", c.width, " ", c.kernel_height, " ", c.kernel_width);
  absl::StrAppend(&key, " ", c.stride_height, " ", c.stride_width, " ", c.padding.top, " ", c.padding.left, " ",
                  c.padding.bottom, " ", c.padding.right, " ", c.int8_output);
  for (const lower::EpilogueStep& step : c.epilogue)
    absl::StrAppend(&key, " ", static_cast<int>(step.operand), step.tensor_scale.empty() ? "" : "s");
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = cycles_.find(key); known != cycles_.end()) return known->second;
  }
  double least = 0;
  for (const int64_t threads : kThreads) {
    const std::vector<lower::ConvolutionSchedule> schedules = lower::ConvolutionSchedules(c, config_, threads);
    if (schedules.empty()) continue;
    const double cycles = lower::EstimateCycles(c, schedules.front(), config_);
    least = least == 0 ? cycles : std::min(least, cycles);
  }
  const std::lock_guard lock(mutex_);
  return cycles_[key] = least;
}

std::vector<lower::ConvolutionSchedule> Accelerator::Schedules(const lower::Convolution& convolution) const {
  std::vector<std::pair<double, lower::ConvolutionSchedule>> ranked;
  for (const int64_t threads : kThreads) {
    std::vector<lower::ConvolutionSchedule> schedules = lower::ConvolutionSchedules(convolution, config_, threads);
    if (schedules.size() > kWaysPerThreads) schedules.resize(kWaysPerThreads);
    for (lower::ConvolutionSchedule& schedule : schedules)
      ranked.push_back({lower::EstimateCycles(convolution, schedule, config_), schedule});
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<lower::ConvolutionSchedule> schedules;
  for (auto& [cycles, schedule] : ranked) schedules.push_back(schedule);
  return schedules;
}

std::vector<std::string> Accelerator::WaysOf(const hlo::Computation& kernel) const {
  const absl::StatusOr<Layer> layer = LayerOf(kernel, config_);
  std::vector<std::string> ways;
  if (!layer.ok()) return ways;
  for (const lower::ConvolutionSchedule& schedule : Schedules(layer->convolution)) ways.push_back(schedule.ToString());
  if (!ways.empty()) ways.push_back(kHostWay);
  return ways;
}

absl::StatusOr<Accelerator::Choice> Accelerator::Choose(const fusion::Kernel& kernel, const std::string& way) const {
  const Choice host{.layer = nullptr, .seconds = HostSeconds(kernel.computation())};
  if (way == kHostWay || !LayerOf(kernel.computation(), config_).ok()) return host;
  absl::StatusOr<std::unique_ptr<LayerProgram>> built =
      Build(std::make_shared<const fusion::Kernel>(
                fusion::Kernel{kernel.module->Clone(), kernel.hash, kernel.name, kernel.operands}),
            way);
  if (absl::IsResourceExhausted(built.status()) && way.empty()) return host;
  if (!built.ok()) return built.status();
  const double seconds = machine_.launch_seconds + (*built)->seconds();
  if (way.empty() && host.seconds < seconds) return host;
  return Choice{.layer = *std::move(built), .seconds = seconds};
}

absl::StatusOr<std::unique_ptr<LayerProgram>> Accelerator::Build(std::shared_ptr<const fusion::Kernel> kernel,
                                                                 const std::string& way) const {
  SMELT_ASSIGN_OR_RETURN(const Layer layer, LayerOf(kernel->computation(), config_));
  const std::vector<lower::ConvolutionSchedule> schedules = Schedules(layer.convolution);
  std::unique_ptr<LayerProgram> best;
  absl::Status status = absl::ResourceExhaustedError(
      absl::StrCat("layer `", layer.convolution.name, "`: no tile of it fits the memories of ", config_.name));
  size_t tried = 0;
  for (const lower::ConvolutionSchedule& schedule : schedules) {
    if (way.empty() ? tried == kTriedForDefault : schedule.ToString() != way) continue;
    absl::StatusOr<std::unique_ptr<LayerProgram>> program = LayerProgram::Build(kernel, layer, schedule, config_);
    status = program.status();
    if (!program.ok()) {
      if (absl::IsResourceExhausted(status)) continue;  // the estimate knows no fragments
      return status;
    }
    ++tried;
    if (best == nullptr || (*program)->seconds() < best->seconds()) best = *std::move(program);
  }
  if (best != nullptr) return best;
  if (!way.empty() && tried == 0 && absl::IsResourceExhausted(status) && !schedules.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("layer `", layer.convolution.name, "` has no schedule `", way, "` that fits"));
  }
  return status;
}

}  // namespace smelt::vdla
