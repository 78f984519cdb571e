#include "fuzz/trial/trial.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "fusion/config_file.h"
#include "fusion/kernel.h"
#include "fuzz/generate/generate.h"
#include "fuzz/generate/random.h"
#include "fuzz/trial/expectation.h"
#include "fuzz/trial/leaves.h"
#include "fuzz/trial/stability.h"
#include "hlo/fingerprint.h"
#include "hlo/text/parser.h"
#include "hlo/text/printer.h"
#include "hlo/verifier/verifier.h"
#include "kernels/tiles/tiles.h"
#include "targets/cpu/program/executable.h"
#include "targets/program.h"

namespace smelt::fuzz {
namespace {

using Leaves = std::vector<hlo::Literal>;

class Trial {
 public:
  Trial(const hlo::Module& module, const TrialOptions& options, Report* report)
      : module_(module), options_(options), report_(report) {}

  Verdict Run() {
    Verdict verdict = Prepare();
    for (int config = 0; verdict.kind == VerdictKind::kAgrees && config < options_.configs; ++config) {
      if (options_.only_config < 0 || options_.only_config == config) verdict = RunConfig(config);
    }
    return verdict;
  }

 private:
  void Stage(const std::string& stage) {
    if (report_ != nullptr) report_->Stage(stage);
  }
  static Verdict Fails(const std::string& stage, const absl::Status& status, int config = -1) {
    return {VerdictKind::kError, stage, std::string(status.ToString()), config};
  }

  Verdict Prepare() {
    Stage("text");
    const std::string text = hlo::ToText(module_);
    const absl::StatusOr<std::unique_ptr<hlo::Module>> again = hlo::ParseModule(text);
    if (!again.ok()) return Fails("text", again.status());
    if (hlo::Fingerprint(**again) != hlo::Fingerprint(module_))
      return {VerdictKind::kError, "text", "the text that was printed reads back to another program", -1};

    Stage("evaluate");
    absl::StatusOr<Leaves> inputs = GenerateInputs(module_, options_.seed);
    if (!inputs.ok()) return {VerdictKind::kRefused, "evaluate", std::string(inputs.status().message()), -1};
    inputs_ = *std::move(inputs);
    if (!options_.folder.empty()) {
      const absl::Status written = WriteInputs(options_.folder + "/inputs.safetensors", inputs_);
      if (!written.ok()) return Fails("write", written);
    }
    absl::StatusOr<Leaves> expected = Evaluate(module_);
    if (!expected.ok()) {
      const bool refused = absl::IsUnimplemented(expected.status()) || absl::IsDeadlineExceeded(expected.status());
      return {refused ? VerdictKind::kRefused : VerdictKind::kError, "evaluate",
              std::string(expected.status().ToString()), -1};
    }
    expected_ = *std::move(expected);
    tolerances_ = LeafTolerances(module_);

    Stage("passes");
    absl::StatusOr<targets::Program> program = targets::PrepareProgram(module_.Clone(), "module.hlo");
    if (!program.ok()) return Fails("passes", program.status());
    program_ = *std::move(program);
    const absl::Status verified = hlo::VerifyModule(program_.module());
    if (!verified.ok()) return Fails("passes", verified);
    return {};
  }

  absl::StatusOr<Leaves> Evaluate(const hlo::Module& module) const {
    return EvaluateLeaves(module, inputs_, options_.evaluate_seconds);
  }

  Verdict RunConfig(int config) {
    const std::string name = absl::StrCat("configuration ", config);
    cpu::Target target = options_.target;
    target.threads = config % 5 == 4 ? 2 : 1;
    Stage(absl::StrCat("fusion, ", name));
    absl::StatusOr<targets::FusedProgram> fused =
        targets::FuseProgram(program_, FusionName(options_.seed, config), target);
    if (!fused.ok()) return Fails("fusion", fused.status(), config);
    const absl::Status verified = hlo::VerifyModule(*fused->module);
    if (!verified.ok()) return Fails("fusion", verified, config);
    Stage(absl::StrCat("tiles, ", name));
    if (config >= 2) {
      const absl::Status tiled = ChooseTiles(config, target, *fused);
      if (!tiled.ok()) return Fails("tiles", tiled, config);
    }
    if (!options_.folder.empty()) {
      const absl::Status written = WriteConfig(*fused);
      if (!written.ok()) return Fails("write", written, config);
    }
    Stage(absl::StrCat("compile, ", name));
    auto executable = cpu::Executable::Compile(*fused->module, target, {.schedules = fused->schedules});
    if (!executable.ok()) return Fails("compile", executable.status(), config);
    Stage(absl::StrCat("run, ", name));
    std::vector<const hlo::Literal*> arguments;
    for (const hlo::Literal& input : inputs_) AppendLeaves(input, &arguments);
    absl::StatusOr<Leaves> got = (*executable)->Run(arguments);
    if (!got.ok()) return Fails("run", got.status(), config);
    std::erase_if(*got, [](const hlo::Literal& leaf) { return !leaf.IsArray(); });
    Stage(absl::StrCat("compare, ", name));
    return Compare(*got, *fused->module, config);
  }

