#include "tuner/session.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "fusion/apply.h"
#include "fusion/config_file.h"
#include "fusion/heuristics/heuristics.h"
#include "fusion/legality.h"
#include "fusion/target.h"
#include "hlo/status_macros.h"
#include "hlo/text/printer.h"
#include "kernels/codegen/codegen.h"
#include "kernels/space/tiles.h"
#include "tuner/records/records.h"
#include "tuner/search/fusion_state.h"
#include "tuner/session_report.h"
#include "tuner/verify.h"

namespace smelt::tuner {
namespace {

using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

double Since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// A configuration with its tiles, as it goes to the child.
struct Trial {
  fusion::Config config;
  std::map<std::string, std::string> tiles;
  double predicted = 0;  // seconds
};

class Session {
 public:
  Session(const Program& program, const TuneOptions& options, gnn::Predictor& predictor)
      : program_(program), options_(options), predictor_(predictor), runner_(Worker(options), options.policy) {}

  absl::StatusOr<TuneReport> Run() {
    SMELT_RETURN_IF_ERROR(Open());
    SMELT_ASSIGN_OR_RETURN(fusion::Space space, fusion::Space::Build(program_.module(), fusion::FusionTarget::Cpu()));
    space_ = &space;
    SMELT_ASSIGN_OR_RETURN(default_.config, FusionConfig(space, program_.flat, "priority", options_.target));
    SMELT_ASSIGN_OR_RETURN(default_.predicted, Predict(default_.config));
    report_.default_predicted = default_.predicted;
    best_ = default_;
    SMELT_ASSIGN_OR_RETURN(
        fusion::Config start,
        FusionConfig(space, program_.flat,
                     options_.start == "random" ? absl::StrCat("random:", options_.seed) : options_.start,
                     options_.target));
    Log(absl::StrCat(program_.path, ": ", space.size(), " decisions, start ", options_.start, ", seed ", options_.seed,
                     ", model: ", predictor_.Describe()));
    if (options_.mode == TuneMode::kModel) {
      SMELT_RETURN_IF_ERROR(SearchModel(start));
    } else {
      SMELT_RETURN_IF_ERROR(SearchHardware(start));
    }
    if (options_.tiles && options_.mode == TuneMode::kModel) SMELT_RETURN_IF_ERROR(TuneTiles());
    SMELT_RETURN_IF_ERROR(Decide());
    SMELT_RETURN_IF_ERROR(WriteAnswer());
    report_.hardware_seconds = HardwareSeconds();
    report_.cancelled = Cancelled();
    return report_;
  }

 private:
  static WorkerOptions Worker(const TuneOptions& options) {
    WorkerOptions worker = options.worker;
    if (options.target.threads == 1) worker.cpu = MeasuringCpu();
    return worker;
  }
  bool Cancelled() const { return options_.cancel != nullptr && *options_.cancel; }
  double HardwareSeconds() const { return runner_.hardware_seconds() + known_seconds_; }
  bool BudgetLeft() const { return !Cancelled() && HardwareSeconds() < options_.hardware_seconds; }

  absl::Status Open() {
    std::error_code error;
    fs::create_directories(options_.folder, error);
    if (error) return absl::UnavailableError(absl::StrCat(options_.folder, ": cannot be made: ", error.message()));
    log_.open(Path("log.txt"), std::ios::app);
    if (!log_) return absl::UnavailableError(absl::StrCat(Path("log.txt"), ": cannot be written"));
    SMELT_ASSIGN_OR_RETURN(records_, Records::Open(Path("records.db")));
    return absl::OkStatus();
  }
  std::string Path(const char* name) const { return (fs::path(options_.folder) / name).string(); }
  void Log(const std::string& line) { log_ << line << std::endl; }
  void Progress(const std::string& line) const {
    if (options_.progress) std::fprintf(stderr, "\r%-110s", line.substr(0, 110).c_str());
  }

  absl::StatusOr<double> Predict(const fusion::Config& config) {
    SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<FusionState> state, FusionState::Create(*space_, config, predictor_));
    return state->cost();
  }

  Candidate ToCandidate(const Trial& trial) const {
    return {hlo::ToText(*fusion::Apply(*space_, trial.config), {}), trial.tiles};
  }

