"""The handler that XLA calls for kernels of ours, compiled once for each jaxlib, and the libraries of kernels that it knows."""
from __future__ import annotations

import ctypes
import hashlib
import os
import pathlib
import subprocess
import threading
from collections.abc import Sequence

import jax

from smelt import program
from smelt.jax import folder

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = ("call.cc", "kernel_table.h")
HANDLER = "smelt_kernel"


class Unlinkable(program.ProgramError):
    """The system's compiler is missing or refuses."""


def compile_library(compilers: Sequence[str], arguments: Sequence[str | os.PathLike[str]], output: pathlib.Path,
             timeout: float | None = None) -> None:
    """Writes `output`, whole or not at all. Unlinkable: no compiler, or what it says."""
    output.parent.mkdir(parents=True, exist_ok=True)
    unfinished = output.with_name(f"{output.name}.{os.getpid()}.{threading.get_ident()}")
    tried = []
    for compiler in compilers:
        if not compiler:
            continue
        try:
            done = subprocess.run([*compiler.split(), *map(str, arguments), "-o", str(unfinished)], capture_output=True, check=False,
                                  timeout=timeout)
        except OSError:
            tried.append(compiler)
            continue
        if done.returncode != 0:
            raise Unlinkable(f"{compiler}: {done.stderr.decode(errors='replace').strip()[-2000:]}")
        unfinished.replace(output)
        return
    raise Unlinkable(f"kernels are linked by the system's compiler, and none of {', '.join(tried)} is there: install one, for example g++")


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
            compile_library((os.environ.get("CXX", ""), "c++", "g++", "clang++"),
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
