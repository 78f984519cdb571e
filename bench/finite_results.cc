// Under which made inputs do programs have results that say something? A verification compares finite numbers alone: a
// program whose results are all NaN under every kind of inputs (measure/test_inputs.h) cannot be verified.
//
//   build/release/bench/finite_results MODULE...
//
// Compiled as `smelt run` does, run once under each kind of inputs until all results are finite. A line a program: the
// kind that served best, the share of its results that are finite, and which integer parameters choose among few
// elements. Exit status 1 where a program has no finite result, or cannot be run.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "bench/run_program.h"
#include "measure/test_inputs.h"
#include "measure/verify.h"
#include "targets/cpu/processor/detect.h"
#include "targets/cpu/program/executable.h"
#include "targets/program.h"

namespace smelt {
namespace {

struct Found {
  measure::TestInputs inputs;
  double finite = -1;
};

absl::StatusOr<Found> Try(const std::string& path, const cpu::Target& target) {
  SMELT_ASSIGN_OR_RETURN(const targets::Program program, targets::LoadProgram(path));
  SMELT_ASSIGN_OR_RETURN(const targets::FusedProgram fused, targets::FuseProgram(program, "priority", target));
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<cpu::Executable> executable,
                         cpu::Executable::Compile(*fused.module, target, {}));
  Found best;
  measure::TestInputs inputs = measure::TestInputs::Of(*program.original, measure::kInputKinds.front());
  for (const measure::InputKind kind : measure::kInputKinds) {
    inputs.kind = kind;
    SMELT_ASSIGN_OR_RETURN(const std::vector<hlo::Literal> made, measure::MakeInputs(*program.original, inputs));
    std::vector<const hlo::Literal*> arguments, results;
    for (const hlo::Literal& literal : made) arguments.push_back(&literal);
    SMELT_ASSIGN_OR_RETURN(const std::vector<hlo::Literal> got, executable->Run(arguments));
    for (const hlo::Literal& literal : got) {
      if (literal.IsArray()) results.push_back(&literal);
    }
    const double finite = measure::FiniteShare(results);
    if (finite > best.finite) best = {inputs, finite};
    if (finite == 1) break;
  }
  return best;
}

absl::Status TryAll(const std::vector<std::string>& modules) {
  SMELT_ASSIGN_OR_RETURN(const cpu::Target target, cpu::ParseTarget("cpu:threads=1"));
  int none = 0, whole = 0, failed = 0;
  for (const std::string& path : modules) {
    const absl::StatusOr<Found> found = Try(path, target);
    if (!found.ok()) {
      std::fprintf(stderr, "%s: %s\n", path.c_str(), std::string(found.status().message()).c_str());
      ++failed;
      continue;
    }
    std::string limits;
    for (const auto& [leaf, limit] : found->inputs.limits)
      limits += ", leaf " + std::to_string(leaf) + " below " + std::to_string(limit);
    std::printf("%s: %s, %.4f finite%s\n", path.c_str(),
                std::string(measure::InputKindName(found->inputs.kind)).c_str(), found->finite, limits.c_str());
    std::fflush(stdout);
    none += found->finite == 0;
    whole += found->finite == 1;
  }
  std::printf("%d of %zu have finite results only, %d none; %d cannot be run\n", whole, modules.size(), none, failed);
  return none + failed == 0 ? absl::OkStatus() : bench::FailedQuietly();
}

cli::Action Declare(cli::Arguments& arguments) {
  auto modules = std::make_shared<std::vector<std::string>>();
  arguments.Add("MODULE", *modules, "Modules").Required();
  return [modules] { return TryAll(*modules); };
}

}  // namespace
}  // namespace smelt

int main(int argc, char** argv) {
  return smelt::bench::RunProgram("finite_results", "Under which made inputs do programs have finite results?",
                                  smelt::Declare, argc, argv);
}
