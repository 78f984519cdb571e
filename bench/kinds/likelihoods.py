"""Losses and likelihoods that are more than a sum over elements."""
import jax
import jax.numpy as jnp
from jax import lax

from kinds.register import program, varied


@program((512, 16), (512,), ((512,), "int32"), (16,))
def risk_of_survival_gradient(features, times, died, weights):
    def loss(weights):
        order = jnp.argsort(-times)
        risk = (features @ weights)[order]
        return -((risk - lax.cumlogsumexp(risk)) * (died[order] % 2)).sum()
    return jax.value_and_grad(loss)(weights)


@program((32, 64), (32, 64))
def ranking_gradient(scores, relevance):
    def loss(scores):
        gains = jnp.exp2(jnp.abs(relevance)) - 1
        place = (scores[:, None] > scores[:, :, None]).sum(-1) + 1
        discount = 1 / jnp.log2(1.0 + place)
        change = jnp.abs((gains[:, :, None] - gains[:, None]) * (discount[:, :, None] - discount[:, None]))
        pairs = jax.nn.softplus(scores[:, None] - scores[:, :, None])
        return (pairs * change * (gains[:, :, None] > gains[:, None])).sum()
    return jax.grad(loss)(scores)


@program((64, 512))
def sparse_maximum(logits):
    ordered = -jnp.sort(-logits, -1)
    sums, places = jnp.cumsum(ordered, -1), jnp.arange(1.0, 513)
    support = (1 + places * ordered > sums).sum(-1, keepdims=True)
    threshold = (jnp.take_along_axis(sums, support - 1, -1) - 1) / support
    return jnp.maximum(logits - threshold, 0)


@program((128, 64), ((128,), "int32"))
def hardest_triplets_gradient(embeddings, labels):
    def loss(embeddings):
        gram = embeddings @ embeddings.T
        norms = jnp.diagonal(gram)
        distances = jnp.sqrt(jnp.maximum(norms[:, None] + norms - 2 * gram, 0) + 1e-6)
        same = (labels[:, None] - labels) % 10 == 0
        far, near = jnp.where(same, distances, -jnp.inf).max(1), jnp.where(same, jnp.inf, distances).min(1)
        return jnp.where(jnp.isfinite(near), jax.nn.relu(far - near + 0.3), 0).mean()
    return jax.value_and_grad(loss)(embeddings)


@program((4, 40, 21, 32), ((4, 20), "int32"))
def transducer_gradient(logits, labels):
    def loss(logits):
        scores = jax.nn.log_softmax(logits)
        blank = scores[..., 0]
        emit = jnp.take_along_axis(scores[:, :, :-1], labels[:, None, :, None] % 31 + 1, -1)[..., 0]

        def column(above, at):
            stay, out = at  # [batch, labels + 1], [batch, labels]

            def along(left, both):
                reach, step = both
                here = jnp.logaddexp(reach, left + step)
                return here, here
            entered = above + stay
            first = entered[:, 0]
            rest = lax.scan(along, first, (entered[:, 1:].T, out.T))[1]
            alpha = jnp.concatenate([first[None], rest]).T
            return alpha, None
        start = jnp.concatenate([jnp.zeros((4, 1)), jnp.cumsum(emit[:, 0], -1)], -1)
        last = lax.scan(column, start, (jnp.swapaxes(blank[:, :-1], 0, 1), jnp.swapaxes(emit[:, 1:], 0, 1)))[0]
        return -(last[:, -1] + blank[:, -1, -1]).mean()
    return jax.value_and_grad(loss)(logits)


@program((2, 1000), (3,))
def volatility_gradient(returns, parameters):
    def loss(parameters):
        omega, alpha, beta = jax.nn.softplus(parameters) * jnp.array([0.1, 0.1, 0.8])

        def step(variance, r):
            return omega + alpha * r ** 2 + beta * variance, jnp.log(variance) + r ** 2 / variance
        return lax.scan(step, jnp.ones(2), returns.T)[1].sum()
    return jax.value_and_grad(loss)(parameters)


@program((64, 256), (256, 128))
def quantised_codes_gradient(x, codebook):
    codebook = codebook.T[:, :64]

    def loss(x, codebook):
        flat = x.reshape(-1, 64)
        apart = jnp.square(flat).sum(-1, keepdims=True) - 2 * flat @ codebook.T + jnp.square(codebook).sum(-1)
        chosen = codebook[jnp.argmin(apart, -1)]
        through = flat + lax.stop_gradient(chosen - flat)
        pulled = jnp.square(lax.stop_gradient(flat) - chosen).mean()
        return jnp.square(jnp.tanh(through)).mean() + pulled + 0.25 * jnp.square(flat - lax.stop_gradient(chosen)).mean()
    return jax.grad(loss, (0, 1))(x, codebook)


