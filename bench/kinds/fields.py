"""Fields on a grid, step by step."""
import jax
import jax.numpy as jnp
from jax import lax

from kinds.register import program, varied


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


@program((64, 64), (64, 64), (64, 64))
def lattice_around_a_disc(density, across, down):
    steps = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]
    x, y = jnp.array([0, 1, 0, -1, 0, 1, -1, -1, 1.0]), jnp.array([0, 0, 1, 0, -1, 1, 1, -1, -1.0])
    weight = jnp.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)

    def still(mass, u, v):
        along = 3 * (x[:, None, None] * u + y[:, None, None] * v)
        return mass * weight[:, None, None] * (1 + along + 0.5 * along * along - 1.5 * (u * u + v * v))
    flow = still(1 + 0.1 * density, 0.1 * across, 0.1 * down)
    solid = jnp.hypot(jnp.arange(64)[:, None] - 20.0, jnp.arange(64)[None] - 32.0) < 6
    opposite = jnp.array([0, 3, 4, 1, 2, 7, 8, 5, 6])

    def step(_, flow):
        mass = flow.sum(0)
        u, v = jnp.einsum("qxy,q->xy", flow, x) / mass, jnp.einsum("qxy,q->xy", flow, y) / mass
        after = flow - (flow - still(mass, u, v)) / 0.8
        after = jnp.where(solid, flow[opposite], after)
        return jnp.stack([jnp.roll(after[i], by, (0, 1)) for i, by in enumerate(steps)])
    return lax.fori_loop(0, 20, step, flow)


@program((4096,), (4096,), (4096,))
def shock_tube(density, momentum, energy):
    def parts(state):
        density, momentum, energy = state
        speed = momentum / density
        return density, speed, jnp.maximum(0.4 * (energy - 0.5 * density * speed * speed), 1e-3)

    def flux(state):
        density, speed, pressure = parts(state)
        return jnp.stack([density * speed, density * speed * speed + pressure, speed * (state[2] + pressure)])

    def step(_, state):
        ahead, behind = jnp.roll(state, -1, 1) - state, state - jnp.roll(state, 1, 1)
        slope = jnp.where(ahead * behind > 0, 2 * ahead * behind / (ahead + behind + 1e-12), 0)
        left, right = state + 0.5 * slope, jnp.roll(state - 0.5 * slope, -1, 1)
        (dl, ul, pl), (dr, ur, pr) = parts(left), parts(right)
        sound_l, sound_r = jnp.sqrt(1.4 * pl / dl), jnp.sqrt(1.4 * pr / dr)
        slow, fast = jnp.minimum(ul - sound_l, ur - sound_r), jnp.maximum(ul + sound_l, ur + sound_r)
        of_left, of_right = flux(left), flux(right)
        between = (fast * of_left - slow * of_right + slow * fast * (right - left)) / (fast - slow)
        through = jnp.where(slow > 0, of_left, jnp.where(fast < 0, of_right, between))
        return state - 0.1 * (through - jnp.roll(through, 1, 1))
    return lax.fori_loop(0, 10, step, jnp.stack([1 + jnp.abs(density), momentum * 0.1, 2 + jnp.abs(energy)]))


@program(((128, 128), "complex128"), ((128, 128), "float64"))
def condensate_by_splitting_c128(wave, potential):
    frequency = 2 * jnp.pi * jnp.fft.fftfreq(128)
    square = frequency[:, None] ** 2 + frequency[None] ** 2

    def step(_, wave):
        wave = wave * jnp.exp(-0.5j * 0.01 * (potential + jnp.abs(wave) ** 2))
        wave = jnp.fft.ifft2(jnp.exp(-1j * 0.01 * square) * jnp.fft.fft2(wave))
        return wave * jnp.exp(-0.5j * 0.01 * (potential + jnp.abs(wave) ** 2))
    return lax.fori_loop(0, 2, step, wave)


@program((3, 64, 64))
def vortices_by_spectra(vorticity):
    k = jnp.fft.fftfreq(64) * 64
    kx, ky = k[:, None], k[None, :33]
    square = kx ** 2 + ky ** 2
    inverse = jnp.where(square == 0, 0, 1 / jnp.where(square == 0, 1, square))

    def back(spectrum):
        return jnp.fft.irfft2(spectrum, (64, 64))

    def change(w):
        stream = w * inverse
        u, v = back(1j * ky * stream), back(-1j * kx * stream)
        return -jnp.fft.rfft2(u * back(1j * kx * w) + v * back(1j * ky * w)) * (square < 400) - 0.001 * square * w

    def step(w, _):
        a = change(w)
        b = change(w + 0.005 * a)
        c = change(w + 0.005 * b)
        d = change(w + 0.01 * c)
        return w + 0.01 / 6 * (a + 2 * b + 2 * c + d), None
    return back(lax.scan(step, jnp.fft.rfft2(vorticity), None, length=3)[0])


@program((32, 32, 32), (32, 32, 32))
def phases_that_part(phase, push):
    def laplacian(a):
        return sum(jnp.roll(a, 1, i) + jnp.roll(a, -1, i) for i in range(3)) - 6 * a

    def energy(phase):
        wells = 0.25 * (phase * phase - 1) ** 2
        slopes = sum((jnp.roll(phase, -1, i) - phase) ** 2 for i in range(3))
        return (wells + 0.5 * slopes + phase * push).sum()
    return lax.fori_loop(0, 5, lambda _, phase: phase + 0.01 * laplacian(jax.grad(energy)(phase)), phase)


@program(((128, 128), "int32"))
def game_of_life_s8(cells):
    cells = (varied(cells) & 1).astype(jnp.int8)

    def step(_, cells):
        count = sum(jnp.roll(cells, (a, b), (0, 1)) for a in (-1, 0, 1) for b in (-1, 0, 1) if a or b)
        return ((count == 3) | ((cells == 1) & (count == 2))).astype(jnp.int8)
    return lax.fori_loop(0, 32, step, cells)
