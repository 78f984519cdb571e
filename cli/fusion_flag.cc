#include <filesystem>

#include "cli/verb.h"
#include "cli/xla.h"
#include "targets/program.h"

namespace smelt::cli {

std::string CheckFusion(const std::string& value) {
  if (targets::IsFusionName(value) || IsXlaFusion(value) || std::filesystem::exists(value)) return "";
  return "`" + value + "` is neither a file nor one of: " + targets::kFusionHelp;
}

}  // namespace smelt::cli
