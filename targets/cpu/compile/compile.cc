#include "targets/cpu/compile/compile.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "hlo/fingerprint.h"
#include "kernels/ir/stmt.h"
#include "kernels/lower/lower.h"
#include "kernels/nests/structure.h"
#include "kernels/te/hlo/from_hlo.h"
#include "kernels/templates/register_tile.h"
#include "kernels/templates/templates.h"
#include "kernels/tiles/kernel_schedule.h"
#include "targets/cpu/codegen/codegen.h"

namespace smelt::cpu {
namespace {

// Tiles tried when the compiler spills vectors in a contraction, and for each of them shares of the accumulators that
// the machine has room for: the compiler's register allocation is not ours. Each costs a compilation.
constexpr size_t kSpillTrials = 3;
constexpr double kFewerAccumulators[] = {5.0 / 6, 2.0 / 3, 1.0 / 2};

Hash128 KeyOf(const hlo::Computation& kernel, const Target& target, const CompileOptions& options) {
  Hasher hasher;
  hasher.Add("smelt kernel").Add(hlo::FingerprintComputation(kernel)).Add(target.CodeHash());
  hasher.Add(codegen::CompilerVersion()).Add(options.tile ? options.tile->ToString() : "default");
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

  // The tile's register tile is as large as leaves the inner loops without spills, or spills least.
  absl::StatusOr<Candidate> BuildTile(const kernels::nests::Tile& tile) {
    const kernels::nests::Nest& nest = structure_.main_nest();
    SMELT_ASSIGN_OR_RETURN(kernels::schedule::Schedule schedule,
                           kernels::nests::ScheduleStructure(structure_, tile.extents, target_));
    absl::StatusOr<Candidate> best = Build(std::move(schedule), tile);
    if (!best.ok() || !kernels::nests::IsContraction(*nest.main)) return best;
    for (const double share : kFewerAccumulators) {
      if (best->object.vector_spills == 0) break;
      const int64_t most = static_cast<int64_t>(share * kernels::nests::MostAccumulators(target_));
      absl::StatusOr<kernels::schedule::Schedule> smaller =
          kernels::nests::ScheduleStructure(structure_, tile.extents, target_, {.accumulators = most});
      if (!smaller.ok() || smaller->ToString() == best->schedule.ToString()) continue;
      absl::StatusOr<Candidate> next = Build(*std::move(smaller), tile);
      if (next.ok() && next->object.vector_spills < best->object.vector_spills) best = std::move(next);
    }
    return best;
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
  SMELT_ASSIGN_OR_RETURN(kernels::te::Graph graph, kernels::te::FromHlo(kernel));
  const kernels::nests::Structure structure = kernels::nests::AnalyseStructure(std::move(graph));
  absl::StatusOr<Candidate> built =
      Compilation(structure, target, options.listing != nullptr, "kernel").Run(options.tile);
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
  SMELT_ASSIGN_OR_RETURN(kernels::te::Graph graph, kernels::te::FromHlo(kernel));
  const kernels::nests::Structure structure = kernels::nests::AnalyseStructure(std::move(graph));
  SMELT_ASSIGN_OR_RETURN(Candidate built, Compilation(structure, target, /*list=*/false, symbol).Run(tile));
  return KernelObject{std::move(built.object.elf), std::move(built.object.descriptor), std::move(built.tile),
                      built.object.vector_spills};
}

}  // namespace smelt::cpu
