#include "targets/cpu/compile/compile.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "hlo/fingerprint.h"
#include "kernels/cost/algorithm_choice.h"
#include "kernels/ir/stmt.h"
#include "kernels/lower/lower.h"
#include "kernels/nests/structure.h"
#include "kernels/te/hlo/from_hlo.h"
#include "kernels/templates/templates.h"
#include "kernels/tiles/kernel_schedule.h"
#include "targets/cpu/codegen/codegen.h"

namespace smelt::cpu {
namespace {

// Tiles tried when the compiler spills vectors in a contraction; each costs a compilation.
constexpr size_t kSpillTrials = 3;

Hash128 KeyOf(const hlo::Computation& kernel, const Target& target, const CompileOptions& options) {
  Hasher hasher;
  hasher.Add("smelt kernel").Add(hlo::FingerprintComputation(kernel)).Add(target.CodeHash());
  hasher.Add(codegen::CompilerVersion()).Add(options.tile ? options.tile->ToString() : "default");
  if (options.weights_known && !options.tile) hasher.Add("weights known");
  // What schedules depend on beyond the instruction set.
  hasher.Add(int64_t{target.threads}).Add(target.LevelBytes(0)).Add(target.LevelBytes(1)).Add(target.LevelBytes(2));
  return hasher.Finish();
}

struct Candidate {
  kernels::schedule::Schedule schedule;
  codegen::ObjectCode object;
  std::string tile;
  std::string note;  // a comment line for the trace
  KernelListing listing;
};

class Compilation {
 public:
  Compilation(const kernels::nests::Structure& structure, const Target& target, bool list, std::string name)
      : structure_(structure), target_(target), list_(list), name_(std::move(name)) {}

  absl::StatusOr<Candidate> Run(const std::optional<kernels::nests::Tile>& tile) {
    if (tile && tile->algorithm != kernels::te::ConvolutionAlgorithm::kDirect) return BuildAlgorithm(*tile);
    if (tile) SMELT_RETURN_IF_ERROR(kernels::nests::CheckTile(structure_.main_nest(), *tile));
    absl::StatusOr<Candidate> built = tile ? BuildTile(*tile) : BuildDefault();
    if (!built.ok()) built = BuildFallback(built.status());
    return built;
  }

 private:
  absl::StatusOr<Candidate> Build(kernels::schedule::Schedule schedule, const kernels::nests::Tile& tile) {
    SMELT_ASSIGN_OR_RETURN(kernels::ir::Function function,
                           kernels::lower::Lower(schedule, {.name = name_, .vector_bytes = target_.vector_bytes}));
    KernelListing listing;
    codegen::CodegenOptions options;
    if (list_) {
      listing.loops = kernels::ir::ToString(function);
      options.assembly_text = &listing.assembly;
    }
    SMELT_ASSIGN_OR_RETURN(codegen::ObjectCode object, codegen::EmitObject(function, target_, options));
    return Candidate{std::move(schedule), std::move(object), tile.ToString(), "", std::move(listing)};
  }

  absl::StatusOr<Candidate> BuildTile(const kernels::nests::Tile& tile) {
    SMELT_ASSIGN_OR_RETURN(kernels::schedule::Schedule schedule,
                           kernels::nests::ScheduleStructure(structure_, tile.extents, target_));
    return Build(std::move(schedule), tile);
  }

  // No fallback: whoever names an algorithm wants it, or to know why not.
  absl::StatusOr<Candidate> BuildAlgorithm(const kernels::nests::Tile& named) {
    const kernels::nests::Nest& nest = structure_.main_nest();
    SMELT_ASSIGN_OR_RETURN(const kernels::nests::Tile tile, kernels::nests::WithExtents(nest, named, target_));
    SMELT_RETURN_IF_ERROR(kernels::nests::CheckTile(nest, tile));
    return BuildTile(tile);
  }

