#include "targets/program.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "fusion/apply.h"
#include "fusion/config_file.h"
#include "fusion/heuristics/heuristics.h"
#include "fusion/rules.h"
#include "hlo/file/read.h"
#include "hlo/passes/pipeline.h"
#include "kernels/cost/analytical.h"

namespace smelt::targets {
namespace {

absl::StatusOr<FusedProgram> Fuse(const fusion::Unfused& flat, const std::string& spec,
                                  const machine::Machine& machine) {
  SMELT_ASSIGN_OR_RETURN(const fusion::Space space, fusion::Space::Build(*flat.module, fusion::Rules::OwnKernels()));
  FusedProgram fused;
  if (IsFusionName(spec)) {
    SMELT_ASSIGN_OR_RETURN(fused.config, FusionConfig(space, flat, spec, machine));
  } else {
    SMELT_ASSIGN_OR_RETURN(const fusion::SavedConfig saved, fusion::LoadConfig(spec, space));
    fused.config = saved.config;
    for (const auto& [hash, text] : saved.tiles) {
      absl::StatusOr<kernels::config::ScheduleChoice> choice = kernels::config::ParseChoice(text);
      if (!choice.ok())
        return absl::InvalidArgumentError(
            absl::StrCat(spec, ": the schedule of kernel ", hash, ": ", choice.status().message()));
      fused.schedules[*Hash128::FromHex(hash)] = *std::move(choice);
    }
  }
  fused.module = fusion::Apply(space, fused.config);
  return fused;
}

}  // namespace

absl::StatusOr<Program> LoadProgram(const std::string& path, Simplify simplify) {
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<hlo::Module> original, hlo::ReadModuleFile(path));
  return PrepareProgram(std::move(original), path, simplify);
}

absl::StatusOr<Program> PrepareProgram(std::unique_ptr<hlo::Module> original, std::string path, Simplify simplify) {
  Program program;
  program.path = std::move(path);
  SMELT_ASSIGN_OR_RETURN(program.flat, fusion::Unfuse(*original));
  // Passes may remove instructions that `fusion_of` names, so a module that came fused is only taken apart: it was
  // optimised already.
  if (program.flat.fusions == 0 && simplify == Simplify::kYes) {
    SMELT_RETURN_IF_ERROR(hlo::RunPasses(*program.flat.module, {"default"}).status());
  }
  program.original = std::move(original);
  return program;
}

bool IsFusionName(const std::string& spec) {
  if (spec == "given" || spec.starts_with("random:")) return true;
  const std::vector<std::string> names = fusion::HeuristicNames();
  return std::find(names.begin(), names.end(), spec) != names.end();
}

absl::StatusOr<fusion::Config> NamedFusion(const fusion::Space& space, const fusion::Unfused& flat,
                                           const std::string& name,
                                           const std::function<double(const hlo::Computation&)>& cost) {
  if (name == "given") return fusion::GivenFusion(space, flat);
  fusion::HeuristicOptions options;
  options.kernel_seconds = cost;
  return fusion::Heuristic(name, space, options);
}

absl::StatusOr<fusion::Config> FusionConfig(const fusion::Space& space, const fusion::Unfused& flat,
                                            const std::string& spec, const machine::Machine& machine) {
  if (IsFusionName(spec)) {
    return NamedFusion(space, flat, spec, [&](const hlo::Computation& kernel) {
      return kernels::cost::EstimateKernel(kernel, machine).seconds();
    });
  }
  SMELT_ASSIGN_OR_RETURN(const fusion::SavedConfig saved, fusion::LoadConfig(spec, space));
  return saved.config;
}

absl::StatusOr<FusedProgram> FuseProgram(const Program& program, const std::string& spec,
                                         const machine::Machine& machine) {
  return Fuse(program.flat, spec, machine);
}

absl::StatusOr<FusedProgram> FuseModule(const hlo::Module& module, const std::string& spec,
                                        const machine::Machine& machine) {
  SMELT_ASSIGN_OR_RETURN(const fusion::Unfused flat, fusion::Unfuse(module));
  return Fuse(flat, spec, machine);
}

}  // namespace smelt::targets