  absl::Status ChooseTiles(int config, const cpu::Target& target, targets::FusedProgram& fused) const {
    SMELT_ASSIGN_OR_RETURN(const std::vector<fusion::Kernel> kernels, fusion::ExtractKernels(*fused.module));
    for (const fusion::Kernel& kernel : kernels) {
      const absl::StatusOr<std::vector<kernels::nests::Tile>> tiles =
          kernels::nests::EnumerateTiles(kernel.computation(), target, 12);
      if (!tiles.ok() || tiles->empty()) continue;  // without a loop nest: the compiler says whether that is right
      Random random(options_.seed ^ kernel.hash.low, static_cast<uint64_t>(config));
      fused.schedules[kernel.hash] = random.Pick(*tiles);
    }
    return absl::OkStatus();
  }

  struct Worst {
    size_t leaf = 0;
    double error = 0;
  };
  // The first leaf whose error is beyond its tolerance; error 0 where there is none.
  Worst FindDifference(const Leaves& got) const {
    for (size_t i = 0; i < expected_.size(); ++i) {
      const double error = options_.compare(expected_[i], got[i]);
      if (!(error <= tolerances_[i])) return {i, error};
    }
    return {};
  }

  Verdict Compare(const Leaves& got, const hlo::Module& fused, int config) {
    if (got.size() != expected_.size()) {
      return {VerdictKind::kError, "compare", absl::StrCat("expected ", expected_.size(), " results, got ", got.size()),
              config};
    }
    const Worst worst = FindDifference(got);
    if (worst.error == 0) return {};
    if (RoundingMoves(worst)) return {VerdictKind::kUnstable, "compare", "", config};
    std::string detail = absl::StrCat("out.", worst.leaf, " ", expected_[worst.leaf].shape().ToString(), ": error ",
                                      worst.error, ", tolerance ", tolerances_[worst.leaf], "; ",
                                      FirstDifference(expected_[worst.leaf], got[worst.leaf]));
    // Which step changed the values?
    const auto agrees = [&](const hlo::Module& module) -> std::string {
      const absl::StatusOr<Leaves> values = Evaluate(module);
      if (!values.ok()) return std::string(values.status().message());
      return values->size() == expected_.size() && FindDifference(*values).error == 0 ? "agrees" : "differs";
    };
    absl::StrAppend(&detail, "\n  evaluated after the passes: ", agrees(program_.module()),
                    "\n  evaluated after fusion: ", agrees(fused));
    return {VerdictKind::kMismatch, "compare", std::move(detail), config};
  }

  static std::string FirstDifference(const hlo::Literal& want, const hlo::Literal& got) {
    double largest = 0;
    int64_t at = 0, differing = 0;
    for (int64_t i = 0; i < want.element_count(); ++i) {
      const std::complex<double> x = want.GetComplex(i), y = got.GetComplex(i);
      if (x == y || (std::isnan(x.real()) && std::isnan(y.real()))) continue;
      ++differing;
      const double difference = std::abs(x - y);
      if (std::isnan(difference) || difference > largest)
        at = i, largest = std::isnan(difference) ? HUGE_VAL : difference;
    }
    const std::complex<double> x = want.GetComplex(at), y = got.GetComplex(at);
    return absl::StrCat(differing, " of ", want.element_count(), " elements differ, most at ", at, ": expected ",
                        x.real(), hlo::IsComplex(want.shape().element_type) ? absl::StrCat(",", x.imag()) : "",
                        ", got ", y.real(),
                        hlo::IsComplex(want.shape().element_type) ? absl::StrCat(",", y.imag()) : "");
  }

