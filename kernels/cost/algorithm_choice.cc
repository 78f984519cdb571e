#include "kernels/cost/algorithm_choice.h"

#include "kernels/cost/analytical.h"
#include "kernels/nests/structure.h"
#include "kernels/te/hlo/from_hlo.h"
#include "kernels/templates/winograd.h"

namespace smelt::kernels::cost {

std::optional<nests::Tile> DefaultAlgorithm(const hlo::Computation& kernel, const machine::Machine& target) {
  const std::vector<nests::Tile> others = nests::OtherAlgorithms(kernel);
  if (others.empty()) return std::nullopt;
  double best = kWinogradGain * EstimateKernel(kernel, target).seconds();
  std::optional<nests::Tile> chosen;
  for (const nests::Tile& other : others) {
    absl::StatusOr<te::Graph> graph = te::FromHlo(kernel, other.algorithm);
    if (!graph.ok()) continue;
    const nests::Structure structure = nests::AnalyseStructure(*std::move(graph));
    const nests::Nest& nest = structure.main_nest();
    if (!nest.winograd) continue;
    std::vector<int64_t> piece = nests::WinogradTiles(*nest.winograd, target).front();
    const double seconds = nests::EstimateWinograd(*nest.winograd, piece, target).seconds();
    if (seconds >= best) continue;
    best = seconds;
    chosen = nests::Tile{std::move(piece), other.algorithm};
  }
  return chosen;
}

}  // namespace smelt::kernels::cost
