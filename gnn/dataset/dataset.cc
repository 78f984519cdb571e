#include "gnn/dataset/dataset.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "fusion/kernel.h"
#include "fusion/kernel_cost.h"
#include "gnn/corpus/corpus.h"
#include "gnn/corpus/visits.h"
#include "gnn/dataset/kernel_kind.h"
#include "hlo/text/parser.h"
#include "kernels/cost/analytical.h"
#include "kernels/cost/default_schedule.h"
#include "kernels/tiles/tiles.h"
#include "machine/descriptor.h"

namespace smelt::gnn {
namespace {

double Noise(std::vector<double> seconds) {
  if (seconds.size() < 2) return 0;
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2] / seconds[0] - 1;
}

// The visits to one kernel of one corpus, for its label and those of its tiles (by their texts).
struct TimesOf {
  std::vector<Visit> whole;
  std::map<std::string, std::vector<Visit>> tiles;
  std::vector<std::string> kept;  // tiles of the example, in its order

  void Add(const KernelExample& record) {
    for (const Measurement& m : record.measurements) {
      if (m.label() <= 0) continue;
      if (m.default_tile || m.tile.extents.empty()) whole.push_back({m.label(), record.drift});
      if (!m.tile.extents.empty()) tiles[m.tile.ToString()].push_back({m.label(), record.drift});
    }
  }
  void Label(Example* example) const {
    if (!whole.empty()) example->seconds = LabelOf(whole);
    for (size_t i = 0; i < kept.size() && i < example->tile_seconds.size(); ++i)
      example->tile_seconds[i] = LabelOf(tiles.at(kept[i]));
  }
};

// Features and estimates of these tiles of the kernel; their times are the caller's.
void AddTiles(const hlo::Computation& kernel, absl::Span<const kernels::nests::Tile> tiles,
              const machine::Machine& target, const kernels::cost::CostFormula& formula, Example* example) {
  for (const kernels::nests::Tile& tile : tiles) {
    const std::vector<double> extents(tile.extents.begin(), tile.extents.end());
    example->tile_analytical.push_back(formula.At(extents.data(), static_cast<int64_t>(extents.size())).seconds());
  }
  example->tile_features = TileFeatures(kernel, tiles, target);
}

// `untimed`: a kernel without timed tiles has tiles without times.
absl::StatusOr<Example> Featurise(const KernelExample& record, const machine::Machine& target,
                                  const LoadOptions& options, const fusion::Rules* rough, const KernelEstimate& own,
                                  bool untimed, const std::shared_ptr<NodeRows>& rows,
                                  std::vector<std::string>* kept_tiles) {
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<hlo::Module> module,
                         hlo::ParseModule(record.kernel_text, {.file_name = record.program}));
  const hlo::Computation& kernel = *module->entry();
  if (kernel.instruction_count() > options.max_nodes) {
    return absl::ResourceExhaustedError(
        absl::StrCat(kernel.instruction_count(), " nodes are more than ", options.max_nodes));
  }
  Example example;
  example.program = record.program;
  example.hash = record.hash;
  SMELT_RETURN_IF_ERROR(fusion::CheckDistances(kernel, record.distances));
  example.graph = PackedGraph(ExtractFeatures(kernel, target, own, record.distances), rows);
  example.analytical_seconds = (own ? own(kernel) : kernels::cost::EstimateKernel(kernel, target)).seconds();
  if (options.here) example.here = kernels::cost::EstimateKernel(kernel, *options.here);
  if (rough != nullptr) {
    SMELT_ASSIGN_OR_RETURN(example.rough_seconds, fusion::KernelSeconds(*module, *rough));
  }
  example.kind = KernelKind(kernel);
  std::vector<const Measurement*> tiles;
  for (const Measurement& m : record.measurements) {
    if (m.label() <= 0) continue;
    if (m.default_tile || m.tile.extents.empty()) {
      example.seconds = m.label();
      example.noise = Noise(m.seconds);
    }
    if (!m.tile.extents.empty()) tiles.push_back(&m);
  }
  if (tiles.size() < 2 && !untimed) return example;
  const absl::StatusOr<kernels::cost::CostFormula> formula = kernels::cost::TileFormulaOf(kernel, target);
  if (!formula.ok()) return example;
  if (tiles.size() < 2) {
    const absl::StatusOr<std::vector<kernels::nests::Tile>> all =
        kernels::nests::EnumerateTiles(kernel, target, options.untimed_tiles);
    if (all.ok() && all->size() >= 2) AddTiles(kernel, *all, target, *formula, &example);
    return example;
  }
  const size_t keep = std::min<size_t>(tiles.size(), static_cast<size_t>(options.tiles_per_kernel));
  std::vector<kernels::nests::Tile> kept;
  for (size_t i = 0; i < keep; ++i) {
    const Measurement& m = *tiles[i * tiles.size() / keep];
    if (m.tile.extents.size() != formula->dimensions.size()) continue;  // a tile of another version's space
    kept.push_back(m.tile);
    kept_tiles->push_back(m.tile.ToString());
    example.tile_seconds.push_back(m.label());
  }
  if (kept.size() < 2) {
    example.tile_seconds.clear();
    kept_tiles->clear();
    return example;
  }
  AddTiles(kernel, kept, target, *formula, &example);
  return example;
}

