"""How a function of JAX becomes a run folder of `smelt tune`."""
from __future__ import annotations

import codecs
import dataclasses
import json
import math
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from smelt import program
from smelt.jax import door, folder, kernels


@dataclasses.dataclass(frozen=True)
class Tuned:
    """A folder of `tune`, for `optimize`."""
    folder: pathlib.Path
    report: Mapping[str, Any]  # `smelt tune --json`

    @property
    def default_ms(self) -> float:
        """Median time of XLA's own choice; NaN where nothing was measured."""
        return self.report.get("default_ms", math.nan)

    @property
    def best_ms(self) -> float:
        """Median time of the answer, measured in turn with XLA's own choice; NaN where nothing was measured."""
        return self.report.get("best_ms", math.nan)

    @property
    def answer(self) -> str:
        """xla: nothing was faster beyond noise; xla_no_library: XLA with its library off; as_given: fusions of ours; kernels: calls of
        kernels of ours."""
        return self.report["answer"]

    def __fspath__(self) -> str:
        return str(self.folder)

    def __str__(self) -> str:
        report = self.folder / "report.txt"
        return report.read_text() if report.is_file() else f"{self.folder}: {self.answer}, without measurements"


TARGETS = ("xla", "cpu")


def tune(f: Callable[..., Any], *example_args: Any, out: str | os.PathLike[str], budget: float = 60.0, target: str = "xla",
         example_kwargs: Mapping[str, Any] | None = None, jit_options: Mapping[str, Any] | None = None, quiet: bool = False,
         flags: Sequence[str] = ()) -> Tuned:
    """Searches what is fastest for a function on this machine.

        tuned = smelt.jax.tune(step, params, batch, budget=120, out="step.smelt")

    f: a function, or one that is jitted already (then donated and static arguments are its own).
    example_args, example_kwargs: arrays or jax.ShapeDtypeStruct; only shapes and types count.
    target: xla: fusions for XLA's own code generator; cpu: fusions and tiles of kernels that Smelt compiles itself, called from XLA's
        program where that is faster (mode="kernels"; needs a C and a C++ compiler).
    out: the run folder. One that holds this function is gone on from; one that holds another is refused.
    budget: seconds of compiling and timing candidates, of the folder in all.
    jit_options: for a function that is not jitted, arguments of jax.jit: {"donate_argnums": 0}.
    flags: more flags of `smelt tune`.

    Progress goes to standard error, the table at the end to standard output, unless `quiet`. Ctrl-C ends the search with the best so far.
    Raises smelt.ProgramError with the program's message when it fails, and ValueError for what cannot be tuned.
    """
    _check_target(target)
    computation = lower(f, example_args, example_kwargs, jit_options)
    path = pathlib.Path(out)
    _write_modules(path, computation)
    report = _search(path, budget, target, quiet, flags)
    if target == "cpu":
        arguments = _leaves(example_args, example_kwargs)
        chosen = kernels.choose(path, computation, str(path / "best.fusion.json"), kernels.VARIANTS, arguments, COMPARISON_SECONDS)
        report.update(answer="kernels" if chosen["module"] else "xla", default_ms=chosen.get("xla_ms", math.nan),
                      best_ms=chosen.get("kernels_ms" if chosen["module"] else "xla_ms", math.nan), calls=chosen["calls"])
        _finish(path, computation, target, "xla", chosen)
        _append_comparison(path / "report.txt", report, chosen)
    else:
        if report["answer"] == "as_given":
            program.run(["opt", path / "fused.hlo", "-o", path / "fused.pb"])
        _finish(path, computation, target, report["answer"])
    if not quiet:
        print((path / "report.txt").read_text(), end="")
    return Tuned(path, report)


COMPARISON_SECONDS = 3.0
INTERRUPTED = (128 + signal.SIGINT, 128 + signal.SIGTERM)  # statuses of a search that ended early with the best so far


def _check_target(target: str) -> None:
    if target not in TARGETS:
        raise ValueError(f"target={target!r}: expected one of {', '.join(TARGETS)}")


def _leaves(arguments: Sequence[Any], named: Mapping[str, Any] | None) -> list[Any] | None:
    """The example's arrays, if it has any."""
    leaves = jax.tree.leaves((arguments, dict(named or {})))
    plain = all(isinstance(leaf, (jax.Array, np.ndarray)) and not jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.extended) for leaf in leaves)
    return leaves if plain else None


def _append_comparison(path: pathlib.Path, report: Mapping[str, Any], chosen: Mapping[str, Any]) -> None:
    lines = ["  inside XLA's program, beside XLA's own choice:", f"    XLA       {report['default_ms']:10.4f} ms"]
    if "kernels_ms" in chosen:
        lines.append(f"    kernels   {chosen['kernels_ms']:10.4f} ms")
    lines.append(f"  answer    {chosen['calls']} calls of kernels" if chosen["module"] else "  answer    XLA's own choice: no kernels")
    if "refused" in chosen:
        lines.append(f"  refused   {chosen['refused']}")
    with path.open("a") as file:
        file.write("\n".join(lines) + "\n")


