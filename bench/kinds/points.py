"""Points, particles and rays in space."""
import jax
import jax.numpy as jnp
from jax import lax

from kinds.register import program


@program((1024, 3), (1024, 3))
def fluid_of_particles(position, velocity):
    def step(state, _):
        position, velocity = state
        apart = position[:, None] - position[None]
        squared = (apart**2).sum(-1)
        density = (jnp.maximum(0, 0.04 - squared) ** 3).sum(1) + 1e-3
        pressure = 1e2 * (density - 1)
        near = jnp.maximum(0, 0.2 - jnp.sqrt(squared + 1e-9)) ** 2
        force = -((pressure[:, None] + pressure[None]) / (2 * density[None]) * near)[..., None] * apart
        velocity = velocity + 0.001 * force.sum(1)
        return (position + 0.001 * velocity, velocity), None
    return lax.scan(step, (position, velocity), None, length=4)[0]


@program((200, 3), (200, 3))
def distances(a, b):
    return jnp.linalg.norm(a[:, None] - b[None], axis=-1)


@program((100000, 3))
def unit_vectors(points):
    return points / jnp.linalg.norm(points, axis=-1, keepdims=True)


@program((50000, 3, 3), (50000, 3))
def rotations(matrices, points):
    return jnp.einsum("nij,nj->ni", matrices, points)


@program((100000, 4), (100000, 4))
def quaternion_products(a, b):
    real = a[:, 0] * b[:, 0] - (a[:, 1:] * b[:, 1:]).sum(-1)
    imaginary = a[:, :1] * b[:, 1:] + b[:, :1] * a[:, 1:] + jnp.cross(a[:, 1:], b[:, 1:])
    return jnp.concatenate([real[:, None], imaginary], -1)


@program((2000, 16), (500, 16))
def nearest_neighbours(points, queries):
    return lax.top_k(-((queries[:, None] - points[None]) ** 2).sum(-1), 5)


@program((512, 2), (512, 64))
def embedding_gradient(low, high):
    same = jnp.eye(512, dtype=bool)
    wanted = jax.nn.softmax(jnp.where(same, -1e9, -((high[:, None] - high[None]) ** 2).sum(-1) / 8), -1)

    def divergence(low):
        near = jnp.where(same, 0, 1 / (1 + ((low[:, None] - low[None]) ** 2).sum(-1)))
        return (wanted * jnp.log((wanted + 1e-9) / (near / near.sum() + 1e-9))).sum()
    return jax.value_and_grad(divergence)(low)


@program((1024, 3), (1024, 3), (63, 64), (64, 64), (64, 4))
def radiance_field(origin, direction, first, second, third):
    at = jnp.linspace(0.1, 2, 32)
    x = origin[:, None] + direction[:, None] * at[None, :, None]
    waves = (x[..., None] * 2.0 ** jnp.arange(10)).reshape(*x.shape[:-1], 30)
    hidden = jax.nn.relu(jnp.concatenate([x, jnp.sin(waves), jnp.cos(waves)], -1) @ first * 0.1)
    y = jax.nn.relu(hidden @ second * 0.1) @ third
    opacity = 1 - jnp.exp(-jax.nn.softplus(y[..., 3]) * 0.06)
    passed = jnp.cumprod(jnp.concatenate([jnp.ones_like(opacity[:, :1]), 1 - opacity[:, :-1]], 1), 1)
    return ((passed * opacity)[..., None] * jax.nn.sigmoid(y[..., :3])).sum(1)


@program((512, 3), (512, 3))
def lennard_jones(x, v):
    def energy(x):
        apart = x[:, None] - x[None]
        square = jnp.sum(apart ** 2, -1) + jnp.eye(512) + 0.1
        return jnp.sum(jnp.triu(4 * (square ** -6 - square ** -3), 1))
    force = -jax.grad(energy)(x)
    return x + 0.001 * v, v + 0.001 * force


@program((1024, 3))
def farthest_points(x):
    def step(state, _):
        nearest, last = state
        nearest = jnp.minimum(nearest, jnp.sum((x - x[last]) ** 2, -1))
        return (nearest, jnp.argmax(nearest)), last
    return lax.scan(step, (jnp.full(1024, jnp.inf), 0), None, length=64)[1]


@program((64, 64, 3), (3,))
def marched_spheres(direction, centre):
    def step(t, _):
        at = direction * t[..., None]
        ball = jnp.linalg.norm(at - centre, axis=-1) - 0.5
        plane = at[..., 1] + 1.0
        return t + jnp.minimum(ball, plane), None
    return lax.scan(step, jnp.zeros((64, 64)), None, length=32)[0]


@program((256, 3), (300, 3))
def chamfer_gradient(a, b):
    def loss(a):
        square = jnp.sum((a[:, None] - b[None]) ** 2, -1)
        return square.min(0).mean() + square.min(1).mean()
    return jax.grad(loss)(a)
