"""Steps of optimisers, and gradients of other kinds than a loss's."""
import jax
import jax.numpy as jnp
from jax import lax, nn

from kinds.register import program


@program((64, 48), (64, 64), (48, 48))
def roots_by_eigenvalues(gradient, left, right):
    left = left @ left.T * 0.1 + gradient @ gradient.T + 0.1 * jnp.eye(64)
    right = right @ right.T * 0.1 + gradient.T @ gradient + 0.1 * jnp.eye(48)

    def root(a):
        values, vectors = jnp.linalg.eigh(a)
        return (vectors * jnp.maximum(values, 1e-6) ** -0.25) @ vectors.T
    return root(left) @ gradient @ root(right)


@program((64, 64), (64, 64))
def roots_by_newton(gradient, weights):
    square = gradient @ gradient.T + 0.1 * jnp.eye(64)
    scale = 5 / (2 * jnp.linalg.norm(square))
    start = square * scale, jnp.eye(64) * scale ** 0.25

    def step(carry):
        count, product, root, _ = carry
        factor = 1.25 * jnp.eye(64) - 0.25 * product
        twice = factor @ factor
        product = twice @ twice @ product
        return count + 1, product, root @ factor, jnp.abs(product - jnp.eye(64)).max()
    count, _, root, _ = lax.while_loop(lambda carry: (carry[0] < 40) & (carry[3] > 1e-4), step, (0, *start, jnp.float32(1e3)))
    return weights - 0.1 * root @ gradient, count


@program((512, 256), (256,), (512, 256), (512,), (256,), (256, 512), (256, 512), (256,), (512,))
def factored_moments(first, bias, first_gradient, first_rows, first_columns, second, second_gradient, second_rows, second_columns):
    def stepped(weights, gradient, rows, columns):
        square = gradient * gradient + 1e-30
        rows, columns = 0.99 * jnp.abs(rows) + 0.01 * square.mean(1), 0.99 * jnp.abs(columns) + 0.01 * square.mean(0)
        change = gradient * lax.rsqrt(rows / rows.mean())[:, None] * lax.rsqrt(columns)[None]
        change = change / jnp.maximum(1.0, jnp.sqrt((change * change).mean()))
        return weights - 1e-2 * jnp.maximum(1e-3, jnp.sqrt((weights * weights).mean())) * change, rows, columns
    one = stepped(first, first_gradient, first_rows, first_columns)
    return one, stepped(second, second_gradient, second_rows, second_columns), bias * 0.99


@program(*[(512, 512)] * 4, *[(4, 128, 512)] * 4)
def layers_of_their_own_rate(w, g, m, v, many_w, many_g, many_m, many_v):
    norm = jnp.sqrt((g * g).sum() + (many_g * many_g).sum())
    scale = jnp.minimum(1.0, 1 / norm)

    def stepped(w, g, m, v, axes):
        g = g * scale
        m, v = 0.9 * m + 0.1 * g, 0.999 * jnp.abs(v) + 0.001 * g * g
        u = m / (jnp.sqrt(v) + 1e-6) + 0.01 * w
        of_w, of_u = jnp.sqrt((w * w).sum(axes, keepdims=True)), jnp.sqrt((u * u).sum(axes, keepdims=True))
        return w - 1e-3 * jnp.where((of_w > 0) & (of_u > 0), of_w / of_u, 1.0) * u, m, v
    return stepped(w, g, m, v, (0, 1)), stepped(many_w, many_g, many_m, many_v, (1, 2))


@program(((128, 256), "bfloat16"), ((128, 256), "bfloat16"))
def orthogonal_momentum_bf16(gradient, momentum):
    momentum = momentum * 0.95 + gradient
    x = momentum / (jnp.sqrt((momentum.astype(jnp.float32) ** 2).sum()) + 1e-6).astype(jnp.bfloat16)
    for _ in range(5):
        square = x @ x.T
        x = 3.4445 * x + (-4.7750 * square + 2.0315 * square @ square) @ x
    return x, momentum


@program(((512, 32), "float16"), (32, 128), (128, 9), (512,), (32, 128), (128, 9))
def scaled_loss_step_f16(x, first, second, y, first_momentum, second_momentum):
    quantile = jnp.arange(1, 10) / 10

    def loss(weights):
        hidden = nn.relu(x @ weights[0].astype(jnp.float16))
        error = y[:, None] - (hidden @ weights[1].astype(jnp.float16)).astype(jnp.float32)
        return jnp.maximum(quantile * error, (quantile - 1) * error).mean() * 1024
    value, gradients = jax.value_and_grad(loss)((first, second))
    gradients = [g.astype(jnp.float32) / 1024 for g in gradients]
    finite = jnp.all(jnp.array([jnp.isfinite(g).all() for g in gradients]))

    def stepped(w, m, g):
        return jnp.where(finite, w - 1e-3 * jnp.sign(0.9 * m + 0.1 * g), w), jnp.where(finite, 0.99 * m + 0.01 * g, m)
    return value, stepped(first, first_momentum, gradients[0]), stepped(second, second_momentum, gradients[1])


@program((256, 32), (32, 64), (64, 4))
def clipped_gradients_of_each(x, first, second):
    def loss(weights, x):
        return (jnp.tanh(x @ weights[0]) @ weights[1]).sum() ** 2
    gradients = jax.vmap(jax.grad(loss), (None, 0))((first, second), x)
    norm = jnp.sqrt(sum((g * g).reshape(256, -1).sum(1) for g in gradients))
    scale = jnp.minimum(1, 1 / norm)
    return tuple(jnp.einsum("b,b...->...", scale, g) for g in gradients)


@program((64, 16), (16, 32), (32, 1), (5, 16))
def gradient_through_steps(x, first, second, new):
    def network(weights, x):
        return jnp.tanh(x @ weights[0]) @ weights[1]

    def loss(weights):
        def step(weights, _):
            gradients = jax.grad(lambda weights: ((network(weights, x) - x[:, :1]) ** 2).mean())(weights)
            return jax.tree.map(lambda w, g: w - 0.1 * g, weights, gradients), None
        learned, _ = lax.scan(step, weights, None, length=5)
        return (network(learned, new) ** 2).mean()
    return jax.grad(loss)((first, second))


@program((256, 128), (128, 128), (128, 128), (128, 128))
def hessian_times_vector(x, first, second, vector):
    def loss(first):
        return (jnp.tanh(nn.softplus(x @ first) @ second) ** 2).mean()
    return jax.jvp(jax.grad(loss), (first,), (vector,))[1]


@program((64, 16), (16, 32), (32, 4))
def gauss_newton_system(x, first, second):
    chance = nn.softmax(jnp.tanh(x @ first) @ second)
    jacobian = jax.vmap(lambda x: jax.jacrev(lambda first: jnp.tanh(x @ first) @ second)(first))(x).reshape(64, 4, -1)
    square = jnp.einsum("bip,bij,bjq->pq", jacobian, jax.vmap(jnp.diag)(chance), jacobian) / 64
    return jnp.linalg.solve(square + 0.1 * jnp.eye(512), jacobian.sum((0, 1)))
