"""Finds the `smelt` program and runs its verbs."""
from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
from collections.abc import Sequence


class ProgramError(RuntimeError):
    """The program is missing, or what it was asked for failed. The text is the program's own, for people."""


def checkout() -> pathlib.Path | None:
    """The checkout that this package was installed from, or lies in."""
    try:
        from smelt._checkout import PATH as path  # written when the package is installed
    except ImportError:
        path = str(pathlib.Path(__file__).resolve().parents[2])
    return pathlib.Path(path) if path and (pathlib.Path(path) / "CMakePresets.json").is_file() else None


def find_built(name: str) -> tuple[pathlib.Path | None, list[str]]:
    """A file of the checkout's release build, and where it was looked for."""
    root = checkout()
    if root is None:
        return None, []
    path = root / "build" / "release" / name
    return (path if path.is_file() else None), [str(path)]


def find_program() -> pathlib.Path:
    """The `smelt` program: $SMELT, else build/release/smelt of the checkout, else `smelt` on the PATH."""
    named = os.environ.get("SMELT")
    if named:
        if os.access(named, os.X_OK) and os.path.isfile(named):
            return pathlib.Path(named)
        raise ProgramError(f"SMELT={named}: no program is there; it must name the `smelt` program")
    built, tried = find_built("smelt")
    if built is not None:
        return built
    on_path = shutil.which("smelt")
    if on_path is not None:
        return pathlib.Path(on_path)
    raise ProgramError(f"the `smelt` program is not found (tried $SMELT, {', '.join([*tried, 'the PATH'])}). Build it in the checkout with "
                       "`cmake --preset release && cmake --build --preset release`, or set SMELT to its path")


def run(arguments: Sequence[str | os.PathLike[str]], input: bytes | None = None, timeout: float | None = None) -> bytes:
    """Standard output of `smelt ARGUMENTS`. ProgramError with the program's own message when it fails; subprocess.TimeoutExpired."""
    command = [str(find_program()), *map(str, arguments)]
    done = subprocess.run(command, input=input, capture_output=True, check=False, timeout=timeout)
    if done.returncode != 0:
        message = done.stderr.decode(errors="replace").strip() or f"ended with status {done.returncode}"
        raise ProgramError(f"smelt {arguments[0]}: {message}")
    return done.stdout
