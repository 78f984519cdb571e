#!/usr/bin/env python3
"""The figures of "Learning to Optimize Tensor Programs" (NeurIPS 2018) on this machine: schedules of kernels, searched.

  bench/autotvm.py 4                                   # Figure 4: cost models beside random and genetic search
  bench/autotvm.py 4 5 --trials=512 --seeds=5 --layers=C2,C6,C9 --out=figures
  bench/autotvm.py 11 --programs=resnet18,mobilenet --budget=600

figure  what differs                                             flags of `smelt tune --kernel`
4       cost model: trees, TreeGRU; random; genetic; grid        --strategy
5       objective: rank, regression                              --strategy
6       diversity of a batch: lambda 1, 2, 4                     --lambda
7       acquisition: mean, upper bound, expected improvement     --acquisition
8       transfer: nothing, or records of the other layers        --transfer
9       what trees know: relations, flattened, knobs; TreeGRU    --features
10      single operators: the best schedule beside the default   (all layers, decided by the comparison rule)
11      whole programs: `smelt tune` with and without schedules  --no-schedules

Every run has a folder of its own below --out, with its records, and a finished one is not run again: the same command goes on. Runs of one
layer take turns, seed by seed, so that what disturbs the machine disturbs all variants. Writes figureN.json, figureN.md and one SVG a layer:
the best of the first n trials as a multiple of the default's speed (each trial is timed in turn with the default), its mean over the seeds and
the range of them. Quiet the machine first.
"""
import argparse
import json
import os
import pathlib
import platform
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from layers import NAMES, module_of  # noqa: E402
from line_plot import line_plot  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent

QUICK = "C3,C6,M512"

TREES = ["--strategy=gbt-rank"]
FIGURES = {
    4: ("cost models", {"trees, rank": TREES, "TreeGRU, rank": ["--strategy=treegru-rank"], "random": ["--strategy=random"],
                        "genetic": ["--strategy=genetic"], "grid": ["--strategy=grid"]}),
    5: ("objectives", {"trees, rank": TREES, "trees, regression": ["--strategy=gbt-regression"],
                       "TreeGRU, rank": ["--strategy=treegru-rank"], "TreeGRU, regression": ["--strategy=treegru-regression"]}),
    6: ("diversity", {"lambda 1": TREES + ["--lambda=1"], "lambda 2": TREES + ["--lambda=2"], "lambda 4": TREES + ["--lambda=4"]}),
    7: ("acquisition", {"mean": TREES + ["--acquisition=mean"], "upper bound": TREES + ["--acquisition=ucb"],
                        "expected improvement": TREES + ["--acquisition=ei"]}),
    8: ("transfer", {"without": TREES, "from other layers": TREES + ["--transfer={others}"]}),
    9: ("representations", {"relations": TREES + ["--features=relation"], "flattened": TREES + ["--features=flattened"],
                            "invariant": TREES + ["--features=invariant"], "knobs": TREES + ["--features=knobs"],
                            "TreeGRU": ["--strategy=treegru-rank"]}),
}


def tune(arguments, folder, words):
    """One run of `smelt tune` as its JSON: the finished run's where there is one, None where it failed (its message is shown)."""
    result = folder / "result.json"
    if result.exists():
        return json.loads(result.read_text())
    folder.mkdir(parents=True, exist_ok=True)
    command = [arguments.smelt, "tune", *words, f"--out={folder}", f"--target={arguments.target}", "--json", "--quiet"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env={**os.environ, "SMELT_CACHE": str(folder / "cache")})
    if done.returncode != 0:
        print(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}", file=sys.stderr)
        return None
    answer = json.loads(done.stdout)
    part = result.with_suffix(".part")
    part.write_text(json.dumps(answer))
    part.rename(result)
    return answer


def tune_layer(arguments, folder, layer, seed, words):
    fixed = [str(module_of(arguments.out / "layers", layer)), "--kernel=layer", f"--trials={arguments.trials}", f"--batch={arguments.batch}",
             f"--seed={seed}", "--no-library"]
    return tune(arguments, folder, fixed + words)


