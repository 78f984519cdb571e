#include "targets/cpu/compile/compile.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "hlo/fingerprint.h"
#include "kernels/cost/algorithm_choice.h"
#include "kernels/cost/default_schedule.h"
#include "kernels/ir/stmt.h"
#include "kernels/lower/lower.h"
#include "kernels/nests/structure.h"
#include "kernels/te/hlo/from_hlo.h"
#include "kernels/templates/panel.h"
#include "kernels/templates/register_tile.h"
#include "kernels/templates/templates.h"
#include "kernels/templates/winograd.h"
#include "kernels/tiles/kernel_schedule.h"
#include "targets/cpu/codegen/codegen.h"

namespace smelt::cpu {
namespace {

// Tiles tried when the compiler spills vectors in a contraction, and for each of them shares of the accumulators that
// the machine has room for: the compiler's register allocation is not ours. Each costs a compilation.
constexpr size_t kSpillTrials = 5;
constexpr double kFewerAccumulators[] = {5.0 / 6, 2.0 / 3, 1.0 / 2};

constexpr char kFunctionName[] = "kernel";  // of code that is loaded at once, not linked

Hasher KeyOf(const hlo::Computation& kernel, const Target& target) {
  Hasher hasher;
  hasher.Add("smelt kernel").Add(hlo::FingerprintComputation(kernel)).Add(target.CodeHash());
  hasher.Add(codegen::CompilerVersion());
  return hasher;
}

// The key of a default, which is known before any schedule is made: with what schedules depend on
// beyond the instruction set.
Hash128 DefaultKey(const hlo::Computation& kernel, const Target& target, const CompileOptions& options) {
  Hasher hasher = KeyOf(kernel, target).Add(kernels::config::ToLine(options.schedule));
  hasher.Add(static_cast<int64_t>(options.known.size()));
  for (int64_t number : options.known) hasher.Add(number);
  hasher.Add(kernels::cost::StreamedRemark(options.streamed));
  hasher.Add(int64_t{target.threads}).Add(target.LevelBytes(0)).Add(target.LevelBytes(1)).Add(target.LevelBytes(2));
  return hasher.Finish();
}

// Equal schedules are one, however they were chosen.
Hash128 ScheduleKey(const hlo::Computation& kernel, const Target& target, const CompileOptions& options,
                    const kernels::schedule::Schedule& schedule) {
  return KeyOf(kernel, target)
      .Add("trace")
      .Add(schedule.ToString())
      .Add(kernels::cost::StreamedRemark(options.streamed))
      .Finish();
}

// A choice and the loop nests of its algorithm; a default may be one of an algorithm.
struct Way {
  kernels::te::ConvolutionAlgorithm algorithm;
  kernels::nests::Structure structure;
  kernels::config::ScheduleChoice choice;
  kernels::nests::KnownInputs known;  // CompileOptions::known, of this structure
};

absl::StatusOr<Way> WayOfChoice(const hlo::Computation& kernel, const Target& target,
                                const kernels::config::ScheduleChoice& choice, const std::vector<int64_t>& known) {
  Way way{.algorithm = kernels::te::ConvolutionAlgorithm::kDirect, .structure = {}, .choice = choice, .known = {}};
  auto* tile = std::get_if<kernels::nests::Tile>(&way.choice);
  if (tile != nullptr) way.algorithm = tile->algorithm;
  const auto* trace = std::get_if<kernels::config::KernelTrace>(&choice);
  if (trace != nullptr && !trace->algorithm.empty()) {
    SMELT_ASSIGN_OR_RETURN(way.algorithm, kernels::te::ParseAlgorithm(trace->algorithm));
  }
  SMELT_ASSIGN_OR_RETURN(kernels::te::Graph graph, kernels::te::FromHlo(kernel, way.algorithm));
  for (const int64_t number : known) way.known.insert(graph.inputs[static_cast<size_t>(number)].op.get());
  way.structure = kernels::nests::AnalyseStructure(std::move(graph));
  if (tile != nullptr) {
    SMELT_ASSIGN_OR_RETURN(*tile, kernels::nests::WithExtents(way.structure.main_nest(), *tile, target));
  }
  return way;
}

// Winograd's algorithm, where the estimate promises that it pays with such weights; nothing where it does not.
std::optional<Way> WayByAlgorithm(const hlo::Computation& kernel, const Target& target,
                                  const std::vector<int64_t>& known, bool weights_known) {
  const auto tile = kernels::cost::DefaultAlgorithm(kernel, weights_known, target);
  if (!tile) return std::nullopt;
  absl::StatusOr<Way> way = WayOfChoice(kernel, target, *tile, known);
  if (!way.ok()) return std::nullopt;
  const bool transformed_before = kernels::nests::IsKnown(*way->structure.main_nest().winograd->weights, way->known);
  if (weights_known && !transformed_before) return std::nullopt;
  return *std::move(way);
}

absl::StatusOr<Way> WayOf(const hlo::Computation& kernel, const Target& target, const CompileOptions& options) {
  if (options.schedule == kernels::config::ScheduleChoice(kernels::config::DefaultSchedule())) {
    std::optional<Way> way;
    if (!options.known.empty()) way = WayByAlgorithm(kernel, target, options.known, /*weights_known=*/true);
    if (!way) way = WayByAlgorithm(kernel, target, options.known, /*weights_known=*/false);
    if (way) return *std::move(way);
  }
  return WayOfChoice(kernel, target, options.schedule, options.known);
}

struct Candidate {
  kernels::schedule::Schedule schedule;
  codegen::ObjectCode object;
  std::string tile;
  std::string note;  // a comment line for the trace
  KernelListing listing;
  int64_t accumulators = 1;  // vectors of them that the inner loops work on

