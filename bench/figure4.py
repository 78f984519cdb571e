#!/usr/bin/env python3
"""Figure 4 of "A Learned Performance Model for TPUs" (MLSys 2021) on this machine: what the model is worth to the search for fusions.

  bench/figure4.py                                            # eight programs of models/, 15 s and 150 s, 3 seeds: about 3 hours
  bench/figure4.py dqn lstm_lm --seconds=5 --seeds=2 --out=quick
  bench/figure4.py FILE.hlo... --target=xla --programs=4

search          guided by                                        hardware seconds
model           the learned model, then measurements             --seconds
rough           the analytical model, then measurements          --seconds
hardware        measurements alone, in the same space            --seconds
hardware, long  the same                                         --seconds times --factor

Each from the default fusion and from a random one. Hardware seconds are those of compiling and timing candidates. What is compared is the fastest
program that the search timed, timed anew beside the default in processes of its own: the search's own timing of it is the best of many, and all the
better the more there were. From the default, a program that is not faster beyond noise is no answer, and counts 1. Curves show the search's own
timings, each in turn with the default. Every run has a folder and a cache of kernels of its own below --out, and a finished one is not run again: the
same command goes on. Runs of one program take turns, seed by seed, so that what disturbs the machine disturbs all searches.

Writes figure4.json, figure4.md and one SVG a start: the speed of the best so far over hardware seconds. Intervals are of 95 %, from 10,000
bootstrap samples over programs, and seeds within them. Quiet the machine first.
"""
import argparse
import json
import math
import os
import pathlib
import random
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from autotvm import ROOT, tune  # noqa: E402
from line_plot import line_plot  # noqa: E402
from processor import processor  # noqa: E402
from tune_table import PROGRAMS, module_of, name_of  # noqa: E402

STARTS = {"default": "priority", "random": "random"}
SEARCHES = {"model": (["--mode=model"], False), "rough": (["--mode=model", "--model=analytical"], False), "hardware": (["--mode=hardware"], False),
            "hardware, long": (["--mode=hardware"], True)}
PAIRS = (("model", "hardware"), ("model", "hardware, long"), ("model", "rough"), ("rough", "hardware"))
SAMPLES, CURVE_SAMPLES, CURVE_POINTS = 10000, 1000, 40


def best_by(run, start, seconds):
    """The speed beside the default's of the best that the search had timed by then; None: nothing yet."""
    found = [1 / step["relative"] for step in run["found"] if step["hardware_seconds"] <= seconds]
    if start == "default":
        found.append(1.0)
    return max(found, default=None)


def compared(run, start):
    """The speed beside the default's of what the search found, in a comparison of its own; the search's own timing where that is no better."""
    if run["improved"]:
        return run["speedup"]
    if start == "default":
        return 1.0
    return math.sqrt(math.prod(run["interval"])) if run["interval"] else best_by(run, start, math.inf)


def mean(values):
    return sum(values) / len(values)


def bootstrap(by_program, samples=SAMPLES):
    """(value, low, high) of the mean over programs of the mean over seeds."""
    drawn, generator = [], random.Random(1)
    for _ in range(samples):
        programs = generator.choices(by_program, k=len(by_program))
        drawn.append(mean([mean(generator.choices(seeds, k=len(seeds))) for seeds in programs]))
    drawn.sort()
    return mean([mean(seeds) for seeds in by_program]), drawn[int(0.025 * samples)], drawn[int(0.975 * samples) - 1]


def percent(log):
    return f"{100 * (math.exp(log) - 1):+.1f} %"


