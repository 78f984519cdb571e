#!/usr/bin/env python3
"""Writes the example programs as HLO text with golden outputs.

  python models/dump.py [NAME...]

For each program: `NAME.hlo`, the module as JAX lowers it, before any pass of XLA; `golden/NAME.safetensors`, its outputs on inputs
of a fixed formula, computed by XLA on the CPU. `accept.json` lists them all. Needs jax and jaxlib (`scripts/setup.sh --jax`).
"""
import argparse
import json
import os
import pathlib
import re

os.environ["JAX_PLATFORMS"] = "cpu"
# Contractions and sums in the order that the source gives, as far as XLA can: the reference, not the fastest answer.
os.environ["XLA_FLAGS"] = "--xla_cpu_enable_fast_math=false --xla_allow_excess_precision=false"

import jax
import numpy as np
from jaxlib import _hlo as hlo

from layers import Leaf
from programs import PROGRAMS

FOLDER = pathlib.Path(__file__).parent
SAMPLE = 1024       # outputs of more than WHOLE elements are kept as a sample of this many
WHOLE = 4096
FIRST_STREAM = 1
TOLERANCE = 1e-3    # of the root mean square; sums may be taken in any order
KINDS = {"float32": "f32", "int32": "s32", "uint8": "u8"}


def golden_input(leaf, stream):
    """The array that the golden formula gives for a leaf: SplitMix64 of stream and element number, scaled to the range."""
    count = int(np.prod(leaf.shape, dtype=np.int64))
    gamma = 0x9E3779B97F4A7C15
    x = np.arange(count, dtype=np.uint64) + np.uint64(gamma * stream % 2**64)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x = x ^ (x >> np.uint64(31))
    if leaf.dtype == "float32":
        unit = (x >> np.uint64(40)).astype(np.float32) * np.float32(2.0**-24)
        low, high = np.float32(leaf.low), np.float32(leaf.high)
        values = low + unit * (high - low)
    else:
        values = leaf.low + (x % np.uint64(leaf.high - leaf.low)).astype(np.int64)
    return values.astype(leaf.dtype).reshape(leaf.shape)


def hlo_text(lowered):
    """The module as XLA's parser reads it: every constant whole, and nothing that names files of this machine."""
    options = hlo.HloPrintOptions()
    options.print_metadata = False
    options.print_large_constants = True
    options.print_backend_config = True
    text = lowered.compiler_ir(dialect="hlo").as_hlo_module().to_string(options)
    # Tables of source positions are printed apart from the instructions' metadata.
    text = re.sub(r"(?m)^(FileNames|FunctionNames|FileLocations|StackFrames)\n(?:\d+ .*\n)*\n*", "", text)
    assert "metadata={" not in text and "..." not in text
    return text if text.endswith("\n") else text + "\n"


def save_safetensors(path, tensors, metadata):
    """Writes a safetensors file, the same bytes for the same tensors: a header in JSON after its length, then the data."""
    names = {"float32": "F32", "int64": "I64"}
    header, begin = {"__metadata__": metadata}, 0
    for name, value in tensors.items():
        header[name] = {"dtype": names[str(value.dtype)], "shape": list(value.shape), "data_offsets": [begin, begin + value.nbytes]}
        begin += value.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(value.tobytes() for value in tensors.values()))


def write_golden(path, name, leaves, outputs):
    tensors, described = {}, []
    choose = np.random.default_rng(0)
    for k, value in enumerate(outputs):
        described.append({"type": str(value.dtype), "dims": list(value.shape)})
        if value.size <= WHOLE:
            tensors[f"out.{k}"] = np.ascontiguousarray(value)
        else:
            index = np.sort(choose.choice(value.size, SAMPLE, replace=False)).astype(np.int64)
            tensors[f"out.{k}.index"] = index
            tensors[f"out.{k}.value"] = value.reshape(-1)[index]
    inputs = [{"type": KINDS[leaf.dtype], "dims": list(leaf.shape), "low": leaf.low, "high": leaf.high} for leaf in leaves]
    save_safetensors(path, tensors, {
        "module": f"{name}.hlo", "inputs": json.dumps(inputs), "outputs": json.dumps(described), "first_stream": str(FIRST_STREAM),
        "metric": "rms", "tolerance": str(TOLERANCE), "integer_mismatch": "0", "exact": "false"})


def dump(name):
    program = PROGRAMS[name]
    program.function.__name__ = name
    is_leaf = lambda x: isinstance(x, Leaf)
    leaves, tree = jax.tree.flatten(program.arguments, is_leaf=is_leaf)
    shapes = jax.tree.unflatten(tree, [jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in leaves])
    lowered = jax.jit(program.function, keep_unused=True).lower(*shapes)
    (FOLDER / f"{name}.hlo").write_text(hlo_text(lowered))

    values = [golden_input(leaf, p + FIRST_STREAM) for p, leaf in enumerate(leaves)]
    outputs = [np.asarray(v) for v in jax.tree.leaves(lowered.compile()(*jax.tree.unflatten(tree, values)))]
    for k, value in enumerate(outputs):
        value = value.astype(np.float64)
        print(f"{name:<16} out.{k:<3} {str(outputs[k].shape):<18} rms {np.sqrt(np.mean(value**2)):<10.4g} "
              f"spread {np.std(value):<10.4g} distinct {len(np.unique(value)) / value.size:.2f}")
        assert np.all(np.isfinite(value))
    write_golden(FOLDER / "golden" / f"{name}.safetensors", name, leaves, outputs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(PROGRAMS)}; default: all")
    names = parser.parse_args().names or list(PROGRAMS)
    for name in names:
        if name not in PROGRAMS:
            parser.error(f"no program {name}; there are {', '.join(PROGRAMS)}")
    (FOLDER / "golden").mkdir(exist_ok=True)
    for name in names:
        dump(name)
    entries = [{"set": "models", "file": f"{name}.hlo", "golden": f"golden/{name}.safetensors"} for name in PROGRAMS]
    (FOLDER / "accept.json").write_text("[\n" + ",\n".join(json.dumps(entry) for entry in entries) + "\n]\n")


if __name__ == "__main__":
    main()
