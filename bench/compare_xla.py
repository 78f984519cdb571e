#!/usr/bin/env python3
"""Speed of Smelt beside XLA:CPU on the same programs, machine and cores: the table of bench/README.md.

  bench/compare_xla.py [MODULE.hlo...] [--threads=1] [--rounds=5] [--fusion=priority] [--json=FILE]

Without modules: the example programs of models/. Every round runs `smelt bench MODULE --json` and XLA in its two settings
(with and without rewriting contractions into library calls), one after the other on as many cores as threads, so that a slow minute of
the machine slows all of them. A figure is the median over the rounds of a round's median; XLA's is the better setting's. `speed` is
XLA's time divided by Smelt's: above 1 Smelt is faster. `evaluator` is the share of Smelt's time in operations that no kernel computes.

Ended by ^C it prints what it has. Needs a built smelt and jaxlib (`scripts/setup.sh --jax`). Exit status: 0; 1 if a program failed; 2 for wrong use or no jaxlib.
"""
import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
XLA_SETTINGS = {"library": [], "no_library": ["--no-library"]}
MEAN_BAR, LEAST_BAR = 1.0, 0.7


class Failed(Exception):
    """A system could not run a program; the text says why, for the table."""


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", type=pathlib.Path, metavar="MODULE.hlo")
    parser.add_argument("--rounds", type=int, default=5, help="at least 5 for a result to quote (default)")
    parser.add_argument("--seconds", type=float, default=1.0, help="of XLA's runs a round and setting (default 1)")
    parser.add_argument("--fusion", help="fusion of smelt: priority, none, a .fusion.json file, ... (default: smelt's)")
    parser.add_argument("--smelt", type=pathlib.Path, default=ROOT / "build/release/smelt")
    parser.add_argument("--python", type=pathlib.Path, default=ROOT / ".venv/bin/python", help="an interpreter that has jaxlib")
    parser.add_argument("--threads", type=int, default=1, help="of both, each on a core of its own (default 1)")
    parser.add_argument("--cpu", type=int, help="the core to run on, with one thread (default: the last allowed ones)")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for one run of smelt bench (default 600)")
    parser.add_argument("--json", type=pathlib.Path, help="write all figures there")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds: at least 1")
    allowed = sorted(os.sched_getaffinity(0))
    if not 1 <= arguments.threads <= len(allowed):
        parser.error(f"--threads: 1 to {len(allowed)}, the cores that are allowed")
    if arguments.cpu is not None and (arguments.threads > 1 or arguments.cpu not in allowed):
        parser.error(f"--cpu: one of {', '.join(map(str, allowed))}, and only with one thread")
    arguments.cores = set(allowed[-arguments.threads:]) if arguments.cpu is None else {arguments.cpu}
    for module in arguments.modules:
        if not module.is_file():
            parser.error(f"no module at {module}")
    if not os.access(arguments.smelt, os.X_OK):
        parser.error(f"no program at {arguments.smelt}: build it (scripts/test.sh), or give --smelt")
    try:
        found = subprocess.run([arguments.python, "-c", "import jaxlib"], stdin=subprocess.DEVNULL, capture_output=True).returncode == 0
    except OSError:
        found = False
    if not found:
        parser.error(f"{arguments.python} has no jaxlib: run scripts/setup.sh --jax, or give --python with jaxlib 0.10.2")
    return arguments


def golden_of(module):
    golden = module.parent / "golden" / f"{module.stem}.safetensors"
    return golden if golden.exists() else None


def on(cores):
    """How to start a process that sees these cores alone, so that no thread pool of it is larger."""
    environment = dict(os.environ, OMP_NUM_THREADS=str(len(cores)), NPROC=str(len(cores)))
    return {"env": environment, "preexec_fn": lambda: os.sched_setaffinity(0, cores)}


class Xla:
    """XLA with one module, compiled and waiting in a process of its own."""

    def __init__(self, module, setting, arguments):
        command = [arguments.python, ROOT / "bench/xla_time.py", module, *XLA_SETTINGS[setting]]
        if golden_of(module):
            command.append(f"--golden={golden_of(module)}")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        **on(arguments.cores))
        ready = self.reply()
        self.jaxlib, self.compile_s = ready["jaxlib"], ready["compile_s"]
        self.rounds = []

    def reply(self):
        line = self.process.stdout.readline()
        if not line:
            lines = self.process.stderr.read().strip().splitlines()
            raise Failed("XLA: " + (lines[-1][:160] if lines else "ended without a word"))
        return json.loads(line)

    def measure(self, seconds):
        print(seconds, file=self.process.stdin, flush=True)
        self.rounds.append(statistics.median(self.reply()["ms"]))

    def close(self):
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            pipe.close()
        self.process.wait()


