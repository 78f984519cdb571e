"""Points, particles, curves and rays in space."""
import jax
import jax.numpy as jnp
from jax import lax

from kinds.register import program, varied


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


@program((32, 32, 32), (64, 3))
def rays_through_a_volume(volume, origin):
    across = jnp.linspace(-1, 1, 16)
    direction = jnp.stack([*jnp.meshgrid(across, across, indexing="ij"), jnp.ones((16, 16))], -1).reshape(-1, 3)
    direction = direction / jnp.linalg.norm(direction, axis=-1, keepdims=True)

    def step(carry, t):
        passed, seen = carry
        at = jnp.clip((direction * t + origin[0]) * 8 + 16, 0, 30.99)
        cell = at.astype(jnp.int32)
        inside, value = at - cell, 0
        for k in range(8):
            corner = jnp.array([k & 1, k >> 1 & 1, k >> 2])
            near = cell + corner
            value = value + volume[near[:, 0], near[:, 1], near[:, 2]] * jnp.where(corner, inside, 1 - inside).prod(1)
        opacity = 1 - jnp.exp(-jax.nn.relu(value) * 0.1)
        return (passed * (1 - opacity), seen + passed * opacity * value), None
    return lax.scan(step, (jnp.ones(256), jnp.zeros(256)), jnp.linspace(0, 3, 64))[0]


@program((300, 2), (300, 3), (300, 3), (300,))
def splats_gradient(centres, shapes, colours, opacities):
    y, x = jnp.mgrid[:32, :32] / 16 - 1
    pixels = jnp.stack([x, y], -1).reshape(-1, 2)

    def loss(centres, shapes, colours, opacities):
        a, b, c = jnp.exp(shapes[:, 0]) * 10, shapes[:, 1], jnp.exp(shapes[:, 2]) * 10
        apart = pixels[:, None] - centres
        square = a * apart[..., 0] ** 2 + 2 * b * apart[..., 0] * apart[..., 1] + c * apart[..., 1] ** 2
        opacity = jnp.clip(jax.nn.sigmoid(opacities) * jnp.exp(-0.5 * jnp.maximum(square, 0)), 0, 0.99)
        passed = jnp.cumprod(1 - opacity, 1) / (1 - opacity)
        return ((opacity * passed) @ colours).var()
    return jax.grad(loss, (0, 1, 2, 3))(centres, shapes, colours, opacities)


@program((32, 64, 3), (32, 64, 3), (64, 64))
def soft_matching_gradient(a, b, weights):
    def loss(a):
        apart = jnp.sqrt(((a[:, :, None] - b[:, None]) ** 2).sum(-1) + 1e-6)
        return (apart * jax.nn.softmax(-apart * 5, -1) * weights).sum() + jnp.sort(apart, -1)[..., :4].mean()
    return jax.grad(loss)(a)


@program((64, 10, 2))
def lengths_of_curves(controls):
    t = jnp.linspace(0, 1, 100)[:, None]
    choose, k = jnp.array([1.0, 9, 36, 84, 126, 126, 84, 36, 9, 1]), jnp.arange(10.0)
    points = jnp.einsum("tk,bkd->btd", choose * t ** k * (1 - t) ** (9 - k), controls)
    return jnp.sqrt((jnp.diff(points, axis=1) ** 2).sum(-1) + 1e-9).sum(1)


@program((64, 30), (3,))
def jacobians_of_projections(points, camera):
    def projected(c, points):
        rotation = jnp.eye(3) + jnp.array([[0, -c[2], c[1]], [c[2], 0, -c[0]], [-c[1], c[0], 0.0]])
        seen = points.reshape(10, 3) @ rotation.T + jnp.array([0, 0, 4.0])
        return (seen[:, :2] / seen[:, 2:]).reshape(-1)
    of_camera, of_points = jax.vmap(jax.jacfwd(projected, (0, 1)), (None, 0))(camera, points)
    return of_camera, jnp.einsum("bij,bik->bjk", of_points, of_points)


@program((64, 64, 64), (4096, 3))
def samples_of_a_volume(volume, points):
    return jax.scipy.ndimage.map_coordinates(volume, ((jnp.tanh(points) + 1) * 31).T, 1, mode="nearest")


@program(((512, 3), "float64"), ((512, 3), "float64"), ((512,), "float64"))
def bodies_that_attract_f64(places, speeds, masses):
    masses = jnp.abs(masses) + 0.1

    def pull(places):
        apart = places[None] - places[:, None]
        square = (apart * apart).sum(-1) + 1e-2
        return (masses[None, :, None] * apart * (square ** -1.5)[..., None]).sum(1)

    def step(_, carry):
        places, speeds, force = carry
        speeds = speeds + 0.005 * force
        places = places + 0.01 * speeds
        force = pull(places)
        return places, speeds + 0.005 * force, force
    return lax.fori_loop(0, 3, step, (places, speeds, pull(places)))[:2]


@program((2000, 3), ((4000, 4), "int32"))
def elastic_forces(places, corners):
    corners = varied(corners) % 2000

    def energy(places):
        p = places[corners]
        shape = jnp.stack([p[:, 1] - p[:, 0], p[:, 2] - p[:, 0], p[:, 3] - p[:, 0]], -1) + 2 * jnp.eye(3)
        volume, stretch = jnp.linalg.det(shape), (shape * shape).sum((1, 2))
        log = jnp.log(jnp.maximum(volume, 0.1))
        return (0.5 * (stretch - 3) - log + 0.5 * log ** 2).sum()
    return jax.grad(energy)(places)


@program((1024, 2), (1024, 2))
def flock(places, speeds):
    apart = places[None] - places[:, None]
    apart = apart - jnp.round(apart)
    square = (apart * apart).sum(-1)
    near = (square < 0.02) & (square > 0)
    count = jnp.maximum(near.sum(1), 1)[:, None]
    together = (near[..., None] * apart).sum(1) / count
    alike = near.astype(jnp.float32) @ speeds / count - speeds
    away = -jnp.where((square < 0.002)[..., None], apart / (square[..., None] + 1e-6), 0).sum(1)
    speeds = speeds + 0.1 * together + 0.1 * alike + 1e-4 * away
    return (places + 0.01 * speeds) % 1, speeds


@program((64, 64, 2))
def pull_of_cells(places):
    places = places.reshape(-1, 2)
    cell = jnp.clip(((places + 1) * 16).astype(int), 0, 31)
    cell = cell[:, 0] * 32 + cell[:, 1]
    mass = jax.ops.segment_sum(jnp.ones(4096), cell, 1024)
    centre = jax.ops.segment_sum(places, cell, 1024) / jnp.maximum(mass, 1)[:, None]

    def pull(place):
        apart = centre - place
        square = (apart * apart).sum(-1) + 0.01
        return (mass / square ** 1.5) @ apart
    return lax.map(pull, places[:1024], batch_size=128)


@program((512, 3), ((512, 32), "int32"))
def forces_of_neighbours(places, neighbours):
    neighbours = varied(neighbours) % 512

    def energy(places):
        apart = places[:, None] - places[neighbours]
        apart = apart - 2 * jnp.round(apart / 2)
        square = (apart * apart).sum(-1) + 0.05
        sixth = (0.1 / square) ** 3
        return jnp.where(square < 1, sixth * sixth - sixth, 0).sum() + 0.01 * (1 / jnp.sqrt(square)).sum()
    return jax.grad(energy)(places)
