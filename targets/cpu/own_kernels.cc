#include "targets/cpu/own_kernels.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "hlo/text/printer.h"
#include "kernels/cost/default_schedule.h"
#include "kernels/te/hlo/algorithm.h"
#include "kernels/tiles/tiles.h"
#include "targets/cpu/codegen/codegen.h"
#include "targets/cpu/compile/compile.h"
#include "targets/cpu/program/native_plan.h"
#include "targets/cpu/program/runs_here.h"
#include "targets/cpu/program/runtime_size_region.h"
#include "targets/tunable.h"

namespace smelt::cpu {
namespace {

// The algorithms that a kernel with a convolution can have, or why there is none but the direct sum; empty for other
// kernels.
std::string AlgorithmsOf(const hlo::Computation& kernel) {
  const std::vector<kernels::nests::Tile> others = kernels::nests::OtherAlgorithms(kernel);
  if (!others.empty()) {
    std::string names(kernels::te::AlgorithmName(kernels::te::ConvolutionAlgorithm::kDirect));
    for (const kernels::nests::Tile& tile : others) absl::StrAppend(&names, ", ", tile.ToString());
    return names;
  }
  if (kernels::te::OnlyConvolution(kernel) == nullptr) return "";
  const absl::Status status = kernels::te::CheckAlgorithm(kernel, kernels::te::ConvolutionAlgorithm::kWinograd4);
  return absl::StrCat("none but the direct one: ", std::string(status.message()));
}

class OwnKernelsTarget : public targets::Target {
 public:
  OwnKernelsTarget(cpu::Target target, OwnKernelsOptions options)
      : target_(std::move(target)), options_(std::move(options)) {}

  machine::TargetId id() const override { return {"cpu", target_.name, target_.threads}; }
  std::string CompilerVersion() const override { return codegen::CompilerVersion(); }
  const machine::Machine& machine() const override { return target_; }
  fusion::Rules rules() const override { return options_.rules; }

  absl::StatusOr<std::unique_ptr<targets::Tunable>> Open(const std::string& path,
                                                         const std::string& fusion) const override {
    SMELT_ASSIGN_OR_RETURN(targets::Program program, targets::LoadProgram(path, options_.simplify));
    return targets::TuneFusions(*this, std::move(program), fusion);
  }

  std::vector<targets::KernelForm> FormsOf(const hlo::Module& fused,
                                           const std::vector<fusion::Kernel>& kernels) const override {
    const std::optional<std::string> one_piece = WhyOnePiece(fused);
    absl::flat_hash_map<std::string, std::string> in_region;  // by name: kernels that run as part of a larger operation
    for (const hlo::Computation* computation : fused.ExecutedComputations()) {
      const auto region = FindRuntimeSizeRegion(*computation);
      if (!region) continue;
      for (const hlo::Instruction* member : region->members) in_region[std::string(member->name())] = region->why;
    }
    std::vector<targets::KernelForm> forms = Target::FormsOf(fused, kernels);
    for (size_t i = 0; i < kernels.size(); ++i) {
      const auto found = in_region.find(kernels[i].name);
      const hlo::Instruction& root = *kernels[i].computation().root();
      if (found != in_region.end()) {
        forms[i].opaque = found->second;
      } else if (one_piece) {
        forms[i].opaque = *one_piece;
      } else if (!forms[i].opaque.empty() && HasNativePlan(root.opcode())) {
        const absl::Status plan = PlanNative(root).status();
        forms[i] = {.native = plan.ok(), .opaque = std::string(plan.message())};
      }
    }
    return forms;
  }

  absl::StatusOr<targets::KernelListing> Show(const fusion::Kernel& kernel, const std::string& way) const override {
    KernelListing listing;
    CompileOptions options{.known = kernel.known,
                           .streamed = kernels::cost::StreamedResults(kernel.computation(), kernel.distances, target_),
                           .listing = &listing};
    SMELT_ASSIGN_OR_RETURN(options.schedule, kernels::config::ParseChoice(way));
    SMELT_RETURN_IF_ERROR(kernels::config::CheckChoice(options.schedule, kernel.hash));
    SMELT_ASSIGN_OR_RETURN(const auto compiled, CompileKernel(kernel.computation(), target_, options, nullptr));
    targets::KernelListing shown{{"hlo", hlo::ToText(*kernel.module)}, {"tile", compiled->tile}};
    if (!listing.algorithm.empty()) shown.emplace_back("algorithm", listing.algorithm);
    const std::string algorithms = AlgorithmsOf(kernel.computation());
    if (!algorithms.empty()) shown.emplace_back("algorithms", algorithms);
    shown.emplace_back("vector_spills", absl::StrCat(compiled->vector_spills));
    shown.emplace_back("schedule", compiled->trace);
    shown.emplace_back("loops", listing.loops);
    shown.emplace_back("assembly", listing.assembly);
    return shown;
  }

  std::string DefaultSchedule(const fusion::Kernel& kernel) const override {
    return kernels::cost::DefaultTrace(kernel.computation(), kernel.distances, target_).value_or("");
  }

  measure::DeviceFactory NewDevice(targets::DeviceUse use) const override {
    if (const absl::Status here = RunsHere(target_, /*uses_tiles=*/false); !here.ok())
      return [here](double) -> absl::StatusOr<std::unique_ptr<measure::Device>> { return here; };
    measure::WorkerOptions worker{.program = options_.program,
                                  .target = target_.ToString(),
                                  .cache_folder = options_.cache_folder,
                                  .memory_limit_bytes = options_.memory_bytes,
                                  .start_seconds = options_.start_seconds,
                                  .cancel = options_.cancel};
    if (use == targets::DeviceUse::kTimes) worker.cores = target_.threads;
    return measure::LocalChild(std::move(worker));
  }
  bool HasDistances() const override { return true; }
  bool HasTiles() const override { return true; }
  bool KeepsCode() const override { return !options_.cache_folder.empty(); }

 private:
  const cpu::Target target_;
  const OwnKernelsOptions options_;
};

}  // namespace

std::unique_ptr<targets::Target> OwnKernels(Target target, OwnKernelsOptions options) {
  return std::make_unique<OwnKernelsTarget>(std::move(target), std::move(options));
}

}  // namespace smelt::cpu
