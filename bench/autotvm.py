#!/usr/bin/env python3
"""The figures of "Learning to Optimize Tensor Programs" (NeurIPS 2018) on this machine: schedules of kernels, searched.

  bench/autotvm.py 4                                   # Figure 4: cost models beside random and genetic search
  bench/autotvm.py 4 5 --trials=512 --seeds=5 --layers=C2,C6,C9 --out=figures
  bench/autotvm.py 11 --programs=resnet18,mobilenet --budget=600
  bench/autotvm.py reach --layers=C1,C2,C3 --trials=500 --seeds=3     # hours

figure  what differs                                             flags of `smelt tune --kernel`
4       cost model: trees, TreeGRU; random; genetic; grid        --strategy
5       objective: rank, regression                              --strategy
6       diversity of a batch: lambda 1, 2, 4                     --lambda
7       acquisition: mean, upper bound, expected improvement     --acquisition
8       transfer: nothing, or records of the other layers        --transfer
9       what trees know: relations, flattened, knobs; TreeGRU    --features
10      single operators: the best schedule beside the default   (all layers, decided by the comparison rule)
11      whole programs: `smelt tune` with and without schedules  --no-schedules
reach   trials until the best of many random ones is found       --strategy, --transfer, --until

What transfers are random trials of every layer of --layers but the one that is searched, --random-trials of each. The goal of `reach` is what a
random search gives: the best of its layer's random trials, by default of 2,000, raced and compared with the default in eight processes. What the
luckiest of so many single trials showed would be out of reach for itself.

Every run has a folder of its own below --out, named after its target, batch and flags, with its records, and a finished one is not run again: the same command goes on, and
figures that have a variant in common share its runs. Runs of one layer take turns, seed by seed, so that what disturbs the machine disturbs all
variants. Writes figureN.json, figureN.md and for 4 to 9 one SVG a layer:
the best of the first n trials as a multiple of the default's speed (each trial is timed in turn with the default), its mean over the seeds and
the range of them. Quiet the machine first.
"""
import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from layers import CONVOLUTIONS, DEPTHWISE, NAMES, PRODUCTS, module_of  # noqa: E402
from line_plot import line_plot  # noqa: E402
from processor import processor  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent

QUICK = "C3,C6,M512"
GROUPS = {"convolutions": CONVOLUTIONS, "depthwise": DEPTHWISE, "products": PRODUCTS}

# What `smelt tune --kernel` takes by default goes unsaid, so that the figures share these runs.
TREES = ["--strategy=gbt-rank"]
GRU = ["--strategy=treegru-rank"]
FIGURES = {
    4: ("cost models", {"trees, rank": TREES, "TreeGRU, rank": GRU, "random": ["--strategy=random"], "genetic": ["--strategy=genetic"],
                        "grid": ["--strategy=grid"]}),
    5: ("objectives", {"trees, rank": TREES, "trees, regression": ["--strategy=gbt-regression"], "TreeGRU, rank": GRU,
                       "TreeGRU, regression": ["--strategy=treegru-regression"]}),
    6: ("diversity", {"lambda 1": TREES + ["--lambda=1"], "lambda 2": TREES, "lambda 4": TREES + ["--lambda=4"]}),
    7: ("acquisition", {"mean": TREES, "upper bound": TREES + ["--acquisition=ucb"], "expected improvement": TREES + ["--acquisition=ei"]}),
    8: ("transfer", {"without": TREES, "from other layers": TREES + ["--transfer={others}"]}),
    9: ("representations", {"relations": TREES, "flattened": TREES + ["--features=flattened"], "invariant": TREES + ["--features=invariant"],
                            "knobs": TREES + ["--features=knobs"], "TreeGRU": GRU}),
}


# How soon `reach` gets to the best of many random trials.
REACHING = {"trees, rank": TREES, "TreeGRU, rank": GRU, "trees, rank, from other layers": TREES + ["--transfer={others}"]}
RANDOM_OF_REACH = 2000


def tune(arguments, folder, words, name="result"):
    """One run of `smelt tune` as its JSON: the finished run's where there is one, None where it failed (its message is shown)."""
    result = folder / f"{name}.json"
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


def tune_layer(arguments, folder, layer, seed, words, trials=None, name="result"):
    fixed = [str(module_of(arguments.out / "layers", layer)), "--kernel=layer", f"--trials={trials or arguments.trials}",
             f"--batch={arguments.batch}", f"--seed={seed}", "--no-library"]
    return tune(arguments, folder, fixed + words, name)


def random_trials(arguments, layer):
    """Random trials of a layer, in the one folder that all layers' lie in: what others transfer from."""
    return tune_layer(arguments, arguments.runs / "random", layer, 1000, ["--strategy=random", "--no-comparison"], arguments.random_trials,
                      f"{layer}-{arguments.random_trials}")


