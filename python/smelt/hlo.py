"""HLO modules: load, print, inspect, fuse. Nothing of XLA's is needed.

    module = smelt.hlo.load("models/resnet18.hlo")
    print(module.inspect()["flops"])
    fused = module.fuse("priority")
    print(fused)                                   # HLO text
    fused.to_proto()                               # a HloModuleProto, serialised
"""
from __future__ import annotations

import os
import pathlib
import weakref
from typing import Any

from smelt import library
from smelt.library import SmeltError

__all__ = ["Module", "SmeltError", "from_proto", "load", "parse"]


class Module:
    """A verified HLO module. It does not change; `str` gives its text."""

    def __init__(self, handle: int):
        """For this package; `load`, `parse` and `from_proto` make modules."""
        self._handle = handle
        weakref.finalize(self, library.library().smelt_module_delete, handle)

    def __str__(self) -> str:
        return library.read_text("module_text", self._handle)

    def to_proto(self) -> bytes:
        """A serialised HloModuleProto, as jaxlib's `HloModule.from_serialized_hlo_module_proto` takes it."""
        return library.call_bytes("module_proto", self._handle)

    def inspect(self) -> dict[str, Any]:
        """name, fingerprint, instructions, computations, opcodes, flops, bytes, and kernels: what would run as one piece."""
        return library.call_json("module_inspect", self._handle)

    def fuse(self, fusion: str | os.PathLike[str] = "priority", target: str = "cpu:threads=1", passes: bool = True) -> Module:
        """The program fused: none, tvm, xla-cpu, priority, random[:SEED], or a *.fusion.json file. `passes`: simplified before, as
        `smelt tune` does."""
        return Module(library.call("module_fuse", self._handle, os.fsencode(fusion), target.encode(), int(passes)))


def _read(content: bytes, form: int, name: str) -> Module:
    return Module(library.call("module_read", content, len(content), form, name.encode()))


def parse(text: str, name: str = "text") -> Module:
    """HLO text. SmeltError: with place and reason."""
    return _read(text.encode(), library.TEXT, name)


def from_proto(proto: bytes, name: str = "proto") -> Module:
    """A serialised HloModuleProto, HloProto or HloSnapshot."""
    return _read(proto, library.PROTO, name)


def load(path: str | os.PathLike[str]) -> Module:
    """A file: .pb is a proto, everything else text."""
    path = pathlib.Path(path)
    return _read(path.read_bytes(), library.PROTO if path.suffix == ".pb" else library.TEXT, str(path))
