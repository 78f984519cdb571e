"""Grids and pictures."""
import jax
import jax.numpy as jnp
from jax import lax

from kinds.register import program


@program((256, 256, 8), (256, 256, 2))
def bilinear_sampling(picture, flow):
    y, x = jnp.meshgrid(jnp.arange(256.0), jnp.arange(256.0), indexing="ij")
    y, x = y + 3 * flow[..., 0], x + 3 * flow[..., 1]
    above, left = jnp.floor(y).astype(jnp.int32), jnp.floor(x).astype(jnp.int32)
    down, right = (y - above)[..., None], (x - left)[..., None]

    def at(i, j):
        return picture[jnp.clip(i, 0, 255), jnp.clip(j, 0, 255)]
    upper = at(above, left) * (1 - right) + at(above, left + 1) * right
    lower = at(above + 1, left) * (1 - right) + at(above + 1, left + 1) * right
    return upper * (1 - down) + lower * down


@program((256, 256))
def mandelbrot(zero):
    place = lax.complex(jnp.linspace(-2, 1, 256)[None] + 0 * zero, jnp.linspace(-1.5, 1.5, 256)[:, None] + 0 * zero)

    def step(_, state):
        z, steps = state
        inside = z.real**2 + z.imag**2 < 4
        return jnp.where(inside, z * z + place, z), steps + inside
    return lax.fori_loop(0, 40, step, (jnp.zeros_like(place), jnp.zeros(zero.shape, jnp.int32)))[1]


@program((256, 256, 2))
def largest_component(x):
    return jnp.sqrt((x**2).sum(-1)), jnp.argmax(x, -1)


@program((512, 512, 3))
def grey_and_blurred(picture):
    grey = (picture * jnp.array([0.3, 0.59, 0.11])).sum(-1)
    return sum(jnp.roll(jnp.roll(grey, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1)) / 9


@program((1, 8, 28, 28, 16), (3, 3, 3, 16, 32), (3, 3, 3, 32, 32))
def video(x, first, second):
    names = ("NDHWC", "DHWIO", "NDHWC")
    y = jax.nn.relu(lax.conv_general_dilated(x, first * 0.1, (1, 1, 1), "SAME", dimension_numbers=names))
    y = lax.reduce_window(y, -jnp.inf, lax.max, (1, 2, 2, 2, 1), (1, 2, 2, 2, 1), "VALID")
    return lax.conv_general_dilated(y, second * 0.1, (1, 1, 1), "SAME", dimension_numbers=names).mean((1, 2, 3))


@program((512, 512))
def median_filter(picture):
    near = jnp.stack([jnp.roll(picture, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)])
    return jnp.sort(near, 0)[4]


@program((256, 256))
def bilateral_filter(picture):
    total, weights = 0, 0
    for i in range(-3, 4):
        for j in range(-3, 4):
            other = jnp.roll(picture, (i, j), (0, 1))
            weight = jnp.exp(-(i * i + j * j) / 8 - (other - picture) ** 2 / 0.02)
            total, weights = total + weight * other, weights + weight
    return total / weights


@program((512, 512, 3))
def hue_and_saturation(picture):
    r, g, b = picture[..., 0], picture[..., 1], picture[..., 2]
    most, least = picture.max(-1), picture.min(-1)
    span = most - least + 1e-6
    hue = jnp.where(most == r, (g - b) / span % 6, jnp.where(most == g, (b - r) / span + 2, (r - g) / span + 4)) / 6
    return jnp.stack([hue, span / (most + 1e-6), most], -1)


@program((512, 512))
def integral_picture(picture):
    total = jnp.pad(jnp.cumsum(jnp.cumsum(picture, 0), 1), ((1, 0), (1, 0)))
    return (total[9:, 9:] - total[:-9, 9:] - total[9:, :-9] + total[:-9, :-9]) / 81


@program((512, 512), (8, 8))
def blocks_by_cosines(picture, basis):
    blocks = picture.reshape(64, 8, 64, 8)
    coefficients = jnp.einsum("ua,xayb,vb->xyuv", basis, blocks, basis)
    kept = jnp.round(coefficients * 16) / 16
    return jnp.einsum("ua,xyuv,vb->xayb", basis, kept, basis).reshape(512, 512)


@program((256, 256), (2, 3))
def warped_picture(picture, matrix):
    y, x = jnp.meshgrid(jnp.arange(256.0), jnp.arange(256.0), indexing="ij")
    place = jnp.tensordot(matrix, jnp.stack([y, x, jnp.ones_like(x)]), 1)
    return jax.scipy.ndimage.map_coordinates(picture, place, order=1, mode="nearest")


@program((256, 256))
def edges_of_a_picture(picture):
    def along(d):
        smooth = picture + jnp.roll(picture, 1, 1 - d) + jnp.roll(picture, -1, 1 - d)
        return jnp.roll(smooth, -1, d) - jnp.roll(smooth, 1, d)
    gy, gx = along(0), along(1)
    strength = jnp.hypot(gx, gy)
    flat = jnp.abs(gx) > jnp.abs(gy)
    ahead = jnp.where(flat, jnp.roll(strength, -1, 1), jnp.roll(strength, -1, 0))
    behind = jnp.where(flat, jnp.roll(strength, 1, 1), jnp.roll(strength, 1, 0))
    return jnp.where((strength >= ahead) & (strength >= behind), strength, 0)


@program(((256, 256), "int32"))
def connected_parts(picture):
    inside = picture % 3 > 0
    label = jnp.where(inside, jnp.arange(65536).reshape(256, 256), -1)

    def step(_, label):
        grown = lax.reduce_window(label, -1, lax.max, (3, 3), (1, 1), "SAME")
        return jnp.where(inside, grown, -1)
    return lax.fori_loop(0, 16, step, label)


@program((256, 256))
def equalised(picture):
    level = jnp.clip((picture * 32 + 128), 0, 255).astype(jnp.int32)
    counts = jnp.bincount(level.reshape(-1), length=256)
    return (jnp.cumsum(counts) / 65536)[level]


@program((64, 64, 64))
def heat_in_a_box(u):
    def step(_, u):
        around = sum(jnp.roll(u, s, d) for d in range(3) for s in (-1, 1))
        return u + 0.1 * (around - 6 * u)
    return lax.fori_loop(0, 10, step, u)


@program((256, 256))
def multigrid(f):
    def smooth(u, f, h, n):
        for _ in range(n):
            p = jnp.pad(u, 1)
            u = 0.25 * (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] + h * h * f)
        return u

    def cycle(u, f, h):
        u = smooth(u, f, h, 2)
        if u.shape[0] <= 16:
            return smooth(u, f, h, 8)
        p = jnp.pad(u, 1)
        rest = f + (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * u) / (h * h)
        n = u.shape[0] // 2
        coarse = rest.reshape(n, 2, n, 2).mean((1, 3))
        fine = jnp.repeat(jnp.repeat(cycle(jnp.zeros((n, n)), coarse, 2 * h), 2, 0), 2, 1)
        return smooth(u + fine, f, h, 2)
    return cycle(jnp.zeros((256, 256)), f, 1 / 256)


