"""Searches: paths, assignments, populations, games."""
import jax
import jax.numpy as jnp
from jax import lax

from kinds.register import program, varied


@program((128, 128))
def all_shortest_paths(lengths):
    step = lambda k, found: jnp.minimum(found, found[:, k, None] + found[None, k])
    return lax.fori_loop(0, 128, step, lengths)


@program((4096,), ((16384,), "int32"), ((16384,), "int32"), (16384,))
def relaxed_distances(start, sources, targets, lengths):
    def step(state):
        found, _, rounds = state
        reached = jax.ops.segment_min(found[sources] + jnp.abs(lengths), targets, 4096)
        better = jnp.minimum(found, reached)
        return better, jnp.any(better < found), rounds + 1
    return lax.while_loop(lambda state: state[1] & (state[2] < 64), step, (start, True, 0))


@program((64, 64))
def auction(benefits):
    def bid(state):
        prices, owner, of, rounds = state
        person = jnp.argmax(of < 0)
        net = benefits[person] - prices
        best, two = jnp.argmax(net), lax.top_k(net, 2)[0]
        loser = owner[best]
        of = jnp.where((jnp.arange(64) == loser) & (loser >= 0), -1, of).at[person].set(best)
        return prices.at[best].add(two[0] - two[1] + 0.05), owner.at[best].set(person), of, rounds + 1
    free = -jnp.ones(64, jnp.int32)
    return lax.while_loop(lambda state: jnp.any(state[2] < 0) & (state[3] < 2000), bid, (jnp.zeros(64), free, free, 0))


@program((256, 64), ((256, 3), "int32"), (256, 64), (256, 64))
def differential_evolution(population, others, rolls, target):
    a, b, c = (population[others[:, i] % 256] for i in range(3))
    trial = jnp.where(jnp.abs(rolls) < 0.9, a + 0.8 * (b - c), population)
    cost = lambda x: jnp.square(x - target).sum(-1) + 10 * (1 - jnp.cos(2 * jnp.pi * x)).sum(-1)
    return jnp.where((cost(trial) < cost(population))[:, None], trial, population)


@program((512, 32), (512, 32), (512, 32), (32,), (2, 512, 32))
def particle_swarm(places, speeds, best, leader, rolls):
    speeds = 0.7 * speeds + 1.5 * rolls[0] * (best - places) + 1.5 * rolls[1] * (leader - places)
    places = jnp.clip(places + speeds, -5, 5)
    cost = lambda x: jnp.square(x[..., 1:] - x[..., :-1] ** 2).sum(-1) * 100 + jnp.square(1 - x[..., :-1]).sum(-1)
    best = jnp.where((cost(places) < cost(best))[:, None], places, best)
    return places, speeds, best, best[jnp.argmin(cost(best))]


@program(((32,), "int32"), (64, 4), (4, 32), (32, 2))
def rollouts_with_resets(seeds, states, first, second):
    def step(carry, time):
        state, key = carry
        key = key * 1664525 + 1013904223
        push = jnp.argmax(jnp.tanh(state @ first) @ second, -1) * 20.0 - 10
        angle, swing = state[:, 2], state[:, 3]
        force = (push + 0.05 * swing ** 2 * jnp.sin(angle)) / 1.1
        turned = (9.8 * jnp.sin(angle) - jnp.cos(angle) * force) / (0.5 * (4 / 3 - 0.1 * jnp.cos(angle) ** 2 / 1.1))
        state = state + 0.02 * jnp.stack([state[:, 1], force - 0.05 * turned * jnp.cos(angle), swing, turned], -1)
        over = (jnp.abs(state[:, 0]) > 2.4) | (jnp.abs(state[:, 2]) > 0.21) | (time % 50 == 49)
        fresh = (jnp.tile(key, 2)[:, None] >> jnp.array([3, 7, 11, 15]) & 255) / 2560 - 0.05
        return (jnp.where(over[:, None], fresh.astype(jnp.float32), state), key), (state, over)
    return lax.scan(step, (states, seeds), jnp.arange(100))


@program((16, 64, 8), ((16,), "int32"), (16, 64, 8))
def descent_of_a_tree(values, roots, visits):
    visits = jnp.abs(visits)
    children = (jnp.arange(64)[:, None] * 5 + jnp.arange(8) * 3 + 1) % 64

    def descend(value, visit, root):
        def step(state):
            node, depth, path = state
            bound = value[node] + 1.25 * jnp.sqrt(visit[node].sum()) / (1 + visit[node])
            following = children[node, jnp.argmax(bound)]
            return following, depth + 1, path.at[depth].set(following)
        go = lambda state: (state[1] < 10) & (visit[state[0]].sum() > 2)
        return lax.while_loop(go, step, (root % 64, 0, jnp.zeros(10, jnp.int32)))
    return jax.vmap(descend)(values, visits, roots)


