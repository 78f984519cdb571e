"""Signals: filters and transforms."""
import jax
import jax.numpy as jnp
from jax import lax

from kinds.register import program


@program((16, 8192), (64,))
def finite_response(signal, taps):
    return jax.vmap(lambda s: jnp.convolve(s, taps, mode="same"))(signal)


@program((64, 4096))
def haar_wavelets(x):
    parts = []
    while x.shape[-1] > 8:
        even, odd = x[:, ::2], x[:, 1::2]
        parts.append((even - odd) / jnp.sqrt(2))
        x = (even + odd) / jnp.sqrt(2)
    return jnp.concatenate([x, *parts[::-1]], -1)


@program((64, 1024, 8), (64, 1024, 8))
def linear_recurrence(decay, x):
    def combine(a, b):
        return a[0] * b[0], a[1] * b[0] + b[1]
    return lax.associative_scan(combine, (jax.nn.sigmoid(decay), x), axis=1)[1]


@program((32, 512))
def autocorrelation(x):
    spectrum = jnp.fft.rfft(x, 1024)
    return jnp.fft.irfft(spectrum * jnp.conj(spectrum))[:, :512]


@program((32, 1024))
def cosine_transform(x):
    return jax.scipy.fft.dct(x, norm="ortho")
