#include "kernels/config/config.h"

#include <algorithm>

#include "absl/random/distributions.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "kernels/config/master.h"

namespace smelt::kernels::config {
namespace {

constexpr int kDraws = 1000;

int DrawBelow(absl::BitGenRef bits, size_t count) { return absl::Uniform<int>(bits, 0, static_cast<int>(count)); }

}  // namespace

std::string Config::ToString() const {
  std::string text;
  for (size_t k = 0; k < values_.size(); ++k) {
    const Knob& knob = (*knobs_)[k];
    absl::StrAppend(&text, k == 0 ? "" : " ", knob.name, "=", knob.options[values_[k]]);
  }
  return text;
}

Hash128 Config::Hash() const { return HashOf(ToString()); }

bool Config::operator==(const Config& other) const {
  return knobs_ == other.knobs_ ? values_ == other.values_ : ToString() == other.ToString();
}

ConfigSpace::ConfigSpace(std::shared_ptr<const MasterTemplate> master)
    : master_(std::move(master)), knobs_(master_->knobs()) {}

absl::uint128 ConfigSpace::size() const {
  absl::uint128 size = 1;
  for (const Knob& knob : *knobs_) {
    const absl::uint128 count = knob.options.size();
    if (size > absl::Uint128Max() / count) return absl::Uint128Max();
    size *= count;
  }
  return size;
}

Config ConfigSpace::At(absl::uint128 index) const {
  std::vector<int> values;
  for (const Knob& knob : *knobs_) {
    const absl::uint128 count = knob.options.size();
    values.push_back(static_cast<int>(index % count));
    index /= count;
  }
  return Config(knobs_, std::move(values));
}

absl::uint128 ConfigSpace::IndexOf(const Config& config) const {
  absl::uint128 index = 0;
  for (size_t k = knobs_->size(); k-- > 0;) {
    index = index * (*knobs_)[k].options.size() + static_cast<uint64_t>(config.values()[k]);
  }
  return index;
}

Config ConfigSpace::Default() const { return Config(knobs_, master_->usual()); }

Config ConfigSpace::Random(absl::BitGenRef bits) const {
  std::vector<int> values(knobs_->size());
  for (int draw = 0; draw < kDraws; ++draw) {
    for (size_t k = 0; k < values.size(); ++k) values[k] = DrawBelow(bits, (*knobs_)[k].options.size());
    if (master_->Check(values).ok()) return Config(knobs_, std::move(values));
  }
  return Default();
}

Config ConfigSpace::Mutate(const Config& config, absl::BitGenRef bits) const {
  for (int draw = 0; draw < kDraws && !knobs_->empty(); ++draw) {
    std::vector<int> values = config.values();
    const size_t k = static_cast<size_t>(DrawBelow(bits, knobs_->size()));
    const size_t count = (*knobs_)[k].options.size();
    if (count < 2) continue;
    // Any other option, each as likely.
    const int other = DrawBelow(bits, count - 1);
    values[k] = other + (other >= values[k] ? 1 : 0);
    if (master_->Check(values).ok()) return Config(knobs_, std::move(values));
  }
  return config;
}

Config ConfigSpace::With(const Config& config, size_t knob, int option) const {
  std::vector<int> values = config.values();
  values[knob] = option;
  return Config(knobs_, std::move(values));
}

absl::Status ConfigSpace::Check(const Config& config) const { return master_->Check(config.values()); }

absl::StatusOr<schedule::Schedule> ConfigSpace::ScheduleFor(const Config& config) const {
  return master_->ScheduleFor(config.values());
}

std::vector<float> ConfigSpace::KnobFeatures(const Config& config) const {
  std::vector<float> features;
  features.reserve(KnobFeatureCount());
  for (size_t k = 0; k < knobs_->size(); ++k) (*knobs_)[k].AppendFeatures(config.values()[k], &features);
  return features;
}

size_t ConfigSpace::KnobFeatureCount() const {
  size_t count = 0;
  for (const Knob& knob : *knobs_) count += knob.FeatureCount();
  return count;
}

absl::StatusOr<Config> ConfigSpace::Parse(std::string_view text) const {
  std::vector<int> values(knobs_->size(), -1);
  for (absl::string_view word :
       absl::StrSplit(absl::string_view(text.data(), text.size()), ' ', absl::SkipWhitespace())) {
    const size_t equals = word.find('=');
    const std::string name(word.substr(0, equals));
    const auto knob =
        std::find_if(knobs_->begin(), knobs_->end(), [&](const Knob& candidate) { return candidate.name == name; });
    if (equals == absl::string_view::npos || knob == knobs_->end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "configuration: `", word, "` sets no knob of this kernel; its knobs are: ",
          absl::StrJoin(*knobs_, " ", [](std::string* out, const Knob& k) { absl::StrAppend(out, k.name); })));
    }
    const std::string option(word.substr(equals + 1));
    const auto at = std::find(knob->options.begin(), knob->options.end(), option);
    if (at == knob->options.end()) {
      constexpr size_t kShown = 12;
      const size_t shown = std::min(knob->options.size(), kShown);
      return absl::InvalidArgumentError(absl::StrCat(
          "configuration: knob `", name, "` has no option `", option, "`; it has ", knob->options.size(), ": ",
          absl::StrJoin(knob->options.begin(), knob->options.begin() + static_cast<int64_t>(shown), " "),
          shown < knob->options.size() ? " ..." : ""));
    }
    int& value = values[static_cast<size_t>(knob - knobs_->begin())];
    if (value >= 0) return absl::InvalidArgumentError(absl::StrCat("configuration: knob `", name, "` is set twice"));
    value = static_cast<int>(at - knob->options.begin());
  }
  for (size_t k = 0; k < values.size(); ++k) {
    if (values[k] < 0) {
      return absl::InvalidArgumentError(absl::StrCat("configuration: knob `", (*knobs_)[k].name, "` is not set"));
    }
  }
  return Config(knobs_, std::move(values));
}

absl::StatusOr<ConfigSpace> SpaceOf(const hlo::Computation& kernel, const machine::Machine& target) {
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<const MasterTemplate> master, MasterTemplate::Of(kernel, target));
  return ConfigSpace(std::move(master));
}

absl::StatusOr<schedule::Schedule> ScheduleFor(const hlo::Computation& kernel, const Config& config,
                                               const machine::Machine& target) {
  SMELT_ASSIGN_OR_RETURN(const ConfigSpace space, SpaceOf(kernel, target));
  SMELT_ASSIGN_OR_RETURN(const Config own, space.Parse(config.ToString()));
  return space.ScheduleFor(own);
}

}  // namespace smelt::kernels::config
