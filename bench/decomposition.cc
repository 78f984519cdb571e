// How default schedules of convolutions (their direct sums) and matrix products share work out among threads, how much
// they copy, and whether their loops keep vectors on the stack: what can be known without a clock.
//
//   build/release/bench/decomposition [LAYERS] [--threads=1,2,4] [--l2=1,2] [--cpus=znver4,haswell] [--json=FILE]
//
// Balance is the ideal time over that of the busiest thread, the least of the caches asked for; packed the elements
// that a call copies as a multiple of the operand's, the most of any operand; spills those of vectors inside of loops.
#include "kernels/tiles/decomposition.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "bench/contractions.h"
#include "bench/direct_sum.h"
#include "bench/run_program.h"
#include "hlo/text/parser.h"
#include "kernels/lower/lower.h"
#include "kernels/nests/structure.h"
#include "kernels/te/hlo/from_hlo.h"
#include "kernels/templates/templates.h"
#include "kernels/tiles/kernel_schedule.h"
#include "targets/cpu/compile/compile.h"
#include "targets/cpu/processor/detect.h"

namespace smelt::bench {
namespace {

struct Flags {
  std::vector<std::string> layers;
  std::vector<int> threads{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  std::vector<int64_t> l2_mib{1, 2};
  std::vector<std::string> cpus{"znver4", "haswell", "neoverse-n1", "sapphirerapids"};
  std::string json;
};

absl::StatusOr<kernels::nests::Decomposition> DecomposeDefault(const kernels::nests::Structure& structure, int threads,
                                                               int64_t l2_bytes) {
  machine::Machine machine;
  machine.threads = threads;
  machine.levels[1].bytes = l2_bytes;
  const std::vector<int64_t> tile = kernels::nests::PreferredTiles(structure.main_nest(), machine).front();
  SMELT_ASSIGN_OR_RETURN(const kernels::schedule::Schedule schedule,
                         kernels::nests::ScheduleStructure(structure, tile, machine));
  SMELT_ASSIGN_OR_RETURN(const kernels::ir::Function function, kernels::lower::Lower(schedule, {}));
  return kernels::nests::Decompose(function, threads);
}

absl::Status Run(const Flags& flags) {
  nlohmann::json rows = nlohmann::json::array();
  std::printf("%-22s", "balance at threads");
  for (const int threads : flags.threads) std::printf(" %4d", threads);
  std::printf("  packed");
  for (const std::string& cpu : flags.cpus) std::printf(" %s", cpu.c_str());
  std::printf("\n");
  for (const Contraction& layer : kContractions) {
    const auto asked = std::find(flags.layers.begin(), flags.layers.end(), layer.name);
    if (!flags.layers.empty() && asked == flags.layers.end()) continue;
    SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<hlo::Module> module, hlo::ParseModule(HloText(layer)));
    SMELT_ASSIGN_OR_RETURN(kernels::te::Graph graph, kernels::te::FromHlo(*module->entry()));
    const kernels::nests::Structure structure = kernels::nests::AnalyseStructure(std::move(graph));
    nlohmann::json row{{"layer", layer.name}, {"balance", nlohmann::json::object()}};
    std::printf("%-22s", layer.name);
    double packed = 0, elements = 0;
    for (const int threads : flags.threads) {
      double balance = 1;
      for (const int64_t mib : flags.l2_mib) {
        SMELT_ASSIGN_OR_RETURN(const kernels::nests::Decomposition parts,
                               DecomposeDefault(structure, threads, mib << 20));
        balance = std::min(balance, parts.balance);
        packed = std::max(packed, parts.packed_share);
        elements = std::max(elements, parts.packed);
      }
      row["balance"][absl::StrCat(threads)] = balance;
      std::printf(" %4.2f", balance);
    }
    row["packed_share"] = packed;
    row["packed_elements"] = elements;
    std::printf("  %6.2f", packed);
    for (const std::string& cpu : flags.cpus) {
      SMELT_ASSIGN_OR_RETURN(const cpu::Target target, cpu::ParseTarget(absl::StrCat("cpu:", cpu, ",threads=1")));
      cpu::CompileOptions options;
      SMELT_ASSIGN_OR_RETURN(options.schedule, DirectSum(*module->entry(), target));
      SMELT_ASSIGN_OR_RETURN(const cpu::KernelObject object,
                             cpu::CompileObject(*module->entry(), target, options, "layer"));
      row["spills"][cpu] = object.vector_spills;
      std::printf(" %*d", static_cast<int>(cpu.size()), object.vector_spills);
    }
    std::printf("\n");
    std::fflush(stdout);
    rows.push_back(std::move(row));
  }
  if (rows.empty()) return absl::InvalidArgumentError("no layer of these names; bench/contractions.h lists them");
  if (flags.json.empty()) return absl::OkStatus();
  std::ofstream file(flags.json);
  file << JsonText(rows, 1) << "\n";
  file.close();
  return file ? absl::OkStatus() : absl::UnavailableError(absl::StrCat(flags.json, ": cannot be written"));
}

cli::Action Declare(cli::Arguments& arguments) {
  auto flags = std::make_shared<Flags>();
  arguments.Add("layers", flags->layers, "names of bench/contractions.h; all where none is given");
  arguments.Add("--threads", flags->threads, "numbers of threads, separated by commas").SplitAt(',').Between(1, 1024);
  arguments.Add("--l2", flags->l2_mib, "sizes of the second cache in MiB").SplitAt(',').Between(1, 1024);
  arguments.Add("--cpus", flags->cpus, "processors to compile for and count spills, or `none`").SplitAt(',');
  arguments.Add("--json", flags->json, "a file for the table as JSON");
  return [flags] {
    std::erase(flags->cpus, "none");
    return Run(*flags);
  };
}

}  // namespace
}  // namespace smelt::bench

int main(int argc, char** argv) {
  return smelt::bench::RunProgram(
      "decomposition",
      "How default schedules share work out among threads, how much they copy, and whether they spill.",
      smelt::bench::Declare, argc, argv);
}
