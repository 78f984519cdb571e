// How often does the rule that decides answers call a program faster than itself?
//
//   build/release/bench/aa models/*.hlo --count=300 --file=aa.jsonl [--threads=1] [--smelt=build/release/smelt]
//
// Compares the default program of each module with itself, in turn until there are `count` comparisons, through the
// comparison that ends `smelt tune` (measure/comparison.h): children, placements and rounds are real. Each result is a
// line of the file; the same command goes on from it. Prints the share of "better" with its 95 % interval (Wilson), and
// how wide the intervals of the gain were. Exit status 1 where the share is above 1 %.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "bench/run_program.h"
#include "hlo/text/printer.h"
#include "measure/comparison.h"
#include "targets/cpu/compile/compile.h"
#include "targets/cpu/processor/detect.h"
#include "targets/program.h"

namespace smelt::tuner {
namespace {

using nlohmann::json;

struct Flags {
  std::vector<std::string> modules;
  std::string file, smelt = "build/release/smelt";
  int count = 300, threads = 1;
  measure::ComparisonOptions comparison;
};

std::vector<json> ReadLines(const std::string& path) {
  std::vector<json> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    json parsed = ParseJson(line);
    if (parsed.is_object()) lines.push_back(std::move(parsed));  // a run that was killed leaves half a line
  }
  return lines;
}

absl::StatusOr<measure::Candidate> DefaultProgram(const std::string& path, const cpu::Target& target) {
  SMELT_ASSIGN_OR_RETURN(const targets::Program program, targets::LoadProgram(path));
  SMELT_ASSIGN_OR_RETURN(const targets::FusedProgram fused, targets::FuseProgram(program, "priority", target));
  return measure::Candidate{.module_text = hlo::ToText(*fused.module, {})};
}

void Print(const std::vector<json>& lines) {
  double better = 0, children = 0;
  std::vector<double> widths;
  for (const json& line : lines) {
    better += line.value("better", false);
    children += line.value("children", 0);
    widths.push_back((line.value("high", 0.0) - line.value("low", 0.0)) / 2);
  }
  const double n = static_cast<double>(lines.size()), share = better / n, z = 1.96;
  const double middle = (share + z * z / (2 * n)) / (1 + z * z / n);
  const double half = z * std::sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n);
  std::printf(
      "%.0f comparisons of a program with itself: %.0f \"better\", %.2f %% [%.2f, %.2f]; %.1f children each, "
      "half an interval of the gain %.2f %% (median)\n",
      n, better, 100 * share, 100 * std::max(middle - half, 0.0), 100 * (middle + half), children / n,
      100 * measure::Median(std::move(widths)));
}

absl::Status Run(const Flags& flags) {
  const std::string name = absl::StrCat("cpu:threads=", flags.threads);
  SMELT_ASSIGN_OR_RETURN(const cpu::Target target, cpu::ParseTarget(name));
  measure::WorkerOptions worker;
  worker.program = flags.smelt;
  worker.target = name;
  worker.cache_folder = cpu::KernelCache::DefaultFolder();
  worker.cores = flags.threads;
  std::vector<measure::Candidate> candidates;
  for (const std::string& module : flags.modules) {
    SMELT_ASSIGN_OR_RETURN(candidates.emplace_back(), DefaultProgram(module, target));
  }
  std::vector<json> lines = ReadLines(flags.file);
  std::ofstream file(flags.file, std::ios::app);
  while (static_cast<int>(lines.size()) < flags.count) {
    const size_t i = lines.size() % candidates.size();
    measure::Runner runner(worker, {});
    SMELT_ASSIGN_OR_RETURN(const measure::Comparison compared,
                           measure::CompareInterleaved(runner, candidates[i], candidates[i], flags.comparison));
    lines.push_back({{"module", flags.modules[i]},
                     {"children", compared.children},
                     {"gain", compared.gain},
                     {"low", compared.low},
                     {"high", compared.high},
                     {"better", compared.better}});
    file << JsonText(lines.back()) << std::endl;
    if (!file) return absl::UnavailableError(absl::StrCat(flags.file, ": cannot be written"));
    std::fprintf(stderr, "\r%zu of %d", lines.size(), flags.count);
  }
  std::fprintf(stderr, "\n");
  Print(lines);
  const auto better =
      std::count_if(lines.begin(), lines.end(), [](const json& line) { return line.value("better", false); });
  if (static_cast<double>(better) > 0.01 * static_cast<double>(lines.size()))
    return absl::InternalError("more than 1 % of programs are called faster than themselves");
  return absl::OkStatus();
}

cli::Action Declare(cli::Arguments& arguments) {
  auto flags = std::make_shared<Flags>();
  arguments.Add("modules", flags->modules, "HLO files").Required().ExistingFile();
  arguments.Add("--file", flags->file, "Results, a line each; gone on from").Required();
  arguments.Add("--count", flags->count, "Comparisons in all").Between(1, 1000000).ShowsDefault();
  arguments.Add("--threads", flags->threads, "Threads of one kernel").Between(1, 1024).ShowsDefault();
  arguments.Add("--children", flags->comparison.children, "Processes of a comparison").ShowsDefault();
  arguments.Add("--rounds", flags->comparison.rounds, "Rounds of each").ShowsDefault();
  arguments.Add("--seconds", flags->comparison.seconds, "Seconds of rounds of each").ShowsDefault();
  arguments.Add("--smelt", flags->smelt, "The smelt tool").ExistingFile().ShowsDefault();
  return [flags] { return Run(*flags); };
}

}  // namespace
}  // namespace smelt::tuner

int main(int argc, char** argv) {
  return smelt::bench::RunProgram("aa", "How often the rule that decides answers calls a program faster than itself.",
                                  smelt::tuner::Declare, argc, argv);
}
