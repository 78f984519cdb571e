"""Two compiled programs, kept in a folder for processes that time them: `python -m smelt.jax.timing FOLDER` prints what `measure` says."""
from __future__ import annotations

import json
import pathlib
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from smelt.jax import comparison, door

PROGRAMS = ("usual", "ours")


def save(folder: pathlib.Path, usual: door.Program, ours: door.Program, library: pathlib.Path, arguments: Sequence[Any]) -> None:
    for name, program in zip(PROGRAMS, (usual, ours)):
        (folder / f"{name}.bin").write_bytes(program.serialized())
    kept = []
    for number, argument in enumerate(arguments):
        array = np.asarray(argument)
        (folder / f"{number}.raw").write_bytes(np.ascontiguousarray(array).tobytes())
        kept.append({"dtype": array.dtype.name, "shape": array.shape})
    (folder / "arguments.json").write_text(json.dumps({"library": str(library), "arguments": kept}))


def main(folder: pathlib.Path) -> None:
    import ml_dtypes
    from smelt.jax import kernels
    content = json.loads((folder / "arguments.json").read_text())
    kernels.load(content["library"])
    arguments = []
    for number, kept in enumerate(content["arguments"]):
        dtype = np.dtype(getattr(ml_dtypes, kept["dtype"], kept["dtype"]))
        arguments.append(np.frombuffer((folder / f"{number}.raw").read_bytes(), dtype).reshape(kept["shape"]))
    usual, ours = (door.Program.load((folder / f"{name}.bin").read_bytes(), arguments) for name in PROGRAMS)
    print(json.dumps(comparison.measure(usual.run, ours.run, comparison.CHILD_SECONDS)))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
