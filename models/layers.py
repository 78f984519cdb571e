"""Layers that the example programs are made of, in plain JAX.

A layer takes its parameters as a dictionary. Beside each layer stands a function that describes those parameters: a tree of
`Leaf`, that is shape, type and the range from which the golden inputs are drawn. The ranges keep activations near 1 through the
depth of a network, so that an error of a compiler is neither hidden nor amplified.
"""
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax


class Leaf(NamedTuple):
    """One array of a program's arguments: floats lie in [low, high), integers in low..high-1."""

    shape: tuple
    low: float
    high: float
    dtype: str = "float32"


def weight(*shape, fan_in, gain=1.0):
    """Uniform with variance gain / fan_in: `gain` 2 keeps the scale through a ReLU, 1 through a linear layer."""
    bound = round(math.sqrt(3.0 * gain / fan_in), 5)
    return Leaf(shape, -bound, bound)


def offset(*shape):
    """A bias: small beside activations near 1, large enough that leaving it out shows."""
    return Leaf(shape, -0.1, 0.1)


# --- dense -----------------------------------------------------------------------------------------------------------------

def dense_leaves(inputs, outputs, gain=1.0):
    return {"bias": offset(outputs), "kernel": weight(inputs, outputs, fan_in=inputs, gain=gain)}


def dense(p, x):
    return x @ p["kernel"] + p["bias"]


# --- convolutions: activations NHWC, kernels HWIO ---------------------------------------------------------------------------

def conv_leaf(size, inputs, outputs, groups=1, gain=2.0):
    per_group = inputs // groups
    return weight(size, size, per_group, outputs, fan_in=size * size * per_group, gain=gain)


def conv(kernel, x, stride=1, padding="SAME", groups=1):
    return lax.conv_general_dilated(x, kernel, (stride, stride), padding, feature_group_count=groups,
                                    dimension_numbers=("NHWC", "HWIO", "NHWC"))


def conv_transpose(kernel, x, stride):
    """Upsamples by `stride`; the gradient of a convolution, which XLA writes as one with a dilated input."""
    return lax.conv_transpose(x, kernel, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def max_pool(x, size, stride):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, size, size, 1), (1, stride, stride, 1), "SAME")


# --- normalisations ---------------------------------------------------------------------------------------------------------

def batch_norm_leaves(channels):
    return {"mean": offset(channels), "offset": offset(channels), "scale": Leaf((channels,), 0.8, 1.2),
            "variance": Leaf((channels,), 0.8, 1.2)}


def batch_norm(p, x):
    """Inference: the statistics are parameters."""
    inverse = lax.rsqrt(p["variance"] + 1e-5)
    return (x - p["mean"]) * (inverse * p["scale"]) + p["offset"]


def layer_norm_leaves(features):
    return {"offset": offset(features), "scale": Leaf((features,), 0.8, 1.2)}


def layer_norm(p, x):
    mean = jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean(jnp.square(x - mean), axis=-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-6) * p["scale"] + p["offset"]


# --- attention --------------------------------------------------------------------------------------------------------------

def attention_leaves(features):
    return {name: dense_leaves(features, features) for name in ("key", "output", "query", "value")}


def attention(p, x, heads, mask=None):
    """Multi-head self-attention; `mask` [batch, length] is nonzero where a position may be looked at."""
    batch, length, features = x.shape
    split = (batch, length, heads, features // heads)
    query, key, value = (dense(p[name], x).reshape(split) for name in ("query", "key", "value"))
    scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / math.sqrt(features // heads)
    if mask is not None:
        scores = jnp.where(mask[:, None, None, :] > 0, scores, -1e9)
    weights = jax.nn.softmax(scores, axis=-1)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", weights, value)
    return dense(p["output"], mixed.reshape(x.shape))


# --- LSTM -------------------------------------------------------------------------------------------------------------------

def lstm_leaves(inputs, hidden):
    return {"bias": offset(4 * hidden), "kernel": weight(inputs + hidden, 4 * hidden, fan_in=inputs + hidden, gain=2.0)}


def lstm_cell(p, state, x):
    """One step. `state` is (hidden, cell), each [batch, hidden]; returns the new state."""
    hidden, cell = state
    gates = jnp.concatenate([x, hidden], axis=-1) @ p["kernel"] + p["bias"]
    enter, update, forget, leave = jnp.split(gates, 4, axis=-1)
    cell = jax.nn.sigmoid(forget + 1.0) * cell + jax.nn.sigmoid(enter) * jnp.tanh(update)
    return jax.nn.sigmoid(leave) * jnp.tanh(cell), cell