// The kernels that have tiles without times: of all there are, those with the least hashes, whatever their order.
class Untimed {
 public:
  explicit Untimed(int64_t most) : most_(static_cast<size_t>(most)) {}
  bool Takes(const Hash128& hash) const {
    return kernels_.size() < most_ || (most_ > 0 && hash < kernels_.rbegin()->first);
  }
  void Add(size_t number, std::vector<Example>* examples) {
    kernels_.insert({(*examples)[number].hash, number});
    if (kernels_.size() <= most_) return;
    Example& last = (*examples)[kernels_.rbegin()->second];
    if (last.tile_seconds.empty()) {  // else another corpus timed them meanwhile
      last.tile_features.clear();
      last.tile_analytical.clear();
    }
    kernels_.erase(std::prev(kernels_.end()));
  }

 private:
  const size_t most_;
  std::set<std::pair<Hash128, size_t>> kernels_;
};

// Adds what another measurement of the same kernel has and this one lacks.
void Complete(Example other, Example* example) {
  if (example->seconds <= 0) {
    example->seconds = other.seconds;
    example->noise = other.noise;
  }
  if (example->tile_seconds.empty()) {
    example->tile_features = std::move(other.tile_features);
    example->tile_seconds = std::move(other.tile_seconds);
    example->tile_analytical = std::move(other.tile_analytical);
  }
}

// The target of everything read so far, with what `record` adds to it.
absl::Status Join(const KernelExample& record, absl::string_view folder, machine::TargetId* target) {
  const machine::TargetId other = machine::TargetId::Parse(record.target);
  if (!target->Agrees(other)) {
    return absl::InvalidArgumentError(absl::StrCat(folder, ": kernel ", record.hash.ToHex(), " was measured for `",
                                                   other.ToString(), "`, and those before it for `", target->ToString(),
                                                   "`; a model is of one target: give corpora of one"));
  }
  if (target->kind.empty()) target->kind = other.kind;
  if (target->cpu.empty()) target->cpu = other.cpu;
  if (target->threads == 0) target->threads = other.threads;
  return absl::OkStatus();
}

// The machine that records tell, under which features are made; the first one's figures hold for all. Records from
// before they told of instructions have those of the caller's machine, where it is one of that name.
absl::Status TakeMachine(const KernelExample& record, absl::string_view folder, std::string* known, Dataset* data) {
  if (record.machine.empty() || record.machine == *known) return absl::OkStatus();
  absl::StatusOr<machine::Machine> machine = machine::ReadMachine(record.machine);
  if (!machine.ok())
    return absl::InvalidArgumentError(
        absl::StrCat(folder, ": kernel ", record.hash.ToHex(), ": ", machine.status().message()));
  if (known->empty()) {
    *known = record.machine;
    if (machine->instructions.empty() && machine->name == data->machine.name)
      machine->instructions = std::move(data->machine.instructions);
    data->machine = *std::move(machine);
    data->machine_told = true;
  } else if (machine->name != data->machine.name || machine->levels.size() != data->machine.levels.size()) {
    return absl::InvalidArgumentError(absl::StrCat(folder, ": kernel ", record.hash.ToHex(), " was timed on `",
                                                   machine->name, "`, and those before it on `", data->machine.name,
                                                   "`; a model is of one machine: give corpora of one"));
  }
  return absl::OkStatus();
}

