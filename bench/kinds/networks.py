"""Parts of networks that the corpora lack."""
import jax
import jax.numpy as jnp
from jax import lax

from kinds.register import program


@program((1, 32, 64), (1, 8, 1024, 64), (1, 8, 1024, 64), (1, 8, 64), (1, 8, 64), ((), "int32"))
def grouped_decoding(query, keys, values, key, value, at):
    at = at % 1024
    keys = lax.dynamic_update_slice(keys, key[:, :, None], (0, 0, at, 0))
    values = lax.dynamic_update_slice(values, value[:, :, None], (0, 0, at, 0))
    query = query.reshape(1, 8, 4, 64)
    score = jnp.einsum("bgqd,bgkd->bgqk", query, keys) / 8
    score = jnp.where(jnp.arange(1024) <= at, score, -1e9)
    return jnp.einsum("bgqk,bgkd->bgqd", jax.nn.softmax(score), values).reshape(1, 32, 64), keys, values


@program((8, 128, 8, 64))
def rotary_embedding(x):
    angle = jnp.arange(128.0)[:, None] / 1e4 ** (jnp.arange(32) / 32)
    sine, cosine = jnp.sin(angle)[:, None], jnp.cos(angle)[:, None]
    even, odd = x[..., ::2], x[..., 1::2]
    return jnp.stack([even * cosine - odd * sine, even * sine + odd * cosine], -1).reshape(x.shape)


@program((8, 512), ((256, 1024), "uint8"), (16, 1024))
def four_bit_weights(x, packed, scale):
    low, high = (packed & 15).astype(jnp.float32) - 8, (packed >> 4).astype(jnp.float32) - 8
    weights = jnp.stack([low, high], 1).reshape(512, 1024)
    return x @ (weights.reshape(16, 32, 1024) * scale[:, None]).reshape(512, 1024)


@program((2, 256, 64), (2, 256, 64), (2, 256, 64))
def banded_attention(q, k, v):
    def pad(x):
        return jnp.pad(x, ((0, 0), (16, 16), (0, 0)))
    k, v = pad(k), pad(v)
    near = jnp.stack([k[:, i:i + 256] for i in range(33)], 2)
    score = jax.nn.softmax(jnp.einsum("btd,btwd->btw", q, near) / 8)
    return jnp.einsum("btw,btwd->btd", score, jnp.stack([v[:, i:i + 256] for i in range(33)], 2))


@program((64, 256), (512, 256))
def contrastive_loss(a, b):
    def loss(a, b):
        a, b = a / jnp.linalg.norm(a, axis=-1, keepdims=True), b / jnp.linalg.norm(b, axis=-1, keepdims=True)
        logits = a @ b.T * 20
        return -jax.nn.log_softmax(logits)[jnp.arange(64), jnp.arange(64)].mean()
    return jax.value_and_grad(loss, (0, 1))(a, b)


@program((4, 1024, 3), (6, 32), (64, 64))
def edge_convolution(points, first, second):
    apart = ((points[:, :, None] - points[:, None]) ** 2).sum(-1)
    near = lax.top_k(-apart, 8)[1]
    other = jax.vmap(lambda p, n: p[n])(points, near)
    edge = jnp.concatenate([jnp.broadcast_to(points[:, :, None], other.shape), other - points[:, :, None]], -1)
    hidden = jax.nn.relu(edge @ first).max(2)
    return jnp.concatenate([hidden, jnp.broadcast_to(hidden.max(1, keepdims=True), hidden.shape)], -1) @ second


@program((16, 1024), (1024, 1024), (16,), (16, 1024))
def spiking_neurons(voltage, weights, decay, inputs):
    def step(carry, _):
        v, spikes = carry
        v = v * 0.9 * (1 - spikes) + spikes @ weights * 0.05 + inputs
        return (v, (v > 1).astype(jnp.float32)), spikes.mean(1)
    return lax.scan(step, (voltage, jnp.zeros((16, 1024))), None, length=20)[1]


@program((32, 64, 64, 3), (32, 2))
def random_crops(pictures, where):
    where = jnp.abs(where * 8).astype(jnp.int32) % 8
    def one(picture, at):
        return lax.dynamic_slice(picture, (at[0], at[1], 0), (56, 56, 3))[:, ::-1]
    crops = jax.vmap(one)(pictures, where)
    return (crops - crops.mean((1, 2), keepdims=True)) / (crops.std((1, 2), keepdims=True) + 1e-5)


