"""Convolutions, poolings and samples of pictures, and their gradients."""
import jax
import jax.numpy as jnp
from jax import lax, nn

from kinds.register import program

PICTURES = ("NHWC", "HWIO", "NHWC")


def convolve(x, w, stride=1, **options):
    return lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=PICTURES, **options)


@program(((8, 64, 64, 16), "float16"), ((3, 3, 16, 32), "float16"), ((3, 3, 32, 32), "float16"), ((32,), "float16"))
def convolutions_f16_gradient(x, first, second, bias):
    def loss(first, second):
        inner = nn.relu(convolve(x, first, 2) + bias)
        return (nn.gelu(convolve(inner, second)).astype(jnp.float32) ** 2).mean()
    return jax.grad(loss, (0, 1))(first, second)


@program((4, 32, 32, 64), (4, 4, 64, 32), (4, 4, 32, 16))
def transposed_convolutions(x, first, second):
    x = nn.relu(lax.conv_transpose(x[:, ::2, ::2], first, (2, 2), "SAME"))
    return jnp.tanh(lax.conv_transpose(x, second, (2, 2), "SAME"))


@program((2, 24, 24, 32), (3, 3, 32, 18), (3, 3, 32, 32))
def deformable_convolution(x, to_offsets, weights):
    offset = convolve(x, to_offsets).reshape(2, 24, 24, 9, 2)
    rows, columns = jnp.meshgrid(jnp.arange(24.0), jnp.arange(24.0), indexing="ij")
    down, along = jnp.meshgrid(jnp.arange(-1.0, 2), jnp.arange(-1.0, 2), indexing="ij")
    y = rows[None, :, :, None] + down.reshape(-1) + offset[..., 0]
    x_at = columns[None, :, :, None] + along.reshape(-1) + offset[..., 1]
    above, left, samples = jnp.floor(y), jnp.floor(x_at), 0
    picture = jnp.arange(2)[:, None, None, None]
    for dy in (0, 1):
        for dx in (0, 1):
            row, column = above + dy, left + dx
            inside = (row >= 0) & (row < 24) & (column >= 0) & (column < 24)
            weight = (1 - jnp.abs(y - row)) * (1 - jnp.abs(x_at - column)) * inside
            at = picture, jnp.clip(row, 0, 23).astype(int), jnp.clip(column, 0, 23).astype(int)
            samples = samples + weight[..., None] * x[at]
    return jnp.einsum("bhwkc,kcf->bhwf", samples, weights.reshape(9, 32, 32))


@program((2, 24, 24, 8), (24, 24, 72, 4))
def weights_of_each_place(x, weights):
    return lax.conv_general_dilated_local(x, weights, (1, 1), "SAME", (3, 3), dimension_numbers=PICTURES)


@program((2, 32, 32, 16), (144, 32))
def patches_times_matrix(x, weights):
    return nn.relu(lax.conv_general_dilated_patches(x, (3, 3), (2, 2), "SAME", dimension_numbers=PICTURES) @ weights)


@program((8, 16, 32, 32), (16, 1, 3, 3), (8, 16, 32, 32))
def dilated_depthwise_gradient(x, weights, target):
    def loss(weights):
        return (lax.conv_general_dilated(x, weights, (1, 1), "SAME", feature_group_count=16, rhs_dilation=(2, 2)) * target).sum()
    return jax.grad(loss)(weights)


@program((1, 16, 16, 16, 8), (3, 3, 3, 8, 16), (2, 2, 2, 16, 8))
def volumes_down_and_up_gradient(x, first, second):
    names = ("NDHWC", "DHWIO", "NDHWC")

    def loss(first, second):
        inner = nn.relu(lax.conv_general_dilated(x, first, (2, 2, 2), "SAME", dimension_numbers=names))
        return (lax.conv_transpose(inner, second, (2, 2, 2), "SAME", dimension_numbers=names) ** 2).mean()
    return jax.grad(loss, (0, 1))(first, second)


