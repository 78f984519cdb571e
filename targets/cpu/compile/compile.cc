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

Hasher KeyOf(const hlo::Computation& kernel, const Target& target) {
  Hasher hasher;
  hasher.Add("smelt kernel").Add(hlo::FingerprintComputation(kernel)).Add(target.CodeHash());
  hasher.Add(codegen::CompilerVersion());
  return hasher;
}

// Of the default, which is known before any schedule is made: with what schedules depend on beyond the instruction set.
Hash128 DefaultKey(const hlo::Computation& kernel, const Target& target, bool weights_known) {
  Hasher hasher = KeyOf(kernel, target).Add(weights_known ? "default, weights known" : "default");
  hasher.Add(int64_t{target.threads}).Add(target.LevelBytes(0)).Add(target.LevelBytes(1)).Add(target.LevelBytes(2));
  return hasher.Finish();
}

// Equal schedules are one, however they were chosen.
Hash128 ScheduleKey(const hlo::Computation& kernel, const Target& target, const kernels::schedule::Schedule& schedule) {
  return KeyOf(kernel, target).Add("trace").Add(schedule.ToString()).Finish();
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

  // The default.
  absl::StatusOr<Candidate> Run() {
    absl::StatusOr<Candidate> built = BuildDefault();
    if (!built.ok()) built = BuildFallback(built.status());
    return built;
  }

  // An explicit choice and its schedule. Whoever made it wants it, or to know why not: nothing takes its place.
  absl::StatusOr<Candidate> Run(const kernels::config::ScheduleChoice& choice, kernels::schedule::Schedule schedule) {
    const auto* tile = std::get_if<kernels::nests::Tile>(&choice);
    return tile != nullptr ? BuildTile(*tile, std::move(schedule))
                           : Build(std::move(schedule), kernels::config::ToLine(choice));
  }

 private:
  absl::StatusOr<Candidate> Build(kernels::schedule::Schedule schedule, std::string tile) {
    SMELT_ASSIGN_OR_RETURN(kernels::ir::Function function,
                           kernels::lower::Lower(schedule, {.name = name_, .vector_bytes = target_.vector_bytes}));
    KernelListing listing;
    codegen::CodegenOptions options;
    if (list_) {
      listing.loops = kernels::ir::ToString(function);
      options.assembly_text = &listing.assembly;
    }
    SMELT_ASSIGN_OR_RETURN(codegen::ObjectCode object, codegen::EmitObject(function, target_, options));
    return Candidate{std::move(schedule), std::move(object), std::move(tile), "", std::move(listing)};
  }

  absl::StatusOr<Candidate> BuildTile(const kernels::nests::Tile& tile) {
    SMELT_ASSIGN_OR_RETURN(kernels::schedule::Schedule schedule,
                           kernels::nests::ScheduleStructure(structure_, tile.extents, target_));
    return BuildTile(tile, std::move(schedule));
  }

  // The tile's register tile is as large as leaves the inner loops without spills, or spills least. `schedule`: that
  // with the largest one.
  absl::StatusOr<Candidate> BuildTile(const kernels::nests::Tile& tile, kernels::schedule::Schedule schedule) {
    absl::StatusOr<Candidate> best = Build(std::move(schedule), tile.ToString());
    if (!best.ok() || !kernels::nests::IsContraction(*structure_.main_nest().main)) return best;
    for (const double share : kFewerAccumulators) {
      if (best->object.vector_spills == 0) break;
      const int64_t most = static_cast<int64_t>(share * kernels::nests::MostAccumulators(target_));
      absl::StatusOr<kernels::schedule::Schedule> smaller =
          kernels::nests::ScheduleStructure(structure_, tile.extents, target_, {.accumulators = most});
      if (!smaller.ok() || smaller->ToString() == best->schedule.ToString()) continue;
      absl::StatusOr<Candidate> next = Build(*std::move(smaller), tile.ToString());
      if (next.ok() && next->object.vector_spills < best->object.vector_spills) best = std::move(next);
    }
    return best;
  }

  // The default tile: see CompileOptions::schedule.
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
    SMELT_ASSIGN_OR_RETURN(Candidate candidate, Build(std::move(schedule), "fallback"));
    candidate.note = absl::StrCat("# fallback: ", std::string(why.message()), "\n");
    return candidate;
  }

  const kernels::nests::Structure& structure_;
  const Target& target_;
  const bool list_;
  const std::string name_;
};

