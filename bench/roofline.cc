// How near every kernel of a program comes to what this machine can do on one core.
//
//   build/release/bench/roofline models/*.hlo [--fusion=priority] [--all] [--json]
//
// Measured first: the peak of fused multiply-adds in registers, and the bandwidth of reading and of copying arrays of
// sizes from the first cache's to beyond the last's. Then each distinct kernel of the programs runs alone, over and
// over, so that its data lie in the nearest cache that holds all of it; its bound is the longer of
//   flops / peak    and    bytes / bandwidth at that size (of reads for contractions, of copies for the rest),
// and its share is the bound divided by its time. A second share compares with memory's bandwidth whatever the size:
// it can exceed 100 %. `in program` is the time of one execution in the program, where other kernels ran between.
//
// Times are minima. Kernels whose bound is below a microsecond are listed with --all but not judged: calling them costs
// as much as they do.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "bench/run_program.h"
#include "fusion/kernel.h"
#include "hlo/cost_analysis.h"
#include "hlo/opcode.h"
#include "hlo/text/printer.h"
#include "measure/kernel_program.h"
#include "measure/timing.h"
#include "targets/cpu/compile/compile.h"
#include "targets/cpu/processor/detect.h"
#include "targets/cpu/processor/probe.h"
#include "targets/cpu/worker/loaded_program.h"
#include "targets/program.h"

