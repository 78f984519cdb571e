#include "targets/xla/xla_target.h"

#include <mutex>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "fusion/config_file.h"
#include "fusion/kernel_cost.h"
#include "fusion/rules.h"
#include "targets/xla/choices.h"
#include "targets/xla/kernel_loop.h"
#include "targets/xla/loop_rules.h"
#include "targets/xla/own_fusions.h"
#include "targets/xla/predictor.h"
#include "targets/xla/tiles.h"

namespace smelt::xla {
namespace {

// The start that XLA's own fusions are.
constexpr char kOwnFusions[] = "xla-fusions";
constexpr char kCompiler[] = "XLA";

std::string AnswerInWords(const std::string& compiler) {
  return compiler == kOwnChoice ? "XLA's own choice: --fusion=xla" : "XLA without its library: --fusion=xla-no-library";
}

class XlaCpuTarget : public targets::Target {
 public:
  XlaCpuTarget(cpu::Target processor, XlaCpuOptions options)
      : processor_(std::move(processor)), options_(std::move(options)) {}

  machine::TargetId id() const override { return {kKind, processor_.name, processor_.threads}; }
  std::string RecordName() const override {
    return machine::TargetId{.kind = kKind, .threads = processor_.threads}.ToString();
  }
  std::string CompilerVersion() const override { return kXlaVersion; }
  const machine::Machine& machine() const override { return processor_; }
  fusion::Rules rules() const override { return LoopRules(); }

  absl::StatusOr<std::unique_ptr<targets::Tunable>> Open(const std::string& path,
                                                         const std::string& fusion) const override {
    SMELT_ASSIGN_OR_RETURN(const measure::WorkerOptions options, Worker());
    measure::KeptWorker worker(options);
    SMELT_ASSIGN_OR_RETURN(XlaProgram program, LoadXlaProgram(path, worker, CompileSeconds()));
    if (targets::IsFusionName(fusion) || IsOwnChoice(fusion)) return MakeTunable(*this, std::move(program));
    // A configuration may be one of the program with XLA's library fusions as they are.
    SMELT_ASSIGN_OR_RETURN(const fusion::Space space, XlaSpace(program.program));
    if (!fusion::LoadConfig(fusion, space).ok()) {
      SMELT_ASSIGN_OR_RETURN(XlaProgram kept, LoadXlaProgram(path, worker, CompileSeconds()));
      if (TakeLibraryFusions(worker, CompileSeconds(), &kept).ok()) {
        SMELT_ASSIGN_OR_RETURN(const fusion::Space other, XlaSpace(kept.program));
        if (fusion::LoadConfig(fusion, other).ok()) return MakeTunable(*this, std::move(kept));
      }
    }
    return MakeTunable(*this, std::move(program));
  }
  absl::StatusOr<std::unique_ptr<targets::Tunable>> Prepare(const std::string& path, const std::string& folder,
                                                            const measure::Budget& budget,
                                                            std::vector<std::string>* notes) const override {
    StartOptions start = options_.start;
    start.folder = folder;
    SMELT_ASSIGN_OR_RETURN(const measure::WorkerOptions worker, Worker());
    SMELT_ASSIGN_OR_RETURN(XlaProgram program, PrepareToTune(path, worker, kPolicy, start, budget, notes));
    return MakeTunable(*this, std::move(program));
  }
  absl::StatusOr<measure::Candidate> Default(const std::string& path) const override {
    SMELT_ASSIGN_OR_RETURN(XlaProgram program, ReadXlaProgram(path));
    return std::move(program.xla_default);
  }
  absl::StatusOr<std::unique_ptr<targets::Tunable>> Take(std::unique_ptr<hlo::Module> module,
                                                         const std::string&) const override {
    XlaProgram program;
    SMELT_ASSIGN_OR_RETURN(program.program.flat, FlatProgram(*module));
    program.program.original = std::move(module);
    return MakeTunable(*this, std::move(program));
  }
  std::optional<targets::CompilersOwn> compilers_own() const override {
    return targets::CompilersOwn{kCompiler, kOwnChoice, AnswerInWords(kOwnChoice)};
  }