@program((8, 64, 64, 3), (8, 4), (8, 64, 64, 3))
def focal_and_overlap_gradient(logits, boxes, target):
    def loss(logits, boxes):
        chance = jax.nn.sigmoid(logits)
        right = jnp.where(target > 0, chance, 1 - chance)
        focal = -jnp.square(1 - right) * jnp.log(jnp.clip(right, 1e-6)) * jnp.where(target > 0, 0.25, 0.75)
        dice = 1 - (2 * (chance * (target > 0)).sum((1, 2)) + 1) / (chance.sum((1, 2)) + (target > 0).sum((1, 2)) + 1)
        width = jnp.exp(boxes[:, 2:])
        shared = jnp.prod(jnp.minimum(width, 1), -1)
        return focal.mean() + dice.mean() - jnp.log(shared / (jnp.prod(width, -1) + 1 - shared)).mean()
    return jax.grad(loss, (0, 1))(logits, boxes)


@program((256, 32), (32, 8), (32, 8), (8, 32))
def evidence_with_flows(x, mean, spread, back):
    key = jnp.sin(jnp.arange(256 * 8, dtype=jnp.float32)).reshape(256, 8)

    def loss(parameters):
        mean, spread, back = parameters
        mu, log = x @ mean, jnp.clip(x @ spread, -3, 3)
        z = mu + jnp.exp(0.5 * log) * key
        logs = 0.0
        for i in range(4):
            a, b = jnp.split(jnp.roll(z, i, -1), 2, -1)
            scale = jnp.tanh(a * (0.1 + i))
            z, logs = jnp.concatenate([a, b * jnp.exp(scale)], -1), logs + scale.sum(-1)
        fit = jax.nn.softplus(z @ back) - x * (z @ back)
        return (fit.sum(-1) - 0.5 * (1 + log - mu ** 2 - jnp.exp(log)).sum(-1) - logs).mean()
    return jax.value_and_grad(loss)((mean, spread, back))


@program((32, 1000))
def fitted_without_descents(values):
    def step(state):
        fit, weight, rounds = state
        left, right = fit[:, :-1], fit[:, 1:]
        bad = left > right + 1e-6
        pooled = jnp.where(bad, 0.5 * (left + right), left)
        up = jnp.concatenate([jnp.where(bad, pooled, left), fit[:, -1:]], 1)
        down = jnp.concatenate([fit[:, :1], jnp.where(bad, pooled, right)], 1)
        return 0.5 * (up + down), weight, rounds + 1
    return lax.while_loop(lambda s: (s[2] < 200) & jnp.any(s[0][:, :-1] > s[0][:, 1:] + 1e-3), step, (values, 1.0, 0))[0]


@program((128, 4), (128,), (6,))
def gaussian_process_gradient(x, y, parameters):
    def loss(parameters):
        lengths = jnp.exp(parameters[:4])
        apart = (x[:, None] - x[None]) / lengths
        kernel = jnp.exp(parameters[4]) * jnp.exp(-0.5 * (apart * apart).sum(-1)) + (jnp.exp(parameters[5]) + 0.1) * jnp.eye(128)
        factor = jnp.linalg.cholesky(kernel)
        solved = jax.scipy.linalg.cho_solve((factor, True), y)
        return 0.5 * y @ solved + jnp.log(jnp.diag(factor)).sum()
    return jax.value_and_grad(loss)(parameters)


@program((100, 100), (100,))
def inducing_points_gradient(x, y):
    def kernel(a, b):
        return jnp.exp(-0.5 * ((a[:, None] - b[None]) ** 2).sum(-1) / 50)

    def solved(factor, right):
        return lax.linalg.triangular_solve(factor, right, left_side=True, lower=True)

    def loss(points):
        factor = jnp.linalg.cholesky(kernel(points, points) + 1e-2 * jnp.eye(20))
        between = solved(factor, kernel(points, x))
        inner = jnp.linalg.cholesky(jnp.eye(20) + between @ between.T * 10)
        fit = solved(inner, between @ y[:, None])
        return jnp.log(jnp.diag(inner)).sum() - 50 * (fit * fit).sum() + 5 * (100 - (between * between).sum())
    return jax.grad(loss)(x[:20])


@program((256, 64), (256, 64))
def two_views_gradient(a, b):
    def loss(a, b):
        a, b = a - a.mean(0), b - b.mean(0)
        of_a, of_b = a.T @ a / 255, b.T @ b / 255

        def off_diagonal(c):
            return (c * c).sum() - (jnp.diag(c) ** 2).sum()

        def spread(x):
            return jax.nn.relu(1 - jnp.sqrt(x.var(0) + 1e-4)).mean()
        together = (a / a.std(0)).T @ (b / b.std(0)) / 256
        apart = ((a - b) ** 2).mean() + spread(a) + spread(b) + (off_diagonal(of_a) + off_diagonal(of_b)) / 64
        return apart + ((1 - jnp.diag(together)) ** 2).sum()
    return jax.grad(loss, (0, 1))(a, b)


