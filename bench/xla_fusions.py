#!/usr/bin/env python3
"""Do fusions of ours compile under XLA:CPU, and compute what they should?

  bench/xla_fusions.py FOLDER_OR_MODULE.hlo... [--fusion=none,priority,random:1] [--threads=1] [--json=FILE]

In a folder: every NAME.before_fusion.hlo with NAME.golden.safetensors beside it; a module has its golden file beside it or in golden/.
For each, `smelt run MODULE --target=xla --fusion=F --golden=G` for every fusion. A program whose own passes XLA does not finish within
--compile-seconds counts as outside (that is XLA's, not ours) and is listed. Prints a line a program and a summary a fusion.

Needs a built smelt and jaxlib (`scripts/setup.sh --jax`). Exit status: 0 when everything passed, 1 otherwise, 2 for wrong use.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="+", type=pathlib.Path, metavar="FOLDER_OR_MODULE")
    parser.add_argument("--fusion", default="none,priority,random:1", help="separated by commas (default none,priority,random:1)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--smelt", type=pathlib.Path, default=ROOT / "build/release/smelt")
    parser.add_argument("--python", help="an interpreter that has jaxlib (default: smelt's own search)")
    parser.add_argument("--compile-seconds", type=float, default=60, help="limit of one of XLA's compilations (default 60)")
    parser.add_argument("--only", default="", help="programs whose name holds this")
    parser.add_argument("--json", type=pathlib.Path, help="write all results there, after every program")
    return parser.parse_args()


def cases(arguments):
    for path in arguments.modules:
        if path.is_dir():
            for module in sorted(path.glob("*.before_fusion.hlo")):
                name = module.name.removesuffix(".before_fusion.hlo")
                golden = module.with_name(f"{name}.golden.safetensors")
                if golden.exists() and arguments.only in name:
                    yield name, module, golden
        else:
            name = path.name.split(".")[0]
            beside = path.with_name(f"{name}.golden.safetensors")
            inside = path.parent / "golden" / f"{path.stem}.safetensors"
            yield name, path, beside if beside.exists() else inside


def run(arguments, module, golden, fusion):
    """(verdict, seconds, what was said)"""
    command = [arguments.smelt, "run", module, f"--target=xla:threads={arguments.threads}", f"--fusion={fusion}", f"--golden={golden}",
               f"--compile-seconds={arguments.compile_seconds}"]
    if arguments.python:
        command.append(f"--python={arguments.python}")
    start = time.monotonic()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    seconds = time.monotonic() - start
    if done.returncode == 0:
        return "ok", seconds, ""
    said = [line for line in done.stderr.splitlines() if line.strip()]
    if any("XLA's passes: no answer" in line or "XLA refuses the module" in line for line in said):
        return "outside", seconds, said[-1]
    if said:
        return "failed", seconds, said[-1]
    differing = [line for line in done.stdout.splitlines() if line.endswith("differs")]
    return "differs", seconds, differing[0] if differing else f"exit status {done.returncode}"


def main():
    arguments = read_arguments()
    fusions = arguments.fusion.split(",")
    rows = []
    for name, module, golden in cases(arguments):
        row = {"program": name}
        for fusion in fusions:
            verdict, seconds, said = run(arguments, module, golden, fusion)
            row[fusion] = {"verdict": verdict, "seconds": round(seconds, 1), "said": said[:400]}
            if verdict == "outside":
                break
        rows.append(row)
        print(f"{name:<44}" + "".join(f"{fusion}={row[fusion]['verdict']} " for fusion in fusions if fusion in row), flush=True)
        for fusion in fusions:
            if fusion in row and row[fusion]["said"]:
                print(f"    {fusion}: {row[fusion]['said']}", flush=True)
        if arguments.json:
            arguments.json.write_text(json.dumps(rows, indent=1) + "\n")
    failed = False
    for fusion in fusions:
        verdicts = [row[fusion]["verdict"] for row in rows if fusion in row]
        inside = [verdict for verdict in verdicts if verdict != "outside"]
        good = inside.count("ok")
        failed |= good != len(inside)
        print(f"{fusion}: {good} of {len(inside)} ({100 * good / max(len(inside), 1):.1f} %), {len(verdicts) - len(inside)} outside")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
