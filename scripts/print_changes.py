#!/usr/bin/env python3
"""Says what `smelt tune` changed: times, kernels of the default and of the answer, and where the answer is.

  scripts/print_changes.py SMELT MODULE.hlo FOLDER SUMMARY.json

FOLDER and SUMMARY are what `smelt tune MODULE --out=FOLDER --json` wrote. Kernels are compared by their work, flops and bytes, because a
name may move from one kernel to another when the fusion changes.
"""
import collections
import json
import subprocess
import sys

SHOWN = 12


def kernels_of(smelt, module, fusion):
    """Kernels of a module under a fusion, measured one by one: name, median_us, flops, bytes."""
    command = [smelt, "bench", module, f"--fusion={fusion}", "--json"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}")
    return json.loads(done.stdout)["kernels"]


def without(kernels, others):
    """The kernels that have no equal among the others, slowest first; as many equals cancel as there are."""
    left = collections.Counter((kernel["flops"], kernel["bytes"]) for kernel in others)
    kept = []
    for kernel in kernels:
        key = (kernel["flops"], kernel["bytes"])
        if left[key] > 0:
            left[key] -= 1
        else:
            kept.append(kernel)
    return sorted(kept, key=lambda kernel: -kernel["median_us"])


def print_kernels(title, kernels):
    print(f"{title}: {len(kernels)} kernels, {sum(kernel['median_us'] for kernel in kernels):.0f} us")
    for kernel in kernels[:SHOWN]:
        print(f"  {kernel['median_us']:>10.1f} us {kernel['flops'] / 1e6:>10.1f} Mflop {kernel['bytes'] / 1e6:>8.2f} MB  {kernel['name']}")
    if len(kernels) > SHOWN:
        print(f"  ... and {len(kernels) - SHOWN} more")


def main():
    if len(sys.argv) != 5:
        print(__doc__, file=sys.stderr)
        return 2
    smelt, module, folder, summary_file = sys.argv[1:]
    with open(summary_file) as file:
        summary = json.load(file)
    configuration = f"{folder}/best.fusion.json"
    default, best = kernels_of(smelt, module, "priority"), kernels_of(smelt, module, configuration)
    print(f"{module}: {summary['default_ms']:.3f} ms by default, {summary['best_ms']:.3f} ms tuned, "
          f"{summary['speedup']:.3f} times as fast, {'verified' if summary['verified'] else 'NOT verified'}")
    print(f"{summary['moves']} moves at {summary['moves_per_second']:.0f} a second, {summary['measured']} configurations measured "
          f"in {summary['hardware_seconds']:.0f} s")
    gone, come = without(default, best), without(best, default)
    if gone or come:
        print_kernels("only in the default", gone)
        print_kernels("only in the answer", come)
    else:
        print("no kernel changed: the default was the best that was found")
    print(f"the answer: {configuration}, the fused module: {folder}/fused.hlo, all measurements: {folder}/records.db")
    print(f"replay it:  {smelt} run {module} --fusion={configuration} --check")
    return 0 if summary["verified"] else 1


if __name__ == "__main__":
    sys.exit(main())
