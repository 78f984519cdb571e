"""Predictions of kernels' run time, in this process: of whole programs, and of the tiles of a kernel.

    model = smelt.models.load()                                       # the shipped model
    fused = smelt.hlo.load("models/dqn.hlo").fuse("priority")
    model.predict(fused).seconds
    model.rank(fused)[0].tiles[0]                                     # the first kernel's best tile
"""
from __future__ import annotations

import dataclasses
import os
import weakref

from smelt import library
from smelt.hlo import Module
from smelt.library import SmeltError

__all__ = ["Kernel", "Model", "Prediction", "RankedKernel", "SmeltError", "Tile", "load"]


@dataclasses.dataclass(frozen=True)
class Kernel:
    name: str
    hash: str  # equal kernels have equal ones, in all programs
    count: int  # how often it stands in the program's text
    runs: float  # how often the program runs it: ten times in a loop whose end depends on data
    seconds: float  # of one run


@dataclasses.dataclass(frozen=True)
class Prediction:
    seconds: float  # of all kernels, each as often as the program runs it
    kernels: list[Kernel]


@dataclasses.dataclass(frozen=True)
class Tile:
    tile: str  # 1x14x14x32
    score: float  # lower is better; compares within one kernel


@dataclasses.dataclass(frozen=True)
class RankedKernel:
    name: str
    hash: str
    tiles: list[Tile]  # best first; empty: the kernel has no tiles


class Model:
    """A predictor. Predictions are kept by kernel hash; any thread may ask."""

    def __init__(self, path: str | os.PathLike[str] | None, target: str):
        """For this package; `load` makes one."""
        self._handle = library.call("predictor_open", None if path is None else os.fsencode(path), target.encode())
        weakref.finalize(self, library.library().smelt_predictor_delete, self._handle)

    def __str__(self) -> str:
        return library.read_text("predictor_describe", self._handle)

    def predict(self, module: Module) -> Prediction:
        """Of a program whose fusions are taken as they are."""
        found = library.call_json("predict", self._handle, module._handle)
        return Prediction(found["seconds"], [Kernel(**kernel) for kernel in found["kernels"]])

    def rank(self, module: Module, kernel: str | None = None, top: int = 10, limit: int = 1000) -> list[RankedKernel]:
        """The best `top` tiles of each kernel, or of the one of this name; at most `limit` are looked at."""
        name = None if kernel is None else kernel.encode()
        found = library.call_json("rank", self._handle, module._handle, name, top, limit)
        return [RankedKernel(entry["name"], entry["hash"], [Tile(**tile) for tile in entry["tiles"]]) for entry in found]


def load(path: str | os.PathLike[str] | None = None, target: str = "cpu:threads=1") -> Model:
    """A file of `smelt train`, or "analytical"; by default $SMELT_MODEL, the model that `smelt calibrate` adapted to this
    machine, or the nearest of those that come with Smelt."""
    return Model(path, target)