  // The one that comes with the tool, or the rough cost.
  absl::StatusOr<std::unique_ptr<gnn::Predictor>> OpenPredictor(const std::string& name) const override {
    const std::string model = name.empty() ? ShippedXlaModelPath() : name;
    if (model.empty() || model == "analytical") return RoughPredictor();
    return LearnedPredictor(model, processor_);
  }
  absl::StatusOr<double> RoughSeconds(const fusion::Kernel& kernel) const override {
    return fusion::KernelSeconds(*kernel.module, LoopRules());
  }
  std::function<double(const hlo::Computation&)> HeuristicCost() const override { return nullptr; }
  bool IsNothing(const fusion::Kernel& kernel) const override {
    return kernel.computation().root()->opcode() == hlo::Opcode::kBitcast && fusion::IsFree(kernel.computation());
  }

  measure::DeviceFactory NewDevice(targets::DeviceUse) const override {
    return [this](double start_seconds) -> absl::StatusOr<std::unique_ptr<measure::Device>> {
      SMELT_ASSIGN_OR_RETURN(const measure::WorkerOptions worker, Worker());
      return measure::LocalChild(worker)(start_seconds);
    };
  }
  std::optional<double> BuildSeconds() const override { return CompileSeconds(); }
  measure::Runner::KernelResult TimeKernel(measure::Runner& runner, const fusion::Kernel& kernel,
                                           const std::string& way, const fusion::Kernel* reference) const override {
    LoopFusionOptions options{.threads = processor_.threads};
    if (!way.empty()) options.tiles[kernel.hash.ToHex()] = way;
    return {.outcome = TimeKernelOnXla(runner, kernel, options, reference)};
  }
  std::optional<fusion::Kernel> EmptyKernel() const override { return xla::EmptyKernel(); }

 private:
  // The policy of the trials that decide between XLA's two settings.
  static constexpr measure::MeasurePolicy kPolicy{.repeats = 5, .seconds = 1.0};

  static bool IsOwnChoice(const std::string& fusion) {
    return fusion == kOwnChoiceFusion || fusion == kWithoutLibraryFusion;
  }

  double CompileSeconds() const { return options_.start.compile_seconds; }

  absl::StatusOr<measure::WorkerOptions> Worker() const {
    const std::lock_guard lock(mutex_);
    if (!worker_) {
      SMELT_ASSIGN_OR_RETURN(worker_, options_.find_worker());
    }
    return *worker_;
  }

  const cpu::Target processor_;
  const XlaCpuOptions options_;
  mutable std::mutex mutex_;
  mutable std::optional<measure::WorkerOptions> worker_;
};

class XlaTunable : public targets::Tunable {
 public:
  XlaTunable(const targets::Target& target, XlaProgram program, fusion::Space space)
      : target_(target),
        program_(std::move(program)),
        space_(std::move(space)),
        choices_(program_, program_.program.module(), target.machine().threads),
        usual_{fusion::Config(space_.size()), {}, 0, kOwnChoice} {
    notes_.push_back(absl::StrCat("choices beside fusion: ", choices_.Describe()));
    if (program_.fused_by_xla != nullptr) FindOwn();
  }

  const targets::Target& target() const override { return target_; }
  const targets::Program& program() const override { return program_.program; }
  const fusion::Space& space() const override { return space_; }
  const targets::Trial& usual() const override { return usual_; }
  std::string CompilerName() const override { return kCompiler; }

  absl::StatusOr<targets::Trial> Named(const std::string& name) const override {
    if (name == kOwnChoiceFusion) return usual_;
    targets::Trial trial;
    trial.config = fusion::Config(space_.size());
    if (name == kWithoutLibraryFusion) {
      trial.compiler = kOwnChoiceWithoutLibrary;
    } else if (name == kOwnFusions && own_) {
      trial.config = *own_;
    } else if (targets::IsFusionName(name)) {
      SMELT_ASSIGN_OR_RETURN(trial.config,
                             targets::NamedFusion(space_, program_.program.flat, name, target_.HeuristicCost()));
    } else {
      SMELT_ASSIGN_OR_RETURN(const fusion::SavedConfig saved, fusion::LoadConfig(name, space_));
      trial.config = saved.config;
      trial.tiles = {saved.tiles.begin(), saved.tiles.end()};
    }
    return trial;
  }
  measure::Candidate ToCandidate(const targets::Trial& trial) const override {
    return XlaTrial(program_, space_, trial.config, trial.tiles, trial.compiler, threads());
  }
  std::unique_ptr<hlo::Module> Fused(const targets::Trial& trial) const override {
    return LoopFusionProgram(space_, trial.config, trial.tiles, threads());
  }

