#include "kernels/tiles/kernel_schedule.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "kernels/templates/dot_instruction.h"
#include "kernels/templates/templates.h"

namespace smelt::kernels::nests {
namespace {

using Template = absl::Status (*)(schedule::Schedule&, const NestInput&);
// The index is a NestKind.
constexpr Template kTemplates[] = {ScheduleInjective, ScheduleRows, ScheduleRowReduction, ScheduleTiled};

}  // namespace

absl::Status CheckTile(const Nest& nest, const Tile& tile) {
  const std::vector<int64_t>& extents = TiledExtents(nest);
  if (tile.extents.size() != extents.size()) {
    return absl::InvalidArgumentError(absl::StrCat("tile ", tile.ToString(), " has ", tile.extents.size(),
                                                   " extents; the kernel's main operation has dimensions ",
                                                   absl::StrJoin(extents, "x")));
  }
  for (size_t i = 0; i < extents.size(); ++i) {
    if (tile.extents[i] < 1 || tile.extents[i] > extents[i]) {
      return absl::InvalidArgumentError(absl::StrCat("tile ", tile.ToString(), ": extent ", tile.extents[i],
                                                     " of dimension ", i, " must lie between 1 and ", extents[i]));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Tile> WithExtents(const Nest& nest, const Tile& tile, const machine::Machine& target) {
  if (tile.algorithm == te::ConvolutionAlgorithm::kDirect) return tile;
  if (!nest.winograd) {
    return absl::InvalidArgumentError(absl::StrCat("tile ", tile.ToString(),
                                                   ": the convolution is not what takes the kernel's time; leave the ",
                                                   "algorithm out to compute it directly"));
  }
  return tile.extents.empty() ? Tile{PreferredTiles(nest, target).front(), tile.algorithm} : tile;
}

absl::StatusOr<schedule::Schedule> ScheduleStructure(const Structure& structure, const MainScheduler& main,
                                                     const machine::Machine& target, const ScheduleOptions& options) {
  schedule::Schedule schedule(structure.graph, {}, DotInstructions(target));
  for (const te::OperationRef& operation : structure.inlined) {
    SMELT_RETURN_IF_ERROR(schedule.ComputeInline(operation->name));
  }
  absl::flat_hash_set<const te::Operation*> placed;
  for (size_t i = structure.nests.size(); i-- > 0;) {
    const Nest& nest = structure.nests[i];
    if (placed.contains(nest.root.get())) continue;
    if (i == structure.main) {
      SMELT_RETURN_IF_ERROR(main(schedule, &placed));
      continue;
    }
    const NestInput input{structure,          nest,          target, PreferredTiles(nest, target).front(),
                          /*accumulators=*/0, options.known, &placed};
    SMELT_RETURN_IF_ERROR(kTemplates[static_cast<int>(nest.kind)](schedule, input));
  }
  return schedule;
}

absl::StatusOr<schedule::Schedule> ScheduleStructure(const Structure& structure, const std::vector<int64_t>& tile,
                                                     const machine::Machine& target, const ScheduleOptions& options) {
  const Nest& nest = structure.main_nest();
  const auto main = [&](schedule::Schedule& schedule, absl::flat_hash_set<const te::Operation*>* placed) {
    const NestInput input{structure, nest, target, tile, options.accumulators, options.known, placed};
    return kTemplates[static_cast<int>(nest.kind)](schedule, input);
  };
  return ScheduleStructure(structure, main, target, options);
}

}  // namespace smelt::kernels::nests
