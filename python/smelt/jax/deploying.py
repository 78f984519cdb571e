"""Functions of JAX as folders that run without JAX, XLA or a compiler (docs/deploy.md)."""
from __future__ import annotations

import ctypes
import json
import os
import pathlib
import struct
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from smelt import program
from smelt.jax import door, folder, tuning

# Types of the safetensors format by numpy's names; and numpy's by HLO's.
STORED = {"bool": "BOOL", "uint8": "U8", "int8": "I8", "uint16": "U16", "int16": "I16", "float16": "F16", "bfloat16": "BF16", "uint32": "U32",
          "int32": "I32", "float32": "F32", "uint64": "U64", "int64": "I64", "float64": "F64"}
NUMPY = {"pred": "bool", "u8": "uint8", "s8": "int8", "u16": "uint16", "s16": "int16", "f16": "float16", "bf16": "bfloat16", "u32": "uint32",
         "s32": "int32", "f32": "float32", "u64": "uint64", "s64": "int64", "f64": "float64", "c64": "complex64", "c128": "complex128"}
LIBRARY = "libsmelt_run.so"


class _Array(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_char_p), ("dimensions", ctypes.POINTER(ctypes.c_int64)), ("rank", ctypes.c_int64),
                ("bytes", ctypes.c_int64)]


class Deployed:
    """A deployable module, loaded: a function of the arrays that are not weights.

        classify = smelt.jax.Deployed("model.smeltmod")
        scores, = classify(images)

    threads: of one call; 0: as many as it was built for. Takes the leaves of its arguments in JAX's order, returns a list of numpy arrays.
    One thread at a time. smelt.ProgramError: the folder cannot be loaded or run, and why.
    """

    def __init__(self, path: str | os.PathLike[str], threads: int = 0):
        self.path = pathlib.Path(path)
        self._library = _library()
        self._module = self._call("load", os.fsencode(self.path), threads)
        self.inputs = [self._array("input", i) for i in range(self._library.smelt_run_input_count(self._module))]
        self.outputs = [self._array("output", i) for i in range(self._library.smelt_run_output_count(self._module))]

    def __call__(self, *arguments: Any) -> list[np.ndarray]:
        leaves = jax.tree.leaves(arguments)
        if len(leaves) != len(self.inputs):
            raise TypeError(f"{self.path}: takes {len(self.inputs)} arrays, {len(leaves)} were given")
        for number, (leaf, (name, dtype, shape)) in enumerate(zip(leaves, self.inputs)):
            array = np.asarray(leaf, order="C")
            if array.dtype != dtype or array.shape != shape:
                raise TypeError(f"{self.path}: argument {number} ({name}) is {array.dtype}{list(array.shape)}, expected {dtype}{list(shape)}")
            self._call("set_input", self._module, number, array.ctypes.data, array.nbytes)
        self._call("execute", self._module)
        results = []
        for number, (_, dtype, shape) in enumerate(self.outputs):
            result = np.empty(shape, dtype)
            self._call("get_output", self._module, number, result.ctypes.data, result.nbytes)
            results.append(result)
        return results

    def __del__(self) -> None:
        module, self._module = getattr(self, "_module", None), None
        if module is not None:
            self._library.smelt_run_delete(module)

    def _array(self, kind: str, number: int) -> tuple[str, np.dtype, tuple[int, ...]]:
        array = getattr(self._library, f"smelt_run_{kind}")(self._module, number).contents
        return array.name.decode(), jax.numpy.dtype(NUMPY[array.type.decode()]), tuple(array.dimensions[:array.rank])

    def _call(self, name: str, *arguments: Any) -> Any:
        error = ctypes.c_void_p()
        result = getattr(self._library, f"smelt_run_{name}")(*arguments, ctypes.byref(error))
        if result:
            return result
        message = ctypes.string_at(error.value).decode(errors="replace") if error.value else "out of memory"
        self._library.smelt_run_free(error)
        raise program.ProgramError(message)


