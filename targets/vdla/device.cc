#include "targets/vdla/device.h"

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "hlo/passes/execution_counts.h"
#include "hlo/text/parser.h"
#include "measure/program_device.h"
#include "targets/cpu/compile/compile.h"
#include "targets/cpu/processor/detect.h"
#include "targets/cpu/program/executable.h"
#include "targets/cpu/worker/loaded_program.h"
#include "targets/vdla/accelerator.h"

namespace smelt::vdla {
namespace {

using nlohmann::json;

// What became of the distinct kernels of a program while it was compiled.
struct Placement {
  struct Kernel {
    double seconds = 0;  // of one execution
    bool on_accelerator = false;
  };
  absl::flat_hash_map<Hash128, Kernel> kernels;
  std::mutex mutex;  // kernels are compiled side by side
};

// Seconds that a program takes to bring arrays from the host's layout into the accelerator's and back: what passes from
// one layer to the next stays as it is.
double LayoutSeconds(const hlo::Module& module, const Placement& placement, const Accelerator& accelerator) {
  const auto counts = hlo::ExecutionCounts(module);
  double seconds = 0;
  for (const hlo::Computation* computation : module.ExecutedComputations()) {
    absl::flat_hash_map<const hlo::Instruction*, bool> is_layer;
    for (const hlo::Instruction* x : computation->PostOrder()) {
      if (!fusion::IsKernel(*x)) continue;
      const absl::StatusOr<fusion::Kernel> kernel = fusion::ExtractKernel(*x);
      const auto placed = kernel.ok() ? placement.kernels.find(kernel->hash) : placement.kernels.end();
      is_layer[x] = placed != placement.kernels.end() && placed->second.on_accelerator;
    }
    const auto runs = counts.find(computation);
    const double executions = runs == counts.end() ? 1 : static_cast<double>(runs->second);
    for (const auto& [x, layer] : is_layer) {
      if (!layer) continue;
      const auto is_host = [&](const hlo::Instruction* y) {
        const auto found = is_layer.find(y);
        return found == is_layer.end() || !found->second;
      };
      // Constants are packed once.
      for (const hlo::Instruction* operand : x->operands()) {
        const bool known = operand->opcode() == hlo::Opcode::kConstant || !operand->shape().IsArray();
        if (!known && is_host(operand))
          seconds += executions * accelerator.PackSeconds(static_cast<double>(operand->shape().ByteSize()));
      }
      bool to_host = x->IsRoot();
      for (const hlo::Instruction* user : x->users()) to_host |= is_host(user);
      if (to_host) seconds += executions * accelerator.PackSeconds(static_cast<double>(x->shape().ByteSize()));
    }
  }
  return seconds;
}

class Program : public measure::DeviceProgram {
 public:
  Program(std::unique_ptr<cpu::LoadedProgram> loaded, std::shared_ptr<const Placement> placement, double layout_seconds,
          const hlo::Module& module)
      : loaded_(std::move(loaded)), total_seconds_(layout_seconds) {
    const auto counts = hlo::ExecutionCounts(module);
    absl::flat_hash_map<std::string, int64_t> by_name;
    for (const auto& [computation, count] : counts) by_name[computation->name()] = static_cast<int64_t>(count);
    for (const cpu::KernelInfo& kernel : loaded_->executable().kernels()) {
      const auto placed = placement->kernels.find(kernel.hash);
      const double once = placed == placement->kernels.end() ? 0 : placed->second.seconds;
      const auto count = by_name.find(kernel.computation);
      const int64_t executions = count == by_name.end() ? 1 : count->second;
      times_.seconds.push_back(once * static_cast<double>(executions));
      times_.median.push_back(once);
      times_.executions.push_back(executions);
      total_seconds_ += times_.seconds.back();
    }
  }

  absl::Status TakeInputs(const measure::InputSource& source) override { return loaded_->TakeInputs(source); }
  absl::Status Run() override { return loaded_->Run(); }
  absl::StatusOr<std::vector<hlo::Literal>> Outputs() const override { return loaded_->Outputs(); }
  absl::StatusOr<KernelTimes> TimeKernels(int) override { return times_; }
  json ProgramFacts() const override { return loaded_->ProgramFacts(); }
  json KernelFacts() const override { return loaded_->KernelFacts(); }
  // Times do not depend on values, so that nothing has to run for them.
  absl::Status Prepare() override { return absl::OkStatus(); }
  absl::StatusOr<double> Sample() override { return total_seconds_; }

 private:
  const std::unique_ptr<cpu::LoadedProgram> loaded_;
  KernelTimes times_;
  double total_seconds_;
};

class Worker : public measure::ProgramDevice {
 public:
  Worker(isa::Config config, cpu::Target host_code, std::unique_ptr<Simulator> simulator,
         const std::string& cache_folder)
      : accelerator_(std::move(config)),
        host_code_(std::move(host_code)),
        simulator_(std::move(simulator)),
        cache_(cache_folder) {}

