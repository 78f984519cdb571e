#include "targets/vdla/vdla_target.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "fusion/kernel.h"
#include "gnn/estimate.h"
#include "gnn/shipped_model.h"
#include "hlo/text/printer.h"
#include "measure/worker_process.h"
#include "targets/tunable.h"
#include "targets/vdla/accelerator.h"
#include "targets/vdla/source_version.h"
#include "vdla/isa/assembly.h"

namespace smelt::vdla {
namespace {

// The kernels of a program may take any of their schedules; what stands in a configuration file is checked when the
// kernel is built.
class VdlaTunable : public targets::FusionTunable {
 public:
  VdlaTunable(const targets::Target& target, const Accelerator& accelerator, targets::Program program,
              fusion::Space space)
      : FusionTunable(target, std::move(program), std::move(space)), accelerator_(accelerator) {}

  bool TimesKernelsAlone() const override { return true; }
  std::vector<targets::Start> starts() const override {
    return {{.name = "priority", .kernels_alone = true}, {.name = "none", .kernels_alone = true}};
  }
  std::vector<std::string> WaysOf(const fusion::Kernel& kernel) const override {
    return accelerator_.WaysOf(kernel.computation());
  }
  std::vector<std::string> notes() const override {
    int64_t layers = 0, kernels = 0;
    const std::unique_ptr<hlo::Module> fused = Fused(usual());
    const absl::StatusOr<std::vector<fusion::Kernel>> all = fusion::ExtractKernels(*fused);
    if (!all.ok()) return {};
    for (const fusion::Kernel& kernel : *all) {
      ++kernels;
      layers += accelerator_.WhyOnHost(kernel.computation()).ok();
    }
    return {absl::StrCat(layers, " of ", kernels, " kernels of the default run on the accelerator",
                         layers == 0 ? "; it takes int8, which `smelt quantize` makes of a float program" : "")};
  }
  // A kernel with another schedule is timed alone as it is.
  bool IsPlain(const targets::Knobs&) const override { return true; }

 protected:
  absl::Status CheckWay(const std::string&) const override { return absl::OkStatus(); }

 private:
  const Accelerator& accelerator_;
};

gnn::KernelEstimate EstimateBy(std::shared_ptr<const Accelerator> accelerator) {
  return [accelerator = std::move(accelerator)](const hlo::Computation& kernel) {
    return kernels::cost::CostEstimate{.compute_seconds = accelerator->RoughSeconds(kernel)};
  };
}

class Vdla : public targets::Target {
 public:
  Vdla(isa::Config config, VdlaOptions options)
      : accelerator_(std::make_shared<const Accelerator>(std::move(config))), options_(std::move(options)) {}

  machine::TargetId id() const override { return {"vdla", accelerator_->config().name, 1}; }
  // The machine counts with all its figures: two files may give one name to different ones.
  std::string CompilerVersion() const override {
    return absl::StrCat("vdla ", isa::kVersion, " smelt ", SourceVersion(), " machine ",
                        HashOf(accelerator_->config().ToJson()).ToHex().substr(0, 12));
  }
  const machine::Machine& machine() const override { return accelerator_->machine(); }

  fusion::Rules rules() const override {
    fusion::Rules rules = fusion::Rules::OwnKernels();
    rules.name = "vdla";
    // Nothing is computed between DRAM and the unit that multiplies.
    rules.reads_through_contraction_operands = false;
    // Packing brings elements to their places, wherever these are.
    rules.moves_arrays_of_contractions = true;
    const machine::Machine& host = accelerator_->host();
    rules.flops_per_second = host.peak_flops_f32;
    rules.element_operations_per_second = host.peak_flops_f32 / 2;
    rules.memory_bytes_per_second = host.levels.back().bytes_per_second;
    rules.cache_bytes_per_second = host.levels.front().bytes_per_second;
    rules.cache_bytes = host.levels.front().bytes;
    rules.launch_seconds = host.launch_seconds;
    return rules;
  }