@program((64, 1000), ((64,), "int32"))
def smoothed_labels_gradient(logits, labels):
    labels = varied(labels)

    def loss(logits):
        total = jax.nn.logsumexp(logits, -1)
        wanted = jax.nn.one_hot(labels % 1000, 1000) * 0.9 + 0.1 / 1000
        return (total - (wanted * logits).sum(-1)).mean() + 1e-4 * (total * total).mean()
    return jax.value_and_grad(loss)(logits)


@program((256, 64), (64, 5000), ((256,), "int32"))
def cross_entropy_in_chunks_gradient(hidden, weights, labels):
    labels = varied(labels) % 5000

    def loss(hidden, weights):
        @jax.checkpoint
        def chunk(carry, i):
            most, total, right = carry
            logits = hidden @ lax.dynamic_slice(weights, (0, i * 1000), (64, 1000))
            top = jnp.maximum(most, logits.max(1))
            total = total * jnp.exp(most - top) + jnp.exp(logits - top[:, None]).sum(1)
            place = labels - i * 1000
            of_label = jnp.take_along_axis(logits, jnp.clip(place, 0, 999)[:, None], 1)[:, 0]
            return (top, total, right + jnp.where((place >= 0) & (place < 1000), of_label, 0)), None
        start = (jnp.full(256, -1e30), jnp.zeros(256), jnp.zeros(256))
        (most, total, right), _ = lax.scan(chunk, start, jnp.arange(5))
        return (most + jnp.log(total) - right).mean()
    return jax.grad(loss, (0, 1))(hidden, weights)


@program((16, 64, 12), (12, 12), ((16, 64), "int32"))
def chain_of_labels_gradient(scores, transition, labels):
    labels = varied(labels) % 12

    def loss(scores, transition):
        def step(sums, score):
            return jax.nn.logsumexp(sums[:, :, None] + transition[None], 1) + score, None
        sums, _ = lax.scan(step, scores[:, 0], jnp.moveaxis(scores[:, 1:], 1, 0))
        right = jnp.take_along_axis(scores, labels[..., None], -1).sum((1, 2)) + transition[labels[:, :-1], labels[:, 1:]].sum(1)
        return (jax.nn.logsumexp(sums, 1) - right).mean()
    return jax.grad(loss, (0, 1))(scores, transition)


@program((256, 16), (4, 8, 64), (4, 64, 16))
def coupled_halves_gradient(x, first, second):
    def loss(first, second):
        def layer(carry, weights):
            z, logs = carry
            a, b = jnp.split(z, 2, -1)
            scale, shift = jnp.split(jnp.tanh(a @ weights[0]) @ weights[1], 2, -1)
            scale = jnp.tanh(scale)
            return (jnp.concatenate([b * jnp.exp(scale) + shift, a], -1), logs + scale.sum(-1)), None
        (z, logs), _ = lax.scan(layer, (x, jnp.zeros(256)), (first, second))
        return (0.5 * (z * z).sum(-1) - logs).mean()
    return jax.grad(loss, (0, 1))(first, second)


@program((512, 8), (512, 8, 25))
def rational_splines(x, parameters):
    widths, heights = (jax.nn.softmax(parameters[..., i:i + 8]) * 0.92 + 0.01 for i in (0, 8))
    slopes = jax.nn.softplus(parameters[..., 16:]) + 0.01
    left, low = (jnp.pad(jnp.cumsum(sizes, -1), ((0, 0), (0, 0), (1, 0))) for sizes in (widths, heights))
    u = jax.nn.sigmoid(x)
    bin_of = jnp.clip((u[..., None] >= left).sum(-1) - 1, 0, 7)[..., None]

    def chosen(a):
        return jnp.take_along_axis(a, bin_of, -1)[..., 0]
    begin, base, width, height = chosen(left[..., :-1]), chosen(low[..., :-1]), chosen(widths), chosen(heights)
    before, after = chosen(slopes[..., :-1]), chosen(slopes[..., 1:])
    t, slope = (u - begin) / width, height / width
    middle = t * (1 - t)
    below = slope + (after + before - 2 * slope) * middle
    y = base + height * (slope * t * t + before * middle) / below
    log = 2 * jnp.log(slope) + jnp.log(after * t * t + 2 * slope * middle + before * (1 - t) ** 2) - 2 * jnp.log(below)
    return y, log.sum(-1)
