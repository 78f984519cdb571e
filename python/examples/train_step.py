#!/usr/bin/env python3
"""Trains a small network twice, as XLA compiles its step and as Smelt tuned it: the same losses, and the time of a step of each.

    python python/examples/train_step.py --budget=60                 # tunes first; the folder is kept
    python python/examples/train_step.py --target=cpu                # with kernels of Smelt's own

The model is Flax's where that is installed, else the same in JAX alone: two convolutions and two dense layers under Adam.
"""
import argparse
import time

import jax
import jax.numpy as jnp
import numpy as np
import smelt.jax

CLASSES, SIZE, BATCH = 10, 16, 32


def flax_model():
    """(initial parameters, logits of parameters and images), or None."""
    try:
        import flax.linen as nn
    except ImportError:
        return None

    class Network(nn.Module):
        @nn.compact
        def __call__(self, x):
            for features in (16, 32):
                x = nn.gelu(nn.Conv(features, (3, 3), strides=2)(x))
            x = nn.gelu(nn.Dense(64)(x.reshape(x.shape[0], -1)))
            return nn.Dense(CLASSES)(x)

    network = Network()
    return network.init(jax.random.key(0), jnp.zeros((1, SIZE, SIZE, 3))), network.apply


def plain_model():
    random = np.random.default_rng(0)

    def layer(*shape):
        weights = random.normal(0, (2 / np.prod(shape[:-1])) ** 0.5, shape)
        return {"kernel": jnp.asarray(weights, jnp.float32), "bias": jnp.zeros(shape[-1])}

    flat = 32 * (SIZE // 4) ** 2
    parameters = {"conv": [layer(3, 3, 3, 16), layer(3, 3, 16, 32)], "hidden": layer(flat, 64), "out": layer(64, CLASSES)}

    def apply(parameters, x):
        for conv in parameters["conv"]:
            x = jax.lax.conv_general_dilated(x, conv["kernel"], (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            x = jax.nn.gelu(x + conv["bias"])
        x = x.reshape(x.shape[0], -1)
        x = jax.nn.gelu(x @ parameters["hidden"]["kernel"] + parameters["hidden"]["bias"])
        return x @ parameters["out"]["kernel"] + parameters["out"]["bias"]

    return parameters, apply


def make_step(apply):
    def loss(parameters, images, labels):
        return -jnp.take_along_axis(jax.nn.log_softmax(apply(parameters, images)), labels[:, None], axis=1).mean()

    def step(state, images, labels):
        parameters, mean, square, count = state
        value, gradient = jax.value_and_grad(loss)(parameters, images, labels)
        count = count + 1
        mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, gradient)
        square = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, square, gradient)
        rate = 1e-3 * jnp.sqrt(1 - 0.999 ** count) / (1 - 0.9 ** count)
        parameters = jax.tree.map(lambda p, m, s: p - rate * m / (jnp.sqrt(s) + 1e-6), parameters, mean, square)
        return (parameters, mean, square, count), value

    return jax.jit(step, donate_argnums=0)


def train(step, parameters, data, steps):
    """Losses, and the median time of a step in milliseconds."""
    state = (jax.tree.map(jnp.copy, parameters), jax.tree.map(jnp.zeros_like, parameters), jax.tree.map(jnp.zeros_like, parameters),
             jnp.zeros(()))
    losses, times = [], []
    for number in range(steps):
        start = time.perf_counter()
        state, value = step(state, *data[number % len(data)])
        losses.append(float(value))
        times.append(1e3 * (time.perf_counter() - start))
    return np.array(losses), float(np.median(times[1:]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="train_step.smelt", help="the run folder")
    parser.add_argument("--budget", type=float, default=30, help="seconds of measuring")
    parser.add_argument("--target", choices=("xla", "cpu", "xla,cpu"), default="xla",
                        help="fusions in XLA's code, kernels of Smelt's own, or the faster of both")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--fusion", help="take this fusion, without a search")
    arguments = parser.parse_args()

    parameters, apply = flax_model() or plain_model()
    step = make_step(apply)
    random = np.random.default_rng(1)
    data = [(jnp.asarray(random.normal(size=(BATCH, SIZE, SIZE, 3)), jnp.float32), jnp.asarray(random.integers(0, CLASSES, BATCH)))
            for _ in range(4)]
    zeros = jax.tree.map(jnp.zeros_like, parameters)
    example = (parameters, zeros, zeros, jnp.zeros(())), *data[0]
    if arguments.fusion:
        smelt.jax.fuse(step, *example, out=arguments.out, fusion=arguments.fusion, target=arguments.target)
    else:
        smelt.jax.tune(step, *example, out=arguments.out, budget=arguments.budget, target=arguments.target)

    before, before_ms = train(step, parameters, data, arguments.steps)
    with smelt.jax.optimize(arguments.out) as optimization:
        after, after_ms = train(step, parameters, data, arguments.steps)
    again, again_ms = train(step, parameters, data, arguments.steps)
    print(f"loss {before[0]:.5f} -> {before[-1]:.5f}, largest difference {np.abs(before - after).max():.1e}; tuned: {optimization.used}")
    print(f"a step: XLA {before_ms:.3f} ms, tuned {after_ms:.3f} ms, XLA again {again_ms:.3f} ms")
    np.testing.assert_allclose(after, before, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(again, before)


if __name__ == "__main__":
    main()
