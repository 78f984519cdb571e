"""Dynamic programming, filters and simulations: one step after the other."""
import jax
import jax.numpy as jnp
from jax import lax

from kinds.register import program


@program(((32, 48), "int32"), ((32, 48), "int32"))
def edit_distance(a, b):
    def one(a, b):
        def row(above, letter):
            def cell(left, x):
                up, corner, other = x
                least = jnp.minimum(jnp.minimum(left + 1, up + 1), corner + (letter != other))
                return least, least
            _, rest = lax.scan(cell, above[0] + 1, (above[1:], above[:-1], b))
            return jnp.concatenate([above[:1] + 1, rest]), None
        return lax.scan(row, jnp.arange(49), a)[0][-1]
    return jax.vmap(one)(a % 4, b % 4)


@program((16, 4), (4, 4), (2, 4), (100, 16, 2))
def kalman_filter(state, transition, observation, observed):
    transition = jnp.eye(4) + 0.05 * transition

    def step(carry, z):
        x, covariance = carry
        x, covariance = x @ transition.T, transition @ covariance @ transition.T + 0.01 * jnp.eye(4)
        gain = jnp.linalg.solve(observation @ covariance @ observation.T + 0.1 * jnp.eye(2), observation @ covariance).T
        return (x + (z - x @ observation.T) @ gain.T, (jnp.eye(4) - gain @ observation) @ covariance), x
    return lax.scan(step, (state, jnp.eye(4)), observed)


@program(((128, 128), "uint32"), ((2,), "uint32"))
def ising_model(spins, key):
    spins = jnp.where(spins % 2 == 0, 1, -1).astype(jnp.int8)
    parity = (jnp.arange(128)[:, None] + jnp.arange(128)) % 2

    def sweep(carry, i):
        spins, key = carry
        key, drawn = jax.random.split(key)
        around = jnp.roll(spins, 1, 0) + jnp.roll(spins, -1, 0) + jnp.roll(spins, 1, 1) + jnp.roll(spins, -1, 1)
        energy = 2 * spins.astype(jnp.float32) * around.astype(jnp.float32)
        flip = (jax.random.uniform(drawn, spins.shape) < jnp.exp(-energy * 0.44)) & (parity == i % 2)
        return (jnp.where(flip, -spins, spins), key), spins.astype(jnp.float32).mean()
    return lax.scan(sweep, (spins, key), jnp.arange(20))[1]


@program((8, 1024))
def filtered_signal(x):
    def biquad(state, v):
        first, second = state
        y = 0.2 * v + first
        return (0.4 * v - 0.5 * y + second, 0.2 * v - 0.3 * y), y
    return lax.scan(biquad, (jnp.zeros(8), jnp.zeros(8)), x.T)[1]


@program((64, 16, 16), (16, 16), (64, 16))
def hidden_markov_model(observed, transition, start):
    def step(alpha, likely):
        alpha = jax.nn.logsumexp(alpha[:, :, None] + transition, axis=1) + likely
        return alpha, alpha
    return lax.scan(step, start, jnp.swapaxes(observed, 0, 1))[1]


@program((16, 64, 64))
def time_warping(distance):
    def row(above, cost):
        def cell(left, x):
            up, corner, here = x
            best = here + jnp.minimum(left, jnp.minimum(up, corner))
            return best, best
        first = above[:, 0] + cost[:, 0]
        _, rest = lax.scan(cell, first, (above[:, 1:].T, above[:, :-1].T, cost[:, 1:].T))
        new = jnp.concatenate([first[None], rest]).T
        return new, None
    start = jnp.cumsum(distance[:, 0], 1)
    return lax.scan(row, start, jnp.swapaxes(distance[:, 1:], 0, 1))[0][:, -1]


@program((8, 50, 32), ((8, 12), "int32"))
def connectionist_loss(logits, labels):
    labels = labels % 31 + 1
    logprob = jax.nn.log_softmax(logits)
    blank = logprob[..., 0]
    emit = jnp.take_along_axis(logprob, jnp.broadcast_to(labels[:, None], (8, 50, 12)), -1)

    def step(carry, x):
        at_blank, at_label = carry
        blank, emit = x
        into = jnp.logaddexp(at_label, at_blank[:, :-1])
        new_label = jnp.logaddexp(into, jnp.pad(at_label[:, :-1], ((0, 0), (1, 0)), constant_values=-1e5)) + emit
        new_blank = jnp.logaddexp(at_blank, jnp.pad(at_label, ((0, 0), (1, 0)), constant_values=-1e5)) + blank[:, None]
        return (new_blank, new_label), None
    start = (jnp.full((8, 13), -1e5).at[:, 0].set(0), jnp.full((8, 12), -1e5))
    (b, l), _ = lax.scan(step, start, (blank.T, jnp.swapaxes(emit, 0, 1)))
    return -jnp.logaddexp(b[:, -1], l[:, -1]).mean()


@program((2048, 4), (30, 4), (30, 2048, 4), (30,))
def particle_filter(particles, seen, noise, offset):
    def step(particles, x):
        seen, noise, offset = x
        particles = 0.9 * particles + 0.1 * jnp.sin(particles) + 0.1 * noise
        weight = jax.nn.softmax(-((particles - seen) ** 2).sum(-1))
        places = (jnp.arange(2048) + jnp.abs(offset) % 1) / 2048
        chosen = jnp.clip(jnp.searchsorted(jnp.cumsum(weight), places), 0, 2047)
        return particles[chosen], (weight[:, None] * particles).sum(0)
    return lax.scan(step, particles, (seen, noise, offset))[1]


