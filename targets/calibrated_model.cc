#include "targets/calibrated_model.h"

#include "absl/strings/str_cat.h"
#include "base/cache_folder.h"
#include "base/hash.h"
#include "measure/records/records.h"

namespace smelt::targets {

std::string CalibratedModelPath(const Target& target) {
  const std::string folder = DefaultCacheFolder();
  if (folder.empty()) return "";
  const machine::TargetId id = target.id();
  const std::string device = HashOf(measure::DeviceName()).ToHex().substr(0, 8);
  return absl::StrCat(folder, "/models/", id.kind, "-", id.cpu, "-", id.threads, "-", device, ".smeltmodel");
}

}  // namespace smelt::targets
