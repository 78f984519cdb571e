#!/usr/bin/env python3
"""Whether `smelt.jax.tune` keeps its budget: wall time of each call, under both targets, for the functions of bench/jax_kernels.py.

  bench/jax_budgets.py [--budgets 5,15,60] [--targets xla,cpu] [NAME...]

Each call begins with an empty folder. A call keeps its budget if it takes at most a tenth and five seconds more. Exit status 0: all did.
"""
import argparse
import pathlib
import sys
import tempfile
import time

import smelt.jax
from jax_kernels import PROGRAMS


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budgets", type=lambda text: [float(part) for part in text.split(",")], default=[5, 15, 60])
    parser.add_argument("--targets", type=lambda text: text.split(","), default=["xla", "cpu"])
    parser.add_argument("names", nargs="*", default=list(PROGRAMS), metavar="NAME", help=", ".join(PROGRAMS))
    arguments = parser.parse_args()
    print("| function | target | budget, s | took, s | answer | times XLA's speed | |\n|---|---|---|---|---|---|---|")
    kept = calls = 0
    for name in arguments.names:
        f, example = PROGRAMS[name]()
        for target in arguments.targets:
            for budget in arguments.budgets:
                with tempfile.TemporaryDirectory() as scratch:
                    start = time.monotonic()
                    tuned = smelt.jax.tune(f, *example, out=pathlib.Path(scratch) / "run.smelt", budget=budget, target=target, quiet=True)
                    took = time.monotonic() - start
                in_time = took <= 1.1 * budget + 5
                kept, calls = kept + in_time, calls + 1
                print(f"| {name} | {target} | {budget:g} | {took:.1f} | {tuned.answer} | {tuned.speedup:.2f} | {'' if in_time else 'LATE'} |",
                      flush=True)
    print(f"\n{kept} of {calls} calls kept their budget.")
    return 0 if kept == calls else 1


if __name__ == "__main__":
    sys.exit(main())
