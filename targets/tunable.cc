#include "targets/tunable.h"

#include "absl/strings/str_cat.h"

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

}  // namespace smelt::targets
