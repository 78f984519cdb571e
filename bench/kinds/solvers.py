"""Fits, programs and systems that are solved in steps."""
import jax
import jax.numpy as jnp
from jax import lax, nn
from jax.scipy.optimize import minimize

from kinds.register import program


def triangular(factor, right, **options):
    return lax.linalg.triangular_solve(factor, right, left_side=True, lower=True, **options)


@program((256,), (256,), (3,))
def moved_simplex(x, y, start):
    def cost(p):
        return ((p[0] * jnp.exp(-x * p[1]) + p[2] - y) ** 2).mean()
    corners = jnp.concatenate([start[None], start + 0.1 * jnp.eye(3)])

    def step(_, carry):
        corners, costs = carry
        order = jnp.argsort(costs)
        corners, costs = corners[order], costs[order]
        middle = corners[:3].mean(0)
        reflected = 2 * middle - corners[3]
        of_reflected = cost(reflected)
        further, nearer = 3 * middle - 2 * corners[3], 0.5 * (middle + corners[3])

        def replaced(_):
            def expanded():
                return lax.cond(cost(further) < of_reflected, lambda: corners.at[3].set(further), lambda: corners.at[3].set(reflected))
            return lax.cond(of_reflected < costs[0], expanded, lambda: corners.at[3].set(reflected))

        def contracted(_):
            return lax.cond(cost(nearer) < costs[3], lambda: corners.at[3].set(nearer), lambda: 0.5 * (corners + corners[0]))
        corners = lax.cond(of_reflected < costs[2], replaced, contracted, None)
        return corners, jax.vmap(cost)(corners)
    return lax.fori_loop(0, 60, step, (corners, jax.vmap(cost)(corners)))


@program((300, 12), (300,), (12,))
def logistic_by_quasi_newton(x, y, start):
    def loss(w):
        return nn.softplus(-(x @ w) * jnp.sign(y)).mean() + 0.01 * w @ w
    return minimize(loss, start, method="BFGS", options={"maxiter": 10}).x


@program((64, 12, 12), (64, 12))
def damped_least_squares(matrices, right):
    def one(matrix, right):
        def residual(x):
            return jnp.tanh(matrix @ x) - right

        def step(_, carry):
            x, damping = carry
            jacobian, error = jax.jacfwd(residual)(x), residual(x)
            moved = x + jnp.linalg.solve(jacobian.T @ jacobian + damping * jnp.eye(12), -jacobian.T @ error)
            better = (residual(moved) ** 2).sum() < (error ** 2).sum()
            return jnp.where(better, moved, x), jnp.where(better, damping * 0.3, damping * 3)
        return lax.fori_loop(0, 5, step, (jnp.zeros(12), 1.0))[0]
    return jax.vmap(one)(matrices, right)


@program((64, 24, 24), (64, 24))
def quadratic_programs_by_barriers(matrices, linear):
    matrices = matrices @ jnp.swapaxes(matrices, 1, 2) + jnp.eye(24)

    def step(_, carry):
        x, slack = carry
        barrier = (x * slack).mean(1, keepdims=True) * 0.2
        system = matrices + jax.vmap(jnp.diag)(slack / x)
        right = -(jnp.einsum("bij,bj->bi", matrices, x) + linear) + barrier / x
        factor = jnp.linalg.cholesky(system)
        change = triangular(factor, triangular(factor, right[..., None]), transpose_a=True)[..., 0]
        of_slack = barrier / x - slack - slack / x * change
        length = jnp.minimum(1, 0.95 / jnp.maximum((-change / x).max(1), (-of_slack / slack).max(1)))[:, None]
        return x + length * change, slack + length * of_slack
    return lax.fori_loop(0, 8, step, (jnp.ones((64, 24)), jnp.ones((64, 24))))[0]


