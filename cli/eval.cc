// smelt eval: errors of models on the programs that training held out, beside the baselines.
#include <algorithm>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <numeric>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "base/write_file.h"
#include "cli/print_json.h"
#include "cli/split.h"
#include "cli/target.h"
#include "cli/verb.h"
#include "gnn/boost/boosted_contender.h"
#include "gnn/dataset/dataset.h"
#include "gnn/eval/evaluate.h"
#include "gnn/labels/statistics.h"
#include "gnn/model/model_file.h"
#include "machine/descriptor.h"
#include "machine/target_id.h"
#include "targets/cpu/codegen/target.h"
#include "targets/registry.h"

namespace smelt::cli {
namespace {

struct EvalFlags {
  std::string model, corpus, baseline, target = "cpu:threads=1", test_programs, scatter, kernels;
  double validation = 0.1, test = 0.1;
  uint64_t split_seed = 1;
  bool all = false, boosted = false, json = false;
};

const gnn::TaskModel* TaskOf(const gnn::ModelFile& file, const std::string& task) {
  auto it = file.tasks.find(task);
  return it == file.tasks.end() ? nullptr : &it->second;
}

const char* NameOf(gnn::NetworkKind kind) { return kind == gnn::NetworkKind::kLstm ? "lstm" : "graphsage"; }

// Its calibration where it has one.
absl::StatusOr<gnn::Contender> ContenderOf(const gnn::ModelFile& file, const std::string& fallback_name) {
  const gnn::TaskModel* const fusion = TaskOf(file, "fusion");
  const gnn::TaskModel* const tile = TaskOf(file, "tile");
  const gnn::TaskModel* const any = fusion != nullptr ? fusion : tile;
  return gnn::NetworkContender(any != nullptr ? NameOf(any->kind) : fallback_name, fusion, tile, file.calibration);
}

// Kernels of the programs that the models learned from: what a baseline learns from that is fitted here.
absl::StatusOr<gnn::Contender> Boosted(const gnn::Dataset& data, const gnn::ModelFile& model) {
  const std::set<std::string> learned(model.programs.begin(), model.programs.end());
  std::vector<int64_t> examples;
  for (size_t i = 0; i < data.examples.size(); ++i) {
    if (learned.contains(data.examples[i].program)) examples.push_back(static_cast<int64_t>(i));
  }
  if (examples.empty())
    return absl::InvalidArgumentError(
        "--boosted: the corpus holds no program that the model tells to have learned from");
  std::fprintf(stderr, "boosted trees learn from %zu kernels\n", examples.size());
  return gnn::BoostedContender(data, examples);
}

// Errors of a model on kernels of another target are worth a table (docs/xla-model.md has one), but not unknowingly.
void NoteOtherTarget(const std::string& path, const gnn::ModelFile& model, const gnn::Dataset& data) {
  const machine::TargetId trained = machine::TargetId::Parse(model.target);
  if (trained.Agrees(data.target)) return;
  std::fprintf(stderr, "%s: predicts kernels of target `%s`, and the corpus was measured for `%s`\n", path.c_str(),
               model.target.c_str(), data.target.ToString().c_str());
}

// Numbers of the kernels that say how good the models are: those of programs that none of them learned from, as far as
// they tell; otherwise those that the split of the flags holds out.
absl::StatusOr<std::vector<int64_t>> Judges(const EvalFlags& flags, const gnn::Dataset& data,
                                            const std::deque<gnn::ModelFile>& models) {
  std::set<std::string> learned;
  bool all_tell = true;
  for (const gnn::ModelFile& model : models) {
    learned.insert(model.programs.begin(), model.programs.end());
    all_tell &= !model.programs.empty();
  }
  std::vector<int64_t> examples;
  if (all_tell && flags.test_programs.empty()) {
    examples = gnn::UnseenBy(data, learned);
  } else {
    SMELT_ASSIGN_OR_RETURN(const gnn::SplitOptions options,
                           ReadSplit(flags.validation, flags.test, flags.split_seed, flags.test_programs));
    examples = gnn::SplitByProgram(data, options).test;
    const std::set<std::string> named(options.test_programs.begin(), options.test_programs.end());
    for (const std::string& program : learned) {
      if (named.contains(program))
        std::fprintf(stderr, "%s: names %s, which a model learned from\n", flags.test_programs.c_str(),
                     program.c_str());
    }
  }
  const bool nothing_held_out = examples.empty() && flags.test_programs.empty();
  if (flags.all || nothing_held_out) {
    examples.resize(data.examples.size());
    std::iota(examples.begin(), examples.end(), 0);
  }
  if (examples.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(flags.corpus, ": has no kernel of its own of a program that ",
                                                   flags.test_programs, " names; --all evaluates on everything"));
  }
  if (nothing_held_out && !flags.all) {
    std::fprintf(
        stderr,
        "%s: none of its programs (%zu) is new to the models, so that all kernels are evaluated on, which is no test "
        "of a model that learned from them; more programs, or a larger --test in training, hold some out\n",
        flags.corpus.c_str(), data.Programs().size());
  }
  return examples;
}

// A model and those beside it. All see the features of one machine, and calibrations are to one.
struct Models {
  std::vector<std::string> files;
  std::deque<gnn::ModelFile> models;  // contenders point into them
  // The figures of the machine that calibrations are to; empty: there is none.
  std::map<std::string, double> here;
};

absl::StatusOr<Models> ReadModels(const EvalFlags& flags) {
  Models all;
  all.files = {flags.model};
  for (const absl::string_view file : absl::StrSplit(flags.baseline, ',', absl::SkipEmpty()))
    all.files.emplace_back(file);
  for (const std::string& file : all.files) {
    SMELT_ASSIGN_OR_RETURN(gnn::ModelFile loaded, gnn::LoadModel(file));
    const gnn::ModelFile& model = all.models.emplace_back(std::move(loaded));
    if (model.target_figures != all.models.front().target_figures) {
      return absl::InvalidArgumentError(
          absl::StrCat(file, ": was trained under other measured figures of the machine than ", flags.model,
                       "; train both on one machine without clearing its cache folder between"));
    }
    if (!model.calibration) continue;
    if (!all.here.empty() && model.calibration->figures != all.here) {
      return absl::InvalidArgumentError(
          absl::StrCat(file, ": was adapted to other measured figures than the models before it; evaluate each alone"));
    }
    all.here = model.calibration->figures;
  }
  return all;
}

absl::Status Eval(const EvalFlags& flags) {
  SMELT_ASSIGN_OR_RETURN(FeatureTarget target, ReadFeatureTarget(flags.target));
  SMELT_ASSIGN_OR_RETURN(const Models all, ReadModels(flags));
  const gnn::ModelFile& model = all.models.front();
  gnn::LoadOptions options{.estimate_of = [&](const machine::TargetId& told) { return target.EstimateOf(told); }};
  if (!all.here.empty()) {
    options.here = target.machine;
    SMELT_RETURN_IF_ERROR(options.here->TakeFigures(all.here));
  }
  if (!model.machine.empty()) {  // what its features are made for, wherever the corpus was measured
    SMELT_ASSIGN_OR_RETURN(target.machine, machine::ReadMachine(model.machine));
  }
  SMELT_RETURN_IF_ERROR(target.machine.SetFigures(model.target_figures));
  for (const auto& [name, kind] : targets::Kinds()) {
    if (kind.rough_rules != nullptr) options.rough.emplace(name, kind.rough_rules());
  }
  SMELT_ASSIGN_OR_RETURN(const gnn::Dataset data, gnn::LoadDataset(flags.corpus, target.machine, options));
  for (const std::string& warning : data.warnings) std::fprintf(stderr, "%s\n", warning.c_str());
  std::vector<gnn::Contender> contenders;
  for (size_t i = 0; i < all.models.size(); ++i) {
    NoteOtherTarget(all.files[i], all.models[i], data);
    SMELT_ASSIGN_OR_RETURN(gnn::Contender contender, ContenderOf(all.models[i], i == 0 ? "model" : "baseline"));
    contenders.push_back(std::move(contender));
  }
  SMELT_ASSIGN_OR_RETURN(const std::vector<int64_t> examples, Judges(flags, data, all.models));
  // Networks of one kind go by their files.
  std::set<std::string> kinds;
  for (const gnn::Contender& contender : contenders) kinds.insert(contender.name);
  for (size_t i = 0; i < contenders.size() && kinds.size() < contenders.size(); ++i)
    contenders[i].name = std::filesystem::path(all.files[i]).stem().string();
  if (flags.boosted) {
    SMELT_ASSIGN_OR_RETURN(gnn::Contender trees, Boosted(data, model));
    contenders.push_back(std::move(trees));
  }
  const bool rough =
      std::all_of(examples.begin(), examples.end(), [&](int64_t i) { return data.examples[i].rough_seconds > 0; });
  contenders.push_back(rough ? gnn::RoughContender() : gnn::AnalyticalContender(model.analytical_factors));
  contenders.push_back(gnn::DefaultTileContender());
  SMELT_ASSIGN_OR_RETURN(const gnn::EvalTable table, gnn::EvaluateModels(data, examples, contenders));
  if (!flags.scatter.empty()) {
    if (!contenders.front().seconds)
      return absl::InvalidArgumentError(absl::StrCat(flags.model, ": has no fusion network to draw a scatter plot of"));
    SMELT_ASSIGN_OR_RETURN(const std::string plot, gnn::ScatterSvg(data, examples, contenders.front()));
    SMELT_RETURN_IF_ERROR(WriteFile(flags.scatter, plot));
  }
  if (!flags.kernels.empty()) {
    SMELT_ASSIGN_OR_RETURN(const std::string rows, gnn::KernelsCsv(data, examples, contenders));
    SMELT_RETURN_IF_ERROR(WriteFile(flags.kernels, rows));
  }
  nlohmann::json result = gnn::TableToJson(table);
  std::string text = gnn::FormatTable(table);
  // What two visits to a kernel agree in is as near as a model can come.
  for (const absl::string_view folder : absl::StrSplit(flags.corpus, ',', absl::SkipEmpty())) {
    SMELT_ASSIGN_OR_RETURN(const gnn::CorpusStatistics statistics,
                           gnn::ReadStatistics(std::string(folder), /*kinds=*/false));
    if (statistics.revisited == 0) continue;
    const gnn::Agreement agreement = gnn::CompareVisits(statistics);
    result["labels"][std::string(folder)] = gnn::ToJson(agreement);
    text += gnn::FormatAgreement(agreement, absl::StrCat("Labels of ", folder, ": first against second visits"));
  }
  if (flags.json) {
    PrintJson(result);
  } else {
    std::fputs(text.c_str(), stdout);
  }
  return absl::OkStatus();
}

}  // namespace