// Kernels whose default schedule is another today than when they were timed: their features describe loops that nobody
// timed. A sample, by hashes; a corpus of a hundred thousand kernels is looked at in a few seconds.
class OtherSchedules {
 public:
  void LookAt(const KernelExample& record, const machine::Machine& machine) {
    constexpr uint64_t kEvery = 16;
    if (record.hash.low % kEvery != 0) return;
    const absl::StatusOr<std::unique_ptr<hlo::Module>> module = hlo::ParseModule(record.kernel_text, {});
    if (!module.ok()) return;
    const auto trace = kernels::cost::DefaultTrace(*(*module)->entry(), record.distances, machine);
    if (!trace.ok()) return;
    ++looked_at_;
    other_ += record.IsOfOtherSchedule(*trace) ? 1 : 0;
  }
  // A warning where they are too many for those few whose schedule follows from code that was generated (spills).
  std::optional<std::string> Warning(absl::string_view folders) const {
    if (other_ * 50 <= looked_at_) return std::nullopt;
    return absl::StrCat(folders, ": of ", looked_at_, " kernels looked at, ", other_,
                        " were timed under another default schedule than features are made of now. `smelt corpus "
                        "again CORPUS --changed -o NEW` times such kernels again; train on NEW,CORPUS then");
  }

 private:
  int64_t looked_at_ = 0, other_ = 0;
};

}  // namespace

std::vector<std::string> Dataset::Programs() const {
  std::set<std::string> programs;
  for (const Example& example : examples) programs.insert(example.program);
  return {programs.begin(), programs.end()};
}

double ProgramPosition(const std::string& program, uint64_t seed) {
  const Hash128 hash = Hasher().Add(program).Add(static_cast<int64_t>(seed)).Finish();
  return static_cast<double>(hash.high >> 11) * 0x1p-53;
}