def speed_of_random(arguments, layer):
    """The best of a layer's random trials beside the default, as comparisons count it; its trials are known by now, and only the race is new."""
    answer = tune_layer(arguments, arguments.runs / "random", layer, 1000, ["--strategy=random"], arguments.random_trials,
                        f"{layer}-{arguments.random_trials}-compared")
    return answer and answer["speedup"]


def others_of(arguments, layer):
    """The folder with random trials of all other layers; a search leaves out its own layer's."""
    for other in arguments.layers:
        if other != layer:
            random_trials(arguments, other)
    return arguments.runs / "random"


def run_variants(arguments, what, layer, variants, folder, words, name):
    """The finished runs of each variant, by its name: layer by layer and seed by seed in folders named after their flags."""
    runs = {variant: [] for variant in variants}
    transfers = any("{others}" in flag for flags in variants.values() for flag in flags)
    others = others_of(arguments, layer) if transfers else ""
    for seed in range(1, arguments.seeds + 1):
        for variant, flags in variants.items():
            print(f"{what}, {layer}, {variant}, seed {seed}", file=sys.stderr)
            slug = "-".join(flag.format(others=f"{arguments.random_trials}-random").strip("-").replace("=", "-") for flag in flags)
            answer = tune_layer(arguments, folder / layer / slug / f"seed{seed}", layer, seed,
                                [flag.format(others=others) for flag in flags] + ["--no-comparison", *words], name=name)
            if answer is not None:
                runs[variant].append(answer)
    return runs


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


def search_figure(arguments, number):
    title, variants = FIGURES[number]
    rows, results = [], {}
    for layer in arguments.layers:
        runs = run_variants(arguments, f"figure {number}", layer, variants, arguments.runs / "runs", [], f"{arguments.trials}-trials")
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


def reach_figure(arguments):
    results, rows = {}, []
    for layer in arguments.layers:
        print(f"reach, {layer}, {arguments.random_trials} at random", file=sys.stderr)
        goal = random_trials(arguments, layer) and speed_of_random(arguments, layer)
        if not goal:
            rows.append(f"| {layer} | random | failed | | | |")
            continue
        # Another number of random trials is another goal.
        runs = run_variants(arguments, "reach", layer, REACHING, arguments.runs / "reach", [f"--until={goal}"],
                            f"speed-of-{arguments.random_trials}")
        for name, answers in runs.items():
            if not answers:
                rows.append(f"| {layer} | {name} | failed | | | |")
                continue
            counts = [len(a["trials"]) for a in answers]
            bests = [best_so_far(a)[-1] for a in answers]
            missed = sum(best < goal for best in bests)
            late = sum(trial.get("failure") == "build timed out" for a in answers for trial in a["trials"])
            rows.append(f"| {layer} | {name} | {goal:.3f} | {sum(counts) / len(counts):.0f} ({', '.join(map(str, sorted(counts)))})"
                        f"{f', {missed} without reaching it' if missed else ''} | {sum(bests) / len(bests):.3f} | {late} |")
        results[layer] = {"goal": goal, "runs": {name: [{**a, "trials": len(a["trials"])} for a in answers] for name, answers in runs.items()}}
    table = [f"| layer | search | best of {arguments.random_trials:,} random, times the default | trials until then | best | builds timed out |",
             "|---|---|---|---|---|---|", *rows]
    return "trials to the best of random ones", results, table


def answer_of(run):
    """The speed that a user gets, as a multiple of the default's: 1 where the default stays."""
    return run["speedup"] if run["improved"] else 1.0


def operator_summary(results):
    """Means of the answers by kind of layer, and how far seeds end from each other."""
    lines = []
    for kind, names in GROUPS.items():
        answers = [answer_of(run) for layer, runs in results.items() if layer in names for run in runs]
        if answers:
            lines.append(f"{kind}: geometric mean of the answers {math.exp(statistics.fmean(map(math.log, answers))):.3f}, least {min(answers):.3f}")
    apart = {layer: max(map(answer_of, runs)) / min(map(answer_of, runs)) - 1 for layer, runs in results.items() if len(runs) > 1}
    if apart:
        near = sum(value <= 0.03 for value in apart.values())
        worst = max(apart, key=apart.get)
        lines.append(f"answers of different seeds within 3 % of each other: {near} of {len(apart)} layers; farthest {worst}, {100 * apart[worst]:.1f} %")
    runs = [run for of_layer in results.values() for run in of_layer if run["measured"]]
    if runs:
        lines.append(f"choosing takes {1e3 * sum(run['model_seconds'] for run in runs) / sum(run['measured'] for run in runs):.1f} ms a trial, "
                     f"building, running and comparing {1e3 * sum(run['hardware_seconds'] for run in runs) / sum(run['measured'] for run in runs):.0f}")
    return lines


