#include "targets/cpu/compile/compile.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "hlo/fingerprint.h"
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

Hasher KeyOf(const hlo::Computation& kernel, const Target& target) {
  Hasher hasher;
  hasher.Add("smelt kernel").Add(hlo::FingerprintComputation(kernel)).Add(target.CodeHash());
  hasher.Add(codegen::CompilerVersion());
  return hasher;
}

// The key of the default, which is known before any schedule is made: with what schedules depend on beyond the instruction set.
Hash128 DefaultKey(const hlo::Computation& kernel, const Target& target) {
  Hasher hasher = KeyOf(kernel, target).Add("default");
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

  absl::StatusOr<Candidate> Run(kernels::schedule::Schedule schedule, std::string tile) {
    return Build(std::move(schedule), std::move(tile));
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
    return Build(std::move(schedule), tile.ToString());
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
  Hash128 key = is_explicit ? Hash128() : DefaultKey(kernel, target);
  if (cache != nullptr && !is_explicit) {
    if (std::shared_ptr<const CompiledKernel> found = cache->Find(key)) return found;
  }
  const auto start = std::chrono::steady_clock::now();
  SMELT_ASSIGN_OR_RETURN(kernels::te::Graph graph, kernels::te::FromHlo(kernel));
  const kernels::nests::Structure structure = kernels::nests::AnalyseStructure(std::move(graph));
  Compilation compilation(structure, target, options.listing != nullptr, "kernel");
  absl::StatusOr<Candidate> built;
  if (is_explicit) {
    SMELT_ASSIGN_OR_RETURN(kernels::schedule::Schedule schedule,
                           kernels::config::ScheduleOf(options.schedule, structure, target));
    key = ScheduleKey(kernel, target, schedule);
    const std::string tile = kernels::config::ToLine(options.schedule);
    if (cache != nullptr) {
      if (std::shared_ptr<const CompiledKernel> found = cache->Find(key)) return Named(std::move(found), tile);
    }
    built = compilation.Run(std::move(schedule), tile);
  } else {
    built = compilation.Run();
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
  SMELT_ASSIGN_OR_RETURN(kernels::te::Graph graph, kernels::te::FromHlo(kernel));
  const kernels::nests::Structure structure = kernels::nests::AnalyseStructure(std::move(graph));
  Compilation compilation(structure, target, /*list=*/false, symbol);
  absl::StatusOr<Candidate> built;
  if (kernels::config::IsExplicit(choice)) {
    SMELT_ASSIGN_OR_RETURN(kernels::schedule::Schedule schedule,
                           kernels::config::ScheduleOf(choice, structure, target));
    built = compilation.Run(std::move(schedule), kernels::config::ToLine(choice));
  } else {
    built = compilation.Run();
  }
  if (!built.ok()) return built.status();
  return KernelObject{std::move(built->object.elf), std::move(built->object.descriptor), std::move(built->tile)};
}

}  // namespace smelt::cpu
