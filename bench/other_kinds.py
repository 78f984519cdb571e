#!/usr/bin/env python3
"""Writes small programs of kinds that networks are not: what else people put through JAX.

  .venv/bin/python bench/other_kinds.py -o FOLDER [--only=NAME]
  bench/compare_xla.py FOLDER/*.hlo --rounds=3 --seconds=0.3

Points and particles, graphs, dynamic programming over sequences, filters, samplers, running sums, matrices, searches. Plain JAX, seconds to lower; each
program is a function below, and its arguments stand above it. `compare_xla.py` then says how fast they are beside XLA:CPU: a kind that no corpus
holds shows what nobody has looked at. Needs jax (`scripts/setup.sh --jax`).
"""
import argparse
import pathlib

import jax
import jax.numpy as jnp
from jax import lax

PROGRAMS = {}


def program(*arguments):
    """Registers a function with its arguments: a shape is f32, or (shape, type)."""
    def register(function):
        shapes = [a if isinstance(a[0], tuple) else (a, "float32") for a in arguments]
        PROGRAMS[function.__name__] = (function, [jax.ShapeDtypeStruct(*shape) for shape in shapes])
        return function
    return register


# --- Points and particles ---


@program((1024, 3), (1024, 3))
def fluid_of_particles(position, velocity):
    def step(state, _):
        position, velocity = state
        apart = position[:, None] - position[None]
        squared = (apart**2).sum(-1)
        density = (jnp.maximum(0, 0.04 - squared) ** 3).sum(1) + 1e-3
        pressure = 1e2 * (density - 1)
        near = jnp.maximum(0, 0.2 - jnp.sqrt(squared + 1e-9)) ** 2
        force = -((pressure[:, None] + pressure[None]) / (2 * density[None]) * near)[..., None] * apart
        velocity = velocity + 0.001 * force.sum(1)
        return (position + 0.001 * velocity, velocity), None
    return lax.scan(step, (position, velocity), None, length=4)[0]


@program((200, 3), (200, 3))
def distances(a, b):
    return jnp.linalg.norm(a[:, None] - b[None], axis=-1)


@program((100000, 3))
def unit_vectors(points):
    return points / jnp.linalg.norm(points, axis=-1, keepdims=True)


@program((50000, 3, 3), (50000, 3))
def rotations(matrices, points):
    return jnp.einsum("nij,nj->ni", matrices, points)


@program((100000, 4), (100000, 4))
def quaternion_products(a, b):
    real = a[:, 0] * b[:, 0] - (a[:, 1:] * b[:, 1:]).sum(-1)
    imaginary = a[:, :1] * b[:, 1:] + b[:, :1] * a[:, 1:] + jnp.cross(a[:, 1:], b[:, 1:])
    return jnp.concatenate([real[:, None], imaginary], -1)


@program((2000, 16), (500, 16))
def nearest_neighbours(points, queries):
    return lax.top_k(-((queries[:, None] - points[None]) ** 2).sum(-1), 5)


@program((512, 2), (512, 64))
def embedding_gradient(low, high):
    same = jnp.eye(512, dtype=bool)
    wanted = jax.nn.softmax(jnp.where(same, -1e9, -((high[:, None] - high[None]) ** 2).sum(-1) / 8), -1)

    def divergence(low):
        near = jnp.where(same, 0, 1 / (1 + ((low[:, None] - low[None]) ** 2).sum(-1)))
        return (wanted * jnp.log((wanted + 1e-9) / (near / near.sum() + 1e-9))).sum()
    return jax.value_and_grad(divergence)(low)


