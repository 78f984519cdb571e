"""Sounds and series: pitches, features of frames, windows that slide."""
import jax
import jax.numpy as jnp
from jax import lax, nn

from kinds.register import program


def windows(count, length, every=1):
    starts = jnp.arange(count)[:, None]
    return (starts if every == 1 else starts * every) + jnp.arange(length)


@program((4, 16000), (257, 40))
def cepstra(signal, mel):
    signal = signal[:, 1:] - 0.97 * signal[:, :-1]
    frames = signal[:, windows(98, 400, 160)] * (0.5 - 0.5 * jnp.cos(2 * jnp.pi * jnp.arange(400) / 399))
    power = jnp.abs(jnp.fft.rfft(frames, 512)) ** 2 / 512
    loudness = jnp.log(jnp.maximum(power @ jnp.abs(mel), 1e-10))
    cepstrum = jax.scipy.fft.dct(loudness, norm="ortho")[..., :13]
    return jnp.concatenate([cepstrum[:, 1:-1], (cepstrum[:, 2:] - cepstrum[:, :-2]) / 2], -1)


@program((32, 1024), (1024, 84, 2))
def constant_quality_transform(frames, kernels):
    kernels = kernels[..., 0] + 1j * kernels[..., 1]
    tones = jnp.fft.fft(frames.astype(jnp.complex64)) @ kernels
    return jnp.log1p(jnp.abs(tones)), jnp.unwrap(jnp.angle(tones), axis=0)


@program((8192,))
def stretched_in_time(x):
    window, x = jnp.hanning(512), jnp.pad(x, (256, 1024))

    def step(carry, k):
        out, last = carry
        wanted = lax.dynamic_slice(x, (last + 256,), (512,))
        start = k * 320
        near = lax.dynamic_slice(x, (start,), (512 + 128,))
        likeness = lax.conv_general_dilated(near[None, None], wanted[None, None], (1,), "VALID")[0, 0]
        best = start + jnp.argmax(likeness).astype(jnp.int32)
        added = lax.dynamic_slice(out, (k * 256,), (512,)) + window * lax.dynamic_slice(x, (best,), (512,))
        return (lax.dynamic_update_slice(out, added, (k * 256,)), best), best
    return lax.scan(step, (jnp.zeros(24 * 256 + 512), jnp.int32(0)), jnp.arange(24, dtype=jnp.int32))[0][0]


@program((4, 8000))
def pitch_by_differences(signal):
    frames = signal[:, windows(30, 1024, 200)]
    spectrum = jnp.fft.rfft(frames, 2048)
    alike = jnp.fft.irfft(spectrum * jnp.conj(spectrum), 2048)[..., :400]
    difference = 2 * (alike[..., :1] - alike)
    normal = difference * jnp.arange(400) / (jnp.cumsum(difference, -1) + 1e-6)
    low = normal[..., 40:] < 0.3
    return jnp.where(low.any(-1), jnp.argmax(low, -1), jnp.argmin(normal[..., 40:], -1)) + 40


@program((64, 2048), (64, 6, 5))
def cascade_of_filters(x, coefficients):
    coefficients = jnp.tanh(coefficients) * 0.3

    def section(x, c):
        def step(state, x):
            y = c[:, 0] * x + state[0]
            return (c[:, 1] * x - c[:, 3] * y + state[1], c[:, 2] * x - c[:, 4] * y), y
        return lax.scan(step, (jnp.zeros(64), jnp.zeros(64)), x)[1]
    x = x.T[:512]
    for i in range(6):
        x = section(x, coefficients[:, i])
    return x.T


@program((256, 16))
def filter_of_scalars(x):
    def step(carry, value):
        y = value + 0.5 * carry[0] - 0.2 * carry[1]
        return (y, carry[0]), y
    return lax.scan(step, (0.0, 0.0), x.reshape(-1))[1]


@program((4, 4000, 1), (20, 1, 32), (8, 32, 64), (4, 64, 64))
def wave_encoder_gradient(x, first, second, third):
    def convolve(x, w, stride):
        return lax.conv_general_dilated(x, w, (stride,), "SAME", dimension_numbers=("NWC", "WIO", "NWC"))

    def loss(weights):
        inner = nn.gelu(convolve(nn.gelu(convolve(x, weights[0], 10)), weights[1], 4))
        return (nn.gelu(convolve(inner, weights[2], 2)) ** 2).mean()
    return jax.grad(loss)((first, second, third))


@program((2, 32000), (33,))
def windows_times_taps(x, taps):
    return x[:, windows(32000 - 32, 33)] @ taps


@program(((8192,), "int16"), ((8192,), "int16"))
def saturating_taps_s16(x, taps):
    taps = (taps[:32] >> 6).astype(jnp.int32)
    sums = (x[windows(8161, 32)].astype(jnp.int32) * taps).sum(1)
    return jnp.clip((sums + (1 << 9)) >> 10, -32768, 32767).astype(jnp.int16)


@program(((32000,), "int16"))
def maxima_of_windows_s16(x):
    at = windows(32000 - 8, 8)
    return x[at].max(1), x[at].astype(jnp.int32).sum(1)


@program((2000,), (2000,))
def normalised_windows(x, pattern):
    near = x[windows(2000 - 63, 64)]
    normal = (near - near.mean(1, keepdims=True)) / (near.std(1, keepdims=True) + 1e-3)
    return normal @ pattern[:64], jnp.abs(normal).max(1)


@program((2000,), (2000,))
def smoothed_by_polynomials(x, y):
    at = windows(1990, 11)
    fit = jnp.linalg.pinv(jnp.vander(jnp.arange(-5.0, 6), 4))
    return x[at] @ fit.T[:, -1], jnp.median(y[at], 1), jnp.sort(x[at], 1)[:, 2]


@program((16384,), (16384,))
def rolling_statistics(x, y):
    def mean(a):
        sums = jnp.pad(jnp.cumsum(a), (1, 0))
        return (sums[50:] - sums[:-50]) / 50

    def extreme(start, by):
        return lax.reduce_window(x, start, by, (50,), (1,), "VALID")
    mean_x, mean_y = mean(x), mean(y)
    together = mean(x * y) - mean_x * mean_y
    smooth = lax.associative_scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (jnp.full(16384, 0.9), x * 0.1))[1]
    variances = (mean(x * x) - mean_x ** 2) * (mean(y * y) - mean_y ** 2)
    return together / jnp.sqrt(jnp.maximum(variances, 1e-6)), smooth, extreme(-jnp.inf, lax.max), extreme(jnp.inf, lax.min)


@program((128,), (128,))
def uneven_periodogram(times, values):
    frequency, times = jnp.linspace(0.1, 20, 512)[:, None], times * 10
    sines, cosines = jnp.sin(2 * frequency * times).sum(1), jnp.cos(2 * frequency * times).sum(1)
    delay = jnp.arctan2(sines, cosines)[:, None] / (2 * frequency)
    cosine, sine = jnp.cos(frequency * (times - delay)), jnp.sin(frequency * (times - delay))
    return 0.5 * ((cosine @ values) ** 2 / (cosine * cosine).sum(1) + (sine @ values) ** 2 / (sine * sine).sum(1))