@program((400, 50), (400,))
def sparse_fit_by_coordinates(x, y):
    norms = (x * x).sum(0)

    def coordinate(j, carry):
        weights, rest = carry
        column = x[:, j]
        along = column @ rest + norms[j] * weights[j]
        new = jnp.sign(along) * jnp.maximum(jnp.abs(along) - 5, 0) / norms[j]
        return weights.at[j].set(new), rest + column * (weights[j] - new)
    return lax.fori_loop(0, 5, lambda _, carry: lax.fori_loop(0, 50, coordinate, carry), (jnp.zeros(50), y))[0]


@program((300, 100), (100, 300))
def sparse_fits_by_multipliers(a, b):
    factor, right = jnp.linalg.cholesky(a.T @ a + jnp.eye(100)), a.T @ b.T

    def step(_, carry):
        z, u = carry
        x = jax.scipy.linalg.cho_solve((factor, True), right + z - u)
        z = jnp.sign(x + u) * jnp.maximum(jnp.abs(x + u) - 0.1, 0)
        return z, u + x - z
    return lax.fori_loop(0, 10, step, (jnp.zeros((100, 100)), jnp.zeros((100, 100))))[0]


@program((200, 100))
def completed_matrix(x):
    known = x > 0

    def step(_, y):
        left, values, right = jnp.linalg.svd(y, full_matrices=False)
        return y + 1.2 * known * (x - (left * jnp.maximum(values - 2, 0)) @ right)
    return lax.fori_loop(0, 2, step, x * known)


@program((64, 32, 32), (64, 32))
def biconjugate_gradients_of_each(matrices, right):
    matrices = matrices * 0.1 + 2 * jnp.eye(32)
    return jax.vmap(lambda a, b: jax.scipy.sparse.linalg.bicgstab(lambda x: a @ x, b, maxiter=10)[0])(matrices, right)


@program(((200, 200), "float64"), ((200,), "float64"))
def least_residuals_f64(a, b):
    a = a / 20 + 2 * jnp.eye(200)

    def step(carry, j):
        basis, upper = carry
        w = a @ basis[:, j]
        once = basis.T @ w
        w = w - basis @ once
        twice = basis.T @ w
        w = w - basis @ twice
        norm = jnp.sqrt(w @ w)
        return (basis.at[:, j + 1].set(w / norm), upper.at[:, j].set((once + twice).at[j + 1].set(norm))), None
    length = jnp.sqrt(b @ b)
    start = jnp.zeros((200, 21)).at[:, 0].set(b / length)
    (basis, upper), _ = lax.scan(step, (start, jnp.zeros((21, 20))), jnp.arange(20))
    return basis[:, :20] @ jnp.linalg.lstsq(upper, jnp.zeros(21).at[0].set(length))[0]


@program(((64, 64), "float64"), ((64,), "float64"))
def refined_solution_f64(a, b):
    a = a + 8 * jnp.eye(64)
    factors = jax.scipy.linalg.lu_factor(a.astype(jnp.float32))
    x = jax.scipy.linalg.lu_solve(factors, b.astype(jnp.float32)).astype(jnp.float64)
    for _ in range(3):
        x = x + jax.scipy.linalg.lu_solve(factors, (b - a @ x).astype(jnp.float32))
    return x


@program(((256,), "float64"), ((512, 512), "float64"))
def linear_program_by_pivots_f64(costs, a):
    table = jnp.concatenate([jnp.abs(a[:128, :256]) + 0.1, jnp.eye(128), jnp.ones((128, 1)) * 10], 1)
    last = jnp.concatenate([-jnp.abs(costs) - 0.1, jnp.zeros(129)])
    table = jnp.concatenate([table, last[None]])

    def pivot(_, table):
        enters = jnp.argmin(table[-1, :-1])
        column = table[:-1, enters]
        ratio = jnp.where(column > 1e-9, table[:-1, -1] / jnp.where(column > 1e-9, column, 1), 1e30)
        leaves = jnp.argmin(ratio)
        row = table[leaves] / table[leaves, enters]
        new = (table - table[:, enters][:, None] * row[None]).at[leaves].set(row)
        return jnp.where(table[-1, enters] < -1e-9, new, table)
    return lax.fori_loop(0, 20, pivot, table)[-1]
