"""Functions that the tests tune, and what they compare."""
import jax
import jax.numpy as jnp
import numpy as np


def normalise(x, scale):
    y = jnp.exp(x - x.max(axis=1, keepdims=True))
    return (y / y.sum(axis=1, keepdims=True)) * scale + jnp.tanh(x)


def energy(x, scale):
    return (normalise(x, scale) ** 2).sum()


def scanned(carry, xs):
    def body(state, x):
        state = jnp.tanh(state * 0.5 + x)
        return state, (state * state).sum()
    return jax.lax.scan(body, carry, xs)


def filtered(images, kernel, state):
    """One filter a channel, and a loop."""
    smooth = jax.lax.conv_general_dilated(images, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"),
                                          feature_group_count=images.shape[-1])
    state, trace = jax.lax.scan(lambda s, _: (jnp.tanh(s * 0.9 + 0.1), s.sum()), state, None, length=20)
    return jax.nn.relu(smooth).mean(axis=(1, 2)), state, trace


def adam(state, batch):
    """A training step whose state is donated: everything of it is read and written."""
    parameters, first, second, count = state
    def loss(p):
        hidden = jax.nn.gelu(batch[0] @ p["w0"] + p["b0"])
        return ((hidden @ p["w1"] - batch[1]) ** 2).mean()
    value, gradient = jax.value_and_grad(loss)(parameters)
    count = count + 1
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradient)
    second = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, second, gradient)
    parameters = jax.tree.map(lambda p, m, v: p - 0.01 * (m / (1 - 0.9 ** count)) / (jnp.sqrt(v / (1 - 0.99 ** count)) + 1e-8),
                              parameters, first, second)
    return (parameters, first, second, count), value


def adam_state():
    parameters = {"w0": values(16, 32) * 0.3, "b0": values(32) * 0.1, "w1": values(32, 4) * 0.3}
    zeros = jax.tree.map(jnp.zeros_like, parameters)
    return parameters, zeros, zeros, jnp.zeros((), jnp.float32)


def values(*shape, seed=1):
    return jnp.asarray(np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32))


def assert_same(test, a, b, tolerance=1e-5):
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=tolerance, atol=tolerance)
