"""What is seen in pictures: edges, lines, regions, depth, motion."""
import jax
import jax.numpy as jnp
from jax import lax

from kinds.register import program, varied


@program((64, 64, 16))
def depth_by_messages(cost):
    def message(belief):
        least = jnp.minimum(belief, belief.min(-1, keepdims=True) + 2)

        def from_side(best, i):
            padded = jnp.pad(least, ((0, 0), (0, 0), (1, 1)), constant_values=1e9)
            return jnp.minimum(best, padded[..., i:i + 16] + 0.5)
        best = from_side(from_side(least, 0), 2)
        return best - best.mean(-1, keepdims=True)

    def step(_, messages):
        up, down, left, right = messages
        belief = cost + up + down + left + right
        return (jnp.roll(message(belief - down), -1, 0), jnp.roll(message(belief - up), 1, 0),
                jnp.roll(message(belief - right), -1, 1), jnp.roll(message(belief - left), 1, 1))
    zeros = jnp.zeros_like(cost)
    return jnp.argmin(cost + sum(lax.fori_loop(0, 10, step, (zeros, zeros, zeros, zeros))), -1)


@program(((128, 128, 32), "uint8"))
def depth_along_paths_u8(cost):
    cost = varied(cost).astype(jnp.int32)

    def along(cost):
        def step(last, here):
            least = last.min(-1, keepdims=True)
            wall = jnp.full(last[..., :1].shape, 1 << 20, jnp.int32)
            up, down = jnp.concatenate([last[..., 1:], wall], -1) + 10, jnp.concatenate([wall, last[..., :-1]], -1) + 10
            new = here + jnp.minimum(jnp.minimum(last, up), jnp.minimum(down, least + 120)) - least
            return new, new
        return lax.scan(step, cost[0], cost)[1]
    total = along(cost) + along(cost[::-1])[::-1] + jnp.swapaxes(along(jnp.swapaxes(cost, 0, 1)), 0, 1)
    return jnp.argmin(total, -1).astype(jnp.uint8)


@program((128, 128))
def straight_lines(picture):
    edges = (picture > 0.8).astype(jnp.float32)
    y, x = jnp.mgrid[:128, :128]
    angle = jnp.linspace(0, jnp.pi, 64, endpoint=False)
    offset = (x[..., None] * jnp.cos(angle) + y[..., None] * jnp.sin(angle)).astype(jnp.int32) + 182
    votes = jnp.zeros((364, 64)).at[offset, jnp.arange(64)].add(edges[..., None])
    most, place = lax.top_k(votes.reshape(-1), 20)
    return most, place // 64, place % 64


@program((128, 128))
def edges_that_grow(picture):
    taps = jnp.exp(-jnp.arange(-3, 4) ** 2 / 2)
    taps = taps / taps.sum()
    smooth = jax.scipy.signal.convolve2d(picture, taps[:, None] * taps[None], "same")
    down, along = jnp.gradient(smooth)
    strength = jnp.hypot(along, down)
    direction = jnp.round(jnp.arctan2(down, along) / (jnp.pi / 4)).astype(int) % 4

    def moved(by):
        return jnp.roll(strength, by, (0, 1))

    def in_direction(near):
        return jnp.take_along_axis(near, direction[None], 0)[0]
    ahead = jnp.stack([moved((0, 1)), moved((1, 1)), moved((1, 0)), moved((1, -1))])
    behind = jnp.stack([moved((0, -1)), moved((-1, -1)), moved((-1, 0)), moved((-1, 1))])
    edge = (strength >= in_direction(ahead)) & (strength >= in_direction(behind))
    strong, weak = edge & (strength > 0.3), edge & (strength > 0.1)

    def step(carry):
        found, _ = carry
        grown = weak & lax.reduce_window(found, False, lax.bitwise_or, (3, 3), (1, 1), "SAME")
        grown = grown | found
        return grown, (grown != found).any()
    return lax.while_loop(lambda carry: carry[1], step, (strong, True))[0]


@program((256, 256))
def distance_to_parts(picture):
    start, square = jnp.where(picture > 0.5, 0.0, 1e6), (jnp.arange(256)[:, None] - jnp.arange(256)[None]) ** 2

    def nearest(row):
        return (row[None] + square).min(1)
    return jnp.sqrt(lax.map(nearest, lax.map(nearest, start).T).T)


