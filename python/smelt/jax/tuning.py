"""How a function of JAX becomes a run folder of `smelt tune`."""
from __future__ import annotations

import contextlib
import math
import os
import pathlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from smelt import program
from smelt.jax import door, folder, kernels, result, search
from smelt.jax.result import Tuned

TARGETS = ("xla", "cpu")
BOTH = ",".join(TARGETS)
MODULES = ("module.pb", "captured.pb", "captured_library.pb")
# The share of both targets' time that the first, fusions for XLA, gets; and the folder of the second's search.
FUSIONS_SHARE = 0.5
KERNELS_FOLDER = "kernels"
# The share that the search gets with target="cpu", once the modules are captured; the rest is for kernels inside XLA's program.
SEARCH_SHARE = 0.45
LEAST_SEARCH_SECONDS = 0.5
FINISHING_SECONDS = 0.3  # of the budget: files are written, and what was begun is ended
INTERRUPTED_SECONDS = 5.0  # of comparing, after Ctrl-C


class _NoTime(Exception):
    """What comes next cannot be ended half way, and would not end within the budget; the text says what."""


class _Clock:
    """The wall-clock time of one call of `tune`."""

    def __init__(self, budget: float):
        self.budget, self.start = budget, time.monotonic()
        self.compiling = 0.0  # seconds of one compilation of the function by XLA

    def spent(self) -> float:
        return time.monotonic() - self.start

    def left(self) -> float:
        return self.budget - self.spent() - FINISHING_SECONDS


def tune(f: Callable[..., Any], *example_args: Any, out: str | os.PathLike[str], budget: float = 60.0, target: str = BOTH,
         example_kwargs: Mapping[str, Any] | None = None, jit_options: Mapping[str, Any] | None = None, quiet: bool = False,
         flags: Sequence[str] = ()) -> Tuned:
    """Searches what is fastest for a function on this machine.

        tuned = smelt.jax.tune(step, params, batch, budget=120, out="step.smelt")

    f: a function, or one that is jitted already (then donated and static arguments are its own).
    example_args, example_kwargs: arrays or jax.ShapeDtypeStruct; only shapes and types count.
    target: xla: fusions for XLA's own code generator; cpu: fusions and tiles of kernels that Smelt compiles itself, called from XLA's
        program where that is faster (needs a C and a C++ compiler); xla,cpu: both, in one budget, and the answer is the faster one.
    out: the run folder. One that holds this function is gone on from; one that holds another is refused.
    budget: seconds that this call takes, everything in it: lowering, compiling, measuring and comparing.
    jit_options: for a function that is not jitted, arguments of jax.jit: {"donate_argnums": 0}.
    flags: more flags of `smelt tune`.

    Progress goes to the logger `smelt`, which prints on standard error where nobody has configured it, and the result in three lines to
    standard output, unless `quiet`. Ctrl-C ends the search with the best so far. A function whose results cannot be judged, or that Smelt
    cannot run beside XLA, keeps XLA's own choice, and the result says why.
    Raises smelt.ProgramError with the program's message when it fails, ValueError for what cannot be tuned, and OSError for a folder that
    cannot be made.
    """
    _check(target, True, budget)
    clock = _Clock(budget)
    path = pathlib.Path(out)
    with search.telling(quiet), _folder(path):
        program.find_program()
        computation = lower(f, example_args, example_kwargs, jit_options)
        search.logger.info("tuning %s takes about %.0f s", door.name_of(computation), budget)
        chosen = kernels.Choice(folder.processor()) if target == "cpu" else None
        leaves = _leaves(example_args, example_kwargs)
        try:
            _write_modules(path, computation, clock)
            if target == "cpu":
                report, details, chosen = _kernels(path, path, computation, leaves, clock, flags)
            elif target == "xla":
                report, details = _fusions(path, clock.left(), flags)
            else:
                report, details, chosen = _fastest(path, computation, leaves, clock, flags)
        except _NoTime as reason:
            report, details = {"answer": "xla", "why": f"no time was left {reason}"}, ""
        report.setdefault("target", "xla" if target != "cpu" else "cpu")
        report.update(function=door.name_of(computation), targets=_targets(target), budget_seconds=budget, wall_seconds=clock.spent())
        result.write_report(path, report, details)
        _finish(path, computation, report, chosen)
        search.logger.info("took %.1f s", clock.spent())
    tuned = Tuned(path, result.to_json(report))
    if not quiet:
        print(f"{report['function']}: {result.words(path, report)}", end="")
    return tuned


