"""Ciphers, codes and numbers of few bits."""
import jax
import jax.numpy as jnp
from jax import lax

from kinds.register import program


@program(((1024, 16), "uint32"))
def stream_cipher(blocks):
    turn = lambda x, by: (x << by) | (x >> (32 - by))

    def quarter(s, a, b, c, d):
        for one, two, three, by in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            s[one] = s[one] + s[two]
            s[three] = turn(s[three] ^ s[one], by)

    def rounds(_, state):
        s = [state[:, i] for i in range(16)]
        for i in range(4):
            quarter(s, i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            quarter(s, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
        return jnp.stack(s, -1)
    return blocks + lax.fori_loop(0, 10, rounds, blocks)


@program(((256,), "uint8"), ((512, 4, 4), "uint8"), ((11, 4, 4), "uint8"))
def substituted_and_mixed(table, blocks, keys):
    double = lambda x: (x << 1) ^ jnp.where(x >= 128, jnp.uint8(27), jnp.uint8(0))

    def rounds(state, key):
        state = table[state]
        state = jnp.stack([jnp.roll(state[:, i], -i, -1) for i in range(4)], 1)
        rows = [state[:, i] for i in range(4)]
        mixed = [double(rows[i]) ^ double(rows[(i + 1) % 4]) ^ rows[(i + 1) % 4] ^ rows[(i + 2) % 4] ^ rows[(i + 3) % 4]
                 for i in range(4)]
        return jnp.stack(mixed, 1) ^ key, None
    return lax.scan(rounds, blocks ^ keys[0], keys[1:])[0]


@program(((64, 1024), "uint32"))
def number_theoretic_transform(x):
    prime, size = 12289, 1024
    x, root = x % prime, 49  # 49 has the order 1024 modulo 12289
    powers, span = [pow(root, i, prime) for i in range(size)], size // 2
    while span >= 1:
        x = x.reshape(64, -1, 2, span)
        twiddle = jnp.array([powers[i * (size // 2 // span) % size] for i in range(span)], jnp.uint32)
        a, b = x[:, :, 0], x[:, :, 1]
        x = jnp.stack([(a + b) % prime, (a + prime - b) * twiddle % prime], 2)
        span //= 2
    return x.reshape(64, size)


@program(((4096,), "uint32"), ((4096,), "uint32"))
def powers_of_remainders(bases, exponents):
    prime = jnp.uint32(65521)

    def step(_, state):
        base, exponent, result = state
        return base * base % prime, exponent >> 1, jnp.where(exponent & 1 == 1, result * base % prime, result)
    return lax.fori_loop(0, 32, step, (bases % prime, exponents, jnp.ones_like(bases)))[2]


@program((64, 4096), (64, 4096))
def doubled_precision_products(x, y):
    def split(a):
        high = a * 4097 - (a * 4097 - a)
        return high, a - high
    (xh, xl), (yh, yl) = split(x), split(y)
    product = x * y
    error = ((xh * yh - product) + xh * yl + xl * yh) + xl * yl

    def add(one, two):
        total = one[0] + two[0]
        part = total - one[0]
        return total, (one[0] - (total - part)) + (two[0] - part) + one[1] + two[1]
    return lax.reduce((product, error), (0.0, 0.0), add, (1,))


@program((64, 1024), ((256, 1024), "uint8"), (1024,))
def ternary_weights(x, packed, scales):
    codes = jnp.stack([(packed >> (2 * i)) & 3 for i in range(4)], 1).reshape(1024, 1024).astype(jnp.int8) - 1
    steps = 127 / jnp.maximum(jnp.abs(x).max(-1, keepdims=True), 1e-5)
    rounded = jnp.round(x * steps).astype(jnp.int8)
    sums = lax.dot_general(rounded, codes, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32)
    return sums.astype(jnp.float32) / steps * scales


@program((64, 512), (512, 512))
def blocks_with_shared_exponents(x, weights):
    def rounded(a):
        blocks = a.reshape(a.shape[0], -1, 32)
        exponent = jnp.floor(jnp.log2(jnp.maximum(jnp.abs(blocks).max(-1, keepdims=True), 1e-30)))
        scale = jnp.exp2(exponent - 8)
        return (jnp.clip(blocks / scale, -448, 448).astype(jnp.float8_e4m3fn).astype(jnp.float32) * scale).reshape(a.shape)
    return rounded(x) @ rounded(weights.T).T


@program((256, 1024), ((256, 1024), "uint32"))
def stochastically_rounded(x, noise):
    bits = lax.bitcast_convert_type(x, jnp.uint32) + (noise & 0xFFFF)
    return lax.bitcast_convert_type((bits >> 16).astype(jnp.uint16), jnp.bfloat16)


@program(((16384,), "int32"))
def lengths_of_runs(values):
    values = values % 3
    starts = jnp.concatenate([jnp.ones(1, bool), values[1:] != values[:-1]])
    run = jnp.cumsum(starts) - 1
    return jax.ops.segment_sum(jnp.ones_like(values), run, 16384), jnp.zeros_like(values).at[run].set(values)


@program(((2048,), "int32"))
def suffixes_in_order(text):
    rank, span = text % 4, 1
    while span < 2048:
        following = jnp.concatenate([rank[span:], jnp.full(span, -1)])
        order = jnp.lexsort((following, rank))
        pairs = jnp.stack([rank[order], following[order]])
        fresh = jnp.concatenate([jnp.zeros(1, bool), jnp.any(pairs[:, 1:] != pairs[:, :-1], 0)])
        rank = jnp.zeros_like(rank).at[order].set(jnp.cumsum(fresh))
        span *= 8 if span == 1 else 4
    return rank


@program(((64, 256), "int32"), ((8, 4), "int32"))
def automaton_in_parallel(text, moves):
    of_each = (moves % 8).T[text % 4]  # a function of the state for each letter
    compose = lambda first, second: jnp.take_along_axis(second, first, -1)
    return lax.associative_scan(compose, of_each, axis=1)[:, :, 0]