def best_so_far(answer):
    """The speed, as a multiple of the default's, of the best of the first n trials."""
    best, curve = 0.0, []
    for trial in answer["trials"]:
        best = max(best, 1 / trial["relative"] if trial.get("relative") else 0.0)
        curve.append(best)
    return curve


def band(curves, trials):
    """Mean, least and greatest of several runs at each number of trials."""
    points = []
    for n in range(trials):
        values = [curve[min(n, len(curve) - 1)] for curve in curves if curve]
        if values:
            points.append((n + 1, sum(values) / len(values), min(values), max(values)))
    return points


def trials_until(points, speed):
    return next((n for n, mean, _, _ in points if mean >= speed), None)


def others_of(arguments, layer):
    """A folder with records of all other layers, by random trials: what transfer learns from."""
    folder = arguments.out / "others" / f"without-{layer}"
    for other in arguments.layers:
        if other != layer and not (folder / f"{other}.done").exists():
            words = [str(module_of(arguments.out / "layers", other)), "--kernel=layer", f"--trials={arguments.trials}", "--strategy=random",
                     "--seed=1000", "--no-library", "--no-comparison"]
            result = folder / "result.json"
            result.unlink(missing_ok=True)
            if tune(arguments, folder, words) is not None:
                (folder / f"{other}.done").touch()
    return folder


def search_figure(arguments, number):
    title, variants = FIGURES[number]
    rows, results = [], {}
    for layer in arguments.layers:
        runs = {name: [] for name in variants}
        others = others_of(arguments, layer) if number == 8 else ""
        for seed in range(1, arguments.seeds + 1):
            for name, words in variants.items():
                words = [word.format(others=others) for word in words] + ["--no-comparison"]
                folder = arguments.out / f"figure{number}" / layer / name.replace(" ", "-").replace(",", "") / f"seed{seed}"
                print(f"figure {number}, {layer}, {name}, seed {seed}", file=sys.stderr)
                answer = tune_layer(arguments, folder, layer, seed, words)
                if answer is not None:
                    runs[name].append(answer)
        curves = {name: band([best_so_far(a) for a in answers], arguments.trials) for name, answers in runs.items()}
        best = max((curve[-1][1] for curve in curves.values() if curve), default=0)
        for name, curve in curves.items():
            if not curve:
                rows.append(f"| {layer} | {name} | failed | | | |")
                continue
            _, mean, low, high = curve[-1]
            until = trials_until(curve, 0.95 * best)
            failed = sum(a["failed"] for a in runs[name])
            rows.append(f"| {layer} | {name} | {mean:.3f} | {low:.3f} to {high:.3f} | {until if until else 'not'} | {failed} |")
        results[layer] = {"curves": curves, "runs": {name: [{k: v for k, v in a.items() if k != "trials"} for a in answers]
                                                     for name, answers in runs.items()}}
        (arguments.out / f"figure{number}-{layer}.svg").write_text(
            line_plot(f"{layer}: {title}", "trials", "times the default", curves))
    table = ["| layer | variant | best, times the default | over seeds | trials until 95 % of the layer's best | failed trials |",
             "|---|---|---|---|---|---|", *rows]
    return title, results, table


def operator_figure(arguments):
    results, rows = {}, []
    for layer in arguments.layers:
        answers = []
        for seed in range(1, arguments.seeds + 1):
            print(f"figure 10, {layer}, seed {seed}", file=sys.stderr)
            answer = tune_layer(arguments, arguments.out / "figure10" / layer / f"seed{seed}", layer, seed, TREES)
            if answer is not None:
                answers.append(answer)
        results[layer] = [{k: v for k, v in a.items() if k != "trials"} for a in answers]
        for a in answers:
            low, high = a["interval"] or (0, 0)
            verdict = "tuned" if a["improved"] else "default"
            rows.append(f"| {layer} | {a['default_us']:.1f} | {a['best_us']:.1f} | {a['speedup'] or 0:.3f} | {low:.3f} to {high:.3f} | "
                        f"{verdict} | {'yes' if a['verified'] else 'no'} | {a['failed']} |")
    table = ["| layer | default, us | best, us | speed | interval | answer | equal to the evaluator | failed trials |",
             "|---|---|---|---|---|---|---|---|", *rows]
    return "single operators", results, table