def fuse(f: Callable[..., Any], *example_args: Any, out: str | os.PathLike[str], fusion: str | os.PathLike[str] = "priority",
         target: str = "xla", example_kwargs: Mapping[str, Any] | None = None, jit_options: Mapping[str, Any] | None = None) -> Tuned:
    """A folder as `tune` makes it, with a fusion that is given and not searched; nothing is measured.

    fusion: none, tvm, xla-cpu, priority, random[:SEED], or a *.fusion.json file of this function. Other arguments as for `tune`.
    """
    _check_target(target)
    computation = lower(f, example_args, example_kwargs, jit_options)
    path = pathlib.Path(out)
    _write_modules(path, computation)
    if target == "cpu":
        chosen = kernels.choose(path, computation, os.fspath(fusion), kernels.VARIANTS[:1], _leaves(example_args, example_kwargs), 0)
        _finish(path, computation, target, "xla", chosen)
        return Tuned(path, {"answer": "kernels" if chosen["module"] else "xla", "calls": chosen["calls"]})
    program.run(["opt", path / "captured.pb", f"--fusion={os.fspath(fusion)}", f"--target=xla:threads={folder.threads()}",
                 "-o", path / "fused.pb"])
    _finish(path, computation, target, "as_given")
    return Tuned(path, {"answer": "as_given"})


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


def _finish(path: pathlib.Path, computation: Any, target: str, answer: str, chosen: Mapping[str, Any] | None = None) -> None:
    files = ["module.pb", "captured.pb", "captured_library.pb", *(["fused.pb"] if answer == "as_given" else [])]
    if chosen is not None and chosen["module"]:
        files += [chosen["module"], chosen["library"]]
    folder.write_manifest(path, {
        "target": target, "name": door.name_of(computation), "signature": door.signature(computation), "answer": answer,
        "module": door.fingerprint((path / "module.pb").read_bytes()), "captured": door.fingerprint((path / "captured.pb").read_bytes()),
        **({"kernels": dict(chosen)} if chosen is not None else {}),
    }, files)


def _write_modules(path: pathlib.Path, computation: Any) -> None:
    module = door.to_hlo(computation)
    known = path / "module.pb"
    if known.is_file() and door.fingerprint(known.read_bytes()) != door.fingerprint(module):
        raise ValueError(f"{path} holds the search of another function or of other shapes: give another folder, or remove this one")
    path.mkdir(parents=True, exist_ok=True)
    (path / folder.MANIFEST).unlink(missing_ok=True)  # until it is true again
    for name, content in (("module.pb", module), ("captured.pb", door.capture(computation, library=False)),
                          ("captured_library.pb", door.capture(computation, library=True))):
        (path / name).write_bytes(content)


def _search(path: pathlib.Path, budget: float, target: str, quiet: bool, flags: Sequence[str]) -> dict[str, Any]:
    if target == "cpu":
        what = [path / "captured.pb", "--inside-xla"]
    else:
        what = [path / "module.pb", f"--python={sys.executable}", f"--captured={path / 'captured.pb'}",
                f"--captured-library={path / 'captured_library.pb'}"]
    command = [str(program.find_program()), "tune", *map(str, what), f"--target={target}", f"--out={path}", "--json",
               f"--budget={budget}", f"--threads={folder.threads()}", *(["--quiet"] if quiet else []), *flags]
    with tempfile.TemporaryFile() as output:
        status, message = _run(command, output)
        output.seek(0)
        text = output.read()
    try:
        report = json.loads(text)
    except ValueError:
        report = None
    if status not in (0, *INTERRUPTED) or not isinstance(report, dict):
        raise program.ProgramError(f"smelt tune: {message.strip() or f'ended with status {status}'}")
    return report


def _run(command: list[str], output: Any) -> tuple[int, str]:
    """Status, and the last lines of standard error, all of which is passed on as it comes: in a notebook too.

    The program has a process group of its own: a terminal's Ctrl-C reaches it through us alone, once, as one from a notebook does.
    """
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    last = ""
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE, start_new_session=True)
    interrupted = False
    try:
        while True:
            try:
                chunk = os.read(child.stderr.fileno(), 1 << 16)
                if not chunk:
                    return child.wait(), last
                text = decoder.decode(chunk)
                last = (last + text)[-4000:]
                sys.stderr.write(text)
                sys.stderr.flush()
            except KeyboardInterrupt:
                if interrupted:
                    raise
                interrupted = True
                child.send_signal(signal.SIGINT)
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()
        child.stderr.close()
