"""Graphs, trees, tables, counts and orders."""
import jax
import jax.numpy as jnp
from jax import lax

from kinds.register import program, varied


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


@program(((4096, 16), "uint8"), (4096,), (4096,), ((4096,), "int32"))
def histograms_of_boosted_trees(bins, gradient, curvature, node):
    bins, node = varied(bins), varied(node) % 8
    bins = (bins % 64).astype(jnp.int32)

    def of_feature(bins):
        return jax.ops.segment_sum(jnp.stack([gradient, jnp.abs(curvature)], 1), node * 64 + bins, 512)
    sums = jax.vmap(of_feature, 1)(bins).reshape(16, 8, 64, 2)
    left = jnp.cumsum(sums, 2)
    right = left[:, :, -1:] - left
    gain = left[..., 0] ** 2 / (left[..., 1] + 1) + right[..., 0] ** 2 / (right[..., 1] + 1)
    gain = jnp.moveaxis(gain, 1, 0).reshape(8, -1)
    return gain.max(1), gain.argmax(1)


@program((2048, 32), ((16384,), "int32"), ((16384,), "int32"), (4, 32, 16), (4, 32), (2048, 64))
def edge_attention_gradient(nodes, source, target, weights, attention, wanted):
    source, target = varied(source) % 2048, varied(target) % 2048

    def loss(weights, attention):
        hidden = jnp.einsum("nd,hdk->nhk", nodes, weights)
        score = jax.nn.leaky_relu((jnp.concatenate([hidden[source], hidden[target]], -1) * attention).sum(-1))
        most = jax.ops.segment_max(score, target, 2048)
        most = jnp.where(jnp.isfinite(most), most, 0)
        share = jnp.exp(score - most[target])
        total = jax.ops.segment_sum(share, target, 2048)
        share = share / (total[target] + 1e-6)
        out = jax.ops.segment_sum(share[..., None] * hidden[source], target, 2048)
        return ((jax.nn.elu(out).reshape(2048, -1) - wanted) ** 2).mean()
    return jax.grad(loss, (0, 1))(weights, attention)


@program((1024, 32), ((8192,), "int32"), ((8192,), "int32"), (64, 32), (384, 32))
def messages_gathered_four_ways(nodes, source, target, before, after):
    source, target = varied(source) % 1024, varied(target) % 1024
    message = jax.nn.relu(jnp.concatenate([nodes[source], nodes[target]], -1) @ before)
    count = jax.ops.segment_sum(jnp.ones(8192), target, 1024)[:, None]
    mean = jax.ops.segment_sum(message, target, 1024) / jnp.maximum(count, 1)
    square = jax.ops.segment_sum(message * message, target, 1024) / jnp.maximum(count, 1)
    most = jnp.where(count > 0, jax.ops.segment_max(message, target, 1024), 0)
    least = jnp.where(count > 0, jax.ops.segment_min(message, target, 1024), 0)
    all_four = jnp.concatenate([mean, most, least, jnp.sqrt(jax.nn.relu(square - mean * mean) + 1e-5)], -1)
    degree = jnp.log(count + 1)
    return jax.nn.relu(jnp.concatenate([all_four, all_four * degree, all_four / jnp.maximum(degree, 0.1)], -1) @ after)


@program(((4096,), "int32"), ((4096,), "int32"), ((4096,), "int32"))
def joined_tables(left, right, values):
    left, right, values = varied(left) % 2048, varied(right) % 2048, varied(values)
    order = jnp.argsort(right)
    right = right[order]
    first, last = jnp.searchsorted(right, left), jnp.searchsorted(right, left, side="right")
    return jnp.where(last > first, values[order[jnp.clip(first, 0, 4095)]], -1), (last - first).sum()


@program(((20000,), "int32"), (20000,))
def sums_within_groups(keys, values):
    keys = varied(keys) % 500
    order = jnp.argsort(keys)
    ordered, along = keys[order], values[order]
    starts = jnp.concatenate([jnp.ones(1, bool), ordered[1:] != ordered[:-1]])

    def combine(a, b):
        return a[0] | b[0], jnp.where(b[0], b[1], a[1] + b[1])
    sums = lax.associative_scan(combine, (starts, along))[1]
    return sums, jax.ops.segment_min(values, keys, 500), jax.ops.segment_prod(values, keys, 500)


@program(((20000,), "int32"), ((20000,), "int32"), (20000,))
def sorted_by_two_keys(first, second, values):
    first, second = varied(first), varied(second)
    return lax.sort((first % 50, second % 100, values), num_keys=2), lax.sort((values, first), is_stable=False)[1]


@program((1000, 8), ((5000,), "int32"), (5000, 8))
def scattered_four_ways(x, rows, updates):
    rows = varied(rows) % 1000
    return x.at[rows].multiply(1 + 0.01 * updates), x.at[rows].min(updates), x.at[rows[:200]].apply(jnp.tanh), x.at[rows].max(updates)


@program((4096, 3), ((4096,), "int32"))
def scattered_vectors(x, keys):
    keys = varied(keys)
    most = jnp.zeros((512, 3)).at[keys % 512].max(x)
    wide = jnp.concatenate([x, x, x[:, :2]], 1)
    return jnp.zeros((512, 3)).at[keys % 512].add(x), most, jnp.zeros((512, 8)).at[keys % 512].mul(wide)


@program((8, 2048), ((8, 2048), "int32"))
def histograms_of_rows(values, keys):
    def of_row(values, keys):
        return jnp.zeros((256, 2)).at[keys % 256].add(jnp.stack([values, values * values], 1))
    return jax.vmap(of_row)(values, varied(keys))


@program((500, 16), ((500,), "int32"))
def ranks_pushed_along_links(x, target):
    target = varied(target) % 500

    def push(carry):
        ranks, rest, rounds = carry
        moved = jnp.where(rest > 1e-3, rest, 0)
        return ranks + 0.15 * moved, rest - moved + 0.85 * jnp.zeros(500).at[target].add(moved), rounds + 1
    return lax.while_loop(lambda carry: (carry[1] > 1e-3).any() & (carry[2] < 100), push, (jnp.zeros(500), jnp.abs(x[:, 0]), 0))
