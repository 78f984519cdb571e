#!/usr/bin/env python3
"""What tuning gains: every example program from every start, beside the same search with measurements alone.

  bench/tune_table.py                                  # all of models/, about 14 times --seconds for each program
  bench/tune_table.py dqn attention --seconds=10 --factor=3

Prints a Markdown table, writes it to docs/tuning.md (or --out=FILE; what follows the first `## ` there stays) and the figures to --json=FILE. Gains are how much less time
the answer takes than the default fusion, by `smelt tune`'s own interleaved comparison; 0 where nothing beat the default beyond noise,
because then the default is the answer. Every run has a run folder and a kernel cache of its own, so that none profits from another.
"""
import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from processor import processor  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = ["resnet18", "mobilenet", "lstm_lm", "dqn", "dcgan_generator", "bert_block", "attention", "train_step"]


def searches(factor):
    """Name of a column, arguments of `smelt tune`, and how many times the hardware seconds."""
    return [
        ("model, from priority", ["--mode=model", "--start=priority"], 1),
        ("model, from none", ["--mode=model", "--start=none"], 1),
        ("model, from random", ["--mode=model", "--start=random"], 1),
        ("hardware, from random", ["--mode=hardware", "--start=random"], 1),
        (f"hardware, from random, {factor:g} times the time", ["--mode=hardware", "--start=random"], factor),
    ]


def module_of(program):
    return pathlib.Path(program) if program.endswith(".hlo") else ROOT / "models" / f"{program}.hlo"


def name_of(program):
    return pathlib.Path(program).name.split(".")[0]


def tune(arguments, program, words, seconds):
    """One run of `smelt tune`, as its JSON, or None where it failed (its message is shown)."""
    with tempfile.TemporaryDirectory() as folder:
        command = [arguments.smelt, "tune", str(module_of(program)), f"--out={folder}/run", f"--hardware-seconds={seconds:g}",
                   f"--budget={10 * seconds + 120:g}",  # which is to end none of them
                   f"--seed={arguments.seed}", "--json", "--quiet", *words]
        if arguments.moves:
            command.append(f"--moves={arguments.moves}")
        if arguments.model:
            command.append(f"--model={arguments.model}")
        begin = time.time()
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env={**os.environ, "SMELT_CACHE": f"{folder}/cache"})
    if done.returncode != 0:
        print(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}", file=sys.stderr)
        return None
    figures = json.loads(done.stdout)
    figures["wall_seconds"] = time.time() - begin
    return figures


def cell(figures):
    if figures is None:
        return "failed"
    text = f"{100 * (1 - figures['best_ms'] / figures['default_ms']):.1f} %"
    return text if figures["verified"] else f"{text}, not verified"


def mean(values):
    return f"{100 * sum(values) / len(values):.1f} %" if values else "-"


def table(rows, columns):
    lines = ["| program | default ms | " + " | ".join(columns) + " |", "|---|---|" + "---|" * len(columns)]
    for program, runs in rows:
        times = [run["default_ms"] for run in runs if run]
        default = f"{sorted(times)[len(times) // 2]:.3f}" if times else "-"
        lines.append(f"| {program} | {default} | " + " | ".join(cell(run) for run in runs) + " |")
    gains = [[1 - runs[i]["best_ms"] / runs[i]["default_ms"] for _, runs in rows if runs[i]] for i in range(len(columns))]
    lines.append("| mean | | " + " | ".join(mean(column) for column in gains) + " |")
    measured = [[runs[i]["measured"] for _, runs in rows if runs[i]] for i in range(len(columns))]
    lines.append("| configurations measured, mean | | " + " | ".join(f"{sum(m) / max(len(m), 1):.0f}" for m in measured) + " |")
    return "\n".join(lines) + "\n"


def document(rows, columns, arguments, model):
    command = " ".join(["bench/tune_table.py", *(word if word.startswith("-") else name_of(word) for word in sys.argv[1:])])
    return f"""# What tuning gains

How much less time the tuned program takes than the default fusion (`priority`), on one core of {processor()}, {datetime.date.today()}.
Made by `{command}`: {arguments.seconds:g} s of hardware time (compiling and timing candidates) a search, seed {arguments.seed}. 0 means that nothing
beat the default beyond doubt, and the default is the answer. Every answer was compared with the evaluator.

The model: {model}.

{table(rows, columns)}"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", default=PROGRAMS, help="names in models/, or HLO files")
    parser.add_argument("--smelt", default=str(ROOT / "build/release/smelt"))
    parser.add_argument("--seconds", type=float, default=20, help="hardware seconds of a search")
    parser.add_argument("--factor", type=float, default=10, help="the last column's times the hardware seconds")
    parser.add_argument("--moves", type=int, help="moves of a search under the model")
    parser.add_argument("--model", help="model file; by default the shipped one")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", default=str(ROOT / "docs/tuning.md"))
    parser.add_argument("--json", help="all figures, as smelt tune prints them")
    arguments = parser.parse_args()
    for program in arguments.programs:
        if not module_of(program).is_file():
            parser.error(f"no module at {module_of(program)}")
    if not os.access(arguments.smelt, os.X_OK):
        parser.error(f"no program at {arguments.smelt}: build it (scripts/test.sh), or give --smelt")
    columns = [name for name, _, _ in searches(arguments.factor)]
    rows, model = [], "unknown"
    for program in arguments.programs:
        runs = []
        for name, words, times in searches(arguments.factor):
            print(f"{name_of(program)}: {name}", file=sys.stderr)
            runs.append(tune(arguments, program, words, arguments.seconds * times))
            if runs[-1]:
                model = runs[-1]["model"]
        rows.append((name_of(program), runs))
        # Written after every program, so that a long run shows what it has.
        pathlib.Path(arguments.out).parent.mkdir(parents=True, exist_ok=True)
        page = pathlib.Path(arguments.out)
        _, heading, kept = page.read_text().partition("\n## ") if page.is_file() else ("", "", "")
        page.write_text(document(rows, columns, arguments, model) + heading + kept)
        if arguments.json:
            pathlib.Path(arguments.json).write_text(json.dumps([{"program": p, "runs": dict(zip(columns, r))} for p, r in rows], indent=1))
    print(table(rows, columns), end="")
    failed = [program for program, runs in rows if not all(run and run["verified"] for run in runs)]
    if failed:
        print(f"not verified or failed: {' '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
