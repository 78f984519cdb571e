#include <filesystem>

#include "cli/verb.h"
#include "cli/xla.h"
#include "targets/program.h"

namespace smelt::cli {

std::string CheckFusion(const std::string& value) {
  std::error_code error;  // of a name that is too long, say
  if (targets::IsFusionName(value) || IsXlaFusion(value) || std::filesystem::exists(value, error)) return "";
  return "`" + value + "` is neither a file nor one of: " + targets::kFusionHelp;
}

}  // namespace smelt::cli