def smelt_round(module, arguments):
    command = [arguments.smelt, "bench", module, f"--threads={arguments.threads}", "--json"]
    if arguments.fusion:
        command.append(f"--fusion={arguments.fusion}")
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=arguments.timeout,
                              **on(arguments.cores))
    except subprocess.TimeoutExpired:
        raise Failed(f"smelt: no answer in {arguments.timeout:g} s")
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise Failed(f"smelt: exit {done.returncode}: " + (lines[-1][:160] if lines else "without a word"))
    return json.loads(done.stdout)


def evaluator_share(report):
    whole = sum(kernel["us_per_run"] for kernel in report["kernels"])
    return sum(kernel["us_per_run"] for kernel in report["kernels"] if kernel["opaque"]) / whole if whole else 0.0


def compare(module, arguments):
    """One row of the table. Whatever was started is ended, also when something fails."""
    started = []
    try:
        for setting in XLA_SETTINGS:
            started.append(Xla(module, setting, arguments))
        reports = []
        for number in range(arguments.rounds):
            print(f"{module.stem}: round {number + 1} of {arguments.rounds}", file=sys.stderr)
            reports.append(smelt_round(module, arguments))
            for xla in started:
                xla.measure(arguments.seconds)
    finally:
        for xla in started:
            xla.close()
    smelt_ms = statistics.median(report["median_ms"] for report in reports)
    xla_ms = {setting: statistics.median(xla.rounds) for setting, xla in zip(XLA_SETTINGS, started)}
    best = min(xla_ms, key=xla_ms.get)
    return {"program": module.stem, "smelt_ms": smelt_ms, "xla_ms": xla_ms[best], "xla_setting": best, "speed": xla_ms[best] / smelt_ms,
            "kernels": len(reports[0]["kernels"]), "evaluator": max(map(evaluator_share, reports)),
            "smelt_compile_s": max(report["compile_s"] for report in reports),
            "xla_compile_s": dict(zip(XLA_SETTINGS, (xla.compile_s for xla in started)))[best], "jaxlib": started[0].jaxlib,
            "smelt_rounds_ms": [report["median_ms"] for report in reports],
            "xla_rounds_ms": {setting: xla.rounds for setting, xla in zip(XLA_SETTINGS, started)}}


def cpu_name():
    with open("/proc/cpuinfo") as file:
        return next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "unknown")


def print_table(rows, summary):
    cores = "one core" if summary["threads"] == 1 else f"{summary['threads']} cores"
    print(f"{summary['cpu']}, {cores}, load {summary['load_before']:.2f} before and {summary['load_after']:.2f} after, "
          f"{summary['rounds']} rounds, jaxlib {summary['jaxlib']}, fusion {summary['fusion']}")
    print(f"{'program':<32}{'smelt ms':>10}{'xla ms':>10}{'speed':>8}{'kernels':>9}{'smelt compile s':>17}{'xla compile s':>15}  xla setting")
    for row in rows:
        if "error" in row:
            print(f"{row['program']:<32}{row['error']}")
        else:
            print(f"{row['program']:<32}{row['smelt_ms']:>10.3f}{row['xla_ms']:>10.3f}{row['speed']:>8.2f}{row['kernels']:>9}"
                  f"{row['smelt_compile_s']:>17.2f}{row['xla_compile_s']:>15.2f}  {row['xla_setting']}")
    if summary["geometric_mean"] is not None:
        met = "met" if summary["bars_met"] else "not met"
        print(f"at most {100 * max(row['evaluator'] for row in rows if 'evaluator' in row):.1f} % of a program's time in the evaluator")
        print(f"geometric mean {summary['geometric_mean']:.2f}, least {summary['least']:.2f} of XLA's speed "
              f"(bars {MEAN_BAR} and {LEAST_BAR}: {met})")


def main():
    arguments = read_arguments()
    modules = arguments.modules or sorted((ROOT / "models").glob("*.hlo"))
    load_before, rows = os.getloadavg()[0], []
    for module in modules:
        try:
            rows.append(compare(module, arguments))
        except Failed as failure:
            rows.append({"program": module.stem, "error": str(failure)})
        except KeyboardInterrupt:
            print(f"interrupted: {len(rows)} of {len(modules)} programs", file=sys.stderr)
            break
    speeds = [row["speed"] for row in rows if "speed" in row]
    failed = len(rows) - len(speeds)
    mean = math.exp(statistics.fmean(map(math.log, speeds))) if speeds else None
    summary = {"cpu": cpu_name(), "threads": arguments.threads, "date": time.strftime("%Y-%m-%d"), "load_before": load_before, "load_after": os.getloadavg()[0],
               "rounds": arguments.rounds, "fusion": arguments.fusion or "default",
               "jaxlib": next((row["jaxlib"] for row in rows if "jaxlib" in row), "unknown"), "geometric_mean": mean,
               "least": min(speeds, default=None), "failed": failed,
               "bars_met": bool(speeds) and not failed and mean >= MEAN_BAR and min(speeds) >= LEAST_BAR}
    print_table(rows, summary)
    if arguments.json:
        arguments.json.write_text(json.dumps({**summary, "rows": rows}, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