  absl::StatusOr<std::unique_ptr<targets::Tunable>> Open(const std::string& path,
                                                         const std::string& fusion) const override {
    SMELT_ASSIGN_OR_RETURN(targets::Program program, targets::LoadProgram(path));
    return Tunable(std::move(program), fusion);
  }
  absl::StatusOr<std::unique_ptr<targets::Tunable>> Take(std::unique_ptr<hlo::Module> module,
                                                         const std::string& fusion) const override {
    SMELT_ASSIGN_OR_RETURN(targets::Program program,
                           targets::PrepareProgram(std::move(module), "", targets::Simplify::kNo));
    return Tunable(std::move(program), fusion);
  }

  absl::StatusOr<double> RoughSeconds(const fusion::Kernel& kernel) const override {
    return accelerator_->RoughSeconds(kernel.computation());
  }
  // The one that comes with the tool, or the formula of schedules and of the host.
  absl::StatusOr<std::unique_ptr<gnn::Predictor>> OpenPredictor(const std::string& name) const override {
    const gnn::KernelEstimate estimate = EstimateBy(accelerator_);
    const std::string path = name.empty() ? gnn::ShippedModelPath("vdla") : name;
    if (path.empty() || path == "analytical") {
      return gnn::EstimatePredictor(absl::StrCat("formula of ", accelerator_->config().name, "'s schedules"), estimate);
    }
    return gnn::LoadWithEstimate(path, machine(), "vdla", estimate);
  }
  std::function<double(const hlo::Computation&)> HeuristicCost() const override {
    return [this](const hlo::Computation& kernel) { return accelerator_->RoughSeconds(kernel); };
  }

  std::vector<targets::KernelForm> FormsOf(const hlo::Module&,
                                           const std::vector<fusion::Kernel>& kernels) const override {
    std::vector<targets::KernelForm> forms;
    for (const fusion::Kernel& kernel : kernels) {
      const absl::Status layer = accelerator_->WhyOnHost(kernel.computation());
      forms.push_back({.opaque = layer.ok() ? "" : absl::StrCat("on the host: ", std::string(layer.message()))});
    }
    return forms;
  }

  absl::StatusOr<targets::KernelListing> Show(const fusion::Kernel& kernel, const std::string& way) const override {
    const auto kept = std::make_shared<const fusion::Kernel>(
        fusion::Kernel{kernel.module->Clone(), kernel.hash, kernel.name, kernel.operands});
    SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<LayerProgram> program, accelerator_->Build(kept, way));
    return targets::KernelListing{{"hlo", hlo::ToText(*kernel.module)},
                                  {"schedule", program->schedule().ToString()},
                                  {"cycles", absl::StrCat(program->report().cycles)},
                                  {"utilisation", absl::StrFormat("%.3f", program->report().Utilisation())},
                                  {"assembly", isa::Disassemble(program->program())}};
  }

  bool TimesVary() const override { return false; }
  measure::DeviceFactory NewDevice(targets::DeviceUse) const override {
    measure::WorkerOptions worker{.program = options_.program,
                                  .target = absl::StrCat("vdla:", options_.machine, options_.cycle ? ",cycle" : ""),
                                  .cache_folder = options_.cache_folder,
                                  .start_seconds = options_.start_seconds,
                                  .cancel = options_.cancel};
    if (options_.memory_bytes > 0) worker.memory_limit_bytes = options_.memory_bytes;
    return measure::LocalChild(std::move(worker));
  }

 private:
  absl::StatusOr<std::unique_ptr<targets::Tunable>> Tunable(targets::Program program, const std::string& fusion) const {
    SMELT_ASSIGN_OR_RETURN(fusion::Space space, fusion::Space::Build(program.module(), rules()));
    auto tunable = std::make_unique<VdlaTunable>(*this, *accelerator_, std::move(program), std::move(space));
    SMELT_RETURN_IF_ERROR(tunable->SetDefault(fusion));
    return tunable;
  }

  const std::shared_ptr<const Accelerator> accelerator_;
  const VdlaOptions options_;
};

}  // namespace

std::unique_ptr<targets::Target> VdlaTarget(isa::Config config, VdlaOptions options) {
  return std::make_unique<Vdla>(std::move(config), std::move(options));
}

gnn::KernelEstimate VdlaEstimate(isa::Config config) {
  return EstimateBy(std::make_shared<const Accelerator>(std::move(config)));
}

}  // namespace smelt::vdla