  RecordKey KeyOf(const Trial& trial) const {
    hlo::Hasher hasher;
    hasher.Add(space_->fingerprint()).Add(ConfigText(trial.config));
    for (const auto& [hash, tile] : trial.tiles) hasher.Add(hash).Add(tile);
    return {hasher.Finish().ToHex(), options_.target.ToString(), DeviceName(), kernels::codegen::CompilerVersion(),
            options_.policy.ToString()};
  }

  // Times a trial beside the default, or takes its record. Its relative time is the score: below 1 is better than the
  // default.
  absl::StatusOr<Outcome> Measure(const Trial& trial) {
    const RecordKey key = KeyOf(trial);
    SMELT_ASSIGN_OR_RETURN(std::optional<Record> known, records_->Find(key));
    if (known) {
      ++report_.known;
      known_seconds_ += known->hardware_seconds;
      return known->outcome;
    }
    const Candidate reference = ToCandidate(default_), candidate = ToCandidate(trial);
    const double before = runner_.hardware_seconds();
    Outcome outcome =
        runner_.TimeProgram(candidate, reference, options_.policy.repeats, options_.policy.seconds, /*kernel_rounds=*/0)
            .outcome;
    // A new best must be right before it counts.
    if (outcome.ok() && outcome.relative() < best_relative_) {
      SMELT_ASSIGN_OR_RETURN(const std::string difference, Check(candidate));
      if (!difference.empty()) {
        outcome.failure = Failure::kWrongAnswer;
        outcome.message = difference;
      }
    }
    Record record{key,
                  "program",
                  absl::StrCat("config ", ConfigText(trial.config)),
                  trial.predicted,
                  outcome,
                  runner_.hardware_seconds() - before,
                  0};
    SMELT_RETURN_IF_ERROR(records_->Add(record));
    ++report_.measured;
    if (!outcome.ok()) {
      ++report_.failed;
      Log(absl::StrCat("trial ", key.subject, ": ", std::string(FailureName(outcome.failure)), ": ", outcome.message));
    } else {
      Log(absl::StrFormat("trial %s: predicted %.4f ms, %.4f of the default", key.subject, 1e3 * trial.predicted,
                          outcome.relative()));
    }
    return outcome;
  }

  // Empty when the candidate computes what the evaluator computes on the unfused program; otherwise what differs.
  absl::StatusOr<std::string> Check(const Candidate& candidate) {
    if (!verifier_) {
      SMELT_ASSIGN_OR_RETURN(verifier_, Verifier::Create(*program_.original, options_.cancel));
    }
    absl::StatusOr<std::vector<hlo::Literal>> outputs = runner_.Outputs(candidate, Path("outputs.safetensors"));
    if (!outputs.ok()) return std::string(outputs.status().message());
    return verifier_->Compare(*outputs);
  }

  void Consider(const Trial& trial, const Outcome& outcome) {
    if (!outcome.ok() || outcome.relative() >= best_relative_) return;
    best_relative_ = outcome.relative();
    best_ = trial;
  }

