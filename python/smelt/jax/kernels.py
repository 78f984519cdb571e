"""Kernels of ours for programs that XLA compiles: built, linked, compared with XLA's results, and timed."""
from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import pathlib
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from smelt import program
from smelt.jax import comparison, door, folder, handler, timing

VARIANTS = ("all", "contractions")
COMPILE_SHARE = 0.75  # of the time that is left: the compilations of one variant may not take more

# The tolerance of a result, relative to the largest number in it.
TOLERANCES = {"float64": 1e-9, "complex128": 1e-9, "float16": 1e-2, "bfloat16": 4e-2}
TOLERANCE = 1e-4


@dataclasses.dataclass
class Embedded:
    """A module with calls, and the library of what they call."""
    module: pathlib.Path
    library: pathlib.Path
    calls: list[str]


def embed(captured: pathlib.Path, fusion: str, which: str, threads: int, out: pathlib.Path, timeout: float | None = None) -> Embedded:
    """`which`: all, or contractions. subprocess.TimeoutExpired."""
    report = json.loads(program.run(["embed", captured, f"--fusion={fusion}", f"--kernels={which}", f"--threads={threads}",
                                     f"--out={out}", "--json"], timeout=timeout))
    # Named by its content: a process that has an older one loaded keeps that.
    digest = hashlib.sha256("".join(report["objects"]).encode() + (out / "table.c").read_bytes()).hexdigest()[:16]
    library = out / f"kernels-{digest}.so"
    objects = [out / name for name in report["objects"]]
    handler.compile_library((os.environ.get("CC", ""), "cc", "gcc", "clang"), ("-O1", "-shared", "-fPIC", out / "table.c", *objects, "-lm"), library,
             timeout)
    for path in (*objects, out / "table.c"):
        path.unlink()
    return Embedded(out / "embedded.pb", library, report["calls"])


# Comparing.

def inputs_for(parameters: Sequence[tuple[Any, tuple[int, ...]]]) -> list[np.ndarray]:
    """Arguments for a module that nobody gave any: small numbers, so that indices and lengths are valid ones."""
    generator = np.random.default_rng(1)
    arrays = []
    for dtype, dims in parameters:
        if dtype.kind == "b":
            arrays.append(generator.integers(0, 2, dims).astype(bool))
        elif dtype.kind in "iu" or "int" in dtype.name:
            arrays.append(generator.integers(0, 2, dims).astype(dtype))
        elif dtype.kind == "c":
            arrays.append((generator.uniform(-1, 1, dims) + 1j * generator.uniform(-1, 1, dims)).astype(dtype))
        else:
            arrays.append(generator.uniform(0.1, 1, dims).astype(np.float32).astype(dtype))
    return arrays


def difference(expected: Sequence[Any], found: Sequence[Any]) -> str | None:
    """Where the results differ by more than another order of sums can make them; None: nowhere."""
    for number, (a, b) in enumerate(zip(expected, found, strict=True)):
        tolerance = TOLERANCES.get(a.dtype.name, TOLERANCE)
        if a.dtype.kind in "biu" or "int" in a.dtype.name:
            if not np.array_equal(a, b):
                return f"result {number}: {np.count_nonzero(a != b)} of {a.size} whole numbers differ"
            continue
        wide = np.complex128 if a.dtype.kind == "c" else np.float64
        x, y = a.astype(wide), b.astype(wide)
        same = (x == y) | (np.isnan(x) & np.isnan(y))
        if same.all():
            continue
        finite = np.abs(x[np.isfinite(x)])
        limit = tolerance * max(float(finite.max()) if finite.size else 0.0, 1e-30)
        with np.errstate(invalid="ignore"):
            wrong = ~same & ~(np.abs(x - y) <= limit)
        if wrong.any():
            at = tuple(int(i[0]) for i in np.nonzero(wrong)) if wrong.ndim else ()
            return f"result {number} at {list(at)}: {y[at]} instead of {x[at]}"
    return None