@program((4096, 3))
def lorenz_ensemble(state):
    def f(s):
        x, y, z = s[:, 0], s[:, 1], s[:, 2]
        return jnp.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z], -1)

    def step(_, s):
        a = f(s)
        b = f(s + 0.005 * a)
        c = f(s + 0.005 * b)
        d = f(s + 0.01 * c)
        return s + 0.01 / 6 * (a + 2 * b + 2 * c + d)
    return lax.fori_loop(0, 50, step, state)


@program((4096, 4))
def balanced_poles(state):
    def step(state, _):
        x, v, angle, spin = state.T
        push = jnp.where(angle + 0.1 * spin > 0, 10.0, -10.0)
        sine, cosine = jnp.sin(angle), jnp.cos(angle)
        pull = (push + 0.05 * spin**2 * sine) / 1.1
        turn = (9.8 * sine - cosine * pull) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
        speed = pull - 0.05 * turn * cosine / 1.1
        state = jnp.stack([x + 0.02 * v, v + 0.02 * speed, angle + 0.02 * spin, spin + 0.02 * turn], -1)
        fell = (jnp.abs(state[:, 0]) > 2.4) | (jnp.abs(state[:, 2]) > 0.21)
        return jnp.where(fell[:, None], 0, state), fell.mean()
    return lax.scan(step, state, None, length=50)[1]


@program((1024,), (1024,))
def option_trees(price, strike):
    price, strike = jnp.abs(price) + 1, jnp.abs(strike) + 1
    up = jnp.exp(0.02)
    value = jnp.maximum(strike[:, None] - price[:, None] * up ** (2 * jnp.arange(101) - 100), 0)

    def step(i, value):
        spot = price[:, None] * up ** (2 * jnp.arange(101) - (99 - i))
        held = 0.999 * (0.51 * jnp.roll(value, -1, 1) + 0.49 * value)
        return jnp.maximum(held, strike[:, None] - spot)
    return lax.fori_loop(0, 100, step, value)[:, 0]


@program((20000,), (20000,))
def implied_volatility(price, strike):
    spot, strike = 1.0, 0.5 + jax.nn.sigmoid(strike)
    wanted = jnp.maximum(1 - strike, 0) + 0.05 + 0.1 * jax.nn.sigmoid(price)

    def step(_, sigma):
        d = (jnp.log(spot / strike) + sigma**2 / 2) / sigma
        value = jax.scipy.stats.norm.cdf(d) * spot - jax.scipy.stats.norm.cdf(d - sigma) * strike
        return jnp.clip(sigma - (value - wanted) / (jax.scipy.stats.norm.pdf(d) * spot + 1e-4), 0.01, 3)
    return lax.fori_loop(0, 8, step, jnp.full(20000, 0.3))


@program((16, 128, 12), (16, 128))
def advantages(value, reward):
    def step(carry, at):
        now, delta = at
        carry = delta[:, None] + 0.95 * carry
        return carry, carry + now
    delta = reward + 0.99 * jnp.pad(value[:, 1:, 0], ((0, 0), (0, 1))) - value[:, :, 0]
    return lax.scan(step, jnp.zeros((16, 12)), (value.transpose(1, 0, 2), delta.T), reverse=True)[1]


@program((8, 64, 256), (64, 64, 2), (64, 64, 2))
def dilated_causal(x, w, gate):
    for dilation in (1, 2, 4, 8):
        padded = jnp.pad(x, ((0, 0), (0, 0), (dilation, 0)))
        def causal(w):
            return lax.conv_general_dilated(padded, w, (1,), "VALID", rhs_dilation=(dilation,), dimension_numbers=("NCH", "OIH", "NCH"))
        x = x + jnp.tanh(causal(w)) * jax.nn.sigmoid(causal(gate))
    return x


@program((32, 50, 64), (64, 192), (64, 192))
def gated_units(x, w, u):
    def step(h, x):
        a, b = x @ w, h @ u
        z, r = jax.nn.sigmoid(a[:, :64] + b[:, :64]), jax.nn.sigmoid(a[:, 64:128] + b[:, 64:128])
        h = z * h + (1 - z) * jnp.tanh(a[:, 128:] + r * b[:, 128:])
        return h, h
    return lax.scan(step, jnp.zeros((32, 64)), x.transpose(1, 0, 2))[1]


@program((64, 200, 3))
def runge_kutta_pendulums(state):
    def slope(s):
        return jnp.stack([s[..., 1], -jnp.sin(s[..., 0]) - 0.1 * s[..., 1], jnp.cos(s[..., 2])], -1)
    def step(s, _):
        a = slope(s)
        b = slope(s + 0.005 * a)
        c = slope(s + 0.005 * b)
        d = slope(s + 0.01 * c)
        return s + 0.01 / 6 * (a + 2 * b + 2 * c + d), None
    return lax.scan(step, state, None, length=20)[0]


@program((512,))
def cumulative_alarms(x):
    def step(carry, value):
        above, below, count = carry
        above, below = jnp.maximum(0, above + value - 0.05), jnp.maximum(0, below - value - 0.05)
        alarm = (above > 2) | (below > 2)
        return (jnp.where(alarm, 0, above), jnp.where(alarm, 0, below), count + alarm), (above, below, alarm)
    return lax.scan(step, (0.0, 0.0, 0), x)
