"""Matrices: factors, systems, many small ones."""
import jax
import jax.numpy as jnp
from jax import lax

from kinds.register import program


@program((128, 4), (128,), (64, 4))
def gaussian_process(x, y, new):
    def kernel(a, b):
        return jnp.exp(-0.5 * ((a[:, None] - b) ** 2).sum(-1))
    factor = jnp.linalg.cholesky(kernel(x, x) + 0.1 * jnp.eye(128))
    between = kernel(new, x)
    half = jax.scipy.linalg.solve_triangular(factor, between.T, lower=True)
    return between @ jax.scipy.linalg.cho_solve((factor, True), y), 1 - (half**2).sum(0)


@program((20000, 3, 3))
def determinants(matrices):
    return jnp.linalg.det(matrices)


@program((20000, 3, 3))
def inverses(matrices):
    return jnp.linalg.inv(matrices + 4 * jnp.eye(3))


@program((500, 30), (500,))
def least_squares(a, b):
    q, r = jnp.linalg.qr(a)
    return jax.scipy.linalg.solve_triangular(r, q.T @ b)


@program((400, 20))
def principal_components(x):
    x = x - x.mean(0)
    return x @ jnp.linalg.svd(x, full_matrices=False)[2].T[:, :3]


@program(((4096,), "complex64"), (8,))
def quantum_circuit(state, angles):
    state = state.reshape((2,) * 12)
    for gate in range(24):
        half = angles[gate % 8] / 2
        matrix = jnp.cos(half) * jnp.eye(2) - 1j * jnp.sin(half) * jnp.eye(2)[::-1]
        state = jnp.moveaxis(jnp.tensordot(matrix.astype(jnp.complex64), state, ((1,), (gate % 12,))), 0, gate % 12)
    return jnp.abs(state.reshape(-1)) ** 2


@program((64, 32, 32))
def matrix_exponentials(a):
    return jax.vmap(jax.scipy.linalg.expm)(0.1 * a)


@program((4096, 4, 4), (4096, 4, 4), (4096, 4))
def chains_of_frames(a, b, x):
    return jnp.einsum("nij,njk,nk->ni", a, b, x), jnp.cumsum(jnp.einsum("nij,njk->nik", a, b), 0)[-1]


@program((64, 512), (64, 512), (64, 512), (64, 512))
def tridiagonal_systems(low, middle, high, right):
    middle = jnp.abs(middle) + 3
    def forward(carry, x):
        c, d = carry
        low, middle, high, right = x
        scale = middle - low * c
        return (high / scale, (right - low * d) / scale), (high / scale, (right - low * d) / scale)
    _, (c, d) = lax.scan(forward, (jnp.zeros(64), jnp.zeros(64)), (low.T, middle.T, high.T, right.T))
    def backward(x, cd):
        x = cd[1] - cd[0] * x
        return x, x
    return lax.scan(backward, jnp.zeros(64), (c, d), reverse=True)[1].T


@program((100, 40))
def gram_schmidt(a):
    def column(i, q):
        v = q[:, i]
        earlier = q * (jnp.arange(40) < i)
        v = v - earlier @ (earlier.T @ v)
        return q.at[:, i].set(v / jnp.linalg.norm(v))
    return lax.fori_loop(0, 40, column, a)


@program((32, 48), (32, 48))
def kronecker(a, b):
    return jnp.kron(a, b)


@program((32, 24, 24), (32, 24))
def batched_cholesky_solve(a, b):
    spd = a @ a.transpose(0, 2, 1) + 24 * jnp.eye(24)
    factor = jnp.linalg.cholesky(spd)
    return jax.vmap(lambda l, v: jax.scipy.linalg.cho_solve((l, True), v))(factor, b)


@program((200, 200), (200,))
def conjugate_gradients(a, b):
    spd = a @ a.T + 200 * jnp.eye(200)
    return jax.scipy.sparse.linalg.cg(lambda x: spd @ x, b, maxiter=20)[0]


@program((64, 64, 64))
def symmetrised_cube(x):
    return (x + x.transpose(1, 0, 2) + x.transpose(2, 1, 0) + x.transpose(0, 2, 1)) / 4


@program((8, 6, 8, 10), (10, 8, 12, 4))
def tensor_network(a, b):
    return jnp.einsum("abcd,dcef,abgd->fge", a, b, jnp.tanh(a))


@program((512, 512))
def power_iteration(a):
    def step(v, _):
        v = a @ v
        return v / jnp.linalg.norm(v), None
    v, _ = lax.scan(step, jnp.ones(512), None, length=20)
    return v @ (a @ v)