  absl::Status SearchModel(const fusion::Config& start) {
    const int chains = std::max(1, options_.chains);
    std::vector<AnnealingResult> results(chains);
    std::vector<absl::Status> statuses(chains);
    std::atomic<int64_t> moves{0};
    const auto begin = Clock::now();
    auto run = [&](int chain) -> absl::Status {
      // Chains start at the start and, every other one, at the default too, so that a bad start costs time and not the
      // result.
      SMELT_ASSIGN_OR_RETURN(std::unique_ptr<FusionState> state, FusionState::Create(*space_, start, predictor_));
      AnnealingOptions annealing;
      annealing.moves = std::max<int64_t>(options_.moves / chains, 1);
      annealing.keep = options_.candidates;
      annealing.seed = options_.seed * 7919 + static_cast<uint64_t>(chain);
      int64_t last = 0;
      annealing.proceed = [&, chain](int64_t done, double best) {
        const int64_t total = moves += done - last;
        last = done;
        if (chain == 0) {
          const double seconds = Since(begin), rate = static_cast<double>(total) / std::max(seconds, 1e-6);
          Progress(absl::StrFormat(
              "search: %d of %d moves, %.0f a second, best predicted %.4f ms (default %.4f), %.0f s left", total,
              options_.moves, rate, 1e3 * best, 1e3 * default_.predicted,
              static_cast<double>(options_.moves - total) / std::max(rate, 1.0)));
        }
        return !Cancelled();
      };
      SMELT_ASSIGN_OR_RETURN(results[chain], Anneal(*state, annealing));
      return absl::OkStatus();
    };
    const int workers = std::max(1, std::min<int>(chains, static_cast<int>(std::thread::hardware_concurrency())));
    std::atomic<int> next{0};
    std::vector<std::thread> threads;
    for (int w = 0; w < workers; ++w) {
      threads.emplace_back([&] {
        for (int chain; (chain = next++) < chains;) statuses[chain] = run(chain);
      });
    }
    for (std::thread& thread : threads) thread.join();
    std::map<std::string, double> distinct;
    for (int chain = 0; chain < chains; ++chain) {
      SMELT_RETURN_IF_ERROR(statuses[chain]);
      report_.moves += results[chain].moves;
      for (const ScoredState& state : results[chain].best) distinct.emplace(state.snapshot, state.cost);
    }
    report_.moves_per_second = static_cast<double>(report_.moves) / std::max(Since(begin), 1e-9);
    std::vector<std::pair<double, std::string>> ranked;
    for (const auto& [text, cost] : distinct) ranked.push_back({cost, text});
    std::sort(ranked.begin(), ranked.end());
    if (static_cast<int64_t>(ranked.size()) > options_.candidates) ranked.resize(options_.candidates);
    const std::string default_text = ConfigText(default_.config);
    size_t tried = 0;
    for (const auto& [cost, text] : ranked) {
      if (!BudgetLeft()) break;
      ++tried;
      if (text == default_text) continue;
      SMELT_ASSIGN_OR_RETURN(fusion::Config config, ConfigFromText(text, space_->size()));
      const Trial trial{std::move(config), {}, cost};
      SMELT_ASSIGN_OR_RETURN(const Outcome outcome, Measure(trial));
      Consider(trial, outcome);
      Progress(absl::StrFormat("measure: %d of %d configurations, best %.4f of the default, %.0f of %.0f s", tried,
                               ranked.size(), std::min(best_relative_, 1.0), HardwareSeconds(),
                               options_.hardware_seconds));
    }
    return absl::OkStatus();
  }

  // The papers' baseline: annealing with measurements alone.
  absl::Status SearchHardware(const fusion::Config& start) {
    Random random(options_.seed);
    std::uniform_real_distribution<double> uniform(0, 1);
    const auto begin = Clock::now();
    fusion::Config current = fusion::Legalize(*space_, start);
    double current_relative = 1;
    {
      const Trial trial{current, {}, 0};
      SMELT_ASSIGN_OR_RETURN(const Outcome outcome, Measure(trial));
      Consider(trial, outcome);
      current_relative = outcome.ok() ? outcome.relative() : 1e9;
    }
    while (BudgetLeft() && space_->size() > 0) {
      fusion::Evaluator evaluator(*space_, current);
      const int32_t decision = static_cast<int32_t>(random() % static_cast<uint64_t>(space_->size()));
      evaluator.Apply(random() % 4 == 0 ? fusion::PatternMove(*space_, space_->PatternOf(decision), random() % 2 == 0)
                                        : fusion::FlipMove(decision));
      if (++report_.moves > 1000000) break;  // a space so small that nothing changes any more
      if (!evaluator.changed()) continue;
      const Trial trial{evaluator.config(), {}, 0};
      SMELT_ASSIGN_OR_RETURN(const Outcome outcome, Measure(trial));
      Consider(trial, outcome);
      Progress(absl::StrFormat("hardware search: %d moves, best %.4f of the default, %.0f of %.0f s", report_.moves,
                               std::min(best_relative_, 1.0), HardwareSeconds(), options_.hardware_seconds));
      if (!outcome.ok()) continue;
      const double temperature = 0.03 * std::max(0.01, 1 - HardwareSeconds() / options_.hardware_seconds);
      const double worse = std::log(outcome.relative() / current_relative);
      if (worse <= 0 || uniform(random) < std::exp(-worse / temperature)) {
        current = evaluator.config();
        current_relative = outcome.relative();
      }
    }
    report_.moves_per_second = static_cast<double>(report_.moves) / std::max(Since(begin), 1e-9);
    return absl::OkStatus();
  }

