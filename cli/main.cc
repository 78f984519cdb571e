// The `smelt` tool: a table of verbs.
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/limits.h"
#include "cli/verb.h"
#include "targets/cpu/codegen/codegen.h"
#include "targets/cpu/processor/detect.h"

namespace smelt::cli {
namespace {

// The order is that in which a reader of the overview may try them: a later example uses what an earlier one wrote.
constexpr Verb kVerbs[] = {
    {"inspect", Use::kLook, "Opcodes, flops, bytes, fusible edges and kernels of a module",
     "smelt inspect models/resnet18.hlo --fusion=priority", AddInspect, true},
    {"opt", Use::kLook, "Runs graph passes and a fusion, prints or converts the module",
     "smelt opt models/dqn.hlo --passes=default --fusion=tvm -o fused.hlo", AddOpt, true},
    {"opcodes", Use::kLook, "What is supported, opcode by opcode, as Markdown", "smelt opcodes > hlo-support.md",
     AddOpcodes},
    {"quantize", Use::kLook, "Makes an int8 program of a float one, calibrated on inputs, and shows its errors",
     "smelt quantize models/dqn.hlo --golden=models/golden/dqn.safetensors --inputs=4 -o int8.hlo", AddQuantize, true},
    {"tune", Use::kTune, "Searches fusion configurations and tiles, measures the best, verifies, writes a run folder",
     "smelt tune models/dqn.hlo --out=run --budget=10", AddTune},
    {"db", Use::kTune, "Records of measurements: lists, filters, merges, exports and imports them, AutoTVM's logs too",
     "smelt db list run/records.db", AddDb, true},
    {"embed", Use::kTune, "Compiles kernels for calls from a module that XLA compiles",
     "smelt embed models/dqn.hlo --out=embedded", AddEmbed, true},
    {"build", Use::kTune, "Compiles a module into a folder that runs without Smelt or a compiler",
     "smelt build models/dqn.hlo --out=dqn.smeltmod", AddBuild, true},
    {"run", Use::kMeasure, "Compiles and runs a module, checks it against a golden file or the evaluator",
     "smelt run models/dqn.hlo --golden=models/golden/dqn.safetensors", AddRun, true},
    {"bench", Use::kMeasure, "Latency of a module, in total and by kernel",
     "smelt bench models/dqn.hlo --threads=1 --json", AddBench, true},
    {"sim", Use::kMeasure, "Simulates a program of the accelerator VDLA: cycles, waits, races, deadlocks",
     "smelt sim models/products.vdla --trace=trace.json --roofline=roofline.svg", AddSim, true},
    {"cache", Use::kMeasure, "What the folder of compiled kernels holds; makes room in it", "smelt cache --trim=500M",
     AddCache},
    {"profile", Use::kMeasure, "Measures kernels of modules into a corpus",
     "smelt profile models/dqn.hlo --task=fusion -o corpus --configs=20", AddProfile},
    {"train", Use::kLearn, "Trains a model on a corpus", "smelt train corpus -o model.smeltmodel --epochs=20",
     AddTrain},
    {"corpus", Use::kLearn,
     "What a corpus holds and how good its labels are; joins, parts, imports and exports corpora",
     "smelt corpus stats corpus", AddCorpus},
    {"calibrate", Use::kLearn, "Adapts the shipped model to this machine, in two minutes",
     "smelt calibrate --seconds=20 -o here.smeltmodel", AddCalibrate},
    {"eval", Use::kLearn, "Errors of a model on a corpus, beside the baselines", "smelt eval model.smeltmodel corpus",
     AddEval},
    {"predict", Use::kLearn, "Predicted seconds by kernel and in total",
     "smelt predict models/dqn.hlo --model=models/cpu.smeltmodel", AddPredict, true},
    {"rank", Use::kLearn, "Tile sizes of a kernel, best first",
     "smelt rank models/dqn.hlo --model=models/cpu.smeltmodel", AddRank, true},
    {"fuzz", Use::kCheck, "Random modules under random fusions, compiled against evaluated; minimises what differs",
     "smelt fuzz --modules=20 --seed=1 --out=findings", AddFuzz},
    {"reduce", Use::kCheck, "Shrinks a module while a command keeps failing on it",
     "smelt reduce models/dqn.hlo -o small.hlo -- sh -c '! grep -q convolution $0' {}", AddReduce},
};

// The headings of the overview, in the order of `Use`.
constexpr const char* kUses[] = {"Look at a module", "Tune it", "Run and measure", "Learn from measurements",
                                 "Check compiled code"};

std::string Version() {
  return absl::StrCat("smelt 0.1.0\ncompiler ", cpu::codegen::CompilerVersion(), "\ntarget ",
                      cpu::DetectTarget(/*measure=*/false).ToString());
}

// What a verb takes: its limits, where it has them, and then its own.
Action Declare(const Verb& verb, Arguments& arguments) {
  auto limits = std::make_shared<Limits>();
  if (verb.limited) AddLimits(arguments, *limits);
  return [&verb, limits, action = verb.add(arguments)] {
    Impose(*limits, verb.name);
    return action();
  };
}

int Smelt(int argc, char** argv) {
  CommandLine line("smelt", "Smelt: fusion autotuner and performance predictor for XLA HLO programs",
                   "`smelt help VERB` explains a verb and its flags, with an example.");
  line.AddVersion("-V,--version", Version, "Version, compiler and the target that this machine is");
  for (const Verb& verb : kVerbs) {
    line.AddVerb({.name = std::string(verb.name),
                  .summary = std::string(verb.summary),
                  .heading = kUses[static_cast<int>(verb.use)],
                  .example = std::string(verb.example)},
                 [&verb](Arguments& arguments) { return Declare(verb, arguments); });
  }
  line.AddVerb({.name = "measure-worker"}, AddMeasureWorker);
  return Main(line, argc, argv);
}

}  // namespace
}  // namespace smelt::cli

int main(int argc, char** argv) { return smelt::cli::Smelt(argc, argv); }