  // What spills cost is shared by the accumulators: half as many of these that spill a little less are no gain.
  bool SpillsLess(const Candidate& other) const {
    return object.vector_spills * other.accumulators < other.object.vector_spills * accumulators;
  }
};

class Compilation {
 public:
  Compilation(const Way& way, const Target& target, const CompileOptions& options, std::string name)
      : way_(way), structure_(way.structure), target_(target), options_(options), name_(std::move(name)) {}

  absl::StatusOr<Candidate> Run() {
    if (!kernels::config::IsExplicit(way_.choice)) return RunDefault();
    SMELT_ASSIGN_OR_RETURN(kernels::schedule::Schedule schedule, ScheduleOfChoice());
    // Whoever made the choice wants it, or to know why not: nothing takes its place.
    const auto* tile = std::get_if<kernels::nests::Tile>(&way_.choice);
    return tile != nullptr ? BuildTile(*tile, std::move(schedule))
                           : Build(std::move(schedule), kernels::config::ToLine(way_.choice));
  }

  // The schedule of an explicit choice.
  absl::StatusOr<kernels::schedule::Schedule> ScheduleOfChoice() const {
    return kernels::config::ScheduleOf(way_.choice, structure_, target_, {.known = way_.known});
  }

 private:
  absl::StatusOr<Candidate> RunDefault() {
    absl::StatusOr<Candidate> built = BuildDefault();
    if (!built.ok()) built = BuildFallback(built.status());
    return built;
  }

  absl::StatusOr<Candidate> Build(kernels::schedule::Schedule schedule, std::string tile) {
    SMELT_ASSIGN_OR_RETURN(
        kernels::ir::Function function,
        kernels::lower::Lower(schedule,
                              {.name = name_, .vector_bytes = target_.vector_bytes, .streamed = options_.streamed}));
    KernelListing listing;
    codegen::CodegenOptions options;
    if (options_.listing != nullptr) {
      listing.loops = kernels::ir::ToString(function);
      options.assembly_text = &listing.assembly;
    }
    SMELT_ASSIGN_OR_RETURN(codegen::ObjectCode object, codegen::EmitObject(function, target_, options));
    return Candidate{std::move(schedule), std::move(object), std::move(tile), "", std::move(listing)};
  }

  absl::StatusOr<Candidate> BuildTile(const kernels::nests::Tile& tile) {
    SMELT_ASSIGN_OR_RETURN(kernels::schedule::Schedule schedule,
                           kernels::nests::ScheduleStructure(structure_, tile.extents, target_, {.known = way_.known}));
    return BuildTile(tile, std::move(schedule));
  }

  // Vectors of a register tile of at most so many accumulators; 0: as many as fit.
  int64_t Accumulators(const kernels::nests::Tile& tile, int64_t most) const {
    const kernels::nests::Nest& nest = structure_.main_nest();
    const kernels::nests::RegisterTile registers =
        nest.winograd ? kernels::nests::WinogradRegisters(tile.extents, target_)
                      : kernels::nests::ChooseRegisterTile(nest, tile.extents, target_, most);
    return registers.planes * registers.rows * registers.vectors;
  }

  // The tile's register tile is as large as leaves the inner loops without spills, or spills least. `schedule`: that
  // with the largest one.
  absl::StatusOr<Candidate> BuildTile(const kernels::nests::Tile& tile, kernels::schedule::Schedule schedule) {
    if (!kernels::nests::IsContraction(*structure_.main_nest().main))
      return Build(std::move(schedule), tile.ToString());
    const auto build = [&](kernels::schedule::Schedule tiled, int64_t most) {
      absl::StatusOr<Candidate> built = Build(std::move(tiled), tile.ToString());
      if (built.ok()) built->accumulators = Accumulators(tile, most);
      return built;
    };
    absl::StatusOr<Candidate> best = build(std::move(schedule), /*most=*/0);
    if (!best.ok()) return best;
    for (const double share : kFewerAccumulators) {
      if (best->object.vector_spills == 0) break;
      const int64_t most = static_cast<int64_t>(share * kernels::nests::MostAccumulators(target_));
      absl::StatusOr<kernels::schedule::Schedule> smaller = kernels::nests::ScheduleStructure(
          structure_, tile.extents, target_, {.accumulators = most, .known = way_.known});
      if (!smaller.ok() || smaller->ToString() == best->schedule.ToString()) continue;
      absl::StatusOr<Candidate> next = build(*std::move(smaller), most);
      if (next.ok() && next->SpillsLess(*best)) best = std::move(next);
    }
    return best;
  }

