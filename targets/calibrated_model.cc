#include "targets/calibrated_model.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/cache_folder.h"
#include "base/hash.h"
#include "gnn/shipped_model.h"
#include "measure/records/records.h"

namespace smelt::targets {

std::string CalibratedModelPath(const machine::TargetId& id) {
  const std::string folder = DefaultCacheFolder();
  if (folder.empty()) return "";
  const std::string device = HashOf(measure::DeviceName()).ToHex().substr(0, 8);
  return absl::StrCat(folder, "/models/", id.kind, "-", id.cpu, "-", id.threads, "-", device, ".smeltmodel");
}

std::string DefaultModelPath(const machine::TargetId& id, const machine::Machine& machine) {
  const std::string adapted = CalibratedModelPath(id);
  std::error_code error;
  if (!adapted.empty() && std::filesystem::is_regular_file(adapted, error)) return adapted;
  return gnn::ShippedModelPath(id.kind, machine);
}

}  // namespace smelt::targets
