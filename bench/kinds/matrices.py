"""Matrices: factors, systems, many small ones, sparse ones."""
import jax
import jax.numpy as jnp
from jax import lax

from kinds.register import program, varied


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


@program((128, 40), (40, 8))
def few_singular_values(a, directions):
    basis, _ = jnp.linalg.qr(a @ directions)
    for _ in range(2):
        basis, _ = jnp.linalg.qr(a @ jnp.linalg.qr(a.T @ basis)[0])
    left, values, right = jnp.linalg.svd(basis.T @ a, full_matrices=False)
    return basis @ left, values, right


@program((96, 64), (64, 32), (96, 32))
def factors_in_turn(a, b, c):
    middle = b[:, :32] @ jnp.eye(32)[:, :1] * jnp.ones((1, 64))
    tensor = jnp.einsum("ir,jr,kr->ijk", a, middle, c[:, :1] * jnp.ones((1, 64)))
    return jnp.einsum("ijk,jr,kr->ir", tensor, b, c) @ jnp.linalg.inv((b.T @ b) * (c.T @ c) + jnp.eye(32))


@program(((64, 64), "complex64"), ((64,), "complex64"))
def complex_system(a, b):
    a = a + 4 * jnp.eye(64)
    sign, log = jnp.linalg.slogdet(a)
    return jnp.linalg.solve(a, b), sign, log


@program(((48, 32), "complex64"))
def complex_factors(a):
    left, values, right = jnp.linalg.svd(a, full_matrices=False)
    q, r = jnp.linalg.qr(a)
    return values, jnp.abs(left @ right), jnp.abs(q).sum(), jnp.abs(r)


@program((256, 3), (3,))
def best_rotation(points, shift):
    others = jnp.roll(points, 1, 0) + shift
    a, b = points - points.mean(0), others - others.mean(0)
    left, _, right = jnp.linalg.svd(a.T @ b)
    sign = jnp.sign(jnp.linalg.det(left @ right))
    rotation = (left * jnp.array([1, 1, 1.0]).at[2].set(sign)) @ right
    return rotation, jnp.sqrt(((a @ rotation - b) ** 2).mean())


@program((48, 48))
def root_and_power(a):
    square = a @ a.T / 48 + jnp.eye(48)
    y, z = square / jnp.trace(square), jnp.eye(48)
    for _ in range(8):
        t = 0.5 * (3 * jnp.eye(48) - z @ y)
        y, z = y @ t, t @ z
    return y * jnp.sqrt(jnp.trace(square)), jnp.linalg.slogdet(square)[1], jnp.linalg.matrix_power(a / 7, 7)


@program((32, 16, 16))
def eigenvalues_gradient(a):
    def loss(a):
        values = jnp.linalg.eigh(a + jnp.swapaxes(a, 1, 2))[0]
        return jnp.log1p(values ** 2).sum() + jnp.linalg.eigh(a @ jnp.swapaxes(a, 1, 2))[1][..., 0].sum()
    return jax.grad(loss)(a)


@program((100, 30), (30, 30))
def least_squares_gradient(a, b):
    def loss(a):
        return (jnp.linalg.qr(a)[0] @ b).var() + jnp.linalg.lstsq(a, a[:, :1] + 1)[0].sum()
    return jax.grad(loss)(a)


@program((24, 24))
def eigenvalues_without_symmetry(a):
    values, vectors = jnp.linalg.eig(a)
    return jnp.sort(jnp.abs(values)), jnp.abs(vectors).sum()


@program((16, 8))
def roots_of_polynomials(coefficients):
    return jax.vmap(lambda c: jnp.abs(jnp.roots(c, strip_zeros=False)))(coefficients + 2)


@program((32, 32), (32, 32))
def triangle_and_root(a, b):
    triangle, _ = jax.scipy.linalg.schur(a)
    return triangle, jax.scipy.linalg.sqrtm(b @ b.T + jnp.eye(32)).real


@program((64, 200), (64, 200), (64, 200), (64, 200, 4))
def tridiagonal_primitive(low, middle, high, right):
    return lax.linalg.tridiagonal_solve(low.at[:, 0].set(0), middle + 4, high.at[:, -1].set(0), right)


@program((512, 512), (512,))
def system_of_512(a, b):
    return jnp.linalg.solve(a + 20 * jnp.eye(512), b)


@program((256, 256), (256, 256))
def inverse_of_256(a, b):
    return jnp.linalg.inv(a + 10 * jnp.eye(256)) @ b


@program((256, 256), (256, 64))
def cholesky_of_256(a, b):
    factor = jnp.linalg.cholesky(a @ a.T + jnp.eye(256))
    return jax.scipy.linalg.cho_solve((factor, True), b), jnp.log(jnp.diag(factor)).sum()


@program((64, 20, 33))
def squares_of_slices(x):
    x = jnp.swapaxes(x, 1, 2)[:, 3:]
    return x @ jnp.swapaxes(x, 1, 2)


@program((32768,), ((32768,), "int32"), ((32768,), "int32"), (1024, 16))
def sparse_times_matrix_gradient(values, rows, columns, x):
    rows, columns = jnp.sort(varied(rows) % 2048), varied(columns) % 1024

    def loss(values, x):
        return (jnp.tanh(jax.ops.segment_sum(values[:, None] * x[columns], rows, 2048, indices_are_sorted=True)) ** 2).sum()
    return jax.grad(loss, (0, 1))(values, x)


@program((64, 16, 16), ((64,), "int32"), (512, 8))
def sparse_blocks_times_matrix(blocks, columns, x):
    x = x.reshape(32, 16, 8)[varied(columns) % 32]
    return jnp.zeros((32, 16, 8)).at[jnp.arange(64) // 2].add(jnp.einsum("nij,njk->nik", blocks, x)).reshape(512, 8)