def _check(target: str, several: bool, budget: float = 1.0) -> None:
    words = _targets(target)
    if not words or len(set(words)) < len(words) or not set(words) <= set(TARGETS) or (len(words) > 1 and not several):
        expected = (*TARGETS, BOTH) if several else TARGETS
        raise ValueError(f"target={target!r}: expected one of {', '.join(map(repr, expected))}")
    if isinstance(budget, bool) or not isinstance(budget, (int, float, np.number)) or not 0 < budget < math.inf:
        raise ValueError(f"budget={budget!r}: expected seconds, more than 0")


def _targets(target: str) -> list[str]:
    return target.split(",") if isinstance(target, str) else []


@contextlib.contextmanager
def _folder(path: pathlib.Path) -> Iterator[None]:
    """Made, and removed again where nothing came into it that a later call can use."""
    if path.exists() and not path.is_dir():
        raise ValueError(f"out={str(path)!r}: a file is there; it must name a folder, or nothing yet")
    made = not path.exists()
    path.mkdir(parents=True, exist_ok=True)
    empty = made or not any(path.iterdir())
    try:
        yield
    except BaseException:
        if empty and not any((path / name).exists() for name in (folder.MANIFEST, "records.db")):
            for name in (*MODULES, "log.txt", "library.txt"):
                (path / name).unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # something else has come into it
                if made:
                    path.rmdir()
        raise


def _fastest(path: pathlib.Path, computation: Any, arguments: list[Any] | None, clock: _Clock,
             flags: Sequence[str]) -> tuple[dict[str, Any], str, kernels.Choice | None]:
    """Fusions for XLA, then kernels, each beside XLA's own choice: whichever gains more."""
    search.logger.info("fusions in XLA's own code")
    fusions, details = _fusions(path, FUSIONS_SHARE * clock.left(), flags)
    fusions["target"] = "xla"
    if _interrupted(fusions):
        return fusions, details, None
    search.logger.info("kernels of Smelt's own, called from XLA's program")
    try:
        ours, more, chosen = _kernels(path, path / KERNELS_FOLDER, computation, arguments, clock, flags)
    except _NoTime as reason:
        fusions["why"] = "; ".join(filter(None, [fusions.get("why", ""), f"kernels were not tried: no time was left {reason}"]))
        return fusions, details, None
    ours["target"] = "cpu"
    details = f"Fusions in XLA's own code:\n{details}\nKernels called from XLA's program:\n{more}"
    if _gain(ours) > _gain(fusions):
        ours["fusions"] = _beside(fusions)
        return ours, details, chosen
    fusions["kernels"] = _beside(ours)
    fusions["interrupted"] = _interrupted(ours)
    return fusions, details, None


def _gain(report: Mapping[str, Any]) -> float:
    """Times as fast as XLA's own choice; 1 where that is the answer."""
    return 1.0 if report["answer"] == "xla" else report.get("speedup") or 1.0


def _beside(report: Mapping[str, Any]) -> dict[str, Any]:
    """What the report of the faster one tells of the other."""
    return {key: report[key] for key in ("answer", "speedup", "interval", "why") if key in report}


def _fusions(path: pathlib.Path, seconds: float, flags: Sequence[str]) -> tuple[dict[str, Any], str]:
    """target="xla": what `smelt tune` says is the answer."""
    try:
        report = search.run(path, path, max(seconds, LEAST_SEARCH_SECONDS), "xla", flags)
    except search.Beyond as reason:
        search.logger.info("it cannot be searched: %s", reason)
        return {"answer": "xla", "why": f"it cannot be searched: {reason}"}, ""
    if report["answer"] == "as_given":
        program.run(["opt", path / "fused.hlo", "-o", path / "fused.pb"])
    report.update(checked=_checked(report), why=report.get("undecided", ""))
    return report, _text_of_search(path)


