"""Estimates, samples, tests, clusters and special functions."""
import jax
import jax.numpy as jnp
from jax import lax

from kinds.register import program, varied


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


@program((200,), (200,))
def special_functions_gradient(a, x):
    a, x, special = jnp.abs(a) + 0.5, jnp.abs(x) + 0.1, jax.scipy.special

    def total(a, x):
        gammas = special.gammainc(a, x) + special.betaln(a, x) + special.gammaln(a) - special.multigammaln(a + 2, 2)
        normal = special.ndtri(jnp.clip(special.gammaincc(a, x), 0.01, 0.99))
        return (gammas + normal + special.i1e(x) + special.expi(x)).sum()
    return jax.grad(total, (0, 1))(a, x)


@program((256, 8), (256, 8))
def tests_by_kernels(x, y):
    def square(a, b):
        return ((a[:, None] - b[None]) ** 2).sum(-1)

    def kernel(a, b):
        return sum(jnp.exp(-square(a, b) / width) for width in (0.5, 1.0, 2.0, 4.0, 8.0))
    centre = jnp.eye(256) - 1 / 256
    apart = kernel(x, x).mean() + kernel(y, y).mean() - 2 * kernel(x, y).mean()
    return apart, jnp.trace(kernel(x, x) @ centre @ kernel(y, y) @ centre) / 255 ** 2


@program((256, 8), (256, 8))
def kernels_of_absolute_distances(x, y):
    apart = jnp.abs(x[:, None] - y[None]).sum(-1)
    return jnp.exp(-apart) + jnp.exp(-0.5 * apart), (jnp.sqrt(3.0) * apart + 1) * jnp.exp(-jnp.sqrt(3.0) * apart)


@program((300, 6), (300, 6), (6,))
def matern_kernel_gradient(x, y, lengths):
    def total(lengths):
        apart = jnp.sqrt((((x[:, None] - y[None]) / jnp.exp(lengths)) ** 2).sum(-1) + 1e-9) * 5 ** 0.5
        return ((1 + apart + apart * apart / 3) * jnp.exp(-apart)).sum()
    return jax.value_and_grad(total)(lengths)


@program((64, 32), (64, 32))
def transport_divergence_gradient(x, y):
    def transport(x, y):
        cost = ((x[:, None] - y[None]) ** 2).sum(-1) / 32

        def step(_, carry):
            _, g = carry
            f = -0.1 * jax.nn.logsumexp((g[None] - cost) / 0.1, 1)
            return f, -0.1 * jax.nn.logsumexp((f[:, None] - cost) / 0.1, 0)
        f, g = lax.fori_loop(0, 20, step, (jnp.zeros(64), jnp.zeros(64)))
        return (f + g).mean()
    return jax.grad(lambda x: transport(x, y) - 0.5 * transport(x, x))(x)


@program((512, 2), (30, 2))
def nearest_means(x, start):
    def step(carry):
        means, _, rounds = carry
        nearest = jnp.argmin(((x[:, None] - means[None]) ** 2).sum(-1), 1)
        count = jnp.maximum(jax.ops.segment_sum(jnp.ones(512), nearest, 30), 1)
        new = jax.ops.segment_sum(x, nearest, 30) / count[:, None]
        return new, jnp.abs(new - means).max(), rounds + 1
    return lax.while_loop(lambda carry: (carry[1] > 1e-4) & (carry[2] < 30), step, (start, jnp.float32(1), 0))


@program((500, 2))
def dense_clusters(x):
    near = ((x[:, None] - x[None]) ** 2).sum(-1) < 0.01
    core = near.sum(1) >= 4
    linked, label = near & core[:, None] & core[None], jnp.where(core, jnp.arange(500), 500)

    def step(carry):
        label, _ = carry
        least = jnp.minimum(label, jnp.where(linked, label[None], 500).min(1))
        return least, (least != label).any()
    label = lax.while_loop(lambda carry: carry[1], step, (label, True))[0]
    return jnp.minimum(label, jnp.where(near & core[None], label[None], 500).min(1))


@program((10000,))
def tested_for_normality(x):
    ordered, place = jnp.sort(x), jnp.arange(1, 10001)
    chance = jax.scipy.stats.norm.cdf(ordered)
    logs = jnp.log(chance + 1e-9) + jnp.log1p(-chance[::-1] + 1e-9)
    test = -10000 - ((2 * place - 1) / 10000 * logs).sum()
    counts, edges = jnp.histogram(x, 50)
    percentiles = jnp.percentile(x, jnp.array([1, 5, 50, 95, 99.0]))
    return test, counts, percentiles, jnp.trapezoid(chance, ordered), jnp.digitize(x[:500], edges)


@program((400, 400))
def dependence_of_rows(x):
    first, second = x[0], x[1]
    ranks = (jnp.sign(first[:, None] - first) * jnp.sign(second[:, None] - second)).sum() / (400 * 399)
    cell = jnp.clip(((x + 1) * 5).astype(int), 0, 9)
    joint = jax.vmap(lambda row: jnp.zeros((10, 10)).at[cell[0], row].add(1 / 400))(cell[1:65])
    apart = joint.sum(1)[:, None] * joint.sum(2)[:, :, None]
    return ranks, (joint * jnp.log((joint + 1e-9) / (apart + 1e-9))).sum((1, 2))


@program((64, 512))
def moments_in_one_reduction(x):
    def merged(a, b):
        count, apart = a[0] + b[0], b[1] - a[1]
        mean = a[1] + apart * b[0] / jnp.maximum(count, 1)
        return count, mean, a[2] + b[2] + apart * apart * a[0] * b[0] / jnp.maximum(count, 1)
    return lax.reduce((jnp.ones_like(x), x, jnp.zeros_like(x)), (0.0, 0.0, 0.0), merged, (1,))


@program((64, 2048), ((64, 2048), "int32"))
def places_of_maxima_in_windows(x, places):
    def larger(a, b):
        return jnp.where(a[0] >= b[0], a[0], b[0]), jnp.where(a[0] >= b[0], a[1], b[1])
    return lax.reduce_window((x, varied(places)), (-jnp.inf, jnp.int32(0)), larger, (1, 8), (1, 4), "VALID")


@program((2048, 6))
def statistics_of_short_rows(x):
    size = jnp.abs(x)
    signed = jnp.prod(jnp.sign(x), 1)[:, None] * size / (size.sum(1, keepdims=True) + 1)
    return x.argmax(1), size.min(1), signed, jnp.linalg.norm(x, axis=1), x.std(1)
