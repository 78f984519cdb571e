#include <filesystem>

#include "cli/verb.h"
#include "cli/xla.h"
#include "tuner/program.h"

namespace smelt::cli {

std::string CheckFusion(const std::string& value) {
  if (tuner::IsFusionName(value) || IsXlaFusion(value) || std::filesystem::exists(value)) return "";
  return "`" + value + "` is neither a file nor one of: " + tuner::kFusionHelp;
}

}  // namespace smelt::cli