 protected:
  absl::StatusOr<std::unique_ptr<measure::DeviceProgram>> Build(const json& request) override {
    absl::flat_hash_map<std::string, std::string> ways;
    if (request.contains("knobs")) {
      for (const auto& [hash, way] : request["knobs"].items()) ways[hash] = way.get<std::string>();
    }
    return BuildWith(request, ways);
  }

  absl::StatusOr<std::unique_ptr<measure::DeviceProgram>> BuildKernel(const json& request) override {
    absl::flat_hash_map<std::string, std::string> ways;
    if (const std::string way = request.value("way", ""); !way.empty()) ways[request.value("hash", "")] = way;
    return BuildWith(request, ways);
  }

 private:
  absl::StatusOr<std::unique_ptr<measure::DeviceProgram>> BuildWith(
      const json& request, const absl::flat_hash_map<std::string, std::string>& ways) {
    const std::string text = request.value("module", "");
    const auto placement = std::make_shared<Placement>();
    cpu::ExecutableOptions options{.cache = &cache_};
    options.elsewhere = [&](const fusion::Kernel& kernel) -> absl::StatusOr<std::optional<cpu::ElsewhereKernel>> {
      const auto way = ways.find(kernel.hash.ToHex());
      return Place(kernel, way == ways.end() ? "" : way->second, *placement);
    };
    SMELT_ASSIGN_OR_RETURN(std::unique_ptr<cpu::LoadedProgram> loaded,
                           cpu::LoadedProgram::Compile(text, host_code_, options, inputs_));
    SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<hlo::Module> module,
                           hlo::ParseModule(text, {.file_name = "candidate"}));
    return std::make_unique<Program>(std::move(loaded), placement, LayoutSeconds(*module, *placement, accelerator_),
                                     *module);
  }

  // Null: the host runs it.
  absl::StatusOr<std::optional<cpu::ElsewhereKernel>> Place(const fusion::Kernel& kernel, const std::string& way,
                                                            Placement& placement) {
    const absl::Status is_layer = LayerOf(kernel.computation(), accelerator_.config()).status();
    Placement::Kernel placed{.seconds = is_layer.ok() ? 0 : accelerator_.HostSeconds(kernel.computation())};
    std::optional<cpu::ElsewhereKernel> elsewhere;
    if (is_layer.ok()) {
      const auto kept = std::make_shared<const fusion::Kernel>(
          fusion::Kernel{kernel.module->Clone(), kernel.hash, kernel.name, kernel.operands});
      absl::StatusOr<std::unique_ptr<LayerProgram>> built = accelerator_.Build(kept, way);
      if (absl::IsResourceExhausted(built.status()) && way.empty()) {
        placed.seconds = accelerator_.HostSeconds(kernel.computation());
      } else {
        if (!built.ok()) return built.status();
        placed = {.seconds = accelerator_.machine().launch_seconds + (*built)->seconds(), .on_accelerator = true};
        const std::shared_ptr<const LayerProgram> program = *std::move(built);
        elsewhere = cpu::ElsewhereKernel{
            .run = [program, this](absl::Span<const void* const> inputs, absl::Span<void* const> outputs, int,
                                   const std::atomic<bool>*) { return program->Run(*simulator_, inputs, outputs[0]); },
            .way = program->schedule().ToString(),
            .trace = program->Describe()};
      }
    }
    std::lock_guard lock(placement.mutex);
    placement.kernels[kernel.hash] = placed;
    return elsewhere;
  }

  const Accelerator accelerator_;
  const cpu::Target host_code_;
  const std::unique_ptr<Simulator> simulator_;
  cpu::KernelCache cache_;
  cpu::InputPool inputs_;
};

}  // namespace

int WorkerMain(const std::string& target, const std::string& cache_folder, int cpu) {
  const std::vector<std::string> parts = absl::StrSplit(target.substr(target.find(':') + 1), ',');
  absl::StatusOr<isa::Config> config = isa::Config::Open(parts[0]);
  if (!config.ok()) return 2;
  const bool cycle = parts.size() > 1 && parts[1] == "cycle";
  absl::StatusOr<std::unique_ptr<Simulator>> simulator =
      Simulator::Create(*config, cycle ? sim::Timing::kCycle : sim::Timing::kFunctional);
  if (!simulator.ok()) return 2;
  Worker worker(*std::move(config), cpu::DetectTarget(/*measure=*/false), *std::move(simulator), cache_folder);
  return measure::Serve(worker, cpu);
}

}  // namespace smelt::vdla
