// How much of what there is to find does the search of fusions find?
//
//   build/release/bench/planted [--decisions=30,240,1200,4800] [--seeds=3] [--json]
//   build/release/bench/planted models/*.hlo [--model=models/cpu.smeltmodel] [--moves=60000]
//
// Without modules: programs with a known best (bench/planted_program.h), searched as `smelt tune` does by default, in
// all its rounds, with nothing measured in between. With modules: real programs under a model, from their default; what
// is there to find is then not known, and the table holds what the default and the best found are predicted to take.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status_macros.h"
#include "bench/default_search.h"
#include "bench/planted_program.h"
#include "bench/run_program.h"
#include "fusion/rules.h"
#include "gnn/predictor.h"
#include "gnn/shipped_model.h"
#include "targets/cpu/processor/detect.h"
#include "targets/program.h"
#include "tuner/session.h"

namespace smelt::tuner {
namespace {

using Clock = std::chrono::steady_clock;

struct Flags {
  std::vector<std::string> modules;
  std::vector<int64_t> decisions = {30, 240, 1200, 4800};
  std::string model, start = "priority";
  TuneOptions tune;  // for its defaults
  uint64_t seeds = 3;
  bool json = false;
};

struct Run {
  FoundProgram found;
  double seconds = 0;
};

absl::StatusOr<Run> Search(const fusion::Space& space, const fusion::Config& start, gnn::Predictor& predictor,
                           const Flags& flags, uint64_t seed) {
  TuneOptions options = flags.tune;
  options.seed = seed;
  const auto begin = Clock::now();
  SMELT_ASSIGN_OR_RETURN(FoundProgram found, SearchByDefault(space, start, predictor, options));
  return Run{std::move(found), std::chrono::duration<double>(Clock::now() - begin).count()};
}

absl::StatusOr<nlohmann::json> Planted(const Flags& flags) {
  nlohmann::json rows = nlohmann::json::array();
  if (!flags.json)
    std::printf("%10s %5s %11s %9s %9s %9s %10s %9s\n", "decisions", "seed", "potential", "found", "share", "moves",
                "kernels", "seconds");
  for (const int64_t decisions : flags.decisions) {
    for (uint64_t seed = 1; seed <= flags.seeds; ++seed) {
      SMELT_ASSIGN_OR_RETURN(PlantedProgram planted, PlantedProgram::Make({.decisions = decisions, .seed = seed}));
      SMELT_ASSIGN_OR_RETURN(const Run run, Search(planted.space(), planted.start(), planted.predictor(), flags, seed));
      const double share = planted.Share(run.found.best);
      rows.push_back({{"decisions", planted.space().size()},
                      {"seed", seed},
                      {"potential", planted.potential()},
                      {"share", share},
                      {"moves", run.found.moves},
                      {"kernels", planted.predictor().known_kernels()},
                      {"seconds", run.seconds}});
      if (!flags.json) {
        std::printf("%10ld %5lu %9.2f %% %7.2f %% %7.1f %% %9ld %10ld %9.2f\n", planted.space().size(), seed,
                    100 * planted.potential(), 100 * planted.potential() * share, 100 * share, run.found.moves,
                    planted.predictor().known_kernels(), run.seconds);
        std::fflush(stdout);
      }
    }
  }
  return rows;
}

absl::StatusOr<nlohmann::json> Modules(const Flags& flags) {
  SMELT_ASSIGN_OR_RETURN(const cpu::Target target, cpu::ParseTarget("cpu:threads=1"));
  const std::string path = flags.model.empty() ? gnn::ShippedModelPath("cpu", target) : flags.model;
  nlohmann::json rows = nlohmann::json::array();
  if (!flags.json)
    std::printf("%-28s %10s %5s %12s %12s %8s %9s %9s\n", "module", "decisions", "seed", "default ms", "found ms",
                "gain", "moves", "seconds");
  for (const std::string& module : flags.modules) {
    SMELT_ASSIGN_OR_RETURN(const targets::Program program, targets::LoadProgram(module));
    SMELT_ASSIGN_OR_RETURN(const fusion::Space space,
                           fusion::Space::Build(program.module(), fusion::Rules::OwnKernels()));
    SMELT_ASSIGN_OR_RETURN(const fusion::Config start, targets::FusionConfig(space, program.flat, flags.start, target));
    for (uint64_t seed = 1; seed <= flags.seeds; ++seed) {
      // Each begins with an empty memory of predictions.
      std::unique_ptr<gnn::Predictor> predictor = gnn::Predictor::Analytical(target);
      if (!path.empty() && path != "analytical") {
        SMELT_ASSIGN_OR_RETURN(predictor, gnn::Predictor::Load(path, target));
      }
      SMELT_ASSIGN_OR_RETURN(const Run run, Search(space, start, *predictor, flags, seed));
      rows.push_back({{"module", module},
                      {"decisions", space.size()},
                      {"seed", seed},
                      {"default_ms", 1e3 * run.found.start},
                      {"found_ms", 1e3 * run.found.best},
                      {"moves", run.found.moves},
                      {"seconds", run.seconds}});
      if (!flags.json) {
        std::printf("%-28s %10ld %5lu %12.4f %12.4f %6.2f %% %9ld %9.2f\n", module.c_str(), space.size(), seed,
                    1e3 * run.found.start, 1e3 * run.found.best, 100 * (1 - run.found.best / run.found.start),
                    run.found.moves, run.seconds);
        std::fflush(stdout);
      }
    }
  }
  return rows;
}

absl::Status SearchAll(const Flags& flags) {
  SMELT_ASSIGN_OR_RETURN(const nlohmann::json rows, flags.modules.empty() ? Planted(flags) : Modules(flags));
  if (flags.json) std::printf("%s\n", JsonText(rows, 2).c_str());
  return absl::OkStatus();
}

cli::Action Declare(cli::Arguments& arguments) {
  auto flags = std::make_shared<Flags>();
  arguments.Add("MODULES", flags->modules, "HLO text; none: planted programs");
  arguments.Add("--decisions", flags->decisions, "Sizes of the planted programs").SplitAt(',');
  arguments.Add("--seeds", flags->seeds, "Of programs and of the search").ShowsDefault();
  arguments.Add("--model", flags->model, "Model file, or `analytical`; by default the shipped model");
  arguments.Add("--start", flags->start, targets::kFusionHelp).ShowsDefault();
  arguments.Add("--moves", flags->tune.moves, "Moves of all chains together; by default what `smelt tune` makes")
      .Between(1, 1000000000);
  arguments.AddFlag("--json", flags->json, "Machine-readable result");
  return [flags] { return SearchAll(*flags); };
}

}  // namespace
}  // namespace smelt::tuner

int main(int argc, char** argv) {
  return smelt::bench::RunProgram("planted", "How much of what there is to find does the search of fusions find?",
                                  smelt::tuner::Declare, argc, argv);
}
