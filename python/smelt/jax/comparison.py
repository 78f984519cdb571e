"""Whether a program with kernels of ours is faster than XLA's own: the rule of measure/comparison.h, inside XLA's program.

Both are timed in several processes, because where code and buffers come to lie in memory favours one or the other for as long as a process
lives. Each process times them in turn, which is how they are compared fairly, and in blocks of one alone, which is how a user runs them; the
smaller of its two gains counts. The processes are the sample: their mean, and Student's interval for so many.
"""
from __future__ import annotations

import dataclasses
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from smelt.program import ProgramError

CHILDREN = 8
LEAST_ERROR = 0.001  # a standard error below this is not believed: a step of the clock frequency is larger
# Student's t that is exceeded once in 200 times, by degrees of freedom: at both ends of an interval that makes one miss in 100.
STUDENT = (63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250)
SAMPLE_SECONDS = 1e-3
CHILD_SECONDS = 0.8  # of timing


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Seconds, and how many times as fast `ours` is, with the ends of its interval: anything, where one process is all there is."""
    usual: float
    ours: float
    speedup: float
    low: float
    high: float
    children: int

    @property
    def better(self) -> bool:
        return self.low > 1 and self.ours < self.usual


def median_ratio(usual: Sequence[float], ours: Sequence[float]) -> float:
    return statistics.median(math.log(a / b) for a, b in zip(usual, ours))


def judge(children: Sequence[Mapping[str, Sequence[float]]]) -> Comparison:
    """Of what `measure` returned in each process."""
    gains = [min(median_ratio(child["usual"], child["ours"]), median_ratio(child["usual_blocks"], child["ours_blocks"])) for child in children]
    gain = statistics.mean(gains)
    usual, ours = (statistics.median(seconds for child in children for seconds in child[key]) for key in ("usual", "ours"))
    if len(gains) < 2:
        return Comparison(usual, ours, math.exp(gain), 0, math.inf, len(gains))
    error = max(statistics.stdev(gains) / math.sqrt(len(gains)), LEAST_ERROR)
    margin = STUDENT[min(len(gains) - 1, len(STUDENT)) - 1] * error
    return Comparison(usual, ours, math.exp(gain), math.exp(gain - margin), math.exp(gain + margin), len(gains))


def _sample(run: Callable[[], Any], runs: int) -> float:
    start = time.perf_counter()
    for _ in range(runs):
        run()
    return (time.perf_counter() - start) / runs


def in_turn(programs: Sequence[Callable[[], Any]], seconds: float, most: int = 100) -> tuple[list[list[float]], list[int]]:
    """Seconds of one run of each, in samples that alternate, at least three; and of how many runs a sample is."""
    for run in programs:
        run()
    runs = [max(1, min(1000, round(SAMPLE_SECONDS / max(_sample(run, 1), 1e-7)))) for run in programs]
    samples: list[list[float]] = [[] for _ in programs]
    start = time.perf_counter()
    while len(samples[0]) < 3 or (len(samples[0]) < most and time.perf_counter() - start < seconds):
        order = range(len(programs))
        for i in order if len(samples[0]) % 2 == 0 else reversed(order):  # so that none always runs on the caches that another leaves
            samples[i].append(_sample(programs[i], runs[i]))
    return samples, runs


def measure(usual: Callable[[], Any], ours: Callable[[], Any], seconds: float) -> dict[str, list[float]]:
    """Seconds of one run, of samples in turn and of blocks."""
    both = (usual, ours)
    turns, runs = in_turn(both, seconds / 2)
    length = max(1, len(turns[0]) // 3)  # of a block, in samples
    blocks: list[list[float]] = [[], []]
    start = time.perf_counter()
    while not blocks[0] or (len(blocks[0]) < 3 and time.perf_counter() - start < seconds / 2):
        for i in (0, 1) if len(blocks[0]) % 2 == 0 else (1, 0):
            blocks[i].append(statistics.median(_sample(both[i], runs[i]) for _ in range(length)))
    return {"usual": turns[0], "ours": turns[1], "usual_blocks": blocks[0], "ours_blocks": blocks[1]}


def compare(folder: pathlib.Path, left: Callable[[], float], first: Mapping[str, Sequence[float]]) -> Comparison:
    """Of the two programs in a folder of smelt.jax.timing, in processes of their own as long as `left()` seconds remain.

    `first`: what `measure` said in this process. A process that fails is tried once more. ProgramError: it fails again.
    """
    children, failed, took = [first], 0, 0.0
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    while len(children) < CHILDREN and left() > took:
        start = time.monotonic()
        try:
            done = subprocess.run([sys.executable, "-m", "smelt.jax.timing", str(folder)], stdin=subprocess.DEVNULL, capture_output=True,
                                  timeout=max(left(), 0.1), check=False, env=environment)
        except subprocess.TimeoutExpired:
            break
        took = time.monotonic() - start
        try:
            children.append(json.loads(done.stdout))
        except ValueError:
            failed += 1
            if failed > 1:
                reason = done.stderr.decode(errors="replace").strip()[-500:]
                raise ProgramError(f"the process that times kernels ended with status {done.returncode}: {reason}") from None
    return judge(children)