  // The default tile: see CompileOptions::tile.
  absl::StatusOr<Candidate> BuildDefault() {
    const kernels::nests::Nest& nest = structure_.main_nest();
    std::vector<std::vector<int64_t>> tiles = kernels::nests::PreferredTiles(nest, target_);
    absl::StatusOr<Candidate> best = BuildTile({tiles[0]});
    if (!best.ok() || !kernels::nests::IsContraction(*nest.main)) return best;
    for (size_t i = 1; i < std::min(tiles.size(), kSpillTrials) && best->object.vector_spills > 0; ++i) {
      absl::StatusOr<Candidate> next = BuildTile({tiles[i]});
      if (next.ok() && next->object.vector_spills < best->object.vector_spills) best = std::move(next);
    }
    return best;
  }

  absl::StatusOr<Candidate> BuildFallback(const absl::Status& why) {
    SMELT_ASSIGN_OR_RETURN(kernels::schedule::Schedule schedule, kernels::nests::FallbackSchedule(structure_, target_));
    SMELT_ASSIGN_OR_RETURN(Candidate candidate, Build(std::move(schedule), {}));
    candidate.tile = "fallback";
    candidate.note = absl::StrCat("# fallback: ", std::string(why.message()), "\n");
    return candidate;
  }

  const kernels::nests::Structure& structure_;
  const Target& target_;
  const bool list_;
  const std::string name_;
};

// The loop nests of the algorithm that is asked for, or of the default one.
struct Way {
  kernels::nests::Structure structure;
  std::optional<kernels::nests::Tile> tile;
};

absl::StatusOr<Way> WayOf(const hlo::Computation& kernel, const Target& target, const CompileOptions& options) {
  Way way{.tile = options.tile};
  if (!way.tile && options.weights_known) way.tile = kernels::cost::DefaultAlgorithm(kernel, target);
  const auto algorithm = way.tile ? way.tile->algorithm : kernels::te::ConvolutionAlgorithm::kDirect;
  SMELT_ASSIGN_OR_RETURN(kernels::te::Graph graph, kernels::te::FromHlo(kernel, algorithm));
  way.structure = kernels::nests::AnalyseStructure(std::move(graph));
  return way;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const CompiledKernel>> CompileKernel(const hlo::Computation& kernel,
                                                                    const Target& target, const CompileOptions& options,
                                                                    KernelCache* cache) {
  if (options.listing != nullptr) cache = nullptr;
  const Hash128 key = KeyOf(kernel, target, options);
  if (cache != nullptr) {
    if (std::shared_ptr<const CompiledKernel> found = cache->Find(key)) return found;
  }
  const auto start = std::chrono::steady_clock::now();
  SMELT_ASSIGN_OR_RETURN(Way way, WayOf(kernel, target, options));
  const bool list = options.listing != nullptr;
  absl::StatusOr<Candidate> built = Compilation(way.structure, target, list, "kernel").Run(way.tile);
  if (!built.ok() && way.tile && !options.tile) {
    // A choice of the estimate, and not of the caller.
    SMELT_ASSIGN_OR_RETURN(way, WayOf(kernel, target, {}));
    built = Compilation(way.structure, target, list, "kernel").Run(way.tile);
  }
  if (!built.ok()) return built.status();
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<runtime::KernelCode> code, codegen::LoadObject(built->object));

  if (options.listing != nullptr) *options.listing = std::move(built->listing);
  auto compiled = std::make_shared<CompiledKernel>();
  compiled->code = std::move(code);
  compiled->trace = absl::StrCat(built->note, built->schedule.ToString());
  compiled->tile = built->tile;
  compiled->vector_spills = built->object.vector_spills;
  compiled->compile_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (cache != nullptr) cache->Insert(key, compiled, built->object.elf);
  return std::shared_ptr<const CompiledKernel>(std::move(compiled));
}

absl::StatusOr<KernelObject> CompileObject(const hlo::Computation& kernel, const Target& target,
                                           const std::optional<kernels::nests::Tile>& tile, const std::string& symbol) {
  SMELT_ASSIGN_OR_RETURN(const Way way, WayOf(kernel, target, {.tile = tile}));
  SMELT_ASSIGN_OR_RETURN(Candidate built, Compilation(way.structure, target, /*list=*/false, symbol).Run(way.tile));
  return KernelObject{std::move(built.object.elf), std::move(built.object.descriptor), std::move(built.tile)};
}

}  // namespace smelt::cpu
