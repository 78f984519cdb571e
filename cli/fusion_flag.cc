#include <filesystem>

#include "cli/verb.h"
#include "cli/xla.h"
#include "tuner/program.h"

namespace smelt::cli {

std::string CheckFusion(const std::string& value) {
  std::error_code error;  // of a name that is too long, say
  if (tuner::IsFusionName(value) || IsXlaFusion(value) || std::filesystem::exists(value, error)) return "";
  return "`" + value + "` is neither a file nor one of: " + tuner::kFusionHelp;
}

}  // namespace smelt::cli
