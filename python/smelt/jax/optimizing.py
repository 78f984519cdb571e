"""The context in which tuned modules replace XLA's.

A context changes a value that JAX keeps in the keys of all its caches in memory, so that functions are compiled anew inside, and those
compiled outside are there again after it. While one is entered, compilations of JAX pass through `_compile`: a module that was not
tuned goes to XLA as it came. One that was is compiled with XLA's fusion off, and the last of XLA's passes asks us for a module in its
place; if what it shows is not what was tuned, or anything else goes wrong, the module is compiled once more, by XLA alone.
"""
from __future__ import annotations

import contextlib
import functools
import inspect
import os
import pathlib
import sys
import threading
import warnings
from collections.abc import Callable, Generator, Iterable
from typing import Any

import jax

from smelt.jax import door, folder, handler
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


# Frames of these stand between a user's line and a warning about it.
_PACKAGES = tuple(str(pathlib.Path(file).parent) + os.sep for file in (__file__, jax.__file__, door.jaxlib.__file__)) + (contextlib.__file__,)


def _users_line() -> int:
    """The `stacklevel`, of a call in our caller, at which the code is none of ours and none of JAX's."""
    frame, level = sys._getframe(2), 2
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGES):
        frame, level = frame.f_back, level + 1
    return level if frame is not None else 2


def _warn(where: str, why: str) -> None:
    if (where, why) in _said:
        return
    _said.add((where, why))
    warnings.warn(f"{where}: {why}. XLA compiles as usual", SmeltWarning, stacklevel=_users_line())


class _Replacement:
    """One compilation whose module is to be replaced."""

    def __init__(self, answer: folder.Answer):
        self.answer = answer
        self.name = door.disguise(answer.name)
        self.done = False

    def listen(self, module: bytes) -> bytes | None:
        if door.module_name(module)[0] != self.name or door.fingerprint(module) != self.answer.captured:
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
                _warn(answer.folder, f"{name} was tuned for {_differences(computation, answer.signature, signature)}")
            break
    return None


MOST_NAMED = 3  # arguments in a warning


def _differences(computation: Any, tuned: str, used: str) -> str:
    """x of f32[4] and is used for f32[5]: only what is not the same."""
    before, now = door.arguments_of(tuned), door.arguments_of(used)
    if len(before) != len(now):
        return f"{len(before)} arrays as arguments and is used for {len(now)}"
    names = door.argument_names(computation)
    differing = [f"{names[i] if i < len(names) and names[i] else f'argument {i}'} of {a} and is used for {b}"
                 for i, (a, b) in enumerate(zip(before, now)) if a != b]
    if not differing:
        return "other results and is used for the same arguments"
    more = f", and {len(differing) - MOST_NAMED} more differ" if len(differing) > MOST_NAMED else ""
    return ", ".join(differing[:MOST_NAMED]) + more


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


def _build(original: Any, backend: Any, computation: Any, *rest: Any, **named: Any) -> Any:
    """A compilation that the persistent cache does not save; its keys know the module by its own name."""
    replacement = getattr(_local, "replacement", None)
    if replacement is None:
        return original(backend, computation, *rest, **named)
    executable = original(backend, door.renamed(computation, replacement.name), *rest, **named)
    if not replacement.done:
        raise _NotReplaced
    return executable


def _salt() -> str:
    """Keys of the persistent cache do not know of transformations."""
    replacement = getattr(_local, "replacement", None)
    return "" if replacement is None else f"smelt {replacement.answer.digest}"


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"


_hooks = door.CompilerHooks(_compile, _build, _salt)


class Optimization(contextlib.ContextDecorator):
    """What `optimize` returns. Can be entered again and again, nested, and by several threads; it can be pickled."""

    def __init__(self, folders: tuple[str, ...], mode: str | None, digests: tuple[str, ...]):
        self._folders, self._mode, self._digests = folders, mode, digests
        self._entered = threading.local()

    def __reduce__(self) -> Any:
        return _again, (self._folders, self._mode)

    def __repr__(self) -> str:
        return f"smelt.jax.optimize({', '.join(map(repr, self._folders))}{'' if self._mode is None else f', mode={self._mode!r}'})"

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
        if not getattr(self._entered, "stack", None):
            raise RuntimeError("smelt.jax.optimize is left in a thread that has not entered it")
        change = self._entered.stack.pop()
        if change is None:
            return
        change.__exit__(*exception)
        _hooks.release()

    def __call__(self, function: Any) -> Any:
        """A decorated function runs inside the context; a generator or coroutine does while it runs, and not while it waits."""
        if not callable(function):
            raise TypeError(f"smelt.jax.optimize decorates functions, and this is {type(function).__name__}; "
                            "or use it as a context: with smelt.jax.optimize(...):")
        if inspect.isasyncgenfunction(function):
            raise TypeError(f"smelt.jax.optimize cannot decorate the asynchronous generator {function.__qualname__}: "
                            "use it as a context around what calls JAX, without an await inside")
        if inspect.iscoroutinefunction(function):
            @functools.wraps(function)
            async def coroutine(*arguments: Any, **named: Any) -> Any:
                return await _Awaited(_inside(self, function(*arguments, **named).__await__()))
            return coroutine
        if inspect.isgeneratorfunction(function):
            @functools.wraps(function)
            def generator(*arguments: Any, **named: Any) -> Any:
                return (yield from _inside(self, function(*arguments, **named)))
            return generator
        return super().__call__(function)


class _Awaited:
    def __init__(self, steps: Generator[Any, Any, Any]):
        self._steps = steps

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._steps


def _inside(context: Optimization, steps: Any) -> Generator[Any, Any, Any]:
    """Each step under the context, and none of what happens between them: others run on this thread in the meantime."""
    step: Callable[[], Any] = lambda: next(steps)  # noqa: E731
    while True:
        try:
            with context:
                item = step()
        except StopIteration as end:
            return end.value
        try:
            sent = yield item
            step = functools.partial(next, steps) if sent is None else functools.partial(steps.send, sent)
        except GeneratorExit:
            with context:
                steps.close()
            raise
        except BaseException as error:
            step = functools.partial(steps.throw, error)


def _again(folders: tuple[str, ...], mode: str | None) -> Optimization:
    return optimize(*folders, mode=mode)


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
    paths = tuple(_flat(folders))
    if not paths:
        raise ValueError("optimize needs a folder of smelt.jax.tune")
    reason = door.trouble()
    digests = []
    for path in paths:
        if reason is not None:
            _warn(path, reason)
            continue
        try:
            answer = folder.load(path, mode)
            if answer.library:
                handler.load(answer.library)
        except (folder.Unusable, OSError, ProgramError) as error:
            _warn(path, str(error))
            continue
        _answers[answer.digest] = answer
        digests.append(answer.digest)
    return Optimization(paths, mode, tuple(dict.fromkeys(digests)))


def _flat(folders: Iterable[Any]) -> Iterable[str]:
    for item in folders:
        if isinstance(item, (str, os.PathLike)):
            yield os.fspath(item)
        elif isinstance(item, (list, tuple, set, frozenset)):
            yield from _flat(item)
        else:
            raise TypeError(f"optimize takes folders of smelt.jax.tune, or what it returned, and not {item!r}")