def operator_figure(arguments):
    results, rows = {}, []
    for layer in arguments.layers:
        answers = []
        for seed in range(1, arguments.seeds + 1):
            print(f"figure 10, {layer}, seed {seed}", file=sys.stderr)
            answer = tune_layer(arguments, arguments.runs / "figure10" / layer / f"seed{seed}", layer, seed, TREES, name=f"{arguments.trials}-trials")
            if answer is not None:
                answers.append(answer)
        results[layer] = [{k: v for k, v in a.items() if k != "trials"} for a in answers]
        for a in answers:
            low, high = a["interval"] or (0, 0)
            verdict = "tuned" if a["improved"] else "default"
            rows.append(f"| {layer} | {a['default_us']:.1f} | {a['best_us']:.1f} | {a['speedup'] or 0:.3f} | {low:.3f} to {high:.3f} | "
                        f"{verdict} | {a['search_seconds']:.0f} | {'yes' if a['verified'] else 'no'} | {a['failed']} |")
    table = ["| layer | default, us | best, us | speed | interval | answer | seconds of search | equal to the evaluator | failed trials |",
             "|---|---|---|---|---|---|---|---|---|", *rows, "", *(f"- {line}" for line in operator_summary(results))]
    return "single operators", results, table


def program_figure(arguments):
    results, rows = {}, []
    for program in arguments.programs:
        module = program if program.endswith(".hlo") else str(ROOT / "models" / f"{program}.hlo")
        name = pathlib.Path(program).stem
        for variant, words in (("with schedules", []), ("without", ["--no-schedules"])):
            for seed in range(1, arguments.seeds + 1):
                print(f"figure 11, {name}, {variant}, seed {seed}", file=sys.stderr)
                folder = arguments.runs / "figure11" / name / variant.replace(" ", "-") / f"seed{seed}"
                a = tune(arguments, folder, [module, f"--budget={arguments.budget}", f"--seed={seed}", *words])
                if a is None:
                    continue
                results.setdefault(name, {}).setdefault(variant, []).append(a)
                low, high = a.get("interval") or (0, 0)
                rows.append(f"| {name} | {variant} | {a.get('default_ms', 0):.3f} | {a.get('best_ms', 0):.3f} | {a['speedup']:.3f} | "
                            f"{low:.3f} to {high:.3f} | {'yes' if a['verified'] else 'no'} |")
    table = ["| program | search | default, ms | answer, ms | speed | interval | equal to the evaluator |", "|---|---|---|---|---|---|---|", *rows]
    return "whole programs", results, table


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", nargs="+", choices=[*map(str, FIGURES), "10", "11", "reach"], metavar="FIGURE", help="4 to 11, or `reach`")
    parser.add_argument("--layers", default=QUICK, help=f"of {','.join(NAMES)}, or `all`; default: %(default)s")
    parser.add_argument("--programs", default="resnet18", help="of Figure 11: names in models/, or files")
    parser.add_argument("--trials", type=int, default=64)
    parser.add_argument("--random-trials", type=int, help=f"of every layer; default {RANDOM_OF_REACH} for `reach`, as many as --trials for 8")
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
    # Runs for another target, or in other batches, are other runs.
    arguments.runs = arguments.out / f"{arguments.target.replace(':', '-').replace('=', '-').replace(',', '-')}-batches-of-{arguments.batch}"
    arguments.runs.mkdir(parents=True, exist_ok=True)
    if not arguments.random_trials:
        arguments.random_trials = RANDOM_OF_REACH if "reach" in arguments.figures else arguments.trials
    others = {"10": operator_figure, "11": program_figure, "reach": reach_figure}
    for number in arguments.figures:
        begin = time.time()
        title, results, table = others[number](arguments) if number in others else search_figure(arguments, int(number))
        where = {"processor": processor(), "target": arguments.target, "trials": arguments.trials, "batch": arguments.batch,
                 "seeds": arguments.seeds, "seconds": round(time.time() - begin, 1), "load": os.getloadavg()}
        name = f"figure{number}" if number.isdigit() else number
        (arguments.out / f"{name}.json").write_text(json.dumps({"figure": number, "title": title, **where, "results": results}, indent=1))
        heading = f"Figure {number}" if number.isdigit() else name
        text = (f"{heading}: {title}. {where['processor']}, {arguments.target}, {arguments.trials} trials, batches of "
                f"{arguments.batch}, {arguments.seeds} seeds; load average {where['load'][0]:.1f} at the end.\n\n" + "\n".join(table) + "\n")
        (arguments.out / f"{name}.md").write_text(text)
        print(text)


if __name__ == "__main__":
    main()
