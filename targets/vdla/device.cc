#include "targets/vdla/device.h"

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/ceil_div.h"
#include "base/status_macros.h"
#include "hlo/file/message.h"
#include "hlo/passes/execution_counts.h"
#include "measure/program_device.h"
#include "nlohmann/json.hpp"
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
    double seconds = 0;                         // of one execution
    std::shared_ptr<const LayerProgram> layer;  // null: on the host
  };
  absl::flat_hash_map<Hash128, Kernel> kernels;
  std::mutex mutex;  // kernels are compiled side by side
};

// The arrays of a fused module that the host brings from its layout into the accelerator's and back.
class LayoutChanges {
 public:
  LayoutChanges(const hlo::Computation& computation, const Placement& placement, const Accelerator& accelerator)
      : accelerator_(accelerator) {
    for (const hlo::Instruction* x : computation.PostOrder()) {
      if (!fusion::IsKernel(*x)) continue;
      absl::StatusOr<fusion::Kernel> kernel = fusion::ExtractKernel(*x);
      if (!kernel.ok()) continue;
      const auto placed = placement.kernels.find(kernel->hash);
      if (placed == placement.kernels.end() || placed->second.layer == nullptr) continue;
      calls_.push_back({x, std::move(kernel->operands), &placed->second.layer->layer()});
      call_of_[x] = calls_.size() - 1;
    }
  }

  // The seconds of one execution. What passes from one layer to the next stays as it is where both see it alike;
  // constants are packed once.
  double Seconds() const {
    double seconds = 0;
    absl::flat_hash_set<const hlo::Instruction*> to_host;
    for (const Call& call : calls_) {
      const hlo::Instruction* x = call.instruction;
      if (x->IsRoot()) to_host.insert(x);
      std::vector<bool> packed(static_cast<size_t>(x->operand_count()), false);
      for (const auto& [source, view] :
           {std::pair{&call.layer->data, &call.layer->data_view},
            std::pair{&call.layer->residual, &call.layer->residual_view}, std::pair{&call.layer->weights, NoView()}}) {
        if (source->parameter < 0 || source->parameter >= static_cast<int64_t>(call.operands.size())) continue;
        const auto operand = static_cast<size_t>(call.operands[static_cast<size_t>(source->parameter)]);
        if (packed[operand]) continue;
        packed[operand] = true;
        const hlo::Instruction* from = BehindNames(x->operand(static_cast<int64_t>(operand)));
        if (from->opcode() == hlo::Opcode::kConstant) continue;
        const auto producer = call_of_.find(from);
        const bool folded = view == &call.layer->data_view && call.layer->folded.padded_width > 0;
        const bool alike = producer != call_of_.end() && view != nullptr && !folded &&
                           PackAlike(calls_[producer->second].layer->output_view, *view);
        if (alike) continue;
        const double read = static_cast<double>(from->shape().ByteSize());
        seconds += accelerator_.PackSeconds(read, view == nullptr ? read : PackedBytes(*view));
        if (producer != call_of_.end()) to_host.insert(from);
      }
      for (const hlo::Instruction* user : UsersBehindNames(*x)) {
        if (!call_of_.contains(user)) to_host.insert(x);
      }
    }
    for (const hlo::Instruction* x : to_host) {
      const double bytes = static_cast<double>(x->shape().ByteSize());
      seconds += accelerator_.PackSeconds(bytes, bytes);
    }
    return seconds;
  }

 private:
  struct Call {
    const hlo::Instruction* instruction;
    std::vector<int64_t> operands;  // of the kernel's parameters
    const Layer* layer;
  };
  static const lower::ActivationView* NoView() { return nullptr; }
  // Bytes of int8 in whole blocks.
  double PackedBytes(const lower::ActivationView& view) const {
    const int64_t block = accelerator_.config().block_in, channels = static_cast<int64_t>(view.channels.size());
    return static_cast<double>(view.images.size() * view.height.size() * view.width.size()) *
           static_cast<double>(CeilDiv(channels, block) * block);
  }
  // Names of the same bytes: nothing runs for them.
  static const hlo::Instruction* BehindNames(const hlo::Instruction* x) {
    while (x->operand_count() == 1 && fusion::KeepsBytes(*x)) x = x->operand(0);
    return x;
  }
  static std::vector<const hlo::Instruction*> UsersBehindNames(const hlo::Instruction& x) {
    std::vector<const hlo::Instruction*> users;
    for (const hlo::Instruction* user : x.users()) {
      if (user->operand_count() != 1 || !fusion::KeepsBytes(*user)) {
        users.push_back(user);
        continue;
      }
      if (user->IsRoot()) users.push_back(user);
      const std::vector<const hlo::Instruction*> behind = UsersBehindNames(*user);
      users.insert(users.end(), behind.begin(), behind.end());
    }
    return users;
  }