  // The default tile: see CompileOptions::schedule.
  absl::StatusOr<Candidate> BuildDefault() {
    const kernels::nests::Nest& nest = structure_.main_nest();
    std::vector<std::vector<int64_t>> tiles = kernels::nests::PreferredTiles(nest, target_);
    absl::StatusOr<Candidate> best = BuildTile({tiles[0]});
    if (!best.ok() || !kernels::nests::IsContraction(*nest.main)) return best;
    // Lines of a window that go together save more than spills of what follows it cost: on a Zen 4 14 x 14 x 512 with a
    // normalisation and a clamp take 21 us with three lines and 8 spills, and 29 without either.
    if (kernels::nests::ChooseRegisterTile(nest, tiles[0], target_).line_axis >= 0) return best;
    for (size_t i = 1; i < std::min(tiles.size(), kSpillTrials) && best->object.vector_spills > 0; ++i) {
      absl::StatusOr<Candidate> next = BuildTile({tiles[i]});
      if (next.ok() && next->SpillsLess(*best)) best = std::move(next);
    }
    return best;
  }

  absl::StatusOr<Candidate> BuildFallback(const absl::Status& why) {
    SMELT_ASSIGN_OR_RETURN(kernels::schedule::Schedule schedule, kernels::nests::FallbackSchedule(structure_, target_));
    SMELT_ASSIGN_OR_RETURN(Candidate candidate, Build(std::move(schedule), "fallback"));
    candidate.note = absl::StrCat("# fallback: ", std::string(why.message()), "\n");
    return candidate;
  }

  const Way& way_;
  const kernels::nests::Structure& structure_;
  const Target& target_;
  const CompileOptions& options_;
  const std::string name_;
};

// `way`: of `options`. Where the estimate's algorithm, which the caller did not ask for, cannot be built, it becomes
// the direct sum.
absl::StatusOr<Candidate> BuildWay(const hlo::Computation& kernel, const Target& target, const CompileOptions& options,
                                   const std::string& name, Way* way) {
  absl::StatusOr<Candidate> built = Compilation(*way, target, options, name).Run();
  if (built.ok() || kernels::config::IsExplicit(options.schedule) || !kernels::config::IsExplicit(way->choice))
    return built;
  SMELT_ASSIGN_OR_RETURN(*way, WayOfChoice(kernel, target, options.schedule, options.known));
  return Compilation(*way, target, options, name).Run();
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
  Hash128 key = is_explicit ? Hash128() : DefaultKey(kernel, target, options);
  if (cache != nullptr && !is_explicit) {
    if (std::shared_ptr<const CompiledKernel> found = cache->Find(key)) return found;
  }
  const auto start = std::chrono::steady_clock::now();
  SMELT_ASSIGN_OR_RETURN(Way way, WayOf(kernel, target, options));
  if (is_explicit) {
    SMELT_ASSIGN_OR_RETURN(const kernels::schedule::Schedule schedule,
                           Compilation(way, target, options, kFunctionName).ScheduleOfChoice());
    key = ScheduleKey(kernel, target, options, schedule);
    if (cache != nullptr) {
      if (std::shared_ptr<const CompiledKernel> found = cache->Find(key))
        return Named(std::move(found), kernels::config::ToLine(way.choice));
    }
  }
  SMELT_ASSIGN_OR_RETURN(Candidate built, BuildWay(kernel, target, options, kFunctionName, &way));
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<runtime::KernelCode> code, codegen::LoadObject(built.object));

  if (options.listing != nullptr) {
    *options.listing = std::move(built.listing);
    if (way.algorithm != kernels::te::ConvolutionAlgorithm::kDirect)
      options.listing->algorithm = std::string(kernels::te::AlgorithmName(way.algorithm));
  }
  auto compiled = std::make_shared<CompiledKernel>();
  compiled->code = std::move(code);
  compiled->trace =
      absl::StrCat(built.note, built.schedule.ToString(), kernels::cost::StreamedRemark(options.streamed));
  compiled->tile = built.tile;
  compiled->vector_spills = built.object.vector_spills;
  compiled->compile_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (cache != nullptr) cache->Insert(key, compiled, built.object.elf);
  return std::shared_ptr<const CompiledKernel>(std::move(compiled));
}

absl::StatusOr<KernelObject> CompileObject(const hlo::Computation& kernel, const Target& target,
                                           const CompileOptions& options, const std::string& symbol) {
  SMELT_ASSIGN_OR_RETURN(Way way, WayOf(kernel, target, options));
  SMELT_ASSIGN_OR_RETURN(Candidate built, BuildWay(kernel, target, options, symbol, &way));
  return KernelObject{std::move(built.object.elf), std::move(built.object.descriptor), std::move(built.tile),
                      built.object.vector_spills};
}

}  // namespace smelt::cpu
