"""Estimates, samples and special functions."""
import jax
import jax.numpy as jnp
from jax import lax

from kinds.register import program


@program((1000, 64))
def correlations(x):
    return jnp.corrcoef(x.T)


@program((512, 301))
def medians(x):
    return jnp.median(x, 1), jnp.percentile(x, 90, axis=1)


@program((4000,), (4000,))
def area_under_curve(score, label):
    order = jnp.argsort(score)
    rank = jnp.zeros(4000).at[order].set(jnp.arange(1.0, 4001))
    positive = label > 0
    count = positive.sum()
    return (jnp.where(positive, rank, 0).sum() - count * (count + 1) / 2) / (count * (4000 - count) + 1)


@program((2000, 3), (500, 3))
def kernel_density(points, queries):
    return jax.nn.logsumexp(-((queries[:, None] - points[None]) ** 2).sum(-1) * 4, 1)


@program((5000, 8), (6, 8), (6, 8), (6,))
def mixture_step(x, means, scales, weights):
    scales = jnp.exp(0.1 * scales)
    likely = -0.5 * (((x[:, None] - means) / scales) ** 2).sum(-1) - jnp.log(scales).sum(-1) + weights
    share = jax.nn.softmax(likely, -1)
    total = share.sum(0) + 1e-6
    new = share.T @ x / total[:, None]
    spread = jnp.einsum("nk,nkd->kd", share, (x[:, None] - new) ** 2) / total[:, None]
    return new, jnp.sqrt(spread), jnp.log(total / 5000)


@program((2000, 16), (2000,))
def reweighted_regression(x, y):
    def step(_, w):
        p = jax.nn.sigmoid(x @ w)
        hessian = (x * (p * (1 - p))[:, None]).T @ x + 0.1 * jnp.eye(16)
        return w + jnp.linalg.solve(hessian, x.T @ ((y > 0) - p) - 0.1 * w)
    return lax.fori_loop(0, 6, step, jnp.zeros(16))


@program((20000,), (20000,))
def special_functions(a, b):
    a, b = jnp.abs(a) + 0.5, jnp.abs(b) + 0.5
    return jax.scipy.special.gammaln(a) + jax.scipy.special.digamma(b) + jax.scipy.special.erfinv(jnp.tanh(a - b))


@program(((2,), "uint32"),)
def gamma_samples(key):
    return jax.random.gamma(key, jnp.linspace(0.5, 3, 4000))


@program(((2,), "uint32"), (20000,))
def bootstrap(key, x):
    chosen = jax.random.randint(key, (50, 2000), 0, 20000)
    return x[chosen].mean(1), jax.random.permutation(key, x)


@program((256, 64), (64,), (256,))
def logistic_newton(x, w, y):
    def step(w, _):
        p = jax.nn.sigmoid(x @ w)
        hessian = (x.T * (p * (1 - p))) @ x + 1e-2 * jnp.eye(64)
        return w - jnp.linalg.solve(hessian, x.T @ (p - y)), None
    return lax.scan(step, w, None, length=4)[0]


@program((64, 10000))
def quantiles(x):
    return jnp.quantile(x, jnp.array([0.05, 0.25, 0.5, 0.75, 0.95]), axis=-1)


@program((5000, 3), (5000,))
def moments_by_group(x, key):
    group = (jnp.abs(key) * 40).astype(jnp.int32) % 50
    count = jax.ops.segment_sum(jnp.ones(5000), group, 50)
    mean = jax.ops.segment_sum(x, group, 50) / jnp.maximum(count, 1)[:, None]
    apart = (x - mean[group]) ** 2
    return mean, jnp.sqrt(jax.ops.segment_sum(apart, group, 50) / jnp.maximum(count, 1)[:, None])


@program((512, 20), (512, 20))
def energy_distance(x, y):
    def mean_distance(a, b):
        return jnp.mean(jnp.sqrt(jnp.sum((a[:, None] - b[None]) ** 2, -1) + 1e-12))
    return 2 * mean_distance(x, y) - mean_distance(x, x) - mean_distance(y, y)


@program((2000,), (2000,))
def rank_correlation(x, y):
    rank_x, rank_y = jnp.argsort(jnp.argsort(x)), jnp.argsort(jnp.argsort(y))
    return jnp.corrcoef(rank_x, rank_y)
