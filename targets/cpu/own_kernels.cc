#include "targets/cpu/own_kernels.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "fusion/apply.h"
#include "fusion/kernel_cost.h"
#include "hlo/text/printer.h"
#include "kernels/cost/analytical.h"
#include "targets/cpu/codegen/codegen.h"

namespace smelt::cpu {
namespace {

class OwnKernelsTarget : public targets::Target {
 public:
  explicit OwnKernelsTarget(cpu::Target target) : target_(std::move(target)) {}

  machine::TargetId id() const override { return {"cpu", target_.name, target_.threads}; }
  std::string CompilerVersion() const override { return codegen::CompilerVersion(); }
  const machine::Machine& machine() const override { return target_; }

  absl::StatusOr<targets::Program> Load(const std::string& path) const override { return targets::LoadProgram(path); }
  absl::StatusOr<fusion::Space> SpaceOf(const targets::Program& program) const override {
    return fusion::Space::Build(program.module(), fusion::Rules::OwnKernels());
  }

  absl::StatusOr<double> RoughSeconds(const fusion::Kernel& kernel) const override {
    return kernels::cost::EstimateKernel(kernel.computation(), target_).seconds();
  }
  std::function<double(const hlo::Computation&)> HeuristicCost() const override {
    return [this](const hlo::Computation& kernel) { return kernels::cost::EstimateKernel(kernel, target_).seconds(); };
  }
  bool IsNothing(const fusion::Kernel& kernel) const override { return fusion::IsFree(kernel.computation()); }

  measure::Runner::KernelResult TimeKernel(measure::Runner& runner, const fusion::Kernel& kernel,
                                           const std::string& way) const override {
    return runner.TimeKernel(kernel, way);
  }
  bool HasTiles() const override { return true; }
  bool KeepsCode() const override { return true; }

 private:
  const cpu::Target target_;
};

class OwnKernelsTunable : public targets::Tunable {
 public:
  OwnKernelsTunable(const targets::Target& target, targets::Program program, fusion::Space space)
      : target_(target), program_(std::move(program)), space_(std::move(space)) {}

  absl::Status FindDefault() {
    SMELT_ASSIGN_OR_RETURN(usual_.config, Named("priority"));
    return absl::OkStatus();
  }

  const targets::Target& target() const override { return target_; }
  const targets::Program& program() const override { return program_; }
  const fusion::Space& space() const override { return space_; }
  const targets::Trial& usual() const override { return usual_; }
  absl::StatusOr<fusion::Config> Named(const std::string& name) const override {
    return targets::FusionConfig(space_, program_.flat, name, target_.machine());
  }
  measure::Candidate ToCandidate(const targets::Trial& trial) const override {
    return {hlo::ToText(*Fused(trial), {}), trial.tiles};
  }
  std::unique_ptr<hlo::Module> Fused(const targets::Trial& trial) const override {
    return fusion::Apply(space_, trial.config);
  }

 private:
  const targets::Target& target_;
  const targets::Program program_;
  const fusion::Space space_;
  targets::Trial usual_;
};

}  // namespace

std::unique_ptr<targets::Target> OwnKernels(Target target) {
  return std::make_unique<OwnKernelsTarget>(std::move(target));
}

absl::StatusOr<std::unique_ptr<targets::Tunable>> MakeTunable(const targets::Target& target, targets::Program program,
                                                              const fusion::Rules& rules) {
  SMELT_ASSIGN_OR_RETURN(fusion::Space space, fusion::Space::Build(program.module(), rules));
  auto tunable = std::make_unique<OwnKernelsTunable>(target, std::move(program), std::move(space));
  SMELT_RETURN_IF_ERROR(tunable->FindDefault());
  return tunable;
}

}  // namespace smelt::cpu
