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


@program((8, 16000))
def spectrogram_gradient(signal):
    def loudness(x):
        return jnp.sum(jnp.abs(jax.scipy.signal.stft(x, nperseg=256, noverlap=192)[2]) ** 2)
    return jax.grad(loudness)(signal)


@program((8, 16000))
def there_and_back(signal):
    spectra = jax.scipy.signal.stft(signal, nperseg=256, noverlap=192)[2]
    return jax.scipy.signal.istft(spectra * 0.5, nperseg=256, noverlap=192)[1]


@program((4, 16384))
def power_spectrum(signal):
    return jax.scipy.signal.welch(signal, nperseg=512)[1]


@program((16, 4096))
def phase_vocoder(signal):
    frames = signal.reshape(16, 32, 128)
    spectra = jnp.fft.rfft(frames * jnp.hanning(128))
    phase = jnp.unwrap(jnp.angle(spectra), axis=1)
    return jnp.fft.irfft(jnp.abs(spectra) * jnp.exp(1j * phase * 1.5))


@program((64, 1000))
def resampled(signal):
    at = jnp.linspace(0.0, 999.0, 1500)
    return jax.vmap(lambda s: jnp.interp(at, jnp.arange(1000.0), s))(signal)


@program((8, 4096))
def analytic_envelope(signal):
    spectrum = jnp.fft.fft(signal)
    step = jnp.where(jnp.arange(4096) < 2048, 2.0, 0.0).at[0].set(1.0)
    return jnp.abs(jnp.fft.ifft(spectrum * step))


@program((32, 2048))
def overlapping_frames(signal):
    at = jnp.arange(0, 2048 - 256 + 1, 64)[:, None] + jnp.arange(256)[None]
    frames = signal[:, at] * jnp.hanning(256)
    return jnp.zeros_like(signal).at[:, at].add(frames)


@program((16, 1024), (16, 1024))
def delay_by_correlation(a, b):
    product = jnp.fft.rfft(a, 2048) * jnp.conj(jnp.fft.rfft(b, 2048))
    return jnp.argmax(jnp.fft.irfft(product / (jnp.abs(product) + 1e-6)), -1)


@program(((32, 64), "complex64"), (181,))
def directions_of_arrival(x, angles):
    vectors = jnp.linalg.eigh(x @ jnp.conj(x.T) / 64)[1]
    noise = vectors[:, :-4]
    steering = jnp.exp(-1j * jnp.pi * jnp.arange(32)[:, None] * jnp.sin(angles))
    return 1 / (jnp.abs(jnp.conj(noise.T) @ steering) ** 2).sum(0)


@program(((16, 16, 16), "complex64"), ((16, 16), "complex64"))
def symbols_of_antennas(channel, received):
    square = jnp.conj(jnp.swapaxes(channel, 1, 2)) @ channel + 0.1 * jnp.eye(16)
    factor = jnp.linalg.cholesky(square)
    right = jnp.conj(jnp.swapaxes(channel, 1, 2)) @ received[..., None]
    half = lax.linalg.triangular_solve(factor, right, left_side=True, lower=True)
    sent = lax.linalg.triangular_solve(factor, half, left_side=True, lower=True, transpose_a=True, conjugate_a=True)
    return jnp.argmin(jnp.abs(sent - jnp.array([1 + 1j, 1 - 1j, -1 + 1j, -1 - 1j])), -1)


@program(((64, 64), "complex64"), (64,))
def retrieved_phases(a, loudness):
    def loss(x):
        return ((jnp.abs(jnp.fft.fft(a @ x)) - jnp.abs(loudness)) ** 2).sum()
    return lax.fori_loop(0, 10, lambda _, x: x - 0.001 * jnp.conj(jax.grad(loss)(x)), a[0])


@program((24, 24, 24, 2))
def magnetic_resonance(spectra):
    seen = (spectra[..., 0] + 1j * spectra[..., 1])[:8]
    coils = jnp.exp(1j * jnp.arange(8)[:, None, None] * 0.1) * (spectra[:8, :, :, 0] + 1.5)
    mask = (jnp.arange(24) % 2 == 0) * 1.0

    def forwards(x):
        return mask * jnp.fft.fft2(coils * x, norm="ortho")

    def backwards(y):
        return (jnp.conj(coils) * jnp.fft.ifft2(mask * y, norm="ortho")).sum(0)
    return jax.scipy.sparse.linalg.cg(lambda x: backwards(forwards(x)) + 0.01 * x, backwards(seen), maxiter=8)[0]
