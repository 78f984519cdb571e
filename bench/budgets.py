#!/usr/bin/env python3
"""Does `smelt tune` keep its budget?

  bench/budgets.py FOLDER... [--programs=20] [--budgets=5,15,60] [--targets=cpu,xla] [--seed=1] [--file=budgets.jsonl]

Draws programs from the modules in the folders (or files), small and large: sorted by size, one from each of as many equal parts. Tunes each
within each budget, for each target, in a new folder with an empty kernel cache. The wall clock may not show more than 1.1 times the budget and 5 s.
Each run is a line of the file; the same command goes on from it. Prints a line a run, and a table with the largest ratio at the end.

Exit status: 0; 1 if a run took longer or failed; 2 for wrong use. A machine that does other work makes the test harder, and no figure wrong.
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
ENDINGS = (".hlo", ".before_optimizations.hlo")


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=pathlib.Path, metavar="FOLDER", help="folders of modules, or modules")
    parser.add_argument("--programs", type=int, default=20)
    parser.add_argument("--budgets", default="5,15,60", help="seconds, with commas between")
    parser.add_argument("--targets", default="cpu,xla")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1, help="of the draw")
    parser.add_argument("--file", type=pathlib.Path, default=pathlib.Path("budgets.jsonl"), help="results; gone on from")
    parser.add_argument("--smelt", type=pathlib.Path, default=ROOT / "build/release/smelt")
    parser.add_argument("--python", help="an interpreter that has jaxlib (default: smelt's own search)")
    return parser.parse_args()


def draw(arguments):
    modules = []
    for folder in arguments.folders:
        if folder.is_dir():
            modules += [path for path in folder.iterdir() if path.name.endswith(ENDINGS[1]) or path.name.count(".") == 1 and path.suffix == ENDINGS[0]]
        elif folder.is_file():
            modules.append(folder)
        else:
            sys.exit(f"no module or folder at {folder}")
    modules.sort(key=lambda path: (path.stat().st_size, path.name))
    count = min(arguments.programs, len(modules))
    dice = random.Random(arguments.seed)
    return [modules[dice.randrange(k * len(modules) // count, (k + 1) * len(modules) // count)] for k in range(count)]


def tune(module, target, budget, arguments):
    with tempfile.TemporaryDirectory(prefix="smelt-budgets-") as folder:
        command = [arguments.smelt, "tune", module, f"--target={target}", f"--budget={budget:g}", f"--threads={arguments.threads}",
                   f"--out={folder}/run", f"--cache={folder}/cache", "--json", "--quiet"]
        if arguments.python:
            command.append(f"--python={arguments.python}")
        begin = time.monotonic()
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=10 * budget + 120)
        except subprocess.TimeoutExpired:
            done = None
        wall = time.monotonic() - begin
    row = {"program": module.name, "target": target, "budget": budget, "wall": round(wall, 2), "limit": 1.1 * budget + 5}
    if done is None or done.returncode != 0:
        lines = [] if done is None else [line for line in done.stderr.splitlines() if line.strip()]
        return row | {"error": lines[-1][:300] if lines else "no end" if done is None else f"exit status {done.returncode}"}
    report = json.loads(done.stdout)
    return row | {key: report[key] for key in ("speedup", "interval", "verified", "undecided", "unchecked", "measured", "phase_seconds")}


def key_of(row):
    return row["program"], row["target"], row["budget"]


def main():
    arguments = read_arguments()
    modules = draw(arguments)
    budgets = [float(word) for word in arguments.budgets.split(",")]
    rows = []
    if arguments.file.exists():
        rows = [json.loads(line) for line in arguments.file.read_text().splitlines()]
    known = {key_of(row) for row in rows}
    wanted = [(module, target, budget) for budget in budgets for target in arguments.targets.split(",") for module in modules]
    for module, target, budget in wanted:
        if (module.name, target, budget) in known:
            continue
        row = tune(module, target, budget, arguments)
        rows.append(row)
        with arguments.file.open("a") as file:
            file.write(json.dumps(row) + "\n")
        what = row.get("error") or row["undecided"] or f"{row['speedup']:.2f} times, {row['measured']} measured"
        print(f"{row['wall']:7.1f} s of {budget:g} {target} {module.name}: {what}", flush=True)
    names = {(module.name, target, budget) for module, target, budget in wanted}
    rows = [row for row in rows if key_of(row) in names]
    print(f"{'target':<8}{'budget':>8}{'runs':>6}{'largest wall':>14}{'of limit':>10}{'over':>6}{'failed':>8}{'verified':>10}{'faster':>8}")
    for target in arguments.targets.split(","):
        for budget in budgets:
            of = [row for row in rows if row["target"] == target and row["budget"] == budget]
            if of:
                worst = max(row["wall"] for row in of)
                print(f"{target:<8}{budget:>8g}{len(of):>6}{worst:>12.1f} s{worst / of[0]['limit']:>10.2f}{sum(row['wall'] > row['limit'] for row in of):>6}"
                      f"{sum('error' in row for row in of):>8}{sum(row.get('verified', False) for row in of):>10}{sum(row.get('speedup', 1) > 1 for row in of):>8}")
    return 1 if any("error" in row or row["wall"] > row["limit"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