def build(f: Callable[..., Any], *example_args: Any, out: str | os.PathLike[str], weights: int | Sequence[int] = (), budget: float = 0.0,
          fusion: str | os.PathLike[str] = "priority", example_kwargs: Mapping[str, Any] | None = None,
          jit_options: Mapping[str, Any] | None = None) -> Deployed:
    """Makes a function a deployable module for this processor, and loads it.

        classify = smelt.jax.build(model.apply, params, images, weights=0, out="model.smeltmod")
        scores, = classify(images)

    weights: numbers of positional arguments whose values stay the same, with everything in them if they are trees: they become part of the
        module, packed as its kernels read them, and are no arguments any more. The others are arrays or jax.ShapeDtypeStruct; only their
        shapes count.
    budget: seconds of a search for fusions and tiles of the program whose weights are known; 0: the usual ones, or those of `fusion`.
    Other arguments as for `tune`. Raises smelt.ProgramError with the program's message, and ValueError for what cannot be built.
    """
    numbers = {weights} if isinstance(weights, int) else set(weights)
    wrong = [number for number in numbers if not 0 <= number < len(example_args)]
    if wrong:
        raise ValueError(f"weights={weights!r}: there are {len(example_args)} positional arguments, and {wrong[0]} is none of them")
    if not hasattr(f, "lower"):
        jit_options = {"keep_unused": True, **(jit_options or {})}
    computation = tuning.lower(f, example_args, example_kwargs, jit_options)
    leaves = [(number in numbers, leaf) for number, argument in enumerate(example_args) for leaf in jax.tree.leaves(argument)]
    leaves += [(False, leaf) for leaf in jax.tree.leaves(dict(example_kwargs or {}))]
    if numbers and len(leaves) != len(door.arguments_of(door.signature(computation))):
        raise ValueError("the function does not use all of its arguments, and JAX left some out: give one that is not jitted, or jit it with "
                         "keep_unused=True")
    with tempfile.TemporaryDirectory() as scratch:
        module, stored = pathlib.Path(scratch) / "module.pb", pathlib.Path(scratch) / "weights.safetensors"
        module.write_bytes(door.to_hlo(computation))
        flags = [f"--threads={folder.threads()}"]
        if any(is_weight for is_weight, _ in leaves):
            _write_weights(stored, {f"in.{i}": np.asarray(leaf) for i, (is_weight, leaf) in enumerate(leaves) if is_weight})
            flags.append(f"--weights={stored}")
        if budget > 0:
            program.run(["tune", module, *flags, f"--out={scratch}/run", f"--budget={budget}", "--quiet", "--json"])
            fusion = f"{scratch}/run/best.fusion.json"
        program.run(["build", module, *flags, f"--fusion={os.fspath(fusion)}", f"--out={os.fspath(out)}"])
    return Deployed(out)


def _write_weights(path: pathlib.Path, arrays: Mapping[str, np.ndarray]) -> None:
    header, offset = {}, 0
    for name, array in arrays.items():
        if array.dtype.name not in STORED:
            raise ValueError(f"weights of type {array.dtype.name} are not supported; the types are {', '.join(STORED)}")
        header[name] = {"dtype": STORED[array.dtype.name], "shape": list(array.shape), "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    text = json.dumps(header).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in arrays.values():
            file.write(np.ascontiguousarray(array).tobytes())


def _library() -> ctypes.CDLL:
    """$SMELT_RUN_LIBRARY, else build/release/libsmelt_run.so of the checkout, else what the system's loader finds."""
    named = os.environ.get("SMELT_RUN_LIBRARY")
    built, tried = program.find_built(LIBRARY)
    try:
        loaded = ctypes.CDLL(named or (str(built) if built else LIBRARY))
    except OSError as error:
        raise program.ProgramError(f"the library {LIBRARY} is not found ({error}; tried $SMELT_RUN_LIBRARY, {', '.join([*tried, 'the system'])}). "
                                   "Build it in the checkout with `cmake --preset release && cmake --build --preset release`") from None
    pointer, number, error = ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(ctypes.c_void_p)
    for name, result, arguments in (
            ("load", pointer, [ctypes.c_char_p, ctypes.c_int, error]), ("delete", None, [pointer]), ("free", None, [pointer]),
            ("input_count", number, [pointer]), ("output_count", number, [pointer]),
            ("input", ctypes.POINTER(_Array), [pointer, number]), ("output", ctypes.POINTER(_Array), [pointer, number]),
            ("set_input", ctypes.c_int, [pointer, number, pointer, number, error]),
            ("get_output", ctypes.c_int, [pointer, number, pointer, number, error]), ("execute", ctypes.c_int, [pointer, error])):
        function = getattr(loaded, f"smelt_run_{name}")
        function.restype, function.argtypes = result, arguments
    return loaded
