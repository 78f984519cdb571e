#!/usr/bin/env python3
"""Converts between every two real element types of JAX, and compares with XLA bit for bit.

Where XLA's own result depends on the processor, it may be any of those that it has somewhere, and Smelt's is the one that it has on all of
them. Half of the floats lie a little beside the middle of two numbers of a shorter type, where rounding twice tells; integers have any width.

  jax_conversions.py [--smelt PATH] [--count N] [--seed N]

Exit status 0: all agree; 1: some do not; 77: there is no JAX, nothing was checked.
"""
import argparse, os, pathlib, subprocess, sys, tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "targets/xla"))
import worker  # noqa: E402  for safetensors, as smelt writes and reads them
FLOATS = ["float64", "float32", "bfloat16", "float16", "float8_e5m2", "float8_e4m3fn", "float8_e4m3b11fnuz", "float8_e5m2fnuz",
          "float8_e4m3fnuz", "float8_e4m3", "float8_e3m4", "float8_e8m0fnu"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool", "int4", "uint4", "int2", "uint2"]
ENGINES = {"evaluator": "--engine=evaluator", "compiled": "--fusion=priority"}


def by_way_of_float32(x, np):
    return x.astype(np.float32).astype(np.float16).astype(np.float64)


def at_once(x, np):
    return x.astype(np.float16).astype(np.float64)


# What XLA gives depends on the processor: by way of f32, or, with AVX512-FP16, rounded once. The first is Smelt's, wherever it runs.
PROCESSORS_OWN = {("float64", "float16"): [by_way_of_float32, at_once]}


def values(dtype, count, random, np, jnp):
    if dtype == "bool":
        return jnp.asarray(random.integers(0, 2, count).astype(bool))
    if dtype in INTEGERS:
        bits = int(dtype.strip("uint"))
        patterns = random.integers(0, 2**64, count, dtype=np.uint64)
        return jnp.asarray((patterns >> (64 - bits + random.integers(0, bits, count)).astype(np.uint64)).astype(np.int64)).astype(dtype)
    wide = np.exp2(random.uniform(-20, 20, count)) * random.choice([-1, 1], count)
    wide[:count // 2] = np.round(wide[:count // 2] * 8) / 8 + random.choice([2.0**-30, 0], count // 2)
    return jnp.asarray(wide).astype(dtype)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smelt", default=str(ROOT / "build/release/smelt"))
    parser.add_argument("--count", type=int, default=4000, help="values of each type")
    parser.add_argument("--seed", type=int, default=3)
    arguments = parser.parse_args()
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    try:
        import jax
        import numpy as np
    except ImportError:
        print("skipped: this Python has no jax (scripts/setup.sh --jax)")
        return 77
    jax.config.update("jax_enable_x64", True)
    jnp = jax.numpy
    random = np.random.default_rng(arguments.seed)
    compared = differing = 0
    for source in FLOATS + INTEGERS:
        x = values(source, arguments.count, random, np, jnp)
        targets = [target for target in FLOATS + INTEGERS if target != source]
        lowered = jax.jit(lambda a: tuple(a.astype(t).astype(jnp.float64) if t in FLOATS else a.astype(t) for t in targets)).lower(x)
        wanted = lowered.compile()(x)
        for engine, flag in ENGINES.items():
            with tempfile.TemporaryDirectory() as folder:
                module, inputs, outputs = (pathlib.Path(folder) / name for name in ("module.pb", "inputs.safetensors", "outputs.safetensors"))
                module.write_bytes(lowered.compiler_ir(dialect="hlo").as_serialized_hlo_module_proto())
                worker.write_safetensors(str(inputs), [("in.0", worker.to_storable(np.asarray(x)))])
                done = subprocess.run([arguments.smelt, "run", module, f"--inputs={inputs}", f"--outputs={outputs}", flag],
                                      capture_output=True, text=True, check=False)
                if done.returncode != 0:
                    print(f"{source} {engine}: {done.stderr.strip()[:300]}")
                    differing += 1
                    continue
                found = worker.read_safetensors(str(outputs))
            for number, target in enumerate(targets):
                want, got = worker.to_storable(np.asarray(wanted[number])), found[f"out.{number}"]
                ways = [way(np.asarray(x), np) for way in PROCESSORS_OWN.get((source, target), [])]
                if any(np.array_equal(want, way, equal_nan=True) for way in ways):
                    want = ways[0]
                wrong = np.flatnonzero((got != want) & ~((got != got) & (want != want)))
                compared += 1
                if wrong.size:
                    differing += 1
                    at = wrong[0]
                    print(f"{source} to {target}, {engine}: {wrong.size} of {want.size} differ; of {np.asarray(x)[at]}: {got[at]} for {want[at]}")
    print(f"{compared - differing} of {compared} conversions agree in all of {arguments.count} values")
    return 1 if differing or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
