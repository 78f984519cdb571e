"""Fields on a grid, step by step."""
import jax.numpy as jnp
from jax import lax

from kinds.register import program


@program((128, 128, 9))
def lattice_boltzmann(density):
    steps = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]
    x, y = jnp.array([float(s[0]) for s in steps]), jnp.array([float(s[1]) for s in steps])
    weight = jnp.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)

    def step(density, _):
        mass = density.sum(-1) + 1
        u, v = (density @ x) / mass, (density @ y) / mass
        along = u[..., None] * x + v[..., None] * y
        still = mass[..., None] * weight * (1 + 3 * along + 4.5 * along ** 2 - 1.5 * (u ** 2 + v ** 2)[..., None])
        density = density - 0.6 * (density - still)
        return jnp.stack([jnp.roll(density[..., i], s, (0, 1)) for i, s in enumerate(steps)], -1), None
    return lax.scan(step, density, None, length=10)[0]


@program((192, 192), (192, 192), (192, 192))
def shallow_water(height, u, v):
    def slope(a, axis):
        return (jnp.roll(a, -1, axis) - jnp.roll(a, 1, axis)) / 2

    def step(state, _):
        h, u, v = state
        return (h - 0.01 * (slope(h * u, 0) + slope(h * v, 1)),
                u - 0.01 * (9.8 * slope(h, 0) + u * slope(u, 0) + v * slope(u, 1)),
                v - 0.01 * (9.8 * slope(h, 1) + u * slope(v, 0) + v * slope(v, 1))), None
    return lax.scan(step, (height, u, v), None, length=10)[0]


@program(*[(64, 64, 64)] * 6)
def electric_and_magnetic(ex, ey, ez, hx, hy, hz):
    def ahead(a, axis):
        return jnp.diff(a, axis=axis, append=lax.slice_in_dim(a, 0, 1, axis=axis))
    for _ in range(2):
        hx = hx - 0.3 * (ahead(ez, 1) - ahead(ey, 2))
        hy = hy - 0.3 * (ahead(ex, 2) - ahead(ez, 0))
        hz = hz - 0.3 * (ahead(ey, 0) - ahead(ex, 1))
        ex = ex + 0.3 * (ahead(hz, 1) - ahead(hy, 2))
        ey = ey + 0.3 * (ahead(hx, 2) - ahead(hz, 0))
        ez = ez + 0.3 * (ahead(hy, 0) - ahead(hx, 1))
    return ex, ey, ez, hx, hy, hz


@program((256,))
def burgers_by_spectra(u):
    wave = jnp.fft.rfftfreq(256, 1 / 256) * 1j

    def change(u):
        return -u * jnp.fft.irfft(wave * jnp.fft.rfft(u)) + 0.1 * jnp.fft.irfft(wave ** 2 * jnp.fft.rfft(u))

    def step(u, _):
        first = change(u)
        return u + 5e-5 * (first + change(u + 1e-4 * first)), None
    return lax.scan(step, u, None, length=20)[0]


@program((128, 128), (128, 128))
def reaction_diffusion(u, v):
    def laplacian(x):
        return sum(jnp.roll(x, s, a) for s in (1, -1) for a in (0, 1)) - 4 * x
    def step(state, _):
        u, v = state
        reaction = u * v * v
        return (u + 0.16 * laplacian(u) - reaction + 0.035 * (1 - u), v + 0.08 * laplacian(v) + reaction - 0.1 * v), None
    return lax.scan(step, (u, v), None, length=16)[0]


@program((64, 64, 64))
def diffusion_in_space(x):
    inner = x[1:-1, 1:-1, 1:-1]
    around = x[2:, 1:-1, 1:-1] + x[:-2, 1:-1, 1:-1] + x[1:-1, 2:, 1:-1] + x[1:-1, :-2, 1:-1] + x[1:-1, 1:-1, 2:] + x[1:-1, 1:-1, :-2]
    return x.at[1:-1, 1:-1, 1:-1].set(inner + 0.1 * (around - 6 * inner))


@program((256, 256))
def poisson_by_spectra(source):
    k = jnp.fft.fftfreq(256) * 2 * jnp.pi
    square = k[:, None] ** 2 + k[None] ** 2
    return jnp.real(jnp.fft.ifft2(jnp.fft.fft2(source) / jnp.where(square == 0, 1, -square)))


@program((512, 3))
def advected_by_slopes(q):
    def minmod(a, b):
        return jnp.where(a * b > 0, jnp.where(jnp.abs(a) < jnp.abs(b), a, b), 0)
    def step(q, _):
        slope = minmod(q - jnp.roll(q, 1, 0), jnp.roll(q, -1, 0) - q)
        flux = q + 0.25 * slope
        return q - 0.5 * (flux - jnp.roll(flux, 1, 0)), None
    return lax.scan(step, q, None, length=32)[0]
