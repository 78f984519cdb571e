"""Kernels of ours for programs that XLA compiles: built, linked, compared with XLA's results, timed, and loaded."""
from __future__ import annotations

import ctypes
import dataclasses
import hashlib
import json
import os
import pathlib
import statistics
import subprocess
import threading
import time
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from smelt import program
from smelt.jax import door, folder

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = ("call.cc", "kernel_table.h")
HANDLER = "smelt_kernel"
VARIANTS = ("all", "contractions")
LEAST_GAIN = 0.98  # of XLA's time; what is less is noise

# The tolerance of a result, relative to the largest number in it.
TOLERANCES = {"float64": 1e-9, "complex128": 1e-9, "float16": 1e-2, "bfloat16": 4e-2}
TOLERANCE = 1e-4


class Unlinkable(program.ProgramError):
    """The system's compiler is missing or refuses."""


def _compile(compilers: Sequence[str], arguments: Sequence[str | os.PathLike[str]], output: pathlib.Path) -> None:
    """Writes `output`, whole or not at all."""
    output.parent.mkdir(parents=True, exist_ok=True)
    unfinished = output.with_name(f"{output.name}.{os.getpid()}.{threading.get_ident()}")
    tried = []
    for compiler in compilers:
        if not compiler:
            continue
        try:
            done = subprocess.run([*compiler.split(), *map(str, arguments), "-o", str(unfinished)], capture_output=True, check=False)
        except OSError:
            tried.append(compiler)
            continue
        if done.returncode != 0:
            raise Unlinkable(f"{compiler}: {done.stderr.decode(errors='replace').strip()[-2000:]}")
        unfinished.replace(output)
        return
    raise Unlinkable(f"kernels are linked by the system's compiler, and none of {', '.join(tried)} is there: install one, for example g++")


# The handler.

_lock = threading.Lock()
_handler: ctypes.CDLL | None = None


def _cache_folder() -> pathlib.Path:
    for variable, rest in (("SMELT_CACHE", ""), ("XDG_CACHE_HOME", "smelt")):
        if os.environ.get(variable):
            return pathlib.Path(os.environ[variable]) / rest
    return pathlib.Path.home() / ".cache" / "smelt"


def _load_handler() -> ctypes.CDLL:
    """Compiled once for each jaxlib, and registered with XLA once in a process."""
    global _handler
    with _lock:
        if _handler is not None:
            return _handler
        include = jax.ffi.include_dir()
        key = hashlib.sha256(b"".join((HERE / name).read_bytes() for name in SOURCES))
        key.update(f"{jax.__version__} {folder.processor()} {include}".encode())
        path = _cache_folder() / f"handler-{key.hexdigest()[:32]}.so"
        if not path.is_file():
            _compile((os.environ.get("CXX", ""), "c++", "g++", "clang++"),
                     ("-std=c++17", "-O2", "-DNDEBUG", "-shared", "-fPIC", "-w", f"-I{include}", HERE / "call.cc", "-ldl", "-lpthread"), path)
        library = ctypes.CDLL(str(path))
        library.smelt_load.restype = ctypes.c_char_p
        library.smelt_load.argtypes = [ctypes.c_char_p]
        jax.ffi.register_ffi_target(HANDLER, jax.ffi.pycapsule(library.smelt_kernel), platform="cpu")
        _handler = library
        return library


_loaded: set[str] = set()


def load(library: str) -> None:
    """Makes a library's kernels known to the handler. OSError, Unlinkable: with the reason."""
    handler = _load_handler()
    with _lock:
        if library in _loaded:
            return
        error = handler.smelt_load(library.encode())
        if error is not None:
            raise OSError(error.decode(errors="replace"))
        _loaded.add(library)


# Building.

@dataclasses.dataclass
class Embedded:
    """A module with calls, and the library of what they call."""
    module: pathlib.Path
    library: pathlib.Path
    calls: list[str]


