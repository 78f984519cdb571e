"""Layers whose state goes from step to step: state spaces, memories, equations that a network is the right side of."""
import jax
import jax.numpy as jnp
from jax import lax, nn

from kinds.register import program, varied


def by_time(x):
    return jnp.moveaxis(x, 1, 0)


@program((64, 32), (64, 32), (64, 32, 2), (64,), (4, 512, 64))
def diagonal_state_space(real, imaginary, out, step, x):
    rate = -jnp.exp(real) + 1j * imaginary * 3
    out = out[..., 0] + 1j * out[..., 1]
    moved = rate * jnp.exp(step)[:, None] * 0.1
    powers = moved[:, :, None] * jnp.arange(512)
    taps = 2 * jnp.einsum("hn,hnl->hl", out * (jnp.exp(moved) - 1) / rate, jnp.exp(powers)).real
    spectrum = jnp.fft.rfft(taps, 1024), jnp.fft.rfft(jnp.swapaxes(x, 1, 2), 1024)
    return nn.gelu(jnp.fft.irfft(spectrum[0] * spectrum[1], 1024)[..., :512])


@program(*[((2, 128, 4, 32), "bfloat16")] * 4, ((4, 32), "bfloat16"))
def matrix_states_bf16(receive, key, value, decay, bonus):
    def step(state, now):
        receive, key, value, decay = now
        given = key[..., :, None] * value[..., None, :]
        out = jnp.einsum("bhk,bhkv->bhv", receive, state + bonus[None, :, :, None] * given)
        return jnp.exp(-jnp.exp(decay))[..., None] * state + given, out
    inputs = [by_time(x).astype(jnp.float32) for x in (receive, key, value, decay)]
    return lax.scan(step, jnp.zeros((2, 4, 32, 32)), inputs)[1].astype(jnp.bfloat16)


@program((4, 256, 64), (64, 256), (128, 4), (128, 36), (4, 128), (128, 16), (128, 64))
def selective_block_gradient(x, widen, taps, project, step, rates, narrow):
    def loss(widen, rates, narrow):
        u, gate = jnp.split(x @ widen, 2, -1)
        padded = jnp.pad(u, ((0, 0), (3, 0), (0, 0)))
        u = nn.silu(sum(padded[:, i:i + 256] * taps[:, i] for i in range(4)))
        q = u @ project
        length = nn.softplus(q[..., :4] @ step)
        into, out = q[..., 4:20], q[..., 20:]
        decay = jnp.exp(-length[..., None] * jnp.exp(rates))
        given = (length * u)[..., None] * into[:, :, None]
        state = lax.associative_scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (decay, given), axis=1)[1]
        y = jnp.einsum("bldn,bln->bld", state, out) * nn.silu(gate)
        return ((y @ narrow) ** 2).mean()
    return jax.grad(loss, (0, 1, 2))(widen, rates, narrow)


@program((2, 256, 4, 32), (2, 256, 4), (2, 256, 32), (2, 256, 32))
def state_space_in_chunks(x, step, into, out):
    decay, x = -nn.softplus(step), x.reshape(2, 4, 64, 4, 32)
    decay, into, out = decay.reshape(2, 4, 64, 4), into.reshape(2, 4, 64, 32), out.reshape(2, 4, 64, 32)
    total = jnp.cumsum(decay, 2)
    between = total[:, :, :, None] - total[:, :, None]
    lower = jnp.exp(jnp.where(jnp.tril(jnp.ones((64, 64), bool))[None, None, :, :, None], between, -jnp.inf))
    inside = jnp.einsum("bcln,bcsn,bclsh,bcshp->bclhp", out, into, lower, x)
    states = jnp.einsum("bcln,bclh,bclhp->bchpn", into, jnp.exp(total[:, :, -1:] - total), x)

    def chunk(state, now):
        given, decay = now
        return state * decay[..., None, None] + given, state
    _, before = lax.scan(chunk, jnp.zeros((2, 4, 32, 32)), (by_time(states), by_time(jnp.exp(total[:, :, -1]))))
    return (inside + jnp.einsum("bcln,cbhpn,bclh->bclhp", out, before, jnp.exp(total))).reshape(2, 256, 4, 32)


@program((2, 128, 4, 32), (2, 128, 4, 32), (2, 128, 4, 32), (2, 128, 4))
def delta_rule(query, key, value, rate):
    key, rate = key / jnp.sqrt((key * key).sum(-1, keepdims=True) + 1e-6), nn.sigmoid(rate)

    def step(state, now):
        query, key, value, rate = now
        error = value - jnp.einsum("bhkv,bhk->bhv", state, key)
        state = state + rate[..., None, None] * key[..., None] * error[..., None, :]
        return state, jnp.einsum("bhkv,bhk->bhv", state, query)
    return lax.scan(step, jnp.zeros((2, 4, 32, 32)), [by_time(x) for x in (query, key, value, rate)])[1]