@program(((64,), "int32"), ((64,), "int32"))
def knapsack(weights, values):
    weights = weights % 40 + 1

    def step(best, item):
        weight, value = item
        with_it = jnp.where(jnp.arange(1001) >= weight, jnp.roll(best, weight) + value % 100, 0)
        return jnp.maximum(best, with_it), with_it > best
    return lax.scan(step, jnp.zeros(1001, jnp.int32), (weights, values))


@program((4, 100, 100), (4, 100), (4, 100))
def local_alignment(scores, openings, extensions):
    def row(carry, at):
        above, gap = carry
        score, opening, extension = at
        gap = jnp.maximum(gap - jnp.abs(extension), above - jnp.abs(opening))
        shifted = jnp.pad(above[:-1], (1, 0))
        here = jnp.maximum(jnp.maximum(shifted + score, gap), 0)
        here = lax.associative_scan(jnp.maximum, here + 0.5 * jnp.arange(100)) - 0.5 * jnp.arange(100)
        return (here, gap), here.max()
    one = lambda s, o, e: lax.scan(row, (jnp.zeros(100), jnp.full(100, -1e9)), (s, o, e))[1].max()
    return jax.vmap(one)(scores, openings, extensions)


@program((256, 4), (256,))
def softly_suppressed(boxes, scores):
    corners = jnp.concatenate([boxes[:, :2], boxes[:, :2] + jnp.abs(boxes[:, 2:]) + 0.1], -1)
    area = jnp.prod(corners[:, 2:] - corners[:, :2], -1)

    def step(scores, _):
        best = jnp.argmax(scores)
        low, high = jnp.maximum(corners[:, :2], corners[best, :2]), jnp.minimum(corners[:, 2:], corners[best, 2:])
        shared = jnp.prod(jnp.maximum(high - low, 0), -1)
        overlap = shared / (area + area[best] - shared)
        return (scores * jnp.exp(-2 * overlap ** 2)).at[best].set(-jnp.inf), (best, scores[best])
    return lax.scan(step, scores, None, length=50)[1]


@program((512,), ((512,), "int32"))
def spanning_tree(lengths, edges):
    edges = varied(edges)
    source, target = edges % 100, (edges // 100) % 100

    def step(carry, edge):
        part, total = carry
        one, other = part[source[edge]], part[target[edge]]
        joins = one != other
        return (jnp.where(joins & (part == other), one, part), total + jnp.where(joins, lengths[edge], 0)), joins
    return lax.scan(step, (jnp.arange(100), 0.0), jnp.argsort(lengths))


@program(((64, 64), "int32"))
def costs_over_a_grid(costs):
    costs = 1 + varied(costs) % 9

    def step(carry):
        found, _ = carry
        around = jnp.pad(found, 1, constant_values=1 << 20)
        down, along = jnp.minimum(around[2:, 1:-1], around[:-2, 1:-1]), jnp.minimum(around[1:-1, 2:], around[1:-1, :-2])
        better = jnp.minimum(found, costs + jnp.minimum(down, along))
        return better, (better != found).any()
    return lax.while_loop(lambda carry: carry[1], step, (jnp.full((64, 64), 1 << 20, jnp.int32).at[0, 0].set(0), True))[0]


@program(((200,), "int32"), ((200,), "int32"))
def longest_common_subsequence(first, second):
    first, second = varied(first) % 4, varied(second) % 4

    def row(above, letter):
        corner = jnp.concatenate([jnp.zeros(1, jnp.int32), above[:-1]])
        best = lax.cummax(jnp.maximum(above, jnp.where(second == letter, corner + 1, 0)))
        return best, best[-1]
    return lax.scan(row, jnp.zeros(200, jnp.int32), first)


@program(((64, 256), "int32"), ((256,), "int32"))
def alignment_along_diagonals(queries, text):
    queries, text = varied(queries)[:, :64] % 4, varied(text) % 4

    def one(query):
        def shifted(x):
            return jnp.concatenate([jnp.zeros(1, x.dtype), x[:-1]])

        def diagonal(carry, k):
            last, before, across, down = carry
            i = jnp.arange(64)
            j = k - i
            inside = (j >= 0) & (j < 256)
            score = jnp.where(query == text[jnp.clip(j, 0, 255)], 3, -2)
            across, down = jnp.maximum(last - 5, across - 1), jnp.maximum(shifted(last) - 5, shifted(down) - 1)
            best = jnp.maximum(jnp.maximum(0, shifted(before) + score), jnp.maximum(across, down))
            best = jnp.where(inside, best, 0)
            return (best, last, across, down), best.max()
        zeros = jnp.zeros(64, jnp.int32)
        return lax.scan(diagonal, (zeros, zeros, zeros, zeros), jnp.arange(319))[1].max()
    return jax.vmap(one)(queries)
