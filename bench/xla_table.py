#!/usr/bin/env python3
"""What does tuning gain over XLA:CPU's own choice, with XLA's own code generator?

  bench/xla_table.py MODULE.hlo... [--threads=1] [--seconds=60] [--out=FOLDER] [--json=FILE]

Runs `smelt tune MODULE --target=xla` for each and prints, as speed beside XLA's own choice (above 1 is faster): XLA without its library of
contractions, our default fusion, no fusion, and what came out, with the noise of the final comparison. Geometric means at the end: over XLA's
own choice, and over the better of XLA's two whole-program settings. The folder keeps the runs; the same command goes on from it.

Needs a built smelt and jaxlib (`scripts/setup.sh --jax`), and a quiet machine. Exit status: 0; 1 if a program failed; 2 for wrong use.
"""
import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
COLUMNS = {"no library": "xla_no_library", "priority": "priority", "none": "none"}


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="+", type=pathlib.Path, metavar="MODULE.hlo")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60, help="of compiling and timing candidates, a program (default 60)")
    parser.add_argument("--smelt", type=pathlib.Path, default=ROOT / "build/release/smelt")
    parser.add_argument("--python", help="an interpreter that has jaxlib (default: smelt's own search)")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("xla-runs"), help="folder of the runs (default xla-runs)")
    parser.add_argument("--json", type=pathlib.Path, help="write all figures there")
    return parser.parse_args()


def tune(module, arguments):
    folder = arguments.out / f"{module.name.removesuffix('.hlo')}-{arguments.threads}"
    command = [arguments.smelt, "tune", module, "--target=xla", f"--threads={arguments.threads}", f"--hardware-seconds={arguments.seconds}",
               f"--out={folder}", "--json", "--quiet"]
    if arguments.python:
        command.append(f"--python={arguments.python}")
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        return {"program": module.name, "error": lines[-1][:200] if lines else f"exit status {done.returncode}"}
    report = json.loads(done.stdout)
    speeds = {name: 1 / report["starts"][start] for name, start in COLUMNS.items() if start in report["starts"]}
    tuned = report["default_ms"] / report["best_ms"]
    return {"program": module.name, "xla_ms": report["default_ms"], "tuned_ms": report["best_ms"], "noise": report["noise"], "speeds": speeds,
            "tuned": tuned, "over_better": tuned / max(1.0, speeds.get("no library", 1.0)), "answer": report["answer"],
            "library": report["library"], "measured": report["measured"] + report["known"], "failed": report["failed"]}


def main():
    arguments = read_arguments()
    for module in arguments.modules:
        if not module.is_file():
            print(f"no module at {module}", file=sys.stderr)
            return 2
    rows = []
    print(f"{arguments.threads} threads, load {os.getloadavg()[0]:.2f}, {arguments.seconds:g} s a program")
    print(f"{'program':<48}{'XLA ms':>10}" + "".join(f"{name:>12}" for name in COLUMNS) + f"{'tuned':>8}{'noise':>8}  answer")
    for module in arguments.modules:
        row = tune(module, arguments)
        rows.append(row)
        if "error" in row:
            print(f"{row['program']:<48}{row['error']}", flush=True)
            continue
        speeds = "".join(f"{row['speeds'].get(name, float('nan')):>12.2f}" for name in COLUMNS)
        print(f"{row['program']:<48}{row['xla_ms']:>10.3f}{speeds}{row['tuned']:>8.2f}{row['noise']:>8.3f}  {row['answer']}", flush=True)
    good = [row for row in rows if "error" not in row]
    if good:
        for key, what in (("tuned", "XLA's own choice"), ("over_better", "the better of its two settings")):
            print(f"geometric mean over {what}: {math.exp(statistics.fmean(math.log(row[key]) for row in good)):.3f}")
    if arguments.json:
        arguments.json.write_text(json.dumps({"threads": arguments.threads, "seconds": arguments.seconds, "rows": rows}, indent=1) + "\n")
    return 1 if len(good) < len(rows) else 0


if __name__ == "__main__":
    sys.exit(main())
