"""Ciphers, codes and numbers of few bits."""
import jax
import jax.numpy as jnp
from jax import lax

from kinds.register import program, varied


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


@program((64,))
def parity_checks_by_messages(likely):
    checks = (jnp.arange(1536) * 7919 % 521 % 512).reshape(256, 6)
    likely = jnp.tile(likely, 8)

    def step(_, message):
        total = likely.at[checks].add(message)
        value = total[checks] - message
        sign, size = jnp.sign(value), jnp.abs(value)
        least = jnp.argmin(size, 1)
        first, second = size.min(1), jnp.where(jax.nn.one_hot(least, 6) > 0, 1e9, size).min(1)
        return sign.prod(1, keepdims=True) * sign * jnp.where(jnp.arange(6) == least[:, None], second[:, None], first[:, None]) * 0.75
    message = lax.fori_loop(0, 20, step, jnp.zeros((256, 6)))
    return (likely.at[checks].add(message) < 0).astype(jnp.int8)


@program(((32, 256), "uint8"))
def convolutional_code(bits):
    bits, state = varied(bits), jnp.arange(64)

    def parity(x):
        return lax.population_count(x.astype(jnp.uint32)).astype(jnp.int32) & 1
    last, given = jnp.stack([(state << 1) & 63, ((state << 1) | 1) & 63], 1), state >> 5
    sent = jnp.stack([parity((last | (given[:, None] << 6)) & 0o171), parity((last | (given[:, None] << 6)) & 0o133)], -1)
    pairs = (bits & 1).astype(jnp.int32).reshape(32, 128, 2)

    def forwards(errors, pair):
        errors = errors[:, last] + (sent[None] != pair[:, None, None]).sum(-1)
        return errors.min(-1), errors.argmin(-1).astype(jnp.uint8)
    errors, choices = lax.scan(forwards, jnp.zeros((32, 64), jnp.int32), jnp.moveaxis(pairs, 1, 0))

    def backwards(state, choice):
        chosen = jnp.take_along_axis(choice, state[:, None], 1)[:, 0]
        return last[state, chosen], given[state].astype(jnp.uint8)
    return lax.scan(backwards, jnp.argmin(errors, 1), choices, reverse=True)[1]


@program(((64, 64), "uint8"), ((256,), "uint8"), ((256,), "uint8"))
def syndromes_of_bytes(message, logarithms, powers):
    message, logarithms, powers = varied(message), varied(logarithms), varied(powers)
    powers, logarithms = jnp.concatenate([powers, powers]).astype(jnp.int32), logarithms.astype(jnp.int32)
    message, roots = message.astype(jnp.int32), powers[jnp.arange(32)]

    def times(a, b):
        return jnp.where((a == 0) | (b == 0), 0, powers[logarithms[a] + logarithms[b]])
    return lax.scan(lambda sums, byte: (times(sums, roots[None]) ^ byte[:, None], None), jnp.zeros((64, 32), jnp.int32), message.T)[0]


@program(((256, 8), "uint32"))
def sponge_of_words(words):
    state = jnp.concatenate([words] * 7, 1)[:, :50].reshape(256, 5, 5, 2)

    def turned(a, by):
        return jnp.stack([(a[..., 0] << by) | (a[..., 1] >> (32 - by)), (a[..., 1] << by) | (a[..., 0] >> (32 - by))], -1)

    def rounds(state, salt):
        column = state[:, 0] ^ state[:, 1] ^ state[:, 2] ^ state[:, 3] ^ state[:, 4]
        state = state ^ (jnp.roll(column, 1, 1) ^ turned(jnp.roll(column, -1, 1), 1))[:, None]
        state = jnp.stack([turned(state[:, (i * 3) % 5], 1 + (i * 7) % 31) for i in range(5)], 1)
        state = state ^ (~jnp.roll(state, -1, 2) & jnp.roll(state, -2, 2))
        return state.at[:, 0, 0, 0].set(state[:, 0, 0, 0] ^ salt), None
    return lax.scan(rounds, state, jnp.arange(24, dtype=jnp.uint32) * 0x8081)[0]


@program(((4096,), "uint32"))
def shifted_randoms_and_their_chains(x):
    def shuffled(_, x):
        x = x ^ (x << 13)
        x = x ^ (x >> 17)
        return x ^ (x << 5)
    start = lax.fori_loop(0, 50, shuffled, x + jnp.arange(4096, dtype=jnp.uint32) + 1) % 1000 + 1

    def length(n):
        def step(carry):
            n, count = carry
            return jnp.where(n & 1, 3 * n + 1, n >> 1), count + 1
        return lax.while_loop(lambda carry: (carry[0] != 1) & (carry[1] < 200), step, (n, 0))[1]
    return jax.vmap(length)(start[:1024].astype(jnp.uint32))
