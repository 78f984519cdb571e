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
