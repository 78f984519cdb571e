#!/usr/bin/env python3
"""The tables of docs/speed.md, from what compare_layers.py, compare_nets.py and compare_xla.py wrote with --json.

  bench/speed_tables.py FILE.json... [--write=docs/speed.md]

Files of layers are columns, ordered by type, ISA, threads and --direct; files of networks are columns ordered by threads; a file of programs is a table of its
own. Prints Markdown; with --write each table takes the place of the first in the page whose header begins with the same cell and has a `speed`, and each line of
means that of the line that begins with the same words. Whatever else the page says stays as it is.

Exit status: 0; 2 for wrong use, or a table or line that the page has no place for, and then the page stays as it was.
"""
import argparse
import json
import math
import pathlib
import statistics
import sys

MEANS = "Geometric mean and least:"
WINOGRAD = "Beside oneDNN's Winograd"
PROGRAMS = "Geometric mean of programs"
COLUMN_NAMES = {("f32", "native"): "f32", ("f32", "avx2"): "AVX2", ("s8", "native"): "s8", ("s8", "avx2"): "s8, AVX2"}


class WrongUse(Exception):
    pass


def table(header, rows):
    return ["| " + " | ".join(header) + " |", "|" + "---|" * len(header), *("| " + " | ".join(row) + " |" for row in rows)]


def milliseconds(value):
    return f"{value:.3f}" if value >= 0.1 else f"{value:.4f}"


def threads_of(count):
    return "one thread" if count == 1 else f"{count} threads"


def mean_and_least(speeds):
    return f"{math.exp(statistics.fmean(map(math.log, speeds))):.2f}, least {min(speeds):.2f}"


def kind_of(run):
    rows = run.get("rows") if isinstance(run, dict) else None
    key = next((key for key in ("layer", "net", "program") if rows and key in rows[0]), None)
    if key is None:
        raise WrongUse("no figures of layers, networks or programs")
    return key


def column_name(run):
    name = COLUMN_NAMES[run["type"], run.get("isa", "native")] + (" by direct sums" if run.get("direct") else "")
    return name if run["threads"] == 1 else f"{name}, {threads_of(run['threads'])}"


def layers(runs):
    """Blocks of lines: the table, the means of its groups, and what stands beside oneDNN's Winograd."""
    runs = sorted(runs, key=lambda run: (list(COLUMN_NAMES).index((run["type"], run.get("isa", "native"))), run["threads"], run.get("direct", False)))
    names = list(dict.fromkeys(row["layer"] for run in runs for row in run["rows"]))
    found = [{row["layer"]: row for row in run["rows"] if "smelt_ms" in row} for run in runs]
    rows = []
    for name in names:
        cells = [name]
        for of_run in found:
            row = of_run.get(name)
            cells += [milliseconds(row["smelt_ms"]) if row else "", f"{row['speed']:.2f}" if row and "speed" in row else ""]
        rows.append(cells)
    header = ["layer"] + [cell for run in runs for cell in (f"{column_name(run)}, ms", "speed")]
    means = "; ".join(f"{column_name(run)}: " + ", ".join(f"{group} {s['geometric_mean']:.2f} and {s['least']:.2f}" for group, s in run["summary"].items())
                      for run in runs)
    beside = []
    for run, of_run in zip(runs, found):
        others = {name: [ms for other, ms in row["others_ms"].items() if "winograd" in other] for name, row in of_run.items()}
        speeds = [f"{name} {min(ms) / of_run[name]['smelt_ms']:.2f}" for name, ms in others.items() if ms]
        if speeds:
            beside.append(f"{', '.join(speeds)} ({column_name(run)})")
    blocks = [table(header, rows), [f"{MEANS} {means}."]]
    return blocks + ([[f"{WINOGRAD}: {'; '.join(beside)}."]] if beside else [])


def networks(runs):
    runs = sorted(runs, key=lambda run: run["threads"])
    names = list(dict.fromkeys(row["net"] for run in runs for row in run["rows"]))
    found = [{row["net"]: row for row in run["rows"]} for run in runs]
    kinds = ("known", "arguments")
    rows = [[name] + [cell for of_run in found for kind in kinds
                      for cell in (f"{of_run[name][kind + '_ms']:.2f}", f"{of_run[name][kind + '_speed']:.2f}")] for name in names]
    rows.append(["geometric mean"] + [cell for run in runs for kind in kinds for cell in ("", f"{run['summary'][kind]['geometric_mean']:.2f}")])
    header = ["network"] + [cell for run in runs for kind in kinds for cell in (f"{kind}, {threads_of(run['threads'])}, ms", "speed")]
    return [table(header, rows)]


def programs(runs):
    rows = [row for run in runs for row in run["rows"] if "speed" in row]
    lines = [[row["program"], milliseconds(row["smelt_ms"]), milliseconds(row["xla_ms"]), f"{row['speed']:.2f}"] for row in rows]
    return [table(["program", "Smelt ms", "XLA ms", "speed"], lines), [f"{PROGRAMS}: {mean_and_least([row['speed'] for row in rows])}."]]


def begins_like(line, block):
    """Whether a line of the page is the first of what the block takes the place of."""
    if block[0].startswith("|"):
        return line.startswith("|".join(block[0].split("|")[:2]) + "|") and "speed" in line
    return line.startswith(block[0].split(":")[0] + ":")


def replace(page, blocks):
    lines = page.splitlines()
    for block in blocks:
        start = next((i for i, line in enumerate(lines) if begins_like(line, block)), None)
        if start is None:
            raise WrongUse(f"the page has no place for: {block[0]}")
        end = start + 1
        while block[0].startswith("|") and end < len(lines) and lines[end].startswith("|"):
            end += 1
        lines[start:end] = block
    return "\n".join(lines) + "\n"


def read(path):
    try:
        run = json.loads(path.read_text())
        return kind_of(run), run
    except (OSError, ValueError, WrongUse) as problem:
        raise WrongUse(f"{path}: {problem}") from problem


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=pathlib.Path, metavar="FILE.json")
    parser.add_argument("--write", type=pathlib.Path, metavar="PAGE", help="replace the tables of this page")
    arguments = parser.parse_args()
    try:
        runs = [read(path) for path in arguments.files]
        blocks = []
        for kind, blocks_of in (("layer", layers), ("net", networks), ("program", programs)):
            chosen = [run for found, run in runs if found == kind]
            blocks += blocks_of(chosen) if chosen else []
        if arguments.write:
            arguments.write.write_text(replace(arguments.write.read_text(), blocks))
        else:
            print("\n\n".join("\n".join(block) for block in blocks))
    except (WrongUse, OSError) as problem:
        print(f"speed_tables.py: {problem}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
