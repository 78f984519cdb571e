#!/usr/bin/env python3
"""Runs one HLO module under XLA:CPU and times it when asked. Needs jax and jaxlib (`scripts/setup.sh --jax`).

  python bench/xla_time.py MODULE.hlo [--no-library] [--golden=FILE]

`compare_xla.py` starts this and keeps it, so that compilation is paid once and rounds of several systems can alternate. Prints one line
of JSON when ready, {"jaxlib", "compile_s"}; then for every line on standard input, a number of seconds, runs the module for that long
and prints {"ms": [...]}, the milliseconds of each run. Ends with its input. On a terminal: type 1 and Enter.

Inputs are uniform in [-1, 1), integers in 0..7, or in the ranges that the golden file names. `--no-library` keeps XLA from
rewriting dots and convolutions into calls of its YNNPACK library, which is faster for some programs and slower for others.
"""
import argparse
import functools
import json
import os
import sys
import threading
import time

MIN_RUNS, MAX_RUNS = 5, 500
# Threads that load their first modules at once make jaxlib crash at times; whether it is the conversion is not known.
CONVERTING = threading.Lock()


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("module")
    parser.add_argument("--no-library", action="store_true")
    parser.add_argument("--golden", help="take the ranges of the inputs from this file")
    return parser.parse_args()


def without_aliasing(text):
    """A module whose results take over its arguments could run once only; the work is the same without that."""
    key = "input_output_alias={"
    begin = text.find(key, 0, text.find("\n"))
    if begin < 0:
        return text
    end, depth = begin + len(key), 1
    while depth:
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        end += 1
    return text[:begin].rstrip(" ,") + text[end:]


def golden_ranges(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    return [(leaf["low"], leaf["high"]) for leaf in json.loads(header["__metadata__"]["inputs"])]


def leaf_shapes(shape):
    if not shape.is_tuple():
        return [shape]
    return [leaf for part in shape.tuple_shapes() for leaf in leaf_shapes(part)]


def random_array(generator, shape, bounds):
    import numpy as np
    dims, dtype = tuple(shape.dimensions()), np.dtype(shape.numpy_dtype())
    if dtype.kind == "b":
        return generator.integers(0, 2, dims).astype(bool)
    if dtype.kind in "iu":
        low, high = bounds or (0, 8)
        return generator.integers(int(low), int(high), dims).astype(dtype)
    low, high = bounds or (-1.0, 1.0)
    return np.asarray(low + (high - low) * generator.random(dims, np.float32)).astype(dtype)


class Module:
    """A module compiled for one device; its arguments are there from the first run on."""

    def __init__(self, text, ranges, platform="cpu"):
        import jax
        from jaxlib import _hlo, xla_client
        from jaxlib.cpu import _lapack
        _lapack.initialize()  # jax does so when it lowers a decomposition, and nothing is lowered here
        jax.config.update("jax_enable_x64", True)
        device = self.device = jax.devices(platform)[0]
        with CONVERTING:
            proto = _hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()
            stablehlo = xla_client._xla.mlir.hlo_to_stablehlo(proto)
        start = time.perf_counter()
        self.executable = device.client.compile_and_load(stablehlo, xla_client.DeviceList((device,)), xla_client.CompileOptions())
        self.compile_seconds = time.perf_counter() - start
        self.leaves = [leaf for shape in _hlo.XlaComputation(proto).program_shape().parameter_shapes() for leaf in leaf_shapes(shape)]
        self.ranges = ranges or [None] * len(self.leaves)

    @functools.cached_property
    def arguments(self):
        import jax
        import numpy as np
        generator = np.random.default_rng(1)
        return [jax.device_put(random_array(generator, leaf, bounds), self.device) for leaf, bounds in zip(self.leaves, self.ranges)]

    def free(self):
        """Takes the arguments off the device; the next run makes them again."""
        self.__dict__.pop("arguments", None)

    def run(self):
        results = self.executable.execute_sharded(self.arguments).disassemble_into_single_device_arrays()
        for (array,) in results:
            array.block_until_ready()


def time_runs(module, seconds):
    module.run()
    milliseconds, begin = [], time.perf_counter()
    while len(milliseconds) < MAX_RUNS and (len(milliseconds) < MIN_RUNS or time.perf_counter() - begin < seconds):
        start = time.perf_counter()
        module.run()
        milliseconds.append((time.perf_counter() - start) * 1e3)
    return milliseconds


def main():
    arguments = read_arguments()
    flags = ["--xla_cpu_multi_thread_eigen=false"] if len(os.sched_getaffinity(0)) == 1 else []
    if arguments.no_library:
        flags.append("--xla_disable_hlo_passes=dot-library-rewriter")
    os.environ.update(XLA_FLAGS=" ".join(flags), JAX_PLATFORMS="cpu", TF_CPP_MIN_LOG_LEVEL="2")
    import jaxlib
    with open(arguments.module) as file:
        text = without_aliasing(file.read())
    module = Module(text, golden_ranges(arguments.golden) if arguments.golden else None)
    print(json.dumps({"jaxlib": jaxlib.__version__, "compile_s": round(module.compile_seconds, 4)}), flush=True)
    for line in sys.stdin:
        print(json.dumps({"ms": time_runs(module, float(line))}), flush=True)


if __name__ == "__main__":
    main()
