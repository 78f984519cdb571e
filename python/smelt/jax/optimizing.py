"""The context in which tuned modules replace XLA's.

A context changes a value that JAX keeps in the keys of all its caches in memory, so that functions are compiled anew inside, and those
compiled outside are there again after it. While one is entered, compilations of JAX pass through `_compile`: a module that was not
tuned goes to XLA as it came. One that was is compiled with XLA's fusion off, and the last of XLA's passes asks us for a module in its
place; if what it shows is not what was tuned, or anything else goes wrong, the module is compiled once more, by XLA alone.
"""
from __future__ import annotations

import contextlib
import os
import threading
import warnings
from collections.abc import Iterable
from typing import Any

import jax

from smelt.jax import door, folder, kernels
from smelt.program import ProgramError

MODES = ("fusions", "kernels")


class SmeltWarning(UserWarning):
    """XLA compiles as usual where a tuned program was asked for; the text says why."""


class _NotReplaced(Exception):
    pass


_context = jax.make_user_context(())  # of each thread: digests of the answers in use, the innermost first
_answers: dict[str, folder.Answer] = {}  # by digest
_used: set[str] = set()  # digests of answers that XLA has compiled here
_said: set[tuple[str, str]] = set()
_local = threading.local()


def _warn(where: str, why: str) -> None:
    if (where, why) in _said:
        return
    _said.add((where, why))
    warnings.warn(f"{where}: {why}. XLA compiles as usual", SmeltWarning, stacklevel=3)


class _Replacement:
    """One compilation whose module is to be replaced."""

    def __init__(self, answer: folder.Answer):
        self.answer = answer
        self.done = False

    def listen(self, module: bytes) -> bytes | None:
        if door.fingerprint(module) != self.answer.captured:
            return None
        self.done = True
        return self.answer.fused


def _find(computation: Any) -> folder.Answer | None:
    """The answer in use that was tuned for this module."""
    answers = [_answers[digest] for digest in _context.value]
    signature, name = door.signature(computation), door.name_of(computation)
    alike = [answer for answer in answers if answer.signature == signature]
    if alike and door.devices_of(computation) == 1:
        found = door.fingerprint(door.to_hlo(computation))
        for answer in alike:
            if answer.module == found:
                return answer
    for answer in answers:
        if answer.name == name and "lambda" not in name:
            if answer.signature == signature:
                _warn(answer.folder, f"{name} is not the program that was tuned: it computes something else, donates other arguments or "
                      "was lowered under other settings; tune again")
            else:
                _warn(answer.folder, f"{name} was tuned for {answer.signature} and is used for {signature}")
            break
    return None


def _compile(original: Any, backend: Any, computation: Any, devices: Any, options: Any, *rest: Any, **named: Any) -> Any:
    answer = None
    if _context.value and backend.platform == "cpu" and getattr(_local, "replacement", None) is None:
        try:
            answer = _find(computation)
        except Exception as error:
            _warn("smelt.jax", f"a module cannot be looked at: {_first_line(error)}")
    if answer is None or answer.answer == "xla":
        return original(backend, computation, devices, options, *rest, **named)
    try:
        if answer.answer == "xla_no_library":
            executable = original(backend, computation, devices, door.without_passes(options, door.LIBRARY_PASS), *rest, **named)
            _used.add(answer.digest)
            return executable
        _local.replacement = replacement = _Replacement(answer)
        try:
            with door.transformation(replacement.listen):
                unfused = door.without_passes(options, f"{door.FUSION_PASSES},{door.LIBRARY_PASS}")
                executable = original(backend, computation, devices, unfused, *rest, **named)
            _used.add(answer.digest)
            return executable
        finally:
            _local.replacement = None
    except _NotReplaced:
        _warn(answer.folder, f"XLA's passes make another module of {answer.name} here than where it was tuned (other flags, threads or "
              "processor): tune again")
    except Exception as error:
        _warn(answer.folder, f"XLA does not take the tuned {answer.name}: {_first_line(error)}")
    return original(backend, computation, devices, options, *rest, **named)


def _built() -> None:
    """After a compilation, before it reaches the persistent cache."""
    replacement = getattr(_local, "replacement", None)
    if replacement is not None and not replacement.done:
        raise _NotReplaced


def _salt() -> str:
    """Keys of the persistent cache do not know of transformations."""
    replacement = getattr(_local, "replacement", None)
    return "" if replacement is None else f"smelt {replacement.answer.digest}"


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"


_hooks = door.CompilerHooks(_compile, _built, _salt)


class Optimization(contextlib.ContextDecorator):
    """What `optimize` returns. Can be entered again and again, nested, and by several threads."""

    def __init__(self, digests: tuple[str, ...]):
        self._digests = digests
        self._entered = threading.local()

    @property
    def used(self) -> list[str]:
        """Names of the tuned modules that XLA has compiled, in this process, in place of its own."""
        return [_answers[digest].name for digest in self._digests if digest in _used]

    def __enter__(self) -> Optimization:
        if not hasattr(self._entered, "stack"):
            self._entered.stack = []
        if not self._digests:
            self._entered.stack.append(None)
            return self
        _hooks.acquire()
        outer = _context.value
        change = _context(self._digests + tuple(digest for digest in outer if digest not in self._digests) if outer else self._digests)
        change.__enter__()
        self._entered.stack.append(change)
        return self

    def __exit__(self, *exception: Any) -> None:
        change = self._entered.stack.pop()
        if change is None:
            return
        change.__exit__(*exception)
        _hooks.release()


def optimize(*folders: str | os.PathLike[str], mode: str | None = None) -> Optimization:
    """Programs that were tuned, in place of what XLA would compile: a context manager and a decorator.

        with smelt.jax.optimize("step.smelt"):
            state = step(state, batch)

    `folders`: of `tune`, or what it returned. `mode`: what replaces XLA's choice; by default what the folder was tuned for.

    - fusions: our fusions in XLA's own code. Folders of target="xla".
    - kernels: fusions and contractions that Smelt compiles itself, called from XLA's program. Folders of target="cpu".

    A module is replaced if it is the one that was tuned: same computation, shapes, donated
    arguments and layouts. All others are compiled as usual. Functions that were compiled before are compiled anew inside, and those of
    before are there again after it; a context holds for the thread that enters it.

    What cannot be used (another version of jaxlib, another number of threads, a folder that is none) is left to XLA, with one
    `SmeltWarning` that says why; nothing is raised for it.
    """
    if mode is not None and mode not in MODES:
        raise ValueError(f"mode={mode!r}: expected one of {', '.join(MODES)}")
    if not folders:
        raise ValueError("optimize needs a folder of smelt.jax.tune")
    reason = door.trouble()
    digests = []
    for path in _flat(folders):
        if reason is not None:
            _warn(os.fspath(path), reason)
            continue
        try:
            answer = folder.load(path, mode)
            if answer.library:
                kernels.load(answer.library)
        except (folder.Unusable, OSError, ProgramError) as error:
            _warn(os.fspath(path), str(error))
            continue
        _answers[answer.digest] = answer
        digests.append(answer.digest)
    return Optimization(tuple(dict.fromkeys(digests)))


def _flat(folders: Iterable[Any]) -> Iterable[str | os.PathLike[str]]:
    for item in folders:
        if isinstance(item, (str, os.PathLike)):
            yield item
        else:
            yield from _flat(item)
