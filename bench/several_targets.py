#!/usr/bin/env python3
"""What does tuning for several targets in one session gain, beside tuning for one of them in the same time?

  bench/several_targets.py FOLDER... [--programs=30] [--budget=40] [--threads=1] [--seed=1] [--file=several.jsonl]

Draws programs from the modules in the folders (or files) as bench/budgets.py does. Tunes each for our kernels, for XLA:CPU, and for both in one
session, each time in the same wall-clock time and with nothing known before, and then times the three answers beside XLA's own choice: by
`smelt bench`, in turn, in new processes every round; equal answers are timed as one. An answer that is not verified, or a run that fails, counts as
XLA's own choice. Prints a line a program, and the geometric means of speed over XLA's own choice. Each program is a line of the file; the same
command goes on from it.

Needs a built smelt and jaxlib (`scripts/setup.sh --jax`), and a quiet machine. Exit status: 0; 1 if the answer of both is, on the whole, slower than
that of the better single one; 2 for wrong use.
"""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

import budgets

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGETS = ("cpu", "xla", "cpu,xla")
ROUNDS = 7
SECONDS = 0.3  # of one round
OWN_FUSIONS = {"xla": "xla", "xla_no_library": "xla-no-library"}


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=pathlib.Path, metavar="FOLDER", help="folders of modules, or modules")
    parser.add_argument("--programs", type=int, default=30)
    parser.add_argument("--budget", type=float, default=40, help="seconds of each of the three runs")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1, help="of the draw")
    parser.add_argument("--file", type=pathlib.Path, default=pathlib.Path("several.jsonl"), help="results; gone on from")
    parser.add_argument("--smelt", type=pathlib.Path, default=ROOT / "build/release/smelt")
    return parser.parse_args()


def smelt(arguments, *words):
    """Its JSON; None where it failed."""
    try:
        done = subprocess.run([arguments.smelt, *words, f"--threads={arguments.threads}", "--json"], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace", timeout=10 * arguments.budget + 300)
    except subprocess.TimeoutExpired:
        return None
    return json.loads(done.stdout) if done.returncode == 0 else None


def answer_of(arguments, module, target, folder):
    """Target and fusion of the answer, as `smelt bench` takes them; XLA's own choice where there is none."""
    report = smelt(arguments, "tune", module, f"--target={target}", f"--budget={arguments.budget:g}", f"--out={folder}/{target}",
                   f"--cache={folder}/cache-{target}", "--quiet")
    run = folder / target
    if report is not None and "targets" in report:
        target = report["target"]
        report, run = report["targets"][target], run / target
    if report is None or not report["verified"]:
        return "xla", "xla"
    if target == "cpu":
        return "cpu", str(run / "best.fusion.json")
    return "xla", OWN_FUSIONS.get(report["answer"], str(run / "best.fusion.json"))


def content(fusion):
    """What a fusion's file says, but for how long it was thought to take; a name is its own."""
    if not pathlib.Path(fusion).is_file():
        return fusion
    said = json.loads(pathlib.Path(fusion).read_text())
    return json.dumps({key: value for key, value in said.items() if key not in ("predicted_seconds", "measured_seconds")})


def share_equal(answers):
    """The same, where equal answers name one file."""
    first = {}
    return {target: first.setdefault((where, content(fusion)), (where, fusion)) for target, (where, fusion) in answers.items()}


def measure(arguments, module):
    with tempfile.TemporaryDirectory(prefix="smelt-several-") as name:
        answers = share_equal({target: answer_of(arguments, module, target, pathlib.Path(name)) for target in TARGETS})
        times = {}
        for _ in range(ROUNDS):
            for answer in dict.fromkeys([("xla", "xla"), *answers.values()]):
                timed = smelt(arguments, "bench", module, f"--target={answer[0]}", f"--fusion={answer[1]}", f"--seconds={SECONDS}")
                if timed is not None:
                    times.setdefault(answer, []).append(timed["median_ms"])
    own = statistics.median(times.get(("xla", "xla"), [math.nan]))
    speeds = {target: own / statistics.median(times[answer]) if answer in times else 1.0 for target, answer in answers.items()}
    return {"program": module.name, "xla_ms": own, "speeds": speeds, "won": answers[TARGETS[-1]][0]}


def geometric_mean(values):
    return math.exp(statistics.fmean(math.log(value) for value in values))


def main():
    arguments = read_arguments()
    modules = budgets.draw(arguments)
    rows = [json.loads(line) for line in arguments.file.read_text().splitlines()] if arguments.file.exists() else []
    known = {row["program"] for row in rows}
    for module in modules:
        if module.name not in known:
            row = measure(arguments, module)
            with arguments.file.open("a") as file:
                file.write(json.dumps(row) + "\n")
            rows.append(row)
        row = next(row for row in rows if row["program"] == module.name)
        if math.isnan(row["xla_ms"]):
            print(f"{row['program']:<60} XLA cannot run it", flush=True)
            continue
        speeds = "  ".join(f"{target} {row['speeds'][target]:6.2f}" for target in TARGETS)
        print(f"{row['program']:<60} XLA {row['xla_ms']:9.3f} ms  {speeds}  ({row['won']})", flush=True)
    names = {module.name for module in modules}
    rows = [row for row in rows if row["program"] in names and not math.isnan(row["xla_ms"])]
    if not rows:
        return 1
    means = {target: geometric_mean([row["speeds"][target] for row in rows]) for target in TARGETS}
    print(f"geometric mean over XLA's own choice, {len(rows)} programs, {arguments.budget:g} s each, {arguments.threads} threads: "
          + ", ".join(f"{target} {mean:.3f}" for target, mean in means.items()))
    return 0 if means[TARGETS[-1]] >= max(means[target] for target in TARGETS[:-1]) else 1


if __name__ == "__main__":
    sys.exit(main())
