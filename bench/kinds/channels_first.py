"""Pictures and signals with their channels before rows and columns, as PyTorch and ONNX keep them, and their gradients."""
import jax
import jax.numpy as jnp
from jax import lax, nn

from kinds.register import program

PICTURES = ("NCHW", "OIHW", "NCHW")


def convolve(x, w, stride=1, groups=1):
    return lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=PICTURES, feature_group_count=groups)


def normalised(x, scale, offset):
    mean, variance = x.mean((0, 2, 3), keepdims=True), x.var((0, 2, 3), keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * scale[:, None, None] + offset[:, None, None]


@program((1, 64, 32, 32), (64, 64, 3, 3), (64, 64, 3, 3), (64,), (64,))
def residual_block_gradient(x, first, second, scale, offset):
    def loss(first, second):
        inner = nn.relu(normalised(convolve(x, first), scale, offset))
        return (nn.relu(normalised(convolve(inner, second), scale, offset) + x) ** 2).mean()
    return jax.value_and_grad(loss, (0, 1))(first, second)


@program((1, 256, 14, 14), (512, 256, 3, 3), (512, 256, 1, 1), (512, 512, 3, 3))
def strided_residual_block(x, first, shortcut, second):
    inner = nn.relu(convolve(x, first, 2))
    return nn.relu(convolve(inner, second) + convolve(x, shortcut, 2)).mean((2, 3))


@program((4, 8, 32, 32), (32, 8, 3, 3), (64, 32, 3, 3), (10, 4096))
def small_network_gradient(x, first, second, last):
    def loss(first, second, last):
        def pooled(x):
            return lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
        inner = pooled(nn.relu(convolve(x, first)))
        inner = pooled(nn.relu(convolve(inner, second)))
        return (nn.log_softmax(inner.reshape(4, -1) @ last.T) ** 2).mean()
    return jax.value_and_grad(loss, (0, 1, 2))(first, second, last)


@program((2, 128, 28, 28), (128, 128, 1, 1), (128, 4, 3, 3), (128, 128, 1, 1))
def grouped_block_gradient(x, narrow, groups, wide):
    def loss(narrow, groups, wide):
        inner = nn.relu(convolve(nn.relu(convolve(x, narrow)), groups, 1, 32))
        return (nn.relu(convolve(inner, wide) + x) ** 2).mean()
    return jax.grad(loss, (0, 1, 2))(narrow, groups, wide)


@program((1, 16, 4000), (32, 16, 9), (32, 32, 9))
def signal_encoder(x, first, second):
    def along(x, w, stride):
        return lax.conv_general_dilated(x, w, (stride,), "SAME", dimension_numbers=("NCW", "OIW", "NCW"))
    return nn.gelu(along(nn.gelu(along(x, first, 2)), second, 2))
