#include "targets/tunable.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "fusion/apply.h"
#include "fusion/config_file.h"
#include "hlo/file/message.h"
#include "kernels/config/choice.h"

namespace smelt::targets {

const std::optional<fusion::Config>& Tunable::own_fusions() const {
  static const std::optional<fusion::Config> kNone;
  return kNone;
}

const KnobChoices& Tunable::kernel_knobs() const {
  static const KnobChoices kNone;
  return kNone;
}

const KnobChoices& Tunable::knobs() const { return kernel_knobs(); }

std::string Tunable::Words(const std::string& key, const std::string& way) const {
  return absl::StrCat(NameOf(key), ": ", way);
}

std::vector<std::string> Tunable::WaysOf(const fusion::Kernel& kernel) const {
  const auto ways = kernel_knobs().find(kernel.hash.ToHex());
  return ways == kernel_knobs().end() ? std::vector<std::string>() : ways->second;
}

FusionTunable::FusionTunable(const Target& target, Program program, fusion::Space space)
    : target_(target), program_(std::move(program)), space_(std::move(space)) {}

absl::Status FusionTunable::SetDefault(const std::string& fusion) {
  SMELT_ASSIGN_OR_RETURN(usual_, Named(fusion));
  return absl::OkStatus();
}

absl::StatusOr<Trial> FusionTunable::Named(const std::string& name) const {
  if (IsFusionName(name)) {
    SMELT_ASSIGN_OR_RETURN(fusion::Config config, NamedFusion(space_, program_.flat, name, target_.HeuristicCost()));
    return Trial{.config = std::move(config)};
  }
  SMELT_ASSIGN_OR_RETURN(fusion::SavedConfig saved, fusion::LoadConfig(name, space_));
  for (const auto& [hash, text] : saved.tiles) {
    if (const absl::Status way = CheckWay(text); !way.ok())
      return absl::InvalidArgumentError(absl::StrCat(name, ": kernel ", hash, ": ", std::string(way.message())));
  }
  return Trial{.config = std::move(saved.config), .tiles = {saved.tiles.begin(), saved.tiles.end()}};
}

measure::Candidate FusionTunable::ToCandidate(const Trial& trial) const {
  return {hlo::ToMessage(*Fused(trial)), trial.tiles};
}

std::unique_ptr<hlo::Module> FusionTunable::Fused(const Trial& trial) const {
  return fusion::Apply(space_, trial.config);
}

double FusionTunable::ErrorFactor(const Trial& trial) const {
  double factor = 1;
  for (const auto& [key, way] : trial.tiles) {
    const absl::StatusOr<kernels::nests::Tile> tile = kernels::nests::Tile::Parse(way);
    if (tile.ok()) factor = std::max(factor, kernels::nests::ErrorFactor(*tile));
  }
  return factor;
}

absl::Status FusionTunable::CheckWay(const std::string& way) const {
  return kernels::config::ParseChoice(way).status();
}

absl::StatusOr<std::unique_ptr<Tunable>> TuneFusions(const Target& target, Program program, const std::string& fusion) {
  SMELT_ASSIGN_OR_RETURN(fusion::Space space, fusion::Space::Build(program.module(), target.rules()));
  auto tunable = std::make_unique<FusionTunable>(target, std::move(program), std::move(space));
  SMELT_RETURN_IF_ERROR(tunable->SetDefault(fusion));
  return tunable;
}

}  // namespace smelt::targets