absl::StatusOr<Dataset> LoadDataset(const std::string& folders, const machine::Machine& target,
                                    const LoadOptions& options) {
  Dataset data;
  data.machine = target;
  std::string known_machine;
  std::optional<KernelEstimate> own;
  absl::flat_hash_map<std::pair<std::string, Hash128>, size_t> seen;  // number of the example
  Untimed untimed(options.untimed_kernels);
  OtherSchedules other_schedules;
  const auto rows = std::make_shared<NodeRows>();
  for (absl::string_view folder : absl::StrSplit(folders, ',', absl::SkipEmpty())) {
    absl::flat_hash_map<size_t, TimesOf> times;  // of this corpus, by number of the example
    const auto take = [&](KernelExample record) -> absl::Status {
      SMELT_RETURN_IF_ERROR(Join(record, folder, &data.target));
      if (record.hash == Hash128())
        return absl::InvalidArgumentError(
            absl::StrCat(folder, ": a kernel of ", record.program,
                         " has no hash; `smelt corpus import` makes a corpus with hashes"));
      if (options.machine_of_records) SMELT_RETURN_IF_ERROR(TakeMachine(record, folder, &known_machine, &data));
      for (auto [told, kept] : {std::pair(&record.device, &data.device), std::pair(&record.compiler, &data.compiler),
                                std::pair(&record.policy, &data.policy)}) {
        if (!told->empty()) *kept = *told;
      }
      const std::pair key(record.program, record.hash);
      const auto known = seen.find(key);
      // Another visit to what this corpus has already.
      if (known != seen.end() && times.contains(known->second)) {
        TimesOf& of = times[known->second];
        const bool more_tiles = of.kept.empty() && record.measurements.size() >= 2;
        of.Add(record);
        if (!more_tiles) return absl::OkStatus();
      } else if (known != seen.end() && record.measurements.size() < 2) {
        return absl::OkStatus();
      }
      if (!own) {
        own.emplace();
        if (options.estimate_of) {
          SMELT_ASSIGN_OR_RETURN(*own, options.estimate_of(data.target));
        }
      }
      const auto rough = options.rough.find(data.target.kind);
      std::vector<std::string> kept;
      absl::StatusOr<Example> example =
          Featurise(record, data.machine, options, rough == options.rough.end() ? nullptr : &rough->second, *own,
                    untimed.Takes(record.hash), rows, &kept);
      if (!example.ok()) {
        data.warnings.push_back(absl::StrCat("skipped kernel ", record.hash.ToHex(), " of ", record.program, ": ",
                                             example.status().message()));
        return absl::OkStatus();
      }
      if (example->seconds <= 0 && example->tile_seconds.empty()) return absl::OkStatus();
      if (known != seen.end()) {
        Example& older = data.examples[known->second];
        if (const auto of = times.find(known->second); of != times.end() && older.tile_seconds.empty())
          of->second.kept = std::move(kept);
        Complete(*std::move(example), &older);
        return absl::OkStatus();
      }
      if (options.machine_of_records && !*own) other_schedules.LookAt(record, data.machine);
      TimesOf& of = times[data.examples.size()];
      of.Add(record);
      of.kept = std::move(kept);
      seen[key] = data.examples.size();
      data.examples.push_back(*std::move(example));
      if (const Example& last = data.examples.back(); last.tile_seconds.empty() && !last.tile_analytical.empty())
        untimed.Add(data.examples.size() - 1, &data.examples);
      return absl::OkStatus();
    };
    SMELT_ASSIGN_OR_RETURN(CorpusReport report, ReadCorpus(std::string(folder), take));
    for (const auto& [number, of] : times) of.Label(&data.examples[number]);
    data.warnings.insert(data.warnings.end(), report.warnings.begin(), report.warnings.end());
  }
  if (data.examples.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(folders, ": no kernel with a measured time. `smelt profile` measures some"));
  }
  if (const std::optional<std::string> warning = other_schedules.Warning(folders)) data.warnings.push_back(*warning);
  // Features are of a machine, whoever compiles for it.
  const machine::TargetId machine{data.target.kind, data.machine.name, data.machine.threads};
  if (!data.machine_told && !machine.Agrees(data.target)) {
    data.warnings.push_back(absl::StrCat(folders, ": was measured for `", data.target.ToString(),
                                         "`, and features are made for `", machine.ToString(),
                                         "`; --target=cpu:CPU,threads=N names the machine that it was measured on"));
  }
  return data;
}

Split SplitByProgram(const Dataset& data, const SplitOptions& options) {
  const std::set<std::string> manual(options.test_programs.begin(), options.test_programs.end());
  Split split;
  absl::flat_hash_set<Hash128> trained;
  std::vector<std::pair<int64_t, bool>> held_out;  // example, is test
  for (int64_t i = 0; i < static_cast<int64_t>(data.examples.size()); ++i) {
    const Example& example = data.examples[i];
    const auto family = options.families.find(example.program);
    const double position =
        ProgramPosition(family == options.families.end() ? example.program : family->second, options.seed);
    const bool test = manual.empty() ? position < options.test : manual.contains(example.program);
    const bool validation = !test && position >= 1 - options.validation;
    const double first = manual.empty() ? options.test : 0;  // position of the training set
    if (test || validation) {
      held_out.push_back({i, test});
    } else if (position < first + options.learned * (1 - options.validation - first)) {
      split.train.push_back(i);
      trained.insert(example.hash);
    }
  }
  for (const auto& [i, test] : held_out) {
    if (!trained.contains(data.examples[i].hash)) (test ? split.test : split.validation).push_back(i);
  }
  return split;
}

std::vector<int64_t> UnseenBy(const Dataset& data, const std::set<std::string>& programs) {
  absl::flat_hash_set<Hash128> seen;
  for (const Example& example : data.examples) {
    if (programs.contains(example.program)) seen.insert(example.hash);
  }
  std::vector<int64_t> unseen;
  for (int64_t i = 0; i < static_cast<int64_t>(data.examples.size()); ++i) {
    const Example& example = data.examples[i];
    if (!programs.contains(example.program) && !seen.contains(example.hash)) unseen.push_back(i);
  }
  return unseen;
}

}  // namespace smelt::gnn
