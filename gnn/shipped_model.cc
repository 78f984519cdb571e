#include "gnn/shipped_model.h"

#include <cstdlib>
#include <filesystem>

namespace smelt::gnn {

std::string ShippedModelPath(const std::string& name) {
  namespace fs = std::filesystem;
  if (const char* chosen = std::getenv("SMELT_MODEL"); name == "cpu" && chosen != nullptr && *chosen != '\0')
    return chosen;
  std::error_code error;
  fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (int up = 0; !error && up < 4; ++up, folder = folder.parent_path()) {
    for (const char* place : {"models", "share/smelt"}) {
      const fs::path file = folder / place / (name + ".smeltmodel");
      if (fs::is_regular_file(file, error)) return file.string();
      error.clear();
    }
  }
  return "";
}

}  // namespace smelt::gnn
