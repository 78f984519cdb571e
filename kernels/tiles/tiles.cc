#include "kernels/tiles/tiles.h"

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "kernels/nests/structure.h"
#include "kernels/te/hlo/from_hlo.h"
#include "kernels/templates/templates.h"
#include "kernels/tiles/kernel_schedule.h"

namespace smelt::kernels::nests {
namespace {

absl::StatusOr<Structure> StructureOf(const hlo::Computation& kernel,
                                      te::ConvolutionAlgorithm algorithm = te::ConvolutionAlgorithm::kDirect) {
  SMELT_ASSIGN_OR_RETURN(te::Graph graph, te::FromHlo(kernel, algorithm));
  return AnalyseStructure(std::move(graph));
}

// Powers of two and divisors, ascending, the whole extent included.
std::vector<int64_t> Choices(int64_t extent) {
  std::set<int64_t> choices{extent};
  for (int64_t power = 1; power < extent; power *= 2) choices.insert(power);
  for (int64_t divisor = 3; divisor * divisor <= extent && divisor < 4096; ++divisor) {
    if (extent % divisor == 0) {
      choices.insert(divisor);
      choices.insert(extent / divisor);
    }
  }
  return {choices.begin(), choices.end()};
}

}  // namespace

std::string Tile::ToString() const {
  const std::string numbers = absl::StrJoin(extents, "x");
  if (algorithm == te::ConvolutionAlgorithm::kDirect) return extents.empty() ? "scalar" : numbers;
  return absl::StrCat(std::string(te::AlgorithmName(algorithm)), extents.empty() ? "" : ":", numbers);
}

absl::StatusOr<Tile> Tile::Parse(std::string_view text) {
  Tile tile;
  absl::string_view view(text.data(), text.size());
  const absl::Status wrong = absl::InvalidArgumentError(
      absl::StrCat("tile `", view, "`: expected positive integers joined by x, such as 1x14x14x32, of a convolution ",
                   "also after an algorithm, such as winograd4:1x2x14x64"));
  if (view == "scalar") return tile;
  if (const size_t letter = view.find_first_not_of("0123456789x"); letter == 0) {
    const size_t colon = view.find(':');
    const absl::string_view name = view.substr(0, colon);
    const auto algorithm = te::ParseAlgorithm(std::string_view(name.data(), name.size()));
    if (!algorithm.ok()) return wrong;
    tile.algorithm = *algorithm;
    // Direct tiles have one way to be written.
    if (tile.algorithm == te::ConvolutionAlgorithm::kDirect) {
      return absl::InvalidArgumentError(
          absl::StrCat("tile `", view, "`: a direct tile has no algorithm before it; write the extents alone"));
    }
    if (colon == absl::string_view::npos) return tile;
    view.remove_prefix(colon + 1);
  }
  for (absl::string_view part : absl::StrSplit(view, 'x')) {
    int64_t extent = 0;
    if (part.empty() || !absl::ascii_isdigit(part[0]) || !absl::SimpleAtoi(part, &extent) || extent < 1 ||
        !absl::ascii_isdigit(part.back())) {
      return wrong;
    }
    tile.extents.push_back(extent);
  }
  return tile;
}

absl::StatusOr<std::vector<int64_t>> TiledDimensions(const hlo::Computation& kernel) {
  SMELT_ASSIGN_OR_RETURN(const Structure structure, StructureOf(kernel));
  return TiledExtents(structure.main_nest());
}

absl::StatusOr<TiledKernel> TiledKernelOf(const hlo::Computation& kernel, const machine::Machine& target) {
  SMELT_ASSIGN_OR_RETURN(const Structure structure, StructureOf(kernel));
  const Nest& nest = structure.main_nest();
  return TiledKernel{TiledExtents(nest), PreferredTiles(nest, target).front()};
}

absl::StatusOr<schedule::Schedule> PreferredSchedule(const hlo::Computation& kernel, const machine::Machine& target) {
  SMELT_ASSIGN_OR_RETURN(const Structure structure, StructureOf(kernel));
  return ScheduleStructure(structure, PreferredTiles(structure.main_nest(), target).front(), target);
}

absl::StatusOr<std::vector<Tile>> EnumerateTiles(const hlo::Computation& kernel, const machine::Machine& target,
                                                 int64_t limit) {
  SMELT_ASSIGN_OR_RETURN(const Structure structure, StructureOf(kernel));
  const Nest& nest = structure.main_nest();
  const std::vector<int64_t>& extents = TiledExtents(nest);
  std::vector<Tile> tiles;
  const auto add = [&](std::vector<int64_t> extents_of_tile) {
    Tile tile{std::move(extents_of_tile)};
    if (std::find(tiles.begin(), tiles.end(), tile) == tiles.end()) tiles.push_back(std::move(tile));
  };
  for (std::vector<int64_t>& preferred : PreferredTiles(nest, target)) {
    if (static_cast<int64_t>(tiles.size()) < std::max<int64_t>(limit, 1)) add(std::move(preferred));
  }
  const size_t preferred_count = tiles.size();
  std::vector<std::vector<int64_t>> choices;
  double total = 1;
  for (int64_t extent : extents) {
    choices.push_back(Choices(extent));
    total *= static_cast<double>(choices.back().size());
  }
  // The space as one mixed-radix counter, walked in even steps when it is larger than what is asked for. Several times
  // as many points as wanted are tried, since some do not fit.
  const double wanted = static_cast<double>(std::max<int64_t>(limit, 1)) * 8;
  const int64_t points = static_cast<int64_t>(std::min(total, wanted));
  std::vector<Tile> fitting;
  for (int64_t p = 0; p < points; ++p) {
    int64_t index = static_cast<int64_t>(static_cast<double>(p) * (total / static_cast<double>(points)));
    Tile tile;
    for (const std::vector<int64_t>& of_dimension : choices) {
      tile.extents.push_back(of_dimension[index % static_cast<int64_t>(of_dimension.size())]);
      index /= static_cast<int64_t>(of_dimension.size());
    }
    if (TileFootprint(nest, tile.extents) > static_cast<double>(target.LevelBytes(1))) continue;
    const auto end = tiles.begin() + static_cast<int64_t>(preferred_count);
    if (std::find(tiles.begin(), end, tile) == end) fitting.push_back(std::move(tile));
  }
  const int64_t room = std::max<int64_t>(limit, 1) - static_cast<int64_t>(tiles.size());
  const int64_t count = static_cast<int64_t>(fitting.size());
  for (int64_t i = 0; i < std::min(room, count); ++i) {
    tiles.push_back(fitting[count <= room ? i : i * count / room]);
  }
  return tiles;
}

double ErrorFactor(const Tile& tile) { return tile.algorithm == te::ConvolutionAlgorithm::kDirect ? 1 : 4; }

std::vector<Tile> OtherAlgorithms(const hlo::Computation& kernel) {
  std::vector<Tile> others;
  for (const auto algorithm : {te::ConvolutionAlgorithm::kWinograd2, te::ConvolutionAlgorithm::kWinograd4}) {
    if (te::CheckAlgorithm(kernel, algorithm).ok()) others.push_back({{}, algorithm});
  }
  return others;
}

absl::StatusOr<schedule::Schedule> ScheduleForTile(const hlo::Computation& kernel, const Tile& tile,
                                                   const machine::Machine& target) {
  SMELT_ASSIGN_OR_RETURN(const Structure structure, StructureOf(kernel, tile.algorithm));
  SMELT_ASSIGN_OR_RETURN(const Tile whole, WithExtents(structure.main_nest(), tile, target));
  SMELT_RETURN_IF_ERROR(CheckTile(structure.main_nest(), whole));
  return ScheduleStructure(structure, whole.extents, target);
}

}  // namespace smelt::kernels::nests