  // Whether rounding alone moves the leaf by about as much.
  bool RoundingMoves(const Worst& worst) const {
    constexpr int kTrials = 16;
    for (int trial = 0; trial < kTrials; ++trial) {
      const std::unique_ptr<hlo::Module> perturbed = Perturbed(module_, options_.seed + static_cast<uint64_t>(trial));
      const absl::StatusOr<Leaves> moved = Evaluate(*perturbed);
      if (!moved.ok()) continue;
      const double error = LeafError(expected_[worst.leaf], (*moved)[worst.leaf]);
      if (!(worst.error > 2 * error)) return true;
    }
    return false;
  }

  absl::Status WriteConfig(const targets::FusedProgram& fused) const {
    SMELT_ASSIGN_OR_RETURN(const fusion::Space space,
                           fusion::Space::Build(program_.module(), fusion::Rules::OwnKernels()));
    fusion::SavedConfig saved;
    saved.config = fused.config;
    for (const auto& [hash, choice] : fused.schedules) saved.tiles[hash.ToHex()] = kernels::config::ToText(choice);
    return fusion::SaveConfig(absl::StrCat(options_.folder, "/config.fusion.json"), space, saved);
  }

  const hlo::Module& module_;
  const TrialOptions& options_;
  Report* report_;
  Leaves inputs_, expected_;
  std::vector<double> tolerances_;
  targets::Program program_;
};

}  // namespace

std::string_view VerdictName(VerdictKind kind) {
  static constexpr std::string_view kNames[] = {"agrees", "refused", "unstable", "mismatch",
                                                "error",  "crash",   "hang",     "memory"};
  return kNames[static_cast<int>(kind)];
}

std::string FusionName(uint64_t seed, int config) {
  if (config == 0) return "priority";
  if (config == 1) return "none";
  return absl::StrCat("random:", (seed + static_cast<uint64_t>(config)) % 1'000'000'007);
}

Verdict TryModule(const hlo::Module& module, const TrialOptions& options, Report* report) {
  return Trial(module, options, report).Run();
}

std::string ToText(const Verdict& verdict) {
  return JsonText(nlohmann::json{{"kind", static_cast<int>(verdict.kind)},
                                 {"stage", verdict.stage},
                                 {"detail", verdict.detail},
                                 {"config", verdict.config}});
}

Verdict VerdictOf(const ChildOutcome& outcome) {
  Verdict verdict;
  verdict.stage = outcome.stage;
  // "compile, configuration 3"
  const size_t comma = outcome.stage.find(", configuration ");
  if (comma != std::string::npos) {
    verdict.stage = outcome.stage.substr(0, comma);
    verdict.config = std::atoi(outcome.stage.c_str() + comma + 16);
  }
  switch (outcome.kind) {
    case ChildOutcome::Kind::kTimedOut:
      verdict.kind = VerdictKind::kHang;
      verdict.detail = absl::StrCat("no end in ", outcome.stage);
      return verdict;
    case ChildOutcome::Kind::kOutOfMemory:
      verdict.kind = VerdictKind::kMemory;
      verdict.detail = absl::StrCat("beyond the memory limit in ", outcome.stage);
      return verdict;
    case ChildOutcome::Kind::kCrashed:
      verdict.kind = VerdictKind::kCrash;
      verdict.detail = outcome.signal != 0 ? absl::StrCat("signal ", outcome.signal, " in ", outcome.stage)
                                           : absl::StrCat("ended with status ", outcome.status, " in ", outcome.stage);
      if (!outcome.error.empty()) absl::StrAppend(&verdict.detail, "\n", outcome.error);
      return verdict;
    case ChildOutcome::Kind::kFinished:
      break;
  }
  const nlohmann::json json = ParseJson(outcome.text);
  if (!json.is_object())
    return {VerdictKind::kCrash, outcome.stage, "the child ended without a verdict", verdict.config};
  verdict.kind = static_cast<VerdictKind>(json["kind"].get<int>());
  verdict.stage = json["stage"].get<std::string>();
  verdict.detail = json["detail"].get<std::string>();
  verdict.config = json["config"].get<int>();
  return verdict;
}

}  // namespace smelt::fuzz
