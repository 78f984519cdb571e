"""Bytes, halves and other types than f32, and what is stored in fewer bits than it is computed with."""
import jax
import jax.numpy as jnp
from jax import lax, nn

from kinds.register import program, varied


def product(a, b, result):
    return lax.dot_general(a, b, (((1,), (0,)), ((), ())), preferred_element_type=result)


@program(((64, 256), "int8"), ((256, 512), "int8"), ((512, 256), "int8"), (512,), (256,))
def layers_s8(x, first, second, first_scale, second_scale):
    hidden = jnp.clip(jnp.round(product(x, first, jnp.int32) * (jnp.abs(first_scale) * 1e-3)), 0, 127).astype(jnp.int8)
    return jnp.clip(jnp.round(product(hidden, second, jnp.int32) * (jnp.abs(second_scale) * 1e-3)), -128, 127).astype(jnp.int8)


@program((64, 256), (256, 512))
def product_rounded_to_s8(x, weights):
    of_rows = jnp.abs(x).max(1, keepdims=True) / 127
    of_columns = jnp.abs(weights).max(0, keepdims=True) / 127

    def rounded(a):
        return jnp.clip(jnp.round(a), -127, 127).astype(jnp.int8)
    return product(rounded(x / of_rows), rounded(weights / of_columns), jnp.int32) * of_rows * of_columns


@program((128, 256), (256, 256))
def product_scaled_to_f8(x, weights):
    of_x, of_weights = jnp.abs(x).max() / 448, jnp.abs(weights).max() / 448
    x, weights = (x / of_x).astype(jnp.float8_e4m3fn), (weights / of_weights).astype(jnp.float8_e4m3fn)
    return product(x, weights, jnp.float32) * of_x * of_weights


@program((64, 256), ((256, 256), "float8_e5m2"), ((256, 256), "float8_e4m3fn"))
def weights_of_two_f8(x, first, second):
    out = nn.gelu(x @ first.astype(jnp.float32)) @ second.astype(jnp.bfloat16).astype(jnp.float32)
    return out, jnp.clip(x, -448, 448).astype(jnp.float8_e4m3fn)


@program((64, 256), ((256, 256), "int4"), (4, 256))
def weights_s4_by_groups(x, weights, scales):
    weights = weights.reshape(4, 64, 256).astype(jnp.float32) * scales[:, None]
    return (x.reshape(64, 4, 64).swapaxes(0, 1) @ weights).sum(0)


@program(((4, 128, 256), "bfloat16"), ((256,), "bfloat16"), ((256, 1024), "bfloat16"), ((1024, 256), "bfloat16"), ((4, 128, 256), "bfloat16"))
def gated_block_bf16_gradient(x, scale, up, down, target):
    def loss(scale, up, down):
        wide = x.astype(jnp.float32)
        normal = (wide * lax.rsqrt((wide * wide).mean(-1, keepdims=True) + 1e-6)).astype(jnp.bfloat16) * scale
        gate, value = jnp.split(normal @ up, 2, -1)
        out = x + jnp.concatenate([nn.silu(gate) * value, gate], -1) @ down
        return ((out - target).astype(jnp.float32) ** 2).mean()
    return jax.value_and_grad(loss, (0, 1, 2))(scale, up, down)


@program(*[((64, 256), "bfloat16")] * 2, *[((256, 256), "bfloat16")] * 3)
def low_rank_change_bf16_gradient(x, target, weights, first, second):
    def loss(first, second):
        hidden = x @ weights + (x @ first[:, :8]) @ second[:8] * 2
        return ((nn.relu(hidden) - target).astype(jnp.float32) ** 2).mean()
    return jax.grad(loss, (0, 1))(first, second)


@program(((16, 1024), "bfloat16"))
def layer_norm_bf16_gradient(x):
    def loss(x):
        normal = (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
        return (nn.gelu(normal) * x).sum().astype(jnp.float32)
    return jax.grad(loss)(x)


@program((64, 64), ((64, 64), "bfloat16"), ((64, 64), "float16"))
def chain_of_types(a, b, c):
    x = a.astype(jnp.bfloat16) @ b
    y = c @ x.astype(jnp.float16)
    z = lax.reduce_precision(y.astype(jnp.float32), 5, 2)
    bits = lax.bitcast_convert_type(b, jnp.uint16).sum()
    return jnp.cumsum(z.astype(jnp.bfloat16), 0), bits, jnp.sort(c, -1), jnp.argmax(x, 0), lax.top_k(y, 5)


@program(((64, 64), "complex64"), ((64, 64), "complex64"))
def operations_c64(a, b):
    mixed = lax.conv_general_dilated(a[None, None], b[None, None, :5, :5], (1, 1), "SAME")[0, 0]
    sums = jnp.zeros(64, jnp.complex64).at[jnp.arange(64) % 10].add(mixed[0])
    products = jnp.cumprod(a / (jnp.abs(a) + 0.1), 0)
    return jnp.cumsum(mixed, 1), sums, products, jnp.sort(mixed[0]), jnp.exp(a) / jnp.tanh(b + 2), a ** 1.5


@program(((128, 128), "int32"), ((128, 128), "int32"))
def products_modulo(a, b):
    a, b = varied(a) % 97, varied(b) % 97
    return lax.fori_loop(0, 4, lambda _, m: (m @ b) % 97, a), (a > 40) @ (b > 40)


@program(((4096,), "int64"), ((4096,), "int64"))
def powers_of_remainders_s64(bases, exponents):
    prime = 998244353

    def step(_, carry):
        result, base, exponent = carry
        return jnp.where(exponent & 1, result * base % prime, result), base * base % prime, exponent >> 1
    return lax.fori_loop(0, 20, step, (jnp.ones_like(bases), jnp.abs(bases) % prime, jnp.abs(exponents) % (1 << 20)))[0]


@program(((32, 24, 24), "float64"))
def nearest_rotations_f64(matrices):
    left, values, right = jnp.linalg.svd(matrices, full_matrices=False)
    return left @ right, values


@program(((1000,), "float64"), ((1000,), "float64"))
def special_functions_f64(a, x):
    a, x, special = jnp.abs(a) + 0.5, jnp.abs(x) + 0.1, jax.scipy.special
    beta = special.betainc(a, x + 0.1, jnp.clip(x / 10, 0.01, 0.9))
    return special.gammainc(a, x), beta, special.erfinv(jnp.tanh(x)), special.digamma(a), special.i0e(x), special.zeta(a + 1.2, x)
