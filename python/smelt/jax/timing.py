"""Two compiled programs, kept in a folder for processes that time them: `python -m smelt.jax.timing FOLDER` prints what `measure` says."""
from __future__ import annotations

import json
import pathlib
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from smelt.jax import comparison, door, handler

PROGRAMS = ("usual", "ours")


def save(folder: pathlib.Path, computation: Any, usual: door.Program, ours: door.Program, module: bytes, library: pathlib.Path,
         arguments: Sequence[Any]) -> None:
    """`module`: what `ours` was compiled from. Code is kept where XLA can write it down; else every process compiles it anew."""
    code = usual.serialized(), ours.serialized()
    if None in code:
        (folder / "computation.mlirbc").write_bytes(door.to_bytecode(computation))
        (folder / "module.pb").write_bytes(module)
    else:
        for name, serialized in zip(PROGRAMS, code):
            (folder / f"{name}.bin").write_bytes(serialized)
    kept = []
    for number, argument in enumerate(arguments):
        array = np.asarray(argument)
        (folder / f"{number}.raw").write_bytes(np.ascontiguousarray(array).tobytes())
        kept.append({"dtype": array.dtype.name, "shape": array.shape})
    (folder / "arguments.json").write_text(json.dumps({"library": str(library), "arguments": kept}))


def main(folder: pathlib.Path) -> None:
    import ml_dtypes
    content = json.loads((folder / "arguments.json").read_text())
    handler.load(content["library"])
    arguments = []
    for number, kept in enumerate(content["arguments"]):
        dtype = np.dtype(getattr(ml_dtypes, kept["dtype"], kept["dtype"]))
        arguments.append(np.frombuffer((folder / f"{number}.raw").read_bytes(), dtype).reshape(kept["shape"]))
    if (folder / "module.pb").is_file():
        computation = door.from_bytecode((folder / "computation.mlirbc").read_bytes())
        usual, ours = (door.Program(computation, arguments, module) for module in (None, (folder / "module.pb").read_bytes()))
    else:
        usual, ours = (door.Program.load((folder / f"{name}.bin").read_bytes(), arguments) for name in PROGRAMS)
    print(json.dumps(comparison.measure(usual.run, ours.run, comparison.CHILD_SECONDS)))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
