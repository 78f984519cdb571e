"""Work on integers and bits."""
import jax.numpy as jnp
from jax import lax

from kinds.register import program, varied


@program(((4096,), "int32"))
def sieve(salt):
    def mark(i, prime):
        number = jnp.arange(4096)
        return prime & ~((number % i == 0) & (number > i) & prime[i])
    return lax.fori_loop(2, 64, mark, salt >= 0)


@program(((1024,), "uint32"), ((1024,), "uint32"))
def bits_and_quotients(a, b):
    backwards = a
    for shift, mask in ((1, 0x55555555), (2, 0x33333333), (4, 0x0f0f0f0f), (8, 0x00ff00ff)):
        backwards = ((backwards >> shift) & mask) | ((backwards & mask) << shift)
    return (backwards >> 16) | (backwards << 16), lax.population_count(a ^ b), lax.clz(a), a // (b | 1), a % (b | 1)


@program(((64, 64), "uint8"))
def hashes(message):
    def turned(x, n):
        return (x >> n) | (x << (32 - n))
    parts = message.astype(jnp.uint32).reshape(64, 16, 4)
    words = [(parts[:, i, 0] << 24) | (parts[:, i, 1] << 16) | (parts[:, i, 2] << 8) | parts[:, i, 3] for i in range(16)]
    for i in range(16, 64):
        early, late = words[i - 15], words[i - 2]
        words.append(words[i - 16] + (turned(early, 7) ^ turned(early, 18) ^ (early >> 3)) + words[i - 7]
                     + (turned(late, 17) ^ turned(late, 19) ^ (late >> 10)))
    a, b, c, d = (jnp.full(64, value, jnp.uint32) for value in (0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a))
    for i in range(64):
        mixed = (turned(a, 6) ^ turned(a, 11) ^ turned(a, 25)) + ((a & b) ^ (~a & c)) + words[i] + jnp.uint32(i * 2654435761 % 2 ** 32)
        a, b, c, d = mixed + d, a, b, c
    return a, b, c, d


@program(((512, 64), "uint32"), ((512, 64), "uint32"))
def long_additions(a, b):
    def step(carry, digits):
        total = digits[0] + digits[1] + carry
        return total >> 16, total & 0xffff
    carry, digits = lax.scan(step, jnp.zeros(512, jnp.uint32), ((a & 0xffff).T, (b & 0xffff).T))
    return digits.T, carry


@program(((1024,), "uint32"), ((4096,), "uint32"))
def bloom_filter(keys, queries):
    def place(x, salt):
        return ((x * jnp.uint32(2654435761 + 2 * salt)) ^ (x >> 15) * jnp.uint32(40503)) % 8192
    filled = jnp.zeros(8192, jnp.uint8)
    for salt in range(4):
        filled = filled.at[place(keys, salt)].set(1)
    found = jnp.ones(4096, jnp.uint8)
    for salt in range(4):
        found = found & filled[place(queries, salt)]
    return found


@program(((4096,), "int32"))
def unique_counts(x):
    x = jnp.sort(x % 300)
    first = jnp.concatenate([jnp.array([True]), x[1:] != x[:-1]])
    place = jnp.cumsum(first) - 1
    return jnp.zeros(4096, jnp.int32).at[place].set(x), jnp.zeros(4096, jnp.int32).at[place].add(1), first.sum()


@program(((16, 256), "int32"), ((256,), "int32"))
def sorted_by_a_network(x, y):
    x, y = varied(x), varied(y)
    for size in (2, 4, 8, 16, 32, 64, 128, 256):
        span = size // 2
        while span:
            place = jnp.arange(256)
            other = x[:, place ^ span]
            up, low = (place & size) == 0, (place & span) == 0
            x = jnp.where(up == low, jnp.minimum(x, other), jnp.maximum(x, other))
            span //= 2
    return x, lax.clz(y), lax.population_count(y)
