#include "targets/xla/xla_target.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "fusion/kernel_cost.h"
#include "fusion/rules.h"
#include "targets/xla/choices.h"
#include "targets/xla/kernel_loop.h"
#include "targets/xla/loop_rules.h"
#include "targets/xla/own_fusions.h"
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
  XlaCpuTarget(cpu::Target processor, measure::WorkerOptions worker, double compile_seconds)
      : processor_(std::move(processor)), worker_(std::move(worker)), compile_seconds_(compile_seconds) {}

  machine::TargetId id() const override { return {kKind, processor_.name, processor_.threads}; }
  std::string RecordName() const override {
    return machine::TargetId{.kind = kKind, .threads = processor_.threads}.ToString();
  }
  std::string CompilerVersion() const override { return kXlaVersion; }
  const machine::Machine& machine() const override { return processor_; }

  absl::StatusOr<targets::Program> Load(const std::string& path) const override {
    SMELT_ASSIGN_OR_RETURN(XlaProgram program, LoadXlaProgram(path, worker_, compile_seconds_));
    return std::move(program.program);
  }
  absl::StatusOr<fusion::Space> SpaceOf(const targets::Program& program) const override { return XlaSpace(program); }

  absl::StatusOr<double> RoughSeconds(const fusion::Kernel& kernel) const override {
    return fusion::KernelSeconds(*kernel.module, LoopRules());
  }
  bool IsNothing(const fusion::Kernel& kernel) const override {
    return kernel.computation().root()->opcode() == hlo::Opcode::kBitcast && fusion::IsFree(kernel.computation());
  }
  measure::Runner::KernelResult TimeKernel(measure::Runner& runner, const fusion::Kernel& kernel,
                                           const std::string& way) const override {
    LoopFusionOptions options{.threads = processor_.threads};
    if (!way.empty()) options.tiles[kernel.hash.ToHex()] = way;
    return {.outcome = TimeKernelOnXla(runner, kernel, options)};
  }
  std::optional<fusion::Kernel> EmptyKernel() const override { return xla::EmptyKernel(); }
  bool HasTiles() const override { return false; }
  bool KeepsCode() const override { return false; }

 private:
  const cpu::Target processor_;
  const measure::WorkerOptions worker_;
  const double compile_seconds_;
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

  absl::StatusOr<fusion::Config> Named(const std::string& name) const override {
    if (name == kOwnFusions && own_) return *own_;
    return XlaFusionConfig(space_, program_.program, name);
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

std::unique_ptr<targets::Target> XlaCpu(cpu::Target processor, measure::WorkerOptions worker, double compile_seconds) {
  return std::make_unique<XlaCpuTarget>(std::move(processor), std::move(worker), compile_seconds);
}

targets::CompilersOwn OwnChoice() { return {kCompiler, kOwnChoice, AnswerInWords(kOwnChoice)}; }

absl::StatusOr<std::unique_ptr<targets::Tunable>> MakeTunable(const targets::Target& target, XlaProgram program) {
  SMELT_ASSIGN_OR_RETURN(fusion::Space space, XlaSpace(program.program));
  return std::make_unique<XlaTunable>(target, std::move(program), std::move(space));
}

}  // namespace smelt::xla