  bool TimesKernelsAlone() const override { return true; }
  std::vector<targets::Start> starts() const override {
    std::vector<targets::Start> starts = {{kOwnChoiceWithoutLibrary, /*by_compiler=*/true}};
    if (own_) starts.push_back({kOwnFusions, false, /*kernels_alone=*/true});
    starts.push_back({"priority", false, /*kernels_alone=*/true});
    // The rules of XLA's fusion stand in for its fusions where these are not known.
    if (!own_) starts.push_back({"xla-cpu"});
    starts.push_back({"none"});
    return starts;
  }
  const std::optional<fusion::Config>& own_fusions() const override { return own_; }
  std::vector<std::string> notes() const override { return notes_; }

  const targets::KnobChoices& kernel_knobs() const override { return choices_.kernels(); }
  const targets::KnobChoices& knobs() const override { return choices_.all(); }
  // A convolution in the library and as a function differs by up to twenty times.
  bool WaysDifferMuch(const std::string& key) const override {
    const auto ways = kernel_knobs().find(key);
    return ways != kernel_knobs().end() && absl::c_linear_search(ways->second, kCallTile);
  }
  bool IsPlain(const targets::Knobs& knobs) const override { return choices_.IsPlain(knobs); }
  std::vector<targets::Knobs> WholeProgram() const override { return choices_.WholeProgram(); }
  targets::Knobs CompilersChoice() const override { return choices_.Library(); }
  bool SameKernels(const targets::Knobs& one, const targets::Knobs& other) const override {
    return SameCalls(one, other);
  }

  std::string NameOf(const std::string& key) const override { return choices_.Name(key); }
  std::string Words(const std::string& key, const std::string& way) const override {
    const std::string name = NameOf(key);
    if (way == kLibraryTile) return absl::StrCat("library runs ", name, " and its equals");
    return absl::StrCat(way == kCallTile ? "a function of its own: " : "on one thread: ", name);
  }
  std::string AnswerWords(const std::string& compiler) const override { return AnswerInWords(compiler); }

 private:
  int threads() const { return target_.machine().threads; }

  void FindOwn() {
    OwnFusionsReport found;
    absl::StatusOr<fusion::Config> own = OwnFusions(space_, *program_.fused_by_xla, &found);
    if (!own.ok()) {
      notes_.push_back(absl::StrCat("XLA's own fusions are no start: ", std::string(own.status().message())));
      return;
    }
    own_ = *std::move(own);
    notes_.push_back(absl::StrCat("of XLA's ", found.fusions, " own fusions ", found.found,
                                  " have all their instructions here, ", own_->Count(), " of ", found.edges,
                                  " edges are legal"));
    for (const auto& [reason, count] : found.refused) notes_.push_back(absl::StrCat("  ", reason, ": ", count));
  }

  const targets::Target& target_;
  const XlaProgram program_;
  const fusion::Space space_;
  const Choices choices_;
  const targets::Trial usual_;
  std::optional<fusion::Config> own_;
  std::vector<std::string> notes_;
};

}  // namespace

std::unique_ptr<targets::Target> XlaCpu(cpu::Target processor, XlaCpuOptions options) {
  return std::make_unique<XlaCpuTarget>(std::move(processor), std::move(options));
}

absl::StatusOr<std::unique_ptr<targets::Tunable>> MakeTunable(const targets::Target& target, XlaProgram program) {
  SMELT_ASSIGN_OR_RETURN(fusion::Space space, XlaSpace(program.program));
  return std::make_unique<XlaTunable>(target, std::move(program), std::move(space));
}

}  // namespace smelt::xla
