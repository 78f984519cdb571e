// One module, several fusion configurations: does the compiled program give what the evaluator gives?
//
//   TrialOptions options{.seed = 7, .target = cpu::ParseTarget("cpu:threads=1").value()};
//   Verdict verdict = TryModule(module, options);        // in this process
//   Verdict other = VerdictOf(child_outcome);            // of a child whose work was TryModule
//
// Also checked on the way: the module's text reads back to the same program; it verifies after the passes and after
// each fusion. Configuration 0 is `priority`, 1 is no fusion, the others are random legal ones with random tiles; the
// last of five runs on two threads.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "fuzz/trial/child.h"
#include "fuzz/trial/leaves.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "targets/cpu/codegen/target.h"

namespace smelt::fuzz {

enum class VerdictKind : uint8_t {
  kAgrees,
  kRefused,   // the evaluator does not run it: there is nothing to compare with
  kUnstable,  // the results differ, but no more than rounding alone moves them (stability.h)
  kMismatch,  // from here on: findings
  kError,     // what the evaluator runs is refused, or something does not verify
  kCrash,
  kHang,
  kMemory,
};

struct Verdict {
  VerdictKind kind = VerdictKind::kAgrees;
  std::string stage;   // "text", "passes", "fusion", "compile", "run", ...: where
  std::string detail;  // for a person
  int config = -1;
  bool IsFinding() const { return kind >= VerdictKind::kMismatch; }
  // The same thing went wrong, as far as a reducer should care.
  bool SameAs(const Verdict& other) const { return kind == other.kind && stage == other.stage; }
};
std::string_view VerdictName(VerdictKind kind);

// LeafError is the usual one; tests put another in its place.
using CompareLeaf = std::function<double(const hlo::Literal& want, const hlo::Literal& got)>;

struct TrialOptions {
  uint64_t seed = 0;  // of inputs, fusions and tiles
  int configs = 5;
  int only_config = -1;  // one of them alone
  cpu::Target target;
  double evaluate_seconds = 10;
  std::string folder;  // where a finding's configuration and inputs are written, if anywhere
  CompareLeaf compare = LeafError;
};

Verdict TryModule(const hlo::Module& module, const TrialOptions& options, Report* report = nullptr);

// The name of configuration `config`: as `smelt run --fusion` takes it.
std::string FusionName(uint64_t seed, int config);

// For the way from the child to its parent.
std::string ToText(const Verdict& verdict);
Verdict VerdictOf(const ChildOutcome& outcome);

}  // namespace smelt::fuzz