@program((192, 192, 3))
def means_of_alike_patches(picture):
    def moved(by):
        other = jnp.roll(picture, (by[0], by[1]), (0, 1))
        error = ((picture - other) ** 2).sum(-1)
        weight = jnp.exp(-lax.reduce_window(error, 0.0, lax.add, (5, 5), (1, 1), "SAME") / 10)[..., None]
        return weight * other, weight
    shifts = jnp.stack(jnp.meshgrid(jnp.arange(-2, 3), jnp.arange(-2, 3)), -1).reshape(-1, 2)

    def step(carry, by):
        values, weight = moved(by)
        return (carry[0] + values, carry[1] + weight), None
    (values, weights), _ = lax.scan(step, (jnp.zeros_like(picture), jnp.zeros((192, 192, 1))), shifts)
    return values / weights


@program((128, 128), (128, 128))
def smooth_motion(first, second):
    along = (jnp.roll(first, -1, 1) - first + jnp.roll(second, -1, 1) - second) / 2
    down = (jnp.roll(first, -1, 0) - first + jnp.roll(second, -1, 0) - second) / 2
    change = second - first
    near = jnp.array([[1, 2, 1], [2, 0, 2], [1, 2, 1]]) / 12

    def average(u):
        return lax.conv_general_dilated(u[None, None], near[None, None], (1, 1), "SAME")[0, 0]

    def step(_, motion):
        u, v = average(motion[0]), average(motion[1])
        rest = (along * u + down * v + change) / (1 + along ** 2 + down ** 2)
        return u - along * rest, v - down * rest
    return lax.fori_loop(0, 30, step, (jnp.zeros_like(first), jnp.zeros_like(first)))


@program((128, 128))
def least_variation(picture):
    def step(_, carry):
        u, ahead, p, q = carry
        p, q = p + 0.3 * (jnp.roll(ahead, -1, 0) - ahead), q + 0.3 * (jnp.roll(ahead, -1, 1) - ahead)
        norm = jnp.maximum(1, jnp.sqrt(p * p + q * q))
        p, q = p / norm, q / norm
        divergence = p - jnp.roll(p, 1, 0) + q - jnp.roll(q, 1, 1)
        new = (u + 0.3 * divergence + 0.3 * 8 * picture) / (1 + 0.3 * 8)
        return new, 2 * new - u, p, q
    zeros = jnp.zeros_like(picture)
    return lax.fori_loop(0, 50, step, (picture, picture, zeros, zeros))[0]


@program((5, 128, 128))
def regrown_under_a_mask(picture):
    marker, picture = jnp.maximum(picture - 0.3, 0), jnp.maximum(picture, 0)

    def step(carry):
        marker, _, rounds = carry
        grown = lax.reduce_window(marker, -jnp.inf, lax.max, (1, 3, 3), (1, 1, 1), "SAME")
        grown = jnp.minimum(grown, picture)
        return grown, (grown != marker).any(), rounds + 1
    return lax.while_loop(lambda carry: carry[1] & (carry[2] < 60), step, (marker, True, 0))[0]


@program((256, 256), (9, 9))
def energy_of_waves(picture, offset):
    angle = jnp.arange(8) * jnp.pi / 8
    y, x = jnp.mgrid[-4:5, -4:5]
    along = x * jnp.cos(angle)[:, None, None] + y * jnp.sin(angle)[:, None, None]
    waves = jnp.exp(-(y * y + x * x) / 8) * jnp.exp(1j * along * 0.9)

    def answers(taps):
        taps = taps[:, None] + 0 * offset  # so that they are no constants
        return lax.conv_general_dilated(picture[None, None], taps, (2, 2), "SAME")[0]
    return jnp.sqrt(answers(waves.real) ** 2 + answers(waves.imag) ** 2)