@program((4, 28, 28, 32), (1, 1, 32, 192), (3, 3, 1, 192), (1, 1, 192, 32))
def inverted_residual_gradient(x, widen, depthwise, narrow):
    def convolve(x, w, groups=1):
        return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=groups)

    def loss(widen, depthwise, narrow):
        hidden = jax.nn.relu6(convolve(jax.nn.relu6(convolve(x, widen)), depthwise, 192))
        return ((convolve(hidden, narrow) + x) ** 2).mean()
    return jax.grad(loss, (0, 1, 2))(widen, depthwise, narrow)


@program((4, 512, 256), (4, 1, 256), (256, 256))
def short_convolution_gradient(x, taps, gate):
    def loss(taps, gate):
        short = lax.conv_general_dilated(x, taps, (1,), [(3, 0)], dimension_numbers=("NWC", "WIO", "NWC"), feature_group_count=256)
        return (jax.nn.silu(short) * (x @ gate)).mean()
    return jax.grad(loss, (0, 1))(taps, gate)


@program((16, 256, 4), (64, 4, 3), (64,))
def point_features(x, w, b):
    near = jnp.argsort(jnp.sum((x[:, :, None] - x[:, None]) ** 2, -1), -1)[:, :, :8]
    grouped = jax.vmap(lambda p, at: p[at])(x, near) - x[:, :, None]
    return jnp.einsum("bnkc,oct->bnkot", grouped, w).max(2) + b[:, None]


@program((64, 32, 8), (32, 10, 8, 16))
def capsules_by_agreement(u, w):
    votes = jnp.einsum("bic,iocd->biod", u, w)
    logits = jnp.zeros((64, 32, 10))
    for _ in range(3):
        s = jnp.einsum("bio,biod->bod", jax.nn.softmax(logits, -1), votes)
        square = jnp.sum(s * s, -1, keepdims=True)
        v = s * jnp.sqrt(square) / (1 + square)
        logits = logits + jnp.einsum("biod,bod->bio", votes, v)
    return v


@program((32, 64, 64), (64, 64), (64, 64))
def group_norm_silu(x, scale, shift):
    groups = x.reshape(32, 8, 8, 64)
    mean, variance = groups.mean((2, 3), keepdims=True), groups.var((2, 3), keepdims=True)
    return jax.nn.silu(((groups - mean) * lax.rsqrt(variance + 1e-5)).reshape(32, 64, 64) * scale + shift)


@program((256, 512), (512, 1024), (1024, 512), (256, 512))
def mixed_losses_gradient(x, a, b, target):
    def loss(a, b):
        y = jax.nn.gelu(x @ a) @ b
        return jnp.mean((y - target) ** 2) + 1e-3 * jnp.mean(jnp.abs(b)) - 0.1 * jnp.mean(jax.nn.log_softmax(y)[:, 0])
    return jax.grad(loss, (0, 1))(a, b)


@program((128, 128, 8), (8, 8, 4))
def splines_as_activations(x, weights):
    knots = jnp.linspace(-2, 2, 12)
    x = x[:, :8, :]
    basis = ((x[..., None] >= knots[:-1]) & (x[..., None] < knots[1:])) * 1.0
    for k in range(1, 4):
        rising = (x[..., None] - knots[:-(k + 1)]) / (knots[k:-1] - knots[:-(k + 1)]) * basis[..., :-1]
        basis = rising + (knots[k + 1:] - x[..., None]) / (knots[k + 1:] - knots[1:-k]) * basis[..., 1:]
    return jnp.einsum("abig,igo->abo", basis, weights) + jax.nn.silu(x) @ weights[:, 0]


@program((64, 20, 3), (8, 20, 20))
def messages_that_turn_with_points(places, weights):
    apart = places[:, :, None] - places[:, None]
    far = jnp.sqrt((apart * apart).sum(-1) + 1e-6)
    radial = jnp.exp(-(far[..., None] - jnp.linspace(0, 3, 8)) ** 2 * 4)
    cut = 0.5 * (jnp.cos(jnp.pi * jnp.minimum(far / 3, 1)) + 1)
    message = jnp.einsum("bijk,kij->bij", radial, weights) * cut

    def along(i):
        return apart[..., i]
    second = [along(0) * along(1), along(1) * along(2), 3 * along(2) ** 2 - far * far, along(0) * along(2), along(0) ** 2 - along(1) ** 2]
    second = jnp.stack(second, -1) / (far * far)[..., None]
    first = jnp.einsum("bij,bijd->bid", message, apart / far[..., None])
    return first, jnp.einsum("bij,bijm->bim", message, second)
