#include "targets/known_program.h"

#include <utility>

#include "base/status_macros.h"
#include "fusion/unfuse.h"
#include "hlo/known/channel_scales.h"
#include "hlo/known/known_parameters.h"
#include "hlo/passes/pipeline.h"

namespace smelt::targets {

absl::StatusOr<KnownProgram> PrepareKnownProgram(std::unique_ptr<hlo::Module> original,
                                                 const std::set<int64_t>& known) {
  SMELT_ASSIGN_OR_RETURN(fusion::Unfused flat, fusion::Unfuse(*original));
  hlo::Module& module = *flat.module;
  hlo::MarkKnownParameters(module, known);
  if (flat.fusions == 0) SMELT_RETURN_IF_ERROR(hlo::RunPasses(module, {"default"}).status());
  SMELT_ASSIGN_OR_RETURN(const bool folded, hlo::FoldChannelScales(module));
  if (folded) SMELT_RETURN_IF_ERROR(hlo::RunPasses(module, {"simplify"}).status());
  KnownProgram program;
  SMELT_ASSIGN_OR_RETURN(program.split, hlo::SplitKnownPart(module));
  SMELT_RETURN_IF_ERROR(hlo::RunPasses(*program.split.main, {"default"}).status());
  program.original = std::move(original);
  return program;
}

}  // namespace smelt::targets