Action AddEval(Arguments& arguments) {
  auto flags = std::make_shared<EvalFlags>();
  arguments.Add("MODEL", flags->model, "Model file").Required();
  arguments.Add("CORPUS", flags->corpus, "Corpus folder, or several separated by commas").Required();
  arguments.Add("--baseline", flags->baseline, "Further models beside it, separated by commas, for example an LSTM");
  arguments.AddFlag("--boosted", flags->boosted,
                    "Beside it, gradient boosted trees that learn here from the programs that the model learned from");
  arguments.Add("--target", flags->target, kFeatureTargetHelp).ShowsDefault();
  arguments
      .Add("--split-seed", flags->split_seed,
           "Seed of the split, where a model of an earlier version does not tell which programs it learned from")
      .ShowsDefault();
  arguments.Add("--validation", flags->validation, "Share of programs for validation, likewise")
      .Between(0.0, 0.9)
      .ShowsDefault();
  arguments.Add("--test", flags->test, "Share of programs held out, likewise").Between(0.0, 0.9).ShowsDefault();
  arguments.Add("--test-programs", flags->test_programs,
                "File with the programs to evaluate on, one a line, instead of those that no model learned from");
  arguments.AddFlag("--all", flags->all, "Evaluate on everything, training programs included");
  arguments.Add("--scatter", flags->scatter, "Write a scatter plot of predicted against measured to this SVG file");
  arguments.Add("--kernels", flags->kernels,
                "Write every kernel with a time, measured and predicted, to this CSV file: where a model is wrong");
  arguments.AddFlag("--json", flags->json, "Machine-readable table on standard output");
  return [flags] { return Eval(*flags); };
}

}  // namespace smelt::cli
