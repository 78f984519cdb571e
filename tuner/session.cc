#include "tuner/session.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "fusion/apply.h"
#include "fusion/config_file.h"
#include "fusion/target.h"
#include "hlo/status_macros.h"
#include "hlo/text/printer.h"
#include "hlo/write_file.h"
#include "tuner/comparison.h"
#include "tuner/configuration_search.h"
#include "tuner/hardware_search.h"
#include "tuner/session_report.h"
#include "tuner/session_state.h"
#include "tuner/tile_search.h"
#include "tuner/xla/loop_fusions.h"
#include "tuner/xla/own_fusions.h"
#include "tuner/xla/session_steps.h"

namespace smelt::tuner {
namespace {

// Shares of the hardware budget that configurations may take; the rest is for tiles, and under XLA for kernels and
// loops tried one by one in their other ways, in the best program.
constexpr double kBeforeTilesShare = 0.7, kBeforeXlaChoicesShare = 0.8;

class Session {
 public:
  Session(const Program& program, const fusion::Space& space, const TuneOptions& options, gnn::Predictor& predictor,
          Trial usual)
      : program_(program),
        space_(space),
        options_(options),
        state_(program, space, options, predictor, std::move(usual)),
        trials_(state_.trials),
        report_(state_.report) {}

  absl::StatusOr<TuneReport> Run() {
    SMELT_RETURN_IF_ERROR(trials_.Open(options_.folder));
    if (options_.xla == nullptr) {
      SMELT_ASSIGN_OR_RETURN(report_.default_predicted, state_.Predict(trials_.usual().config));
    }
    const std::string spec = options_.start == "random" ? absl::StrCat("random:", options_.seed) : options_.start;
    SMELT_ASSIGN_OR_RETURN(const fusion::Config start, state_.Named(spec));
    trials_.Log(absl::StrCat(program_.path, ": ", space_.size(), " decisions, start ", options_.start, ", seed ",
                             options_.seed, ", model: ", state_.predictor.Describe()));
    if (options_.xla != nullptr) xla_.emplace(state_);
    // An interruption ends the search, and what was found until then is the answer.
    const absl::Status searched = Search(start);
    if (!searched.ok() && !absl::IsCancelled(searched)) return searched;
    const absl::Status decided = Decide();
    if (!decided.ok() && !absl::IsCancelled(decided)) return decided;
    SMELT_RETURN_IF_ERROR(xla_ ? WriteXlaAnswer() : WriteAnswer());
    SMELT_RETURN_IF_ERROR(WriteReport());
    return report_;
  }

 private:
  absl::Status Search(const fusion::Config& start) {
    state_.Progress("evaluating the program, to compare with");
    SMELT_RETURN_IF_ERROR(trials_.PrepareVerifier());
    // The default in turn with itself: the first measurement, and its kernels' times.
    SMELT_ASSIGN_OR_RETURN(const TrialResult usual, state_.Measure(trials_.usual()));
    if (!usual.outcome.ok()) {
      return absl::InternalError(absl::StrCat(
          program_.path, ": the default program cannot be measured: ", std::string(FailureName(usual.outcome.failure)),
          ": ", usual.outcome.message));
    }
    state_.usual_outcome = usual.outcome;
    state_.best_kernels = usual.kernels;
    if (xla_) SMELT_RETURN_IF_ERROR(xla_->MeasureStarts());
    if (space_.size() > 0) {
      if (options_.mode == TuneMode::kHardware) return SearchHardware(state_, start);
      const double share = options_.tiles               ? kBeforeTilesShare
                           : xla_ && xla_->HasChoices() ? kBeforeXlaChoicesShare
                                                        : 1.0;
      SMELT_RETURN_IF_ERROR(ConfigurationSearch(state_, xla_ ? &*xla_ : nullptr, share).Run(start));
    }
    if (xla_) return xla_->TuneChoices();
    if (options_.tiles && options_.mode == TuneMode::kModel) return TuneTiles();
    return absl::OkStatus();
  }

  absl::Status TuneTiles() {
    TileSearchOptions search;
    search.kernels = options_.tiled_kernels;
    search.tiles_per_kernel = options_.tiles_per_kernel;
    search.target = options_.target;
    search.proceed = [&](const std::string& line) {
      state_.Progress(absl::StrCat(line, "; ", state_.BestSoFar()));
      return state_.BudgetLeft(1);
    };
    Trial trial = trials_.best();
    SMELT_ASSIGN_OR_RETURN(const std::vector<TileChoice> choices,
                           SearchTiles(trials_, space_, trial, state_.best_kernels, state_.predictor, search));
    if (choices.empty()) return absl::OkStatus();
    for (const TileChoice& choice : choices) {
      trial.tiles[choice.hash] = choice.tile;
      report_.tiles.push_back({choice.name, choice.default_seconds, choice.seconds, choice.tile});
    }
    return state_.Measure(trial).status();
  }

