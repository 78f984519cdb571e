#!/usr/bin/env python3
"""What does tuning gain over XLA:CPU's own choice, with XLA's own code generator?

  bench/xla_table.py MODULE.hlo... [--list=FILE] [--threads=1] [--seconds=30] [--out=FOLDER] [--json=FILE] [--minutes=M]
  bench/xla_table.py --write=docs/xla-tuning.md one.json two.json

The first form runs `smelt tune MODULE --target=xla` for each and prints, as speed beside XLA's own choice (above 1 is faster): XLA without
its library, XLA's own fusions as our program, our default fusion, no fusion, and what came out, with half the interval of the final comparison.
Three geometric means at the end: over XLA's own choice; over the better of XLA's two whole-program settings; and of fusions alone, which
is the answer beside XLA's own fusions with the same choices of its library, calls and parts, timed in turn with it. An answer that is
XLA's own counts as 1 in all. --list: a file with one module a line. --minutes: no further program is begun after so long. The folder keeps the runs: the
same command goes on from it. The second form writes the figures of several runs as a page.

Needs a built smelt and jaxlib (`scripts/setup.sh --jax`), and a quiet machine. Exit status: 0; 1 if a program failed; 2 for wrong use.
"""
import argparse
import datetime
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from processor import processor  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
COLUMNS = {"no library": "xla_no_library", "XLA's fusions": "xla-fusions", "priority": "priority", "unfused": "none"}
GAINS = {"tuned": "XLA's own choice", "over_better": "the better of its two whole-program settings", "fusions": "XLA's fusions with all other choices the same"}
STEMS = (".before_optimizations", ".before_fusion", ".hlo")


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", type=pathlib.Path, metavar="MODULE.hlo")
    parser.add_argument("--list", type=pathlib.Path, help="a file with further modules, one a line")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=30, help="budget of a program, of wall-clock time (default 30)")
    parser.add_argument("--minutes", type=float, default=math.inf, help="no further program is begun after so long")
    parser.add_argument("--smelt", type=pathlib.Path, default=ROOT / "build/release/smelt")
    parser.add_argument("--python", help="an interpreter that has jaxlib (default: smelt's own search)")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("xla-runs"), help="folder of the runs (default xla-runs)")
    parser.add_argument("--json", type=pathlib.Path, help="write all figures there, after every program")
    parser.add_argument("--write", type=pathlib.Path, help="write a page of the figures in the files that are given instead")
    return parser.parse_args()


def name_of(module):
    name = module.name
    for stem in reversed(STEMS):
        name = name.removesuffix(stem)
    return name


def same_library_ms(report, folder):
    """XLA's own fusions with the answer's choices of library, calls and parts. Where these are those of one of XLA's whole-program settings, XLA's own program
    is that as well, and the faster of the two counts."""
    note = folder / "library.txt"
    kept = note.exists() and note.read_text().strip() == "kept"
    times = [report["same_library_ms"]] if report["same_library_ms"] > 0 else []
    if kept:
        times.append(report["default_ms"])
    elif not report["knobs"] and "xla_no_library" in report["starts"]:
        times.append(report["default_ms"] * report["starts"]["xla_no_library"])
    return min(times, default=report["best_ms"])


def tune(module, arguments):
    folder = arguments.out / f"{name_of(module)}-{arguments.threads}"
    command = [arguments.smelt, "tune", module, "--target=xla", f"--threads={arguments.threads}", f"--budget={arguments.seconds}",
               f"--out={folder}", "--json", "--quiet"]
    if arguments.python:
        command.append(f"--python={arguments.python}")
    begin = time.monotonic()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    row = {"program": name_of(module), "wall_s": round(time.monotonic() - begin, 1)}
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        return row | {"error": lines[-1][:200] if lines else f"exit status {done.returncode}"}
    report = json.loads(done.stdout)
    if "default_ms" not in report:
        return row | {"error": report["undecided"]}
    low, high = report["interval"] or (1, 1)
    speeds = {name: 1 / report["starts"][start] for name, start in COLUMNS.items() if start in report["starts"]}
    tuned = report["default_ms"] / report["best_ms"]
    ours = report["answer"] == "as_given"
    fusions = same_library_ms(report, folder) / report["best_ms"] if ours else 1.0
    return row | {"xla_ms": report["default_ms"], "tuned_ms": report["best_ms"], "margin": (high - low) / 2, "speeds": speeds, "tuned": tuned,
                  "over_better": tuned / max(1.0, speeds.get("no library", 1.0)), "fusions": fusions, "answer": report["answer"],
                  "verified": report["verified"], "knobs": report["knobs"], "measured": report["measured"] + report["known"],
                  "failed": report["failed"]}


def geometric_mean(values):
    return math.exp(statistics.fmean(math.log(value) for value in values))


def summary(rows):
    lines = []
    for key, what in GAINS.items():
        values = [row[key] for row in rows]
        best = max(rows, key=lambda row: row[key])
        others = geometric_mean([row[key] for row in rows if row is not best]) if len(rows) > 1 else 1.0
        lines.append(f"geometric mean over {what}: {geometric_mean(values):.3f} (best {best[key]:.2f}, {best['program']}; without it {others:.3f})")
    lines.append(f"{sum(row['answer'] == 'as_given' for row in rows)} of {len(rows)} answers are configurations of ours, "
                 f"{sum(row['answer'] == 'xla' for row in rows)} XLA's own choice, "
                 f"{sum(row['answer'] == 'xla_no_library' for row in rows)} XLA without its library")
    return lines