namespace smelt::tuner {
namespace {

constexpr double kContractionGoal = 0.4;
constexpr double kElementwiseGoal = 0.6;
constexpr double kJudgedSeconds = 1e-6;

struct Flags {
  std::vector<std::string> modules{"models/attention.hlo", "models/bert_block.hlo", "models/dcgan_generator.hlo",
                                   "models/dqn.hlo",       "models/lstm_lm.hlo",    "models/mobilenet.hlo",
                                   "models/resnet18.hlo",  "models/train_step.hlo"};
  std::string fusion = "priority";
  double seconds = 0.2;  // a kernel
  bool all = false, json = false;
};

// Bytes a second of one core while everything touched together has `capacity` bytes.
struct Level {
  std::string name;
  int64_t capacity = 0;
  double read = 0, copy = 0;
};
struct Machine {
  double peak = 0;
  std::vector<Level> levels;  // nearest first; memory last
  const Level& LevelOf(double bytes) const {
    for (const Level& level : levels) {
      if (bytes <= static_cast<double>(level.capacity)) return level;
    }
    return levels.back();
  }
};

std::string SizeName(int64_t bytes) {
  return bytes >= 1 << 20 ? absl::StrCat(bytes >> 20, " MiB") : absl::StrCat(bytes >> 10, " KiB");
}

// The C library's copy, which may write past the caches.
double LibraryCopyBandwidth(int64_t bytes) {
  std::vector<char> from(bytes, 1), to(bytes, 2);
  double best = 1e9;
  const auto begin = Clock::now();
  while (Since(begin) < 0.1) {
    const int64_t runs = std::max<int64_t>(1, (int64_t{1} << 20) / bytes);
    const auto start = Clock::now();
    for (int64_t i = 0; i < runs; ++i) {
      std::memcpy(to.data(), from.data(), bytes);
      asm volatile("" : : "r"(to.data()) : "memory");
    }
    best = std::min(best, Since(start) / static_cast<double>(runs));
  }
  return 2.0 * static_cast<double>(bytes) / best;
}

// Several rounds, the best of each: a machine that others use is at its own speed only at times.
absl::Status Measure(const cpu::Target& target, int rounds, Machine* machine) {
  if (machine->levels.empty()) {
    // Arrays that fill half and all of the first two caches, and sizes from there to half of the last.
    std::vector<int64_t> sizes{target.LevelBytes(0) / 2, target.LevelBytes(0), target.LevelBytes(1) / 2,
                               target.LevelBytes(1)};
    while (sizes.back() * 4 <= std::min(target.LevelBytes(2), int64_t{64} << 20)) sizes.push_back(sizes.back() * 2);
    for (int64_t bytes : sizes) machine->levels.push_back({SizeName(bytes), bytes});
    machine->levels.push_back({"memory", INT64_MAX});
  }
  for (int round = 0; round < rounds; ++round) {
    SMELT_ASSIGN_OR_RETURN(const double peak, cpu::MeasurePeakFlops(target));
    machine->peak = std::max(machine->peak, peak);
    for (Level& level : machine->levels) {
      const bool memory = &level == &machine->levels.back();
      const int64_t beyond = std::clamp<int64_t>(4 * target.LevelBytes(2), int64_t{64} << 20, int64_t{512} << 20);
      const int64_t bytes = memory ? beyond : level.capacity;
      SMELT_ASSIGN_OR_RETURN(const double read, cpu::MeasureReadBandwidth(target, bytes));
      SMELT_ASSIGN_OR_RETURN(const double copy, cpu::MeasureCopyBandwidth(target, bytes / 2));
      level.read = std::max(level.read, read);
      level.copy = std::max({level.copy, copy, LibraryCopyBandwidth(bytes / 2)});
    }
  }
  // What serves large arrays serves small ones as fast: a lower figure was disturbed.
  for (size_t i = machine->levels.size() - 1; i-- > 0;) {
    Level& level = machine->levels[i];
    level.read = std::max(level.read, machine->levels[i + 1].read);
    level.copy = std::max(level.copy, machine->levels[i + 1].copy);
  }
  return absl::OkStatus();
}

enum class KernelClass : uint8_t { kContraction, kElementwise, kReduction, kMovement, kOpaque };
constexpr const char* kClassNames[] = {"contraction", "elementwise", "reduction", "movement", "opaque"};

KernelClass Classify(const hlo::Computation& computation) {
  KernelClass result = KernelClass::kElementwise;
  for (const hlo::Instruction* instruction : computation.Instructions()) {
    switch (hlo::GetOpcodeInfo(instruction->opcode()).category) {
      case hlo::OpcodeCategory::kContraction:
        return KernelClass::kContraction;
      case hlo::OpcodeCategory::kReduction:
        result = KernelClass::kReduction;
        break;
      case hlo::OpcodeCategory::kDataMovement:
        if (instruction->opcode() != hlo::Opcode::kBroadcast && result == KernelClass::kElementwise) {
          result = KernelClass::kMovement;
        }
        break;
      default:
        break;
    }
  }
  return result;
}

struct Row {
  std::string module, name, tile;
  KernelClass kind = KernelClass::kElementwise;
  int64_t executions = 0;  // in one run of the program
  double seconds = 0;      // alone
  double in_program = 0;
  double flops = 0, bytes = 0;
  // The rest is filled in by Judge.
  std::string level;
  bool compute_bound = false, judged = false;
  double bound = 0, share = 0, memory_share = 0;
};

void Judge(const Machine& machine, Row* row) {
  const Level& near = machine.LevelOf(row->bytes);
  const Level& far = machine.levels.back();
  const bool reads = row->kind == KernelClass::kContraction;
  const double compute = row->flops / machine.peak;
  const double bytes = row->bytes / (reads ? near.read : near.copy);
  row->level = near.name;
  row->compute_bound = compute >= bytes;
  row->bound = std::max(compute, bytes);
  row->share = row->bound / row->seconds;
  row->memory_share = std::max(compute, row->bytes / (reads ? far.read : far.copy)) / row->seconds;
  row->judged = row->bound >= kJudgedSeconds && row->kind != KernelClass::kOpaque;
}

absl::StatusOr<double> BestSample(cpu::LoadedProgram& program, double seconds) {
  SMELT_RETURN_IF_ERROR(program.Prepare());
  constexpr int kMostSamples = 1 << 20;
  const measure::SampleLimits limits{.seconds = seconds, .least_seconds = seconds, .most_rounds = kMostSamples};
  SMELT_ASSIGN_OR_RETURN(const std::vector<std::vector<double>> samples,
                         measure::TimeInTurn(1, limits, [&](size_t) { return program.Sample(); }));
  return *std::min_element(samples[0].begin(), samples[0].end());
}

absl::Status MeasureModule(const std::string& path, const cpu::Target& target, const Flags& flags,
                           cpu::KernelCache& cache, std::vector<Row>* rows) {
  SMELT_ASSIGN_OR_RETURN(const targets::Program program, targets::LoadProgram(path));
  SMELT_ASSIGN_OR_RETURN(const targets::FusedProgram fused, targets::FuseProgram(program, flags.fusion, target));
  const cpu::ExecutableOptions options{.cache = &cache, .schedules = fused.schedules};
  cpu::InputPool inputs;
  SMELT_ASSIGN_OR_RETURN(auto whole, cpu::LoadedProgram::Compile(hlo::ToText(*fused.module), target, options, inputs));
  SMELT_RETURN_IF_ERROR(whole->TakeInputs({}));
  SMELT_RETURN_IF_ERROR(whole->Run());
  SMELT_ASSIGN_OR_RETURN(const cpu::LoadedProgram::KernelTimes times, whole->TimeKernels(5));
  SMELT_ASSIGN_OR_RETURN(const std::vector<fusion::Kernel> kernels, fusion::ExtractKernels(*fused.module));
  std::map<std::string, const fusion::Kernel*> by_hash;
  for (const fusion::Kernel& kernel : kernels) by_hash[kernel.hash.ToHex()] = &kernel;
  for (size_t i = 0; i < times.seconds.size(); ++i) {
    const cpu::KernelInfo& info = whole->executable().kernels()[i];
    const auto kernel = by_hash.find(info.hash.ToHex());
    if (kernel == by_hash.end() || kernel->second == nullptr || times.executions[i] == 0) continue;  // measured before
    Row row{.module = path, .name = info.name, .tile = info.tile, .executions = times.executions[i]};
    row.kind = info.opaque ? KernelClass::kOpaque : Classify(kernel->second->computation());
    row.in_program = times.seconds[i] / static_cast<double>(times.executions[i]);
    row.flops = info.flops;
    row.bytes = info.bytes;
    const std::unique_ptr<hlo::Module> kernel_alone = measure::ProgramOfKernel(*kernel->second);
    SMELT_ASSIGN_OR_RETURN(auto alone,
                           cpu::LoadedProgram::Compile(hlo::ToText(*kernel_alone), target, options, inputs));
    SMELT_RETURN_IF_ERROR(alone->TakeInputs({}));
    SMELT_ASSIGN_OR_RETURN(row.seconds, BestSample(*alone, flags.seconds));
    kernel->second = nullptr;
    rows->push_back(std::move(row));
  }
  return absl::OkStatus();
}

double Goal(KernelClass kind) {
  return kind == KernelClass::kContraction   ? kContractionGoal
         : kind == KernelClass::kElementwise ? kElementwiseGoal
                                             : 0;
}

std::string Below(const std::vector<Row>& rows, KernelClass kind) {
  std::vector<std::string> names;
  int64_t judged = 0;
  for (const Row& row : rows) {
    if (row.kind != kind || !row.judged) continue;
    ++judged;
    if (row.share < Goal(kind)) names.push_back(absl::StrCat(row.module, ":", row.name));
  }
  return absl::StrCat(names.empty() ? "none" : absl::StrJoin(names, ", "), " (", names.size(), " of ", judged, ")");
}

nlohmann::json ToJson(const Machine& machine, const std::vector<Row>& rows) {
  nlohmann::json json{{"peak_flops", machine.peak}};
  for (const Level& level : machine.levels) {
    json["levels"].push_back({{"name", level.name}, {"read", level.read}, {"copy", level.copy}});
  }
  json["kernels"] = nlohmann::json::array();
  for (const Row& row : rows) {
    json["kernels"].push_back({{"module", row.module},
                               {"name", row.name},
                               {"class", kClassNames[static_cast<int>(row.kind)]},
                               {"tile", row.tile},
                               {"executions", row.executions},
                               {"seconds", row.seconds},
                               {"seconds_in_program", row.in_program},
                               {"flops", row.flops},
                               {"bytes", row.bytes},
                               {"level", row.level},
                               {"bound", row.compute_bound ? "compute" : "bandwidth"},
                               {"share", row.share},
                               {"share_of_memory", row.memory_share},
                               {"judged", row.judged}});
  }
  return json;
}

void Print(const Machine& machine, const std::vector<Row>& rows, bool all) {
  std::printf("peak %.1f GFLOP/s", machine.peak * 1e-9);
  std::printf("\n%-8s %9s %9s  GB/s\n", "data", "read", "copy");
  for (const Level& level : machine.levels) {
    std::printf("%-8s %9.1f %9.1f\n", level.name.c_str(), level.read * 1e-9, level.copy * 1e-9);
  }
  std::string module;
  for (const Row& row : rows) {
    if (!row.judged && !all) continue;
    if (row.module != module) {
      module = row.module;
      std::printf("\n%s\n%10s %10s %5s %8s %8s  %-8s %6s %9s  %s\n", module.c_str(), "us alone", "in program", "runs",
                  "GFLOP/s", "GB/s", "bound", "share", "of memory", "kernel");
    }
    const bool low = row.judged && row.share < Goal(row.kind);
    std::printf("%10.2f %10.2f %5ld %8.1f %8.1f  %-8s %5.0f%%%s %8.0f%%  %s (%s)%s%s\n", 1e6 * row.seconds,
                1e6 * row.in_program, row.executions, row.flops / row.seconds * 1e-9, row.bytes / row.seconds * 1e-9,
                row.compute_bound ? "FMA" : row.level.c_str(), 100 * row.share, low ? "<" : " ", 100 * row.memory_share,
                row.name.c_str(), kClassNames[static_cast<int>(row.kind)], row.tile.empty() ? "" : "  tile ",
                row.tile.c_str());
  }
  std::printf("\ncontractions below 40 %%: %s; elementwise below 60 %%: %s\n",
              Below(rows, KernelClass::kContraction).c_str(), Below(rows, KernelClass::kElementwise).c_str());
}

absl::Status Roofline(const Flags& flags) {
  SMELT_ASSIGN_OR_RETURN(const cpu::Target target, cpu::ParseTarget("cpu:threads=1"));
  cpu::KernelCache cache(cpu::KernelCache::DefaultFolder());
  Machine machine;
  SMELT_RETURN_IF_ERROR(Measure(target, 2, &machine));
  std::vector<Row> rows;
  for (const std::string& path : flags.modules) {
    const absl::Status status = MeasureModule(path, target, flags, cache, &rows);
    if (!status.ok()) std::fprintf(stderr, "%s: %s\n", path.c_str(), std::string(status.message()).c_str());
    if (!status.ok()) return absl::FailedPreconditionError("a module was not measured");
  }
  SMELT_RETURN_IF_ERROR(Measure(target, 2, &machine));
  for (Row& row : rows) Judge(machine, &row);
  if (flags.json) {
    std::printf("%s\n", JsonText(ToJson(machine, rows), 2).c_str());
  } else {
    Print(machine, rows, flags.all);
  }
  return absl::OkStatus();
}

cli::Action Declare(cli::Arguments& arguments) {
  auto flags = std::make_shared<Flags>();
  arguments.Add("MODULES", flags->modules, "HLO text; by default the example programs in models/");
  arguments.Add("--fusion", flags->fusion, targets::kFusionHelp).ShowsDefault();
  arguments.Add("--seconds", flags->seconds, "Of measuring each kernel").Positive().ShowsDefault();
  arguments.AddFlag("--all", flags->all, "List the kernels that are too short to judge as well");
  arguments.AddFlag("--json", flags->json, "Machine-readable result");
  return [flags] { return Roofline(*flags); };
}

}  // namespace
}  // namespace smelt::tuner

int main(int argc, char** argv) {
  return smelt::bench::RunProgram("roofline", "Every kernel beside what one core of this machine can do",
                                  smelt::tuner::Declare, argc, argv);
}
