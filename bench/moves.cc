// How many fusion moves a second the search makes under a model: cold (every kernel must be predicted) and remembered.
//
//   build/release/bench/moves models/resnet18.hlo [--model=models/cpu.smeltmodel] [--moves=20000] [--json]
//
// One chain on one core, as `smelt tune` runs it. "cold" begins with an empty memory of predictions; "remembered" makes
// the same moves again, from the same seed, with every kernel known.
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

#include "base/json.h"
#include "base/status_macros.h"
#include "bench/run_program.h"
#include "fusion/rules.h"
#include "gnn/predictor.h"
#include "gnn/shipped_model.h"
#include "hlo/passes/execution_counts.h"
#include "targets/cpu/processor/detect.h"
#include "targets/program.h"
#include "tuner/search/annealing.h"
#include "tuner/search/fusion_state.h"
#include "tuner/search/kernel_costs.h"

namespace smelt::tuner {
namespace {

using Clock = std::chrono::steady_clock;

struct Flags {
  std::string module = "models/resnet18.hlo", model, start = "priority";
  int64_t moves = 20000;
  uint64_t seed = 1;
  double temperature = 0;
  bool json = false;
};

struct Run {
  double seconds = 0;
  int64_t moves = 0, accepted = 0, predicted = 0;
  double rate() const { return static_cast<double>(moves) / seconds; }
};

AnnealingOptions OptionsOf(const Flags& flags) {
  AnnealingOptions options{.moves = flags.moves, .seed = flags.seed};
  if (flags.temperature > 0) {
    options.first_temperature = options.last_temperature = flags.temperature;
    options.descend_first = false;
  }
  return options;
}

absl::StatusOr<Run> Search(const fusion::Space& space, const fusion::Config& start, gnn::Predictor& predictor,
                           const Flags& flags) {
  const ComputationCounts counts = hlo::ExecutionCounts(space.module());
  KernelCosts costs(predictor);
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<FusionState> state, FusionState::Create(space, start, counts, costs));
  const int64_t of_start = state->predicted();
  const auto begin = Clock::now();
  SMELT_ASSIGN_OR_RETURN(const AnnealingResult result, Anneal(*state, OptionsOf(flags)));
  return Run{std::chrono::duration<double>(Clock::now() - begin).count(), result.moves, result.accepted,
             state->predicted() - of_start};
}

absl::Status Measure(const Flags& flags) {
  SMELT_ASSIGN_OR_RETURN(const cpu::Target target, cpu::ParseTarget("cpu:threads=1"));
  const std::string path = flags.model.empty() ? gnn::ShippedModelPath("cpu", target) : flags.model;
  std::unique_ptr<gnn::Predictor> predictor;
  if (path.empty() || path == "analytical") {
    predictor = gnn::Predictor::Analytical(target);
  } else {
    SMELT_ASSIGN_OR_RETURN(predictor, gnn::Predictor::Load(path, target));
  }
  SMELT_ASSIGN_OR_RETURN(const targets::Program program, targets::LoadProgram(flags.module));
  SMELT_ASSIGN_OR_RETURN(const fusion::Space space,
                         fusion::Space::Build(program.module(), fusion::Rules::OwnKernels()));
  SMELT_ASSIGN_OR_RETURN(const fusion::Config start, targets::FusionConfig(space, program.flat, flags.start, target));
  SMELT_ASSIGN_OR_RETURN(const Run cold, Search(space, start, *predictor, flags));
  SMELT_ASSIGN_OR_RETURN(const Run known, Search(space, start, *predictor, flags));
  if (flags.json) {
    const nlohmann::json json = {{"module", flags.module},
                                 {"model", predictor->Describe()},
                                 {"decisions", space.size()},
                                 {"moves", flags.moves},
                                 {"kernels_predicted", cold.predicted},
                                 {"cold_moves_per_second", cold.rate()},
                                 {"remembered_moves_per_second", known.rate()}};
    std::printf("%s\n", JsonText(json, 2).c_str());
    return absl::OkStatus();
  }
  std::printf("%s: %ld decisions, start %s, %s\n", flags.module.c_str(), space.size(), flags.start.c_str(),
              predictor->Describe().c_str());
  std::printf("%-12s %10s %10s %12s %14s\n", "", "moves", "accepted", "predicted", "moves/second");
  for (const auto& [name, run] : {std::pair("cold", cold), std::pair("remembered", known)}) {
    std::printf("%-12s %10ld %10ld %12ld %14.0f\n", name, run.moves, run.accepted, run.predicted, run.rate());
  }
  return absl::OkStatus();
}

cli::Action Declare(cli::Arguments& arguments) {
  auto flags = std::make_shared<Flags>();
  arguments.Add("MODULE", flags->module, "HLO text").ShowsDefault();
  arguments.Add("--model", flags->model, "Model file, or `analytical`; by default the shipped model");
  arguments.Add("--start", flags->start, targets::kFusionHelp).ShowsDefault();
  arguments.Add("--moves", flags->moves, "Moves of each run").Between(1, 1000000000).ShowsDefault();
  arguments.Add("--seed", flags->seed, "Seed of the moves").ShowsDefault();
  arguments.Add("--temperature", flags->temperature,
                "A constant one, and no descent before it: a move that is taken back costs twice as much as one that "
                "is accepted, so that rates compare where as many are accepted");
  arguments.AddFlag("--json", flags->json, "Machine-readable result");
  return [flags] { return Measure(*flags); };
}

}  // namespace
}  // namespace smelt::tuner

int main(int argc, char** argv) {
  return smelt::bench::RunProgram("moves", "Fusion moves a second under a model", smelt::tuner::Declare, argc, argv);
}
