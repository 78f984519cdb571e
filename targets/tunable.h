// A program made ready to be tuned for a target: where its search starts, what it may choose, how a choice is built.
//
//   Trial trial = tunable.usual();                    // the default, which an answer has to beat
//   trial = tunable.Named("none").value();
//   measure::Candidate candidate = tunable.ToCandidate(trial);
//
// What is chosen beside fusions are knobs: an entry says what stands at a key, and no entry is the ordinary way. Keys
// of kernels are their hashes, so that equal ones share a choice.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fusion/config.h"
#include "fusion/space.h"
#include "hlo/module.h"
#include "measure/runner.h"
#include "targets/program.h"
#include "targets/target.h"

namespace smelt::targets {

using Knobs = std::map<std::string, std::string>;
// What may stand at each key, beside nothing.
using KnobChoices = std::map<std::string, std::vector<std::string>>;

// One way to run the program.
struct Trial {
  fusion::Config config;
  Knobs tiles;
  double predicted_seconds = 0;  // 0: not predicted
  std::string compiler;          // a whole program as the target's compiler makes it by itself, and no configuration
};

// A program that the search measures first.
struct Start {
  std::string name;            // of a configuration (Tunable::Named), or of one of the compiler's own programs
  bool by_compiler = false;    // the latter
  bool kernels_alone = false;  // its kernels are timed one by one before it
};

class Tunable {
 public:
  virtual ~Tunable() = default;

  virtual const Target& target() const = 0;
  virtual const Program& program() const = 0;
  virtual const fusion::Space& space() const = 0;

  virtual const Trial& usual() const = 0;
  // Who made the default, where it is no configuration of ours: its results judge where the evaluator's differ. Empty:
  // nobody else.
  virtual std::string CompilerName() const { return {}; }
  // The way to run the program that --fusion names: one of Kind::fusions, of targets::kFusionHelp, or a file.
  virtual absl::StatusOr<Trial> Named(const std::string& name) const = 0;
  virtual measure::Candidate ToCandidate(const Trial& trial) const = 0;
  // A configuration applied, as the target takes it.
  virtual std::unique_ptr<hlo::Module> Fused(const Trial& trial) const = 0;

  // Whether the search times kernels alone, and goes by what whole programs take beyond them.
  virtual bool TimesKernelsAlone() const { return false; }
  virtual std::vector<Start> starts() const { return {}; }
  // The compiler's own fusions as a configuration, where they are known.
  virtual const std::optional<fusion::Config>& own_fusions() const;
  // Lines for the log: what is known of the program.
  virtual std::vector<std::string> notes() const { return {}; }

  // What may be chosen of single kernels, and of all.
  virtual const KnobChoices& kernel_knobs() const;
  virtual const KnobChoices& knobs() const;
  // What may stand at the key of a kernel; by default, of kernel_knobs().
  virtual std::vector<std::string> WaysOf(const fusion::Kernel& kernel) const;
  // Whether a kernel's ways may differ so much that it is timed first, whatever is predicted.
  virtual bool WaysDifferMuch(const std::string&) const { return false; }
  // Whether the program consists of kernels that can be timed alone.
  virtual bool IsPlain(const Knobs& knobs) const { return knobs.empty(); }
  // What times of single kernels do not tell: each is for all of a program.
  virtual std::vector<Knobs> WholeProgram() const { return {}; }
  // What the compiler would choose for every kernel.
  virtual Knobs CompilersChoice() const { return {}; }
  // What the trial's results may differ by, over what others may: more than 1 where a way that was chosen for a kernel
  // declares it, as Winograd's algorithm does.
  virtual double ErrorFactor(const Trial&) const { return 1; }
  // Whether both run the same kernels, as far as times of kernels alone go.
  virtual bool SameKernels(const Knobs& one, const Knobs& other) const { return one == other; }

  // Words for people: for a key, for a knob in an answer, and for an answer that is no configuration.
  virtual std::string NameOf(const std::string& key) const { return key; }
  virtual std::string Words(const std::string& key, const std::string& way) const;
  virtual std::string AnswerWords(const std::string& compiler) const { return compiler; }
};

// Programs of a target that takes fused HLO text: there is nothing to choose but fusions, and what stands at the hashes
// of kernels.
class FusionTunable : public Tunable {
 public:
  // `target` must outlive it. SetDefault comes before anything else.
  FusionTunable(const Target& target, Program program, fusion::Space space);
  absl::Status SetDefault(const std::string& fusion);

  const Target& target() const override { return target_; }
  const Program& program() const override { return program_; }
  const fusion::Space& space() const override { return space_; }
  const Trial& usual() const override { return usual_; }
  absl::StatusOr<Trial> Named(const std::string& name) const override;
  measure::Candidate ToCandidate(const Trial& trial) const override;
  std::unique_ptr<hlo::Module> Fused(const Trial& trial) const override;
  double ErrorFactor(const Trial& trial) const override;

 protected:
  // Whether a configuration file's text can stand at a kernel's hash: by default, whether it is a tile.
  virtual absl::Status CheckWay(const std::string& way) const;

 private:
  const Target& target_;
  const Program program_;
  const fusion::Space space_;
  Trial usual_;
};

// Such a program, where kernels have tiles at most.
absl::StatusOr<std::unique_ptr<Tunable>> TuneFusions(const Target& target, Program program, const std::string& fusion);

}  // namespace smelt::targets
