#include "gnn/shipped_model.h"

#include <cstdlib>
#include <filesystem>

namespace smelt::gnn {

namespace {

namespace fs = std::filesystem;

// The first of `name` in models/ or share/smelt/, in the program's folder or up to three folders above it.
std::string Beside(const std::string& name) {
  std::error_code error;
  fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (int up = 0; !error && up < 4; ++up, folder = folder.parent_path()) {
    for (const char* place : {"models", "share/smelt"}) {
      const fs::path file = folder / place / name;
      if (fs::exists(file, error)) return file.string();
      error.clear();
    }
  }
  return "";
}

}  // namespace

std::string ShippedModelPath(const std::string& name) {
  if (const char* chosen = std::getenv("SMELT_MODEL"); name == "cpu" && chosen != nullptr && *chosen != '\0')
    return chosen;
  return Beside(name + ".smeltmodel");
}

std::string ShippedProbesPath() { return Beside("probe"); }

}  // namespace smelt::gnn