def _checked(report: Mapping[str, Any]) -> str:
    """What the results were compared with; empty: with nothing."""
    if report.get("verified"):
        return "the evaluator's"
    if report.get("unchecked") and not report.get("difference"):
        return f"XLA's own, which stand in for the evaluator's ({report['unchecked']})"
    return ""


def _kernels(path: pathlib.Path, out: pathlib.Path, computation: Any, arguments: list[Any] | None, clock: _Clock,
             flags: Sequence[str]) -> tuple[dict[str, Any], str, kernels.Choice]:
    """target="cpu": kernels as the search in `out` found them, or in the usual fusion where it cannot run the program, inside XLA's program."""
    try:
        report = search.run(path, out, max(clock.left() * SEARCH_SHARE, LEAST_SEARCH_SECONDS), "cpu", flags)
        details, why = _text_of_search(out), ""
    except search.Beyond as reason:
        search.logger.info("kernels in the usual fusion, for it cannot be searched: %s", reason)
        report, details, why = {}, "", f"kernels in the usual fusion alone were tried, without a search: {reason}"
    found = out / "best.fusion.json"
    limit = clock.spent() + INTERRUPTED_SECONDS if _interrupted(report) else math.inf
    chosen = kernels.Choice(folder.processor())
    try:
        chosen = kernels.choose(path, computation, str(found) if found.is_file() else "priority", kernels.VARIANTS, arguments,
                                lambda: min(clock.left(), limit - clock.spent()), clock.compiling)
    except program.ProgramError as error:
        chosen.notes.append(f"kernels cannot be made: {error}")
    except KeyboardInterrupt:
        report["interrupted"] = True
        chosen.notes.append("interrupted")
    outside = {key: report.pop(key, None) for key in ("default_ms", "best_ms", "speedup", "interval", "improved", "verified", "unchecked")}
    report.update(answer="kernels" if chosen.module else "xla", calls=chosen.calls, outside_xla=outside, notes=chosen.notes,
                  why="; ".join(filter(None, [why, *chosen.notes])), interrupted=_interrupted(report),
                  checked="XLA's own" if chosen.checked else "")
    lines = []
    if chosen.compared is not None:
        compared = chosen.compared
        report.update(default_ms=1e3 * compared.usual, best_ms=1e3 * (compared.ours if chosen.module else compared.usual),
                      speedup=compared.speedup, interval=[compared.low, compared.high] if compared.children > 1 else None)
        lines = [f"Inside XLA's program, beside XLA's own choice, in turn and in blocks, in {compared.children} processes:",
                 f"  XLA       {1e3 * compared.usual:10.4f} ms", f"  kernels   {1e3 * compared.ours:10.4f} ms",
                 f"  speed     {compared.speedup:10.3f} times XLA's [{compared.low:.3f}, {compared.high:.3f}]"]
    lines += [f"  {note}" for note in chosen.notes]
    if details:
        lines += ["", "The search, which ran the program without XLA:", details]
    return report, "\n".join(lines) + "\n", chosen


def _interrupted(report: Mapping[str, Any]) -> bool:
    return bool(report.get("interrupted"))


def _text_of_search(path: pathlib.Path) -> str:
    """The report of `smelt tune`, without its answer: that is ours to say."""
    try:
        lines = (path / result.REPORT).read_text().splitlines()
    except OSError:
        return ""
    return "\n".join(line for line in lines if not line.startswith("  answer ")) + "\n"


def _leaves(arguments: Sequence[Any], named: Mapping[str, Any] | None) -> list[Any] | None:
    """The example's arrays, if it has any."""
    leaves = jax.tree.leaves((arguments, dict(named or {})))
    plain = all(isinstance(leaf, (jax.Array, np.ndarray)) and not jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.extended) for leaf in leaves)
    return leaves if plain else None