@program((128, 128, 3))
def two_tones_with_errors(picture):
    def row(error, values):
        def pixel(carry, both):
            value = both[0] + both[1] + carry * 0.4375
            tone = jnp.where(value > 0, 1.0, -1.0)
            rest = value - tone
            return rest, (tone, rest)
        _, (tones, rest) = lax.scan(pixel, 0.0, (values, error))
        return rest * 0.3125 + jnp.roll(rest, 1) * 0.0625 + jnp.roll(rest, -1) * 0.1875, tones
    return lax.scan(row, jnp.zeros(128), picture[..., 0])[1]


@program((128, 128, 3))
def alike_regions(picture):
    y, x = jnp.mgrid[:128, :128] / 16
    features = jnp.concatenate([picture, x[..., None], y[..., None]], -1).reshape(-1, 5)
    cell = jnp.arange(64)

    def step(_, centres):
        apart = (features * features).sum(1)[:, None] - 2 * features @ centres.T + (centres * centres).sum(1)
        label = jnp.argmin(apart, 1)
        return jax.ops.segment_sum(features, label, 64) / jnp.maximum(jnp.bincount(label, length=64), 1)[:, None]
    return lax.fori_loop(0, 3, step, features[(cell // 8 * 16 + 8) * 128 + cell % 8 * 16 + 8])


@program((64, 64, 16, 3))
def fused_exposures(pictures):
    weight = jnp.exp(-((pictures - 0.5) ** 2).sum(-1) * 12)
    weight = weight / weight.sum(2, keepdims=True)
    rest, details = pictures * weight[..., None], []
    for _ in range(3):
        small = jax.image.resize(rest, (rest.shape[0] // 2, rest.shape[1] // 2, 16, 3), "linear")
        details.append((rest - jax.image.resize(small, rest.shape, "cubic")).sum(2))
        rest = small
    return details, rest


@program((512, 4), (512,))
def suppressed_boxes(boxes, scores):
    boxes = jnp.concatenate([boxes[:, :2] * 10, boxes[:, :2] * 10 + jnp.abs(boxes[:, 2:]) * 3], 1)
    order = jnp.argsort(-scores)
    boxes = boxes[order]
    low, high = jnp.maximum(boxes[:, None, :2], boxes[None, :, :2]), jnp.minimum(boxes[:, None, 2:], boxes[None, :, 2:])
    shared, area = jnp.prod(jnp.clip(high - low, 0), -1), jnp.prod(boxes[:, 2:] - boxes[:, :2], -1)
    overlap = shared / (area[:, None] + area[None] - shared + 1e-6)

    def step(k, kept):
        return jnp.where(kept[k], kept & ~((overlap[k] > 0.5) & (jnp.arange(512) > k)), kept)
    return order, lax.fori_loop(0, 512, step, jnp.ones(512, bool))


@program((4, 16, 16, 32), (4, 16, 16, 32), (32,))
def volume_of_likeness(first, second, scale):
    padded = jnp.pad(second, ((0, 0), (4, 4), (4, 4), (0, 0)))
    moved = [(first * lax.dynamic_slice(padded, (0, i, j, 0), first.shape) * scale).mean(-1) for i in range(9) for j in range(9)]
    return jnp.stack(moved, -1)


@program(((64, 64, 3), "uint8"))
def compressed_picture_u8(picture):
    colours = jnp.array([[0.299, 0.587, 0.114], [-0.169, -0.331, 0.5], [0.5, -0.419, -0.081]])
    parts = (varied(picture).astype(jnp.float32) @ colours.T) - jnp.array([128, 0, 0.0])
    n = jnp.arange(8)
    basis = jnp.cos((2 * n[None] + 1) * n[:, None] * jnp.pi / 16) * jnp.where(n == 0, 8 ** -0.5, 0.5)[:, None]
    coefficients = jnp.einsum("ui,aibjc,vj->abuvc", basis, parts.reshape(8, 8, 8, 8, 3), basis)
    coded = jnp.round(coefficients / (10 + 4 * (n[:, None] + n)[..., None]))
    decoded = jnp.einsum("ui,abuvc,vj->aibjc", basis, coded * (10 + 4 * (n[:, None] + n)[..., None]), basis)
    return jnp.clip(jnp.round(decoded + 128), 0, 255).astype(jnp.uint8).reshape(64, 64, 3), coded.astype(jnp.int16)