@program(((4, 32, 32, 16), "int8"), ((3, 3, 16, 32), "int8"))
def convolution_s8(x, weights):
    return convolve(x, weights, preferred_element_type=jnp.int32)


@program((4, 32, 32, 8), (3, 3, 8, 16), (4, 32, 32, 8))
def pooled_with_tangents(x, weights, tangent):
    def pooled(x):
        return lax.reduce_window(convolve(x, weights), -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return jax.jvp(pooled, (x,), (tangent,))


@program((4, 32, 32, 32), (4, 32, 32, 32))
def poolings_gradient(x, target):
    def largest(x):
        return (lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME") * target[:, ::2, ::2]).sum()

    def norms(x):
        return (lax.reduce_window(x * x, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") ** 0.5).sum()
    return jax.grad(largest)(x) + jax.grad(norms)(x + 2)


@program((4, 64, 64, 16))
def pyramid_of_means(x):
    parts = [x]
    for size in (1, 2, 4, 8):
        means = x.reshape(4, size, 64 // size, size, 64 // size, 16).mean((2, 4))
        parts.append(jax.image.resize(means, x.shape, "bilinear"))
    return jnp.concatenate(parts, -1)


@program((8, 128, 128, 3))
def shrunk_pictures(x):
    return jax.image.resize(x, (8, 96, 96, 3), "lanczos3")


@program((64, 64, 16), (5, 16, 16))
def learned_cells(x, weights):
    slopes = jnp.stack([jnp.array([[1, 2, 1], [0, 0, 0], [-1, -2, -1.0]]), jnp.array([[1, 0, -1], [2, 0, -2], [1, 0, -1.0]])])

    def step(_, x):
        near = [convolve(x[None], jnp.tile(taps[:, :, None, None], (1, 1, 1, 16)) / 8, feature_group_count=16)[0] for taps in slopes]
        change = nn.relu(x @ weights[0] + near[0] @ weights[1] + near[1] @ weights[2]) @ weights[3]
        alive = lax.reduce_window(x[..., 3], -jnp.inf, lax.max, (3, 3), (1, 1), "SAME") > 0.1
        return jnp.where(alive[..., None], x + 0.01 * change, 0)
    return lax.fori_loop(0, 10, step, x)


@program((2, 32, 32, 16), (16, 4))
def regions_sampled_and_pooled(features, boxes):
    def region(box):
        rows = box[0] + (jnp.arange(14) + 0.5) * (box[2] + 1) / 14
        columns = box[1] + (jnp.arange(14) + 0.5) * (box[3] + 1) / 14
        at = jnp.stack(jnp.meshgrid(rows, columns, indexing="ij"))
        samples = jax.vmap(lambda c: jax.scipy.ndimage.map_coordinates(c, at, 1, mode="nearest"), 2, 2)(features[0])
        return lax.reduce_window(samples, -jnp.inf, lax.max, (2, 2, 1), (2, 2, 1), "VALID")
    return jax.vmap(region)(jnp.abs(boxes) * 10)


@program((1, 256, 256, 32), (500, 4))
def regions_between_cells(features, boxes):
    boxes = jnp.abs(boxes) * 100
    y = boxes[:, :1] + (jnp.arange(7) + 0.5) * (boxes[:, 2:3] + 1) / 7
    x = boxes[:, 1:2] + (jnp.arange(7) + 0.5) * (boxes[:, 3:] + 1) / 7
    above, left = jnp.floor(y), jnp.floor(x)
    down, right = y - above, x - left
    row, column = jnp.clip(above.astype(int), 0, 254), jnp.clip(left.astype(int), 0, 254)
    by_row, by_column = jnp.stack([1 - down, down]), jnp.stack([1 - right, right])

    def corner(i, j):
        cells = features[0][(row + i)[:, :, None], (column + j)[:, None]]
        return cells * by_row[i][:, :, None, None] * by_column[j][:, None, :, None]
    return sum(corner(i, j) for i in (0, 1) for j in (0, 1))