@program((1024, 3), (1024, 3), (63, 64), (64, 64), (64, 4))
def radiance_field(origin, direction, first, second, third):
    at = jnp.linspace(0.1, 2, 32)
    x = origin[:, None] + direction[:, None] * at[None, :, None]
    waves = (x[..., None] * 2.0 ** jnp.arange(10)).reshape(*x.shape[:-1], 30)
    hidden = jax.nn.relu(jnp.concatenate([x, jnp.sin(waves), jnp.cos(waves)], -1) @ first * 0.1)
    y = jax.nn.relu(hidden @ second * 0.1) @ third
    opacity = 1 - jnp.exp(-jax.nn.softplus(y[..., 3]) * 0.06)
    passed = jnp.cumprod(jnp.concatenate([jnp.ones_like(opacity[:, :1]), 1 - opacity[:, :-1]], 1), 1)
    return ((passed * opacity)[..., None] * jax.nn.sigmoid(y[..., :3])).sum(1)


# --- Graphs, counts, order ---


@program((1024,), ((1024, 8), "int32"))
def page_rank(rank, links):
    links = links % 1024

    def step(_, rank):
        return 0.15 / 1024 + 0.85 * jnp.zeros(1024, rank.dtype).at[links.reshape(-1)].add(jnp.repeat(rank / 8, 8))
    return lax.fori_loop(0, 20, step, rank)


@program((4096,), ((4096,), "int32"))
def buckets(values, keys):
    keys = keys % 64
    counts = jnp.bincount(keys, length=64)
    return values[jnp.argsort(keys, stable=True)], jnp.cumsum(counts) - counts, jax.ops.segment_max(values, keys, 64)


@program((64, 256), (64, 256))
def order_of_results(scores, relevance):
    rank = jnp.argsort(jnp.argsort(-scores, axis=-1), axis=-1)
    gain, discount = 2 ** jnp.clip(relevance * 4, 0, 4) - 1, 1 / jnp.log2(rank + 2.0)
    change = jnp.abs((gain[:, :, None] - gain[:, None]) * (discount[:, :, None] - discount[:, None]))
    push = -jax.nn.sigmoid(scores[:, None] - scores[:, :, None]) * change * (relevance[:, :, None] > relevance[:, None])
    return push.sum(2) - push.sum(1)


@program((64, 64))
def transport_plan(cost):
    kernel = jnp.exp(-jnp.abs(cost) / 0.1)

    def step(_, uv):
        u = 1 / (kernel @ uv[1] + 1e-6)
        return u, 1 / (kernel.T @ u + 1e-6)
    u, v = lax.fori_loop(0, 50, step, (jnp.ones(64), jnp.ones(64)))
    return (u[:, None] * kernel * v[None] * cost).sum()


# --- Running sums ---


@program((1 << 20,))
def cumulative_sum(x):
    return jnp.cumsum(x)


@program((64, 4096))
def cumulative_sum_of_rows(x):
    return jnp.cumsum(x, -1)


@program((4096, 64))
def cumulative_sum_of_columns(x):
    return jnp.cumsum(x, 0)


@program((64, 1000))
def cumulative_maximum(x):
    return lax.cummax(x, 1)


@program((32, 512, 16))
def cumulative_product_backwards(x):
    return lax.cumprod(x, 1, reverse=True)


@program((64, 512))
def cumulative_log_sum_exp(x):
    return lax.cumlogsumexp(x, 1)


@program((64, 4096))
def nucleus(logits):
    ordered = jnp.sort(logits, -1)[:, ::-1]
    return jnp.where(jnp.cumsum(jax.nn.softmax(ordered), -1) < 0.9, ordered, 0).sum(-1)


@program((8, 64, 64), (64, 192))
def linear_attention_gradient(x, weights):
    def loss(weights):
        query, key, value = jnp.split(x @ weights * 0.1, 3, -1)
        query, key = jax.nn.elu(query) + 1, jax.nn.elu(key) + 1
        sums, norm = jnp.cumsum(jnp.einsum("btd,bte->btde", key, value), 1), jnp.cumsum(key, 1)
        return (jnp.einsum("btd,btde->bte", query, sums) / jnp.einsum("btd,btd->bt", query, norm)[..., None]).var()
    return jax.value_and_grad(loss)(weights)