@program((20000, 2), (20000,), (128, 128))
def particles_in_cells(place, charge, field):
    place = jnp.abs(place) * 20 % 126
    cell = place.astype(jnp.int32)
    part = place - cell
    grid = jnp.zeros((128, 128))
    for i in (0, 1):
        for j in (0, 1):
            weight = jnp.abs(1 - i - part[:, 0]) * jnp.abs(1 - j - part[:, 1])
            grid = grid.at[cell[:, 0] + i, cell[:, 1] + j].add(weight * charge)
    return grid + field


@program((128, 128, 3), (4,), (4, 3))
def rays_and_spheres(direction, radius, centre):
    direction = direction / (jnp.linalg.norm(direction, axis=-1, keepdims=True) + 1e-6)

    def distance(p):
        return (jnp.linalg.norm(p[..., None, :] - centre, axis=-1) - jnp.abs(radius)).min(-1)

    def step(_, t):
        return t + distance(direction * t[..., None])
    t = lax.fori_loop(0, 24, step, jnp.zeros((128, 128)))
    return jnp.where(t < 20, t, 0)


@program((4, 64, 64, 3))
def resized(x):
    return jax.image.resize(x, (4, 100, 100, 3), "bicubic")


@program((2, 128, 128, 3))
def structure_similarity_gradient(x):
    def blur(x):
        return lax.reduce_window(x, 0.0, lax.add, (1, 7, 7, 1), (1, 1, 1, 1), "VALID") / 49
    def similarity(x):
        y = jnp.flip(x, 2)
        mx, my = blur(x), blur(y)
        vx, vy, both = blur(x * x) - mx * mx, blur(y * y) - my * my, blur(x * y) - mx * my
        return jnp.mean((2 * mx * my + 1e-4) * (2 * both + 9e-4) / ((mx * mx + my * my + 1e-4) * (vx + vy + 9e-4)))
    return jax.grad(similarity)(x)


@program((96, 96), (96, 96, 2))
def warp_gradient(picture, flow):
    def loss(flow):
        rows, columns = jnp.meshgrid(jnp.arange(96.0), jnp.arange(96.0), indexing="ij")
        at = [rows + flow[..., 0], columns + flow[..., 1]]
        return jnp.sum(jax.scipy.ndimage.map_coordinates(picture, at, order=1) ** 2)
    return jax.grad(loss)(flow)


@program((128, 128))
def opened_and_closed(x):
    def spread(x, by, start):
        return lax.reduce_window(x, start, by, (5, 5), (1, 1), "SAME")
    eroded = spread(x, lax.min, jnp.inf)
    opened = spread(eroded, lax.max, -jnp.inf)
    return spread(spread(opened, lax.max, -jnp.inf), lax.min, jnp.inf)


@program((8, 32, 32, 16))
def pixel_shuffle(x):
    return x.reshape(8, 32, 32, 2, 2, 4).transpose(0, 1, 3, 2, 4, 5).reshape(8, 64, 64, 4)


@program((16, 56, 56, 12))
def folded_patches(x):
    patches = lax.conv_general_dilated_patches(x, (4, 4), (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return jnp.tanh(patches).sum(-1)
