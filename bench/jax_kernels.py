#!/usr/bin/env python3
"""How much time functions of JAX take under XLA, with our fusions in XLA's code, and with calls of our kernels: a Markdown table.

  bench/jax_kernels.py [--seconds S] [NAME...]

For each function XLA's own choice, `priority` in XLA's own code (mode fusions) and kernels of ours under `priority` (mode kernels) are
compiled in one process, compared, and timed in turn on as many threads as the process may use (taskset -c 0 for one). Nothing is
searched: this is what the two ways back give before tuning. Needs the package smelt (pip install ./python) and a C compiler.
"""
import argparse
import pathlib
import statistics
import tempfile

import jax
import jax.numpy as jnp
import numpy as np
import smelt.jax
from smelt.jax import comparison, door, folder, handler, kernels, tuning


def values(*shape, scale=1.0, seed=1):
    return jnp.asarray(np.random.default_rng(seed).uniform(-scale, scale, shape).astype(np.float32))


def normalised(x):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) / jnp.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5)


def attention(q, k, v):
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / np.sqrt(q.shape[-1])
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores), v)


def transformer_block(qkv, out, up, down, x):
    b, t, d = x.shape
    q, k, v = (z.reshape(b, t, 4, d // 4).transpose(0, 2, 1, 3) for z in jnp.split(normalised(x) @ qkv, 3, -1))
    x = x + attention(q, k, v).transpose(0, 2, 1, 3).reshape(b, t, d) @ out
    return x + jax.nn.gelu(normalised(x) @ up) @ down


def lstm(w, u, b, xs):
    def cell(carry, x):
        h, s = carry
        i, g, o, f = jnp.split(x @ w + h @ u + b, 4, -1)
        s = jax.nn.sigmoid(f) * s + jax.nn.sigmoid(i) * jnp.tanh(g)
        return (jax.nn.sigmoid(o) * jnp.tanh(s), s), None
    return jax.lax.scan(cell, (jnp.zeros((32, 256)), jnp.zeros((32, 256))), xs)


def convolutions(params, x):
    for w, b in params:
        x = jax.lax.conv_general_dilated(x, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        x = jax.nn.gelu(x + b)
    return x.mean(axis=(1, 2))


def dense(params, x):
    for w, b in params:
        x = jax.nn.gelu(x @ w + b)
    return x


def step_of(network):
    def step(params, x, y):
        value, gradient = jax.value_and_grad(lambda p: ((network(p, x) - y) ** 2).mean())(params)
        return jax.tree.map(lambda p, g: p - 0.01 * g, params, gradient), value
    return step


def layers(shapes):
    return [(values(*shape, scale=(3 / np.prod(shape[:-1])) ** 0.5), jnp.zeros(shape[-1])) for shape in shapes]


PROGRAMS = {
    "attention": lambda: (attention, [values(4, 8, 128, 64, seed=seed) for seed in range(3)]),
    "transformer block": lambda: (transformer_block, [values(256, 768, scale=0.1), values(256, 256, scale=0.1), values(256, 1024, scale=0.1),
                                                      values(1024, 256, scale=0.1), values(4, 64, 256)]),
    "LSTM, 20 steps": lambda: (lstm, [values(128, 1024), values(256, 1024, scale=0.1), values(1024), values(20, 32, 128)]),
    "training step, convolutions": lambda: (step_of(convolutions), [layers([(3, 3, 3, 32), (3, 3, 32, 64), (3, 3, 64, 128)]),
                                                                    values(16, 32, 32, 3), values(16, 128)]),
    "training step, dense": lambda: (step_of(dense), [layers([(256, 512), (512, 512), (512, 64)]), values(64, 256), values(64, 64)]),
}


def row(name, seconds, scratch):
    f, arguments = PROGRAMS[name]()
    path = scratch / name.replace(" ", "_")
    smelt.jax.fuse(f, *arguments, out=path)
    computation = tuning.lower(f, arguments)
    leaves = jax.tree.leaves(arguments)
    embedded = kernels.embed(path / "captured.pb", "priority", "all", folder.threads(), path / "kernels-all")
    handler.load(str(embedded.library.resolve()))
    programs = [door.Program(computation, leaves), door.Program(computation, leaves, (path / "fused.pb").read_bytes()),
                door.Program(computation, leaves, embedded.module.read_bytes())]
    expected, *found = ([np.asarray(array) for array in program.run()] for program in programs)
    for way, results in zip(("fusions", "kernels"), found, strict=True):
        where = kernels.difference(expected, results)
        if where is not None:
            raise SystemExit(f"{name}, {way}: {where}")
    samples, _ = comparison.in_turn([program.run for program in programs], seconds)
    xla, fusions, ours = (1e3 * statistics.median(times) for times in samples)
    print(f"| {name} | {xla:.3f} | {fusions:.3f} | {ours:.3f} | {len(embedded.calls)} | {xla / ours:.2f} |", flush=True)
    return xla / ours


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5, help="of timing each function")
    parser.add_argument("names", nargs="*", default=list(PROGRAMS), metavar="NAME", help=", ".join(PROGRAMS))
    arguments = parser.parse_args()
    print(f"Threads: {folder.threads()}. Milliseconds, medians of runs in turn; results compared.\n")
    print("| function | XLA | `priority` in XLA's code | calls of our kernels | calls | times XLA's speed |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as scratch:
        ratios = [row(name, arguments.seconds, pathlib.Path(scratch)) for name in arguments.names]
    print(f"\nGeometric mean {np.exp(np.mean(np.log(ratios))):.2f}.")


if __name__ == "__main__":
    main()
