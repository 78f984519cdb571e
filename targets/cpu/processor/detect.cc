#include "targets/cpu/processor/detect.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "base/cache_folder.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "targets/cpu/codegen/codegen.h"
#include "targets/cpu/processor/caches.h"
#include "targets/cpu/processor/probe.h"

namespace smelt::cpu {
namespace {

constexpr int kCacheLevels = 3;  // of Machine's ordinary levels; after them comes the memory
// First line of a file of measured figures; a new way to measure changes it.
constexpr const char* kFileHeader = "smelt target 3";

int AllowedProcessors() {
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof(mask), &mask) != 0) return 1;
  return std::max(CPU_COUNT(&mask), 1);
}

// Names one kind of machine: measured figures are kept by it.
std::string MachineId(const Target& target) {
  Hasher hasher;
  hasher.Add(target.name).Add(target.features);
  for (int level = 0; level < kCacheLevels; ++level) hasher.Add(target.levels[level].bytes);
  hasher.Add(int64_t{target.threads});
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) == 0) {
      hasher.Add(line);
      break;
    }
  }
  return hasher.Finish().ToHex();
}

bool ReadFigures(const std::filesystem::path& path, Target* target) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line) || line != kFileHeader) return false;
  std::map<std::string, double> figures;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string name;
    double value;
    if (!(words >> name >> value)) return false;
    figures[name] = value;
  }
  Target read = *target;
  if (figures.size() != target->Figures().size() || !read.SetFigures(figures).ok()) return false;
  *target = std::move(read);
  return true;
}

// Through a temporary name. A folder that cannot be written means measuring again next time.
void WriteFigures(const std::filesystem::path& path, const Target& target) {
  std::ostringstream text;
  text << kFileHeader << "\n";
  text.precision(17);
  for (const auto& [name, value] : target.Figures()) text << name << " " << value << "\n";
  KeepInCache(path.parent_path().parent_path().string(), path.string(), text.str());
}

}  // namespace

Target DetectTarget(bool measure) {
  Target target;
  codegen::DescribeHost(&target.name, &target.features);
  // The host's own description is one that LLVM knows; if it were not, the defaults stay.
  codegen::DescribeVectors(target.name, target.features, &target.vector_bytes, &target.vector_registers).IgnoreError();
  if (auto instructions = codegen::DescribeInstructions(target.name, target.features); instructions.ok())
    target.instructions = *std::move(instructions);
  target.threads = AllowedProcessors();
  // Where Linux does not describe the caches, as in some containers, the C library may know them.
  const int sizes[kCacheLevels] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
  for (int level = 0; level < kCacheLevels; ++level) {
    int64_t bytes = CacheBytes(level + 1);
    if (bytes <= 0) bytes = sysconf(sizes[level]);
    if (bytes > 0) target.levels[level].bytes = bytes;
  }
  if (!measure) return target;
  const std::string folder = DefaultCacheFolder();
  const std::filesystem::path path = std::filesystem::path(folder) / "targets" / (MachineId(target) + ".txt");
  if (!folder.empty() && ReadFigures(path, &target)) return target;
  if (MeasureTarget(&target).ok() && !folder.empty()) WriteFigures(path, target);
  return target;
}

absl::StatusOr<Target> ParseTarget(std::string_view text) {
  SMELT_ASSIGN_OR_RETURN(const machine::TargetId id, machine::TargetId::Read(text));
  if (id.kind != "cpu") {
    return absl::InvalidArgumentError(StrCat("target `", text, "`: `", id.kind,
                                             "` is no target that code is made for here; expected cpu, "
                                             "cpu:threads=N or cpu:CPU,threads=N with LLVM's name of the CPU"));
  }
  return TargetOf(id);
}

absl::StatusOr<Target> TargetOf(const machine::TargetId& id) {
  std::string host_cpu, host_features;
  codegen::DescribeHost(&host_cpu, &host_features);
  if (id.cpu.empty() || id.cpu == host_cpu) {
    Target target = DetectTarget();
    if (id.threads > 0) target.threads = id.threads;
    return target;
  }
  Target target;
  target.name = id.cpu;
  target.threads = std::max(id.threads, 1);
  absl::Status known = codegen::DescribeVectors(id.cpu, "", &target.vector_bytes, &target.vector_registers);
  if (!known.ok())
    return absl::InvalidArgumentError(StrCat("target `", id.ToString(), "`: ", std::string(known.message())));
  SMELT_ASSIGN_OR_RETURN(target.instructions, codegen::DescribeInstructions(id.cpu, ""));
  return target;
}

}  // namespace smelt::cpu