@dataclasses.dataclass
class Choice:
    """What `choose` found: the manifest's `kernels`, and what the report says of it."""
    processor: str
    module: str | None = None
    library: str | None = None
    calls: int = 0
    compared: comparison.Comparison | None = None
    checked: bool = False  # the kernels' results agree with XLA's own
    notes: list[str] = dataclasses.field(default_factory=list)  # what was left out, and why

    def manifest(self) -> dict[str, Any]:
        return {"processor": self.processor, "module": self.module, "library": self.library, "calls": self.calls}


def choose(path: pathlib.Path, computation: Any, fusion: str, variants: Sequence[str], arguments: Sequence[Any] | None,
           left: Callable[[], float] | None, compiling: float = 0) -> Choice:
    """Builds kernels for the folder, compares each variant's results with XLA's own, and keeps the fastest if it is faster beyond doubt.

    `arguments`: of the module; None: some are made. `left`: seconds that are left for it; None: the first variant is taken as it is.
    `compiling`: seconds that XLA takes for the function.
    ProgramError, Unlinkable: kernels cannot be made, or the one variant that there is computes something else.
    """
    given = door.parameters((path / "module.pb").read_bytes())
    if arguments is None or [(np.dtype(a.dtype), tuple(a.shape)) for a in arguments] != given:
        arguments = inputs_for(given)
    choice = Choice(folder.processor())
    usual: door.Program | None = None
    expected: list[np.ndarray] = []
    good: list[tuple[Embedded, door.Program, dict[str, list[float]]]] = []
    took = 2 * compiling
    for which in variants:
        if left is not None and took > COMPILE_SHARE * left():
            choice.notes.append(f"no time was left to try kernels ({which})")
            break
        start = time.monotonic()
        try:
            embedded = embed(path / "captured.pb", fusion, which, folder.threads(), path / f"kernels-{which}",
                             None if left is None else max(left(), 0.1))
        except subprocess.TimeoutExpired:
            choice.notes.append(f"no time was left to compile the kernels ({which})")
            break
        if not embedded.calls:
            choice.notes.append(f"no kernel ({which}) is large enough for a call")
            continue
        if good and good[0][0].calls == embedded.calls:
            continue  # the same program
        if left is not None and 2 * compiling > left():
            choice.notes.append("no time was left to compile the program with kernels")
            break
        handler.load(str(embedded.library.resolve()))
        if usual is None:
            usual = door.Program(computation, arguments)
            expected = [np.asarray(result) for result in usual.run()]
        ours = door.Program(computation, arguments, embedded.module.read_bytes())
        where = difference(expected, [np.asarray(result) for result in ours.run()])
        if where is None:
            good.append((embedded, ours, {} if left is None else comparison.measure(usual.run, ours.run, comparison.CHILD_SECONDS)))
        elif _differs_from_itself(usual, expected):
            choice.notes.append("results differ from one run to the next, and cannot be compared")
            break
        else:
            choice.notes.append(f"kernels ({which}) do not compute what XLA computes: {where}")
        took = time.monotonic() - start
    if not good:
        if left is None and choice.notes and usual is not None:
            raise program.ProgramError(f"{path}: {choice.notes[-1]}")
        return choice
    choice.checked = True
    best, ours, first = good[0]
    if left is not None:
        # Which variant is tried further is decided here, and whether it is faster in other processes.
        best, ours, first = max(good, key=lambda one: comparison.median_ratio(one[2]["usual"], one[2]["ours"]))
        with tempfile.TemporaryDirectory(dir=path) as kept:
            timing.save(pathlib.Path(kept), computation, usual, ours, best.module.read_bytes(), best.library.resolve(), arguments)
            choice.compared = comparison.compare(pathlib.Path(kept), left, first)
        if not choice.compared.better:
            if choice.compared.children < 2:
                choice.notes.append("no time was left to compare with XLA's own choice in several processes")
            return choice
    choice.module, choice.library = str(best.module.relative_to(path)), str(best.library.relative_to(path))
    choice.calls = len(best.calls)
    return choice


def _differs_from_itself(usual: door.Program, expected: Sequence[np.ndarray]) -> bool:
    return difference(expected, [np.asarray(result) for result in usual.run()]) is not None
