#include "kernels/target.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "hlo/status_macros.h"
#include "hlo/str_cat.h"
#include "kernels/codegen/codegen.h"
#include "kernels/compile/cache_folder.h"
#include "kernels/target_probe.h"

namespace smelt::kernels {
namespace {

constexpr int kMaxThreads = 1024;
// First line of a file of measured figures; a new way to measure changes it.
constexpr const char* kFileHeader = "smelt target 1";

struct Figure {
  const char* name;
  double Target::*field;
};
const Figure kFigures[] = {
    {"peak_flops_f32", &Target::peak_flops_f32},     {"l1_bandwidth", &Target::l1_bandwidth},
    {"l2_bandwidth", &Target::l2_bandwidth},         {"l3_bandwidth", &Target::l3_bandwidth},
    {"memory_bandwidth", &Target::memory_bandwidth}, {"launch_seconds", &Target::launch_seconds},
    {"fork_seconds", &Target::fork_seconds},
};

int AllowedProcessors() {
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof(mask), &mask) != 0) return 1;
  return std::max(CPU_COUNT(&mask), 1);
}

int64_t CacheBytes(int name, int64_t otherwise) {
  const long bytes = sysconf(name);
  return bytes > 0 ? bytes : otherwise;
}

// Names one kind of machine: measured figures are kept by it.
std::string MachineId(const Target& target) {
  hlo::Hasher hasher;
  hasher.Add(target.cpu).Add(target.features).Add(target.l1_bytes).Add(target.l2_bytes).Add(target.l3_bytes);
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
  Target read = *target;
  size_t found = 0;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string name;
    double value;
    if (!(words >> name >> value) || !(value > 0)) return false;
    for (const Figure& figure : kFigures) {
      if (name == figure.name) {
        read.*figure.field = value;
        ++found;
      }
    }
  }
  if (found != std::size(kFigures)) return false;
  *target = read;
  return true;
}

// Through a temporary name. A folder that cannot be written means measuring again next time.
void WriteFigures(const std::filesystem::path& path, const Target& target) {
  std::ostringstream text;
  text << kFileHeader << "\n";
  text.precision(17);
  for (const Figure& figure : kFigures) text << figure.name << " " << target.*figure.field << "\n";
  KeepInCache(path.parent_path().parent_path().string(), path.string(), text.str());
}

}  // namespace

Target Target::Host(bool measure) {
  Target target;
  codegen::DescribeHost(&target.cpu, &target.features);
  // The host's own description is one that LLVM knows; if it were not, the defaults stay.
  codegen::DescribeVectors(target.cpu, target.features, &target.vector_bytes, &target.vector_registers).IgnoreError();
  target.threads = AllowedProcessors();
  target.l1_bytes = CacheBytes(_SC_LEVEL1_DCACHE_SIZE, target.l1_bytes);
  target.l2_bytes = CacheBytes(_SC_LEVEL2_CACHE_SIZE, target.l2_bytes);
  target.l3_bytes = CacheBytes(_SC_LEVEL3_CACHE_SIZE, target.l3_bytes);
  if (!measure) return target;
  const std::string folder = DefaultCacheFolder();
  const std::filesystem::path path = std::filesystem::path(folder) / "targets" / (MachineId(target) + ".txt");
  if (!folder.empty() && ReadFigures(path, &target)) return target;
  if (MeasureTarget(&target).ok() && !folder.empty()) WriteFigures(path, target);
  return target;
}

absl::StatusOr<Target> Target::Parse(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  if (kind != "cpu") {
    return absl::InvalidArgumentError(StrCat("target `", text, "`: `", kind,
                                             "` is no target that code is made for here; expected cpu, "
                                             "cpu:threads=N or cpu:CPU,threads=N with LLVM's name of the CPU"));
  }
  std::string cpu;
  int threads = 0;
  if (colon != std::string_view::npos) {
    for (absl::string_view option :
         absl::StrSplit(absl::string_view(text.data() + colon + 1, text.size() - colon - 1), ',')) {
      const std::pair<std::string, std::string> parts = absl::StrSplit(option, absl::MaxSplits('=', 1));
      const bool has_value = option.find('=') != absl::string_view::npos;
      if (has_value && parts.first == "threads") {
        if (!absl::SimpleAtoi(parts.second, &threads) || threads < 1 || threads > kMaxThreads) {
          return absl::InvalidArgumentError(
              StrCat("target `", text, "`: threads=", parts.second, " is no number from 1 to ", kMaxThreads));
        }
      } else if (!has_value && cpu.empty() && !option.empty()) {
        cpu = std::string(option);
      } else {
        return absl::InvalidArgumentError(
            StrCat("target `", text, "`: `", std::string(option), "` is neither threads=N nor one CPU's name"));
      }
    }
  }
  std::string host_cpu, host_features;
  codegen::DescribeHost(&host_cpu, &host_features);
  if (cpu.empty() || cpu == host_cpu) {
    Target target = Host();
    if (threads > 0) target.threads = threads;
    return target;
  }
  Target target;
  target.cpu = cpu;
  target.threads = std::max(threads, 1);
  absl::Status known = codegen::DescribeVectors(cpu, "", &target.vector_bytes, &target.vector_registers);
  if (!known.ok()) return absl::InvalidArgumentError(StrCat("target `", text, "`: ", std::string(known.message())));
  return target;
}

std::map<std::string, double> Target::Figures() const {
  std::map<std::string, double> figures;
  for (const Figure& figure : kFigures) figures[figure.name] = this->*figure.field;
  return figures;
}

absl::Status Target::SetFigures(const std::map<std::string, double>& figures) {
  for (const auto& [name, value] : figures) {
    const Figure* found = std::find_if(std::begin(kFigures), std::end(kFigures),
                                       [&, &wanted = name](const Figure& figure) { return wanted == figure.name; });
    if (found == std::end(kFigures)) return absl::InvalidArgumentError(StrCat("`", name, "` is no figure of a target"));
    if (!(value > 0)) return absl::InvalidArgumentError(StrCat("figure `", name, "` of a target is not above 0"));
    this->*found->field = value;
  }
  return absl::OkStatus();
}

std::string Target::ToString() const { return StrCat("cpu:", cpu, ",threads=", threads); }

hlo::Hash128 Target::CodeHash() const {
  return hlo::Hasher().Add(cpu).Add(features).Add(int64_t{vector_bytes}).Add(int64_t{vector_registers}).Finish();
}

}  // namespace smelt::kernels