@program((2, 48, 48, 4), (3, 3, 4, 64), (64,))
def convolving_memory_cells(x, weights, bias):
    weights = jnp.concatenate([weights, weights[:, :, :, ::-1]], 2)

    def convolve(x):
        return lax.conv_general_dilated(x, weights[..., :16], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def step(carry, time):
        hidden, cell = carry
        gates = convolve(jnp.concatenate([x * time, hidden], -1)) + bias[:16]
        into, keep, out, new = jnp.split(gates, 4, -1)
        cell = nn.sigmoid(keep) * cell + nn.sigmoid(into) * jnp.tanh(new)
        return (nn.sigmoid(out) * jnp.tanh(cell), cell), None
    zeros = jnp.zeros((2, 48, 48, 4))
    return lax.scan(step, (zeros, zeros), jnp.linspace(0, 1, 10))[0][0]


@program((2, 64, 64), (2, 64, 64), (16, 64))
def memory_that_is_addressed_gradient(memory, x, weights):
    def loss(weights):
        def step(memory, x):
            key = jnp.tanh(x @ weights.T)[:, :16] @ weights
            alike = jnp.einsum("bnm,bm->bn", memory, key)
            alike = alike / (jnp.linalg.norm(memory, axis=-1) * jnp.linalg.norm(key, axis=-1)[:, None] + 1e-3)
            at = nn.softmax(5 * alike)
            at = 0.7 * at + 0.2 * jnp.roll(at, 1, 1) + 0.1 * jnp.roll(at, -1, 1)
            at = at ** 2 / (at ** 2).sum(1, keepdims=True)
            written = memory * (1 - at[..., None] * nn.sigmoid(x)[:, None]) + at[..., None] * key[:, None]
            return written, jnp.einsum("bn,bnm->bm", at, memory)
        return (lax.scan(step, memory, jnp.swapaxes(x, 0, 1)[:32])[1] ** 2).sum()
    return jax.grad(loss)(weights)


@program((16, 20, 64), (64, 8), ((16, 20), "int32"))
def states_of_trees(x, weights, parent):
    parent = varied(parent) % 20

    def step(state, node):
        children = jnp.where((parent == node)[..., None], state, 0).sum(1)
        return state.at[:, node].set(jnp.tanh(x[:, node] + children @ weights @ weights.T)), None
    return lax.scan(step, jnp.zeros_like(x), jnp.arange(20))[0]


@program((128, 8), (8, 64), (64, 8))
def adaptive_steps_of_a_network(x, first, second):
    def slope(x):
        return jnp.tanh(jnp.tanh(x @ first) @ second)

    def step(carry):
        t, h, x, count = carry
        h = jnp.minimum(h, 1 - t)
        k1 = slope(x)
        k2 = slope(x + h * k1 / 5)
        k3 = slope(x + h * (3 / 40 * k1 + 9 / 40 * k2))
        k4 = slope(x + h * (44 / 45 * k1 - 56 / 15 * k2 + 32 / 9 * k3))
        k5 = slope(x + h * (19372 / 6561 * k1 - 25360 / 2187 * k2 + 64448 / 6561 * k3 - 212 / 729 * k4))
        k6 = slope(x + h * (9017 / 3168 * k1 - 355 / 33 * k2 + 46732 / 5247 * k3 + 49 / 176 * k4 - 5103 / 18656 * k5))
        y = x + h * (35 / 384 * k1 + 500 / 1113 * k3 + 125 / 192 * k4 - 2187 / 6784 * k5 + 11 / 84 * k6)
        k7 = slope(y)
        error = h * (71 / 57600 * k1 - 71 / 16695 * k3 + 71 / 1920 * k4 - 17253 / 339200 * k5 + 22 / 525 * k6 - k7 / 40)
        ratio = jnp.sqrt(((error / (1e-4 + 1e-4 * jnp.maximum(jnp.abs(x), jnp.abs(y)))) ** 2).mean())
        good = ratio < 1
        following = h * jnp.clip(0.9 * (ratio + 1e-9) ** -0.2, 0.2, 5.0)
        return jnp.where(good, t + h, t), following, jnp.where(good, y, x), count + 1
    return lax.while_loop(lambda carry: (carry[0] < 1) & (carry[3] < 200), step, (0.0, 0.05, x, 0))[2:]


@program((128, 8), (8, 32), (32, 8))
def continuous_flow_with_traces(x, first, second):
    def slope(z):
        return jnp.tanh(z @ first) @ second

    def step(carry, _):
        z, density = carry
        change = slope(z)
        trace = jax.vmap(lambda z: jnp.trace(jax.jacfwd(slope)(z)))(z)
        return (z + 0.05 * change, density - 0.05 * trace), None
    return lax.scan(step, (x, jnp.zeros(128)), None, length=20)[0]


@program((64, 32), (32, 32), (32, 32))
def equilibrium_by_mixing(x, inner, outer):
    def layer(z):
        return jnp.tanh(z @ inner * 0.1 + x @ outer)
    start = jnp.zeros((64, 32))
    points, values = jnp.zeros((4, 64, 32)), jnp.zeros((4, 64, 32))
    points, values = points.at[0].set(start), values.at[0].set(layer(start))
    points, values = points.at[1].set(values[0]), values.at[1].set(layer(values[0]))

    def step(k, carry):
        points, values = carry
        residuals = (values - points).reshape(4, -1)
        shares = jnp.linalg.solve(residuals @ residuals.T + 1e-3 * jnp.eye(4), jnp.ones(4))
        mixed = jnp.einsum("m,mbd->bd", shares / shares.sum(), values)
        place = k % 4
        return points.at[place].set(mixed), values.at[place].set(layer(mixed))
    return lax.fori_loop(2, 20, step, (points, values))[1][0]