class Figure:
    """The finished runs, and what they say."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.runs = {}  # (program, start, search) -> runs by seed

    def seconds(self, search):
        return self.arguments.seconds * (self.arguments.factor if SEARCHES[search][1] else 1)

    def run_all(self):
        jobs = [(program, seed, start, search) for program in self.arguments.programs for seed in range(1, self.arguments.seeds + 1)
                for start in STARTS for search in SEARCHES]
        left = sum(self.seconds(search) for *_, search in jobs)
        for program, seed, start, search in jobs:
            name, seconds = name_of(program), self.seconds(search)
            print(f"figure 4, {name}, from {start}, {search}, seed {seed}; {left / 60:.0f} minutes of hardware time left", file=sys.stderr)
            left -= seconds
            folder = self.arguments.out / name / start / search.replace(", ", "-") / f"seed{seed}"
            run = tune(self.arguments, folder, [str(module_of(program)), f"--start={STARTS[start]}", f"--hardware-seconds={seconds:g}",
                                                f"--budget={10 * seconds + 120:g}", f"--seed={seed}", *SEARCHES[search][0]])
            if run is not None and best_by(run, start, math.inf) is not None:
                self.runs.setdefault((name, start, search), {})[seed] = run
            elif run is not None:
                print(f"{name}, from {start}, {search}, seed {seed}: nothing was timed beside the default", file=sys.stderr)

    def logs(self, start, search, speed=compared):
        """Logarithms of speeds, by program and seed."""
        return {name: {seed: math.log(speed(run, start)) for seed, run in runs.items() if speed(run, start)}
                for (name, of_start, of_search), runs in self.runs.items() if (of_start, of_search) == (start, search)}

    def speed(self, start, search):
        return bootstrap([list(seeds.values()) for seeds in self.logs(start, search).values()])

    def difference(self, start, one, other):
        """How much faster one search's program is than the other's, of the same program and seed."""
        ones, others = self.logs(start, one), self.logs(start, other)
        paired = [[log - others[name][seed] for seed, log in seeds.items() if seed in others.get(name, {})] for name, seeds in ones.items()]
        paired = [seeds for seeds in paired if seeds]
        return bootstrap(paired) if paired else None

    def curve(self, start, search):
        """(hardware seconds, speed, low, high), from where every run has timed something."""
        points, whole = [], self.seconds(search)
        runs = self.logs(start, search)
        for step in range(1, CURVE_POINTS + 1):
            now = whole * step / CURVE_POINTS
            logs = self.logs(start, search, lambda run, of_start, now=now: best_by(run, of_start, now))
            if logs and all(len(logs[name]) == len(runs[name]) for name in runs):
                value, low, high = bootstrap([list(seeds.values()) for seeds in logs.values()], CURVE_SAMPLES)
                points.append((now, math.exp(value), math.exp(low), math.exp(high)))
        return points

    def table(self):
        lines = ["| start | program | " + " | ".join(SEARCHES) + " |", "|---|---|" + "---|" * len(SEARCHES)]
        for start in STARTS:
            for program in map(name_of, self.arguments.programs):
                cells = []
                for search in SEARCHES:
                    logs = self.logs(start, search).get(program, {})
                    spread = f" ({math.exp(min(logs.values())):.3f} to {math.exp(max(logs.values())):.3f})" if len(logs) > 1 else ""
                    cells.append(f"{math.exp(mean(list(logs.values()))):.3f}{spread}" if logs else "failed")
                lines.append(f"| {start} | {program} | " + " | ".join(cells) + " |")
            cells = []
            for search in SEARCHES:
                speed = map(math.exp, self.speed(start, search)) if self.logs(start, search) else None
                cells.append("{:.3f} [{:.3f}, {:.3f}]".format(*speed) if speed else "failed")
            lines.append(f"| {start} | geometric mean | " + " | ".join(cells) + " |")
        lines += ["", "| start | search | faster than | by | 95 % interval |", "|---|---|---|---|---|"]
        for start in STARTS:
            for one, other in PAIRS:
                difference = self.difference(start, one, other)
                if difference:
                    value, low, high = map(percent, difference)
                    lines.append(f"| {start} | {one} | {other} | {value} | {low} to {high} |")
        return "\n".join(lines) + "\n"

    def summary(self):
        result = {}
        for start in STARTS:
            speeds = {search: list(map(math.exp, self.speed(start, search))) for search in SEARCHES if self.logs(start, search)}
            pairs = {f"{one} / {other}": self.difference(start, one, other) for one, other in PAIRS}
            result[start] = {"speed": speeds, "log_ratio": pairs, "curves": {search: self.curve(start, search) for search in speeds}}
        return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", default=PROGRAMS, help="names in models/, or HLO files")
    parser.add_argument("--programs", dest="most", type=int, default=0, help="only the first so many; 0: all")
    parser.add_argument("--seconds", type=float, default=15, help="hardware seconds of a search")
    parser.add_argument("--factor", type=float, default=10, help="times these for the long search with measurements alone")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--target", default="cpu:threads=1")
    parser.add_argument("--smelt", default=str(ROOT / "build/release/smelt"))
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("figure4"))
    arguments = parser.parse_args()
    if not pathlib.Path(arguments.smelt).exists():
        parser.error(f"there is no {arguments.smelt}; build it, or name it with --smelt")
    arguments.programs = arguments.programs[:arguments.most or None]
    missing = [program for program in arguments.programs if not module_of(program).exists()]
    if missing:
        parser.error(f"there is no program {missing[0]}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    begin, figure = time.time(), Figure(arguments)
    figure.run_all()
    if not figure.runs:
        sys.exit("figure4.py: no search ended well")
    where = {"processor": processor(), "target": arguments.target, "seconds": arguments.seconds, "factor": arguments.factor,
             "seeds": arguments.seeds, "wall_seconds": round(time.time() - begin, 1), "load": os.getloadavg()}
    summary = figure.summary()
    (arguments.out / "figure4.json").write_text(json.dumps({**where, "results": summary}, indent=1))
    text = (f"{where['processor']}, {arguments.target}, {arguments.seconds:g} s of hardware time and {arguments.factor:g} times that, "
            f"{arguments.seeds} seeds; load average {where['load'][0]:.1f} at the end. Times the default's speed; in parentheses the range over seeds.\n\n"
            + figure.table())
    (arguments.out / "figure4.md").write_text(text)
    for start, parts in summary.items():
        (arguments.out / f"from-{start}.svg").write_text(
            line_plot(f"from {'a' if start == 'random' else 'the'} {start} fusion", "hardware seconds", "times the default's speed", parts["curves"]))
    print(text)


if __name__ == "__main__":
    main()
