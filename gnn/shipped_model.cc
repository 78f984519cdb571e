#include "gnn/shipped_model.h"

#include <dlfcn.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gnn/model/model_file.h"
#include "machine/descriptor.h"
#include "machine/target_id.h"

namespace smelt::gnn {

namespace {

namespace fs = std::filesystem;

// The first of `name` in models/ or share/smelt/, in this folder or up to three folders above it.
std::string FromFolder(fs::path folder, const std::string& name) {
  std::error_code error;
  for (int up = 0; up < 4; ++up, folder = folder.parent_path()) {
    for (const char* place : {"models", "share/smelt"}) {
      const fs::path file = folder / place / name;
      if (fs::exists(file, error)) return file.string();
    }
  }
  return "";
}

// FromFolder of the shared library that holds this code, or else of the program.
std::string Beside(const std::string& name) {
  std::error_code error;
  Dl_info library;
  // A program's is what it was called by, which may be no path; a file of that name here is another.
  if (dladdr(reinterpret_cast<const void*>(&FromFolder), &library) != 0 && library.dli_fname != nullptr &&
      fs::path(library.dli_fname).is_absolute()) {
    const fs::path file = fs::canonical(library.dli_fname, error);
    if (const std::string found = error ? "" : FromFolder(file.parent_path(), name); !found.empty()) return found;
  }
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return error ? "" : FromFolder(program.parent_path(), name);
}

// The file that the user names instead; empty: none.
std::string Chosen(const std::string& name) {
  const char* chosen = std::getenv("SMELT_MODEL");
  return name == "cpu" && chosen != nullptr ? chosen : "";
}

constexpr char kEnding[] = ".smeltmodel";

// How unlike the machine that a model was trained on is to this one; 0: it is such a CPU.
double DistanceOf(const ModelFile& model, const machine::Machine& machine) {
  if (machine::TargetId::Parse(model.target).cpu == machine.name) return 0;
  double sum = 0;
  const std::map<std::string, double> figures = machine.Figures();
  for (const auto& [figure, value] : model.target_figures) {
    if (const auto here = figures.find(figure); here != figures.end()) sum += std::fabs(std::log(value / here->second));
  }
  if (const auto there = machine::ReadMachine(model.machine); there.ok())
    sum += std::fabs(std::log2(static_cast<double>(there->vector_bytes) / machine.vector_bytes));
  return sum;
}

}  // namespace

std::string ShippedModelPath(const std::string& name) {
  const std::string chosen = Chosen(name);
  return chosen.empty() ? Beside(name + kEnding) : chosen;
}

std::string NearestModel(const std::string& path, const machine::Machine& machine) {
  const std::string prefix = absl::StrCat(fs::path(path).stem().string(), "-");
  std::set<std::string> files;  // in one order on every file system
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(path).parent_path(), error)) {
    const std::string file = entry.path().filename().string();
    if (absl::StartsWith(file, prefix) && absl::EndsWith(file, kEnding)) files.insert(entry.path().string());
  }
  if (files.empty()) return path;
  files.insert(path);
  std::string nearest = path;
  double least = std::numeric_limits<double>::infinity();
  for (const std::string& file : files) {
    const absl::StatusOr<ModelFile> model = LoadModel(file);
    if (!model.ok()) continue;
    if (const double distance = DistanceOf(*model, machine); distance < least) {
      least = distance;
      nearest = file;
    }
  }
  return nearest;
}

std::string ShippedModelPath(const std::string& name, const machine::Machine& machine) {
  const std::string path = ShippedModelPath(name);
  return path.empty() || !Chosen(name).empty() ? path : NearestModel(path, machine);
}

std::string ShippedProbesPath() { return Beside("probe"); }

}  // namespace smelt::gnn
