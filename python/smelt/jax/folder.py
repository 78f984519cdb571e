"""A run folder as `smelt.jax.tune` leaves it and `smelt.jax.optimize` reads it.

Beside what `smelt tune` writes (best.fusion.json, fused.hlo, records.db, report.txt) it holds

    module.pb             the program as JAX gave it to XLA
    captured.pb           the same after XLA's passes, with its fusion off: what was tuned
    captured_library.pb   the same with XLA's library on
    fused.pb              what XLA shall compile instead, where the answer is a configuration
    kernels-*/            the same with calls of kernels of ours, and their code
    smelt.json            what all this is for, and what was found
"""
from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import pathlib
from typing import Any

from smelt.jax import door

FORMAT = 1
MANIFEST = "smelt.json"


class Unusable(Exception):
    """A folder that cannot be used here; the text says why."""


@dataclasses.dataclass(frozen=True)
class Answer:
    """What was found for one module."""
    folder: str
    name: str  # jit_step
    signature: str
    module: str  # fingerprint, as JAX gives it to XLA
    captured: str  # fingerprint, as XLA's passes leave it
    answer: str  # xla: as it is; xla_no_library: without the library; as_given: `fused`
    fused: bytes
    library: str  # of the kernels that `fused` calls; empty: it calls none
    digest: str  # of everything that decides what is compiled


def threads() -> int:
    """Cores that XLA's thread pool of this process has."""
    return len(os.sched_getaffinity(0))


def write_manifest(folder: pathlib.Path, fields: dict[str, Any], files: list[str]) -> None:
    """Whole or not at all: a reader sees the old manifest or this one."""
    content = {"format": FORMAT, "jaxlib": door.SUPPORTED, "threads": threads(), **fields,
               "files": {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in files}}
    unfinished = folder / f"{MANIFEST}.{os.getpid()}"
    unfinished.write_text(json.dumps(content, indent=1) + "\n")
    unfinished.replace(folder / MANIFEST)


def read_manifest(folder: pathlib.Path) -> dict[str, Any] | None:
    """None: there is none. Unusable: it is none of ours."""
    try:
        text = (folder / MANIFEST).read_text()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise Unusable(f"{MANIFEST} cannot be read: {error}") from None
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unusable(f"{MANIFEST} is damaged: {error}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        found = content.get("format") if isinstance(content, dict) else "nothing"
        raise Unusable(f"{MANIFEST} has format {found}, and this package reads format {FORMAT}: tune again")
    return content


def open_manifest(folder: pathlib.Path) -> dict[str, Any]:
    """Unusable: it is no folder that was tuned."""
    if not folder.is_dir():
        raise Unusable("it is a file, and not a folder that smelt.jax.tune made" if folder.exists() else "there is no such folder")
    manifest = read_manifest(folder)
    if manifest is None:
        raise Unusable(f"it has no {MANIFEST}: it is not a folder that smelt.jax.tune finished")
    return manifest


def load(path: str | os.PathLike[str], mode: str | None) -> Answer:
    """`mode`: fusions, kernels, or None for what the folder was tuned for.

    Unusable: with the reason, for every folder that is not one of ours, of this version and for this machine's threads.
    """
    folder = pathlib.Path(path)
    manifest = open_manifest(folder)
    if manifest.get("jaxlib") != door.SUPPORTED:
        raise Unusable(f"it was tuned under jaxlib {manifest.get('jaxlib')}, and this is {door.SUPPORTED}: tune again")
    if manifest.get("threads") != threads():
        raise Unusable(f"it was tuned for {manifest.get('threads')} threads, and XLA has {threads()} here: tune again")
    texts = {}
    for key in ("target", "name", "signature", "module", "captured", "answer"):
        if not isinstance(manifest.get(key), str):
            raise Unusable(f"{MANIFEST} is damaged: `{key}` is no text")
        texts[key] = manifest[key]
    files = manifest.get("files")
    target, fused, library = texts.pop("target"), b"", ""
    if mode == "kernels" or (mode is None and target == "cpu"):
        texts["answer"], fused, library = _read_kernels(folder, manifest.get("kernels"), files)
    elif target == "cpu":
        raise Unusable("it was tuned for kernels of Smelt's: use mode='kernels', or tune with target='xla'")
    elif texts["answer"] == "as_given":
        fused = _read(folder, "fused.pb", files)
    elif texts["answer"] not in ("xla", "xla_no_library"):
        raise Unusable(f"{MANIFEST} has the answer `{texts['answer']}`, which this package does not know")
    digest = hashlib.sha256(json.dumps([texts, files, library], sort_keys=True).encode()).hexdigest()
    return Answer(folder=str(folder), fused=fused, library=library, digest=digest, **texts)


def _read_kernels(folder: pathlib.Path, kernels: Any, files: Any) -> tuple[str, bytes, str]:
    """Answer, module and library."""
    if not isinstance(kernels, dict):
        raise Unusable("it has no kernels of Smelt's: tune with target='cpu'")
    if not isinstance(kernels.get("processor"), str):
        raise Unusable(f"{MANIFEST} is damaged: `kernels` names no processor")
    if kernels["processor"] != processor():
        raise Unusable("its kernels were compiled for another processor: tune again")
    module, library = kernels.get("module"), kernels.get("library")
    if module is None:
        return "xla", b"", ""  # none was faster
    if not isinstance(module, str) or not isinstance(library, str):
        raise Unusable(f"{MANIFEST} is damaged: `kernels` names no files")
    _read(folder, library, files)
    return "as_given", _read(folder, module, files), str((folder / library).resolve())


def processor() -> str:
    """What compiled code depends on: code of one machine may end a process on another."""
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    first: dict[str, str] = {}
    for line in lines:
        key, _, value = line.partition(":")
        first.setdefault(key.strip(), value.strip())
    return hashlib.sha256(f"{first.get('model name')} {first.get('flags')}".encode()).hexdigest()


def _read(folder: pathlib.Path, name: str, files: Any) -> bytes:
    try:
        content = (folder / name).read_bytes()
    except OSError as error:
        raise Unusable(f"{name} cannot be read: {error.strerror}") from None
    if not isinstance(files, dict) or files.get(name) != hashlib.sha256(content).hexdigest():
        raise Unusable(f"{name} is not the file that was tuned: tune again")
    return content
