"""Control and learning by reward: returns, policies, values, filters of what is seen."""
import jax
import jax.numpy as jnp
from jax import lax, nn

from kinds.register import program, varied


@program((64, 32, 16), (16, 128), (128, 7), ((64, 32), "int32"), (64, 32), (64, 32), (64, 32))
def clipped_policy_gradient(seen, first, second, actions, rewards, continues, likely_then):
    actions, likely_then = varied(actions) % 6, -jnp.abs(likely_then)

    def loss(first, second):
        out = nn.relu(seen @ first) @ second
        likely, value = jnp.take_along_axis(nn.log_softmax(out[..., :6]), actions[..., None], -1)[..., 0], out[..., 6]
        weight = jnp.minimum(1.0, jnp.exp(lax.stop_gradient(likely) - likely_then))
        discount = 0.99 * (continues > -1)
        fixed = lax.stop_gradient(value)
        delta = weight * (rewards + discount * jnp.concatenate([fixed[1:], fixed[-1:]]) - fixed)

        def step(advantage, now):
            delta, discount, weight = now
            advantage = delta + discount * weight * advantage
            return advantage, advantage
        advantage = lax.scan(step, jnp.zeros(32), (delta, discount, weight), reverse=True)[1]
        ratio = jnp.exp(likely - likely_then)
        policy = -jnp.minimum(ratio * advantage, jnp.clip(ratio, 0.8, 1.2) * advantage).mean()
        chance = nn.softmax(out[..., :6])
        entropy = -(chance * jnp.log(chance + 1e-9)).sum(-1).mean()
        return policy + 0.5 * ((value - fixed - advantage) ** 2).mean() - 0.01 * entropy
    return jax.value_and_grad(loss, (0, 1))(first, second)


@program((64, 4), (256, 4), (4, 128), (128, 2))
def replayed_by_priority_gradient(states, memory, first, second):
    sums = jnp.cumsum(jnp.abs(memory[:, 0]) + 0.01)
    place = jnp.clip(jnp.searchsorted(sums, (jnp.arange(64) + 0.5) / 64 * sums[-1]), 0, 255)
    drawn = memory[place]

    def loss(weights):
        values = nn.relu(states @ weights[0]) @ weights[1]
        wanted = lax.stop_gradient(drawn[:, 0] + 0.9 * jnp.max(nn.relu(drawn @ first) @ second, 1))
        error = values[jnp.arange(64), (drawn[:, 1] > 0).astype(int)] - wanted
        return jnp.where(jnp.abs(error) < 1, 0.5 * error * error, jnp.abs(error) - 0.5).mean()
    return jax.grad(loss)((first, second)), place


@program((32, 51), (32, 51), (32,))
def projected_distributions(following, logits, rewards):
    values = jnp.linspace(-10, 10, 51)
    place = (jnp.clip(rewards[:, None] + 0.99 * values, -10, 10) + 10) / 0.4
    low = jnp.floor(place).astype(int)
    high = jnp.clip(low + 1, 0, 50)

    def shared(low, high, place, mass):
        return jnp.zeros(51).at[low].add(mass * (1 - (place - low))).at[high].add(mass * (place - low))
    return -(jax.vmap(shared)(low, high, place, nn.softmax(following)) * nn.log_softmax(logits)).sum(-1)


@program((128, 64))
def bandits_by_upper_bounds(rewards):
    def step(carry, time):
        rewards, tries = carry
        bound = rewards / tries + 1.4 * jnp.sqrt(jnp.log(tries.sum(1, keepdims=True)) / tries)
        arm = jnp.argmax(bound, 1)
        reward = jnp.sin(arm * 1.0 + time)
        return (rewards.at[jnp.arange(128), arm].add(reward), tries.at[jnp.arange(128), arm].add(1.0)), arm
    return lax.scan(step, (rewards, jnp.ones((128, 64))), jnp.arange(50))


@program((32, 2), (4,))
def iterated_regulator(pushes, start):
    def moved(state, push):
        _, angle, speed, spin = state
        sine, cosine = jnp.sin(angle), jnp.cos(angle)
        along = (push[0] + 0.1 * sine * (0.5 * spin * spin + 9.8 * cosine)) / (1 + 0.1 * sine * sine)
        turn = (-push[0] * cosine - 0.05 * spin * spin * sine * cosine - 1.1 * 9.8 * sine + push[1]) / (0.5 * (1 + 0.1 * sine * sine))
        return state + 0.02 * jnp.stack([speed, spin, along, turn])

    def improved(pushes, _):
        last, states = lax.scan(lambda state, push: (moved(state, push), state), start, pushes)
        by_state = jax.vmap(jax.jacfwd(moved, 0))(states, pushes)
        by_push = jax.vmap(jax.jacfwd(moved, 1))(states, pushes)
        cost_of_state, cost_of_push = jnp.eye(4), 0.1 * jnp.eye(2)

        def backwards(carry, now):
            square, linear = carry
            a, b, state, push = now
            qx, qu = cost_of_state @ state + a.T @ linear, cost_of_push @ push + b.T @ linear
            qxx, quu, qux = cost_of_state + a.T @ square @ a, cost_of_push + b.T @ square @ b, b.T @ square @ a
            determinant = quu[0, 0] * quu[1, 1] - quu[0, 1] * quu[1, 0]
            inverse = jnp.array([[quu[1, 1], -quu[0, 1]], [-quu[1, 0], quu[0, 0]]]) / determinant
            gain, change = -inverse @ qux, -inverse @ qu
            return (qxx + qux.T @ gain, qx + qux.T @ change), (gain, change)
        end = (cost_of_state * 10, cost_of_state @ last * 10)
        _, (gains, changes) = lax.scan(backwards, end, (by_state, by_push, states, pushes), reverse=True)

        def forwards(state, now):
            gain, change, old, push = now
            push = push + 0.5 * change + gain @ (state - old)
            return moved(state, push), push
        return lax.scan(forwards, start, (gains, changes, states, pushes))[1], None
    return lax.scan(improved, pushes * 0.1, None, length=5)[0]


@program((16, 4), (16, 50, 2))
def unscented_filter(start, observed):
    def one(start, observed):
        def step(carry, seen):
            mean, covariance = carry
            root = jnp.linalg.cholesky(4 * (covariance + 1e-3 * jnp.eye(4)))
            points = jnp.concatenate([mean[None], mean + root.T, mean - root.T])
            points = points + 0.1 * jnp.concatenate([points[:, 2:], -jnp.sin(points[:, :2])], 1)
            weight = jnp.full(9, 1 / 8).at[0].set(0.0)
            mean = weight @ points
            apart = points - mean
            covariance = (weight[:, None] * apart).T @ apart + 0.01 * jnp.eye(4)
            distance = jnp.sqrt(points[:, 0] ** 2 + points[:, 1] ** 2 + 0.1)
            expected = jnp.stack([distance, jnp.arctan2(points[:, 1], points[:, 0])], 1)
            middle = weight @ expected
            error = expected - middle
            of_seen = (weight[:, None] * error).T @ error + 0.1 * jnp.eye(2)
            gain = jnp.linalg.solve(of_seen, ((weight[:, None] * apart).T @ error).T).T
            return (mean + gain @ (seen - middle), covariance - gain @ of_seen @ gain.T), mean
        return lax.scan(step, (start, jnp.eye(4)), observed)[1]
    return jax.vmap(one)(start, observed)
