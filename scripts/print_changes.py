#!/usr/bin/env python3
"""Says in words what `smelt tune` changed, why the default did not do so, and what to try next.

  scripts/print_changes.py SMELT MODULE.hlo FOLDER SUMMARY.json

FOLDER and SUMMARY are what `smelt tune MODULE --out=FOLDER --json` wrote. Times of kernels are medians of a separate run.
"""
import json
import subprocess
import sys

SHOWN = 6
FEWER = 0.9  # a sum that shrinks to less than this share is worth a sentence


def kernels_of(smelt, module, fusion):
    """The kernels of a module under a fusion by hash, with what all their executions in one run take: us, MB, Mflop."""
    command = [smelt, "bench", module, f"--fusion={fusion}", "--json"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}")
    kernels = {}
    for kernel in json.loads(done.stdout)["kernels"]:
        times = kernel["executions"]
        kernels.setdefault((kernel["hash"], kernel["tile"]), []).append(
            {"name": kernel["name"], "us": times * kernel["median_us"], "MB": times * kernel["bytes"] / 1e6,
             "Mflop": times * kernel["flops"] / 1e6, "times": times})
    return kernels


def without(kernels, others):
    """The kernels that have no equal among the others, slowest first."""
    left = [k for key, equals in kernels.items() for k in equals[len(others.get(key, [])):]]
    return sorted(left, key=lambda kernel: -kernel["us"])


def print_kernels(title, kernels):
    print(f"\n{title}: {len(kernels)} {'kernel' if len(kernels) == 1 else 'kernels'}, {sum(k['us'] for k in kernels):.0f} us a run")
    for k in kernels[:SHOWN]:
        print(f"  {k['us']:>9.1f} us {k['MB']:>9.2f} MB {k['Mflop']:>10.2f} Mflop  {k['name']}"
              + (f", {k['times']} times" if k["times"] > 1 else ""))
    if len(kernels) > SHOWN:
        print(f"  ... and {len(kernels) - SHOWN} more")


def what_changed(gone, come):
    """Sentences on the work that the change of kernels saves."""
    sums = {unit: [sum(k[unit] for k in kernels) for kernels in (gone, come)] for unit in ("MB", "Mflop")}
    (bytes_before, bytes_after), (flops_before, flops_after) = sums["MB"], sums["Mflop"]
    saved = []
    if bytes_after < FEWER * bytes_before:
        saved.append(f"Kernels were merged: these move {bytes_after:.1f} MB a run instead of {bytes_before:.1f}, because values that "
                     "one kernel wrote for another to read\nnow stay inside a kernel.")
    if flops_after < FEWER * flops_before:
        saved.append(f"Kernels were split: these compute {flops_after:.1f} Mflop a run instead of {flops_before:.1f}, because values "
                     "that were computed again wherever they are\nread are now computed once and kept.")
    if not saved:
        saved.append("They do about the same work in other loops or tiles, which suit this processor better.")
    return saved


def why_not_by_default(summary):
    default, best = summary["default_predicted_ms"], summary["best_predicted_ms"]
    if not 0 < best < default:
        return "The default never measures; here the measurements showed what no estimate did."
    return ("The default takes one step after the other, and only those that pay at once by a rough estimate. The search also goes through steps "
            f"that do not,\nunder a learned model: it predicted {default:.3f} ms for the default and {best:.3f} ms for this, then measured both.")


def main():
    if len(sys.argv) != 5:
        print(__doc__, file=sys.stderr)
        return 2
    smelt, module, folder, summary_file = sys.argv[1:]
    with open(summary_file) as file:
        summary = json.load(file)
    configuration = f"{folder}/best.fusion.json"
    if summary.get("default_ms") is None:
        sys.exit(f"{module}: nothing was measured: {summary['undecided']}; give the search more seconds")
    interval = summary["improved"] and summary["interval"]  # of the answer beside the default
    speed = f"{summary['speedup']:.2f} times as fast" + (f" [{interval[0]:.2f}, {interval[1]:.2f}]" if interval else "")
    print(f"\n{module}: {summary['default_ms']:.3f} ms by default, {summary['best_ms']:.3f} ms tuned: {speed}, "
          f"{'verified' if summary['verified'] else 'NOT verified'}")
    default, best = kernels_of(smelt, module, "priority"), kernels_of(smelt, module, configuration)
    gone, come = without(default, best), without(best, default)
    if gone or come:
        print_kernels("Only in the default", gone)
        print_kernels("Instead", come)
        print("", *what_changed(gone, come), why_not_by_default(summary), sep="\n")
    else:
        print("No kernel changed: nothing that was found was surely faster than the default. More seconds may find more.")
    print(f"\nThe answer: {configuration}; the fused module: {folder}/fused.hlo; all measurements: {folder}/records.db"
          f"\nTry next:   {smelt} run {module} --fusion={configuration} --check")
    return 0 if summary["verified"] else 1


if __name__ == "__main__":
    sys.exit(main())