# --- Sequences ---


@program(((32, 48), "int32"), ((32, 48), "int32"))
def edit_distance(a, b):
    def one(a, b):
        def row(above, letter):
            def cell(left, x):
                up, corner, other = x
                least = jnp.minimum(jnp.minimum(left + 1, up + 1), corner + (letter != other))
                return least, least
            _, rest = lax.scan(cell, above[0] + 1, (above[1:], above[:-1], b))
            return jnp.concatenate([above[:1] + 1, rest]), None
        return lax.scan(row, jnp.arange(49), a)[0][-1]
    return jax.vmap(one)(a % 4, b % 4)


@program((16, 4), (4, 4), (2, 4), (100, 16, 2))
def kalman_filter(state, transition, observation, observed):
    transition = jnp.eye(4) + 0.05 * transition

    def step(carry, z):
        x, covariance = carry
        x, covariance = x @ transition.T, transition @ covariance @ transition.T + 0.01 * jnp.eye(4)
        gain = jnp.linalg.solve(observation @ covariance @ observation.T + 0.1 * jnp.eye(2), observation @ covariance).T
        return (x + (z - x @ observation.T) @ gain.T, (jnp.eye(4) - gain @ observation) @ covariance), x
    return lax.scan(step, (state, jnp.eye(4)), observed)


@program(((128, 128), "uint32"), ((2,), "uint32"))
def ising_model(spins, key):
    spins = jnp.where(spins % 2 == 0, 1, -1).astype(jnp.int8)
    parity = (jnp.arange(128)[:, None] + jnp.arange(128)) % 2

    def sweep(carry, i):
        spins, key = carry
        key, drawn = jax.random.split(key)
        around = jnp.roll(spins, 1, 0) + jnp.roll(spins, -1, 0) + jnp.roll(spins, 1, 1) + jnp.roll(spins, -1, 1)
        energy = 2 * spins.astype(jnp.float32) * around.astype(jnp.float32)
        flip = (jax.random.uniform(drawn, spins.shape) < jnp.exp(-energy * 0.44)) & (parity == i % 2)
        return (jnp.where(flip, -spins, spins), key), spins.astype(jnp.float32).mean()
    return lax.scan(sweep, (spins, key), jnp.arange(20))[1]


@program((8, 1024))
def filtered_signal(x):
    def biquad(state, v):
        first, second = state
        y = 0.2 * v + first
        return (0.4 * v - 0.5 * y + second, 0.2 * v - 0.3 * y), y
    return lax.scan(biquad, (jnp.zeros(8), jnp.zeros(8)), x.T)[1]


@program((64, 16, 16), (16, 16), (64, 16))
def hidden_markov_model(observed, transition, start):
    def step(alpha, likely):
        alpha = jax.nn.logsumexp(alpha[:, :, None] + transition, axis=1) + likely
        return alpha, alpha
    return lax.scan(step, start, jnp.swapaxes(observed, 0, 1))[1]


# --- Matrices ---


@program((128, 4), (128,), (64, 4))
def gaussian_process(x, y, new):
    def kernel(a, b):
        return jnp.exp(-0.5 * ((a[:, None] - b) ** 2).sum(-1))
    factor = jnp.linalg.cholesky(kernel(x, x) + 0.1 * jnp.eye(128))
    between = kernel(new, x)
    half = jax.scipy.linalg.solve_triangular(factor, between.T, lower=True)
    return between @ jax.scipy.linalg.cho_solve((factor, True), y), 1 - (half**2).sum(0)


@program((20000, 3, 3))
def determinants(matrices):
    return jnp.linalg.det(matrices)


@program((20000, 3, 3))
def inverses(matrices):
    return jnp.linalg.inv(matrices + 4 * jnp.eye(3))


@program((500, 30), (500,))
def least_squares(a, b):
    q, r = jnp.linalg.qr(a)
    return jax.scipy.linalg.solve_triangular(r, q.T @ b)


