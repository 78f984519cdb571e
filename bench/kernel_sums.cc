// Do the times of kernels alone, which corpora are labelled with, add up to what programs take?
//
//   build/release/bench/kernel_sums MODULE... [--kernels] [--threads=1] [--smelt=build/release/smelt]
//
// The default program of each module is timed, and each of its kernels alone as `smelt profile` times it: with operands
// as far away as the program leaves them. A line a program: the sum over its time, and the same of kernels that find
// all operands near; at last how far the sums are off in the median. --kernels adds a line for each kernel that has 2 %
// of its program: microseconds within the program, alone, and alone with near operands, and how far away its operands
// lie (KiB).
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/run_program.h"
#include "fusion/kernel.h"
#include "hlo/text/printer.h"
#include "measure/runner.h"
#include "targets/cpu/compile/compile.h"
#include "targets/cpu/processor/detect.h"
#include "targets/program.h"

namespace smelt {
namespace {

struct Flags {
  std::vector<std::string> modules;
  std::string smelt = "build/release/smelt";
  int threads = 1;
  bool kernels = false;
};

struct Times {
  double alone = 0, near = 0;
  std::vector<int64_t> distances;  // bytes, of its operands
};

struct Sums {
  double program = 0, alone = 0, near = 0;
};

absl::StatusOr<Times> TimeAlone(measure::Runner& runner, fusion::Kernel& kernel) {
  Times times;
  const measure::Outcome alone = runner.TimeKernel(kernel).outcome;
  times.distances = std::exchange(kernel.distances, {});
  const measure::Outcome near = runner.TimeKernel(kernel).outcome;
  if (!alone.ok() || !near.ok())
    return absl::InternalError(absl::StrCat("kernel `", kernel.name, "`: ", alone.message, near.message));
  times.alone = alone.best();
  times.near = near.best();
  return times;
}

absl::StatusOr<Sums> SumsOf(const std::string& path, const Flags& flags) {
  const std::string name = absl::StrCat("cpu:threads=", flags.threads);
  SMELT_ASSIGN_OR_RETURN(const cpu::Target target, cpu::ParseTarget(name));
  SMELT_ASSIGN_OR_RETURN(const targets::Program program, targets::LoadProgram(path));
  SMELT_ASSIGN_OR_RETURN(const targets::FusedProgram fused, targets::FuseProgram(program, "priority", target));
  SMELT_ASSIGN_OR_RETURN(std::vector<fusion::Kernel> kernels, fusion::ExtractKernels(*fused.module));
  measure::Runner runner({.program = flags.smelt,
                          .target = name,
                          .cache_folder = cpu::KernelCache::DefaultFolder(),
                          .cores = flags.threads},
                         {.repeats = 5, .seconds = 0.25});
  const measure::Candidate candidate{.module_text = hlo::ToText(*fused.module, {})};
  const measure::Outcome whole = runner.TimePrograms({candidate}, 10, 2)[0];
  if (!whole.ok()) return absl::InternalError(whole.message);
  const measure::Runner::ProgramResult inside = runner.TimeKernelsOf(candidate, 5);
  if (!inside.outcome.ok()) return absl::InternalError(inside.outcome.message);
  Sums sums{.program = whole.best()};
  absl::flat_hash_map<std::string, Times> known;
  for (const measure::Runner::KernelTime& time : inside.kernels) {
    auto [entry, is_new] = known.try_emplace(time.hash);
    if (is_new) {
      fusion::Kernel* const kernel = fusion::FindKernel(kernels, time.hash);
      if (kernel == nullptr) return absl::InternalError(absl::StrCat("kernel `", time.name, "` is not in its text"));
      SMELT_ASSIGN_OR_RETURN(entry->second, TimeAlone(runner, *kernel));
      if (flags.kernels && time.seconds > 0.02 * sums.program) {
        std::printf("  %-40s %4ld times %9.2f %9.2f %9.2f ", time.name.c_str(), static_cast<long>(time.executions),
                    1e6 * time.median_seconds, 1e6 * entry->second.alone, 1e6 * entry->second.near);
        for (const int64_t distance : entry->second.distances) std::printf(" %ld", static_cast<long>(distance >> 10));
        std::printf("\n");
      }
    }
    sums.alone += static_cast<double>(time.executions) * entry->second.alone;
    sums.near += static_cast<double>(time.executions) * entry->second.near;
  }
  return sums;
}

absl::Status SumAll(const Flags& flags) {
  std::vector<double> alone, near;
  int within = 0;
  for (const std::string& path : flags.modules) {
    const absl::StatusOr<Sums> sums = SumsOf(path, flags);
    if (!sums.ok()) {
      std::fprintf(stderr, "%s: %s\n", path.c_str(), std::string(sums.status().message()).c_str());
      continue;
    }
    alone.push_back(std::abs(sums->alone / sums->program - 1));
    near.push_back(std::abs(sums->near / sums->program - 1));
    within += alone.back() <= 0.05;
    std::printf("%-50s %10.3f ms  sum of kernels %.3f, all operands near %.3f\n",
                std::filesystem::path(path).filename().string().c_str(), 1e3 * sums->program,
                sums->alone / sums->program, sums->near / sums->program);
    std::fflush(stdout);
  }
  if (alone.empty()) return absl::InternalError("no program could be timed");
  const int count = static_cast<int>(alone.size());
  std::printf("%d programs: sums %.1f %% off in the median, %d within 5 %%; with all operands near %.1f %%\n", count,
              100 * measure::Median(std::move(alone)), within, 100 * measure::Median(std::move(near)));
  return absl::OkStatus();
}

cli::Action Declare(cli::Arguments& arguments) {
  auto flags = std::make_shared<Flags>();
  arguments.Add("modules", flags->modules, "HLO files").Required().ExistingFile();
  arguments.Add("--threads", flags->threads, "Threads of one kernel").Between(1, 1024).ShowsDefault();
  arguments.AddFlag("--kernels", flags->kernels, "A line for each kernel that has 2 % of its program");
  arguments.Add("--smelt", flags->smelt, "The smelt tool").ExistingFile().ShowsDefault();
  return [flags] { return SumAll(*flags); };
}

}  // namespace
}  // namespace smelt

int main(int argc, char** argv) {
  return smelt::bench::RunProgram("kernel_sums", "Whether the times of kernels alone add up to those of programs.",
                                  smelt::Declare, argc, argv);
}
