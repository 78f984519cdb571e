#include "targets/target.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "fusion/kernel_cost.h"
#include "fusion/unfuse.h"
#include "hlo/loop_nest.h"
#include "kernels/cost/analytical.h"
#include "targets/calibrated_model.h"
#include "targets/tunable.h"

namespace smelt::targets {

absl::StatusOr<std::unique_ptr<Tunable>> Target::Open(const std::string& path, const std::string& fusion) const {
  SMELT_ASSIGN_OR_RETURN(Program program, LoadProgram(path));
  return TuneFusions(*this, std::move(program), fusion);
}

absl::StatusOr<std::unique_ptr<Tunable>> Target::Prepare(const std::string& path, const std::string&,
                                                         const measure::Budget&, std::vector<std::string>*) const {
  return Open(path, "priority");
}

absl::StatusOr<measure::Candidate> Target::Default(const std::string&) const {
  return absl::UnimplementedError("the default is known when a program is prepared");
}

absl::StatusOr<std::unique_ptr<Tunable>> Target::Take(std::unique_ptr<hlo::Module> module,
                                                      const std::string& fusion) const {
  SMELT_ASSIGN_OR_RETURN(Program program, PrepareProgram(std::move(module), "", Simplify::kNo));
  return TuneFusions(*this, std::move(program), fusion);
}

absl::StatusOr<std::unique_ptr<gnn::Predictor>> Target::OpenPredictor(const std::string& name) const {
  const std::string path = name.empty() ? DefaultModelPath(id(), machine()) : name;
  if (path.empty() || path == "analytical") return gnn::Predictor::Analytical(machine());
  return gnn::Predictor::Load(path, machine(), id().kind);
}

absl::StatusOr<double> Target::RoughSeconds(const fusion::Kernel& kernel) const {
  return kernels::cost::EstimateKernel(kernel.computation(), machine()).seconds();
}

std::function<double(const hlo::Computation&)> Target::HeuristicCost() const {
  return [this](const hlo::Computation& kernel) { return kernels::cost::EstimateKernel(kernel, machine()).seconds(); };
}

bool Target::IsNothing(const fusion::Kernel& kernel) const { return fusion::IsFree(kernel.computation()); }

std::vector<KernelForm> Target::FormsOf(const hlo::Module&, const std::vector<fusion::Kernel>& kernels) const {
  std::vector<KernelForm> forms;
  for (const fusion::Kernel& kernel : kernels)
    forms.push_back({.opaque = std::string(smelt::hlo::HasLoopNest(kernel.computation()).message())});
  return forms;
}

absl::StatusOr<KernelListing> Target::Show(const fusion::Kernel&, const std::string&) const {
  return absl::UnimplementedError(absl::StrCat("--target=", id().kind, " does not show how it compiles a kernel"));
}

measure::Runner::KernelResult Target::TimeKernel(measure::Runner& runner, const fusion::Kernel& kernel,
                                                 const std::string& way, const fusion::Kernel* reference) const {
  return runner.TimeKernel(kernel, way, reference);
}

}  // namespace smelt::targets