// The loop nests of the algorithm that is chosen, and the choice itself: a default may be one of an algorithm.
struct Way {
  kernels::nests::Structure structure;
  kernels::config::ScheduleChoice choice;
};

absl::StatusOr<Way> WayOf(const hlo::Computation& kernel, const Target& target, const CompileOptions& options) {
  Way way{.choice = options.schedule};
  if (options.weights_known && !kernels::config::IsExplicit(way.choice)) {
    if (std::optional<kernels::nests::Tile> tile = kernels::cost::DefaultAlgorithm(kernel, target)) way.choice = *tile;
  }
  auto* tile = std::get_if<kernels::nests::Tile>(&way.choice);
  const auto algorithm = tile != nullptr ? tile->algorithm : kernels::te::ConvolutionAlgorithm::kDirect;
  SMELT_ASSIGN_OR_RETURN(kernels::te::Graph graph, kernels::te::FromHlo(kernel, algorithm));
  way.structure = kernels::nests::AnalyseStructure(std::move(graph));
  if (tile != nullptr) {
    SMELT_ASSIGN_OR_RETURN(*tile, kernels::nests::WithExtents(way.structure.main_nest(), *tile, target));
  }
  return way;
}

absl::StatusOr<Candidate> BuildWay(const Way& way, Compilation compilation, const Target& target) {
  if (!kernels::config::IsExplicit(way.choice)) return compilation.Run();
  SMELT_ASSIGN_OR_RETURN(kernels::schedule::Schedule schedule,
                         kernels::config::ScheduleOf(way.choice, way.structure, target));
  return compilation.Run(way.choice, std::move(schedule));
}

// The same kernel under the words by which it was chosen this time.
std::shared_ptr<const CompiledKernel> Named(std::shared_ptr<const CompiledKernel> kernel, const std::string& tile) {
  if (kernel->tile == tile) return kernel;
  auto named = std::make_shared<CompiledKernel>(*kernel);
  named->tile = tile;
  return named;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const CompiledKernel>> CompileKernel(const hlo::Computation& kernel,
                                                                    const Target& target, const CompileOptions& options,
                                                                    KernelCache* cache) {
  if (options.listing != nullptr) cache = nullptr;
  const bool is_explicit = kernels::config::IsExplicit(options.schedule);
  Hash128 key = is_explicit ? Hash128() : DefaultKey(kernel, target, options.weights_known);
  if (cache != nullptr && !is_explicit) {
    if (std::shared_ptr<const CompiledKernel> found = cache->Find(key)) return found;
  }
  const auto start = std::chrono::steady_clock::now();
  SMELT_ASSIGN_OR_RETURN(Way way, WayOf(kernel, target, options));
  if (is_explicit) {
    SMELT_ASSIGN_OR_RETURN(const kernels::schedule::Schedule schedule,
                           kernels::config::ScheduleOf(way.choice, way.structure, target));
    key = ScheduleKey(kernel, target, schedule);
    if (cache != nullptr) {
      if (std::shared_ptr<const CompiledKernel> found = cache->Find(key))
        return Named(std::move(found), kernels::config::ToLine(way.choice));
    }
  }
  const bool list = options.listing != nullptr;
  absl::StatusOr<Candidate> built = BuildWay(way, Compilation(way.structure, target, list, "kernel"), target);
  if (!built.ok() && !is_explicit && kernels::config::IsExplicit(way.choice)) {
    // A choice of the estimate, and not of the caller.
    SMELT_ASSIGN_OR_RETURN(way, WayOf(kernel, target, {}));
    built = BuildWay(way, Compilation(way.structure, target, list, "kernel"), target);
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
                                           const kernels::config::ScheduleChoice& choice, const std::string& symbol) {
  SMELT_ASSIGN_OR_RETURN(const Way way, WayOf(kernel, target, {.schedule = choice}));
  SMELT_ASSIGN_OR_RETURN(Candidate built,
                         BuildWay(way, Compilation(way.structure, target, /*list=*/false, symbol), target));
  return KernelObject{std::move(built.object.elf), std::move(built.object.descriptor), std::move(built.tile),
                      built.object.vector_spills};
}

}  // namespace smelt::cpu
