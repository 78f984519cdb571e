#include "gnn/dataset/dataset.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "fusion/kernel_cost.h"
#include "gnn/corpus/corpus.h"
#include "gnn/dataset/kernel_kind.h"
#include "hlo/text/parser.h"
#include "kernels/cost/analytical.h"

namespace smelt::gnn {
namespace {

double Noise(std::vector<double> seconds) {
  if (seconds.size() < 2) return 0;
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2] / seconds[0] - 1;
}

absl::StatusOr<Example> Featurise(const KernelExample& record, const machine::Machine& target,
                                  const LoadOptions& options, const fusion::Rules* rough) {
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
  example.graph = ExtractFeatures(kernel, target, options.estimate);
  example.analytical_seconds =
      (options.estimate ? options.estimate(kernel) : kernels::cost::EstimateKernel(kernel, target)).seconds();
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
  if (tiles.size() < 2) return example;
  const size_t keep = std::min<size_t>(tiles.size(), static_cast<size_t>(options.tiles_per_kernel));
  std::vector<kernels::nests::Tile> kept;
  for (size_t i = 0; i < keep; ++i) {
    const Measurement& m = *tiles[i * tiles.size() / keep];
    absl::StatusOr<kernels::cost::CostEstimate> estimate = kernels::cost::EstimateTile(kernel, m.tile, target);
    if (!estimate.ok()) continue;  // a tile of another version's space
    kept.push_back(m.tile);
    example.tile_seconds.push_back(m.label());
    example.tile_analytical.push_back(estimate->seconds());
  }
  if (kept.size() < 2) {
    example.tile_seconds.clear();
    example.tile_analytical.clear();
    return example;
  }
  example.tile_features = TileFeatures(kernel, kept, target);
  return example;
}

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

// A number in [0, 1) that follows from the program's name and the seed alone.
double Position(const std::string& program, uint64_t seed) {
  const Hash128 hash = Hasher().Add(program).Add(static_cast<int64_t>(seed)).Finish();
  return static_cast<double>(hash.high >> 11) * 0x1p-53;
}

}  // namespace

std::vector<std::string> Dataset::Programs() const {
  std::set<std::string> programs;
  for (const Example& example : examples) programs.insert(example.program);
  return {programs.begin(), programs.end()};
}

absl::StatusOr<Dataset> LoadDataset(const std::string& folders, const machine::Machine& target,
                                    const LoadOptions& options) {
  Dataset data;
  absl::flat_hash_map<std::pair<std::string, Hash128>, size_t> seen;  // number of the example
  for (absl::string_view folder : absl::StrSplit(folders, ',', absl::SkipEmpty())) {
    SMELT_ASSIGN_OR_RETURN(CorpusReport report, ReadCorpus(std::string(folder), [&](KernelExample record) {
                             SMELT_RETURN_IF_ERROR(Join(record, folder, &data.target));
                             const std::pair key(record.program, record.hash);
                             const auto known = seen.find(key);
                             if (known != seen.end() && record.measurements.size() < 2) return absl::OkStatus();
                             const auto rough = options.rough.find(data.target.kind);
                             absl::StatusOr<Example> example = Featurise(
                                 record, target, options, rough == options.rough.end() ? nullptr : &rough->second);
                             if (!example.ok()) {
                               data.warnings.push_back(absl::StrCat("skipped kernel ", record.hash.ToHex(), " of ",
                                                                    record.program, ": ", example.status().message()));
                               return absl::OkStatus();
                             }
                             if (example->seconds <= 0 && example->tile_seconds.empty()) return absl::OkStatus();
                             if (known != seen.end()) {
                               Complete(*std::move(example), &data.examples[known->second]);
                               return absl::OkStatus();
                             }
                             seen[key] = data.examples.size();
                             data.examples.push_back(*std::move(example));
                             return absl::OkStatus();
                           }));
    data.warnings.insert(data.warnings.end(), report.warnings.begin(), report.warnings.end());
  }
  if (data.examples.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(folders, ": no kernel with a measured time. `smelt profile` measures some"));
  }
  // Features are of a machine, whoever compiles for it.
  const machine::TargetId machine{data.target.kind, target.name, target.threads};
  if (!machine.Agrees(data.target)) {
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
    const double position = Position(example.program, options.seed);
    const bool test = manual.empty() ? position < options.test : manual.contains(example.program);
    const bool validation = !test && position >= 1 - options.validation;
    if (test || validation) {
      held_out.push_back({i, test});
    } else {
      split.train.push_back(i);
      trained.insert(example.hash);
    }
  }
  for (const auto& [i, test] : held_out) {
    if (!trained.contains(data.examples[i].hash)) (test ? split.test : split.validation).push_back(i);
  }
  return split;
}

}  // namespace smelt::gnn
