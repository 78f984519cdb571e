"""Graphs, trees, tables, counts and orders."""
import jax
import jax.numpy as jnp
from jax import lax

from kinds.register import program


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


@program((65536,), ((65536,), "int32"), ((65536,), "int32"), (4096,))
def sparse_times_vector(values, rows, columns, x):
    return jax.ops.segment_sum(values * x[columns % 4096], rows % 4096, 4096)


@program((2000, 16), ((64, 63), "int32"), (64, 63), (64, 64))
def forest_of_trees(x, feature, threshold, leaf):
    def tree(feature, threshold, leaf):
        def level(_, node):
            value = jnp.take_along_axis(x, (feature % 16)[node][:, None], 1)[:, 0]
            return 2 * node + 1 + (value > threshold[node])
        return leaf[lax.fori_loop(0, 6, level, jnp.zeros(2000, jnp.int32)) - 63]
    return jax.vmap(tree)(feature, threshold, leaf).mean(0)


@program((100000,), (256,))
def table_lookup(x, table):
    return jnp.interp(x, jnp.linspace(-1, 1, 256), table)


@program((100000,), (1000,))
def bins_of_values(x, edges):
    return jnp.searchsorted(jnp.sort(edges), x)


@program(((65536,), "uint32"), ((256,), "uint32"))
def checksums(words, table):
    def byte(crc, i):
        return (crc >> 8) ^ table[(crc ^ (words >> (8 * i))) & 255]
    crc = jnp.full(65536, 0xFFFFFFFF, jnp.uint32)
    for i in range(4):
        crc = byte(crc, i)
    return ~crc


@program(((65536,), "uint32"), ((65536,), "uint32"))
def morton_codes(x, y):
    def spread(v):
        v = v & 0xFFFF
        for shift, mask in ((8, 0x00FF00FF), (4, 0x0F0F0F0F), (2, 0x33333333), (1, 0x55555555)):
            v = (v | (v << shift)) & mask
        return v
    return lax.population_count(spread(x) | (spread(y) << 1)), spread(x) | (spread(y) << 1)


@program((4096, 32), ((32768,), "int32"), ((32768,), "int32"), (64, 16), (16,))
def edge_softmax(nodes, source, target, weights, attention):
    source, target = source % 4096, target % 4096
    hidden = jnp.concatenate([nodes[source], nodes[target]], -1) @ weights
    score = jax.nn.leaky_relu(hidden) @ attention
    score = jnp.exp(score - jax.ops.segment_max(score, target, 4096)[target])
    share = score / (jax.ops.segment_sum(score, target, 4096)[target] + 1e-6)
    return jax.ops.segment_sum(share[:, None] * hidden, target, 4096)