  // Tiles of the kernels that take most of the time of the best program so far: ranked by the model, the first few
  // measured.
  absl::Status TuneTiles() {
    if (Cancelled()) return absl::OkStatus();
    const Runner::ProgramResult timed =
        runner_.TimeProgram(ToCandidate(best_), ToCandidate(default_), 3, options_.policy.seconds, 5);
    if (!timed.outcome.ok()) return absl::OkStatus();
    std::map<std::string, double> seconds_of;
    std::map<std::string, std::string> name_of;
    for (const Runner::KernelTime& kernel : timed.kernels) {
      if (kernel.opaque) continue;
      seconds_of[kernel.hash] += kernel.seconds;
      name_of[kernel.hash] = kernel.name;
    }
    std::vector<std::pair<double, std::string>> order;
    for (const auto& [hash, seconds] : seconds_of) order.push_back({-seconds, hash});
    std::sort(order.begin(), order.end());
    if (static_cast<int64_t>(order.size()) > options_.tiled_kernels) order.resize(options_.tiled_kernels);

    const std::unique_ptr<hlo::Module> fused = fusion::Apply(*space_, best_.config);
    SMELT_ASSIGN_OR_RETURN(const std::vector<fusion::Kernel> kernels, fusion::ExtractKernels(*fused));
    Trial tiled = best_;
    // Tiles get as much time again as configurations had, so that a long list of kernels cannot take the night.
    const double limit = HardwareSeconds() + std::max(options_.hardware_seconds * 0.5, 1.0);
    for (const auto& [negative, hash] : order) {
      auto kernel =
          std::find_if(kernels.begin(), kernels.end(), [&](const fusion::Kernel& k) { return k.hash.ToHex() == hash; });
      if (kernel == kernels.end() || Cancelled() || HardwareSeconds() > limit) continue;
      const auto tiles = kernels::space::EnumerateTiles(kernel->computation(), options_.target, 200);
      if (!tiles.ok() || tiles->size() < 2) continue;
      absl::StatusOr<std::vector<double>> scores =
          predictor_.HasTileTask() ? predictor_.ScoreTiles(*kernel, *tiles)
                                   : gnn::Predictor::Analytical(options_.target)->ScoreTiles(*kernel, *tiles);
      if (!scores.ok()) continue;
      std::vector<size_t> ranked(tiles->size());
      for (size_t i = 0; i < ranked.size(); ++i) ranked[i] = i;
      std::stable_sort(ranked.begin(), ranked.end(), [&](size_t a, size_t b) { return (*scores)[a] < (*scores)[b]; });
      const Runner::KernelResult usual = runner_.TimeKernel(*kernel, (*tiles)[0]);
      if (!usual.outcome.ok()) continue;
      double best = usual.outcome.best();
      size_t chosen = 0;
      for (size_t r = 0; r < ranked.size() && static_cast<int64_t>(r) < options_.tiles_per_kernel && !Cancelled();
           ++r) {
        if (ranked[r] == 0) continue;
        const Runner::KernelResult result = runner_.TimeKernel(*kernel, (*tiles)[ranked[r]]);
        if (!result.outcome.ok() || result.outcome.best() > best * 0.97) continue;
        best = result.outcome.best();
        chosen = ranked[r];
      }
      Progress(
          absl::StrFormat("tiles: %s %.1f us, default %.1f us", kernel->name, 1e6 * best, 1e6 * usual.outcome.best()));
      if (chosen == 0) continue;
      tiled.tiles[hash] = (*tiles)[chosen].ToString();
      report_.tiles.push_back({name_of[hash], usual.outcome.best(), best, (*tiles)[chosen].ToString()});
    }
    if (tiled.tiles.empty()) return absl::OkStatus();
    SMELT_ASSIGN_OR_RETURN(const Outcome outcome, Measure(tiled));
    Consider(tiled, outcome);
    if (best_.tiles.empty()) report_.tiles.clear();
    return absl::OkStatus();
  }

