"""Operators between functions: learned and differential ones."""
import jax
import jax.numpy as jnp
from jax import lax

from kinds.register import program


def kept_modes(x, weights):
    """A layer of a Fourier neural operator: the lowest modes, each times its own complex matrix."""
    spectrum, modes = jnp.fft.rfft2(x, axes=(1, 2)), weights.shape[0]
    low = jnp.einsum("bxyc,xycd->bxyd", spectrum[:, :modes, :modes], lax.complex(weights[..., 0], weights[..., 1]))
    return jnp.fft.irfft2(jnp.zeros_like(spectrum).at[:, :modes, :modes].set(low), s=x.shape[1:3], axes=(1, 2))


@program((4, 64, 64, 32), (12, 12, 32, 32, 2), (32, 32))
def fourier_operator(x, weights, skip):
    return jax.nn.gelu(kept_modes(x, weights) + x @ skip)


@program((2, 32, 32, 16), (8, 8, 16, 16, 2), (16, 16))
def fourier_operator_gradient(x, weights, skip):
    loss = lambda weights, skip: jnp.square(jax.nn.gelu(kept_modes(x, weights) + x @ skip) - x).mean()
    return jax.grad(loss, (0, 1))(weights, skip)


@program((512, 2), (2, 64), (64, 64), (64, 1))
def residual_of_burgers(points, first, second, third):
    def velocity(point):
        return (jnp.tanh(jnp.tanh(point @ first) @ second) @ third)[0]

    def loss(point):
        slope = jax.grad(velocity)(point)
        bend = jax.hessian(velocity)(point)[0, 0]
        return slope[1] + velocity(point) * slope[0] - 0.003 * bend
    return jnp.square(jax.vmap(loss)(points)).mean()


@program((256, 2), (2, 64), (64, 64), (64, 1))
def residual_of_burgers_gradient(points, first, second, third):
    return jax.grad(residual_of_burgers, (1, 2, 3))(points, first, second, third)


@program((1024, 3), (3, 128), (128, 128), (128, 4))
def sines_of_coordinates_gradient(points, first, second, third):
    def loss(weights):
        x = points
        for matrix in weights[:-1]:
            x = jnp.sin(30 * (x @ matrix))
        return jnp.square(x @ weights[-1]).mean()
    return jax.grad(loss)((first, second, third))


@program((2, 128, 128), (128, 128))
def schroedinger_by_splitting(wave, potential):
    frequencies = jnp.fft.fftfreq(128) * 2 * jnp.pi
    kinetic = jnp.exp(-0.05j * (frequencies[:, None] ** 2 + frequencies[None] ** 2))

    def step(psi, _):
        psi = psi * jnp.exp(-0.05j * potential)
        psi = jnp.fft.ifft2(jnp.fft.fft2(psi) * kinetic)
        return psi, jnp.square(jnp.abs(psi)).sum()
    return lax.scan(step, lax.complex(wave[0], wave[1]), None, length=10)


@program((128, 128), (128, 128), (128, 128))
def carried_back_along_the_flow(density, across, down):
    rows, columns = jnp.meshgrid(jnp.arange(128.0), jnp.arange(128.0), indexing="ij")

    def step(density, _):
        where = jnp.stack([(rows - 0.5 * down) % 128, (columns - 0.5 * across) % 128])
        return jax.scipy.ndimage.map_coordinates(density, where, order=1, mode="wrap"), None
    return lax.scan(step, density, None, length=8)[0]


@program((4096,), ((8000, 3), "int32"), (8000, 3, 3))
def stiffness_times_vector(values, corners, stiffness):
    local = jnp.einsum("eij,ej->ei", stiffness, values[corners])
    return jnp.zeros_like(values).at[corners].add(local)


@program((2048, 2), (2048, 2), (64, 64))
def material_points(positions, velocities, mass):
    base = jnp.floor(positions * 60).astype(jnp.int32)
    near = positions * 60 - base
    weights = jnp.stack([0.5 * (1.5 - near) ** 2, 0.75 - (near - 1) ** 2, 0.5 * (near - 0.5) ** 2])  # of three cells
    both = weights[:, None, :, 0] * weights[None, :, :, 1]
    cells = base[None, None] + jnp.stack(jnp.meshgrid(jnp.arange(3), jnp.arange(3), indexing="ij"), -1)[:, :, None]
    grid = mass.at[cells[..., 0], cells[..., 1]].add(both, mode="drop")
    momentum = jnp.zeros((64, 64, 2)).at[cells[..., 0], cells[..., 1]].add(both[..., None] * velocities, mode="drop")
    momentum = momentum / jnp.maximum(grid, 1e-6)[..., None]
    return jnp.einsum("ijp,ijpd->pd", both, momentum.at[cells[..., 0], cells[..., 1]].get(mode="fill", fill_value=0))


@program((64, 64), (64, 64, 65))
def associated_legendre(field, weights):
    latitudes = jnp.cos(jnp.linspace(0.1, 3.0, 64))

    def step(carry, degree):
        last, now = carry
        following = ((2 * degree + 1) * latitudes * now - degree * last) / (degree + 1)
        return (now, following), now
    polynomials = lax.scan(step, (jnp.ones(64), latitudes), jnp.arange(1.0, 65))[1]
    spectrum = jnp.fft.rfft(field, axis=1)
    return jnp.einsum("lp,pm,pml->lm", polynomials, jnp.abs(spectrum), weights[:, :33, :64])


@program((96, 6), (6, 6), (6, 2), (12, 2))
def linear_quadratic_regulator(states, dynamics, control, start):
    def backwards(value, _):
        inner = jnp.eye(2) + control.T @ value @ control
        a, b, c, d = inner[0, 0], inner[0, 1], inner[1, 0], inner[1, 1]
        inverse = jnp.array([[d, -b], [-c, a]]) / (a * d - b * c)
        gain = inverse @ control.T @ value @ dynamics
        return jnp.eye(6) + dynamics.T @ value @ (dynamics - control @ gain), gain
    gains = lax.scan(backwards, jnp.eye(6), None, length=40)[1]
    forwards = lambda state, gain: (state @ (dynamics - control @ gain).T, state)
    return lax.scan(forwards, states, gains[::-1])