def program_figure(arguments):
    results, rows = {}, []
    for program in arguments.programs:
        module = program if program.endswith(".hlo") else str(ROOT / "models" / f"{program}.hlo")
        name = pathlib.Path(program).stem
        for variant, words in (("with schedules", []), ("without", ["--no-schedules"])):
            for seed in range(1, arguments.seeds + 1):
                print(f"figure 11, {name}, {variant}, seed {seed}", file=sys.stderr)
                folder = arguments.out / "figure11" / name / variant.replace(" ", "-") / f"seed{seed}"
                a = tune(arguments, folder, [module, f"--budget={arguments.budget}", f"--seed={seed}", *words])
                if a is None:
                    continue
                results.setdefault(name, {}).setdefault(variant, []).append(a)
                low, high = a.get("interval") or (0, 0)
                rows.append(f"| {name} | {variant} | {a.get('default_ms', 0):.3f} | {a.get('best_ms', 0):.3f} | {a['speedup']:.3f} | "
                            f"{low:.3f} to {high:.3f} | {'yes' if a['verified'] else 'no'} |")
    table = ["| program | search | default, ms | answer, ms | speed | interval | equal to the evaluator |", "|---|---|---|---|---|---|---|", *rows]
    return "whole programs", results, table


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(": ", 1)[1]
    return platform.processor() or "unknown"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", nargs="+", type=int, choices=[*FIGURES, 10, 11], metavar="FIGURE", help="4 to 11")
    parser.add_argument("--layers", default=QUICK, help=f"of {','.join(NAMES)}, or `all`; default: %(default)s")
    parser.add_argument("--programs", default="resnet18", help="of Figure 11: names in models/, or files")
    parser.add_argument("--trials", type=int, default=64)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--budget", type=float, default=120, help="seconds of a search of Figure 11")
    parser.add_argument("--target", default="cpu:threads=1")
    parser.add_argument("--smelt", default=str(ROOT / "build/release/smelt"))
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("autotvm"))
    arguments = parser.parse_args()
    arguments.layers = NAMES if arguments.layers == "all" else arguments.layers.split(",")
    arguments.programs = arguments.programs.split(",")
    for layer in arguments.layers:
        if layer not in NAMES:
            parser.error(f"there is no layer {layer}: {', '.join(NAMES)}")
    if not pathlib.Path(arguments.smelt).exists():
        parser.error(f"there is no {arguments.smelt}; build it, or name it with --smelt")
    arguments.out.mkdir(parents=True, exist_ok=True)
    for number in arguments.figures:
        begin = time.time()
        title, results, table = (operator_figure(arguments) if number == 10 else program_figure(arguments) if number == 11
                                 else search_figure(arguments, number))
        where = {"processor": processor(), "target": arguments.target, "trials": arguments.trials, "batch": arguments.batch,
                 "seeds": arguments.seeds, "seconds": round(time.time() - begin, 1), "load": os.getloadavg()}
        (arguments.out / f"figure{number}.json").write_text(json.dumps({"figure": number, "title": title, **where, "results": results}, indent=1))
        text = (f"Figure {number}: {title}. {where['processor']}, {arguments.target}, {arguments.trials} trials, batches of "
                f"{arguments.batch}, {arguments.seeds} seeds; load average {where['load'][0]:.1f} at the end.\n\n" + "\n".join(table) + "\n")
        (arguments.out / f"figure{number}.md").write_text(text)
        print(text)


if __name__ == "__main__":
    main()