def choices(row):
    knobs = row["knobs"]
    parts = [f"{len(knobs[way])} {what}" for way, what in (("library", "in library"), ("call", "called")) if way in knobs]
    return ", ".join(parts + ["uncut"] * ("uncut" in knobs))


def write_page(arguments):
    text = ["# Tuning XLA:CPU\n",
            "`smelt tune --target=xla` searches fusions of a program for XLA:CPU itself (jaxlib 0.10.2), which contractions its library runs, which"
            "\nloops and grouped convolutions become functions of their own, and whether fusions are cut into parts for several threads; all timed"
            "\nwith XLA's own code generator. Made by `bench/xla_table.py`; speeds are beside XLA's own choice, above 1 is faster. *XLA's fusions* is XLA's own fused"
            "\nprogram as a configuration of ours, where the search starts; *tuned* the answer; *over better* the answer beside the better of XLA's"
            "\ntwo whole-program settings (with and without its library); *fusions* the answer beside XLA's own fusions with all those other"
            "\nchoices the same, timed in turn. The last column counts these: contractions for the library, calls, and whether nothing is cut. ± is half the 99 % interval of the final comparison,"
            "\nover several processes: where it does not lie above 1 as a whole, XLA's own choice is the answer.\n"]
    for path in arguments.modules:
        run = json.loads(path.read_text())
        rows = [row for row in run["rows"] if "error" not in row]
        text.append(f"## {run['threads']} thread{'s' if run['threads'] > 1 else ''}, {run['seconds']:g} s a program\n")
        if "processor" in run:  # runs from before 2026-11-29 do not say
            text.append(f"{run['processor']}, {run['date']}.\n")
        text += [f"- {line}" for line in summary(rows)]
        text.append("\n| program | XLA ms | " + " | ".join(COLUMNS) + " | tuned | over better | fusions | ± % | answer | with |")
        text.append("|---|" + "---:|" * (len(COLUMNS) + 5) + "---|---|")
        for row in sorted(rows, key=lambda row: -row["tuned"]):
            cells = [row["program"], f"{row['xla_ms']:.3f}", *(f"{row['speeds'][name]:.2f}" if name in row["speeds"] else "" for name in COLUMNS),
                     f"{row['tuned']:.2f}", f"{row['over_better']:.2f}", f"{row['fusions']:.2f}", f"{100 * row['margin']:.1f}",
                     {"as_given": "ours", "xla": "XLA's own", "xla_no_library": "XLA, no library"}[row["answer"]], choices(row)]
            text.append("| " + " | ".join(cells) + " |")
        failed = [row for row in run["rows"] if "error" in row]
        if failed:
            text.append("\nFailed: " + "; ".join(f"{row['program']} ({row['error']})" for row in failed))
        text.append("")
    arguments.write.write_text("\n".join(text))
    return 0


def main():
    arguments = read_arguments()
    modules = list(arguments.modules)
    if arguments.list:
        modules += [pathlib.Path(line.strip()) for line in arguments.list.read_text().splitlines() if line.strip()]
    for module in modules:
        if not module.is_file():
            print(f"no file at {module}", file=sys.stderr)
            return 2
    if not modules:
        print("give modules, or a --list of them", file=sys.stderr)
        return 2
    if arguments.write:
        return write_page(arguments)
    rows, begin = [], time.monotonic()
    where = {"processor": processor(), "date": datetime.date.today().isoformat()}
    print(f"{arguments.threads} threads, load {os.getloadavg()[0]:.2f}, {arguments.seconds:g} s a program")
    print(f"{'program':<40}{'XLA ms':>10}" + "".join(f"{name:>14}" for name in COLUMNS) + f"{'tuned':>8}{'better':>8}{'fusions':>8}{'+-':>8}  answer")
    for module in modules:
        if time.monotonic() - begin > 60 * arguments.minutes:
            print(f"{arguments.minutes:g} minutes are over: {len(modules) - len(rows)} programs are left out")
            break
        row = tune(module, arguments)
        rows.append(row)
        if "error" in row:
            print(f"{row['program']:<40}{row['error']}", flush=True)
        else:
            speeds = "".join(f"{row['speeds'].get(name, float('nan')):>14.2f}" for name in COLUMNS)
            print(f"{row['program']:<40}{row['xla_ms']:>10.3f}{speeds}{row['tuned']:>8.2f}{row['over_better']:>8.2f}{row['fusions']:>8.2f}"
                  f"{row['margin']:>8.3f}  {row['answer']} ({row['wall_s']:.0f} s)", flush=True)
        if arguments.json:
            arguments.json.write_text(json.dumps({"threads": arguments.threads, "seconds": arguments.seconds, **where, "rows": rows}, indent=1) + "\n")
    good = [row for row in rows if "error" not in row]
    if good:
        print("\n".join(summary(good)))
    return 1 if len(good) < len(rows) else 0


if __name__ == "__main__":
    sys.exit(main())