  const Accelerator& accelerator_;
  std::vector<Call> calls_;
  absl::flat_hash_map<const hlo::Instruction*, size_t> call_of_;
};

double LayoutSeconds(const hlo::Module& module, const Placement& placement, const Accelerator& accelerator) {
  const auto counts = hlo::ExecutionCounts(module);
  double seconds = 0;
  for (const hlo::Computation* computation : module.ExecutedComputations()) {
    const auto runs = counts.find(computation);
    const double executions = runs == counts.end() ? 1 : static_cast<double>(runs->second);
    seconds += executions * LayoutChanges(*computation, placement, accelerator).Seconds();
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
  bool TimesVary() const override { return false; }

 private:
  const std::unique_ptr<cpu::LoadedProgram> loaded_;
  KernelTimes times_;
  double total_seconds_;
};

// A kernel that is only timed: its time is known without code of the host and without a run.
class KernelAlone : public measure::DeviceProgram {
 public:
  explicit KernelAlone(Accelerator::Choice choice) : choice_(std::move(choice)) {}
  absl::Status TakeInputs(const measure::InputSource&) override { return absl::OkStatus(); }
  absl::Status Run() override { return absl::OkStatus(); }
  absl::StatusOr<std::vector<hlo::Literal>> Outputs() const override {
    return absl::UnimplementedError("a kernel that is timed alone has no results here");
  }
  json KernelFacts() const override {
    if (choice_.layer == nullptr) return json::object();
    return {{"tile", choice_.layer->schedule().ToString()}, {"trace", choice_.layer->Describe()}};
  }
  absl::Status Prepare() override { return absl::OkStatus(); }
  absl::StatusOr<double> Sample() override { return choice_.seconds; }
  bool TimesVary() const override { return false; }

 private:
  const Accelerator::Choice choice_;
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
    SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<hlo::Module> module,
                           hlo::FromMessage(request.value("module", ""), "kernel"));
    // The request has a program that calls the kernel; what is timed is the kernel as programs have it.
    SMELT_ASSIGN_OR_RETURN(const std::vector<fusion::Kernel> kernels, fusion::ExtractKernels(*module));
    if (kernels.size() != 1)
      return absl::InvalidArgumentError(absl::StrCat("expected one kernel in the program, found ", kernels.size()));
    SMELT_ASSIGN_OR_RETURN(Accelerator::Choice choice, accelerator_.Choose(kernels[0], request.value("way", "")));
    return std::make_unique<KernelAlone>(std::move(choice));
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
    SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<hlo::Module> module, hlo::FromMessage(text, "candidate"));
    return std::make_unique<Program>(std::move(loaded), placement, LayoutSeconds(*module, *placement, accelerator_),
                                     *module);
  }

  // Null: the host runs it.
  absl::StatusOr<std::optional<cpu::ElsewhereKernel>> Place(const fusion::Kernel& kernel, const std::string& way,
                                                            Placement& placement) {
    SMELT_ASSIGN_OR_RETURN(const Accelerator::Choice choice, accelerator_.Choose(kernel, way));
    std::optional<cpu::ElsewhereKernel> elsewhere;
    if (choice.layer != nullptr) {
      elsewhere = cpu::ElsewhereKernel{
          .run = [program = choice.layer, this](
                     absl::Span<const void* const> inputs, absl::Span<void* const> outputs, int,
                     const std::atomic<bool>*) { return program->Run(*simulator_, inputs, outputs[0]); },
          .way = choice.layer->schedule().ToString(),
          .trace = choice.layer->Describe()};
    }
    std::lock_guard lock(placement.mutex);
    placement.kernels[kernel.hash] = {choice.seconds, choice.layer};
    return elsewhere;
  }

  const Accelerator accelerator_;
  const cpu::Target host_code_;
  const std::unique_ptr<Simulator> simulator_;
  cpu::KernelCache cache_;
  cpu::InputPool inputs_;
};

}  // namespace

int WorkerMain(const std::string& target, const std::string& cache_folder) {
  const std::vector<std::string> parts = absl::StrSplit(target.substr(target.find(':') + 1), ',');
  absl::StatusOr<isa::Config> config = isa::Config::Open(parts[0]);
  if (!config.ok()) return 2;
  const bool cycle = parts.size() > 1 && parts[1] == "cycle";
  absl::StatusOr<std::unique_ptr<Simulator>> simulator =
      Simulator::Create(*config, cycle ? sim::Timing::kCycle : sim::Timing::kFunctional);
  if (!simulator.ok()) return 2;
  Worker worker(*std::move(config), cpu::DetectTarget(/*measure=*/false), *std::move(simulator), cache_folder);
  return measure::Serve(worker);
}

}  // namespace smelt::vdla