def fuse(f: Callable[..., Any], *example_args: Any, out: str | os.PathLike[str], fusion: str | os.PathLike[str] = "priority",
         target: str = "xla", example_kwargs: Mapping[str, Any] | None = None, jit_options: Mapping[str, Any] | None = None) -> Tuned:
    """A folder as `tune` makes it, with a fusion that is given and not searched; nothing is measured.

    fusion: none, tvm, xla-cpu, priority, random[:SEED], or a *.fusion.json file of this function. Other arguments as for `tune`.
    """
    _check(target, False)
    path = pathlib.Path(out)
    report: dict[str, Any] = {"target": target, "answer": "as_given"}
    chosen = None
    with _folder(path):
        program.find_program()
        computation = lower(f, example_args, example_kwargs, jit_options)
        _write_modules(path, computation)
        if target == "cpu":
            chosen = kernels.choose(path, computation, os.fspath(fusion), kernels.VARIANTS[:1], _leaves(example_args, example_kwargs), None)
            report.update(answer="kernels" if chosen.module else "xla", calls=chosen.calls)
        else:
            program.run(["opt", path / "captured.pb", f"--fusion={os.fspath(fusion)}", f"--target=xla:threads={folder.threads()}",
                         "-o", path / "fused.pb"])
        _finish(path, computation, report, chosen)
    return Tuned(path, report)


def lower(f: Callable[..., Any], arguments: Sequence[Any], named: Mapping[str, Any] | None = None,
          options: Mapping[str, Any] | None = None) -> Any:
    """What JAX would give to XLA."""
    reason = door.trouble()
    if reason is not None:
        raise ValueError(reason)
    if hasattr(f, "lower"):
        if options:
            raise ValueError("jit_options are for a function that is not jitted; this one is")
    else:
        f = jax.jit(f, **(options or {}))
    computation = f.lower(*arguments, **(named or {})).compiler_ir("stablehlo")
    if door.devices_of(computation) != 1:
        raise ValueError("the function runs on several devices; one is supported")
    called = door.callbacks(computation)
    if called:
        raise ValueError(f"the function calls back into Python ({', '.join(called)}), which a search cannot repeat")
    return computation


def _finish(path: pathlib.Path, computation: Any, report: Mapping[str, Any], chosen: kernels.Choice | None) -> None:
    files = [*MODULES, *(["fused.pb"] if report["answer"] == "as_given" else [])]
    files = [name for name in files if (path / name).is_file()]  # there may have been no time for the last
    if chosen is not None and chosen.module:
        files += [chosen.module, chosen.library]
    folder.write_manifest(path, {
        "target": report["target"], "name": door.name_of(computation), "signature": door.signature(computation),
        "answer": "xla" if report["answer"] == "kernels" else report["answer"],
        "module": door.fingerprint((path / "module.pb").read_bytes()), "captured": door.fingerprint((path / "captured.pb").read_bytes()),
        **({"kernels": chosen.manifest()} if chosen is not None else {}), "report": result.to_json(report),
    }, files)


def _write_modules(path: pathlib.Path, computation: Any, clock: _Clock | None = None) -> None:
    """_NoTime: for all of them."""
    module = door.to_hlo(computation)
    known = path / "module.pb"
    if known.is_file() and door.fingerprint(known.read_bytes()) != door.fingerprint(module):
        raise ValueError(f"{path} holds the search of another function or of other shapes: give another folder, or remove this one")
    (path / folder.MANIFEST).unlink(missing_ok=True)  # until it is true again
    (path / "module.pb").write_bytes(module)
    if clock is not None:
        clock.compiling = door.compile_seconds(computation)
        if clock.left() < 2 * clock.compiling:
            raise _NoTime(f"for a search: XLA took {clock.compiling:.1f} s to compile the function once")
    (path / "captured.pb").write_bytes(door.capture(computation, library=False))
    (path / "captured_library.pb").write_bytes(door.capture(computation, library=True))