  // The default, or the best that was measured if it is better beyond noise. `answer_` and the report's times say
  // which.
  absl::Status Decide() {
    answer_ = trials_.usual();
    if (state_.usual_outcome) report_.default_seconds = report_.best_seconds = state_.usual_outcome->median();
    const bool same = trials_.best_outcome() == nullptr;
    if (state_.Cancelled()) {
      // No time for a comparison: the trial's own rounds, in turn with the default, decide.
      if (same) return absl::OkStatus();
      const Outcome& outcome = *trials_.best_outcome();
      Accept(CompareRounds({outcome.reference_seconds}, {outcome.seconds}));
      report_.verified = report_.improved && trials_.why_unchecked().empty();  // as every new best was
      return absl::OkStatus();
    }
    state_.Progress(absl::StrCat("comparing with the default; ", state_.BestSoFar()));
    const ComparisonOptions comparison{
        .children = options_.final_children, .rounds = options_.final_rounds, .seconds = 2 * options_.policy.seconds};
    const Candidate usual = trials_.ToCandidate(trials_.usual());
    std::optional<Candidate> same_library;
    if (xla_ && xla_->own() && !same && trials_.best().compiler.empty())
      same_library = trials_.ToCandidate({*xla_->own(), trials_.best().tiles, 0});
    const absl::StatusOr<Comparison> compared =
        CompareInterleaved(trials_.runner(), usual, trials_.ToCandidate(trials_.best()), comparison,
                           same_library ? &*same_library : nullptr);
    if (state_.Cancelled()) return Decide();
    if (!compared.ok()) return compared.status();
    if (same) {
      report_.default_seconds = report_.best_seconds = compared->usual_seconds;
      report_.noise = compared->noise;
    } else {
      Accept(*compared);
    }
    SMELT_ASSIGN_OR_RETURN(Trials::Check check, trials_.Verify(answer_));
    if (check.Refutes() && report_.improved) {
      // Right when it became the best and wrong now: nothing to rely on.
      trials_.Log(absl::StrCat("the tuned program differs from the evaluator: ", check.difference));
      report_.improved = false;
      report_.best_seconds = report_.default_seconds;
      answer_ = trials_.usual();
      SMELT_ASSIGN_OR_RETURN(check, trials_.Verify(answer_));
    }
    report_.verified = check.verdict == Trials::Verdict::kRight;
    report_.difference = check.difference;
    if (!check.difference.empty())
      trials_.Log(absl::StrCat("the default differs from the evaluator: ", check.difference));
    return absl::OkStatus();
  }

  void Accept(const Comparison& compared) {
    report_.default_seconds = report_.best_seconds = compared.usual_seconds;
    report_.noise = compared.noise;
    report_.improved = compared.better;
    if (!compared.better) return;
    report_.best_seconds = compared.tuned_seconds;
    report_.same_library_seconds = compared.other_seconds;
    answer_ = trials_.best();
  }

  absl::Status WriteAnswer() {
    if (answer_.tiles.empty()) report_.tiles.clear();
    const std::unique_ptr<hlo::Module> usual = fusion::Apply(space_, trials_.usual().config),
                                       tuned = fusion::Apply(space_, answer_.config);
    SMELT_RETURN_IF_ERROR(WriteProgram(*tuned));
    return NameChangedKernels(*usual, *tuned, &report_);
  }

  // Where the answer is XLA's own choice, there is no configuration.
  absl::Status WriteXlaAnswer() {
    report_.answer = answer_.compiler.empty() ? "as_given" : answer_.compiler;
    std::error_code ignored;
    for (const char* name : {kConfigFile, kProgramFile}) std::filesystem::remove(trials_.Path(name), ignored);
    if (!answer_.compiler.empty()) return absl::OkStatus();
    for (const auto& [key, tile] : answer_.tiles)
      (tile == xla::kLibraryTile ? report_.library
       : tile == xla::kCallTile  ? report_.called
                                 : report_.uncut)
          .push_back(xla_->Name(key));
    return WriteProgram(*xla::LoopFusionProgram(space_, answer_.config, answer_.tiles, options_.target.threads));
  }

  absl::Status WriteProgram(const hlo::Module& tuned) {
    SMELT_ASSIGN_OR_RETURN(report_.best_predicted, state_.Predict(answer_.config));
    fusion::SavedConfig saved{answer_.config, report_.best_predicted, {}, answer_.tiles};
    saved.target = {space_.target().name, options_.target.cpu, options_.target.threads};
    if (report_.best_seconds > 0) saved.measured_seconds = report_.best_seconds;
    SMELT_RETURN_IF_ERROR(fusion::SaveConfig(trials_.Path(kConfigFile), space_, saved));
    return WriteFile(trials_.Path(kProgramFile), hlo::ToText(tuned, {}));
  }

  absl::Status WriteReport() {
    report_.unchecked = trials_.why_unchecked();
    report_.noisy = trials_.noisy();
    report_.cancelled = state_.Cancelled();
    report_.measured = trials_.measured();
    report_.known = trials_.known();
    report_.failed = trials_.failed();
    report_.hardware_seconds = trials_.hardware_seconds();
    return WriteFile(trials_.Path("report.txt"), FormatReport(program_.path, options_, report_));
  }

  static constexpr char kConfigFile[] = "best.fusion.json", kProgramFile[] = "fused.hlo";

  const Program& program_;
  const fusion::Space& space_;
  const TuneOptions& options_;
  SessionState state_;
  Trials& trials_;
  TuneReport& report_;
  std::optional<xla::SessionSteps> xla_;  // --target=xla
  Trial answer_;
};

}  // namespace

absl::StatusOr<TuneReport> Tune(const Program& program, const TuneOptions& options, gnn::Predictor& predictor) {
  if (options.xla != nullptr) {
    SMELT_ASSIGN_OR_RETURN(const fusion::Space space, xla::XlaSpace(program));
    return Session(program, space, options, predictor, {fusion::Config(space.size()), {}, 0, "xla"}).Run();
  }
  SMELT_ASSIGN_OR_RETURN(const fusion::Space space, fusion::Space::Build(program.module(), options.rules));
  SMELT_ASSIGN_OR_RETURN(fusion::Config usual, FusionConfig(space, program.flat, "priority", options.target));
  return Session(program, space, options, predictor, {std::move(usual), {}, 0}).Run();
}

}  // namespace smelt::tuner
