#!/usr/bin/env python3
"""Compiles the examples in the opening comments of headers.

  tests/structure/header_examples.py --compiler=c++ [--flag=-std=c++20...] [--root=FOLDER] [--print]

An example is an indented part of a header's opening comment that is C++: a line of it ends in `;` or has a comment of its own (`//`). Others show HLO,
texts or rules. Each becomes a function in the header's namespace, and what it uses and does not declare is a parameter, by NAMES below. `...` alone
stands for statements. Nothing runs: the compiler checks the syntax, and names the header and its line. Exit status: 0; 1 if an example does not
compile; 2 for wrong use.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

# What examples speak of, by name: the type, and the header that has it. A header's own table (OWN) comes first.
NAMES = {
    "module": ("smelt::hlo::Module", "hlo/module.h"),
    "fused": ("smelt::hlo::Module", "hlo/module.h"),
    "fused_module": ("smelt::hlo::Module", "hlo/module.h"),
    "computation": ("smelt::hlo::Computation", "hlo/computation.h"),
    "instruction": ("smelt::hlo::Instruction", "hlo/instruction.h"),
    "call": ("smelt::hlo::Instruction", "hlo/instruction.h"),
    "multiply": ("smelt::hlo::Instruction", "hlo/instruction.h"),
    "convolution": ("smelt::hlo::Instruction", "hlo/instruction.h"),
    "add": ("smelt::hlo::Instruction*", "hlo/instruction.h"),
    "maximum": ("smelt::hlo::Instruction*", "hlo/instruction.h"),
    "lhs": ("smelt::hlo::Instruction*", "hlo/instruction.h"),
    "rhs": ("smelt::hlo::Instruction*", "hlo/instruction.h"),
    "dot_attributes": ("smelt::hlo::DotAttributes", "hlo/attributes.h"),
    "x": ("smelt::hlo::Literal", "hlo/literal.h"),
    "y": ("smelt::hlo::Literal", "hlo/literal.h"),
    "literal": ("smelt::hlo::Literal", "hlo/literal.h"),
    "result": ("smelt::hlo::Literal", "hlo/literal.h"),
    "inputs": ("std::vector<smelt::hlo::Literal>", "hlo/literal.h"),
    "shape": ("smelt::hlo::Shape", "hlo/shape.h"),
    "hash": ("smelt::Hash128", "base/hash.h"),
    "space": ("smelt::fusion::Space", "fusion/space.h"),
    "rules": ("smelt::fusion::Rules", "fusion/rules.h"),
    "config": ("smelt::fusion::Config", "fusion/config.h"),
    "start": ("smelt::fusion::Config", "fusion/config.h"),
    "starts": ("std::vector<smelt::fusion::Config>", "fusion/config.h"),
    "flips": ("std::vector<int32_t>", "fusion/config.h"),
    "evaluator": ("smelt::fusion::IncrementalFusion", "fusion/incremental_fusion.h"),
    "reference": ("smelt::fusion::KernelRef", "fusion/incremental_fusion.h"),
    "kernels": ("std::vector<const smelt::fusion::Kernel*>", "fusion/kernel.h"),
    "kernel": ("smelt::fusion::Kernel", "fusion/kernel.h"),
    "target": ("smelt::cpu::Target", "targets/cpu/codegen/target.h"),
    "machine": ("smelt::machine::Machine", "machine/machine.h"),
    "tunable": ("smelt::targets::Tunable", "targets/tunable.h"),
    "processor": ("smelt::cpu::Target", "targets/cpu/codegen/target.h"),
    "tiles": ("std::vector<smelt::kernels::nests::Tile>", "kernels/tiles/tiles.h"),
    "graph": ("smelt::kernels::te::Graph", "kernels/te/tensor.h"),
    "i": ("smelt::kernels::te::Var", "kernels/te/expr.h"),
    "j": ("smelt::kernels::te::Var", "kernels/te/expr.h"),
    "schedule": ("smelt::kernels::schedule::Schedule", "kernels/schedule/schedule.h"),
    "function": ("smelt::kernels::ir::Function", "kernels/ir/stmt.h"),
    "data": ("smelt::gnn::Dataset", "gnn/dataset/dataset.h"),
    "split": ("smelt::gnn::Split", "gnn/dataset/dataset.h"),
    "model": ("smelt::gnn::ModelFile", "gnn/model/model_file.h"),
    "predictor": ("smelt::gnn::Predictor", "gnn/predictor.h"),
    "factors": ("std::map<std::string, double>", "gnn/model/model_file.h"),
    "program": ("smelt::targets::Program", "targets/program.h"),
    "xla_program": ("smelt::xla::XlaProgram", "targets/xla/program.h"),
    "worker": ("smelt::measure::WorkerOptions", "measure/worker_process.h"),
    "runner": ("smelt::measure::Runner", "measure/runner.h"),
    "usual": ("smelt::measure::Candidate", "measure/runner.h"),
    "tuned": ("smelt::measure::Candidate", "measure/runner.h"),
    "state": ("smelt::tuner::SessionState", "tuner/session_state.h"),
    "trials": ("smelt::tuner::Trials", "tuner/trials.h"),
    "trial": ("smelt::tuner::Trial", "tuner/trials.h"),
    "default_trial": ("smelt::tuner::Trial", "tuner/trials.h"),
    "record": ("smelt::measure::Record", "measure/records/records.h"),
    "times": ("std::vector<smelt::measure::KernelRecord>", "measure/records/records.h"),
    "costs": ("smelt::tuner::KernelCosts", "tuner/search/kernel_costs.h"),
    "counts": ("smelt::tuner::ComputationCounts", "tuner/search/fusion_state.h"),
    "weighted": ("std::vector<smelt::tuner::WeightedKernel>", "tuner/search/kernel_costs.h"),
    "text": ("std::string", "hlo/module.h"),
    "module_text": ("std::string", "hlo/module.h"),
    "bytes": ("std::string", "hlo/module.h"),
    "path": ("std::string", "hlo/module.h"),
    "folder": ("std::string", "hlo/module.h"),
    "seed": ("uint64_t", "hlo/module.h"),
    "count": ("int64_t", "hlo/module.h"),
    "seconds": ("double", "hlo/module.h"),
    "budget": ("smelt::measure::Budget", "measure/budget.h"),
    "policy": ("smelt::measure::MeasurePolicy", "measure/runner.h"),
    "notes": ("std::vector<std::string>", "hlo/module.h"),
    "worse": ("bool", "hlo/module.h"),
}
# Where a header's example uses one of these words for something else, or words of its own.
VDLA = {
    "program": "smelt::vdla::isa::Program",
    "instruction": "smelt::vdla::isa::Instruction",
    "instructions": "std::vector<smelt::vdla::isa::Instruction>",
    "micro_ops": "std::vector<smelt::vdla::isa::MicroOp>",
    "config": "smelt::vdla::isa::Config",
    "machine": "std::unique_ptr<smelt::sim::Machine>",
    "report": "smelt::sim::Report",
}
SCHEDULES = {"task": "smelt::tuner::ScheduleTask", "target": "smelt::targets::Target", "measured": "std::vector<smelt::tuner::Measured>"}
OWN = {
    **{f"tuner/schedule/{name}.h": {**SCHEDULES, **more} for name, more in {
        "candidate_features": {}, "proposer": {}, "schedule_trials": {}, "strategies": {}, "transfer": {}, "tree_gru_model": {}, "tune_schedule": {},
        "cost_model": {"features": "smelt::tuner::CandidateFeatures", "candidates": "std::vector<smelt::tuner::Config>"},
        "diverse_selection": {"ranked": "std::vector<smelt::tuner::RankedConfig>"},
        "parallel_annealing": {"space": "smelt::kernels::config::ConfigSpace", "energy": "smelt::tuner::ParallelAnnealing::Energy"}}.items()},
    "tuner/schedule_search.h": {"options": "smelt::tuner::ScheduleSearchOptions"},
    "targets/schedule_library.h": {"target": "smelt::targets::Target"},
    "gnn/model/stored_columns.h": {"names": "std::vector<std::string>", "task": "smelt::gnn::TaskModel"},
    "gnn/torch/tree_gru.h": {"trees": "std::vector<smelt::gnn::LoopTreeRow>", "scores": "std::vector<double>"},
    **{header: VDLA for header in ("sim/estimate.h", "sim/executor.h", "sim/issue.h", "sim/machine.h", "sim/race_detector.h", "sim/report.h", "sim/roofline.h",
                                   "sim/simulate.h", "sim/trace.h", "bench/vdla_layers.h", "vdla/isa/program_file.h")},
    "vdla/driver/device.h": {"bytes": "std::vector<uint8_t>"},
    "vdla/driver/loaded_program.h": {"device": "std::shared_ptr<smelt::vdla::driver::Device>", "compiled": "smelt::vdla::isa::Program",
                                     "bytes": "std::vector<uint8_t>", "stream": "smelt::vdla::driver::Stream"},
    "vdla/driver/stream.h": {"device": "std::shared_ptr<smelt::vdla::driver::Device>", "buffer": "smelt::vdla::driver::Buffer"},
    "kernels/te/intrinsic.h": {"x": "smelt::kernels::te::Expr"},
    "kernels/config/config.h": {"bits": "absl::BitGenRef"},
    "kernels/loop_features/machine_facts.h": {"tree": "smelt::kernels::loop_features::LoopTree"},
    "tuner/schedule/build_ahead.h": {"target": "smelt::targets::Target"},
    "tuner/schedule/final_race.h": {"other": "smelt::measure::Candidate"},
    "cli/schedule_file.h": {"target": "smelt::targets::Target", "kernels": "std::vector<smelt::fusion::Kernel>"},
    "targets/vdla/accelerator.h": {"kernel": "smelt::fusion::Kernel"},
    "targets/vdla/layer.h": {"config": "smelt::vdla::isa::Config"},
    "targets/vdla/layer_program.h": {"kernel": "std::shared_ptr<const smelt::fusion::Kernel>", "layer": "smelt::vdla::Layer",
                                     "schedule": "smelt::vdla::lower::ConvolutionSchedule", "config": "smelt::vdla::isa::Config",
                                     "simulator": "smelt::vdla::Simulator", "inputs": "absl::Span<const void* const>", "output": "void*"},
    "targets/vdla/sums.h": {"dot": "smelt::hlo::Instruction*", "kernel": "smelt::hlo::Computation", "config": "smelt::vdla::isa::Config"},
    "targets/vdla/vdla_target.h": {"config": "smelt::vdla::isa::Config", "tool": "std::string"},
    "vdla/isa/accesses.h": {**VDLA, "other": "smelt::vdla::isa::Accesses"},
    "sim/dma.h": {**VDLA, "total": "int64_t"},
    "sim/gemm_kernel.h": {"acc": "int32_t*", "inp": "int16_t*", "wgt": "int16_t*"},
    "cli/limits.h": {"arguments": "smelt::cli::Arguments"},
    "cli/words/arguments.h": {"arguments": "smelt::cli::Arguments"},
    "cli/known_flags.h": {"arguments": "smelt::cli::Arguments"},
    "bench/run_program.h": {"declare": "smelt::cli::CommandLine::Declaration", "argc": "int", "argv": "char**"},
    "targets/known_program.h": {"module": "std::unique_ptr<smelt::hlo::Module>"},
    "runtime/deploy/plan_file.h": {"bytes": "std::string"},
    "runtime/deploy/deployed_module.h": {"image": "const void*"},
    **{f"vdla/lower/{name}.h": {"config": "const smelt::vdla::isa::Config", "instructions": "std::vector<smelt::vdla::isa::Instruction>",
                               "operations": "smelt::vdla::lower::Operations", "program": "smelt::vdla::isa::Program", **more}
       for name, more in {
           "dependences": {"writes_inputs": "smelt::vdla::isa::Accesses", "reads_inputs": "smelt::vdla::isa::Accesses"},
           "token_plan": {"units": "std::vector<smelt::vdla::isa::Unit>", "needs": "std::vector<smelt::vdla::lower::Needs>"},
           "token_check": {"steps": "std::vector<smelt::vdla::lower::Step>", "flags": "std::vector<smelt::vdla::lower::PlannedStep>"},
           "tokens": {"image": "std::vector<smelt::vdla::isa::MicroOp>"}, "storage": {}, "emit": {"program": "int"}, "micro_ops": {},
           "convolution": {}, "layout": {"values": "std::vector<int8_t>", "bytes": "std::string"},
           "layer": {"c2": "smelt::vdla::lower::Convolution"}, "operations": {"operations": "int"}, "linear": {}, "copies": {},
           "memories": {}, "intrinsics": {word: "std::shared_ptr<const smelt::kernels::te::BufferNode>" for word in ("acc", "inp", "wgt")}, "loops": {"kernel": "smelt::kernels::ir::Function"},
           **{header: {"nest": "smelt::vdla::lower::LoopNest", "scope": "smelt::vdla::lower::NestScope"}
              for header in ("nest", "nest_reader", "nest_copies", "nest_chains")}}.items()},
    "cli/one_program.h": {"target": "smelt::targets::Target"},
    "cli/target.h": {"arguments": "smelt::cli::Arguments"},
    "fusion/incremental_fusion.h": {"cost": "std::function<double(smelt::Hash128)>"},
    "fuzz/generate/draft.h": {"palette": "smelt::fuzz::Palette", "random": "smelt::fuzz::Random"},
    "hlo/quantize/calibration.h": {"activations": "smelt::hlo::Literal"},
    "hlo/quantize/contraction.h": {"layer": "smelt::hlo::quantize::Layer"},
    "hlo/quantize/known_values.h": {"weights": "smelt::hlo::quantize::Weights", "kernel": "std::shared_ptr<const smelt::hlo::Literal>"},
    "hlo/quantize/multiply_shift.h": {"build": "smelt::hlo::GraphBuilder", "sums": "smelt::hlo::Instruction*"},
    "hlo/quantize/plan.h": {"known": "smelt::hlo::quantize::KnownValues"},
    "hlo/quantize/quantized_graph.h": {"plan": "smelt::hlo::quantize::Plan", "scales": "smelt::hlo::quantize::Scales"},
    "hlo/quantize/report.h": {"weights": "smelt::hlo::quantize::Weights", "samples": "std::vector<std::vector<smelt::hlo::Literal>>",
                              "engine": "smelt::hlo::quantize::Engine"},
    "hlo/quantize/quantize.h": {"weights": "smelt::hlo::quantize::Weights", "samples": "std::vector<std::vector<smelt::hlo::Literal>>"},
    "fuzz/generate/random.h": {"module_index": "uint64_t"},
    "fuzz/reduce/reduce.h": {"Crashes": "std::function<bool(const smelt::hlo::Module&)>"},
    "fuzz/trial/trial.h": {"child_outcome": "smelt::fuzz::ChildOutcome"},
    "measure/protocol.h": {"hello": "nlohmann::json", "reply": "nlohmann::json"},
    "gnn/calibration/calibration.h": {"probes": "std::vector<smelt::gnn::Probe>", "weights": "std::vector<float>",
                                      "estimate": "smelt::kernels::cost::CostEstimate", "log_estimate": "double", "hidden": "std::vector<float>"},
    "tuner/kernel_sample.h": {"cost": "smelt::fusion::HeuristicOptions", "wanted": "std::function<bool(const smelt::fusion::Kernel&)>",
                              "Time": "std::function<void(const smelt::fusion::Kernel&)>"},
    "tuner/calibrate.h": {"target": "smelt::targets::Target"},
    "targets/calibrated_model.h": {"target": "smelt::targets::Target"},
    "tuner/visits.h": {"target": "smelt::targets::Target", "jobs": "std::vector<smelt::tuner::KernelJob>",
                       "append": "std::function<absl::Status(const smelt::tuner::KernelJob&, const smelt::tuner::KernelVisit&)>"},
    "gnn/train/train.h": {"report": "smelt::gnn::TrainReport"},
    "hlo/computation.h": {"x": "smelt::hlo::Instruction*", "y": "smelt::hlo::Instruction*"},
    "hlo/evaluator/elementwise_kernel.h": {"a": "float*", "b": "float*", "result": "float*"},
    "hlo/evaluator/gemm.h": {**{word: "float*" for word in "abc"}, **{word: "int64_t" for word in "mnk"}},
    "hlo/evaluator/scalar_function.h": {"call": "smelt::hlo::Call", "a": "const void*", "b": "const void*", "sum": "void*",
                                        "program": "std::unique_ptr<smelt::hlo::ScalarProgram>"},
    "hlo/evaluator/scalar_program.h": {"accumulators": "void*", "elements": "void*"},
    "hlo/passes/equality.h": {"a": "smelt::hlo::Instruction*", "b": "smelt::hlo::Instruction*"},
    "hlo/rewrite/graph_builder.h": {"x": "smelt::hlo::Instruction*"},
    "hlo/shape_inference/shape_inference.h": {"x": "smelt::hlo::Instruction*", "y": "smelt::hlo::Instruction*"},
    "kernels/templates/winograd.h": {"nest": "smelt::kernels::nests::Nest"},
    "kernels/ir/access.h": {"stmt": "smelt::kernels::ir::Stmt", "a": "smelt::kernels::ir::Buffer", "flat_a": "smelt::kernels::ir::Buffer"},
    "kernels/ir/equal.h": {"a": "smelt::kernels::ir::Buffer", "x": "smelt::kernels::te::Expr"},
    "kernels/lower/pass.h": {"options": "smelt::kernels::lower::LowerOptions"},
    "kernels/schedule/tensor_intrinsic.h": {"add_dot": "std::shared_ptr<const smelt::kernels::te::Intrinsic>"},
    "kernels/te/intrinsic.h": {"x": "smelt::kernels::te::Expr"},
    "kernels/ir/interpret.h": {"a": "void*", "b": "void*", "c": "void*"},
    "targets/cpu/program/executable.h": {"options": "smelt::cpu::ExecutableOptions", "arguments": "std::vector<const smelt::hlo::Literal*>"},
    "kernels/te/evaluate.h": {"a": "smelt::hlo::Literal", "b": "smelt::hlo::Literal"},
    "kernels/te/rewriter.h": {"x": "smelt::kernels::te::Expr", "y": "smelt::kernels::te::Expr"},
    "targets/cpu/worker/loaded_program.h": {"options": "smelt::cpu::ExecutableOptions"},
    "tuner/search/annealing.h": {"state": "smelt::tuner::SearchState"},
    "tuner/session_state.h": {"options": "smelt::tuner::TuneOptions"},
    "tuner/tile_search.h": {"options": "smelt::tuner::TileSearchOptions"},
    "tuner/trials.h": {"options": "smelt::tuner::TrialOptions"},
    "targets/xla/calls.h": {"tiles": "smelt::xla::Tiles"},
    "targets/xla/choices.h": {"tiles": "smelt::xla::Tiles"},
    "targets/cpu/own_kernels.h": {"target": "std::unique_ptr<smelt::targets::Target>"},
    "tuner/search/rounds.h": {"best": "smelt::fusion::Config"},
    "tuner/several_targets.h": {"entrants": "std::vector<smelt::tuner::Entrant>", "options": "smelt::tuner::TuneOptions"},
    "measure/program_device.h": {"device": "smelt::measure::ProgramDevice"},
    "targets/target.h": {"target": "smelt::targets::Target"},
    "targets/xla/xla_target.h": {"target": "std::unique_ptr<smelt::targets::Target>"},
    "tuner/kernel_trials.h": {"proceed": "std::function<bool(const std::string&)>"},
    "tuner/profile.h": {"target": "smelt::targets::Target"},
    "tuner/search/overhead.h": {"bytes": "double", "kernels": "double", "seconds_of_kernels": "double"},
    "targets/xla/own_fusions.h": {"fused_by_xla": "std::unique_ptr<smelt::hlo::Module>"},
}

INDENT = re.compile(r"//   (.*)")


def examples(path):
    """(first line's number, lines) of each indented part of the opening comment that is C++."""
    part, first = [], 0
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n") + [""], 1):
        found = INDENT.fullmatch(line)
        if found:
            first = first or number
            part.append(found.group(1))
            continue
        if part and is_code(part):
            yield first, part
        part, first = [], 0
        if not line.startswith("//"):
            return


def is_code(lines):
    if re.match(r"\s*(-|\d+\.) ", lines[0]):
        return False
    return any("//" in line or line.rstrip().endswith(";") for line in lines)


def statements(lines):
    """The lines as statements: an expression alone gets its semicolon, `...` is left out."""
    for line in lines:
        code, comment, rest = line.partition("//")
        code = re.sub(r"(^|(?<=[\s{)]))\.\.\.(?=[\s;}]|$)", ";", code).rstrip()
        if re.search(r"[\w\])\"'>]$", code) and not re.fullmatch(r"\s*(if|for|while) \(([^()]|\([^()]*\))*\)", code):
            code += ";"
        yield f"{code}  {comment}{rest}" if comment else code


def namespace_of(text):
    found = re.findall(r"^}  // namespace (smelt[\w:]*)$", text, re.M)
    return found[-1] if found else "smelt"


def translation_unit(root, paths):
    """One source with a function for each example; `#line` leads errors back to the header."""
    includes, functions, count = set(), [], 0
    for path in paths:
        name = path.relative_to(root).as_posix()
        for first, lines in examples(path):
            names = {**NAMES, **{word: (kind, name) for word, kind in OWN.get(name, {}).items()}}
            body = list(statements(lines))
            words = set(re.findall(r"(?<![\w.>])[A-Za-z_]\w*", " ".join(line.partition("//")[0] for line in body)))
            used = sorted(words & set(names))
            includes.update([name, *(names[word][1] for word in used)])
            parameters = ", ".join(f"[[maybe_unused]] {names[word][0]}& {word}" for word in used)
            functions.append(f"namespace {namespace_of(path.read_text(encoding='utf-8'))} {{\n"
                             f"[[maybe_unused]] static smelt_examples::Any Example{count}({parameters}) {{ {{\n"
                             f"#line {first} \"{path}\"\n" + "\n".join(body) + "\n} return {}; }\n}\n")
            count += 1
    head = "".join(f'#include "{include}"\n' for include in sorted(includes))
    any_type = ("namespace smelt_examples {\nstruct Any {\n  Any() = default;\n  template <typename T>\n"
                "  Any(T&&) {}  // examples may return what they have at hand\n};\n}  // namespace smelt_examples\n")
    return f'#include <iostream>\n{head}{any_type}{"".join(functions)}', count


def compiles(arguments, root, source):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "examples.cc"
        file.write_text(source, encoding="utf-8")
        done = subprocess.run([arguments.compiler, *arguments.flag, "-w", "-fsyntax-only", "-fmax-errors=0", f"-I{root}", str(file)],
                              stderr=subprocess.PIPE, text=True, check=False)
    for line in done.stderr.splitlines():
        if " error: " in line:
            print(line, file=sys.stderr)
    return done.returncode == 0


def catches_what_it_is_for(arguments):
    """A header whose example names a function that is not there is told by its line."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder).resolve()
        good, bad = root / "good.h", root / "bad.h"
        for path, call in ((good, "Twice(2)"), (bad, "Thrice(2)")):
            path.write_text(f"// Doubles.\n//\n//   int four = {call};\n//   four + 1  // 5\n#pragma once\n"
                            f"namespace smelt {{\ninline int Twice(int x) {{ return 2 * x; }}\n}}  // namespace smelt\n")
        text, count = translation_unit(root, [good])
        if count != 1 or not compiles(arguments, root, text):
            return False
        arguments.quiet = subprocess.run([arguments.compiler, *arguments.flag, "-w", "-fsyntax-only", f"-I{root}", "-x", "c++", "-"],
                                         input=translation_unit(root, [bad])[0], stderr=subprocess.PIPE, text=True, check=False)
    return arguments.quiet.returncode != 0 and f"{bad}:3:" in arguments.quiet.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", default="c++")
    parser.add_argument("--flag", action="append", default=["-std=c++20"], help="of the compiler; may be repeated")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent.parent)
    parser.add_argument("--print", action="store_true", help="print the source instead of compiling it")
    arguments = parser.parse_args()
    folders = [folder for folder in sorted(arguments.root.iterdir())
               if folder.is_dir() and not folder.name.startswith(".") and folder.name not in ("build", "tests")]
    headers = [path for folder in folders for path in sorted(folder.rglob("*.h"))]
    source, count = translation_unit(arguments.root, headers)
    if arguments.print:
        print(source)
        return 0
    if not catches_what_it_is_for(arguments):
        print("an example that does not compile goes unnoticed, or one that does is refused", file=sys.stderr)
        return 1
    if not compiles(arguments, arguments.root, source):
        return 1
    print(f"{count} examples of {len(headers)} headers compile")
    return 0


if __name__ == "__main__":
    sys.exit(main())
