// smelt rank: the tile sizes of a kernel (or of every kernel of a module), best first, under a model.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/model.h"
#include "cli/print_json.h"
#include "cli/target.h"
#include "cli/verb.h"
#include "fusion/kernel.h"
#include "gnn/ranking.h"
#include "nlohmann/json.hpp"
#include "targets/tunable.h"

namespace smelt::cli {
namespace {

struct RankFlags {
  std::string module, model, fusion = "given", kernel;
  int64_t top = 10, limit = 1000;
  bool json = false;
  TargetFlags target;
};

absl::Status Rank(const RankFlags& flags) {
  SMELT_ASSIGN_OR_RETURN(const OpenedProgram program, OpenProgram(flags.target, flags.module, flags.fusion));
  if (!program.target->HasTiles()) {
    return UsageError(absl::StrCat("kernels of --target=", program.target->id().kind, " have no tiles to rank"));
  }
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<gnn::Predictor> predictor, OpenPredictor(flags.model, *program.target));
  const std::unique_ptr<hlo::Module> fused = program.tunable->Fused(program.trial);
  SMELT_ASSIGN_OR_RETURN(std::vector<fusion::Kernel> kernels, fusion::ExtractKernels(*fused));
  const fusion::Kernel* const only = flags.kernel.empty() ? nullptr : fusion::FindKernel(kernels, flags.kernel);
  if (only == nullptr && !flags.kernel.empty()) {
    return absl::NotFoundError(
        absl::StrCat(flags.module, ": has no kernel `", flags.kernel, "`; `smelt predict` lists them"));
  }
  nlohmann::json result = nlohmann::json::array();
  for (const fusion::Kernel& kernel : kernels) {
    if (only != nullptr && &kernel != only) continue;
    absl::StatusOr<gnn::TileRanking> ranking =
        gnn::RankTiles(*predictor, kernel, program.target->machine(), flags.limit);
    if (absl::IsUnimplemented(ranking.status())) {
      std::fprintf(stderr, "%s: no tiles: %s\n", kernel.name.c_str(), std::string(ranking.status().message()).c_str());
      continue;
    }
    if (!ranking.ok()) return ranking.status();
    const size_t count = ranking->best.size();
    ranking->best.resize(std::min(count, static_cast<size_t>(flags.top)));
    nlohmann::json rows = nlohmann::json::array();
    if (!flags.json)
      std::printf("%s: %zu tiles, first choice of the compiler %s\n", kernel.name.c_str(), count,
                  ranking->preferred.ToString().c_str());
    for (const gnn::RankedTile& ranked : ranking->best) {
      if (!flags.json) std::printf("  %10.4f  %s\n", ranked.score, ranked.tile.ToString().c_str());
      rows.push_back({{"tile", ranked.tile.ToString()}, {"score", ranked.score}});
    }
    result.push_back({{"name", kernel.name}, {"hash", kernel.hash.ToHex()}, {"tiles", count}, {"best", rows}});
  }
  if (flags.json) PrintJson(result);
  return absl::OkStatus();
}

}  // namespace

Action AddRank(Arguments& arguments) {
  auto flags = std::make_shared<RankFlags>();
  arguments.Add("KERNEL", flags->module, "HLO text of a kernel, or of a program whose kernels are ranked one by one")
      .Required();
  arguments.Add("--model", flags->model, kModelHelp);
  AddFusionFlag(arguments, &flags->fusion);
  arguments.Add("--kernel", flags->kernel, "Only the kernel of this name or hash");
  arguments.Add("--top", flags->top, "Tiles to show of each kernel").Between(1, 1000000).ShowsDefault();
  arguments.Add("--limit", flags->limit, "Tiles to rank of each kernel, spread evenly where there are more")
      .Between(2, 500000)
      .ShowsDefault();
  AddTargetFlags(arguments, &flags->target);
  arguments.AddFlag("--json", flags->json, "Machine-readable result on standard output");
  return [flags] { return Rank(*flags); };
}

}  // namespace smelt::cli