def embed(captured: pathlib.Path, fusion: str, which: str, threads: int, out: pathlib.Path) -> Embedded:
    """`which`: all, or contractions."""
    report = json.loads(program.run(["embed", captured, f"--fusion={fusion}", f"--kernels={which}", f"--threads={threads}",
                                     f"--out={out}", "--json"]))
    # Named by its content: a process that has an older one loaded keeps that.
    digest = hashlib.sha256("".join(report["objects"]).encode() + (out / "table.c").read_bytes()).hexdigest()[:16]
    library = out / f"kernels-{digest}.so"
    objects = [out / name for name in report["objects"]]
    _compile((os.environ.get("CC", ""), "cc", "gcc", "clang"), ("-O1", "-shared", "-fPIC", out / "table.c", *objects, "-lm"), library)
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


def time_in_turn(programs: Sequence[Any], seconds: float) -> list[float]:
    """Median seconds of one run of each."""
    runs = []
    for program_ in programs:
        start = time.perf_counter()
        program_.run()
        runs.append(max(1, min(1000, round(1e-3 / max(time.perf_counter() - start, 1e-7)))))
    samples: list[list[float]] = [[] for _ in programs]
    start = time.perf_counter()
    for turn in range(100):
        if turn >= 5 and time.perf_counter() - start > seconds:
            break
        order = range(len(programs)) if turn % 2 == 0 else reversed(range(len(programs)))
        for i in order:
            begin = time.perf_counter()
            for _ in range(runs[i]):
                programs[i].run()
            samples[i].append((time.perf_counter() - begin) / runs[i])
    return [statistics.median(times) for times in samples]


def choose(path: pathlib.Path, computation: Any, fusion: str, variants: Sequence[str], arguments: Sequence[Any] | None,
           seconds: float) -> dict[str, Any]:
    """Builds kernels for the folder, compares each variant's results with XLA's own, and keeps the fastest: the manifest's `kernels`.

    `arguments`: of the module; None: some are made. `seconds`: of timing beside XLA's own choice; 0: the first variant is taken as it is.
    ProgramError: the one variant that there is computes something else.
    """
    given = door.parameters((path / "module.pb").read_bytes())
    if arguments is None or [(np.dtype(a.dtype), tuple(a.shape)) for a in arguments] != given:
        arguments = inputs_for(given)
    built = [embed(path / "captured.pb", fusion, which, folder.threads(), path / f"kernels-{which}") for which in variants]
    usual = door.Program(computation, arguments)
    expected = [np.asarray(result) for result in usual.run()]
    good: list[tuple[Embedded, door.Program]] = []
    wrong = ""
    for which, embedded in zip(variants, built, strict=True):
        if not embedded.calls:
            continue
        load(str(embedded.library.resolve()))
        ours = door.Program(computation, arguments, embedded.module.read_bytes())
        where = difference(expected, [np.asarray(result) for result in ours.run()])
        if where is None:
            good.append((embedded, ours))
        else:
            wrong = f"{path}: kernels ({which}) do not compute what XLA computes: {where}"
    if wrong and not good:
        raise program.ProgramError(wrong)
    chosen: dict[str, Any] = {"processor": folder.processor(), "module": None, "library": None, "calls": 0}
    if wrong:
        chosen["refused"] = wrong
    best = good[0][0] if good else None
    if good and seconds > 0:
        usual_seconds, *ours_seconds = time_in_turn([usual, *(ours for _, ours in good)], seconds)
        fastest = min(range(len(good)), key=ours_seconds.__getitem__)
        chosen.update(xla_ms=1e3 * usual_seconds, kernels_ms=1e3 * ours_seconds[fastest])
        best = good[fastest][0] if ours_seconds[fastest] < LEAST_GAIN * usual_seconds else None
    if best is not None:
        chosen.update(module=str(best.module.relative_to(path)), library=str(best.library.relative_to(path)), calls=len(best.calls))
    return chosen