@program((400, 20))
def principal_components(x):
    x = x - x.mean(0)
    return x @ jnp.linalg.svd(x, full_matrices=False)[2].T[:, :3]


@program(((4096,), "complex64"), (8,))
def quantum_circuit(state, angles):
    state = state.reshape((2,) * 12)
    for gate in range(24):
        half = angles[gate % 8] / 2
        matrix = jnp.cos(half) * jnp.eye(2) - 1j * jnp.sin(half) * jnp.eye(2)[::-1]
        state = jnp.moveaxis(jnp.tensordot(matrix.astype(jnp.complex64), state, ((1,), (gate % 12,))), 0, gate % 12)
    return jnp.abs(state.reshape(-1)) ** 2


# --- Grids and pictures ---


@program((256, 256, 8), (256, 256, 2))
def bilinear_sampling(picture, flow):
    y, x = jnp.meshgrid(jnp.arange(256.0), jnp.arange(256.0), indexing="ij")
    y, x = y + 3 * flow[..., 0], x + 3 * flow[..., 1]
    above, left = jnp.floor(y).astype(jnp.int32), jnp.floor(x).astype(jnp.int32)
    down, right = (y - above)[..., None], (x - left)[..., None]

    def at(i, j):
        return picture[jnp.clip(i, 0, 255), jnp.clip(j, 0, 255)]
    upper = at(above, left) * (1 - right) + at(above, left + 1) * right
    lower = at(above + 1, left) * (1 - right) + at(above + 1, left + 1) * right
    return upper * (1 - down) + lower * down


@program((256, 256))
def mandelbrot(zero):
    place = lax.complex(jnp.linspace(-2, 1, 256)[None] + 0 * zero, jnp.linspace(-1.5, 1.5, 256)[:, None] + 0 * zero)

    def step(_, state):
        z, steps = state
        inside = z.real**2 + z.imag**2 < 4
        return jnp.where(inside, z * z + place, z), steps + inside
    return lax.fori_loop(0, 40, step, (jnp.zeros_like(place), jnp.zeros(zero.shape, jnp.int32)))[1]


@program((256, 256, 2))
def largest_component(x):
    return jnp.sqrt((x**2).sum(-1)), jnp.argmax(x, -1)


@program((512, 512, 3))
def grey_and_blurred(picture):
    grey = (picture * jnp.array([0.3, 0.59, 0.11])).sum(-1)
    return sum(jnp.roll(jnp.roll(grey, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1)) / 9


@program((1, 8, 28, 28, 16), (3, 3, 3, 16, 32), (3, 3, 3, 32, 32))
def video(x, first, second):
    names = ("NDHWC", "DHWIO", "NDHWC")
    y = jax.nn.relu(lax.conv_general_dilated(x, first * 0.1, (1, 1, 1), "SAME", dimension_numbers=names))
    y = lax.reduce_window(y, -jnp.inf, lax.max, (1, 2, 2, 2, 1), (1, 2, 2, 2, 1), "VALID")
    return lax.conv_general_dilated(y, second * 0.1, (1, 1, 1), "SAME", dimension_numbers=names).mean((1, 2, 3))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--out", type=pathlib.Path, required=True, help="folder of the modules")
    parser.add_argument("--only", help="one program, by its name")
    arguments = parser.parse_args()
    if arguments.only is not None and arguments.only not in PROGRAMS:
        parser.error(f"--only={arguments.only}: no such program; there are {', '.join(PROGRAMS)}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in [arguments.only] if arguments.only else PROGRAMS:
        function, shapes = PROGRAMS[name]
        module = jax.jit(function).lower(*shapes).compiler_ir("hlo").as_hlo_module()
        (arguments.out / f"{name}.hlo").write_text(module.to_string())
        print(arguments.out / f"{name}.hlo")


if __name__ == "__main__":
    main()