  // Default and best in interleaved rounds; the default wins unless the gain is beyond twice the noise.
  absl::Status Decide() {
    const Candidate usual = ToCandidate(default_);
    const bool same = ConfigText(best_.config) == ConfigText(default_.config) && best_.tiles.empty();
    std::vector<Candidate> candidates = {usual};
    if (!same) candidates.push_back(ToCandidate(best_));
    const std::vector<Outcome> outcomes =
        runner_.TimePrograms(candidates, options_.final_rounds, 3 * options_.policy.seconds);
    if (!outcomes[0].ok()) {
      return absl::InternalError(absl::StrCat(
          program_.path, ": the default program cannot be measured: ", std::string(FailureName(outcomes[0].failure)),
          ": ", outcomes[0].message));
    }
    report_.default_seconds = outcomes[0].median();
    report_.best_seconds = report_.default_seconds;
    report_.noise = RelativeSpread(outcomes[0].seconds);
    if (!same && outcomes[1].ok()) {
      const double gain = 1 - outcomes[1].median() / outcomes[0].median();
      report_.noise = std::max(report_.noise, RelativeSpread(outcomes[1].seconds));
      report_.improved = gain > 2 * report_.noise;
      if (report_.improved) report_.best_seconds = outcomes[1].median();
    }
    if (!report_.improved) {
      best_ = default_;
      report_.tiles.clear();
    }
    if (Cancelled()) return absl::OkStatus();  // the evaluator would be cancelled, too: `verified` stays false
    SMELT_ASSIGN_OR_RETURN(const std::string difference, Check(ToCandidate(best_)));
    report_.verified = difference.empty();
    if (!report_.verified) {
      Log(absl::StrCat("the answer differs from the evaluator: ", difference));
      if (report_.improved)
        return absl::InternalError(
            absl::StrCat(program_.path, ": the tuned program differs from the evaluator: ", difference));
    }
    return absl::OkStatus();
  }

  // Standard error of the median, relative, from the middle half of the rounds.
  static double RelativeSpread(std::vector<double> seconds) {
    if (seconds.size() < 4) return 0.05;
    std::sort(seconds.begin(), seconds.end());
    const double quartiles = seconds[seconds.size() * 3 / 4] - seconds[seconds.size() / 4];
    return 1.25 * quartiles / 1.35 / std::sqrt(static_cast<double>(seconds.size())) / seconds[seconds.size() / 2];
  }

  absl::Status WriteAnswer() {
    SMELT_ASSIGN_OR_RETURN(report_.best_predicted, Predict(best_.config));
    fusion::SavedConfig saved{best_.config, report_.best_predicted, report_.best_seconds, best_.tiles};
    SMELT_RETURN_IF_ERROR(fusion::SaveConfig(Path("best.fusion.json"), *space_, saved));
    const std::unique_ptr<hlo::Module> usual = fusion::Apply(*space_, default_.config),
                                       tuned = fusion::Apply(*space_, best_.config);
    SMELT_RETURN_IF_ERROR(WriteFile(Path("fused.hlo"), hlo::ToText(*tuned, {})));
    SMELT_RETURN_IF_ERROR(NameChangedKernels(*usual, *tuned, &report_));
    report_.hardware_seconds = HardwareSeconds();
    return WriteFile(Path("report.txt"), FormatReport(program_.path, options_, report_));
  }

  const Program& program_;
  const TuneOptions& options_;
  gnn::Predictor& predictor_;
  Runner runner_;
  std::unique_ptr<Records> records_;
  std::unique_ptr<Verifier> verifier_;
  std::ofstream log_;
  const fusion::Space* space_ = nullptr;
  Trial default_, best_;
  double best_relative_ = 1;
  double known_seconds_ = 0;
  TuneReport report_;
};

}  // namespace

absl::StatusOr<TuneReport> Tune(const Program& program, const TuneOptions& options, gnn::Predictor& predictor) {
  return Session(program, options, predictor).Run();
}

}  // namespace smelt::tuner
