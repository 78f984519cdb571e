// The `smelt` tool: a table of verbs.
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/limits.h"
#include "cli/verb.h"

namespace smelt::cli {
namespace {

constexpr Verb kVerbs[] = {
    {"inspect", "Opcodes, flops, bytes, fusible edges and kernels of a module",
     "smelt inspect models/resnet18.hlo --fusion=priority", AddInspect, true},
    {"opt", "Runs graph passes and a fusion, prints the module",
     "smelt opt models/dqn.hlo --passes=default --fusion=tvm -o fused.hlo", AddOpt, true},
    {"run", "Compiles and runs a module, checks it against a golden file or the evaluator",
     "smelt run models/dqn.hlo --golden=models/golden/dqn.safetensors", AddRun, true},
    {"bench", "Latency of a module, in total and by kernel", "smelt bench models/dqn.hlo --threads=1 --json", AddBench,
     true},
    {"tune", "Searches fusion configurations and tiles, measures the best, verifies, writes a run folder",
     "smelt tune models/dqn.hlo --out=run --budget=10", AddTune},
    {"predict", "Predicted seconds by kernel and in total",
     "smelt predict models/dqn.hlo --model=models/cpu.smeltmodel", AddPredict, true},
    {"rank", "Tile sizes of a kernel, best first", "smelt rank models/dqn.hlo --model=models/cpu.smeltmodel", AddRank,
     true},
    {"profile", "Measures kernels of modules into a corpus",
     "smelt profile models/dqn.hlo --task=fusion -o corpus --configs=20", AddProfile},
    {"train", "Trains a model on a corpus", "smelt train corpus -o model.smeltmodel --epochs=20", AddTrain},
    {"eval", "Errors of a model on a corpus, beside the baselines", "smelt eval models/cpu.smeltmodel corpus", AddEval},
    {"fuzz", "Random modules under random fusions, compiled against evaluated; minimises what differs",
     "smelt fuzz --modules=20 --seed=1 --out=findings", AddFuzz},
    {"reduce", "Shrinks a module while a command keeps failing on it",
     "smelt reduce models/dqn.hlo -o small.hlo -- sh -c '! grep -q convolution $0' {}", AddReduce},
    {"embed", "Compiles kernels for calls from a module that XLA compiles", "smelt embed models/dqn.hlo --out=embedded",
     AddEmbed, true},
    {"opcodes", "What is supported, opcode by opcode, as Markdown", "smelt opcodes > docs/hlo-support.md", AddOpcodes},
};

int Smelt(int argc, char** argv) {
  CLI::App app("Smelt: fusion autotuner and performance predictor for XLA HLO programs", "smelt");
  app.require_subcommand(1);
  app.set_version_flag("--version", "smelt 0.1.0");
  Action chosen;
  for (const Verb& verb : kVerbs) {
    CLI::App* sub = app.add_subcommand(std::string(verb.name), std::string(verb.summary));
    sub->footer(absl::StrCat("Example:\n  ", std::string(verb.example)));
    auto limits = std::make_shared<Limits>();
    if (verb.limited) AddLimits(*sub, *limits);
    sub->callback([&chosen, &verb, limits, action = verb.add(*sub)] {
      chosen = [&verb, limits, action] {
        Impose(*limits, verb.name);
        return action();
      };
    });
  }
  CLI::App* worker = app.add_subcommand("measure-worker", "")->group("");
  worker->callback([&chosen, action = AddMeasureWorker(*worker)] { chosen = action; });
  return Main(app, chosen, argc, argv);
}

}  // namespace
}  // namespace smelt::cli

int main(int argc, char** argv) { return smelt::cli::Smelt(argc, argv); }
