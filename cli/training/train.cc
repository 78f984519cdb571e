// smelt train: a corpus in, a model file out.
#include "gnn/train/train.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "cli/interrupt.h"
#include "cli/print_json.h"
#include "cli/split.h"
#include "cli/target.h"
#include "cli/training/training.h"
#include "gnn/boost/boosted_contender.h"
#include "gnn/dataset/dataset.h"
#include "gnn/dataset/similarity.h"
#include "gnn/eval/evaluate.h"
#include "gnn/train/teach_tiles.h"
#include "machine/descriptor.h"
#include "nlohmann/json.hpp"
#include "targets/cpu/codegen/target.h"
#include "tuner/progress.h"

namespace smelt::cli {
namespace {

struct Flags {
  std::string corpus, output, target = "cpu:threads=1", task = "both", model = "graphsage", test_programs, init,
                              figures;
  gnn::TrainOptions train;
  std::string split = "families";
  double validation = 0.1, test = 0.1, learned = 1;
  uint64_t split_seed = 1;
  int64_t teach = 30000;
  bool json = false, restart = false;
};

absl::StatusOr<gnn::Split> SplitOf(const Flags& flags, const gnn::Dataset& data) {
  SMELT_ASSIGN_OR_RETURN(gnn::SplitOptions options,
                         ReadSplit(flags.validation, flags.test, flags.split_seed, flags.test_programs));
  options.learned = flags.learned;
  if (flags.split == "programs") return gnn::SplitByProgram(data, options);
  if (flags.split == "least-similar" && flags.test > 0 && flags.test_programs.empty()) {
    options.test_programs = gnn::LeastSimilarPrograms(data, flags.test);
    if (options.test_programs.empty()) {
      return UsageError(
          absl::StrCat("--split=least-similar: all programs of ", flags.corpus,
                       " are of one family, none is less like the others; --split=programs holds out some"));
    }
  }
  options.families = gnn::Families(data);
  gnn::Split split = gnn::SplitByProgram(data, options);
  if (!split.train.empty()) return split;
  std::fprintf(stderr,
               "%s: its programs are of too few families to hold out whole ones; single programs are held out\n",
               flags.corpus.c_str());
  options.families.clear();
  return gnn::SplitByProgram(data, options);
}

// Boosted trees that learned from the timed tiles rank those of kernels that have none, for the network.
absl::Status TeachTiles(const gnn::Split& split, gnn::Dataset* data) {
  const auto timed = [&](int64_t i) { return !data->examples[i].tile_seconds.empty(); };
  const auto untimed = [&](int64_t i) { return !timed(i) && !data->examples[i].tile_analytical.empty(); };
  if (std::none_of(split.train.begin(), split.train.end(), timed) ||
      std::none_of(split.train.begin(), split.train.end(), untimed))
    return absl::OkStatus();
  SMELT_ASSIGN_OR_RETURN(const gnn::Contender trees, gnn::BoostedContender(*data, split.train, {.times = false}));
  SMELT_ASSIGN_OR_RETURN(const int64_t taught, gnn::TeachTiles(trees, split.train, data));
  std::fprintf(stderr, "tile: boosted trees rank the tiles of %d further kernels\n", static_cast<int>(taught));
  return absl::OkStatus();
}

absl::Status Train(const Flags& flags) {
  SMELT_ASSIGN_OR_RETURN(FeatureTarget target, ReadFeatureTarget(flags.target));
  WarnOfThreads(flags.train.threads);
  // Features are made with the machine's figures: those that the model to begin with has learned from.
  gnn::ModelFile init;
  if (const std::string& figures = flags.figures.empty() ? flags.init : flags.figures; !figures.empty()) {
    SMELT_ASSIGN_OR_RETURN(init, gnn::LoadModel(figures));
    SMELT_RETURN_IF_ERROR(target.machine.SetFigures(init.target_figures));
  }
  if (!flags.init.empty()) {
    SMELT_ASSIGN_OR_RETURN(init, gnn::LoadModel(flags.init));
  }
  // Otherwise with those of the machine that the corpus tells; where it tells none, this one's.
  const gnn::LoadOptions load{.untimed_kernels = flags.task == "fusion" ? 0 : flags.teach,
                              .machine_of_records = flags.init.empty() && flags.figures.empty(),
                              .estimate_of = [&](const machine::TargetId& told) { return target.EstimateOf(told); }};
  SMELT_ASSIGN_OR_RETURN(gnn::Dataset data, gnn::LoadDataset(flags.corpus, target.machine, load));
  for (const std::string& warning : data.warnings) std::fprintf(stderr, "%s\n", warning.c_str());
  SMELT_ASSIGN_OR_RETURN(const gnn::Split split, SplitOf(flags, data));
  std::fprintf(stderr, "%zu kernels of %zu programs: %zu to train, %zu to validate, %zu held out\n",
               data.examples.size(), data.Programs().size(), split.train.size(), split.validation.size(),
               split.test.size());
  SMELT_RETURN_IF_ERROR(TeachTiles(split, &data));
  gnn::ModelFile file;
  // The corpus says whose kernels it timed; one that does not is taken for our own, on the machine of the features.
  file.target = (data.target.kind.empty() ? target.id : data.target).ToString();
  file.target_figures = data.machine.Figures();
  file.machine = machine::DescribeMachine(data.machine);
  file.device = data.device;
  file.compiler = data.compiler;
  file.policy = data.policy;
  file.analytical_factors = gnn::FitAnalyticalFactors(data, split.train);
  nlohmann::json json_tasks = nlohmann::json::object();
  std::set<std::string> trained_on;
  for (int64_t i : split.train) trained_on.insert(data.examples[i].program);
  std::set<std::string> programs = trained_on;
  for (int64_t i : split.validation) programs.insert(data.examples[i].program);
  if (!flags.init.empty()) programs.insert(init.programs.begin(), init.programs.end());
  // Where the model to begin with does not tell what it learned from, this one cannot.
  if (flags.init.empty() || !init.programs.empty()) file.programs.assign(programs.begin(), programs.end());
  file.summary = absl::StrCat(flags.init.empty() ? flags.model : "a given model, further", " trained on ",
                              split.train.size(), " kernels of ", trained_on.size(), " programs for ", file.target);
  Interrupt interrupt;
  std::optional<tuner::Progress> line(std::in_place);
  for (const auto& [name, task] :
       {std::pair<std::string, gnn::Task>{"fusion", gnn::Task::kFusion}, {"tile", gnn::Task::kTile}}) {
    if (interrupt.Requested() || (flags.task != "both" && flags.task != name)) continue;
    gnn::TrainOptions options = flags.train;
    options.task = task;
    options.kind = flags.model == "lstm" ? gnn::NetworkKind::kLstm : gnn::NetworkKind::kGraphSage;
    if (!flags.init.empty()) {
      const auto task_model = init.tasks.find(name);
      if (task_model == init.tasks.end()) {
        if (flags.task == "both") continue;
        return absl::InvalidArgumentError(absl::StrCat(flags.init, ": has no network for the ", name, " task"));
      }
      options.init = &task_model->second;
    }
    options.checkpoint = absl::StrCat(flags.output, ".", name, ".checkpoint");
    if (flags.restart) {
      std::error_code error;
      std::filesystem::remove(options.checkpoint, error);
      if (error) {
        return absl::UnavailableError(
            absl::StrCat(options.checkpoint, ": cannot be removed, as --restart asks: ", error.message()));
      }
    }
    options.progress = [&, task_name = name, first_epoch = int64_t{-1}](const gnn::TrainProgress& p) mutable {
      if (first_epoch < 0) first_epoch = p.epoch - 1;  // of this run; a resumed one begins later
      const double left =
          p.seconds / static_cast<double>(p.epoch - first_epoch) * static_cast<double>(p.epochs - p.epoch);
      line->Update(absl::StrFormat("%s epoch %d/%d  loss %.4f  validation %s %.4f  %.0f s, at most %.0f s left",
                                   task_name, p.epoch, p.epochs, p.train_loss,
                                   task_name == "tile" ? "1-tau" : "log error", p.validation, p.seconds, left));
      return !interrupt.Requested();
    };
    gnn::TrainReport report;
    absl::StatusOr<gnn::TaskModel> model = gnn::TrainTask(data, split, options, &report);
    if (!model.ok() && flags.task == "both" && name == "tile" && absl::IsInvalidArgument(model.status())) {
      line->Say(absl::StrCat("no tile task: ", model.status().message()));
      continue;
    }
    if (!model.ok()) return model.status();
    if (report.resumed_epoch > 0)
      line->Say(absl::StrCat(name, ": went on from epoch ", report.resumed_epoch, " of ", options.checkpoint));
    file.tasks[name] = *std::move(model);
    absl::StrAppend(&file.summary, "; ", name, ": ", report.epochs, " epochs, validation ",
                    absl::StrFormat(name == "tile" ? "1-tau %.3f" : "log error %.3f", report.best_validation));
    json_tasks[name] = {{"epochs", report.epochs}, {"validation", report.best_validation}, {"seconds", report.seconds}};
  }
  line.reset();
  if (file.tasks.contains("fusion")) {
    SMELT_ASSIGN_OR_RETURN(file.log_deviation, gnn::LogDeviation(data, split.validation, file.tasks["fusion"]));
  }
  if (file.tasks.empty() && interrupt.Requested()) return Interrupt::End("nothing was learned yet");
  SMELT_RETURN_IF_ERROR(gnn::SaveModel(flags.output, file));
  // An interrupted training keeps its checkpoint, so that the same command goes on.
  if (!interrupt.Requested()) {
    for (const char* name : {"fusion", "tile"}) {
      const std::string checkpoint = absl::StrCat(flags.output, ".", name, ".checkpoint");
      std::error_code error;
      std::filesystem::remove(checkpoint, error);
      if (error)
        std::fprintf(stderr, "%s: cannot be removed (%s); it is needed no more\n", checkpoint.c_str(),
                     error.message().c_str());
    }
  }
  if (flags.json) {
    PrintJson({{"model", flags.output},
               {"kernels", data.examples.size()},
               {"tasks", json_tasks},
               {"interrupted", interrupt.Requested()}});
  } else {
    std::printf("%s: %s\n", flags.output.c_str(), file.summary.c_str());
  }
  return Interrupt::End(
      absl::StrCat(flags.output, " is the model so far; the same command goes on from its checkpoint"));
}

}  // namespace

Action AddTraining(Arguments& arguments) {
  auto flags = std::make_shared<Flags>();
  arguments.Add("CORPUS", flags->corpus, "Corpus folder, or several separated by commas").Required();
  arguments.Add(kOutputFlag, flags->output, "Model file to write").Required();
  arguments.Add("--task", flags->task, "fusion, tile or both").OneOf({"fusion", "tile", "both"}).ShowsDefault();
  arguments.Add("--model", flags->model, "graphsage or lstm").OneOf({"graphsage", "lstm"}).ShowsDefault();
  arguments.Add("--target", flags->target, kFeatureTargetHelp).ShowsDefault();
  arguments.Add("--epochs", flags->train.epochs, "Passes over the training set").Between(1, 100000).ShowsDefault();
  arguments.Add("--hidden", flags->train.hidden, "Width of the network").Between(8, 1024).ShowsDefault();
  arguments.Add("--layers", flags->train.layers, "GraphSAGE layers").Between(0, 8).ShowsDefault();
  arguments.Add("--learning-rate", flags->train.learning_rate, "First learning rate").Positive().ShowsDefault();
  arguments
      .Add("--linear-beyond", flags->train.linear_beyond,
           "Errors of log time from which on the loss grows linearly; 0: squared everywhere")
      .Between(0.0, 100.0)
      .ShowsDefault();
  arguments.Add("--average", flags->train.average, "What a step leaves of the average of weights; 0: none is formed")
      .Between(0.0, 0.99999)
      .ShowsDefault();
  arguments.Add("--dropout", flags->train.dropout, "Share of values set to zero while training")
      .Between(0.0, 0.9)
      .ShowsDefault();
  arguments.Add("--patience", flags->train.patience, "Epochs without a better validation error before it ends")
      .Positive()
      .ShowsDefault();
  arguments.Add("--seed", flags->train.seed, "Seed of weights and order").ShowsDefault();
  arguments
      .Add("--split", flags->split,
           "What is held out: families of programs that are alike, whole; programs, whatever they are; or the "
           "programs that are least like the others")
      .OneOf({"families", "programs", "least-similar"})
      .ShowsDefault();
  arguments.Add("--split-seed", flags->split_seed, "Seed of the split: which programs are held out").ShowsDefault();
  arguments.Add("--threads", flags->train.threads, "Threads of LibTorch; 0: its choice")
      .Between(0, 1024)
      .ShowsDefault();
  arguments.Add("--validation", flags->validation, "Share of programs for validation").Between(0.0, 0.9).ShowsDefault();
  arguments.Add("--test", flags->test, "Share of programs held out for `smelt eval`").Between(0.0, 0.9).ShowsDefault();
  arguments.Add("--test-programs", flags->test_programs,
                "File with the programs to hold out, one a line, instead of those of --split");
  arguments.Add("--learn", flags->learned, "Share of the programs left that it learns from, for learning curves")
      .Between(0.001, 1.0)
      .ShowsDefault();
  arguments
      .Add("--teach", flags->teach,
           "Kernels without timed tiles whose tiles are ranked for the network by boosted trees of the timed ones")
      .Between(0, 1000000000)
      .ShowsDefault();
  arguments.Add("--init", flags->init,
                "Model to begin with instead of random weights (fine-tuning); its shape and figures of the machine "
                "are kept");
  arguments.Add("--figures", flags->figures,
                "Model whose figures of the machine features are made with, for models that are to be compared");
  arguments.AddFlag("--restart", flags->restart, "Ignore a checkpoint of an interrupted training");
  arguments.AddFlag("--json", flags->json, "Machine-readable summary on standard output");
  return [flags] { return Train(*flags); };
}

}  // namespace smelt::cli
