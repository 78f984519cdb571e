#include "targets/tunable.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "fusion/apply.h"
#include "fusion/config_file.h"
#include "hlo/text/printer.h"
#include "kernels/tiles/tiles.h"

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

namespace {

class FusionsOnly : public Tunable {
 public:
  FusionsOnly(const Target& target, Program program, fusion::Space space)
      : target_(target), program_(std::move(program)), space_(std::move(space)) {}

  absl::Status FindDefault(const std::string& fusion) {
    SMELT_ASSIGN_OR_RETURN(usual_, Named(fusion));
    return absl::OkStatus();
  }

  const Target& target() const override { return target_; }
  const Program& program() const override { return program_; }
  const fusion::Space& space() const override { return space_; }
  const Trial& usual() const override { return usual_; }

  absl::StatusOr<Trial> Named(const std::string& name) const override {
    if (IsFusionName(name)) {
      SMELT_ASSIGN_OR_RETURN(fusion::Config config, NamedFusion(space_, program_.flat, name, target_.HeuristicCost()));
      return Trial{.config = std::move(config)};
    }
    SMELT_ASSIGN_OR_RETURN(fusion::SavedConfig saved, fusion::LoadConfig(name, space_));
    for (const auto& [hash, text] : saved.tiles) {
      if (const absl::Status tile = kernels::nests::Tile::Parse(text).status(); !tile.ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat(name, ": the tile of kernel ", hash, ": ", std::string(tile.message())));
      }
    }
    return Trial{.config = std::move(saved.config), .tiles = {saved.tiles.begin(), saved.tiles.end()}};
  }
  measure::Candidate ToCandidate(const Trial& trial) const override {
    return {hlo::ToText(*Fused(trial), {}), trial.tiles};
  }
  std::unique_ptr<hlo::Module> Fused(const Trial& trial) const override { return fusion::Apply(space_, trial.config); }

 private:
  const Target& target_;
  const Program program_;
  const fusion::Space space_;
  Trial usual_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Tunable>> TuneFusions(const Target& target, Program program, const std::string& fusion) {
  SMELT_ASSIGN_OR_RETURN(fusion::Space space, fusion::Space::Build(program.module(), target.rules()));
  auto tunable = std::make_unique<FusionsOnly>(target, std::move(program), std::move(space));
  SMELT_RETURN_IF_ERROR(tunable->FindDefault(fusion));
  return tunable;
}

}  // namespace smelt::targets
