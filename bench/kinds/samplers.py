"""Random draws, chains of them, and what is estimated from paths."""
import jax
import jax.numpy as jnp
from jax import lax, nn

from kinds.register import program


@program((16, 8), (200, 8), ((2,), "uint32"), (200,))
def hamiltonian_chains(start, features, key, labels):
    labels = (labels > 0).astype(jnp.float32)

    def density(q):
        z = features @ q
        return (labels * z - nn.softplus(z)).sum() - 0.5 * (q * q).sum()
    slope = jax.grad(density)

    def chain(q, key):
        def step(q, key):
            first, second = jax.random.split(key)
            p = jax.random.normal(first, q.shape)

            def leap(_, carry):
                q, p = carry
                p = p + 0.01 * slope(q)
                q = q + 0.02 * p
                return q, p + 0.01 * slope(q)
            new_q, new_p = lax.fori_loop(0, 10, leap, (q, p))
            gain = density(new_q) - density(q) - 0.5 * (new_p @ new_p - p @ p)
            q = jnp.where(jnp.log(jax.random.uniform(second)) < gain, new_q, q)
            return q, q
        return lax.scan(step, q, jax.random.split(key, 20))[1]
    return jax.vmap(chain)(start, jax.random.split(key, 16)).mean((0, 1))


@program((1000, 4), ((2,), "uint32"))
def paths_until_they_turn(start, key):
    def density(q):
        return -0.5 * (q[0] ** 2 + 10 * (q[1] - q[0] ** 2) ** 2) - 0.5 * (q[2:] ** 2).sum()
    slope = jax.grad(density)

    def path(start, key):
        def leap(carry):
            q, p, count, _ = carry
            p = p + 0.05 * slope(q)
            q = q + 0.1 * p
            p = p + 0.05 * slope(q)
            return q, p, count + 1, ((q - start) @ p) < 0
        begin = (start, jax.random.normal(key, (4,)), 0, False)
        return lax.while_loop(lambda carry: (~carry[3]) & (carry[2] < 50), leap, begin)[0]
    return jax.vmap(path)(start, jax.random.split(key, 1000))


@program((128, 64), (64,))
def particles_that_repel(x, mean):
    slope, apart = -(x - mean), ((x[:, None] - x[None]) ** 2).sum(-1)
    width = jnp.median(apart) / jnp.log(128.0)
    kernel = jnp.exp(-apart / width)
    return x + 0.1 * (kernel @ slope + (2 / width) * (x * kernel.sum(1, keepdims=True) - kernel @ x)) / 128


@program((500,), ((2,), "uint32"))
def prices_of_random_volatility(price, key):
    def step(carry, key):
        price, variance = carry
        z = jax.random.normal(key, (2, 500))
        following = jnp.maximum(variance + 1.5 * (0.04 - variance) * 0.01 + 0.3 * jnp.sqrt(variance * 0.01) * z[0], 0)
        growth = -0.5 * variance * 0.01 + jnp.sqrt(variance * 0.01) * (-0.7 * z[0] + 0.714 * z[1])
        return (price * jnp.exp(growth), following), None
    return lax.scan(step, (100 + price, jnp.full(500, 0.04)), jax.random.split(key, 100))[0]


@program((4096, 64))
def option_by_regressions(noise):
    price = 100 * jnp.exp(jnp.cumsum(0.2 * 0.125 * noise - 0.0003, 1))

    def step(cash, price):
        powers = jnp.stack([jnp.ones_like(price), price / 100, (price / 100) ** 2, (price / 100) ** 3], 1)
        now = jnp.maximum(100 - price, 0)
        weight = (now > 0) * 1.0
        fit = jnp.linalg.solve((powers * weight[:, None]).T @ powers + 1e-2 * jnp.eye(4), powers.T @ (weight * cash))
        return jnp.where((now > powers @ fit) & (now > 0), now, cash * 0.999), None
    return lax.scan(step, jnp.maximum(100 - price[:, -1], 0), price.T[:-1], reverse=True)[0].mean()


@program(((2,), "uint32"), (500,))
def counts_drawn(key, rate):
    first, second, third = jax.random.split(key, 3)
    rate = jnp.abs(rate) * 20 + 0.5
    poisson = jax.random.poisson(first, rate)
    binomial = jax.random.binomial(second, 20.0, jnp.clip(rate / 25, 0.05, 0.95))
    return poisson, binomial, jax.random.geometric(third, jnp.clip(rate / 25, 0.05, 0.95))


@program(((2,), "uint32"), (16, 16))
def draws_of_four_kinds(key, a):
    first, second, third, fourth = jax.random.split(key, 4)
    normal = jax.random.multivariate_normal(first, a[0], a @ a.T + jnp.eye(16), (500,))
    shares = jax.random.dirichlet(second, jnp.abs(a[0]) + 0.5, (100,))
    return normal, shares, jax.random.truncated_normal(third, -2.0, 2.0, (1000,)), jax.random.t(fourth, 3.0, (100,))


@program(((2,), "uint32"), (2000, 8))
def shuffled_batches(key, x):
    order = jax.random.permutation(key, 2000)
    chosen = jax.random.choice(jax.random.fold_in(key, 1), 2000, (256,), replace=False)
    turned = jax.random.orthogonal(jax.random.fold_in(key, 2), 12)
    return x[order].reshape(20, 100, 8).mean(1), x[chosen], turned


@program((4096,))
def dropped_by_fast_bits(x):
    key = jax.random.key(3, impl="rbg")
    return jnp.where(jax.random.bernoulli(key, 0.9, (64, 4096)), x / 0.9, 0).sum(0)


@program((20000, 8))
def drawn_without_returns(x):
    noise = -jnp.log(-jnp.log(jnp.abs(x) * 0.98 + 0.01))
    best, place = lax.top_k((x + noise).T, 64)
    return best, place, jnp.sort(place, -1)
