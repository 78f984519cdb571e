"""Outputs made piece by piece: texts by tokens, pictures by denoising, best paths and trees of parts."""
import jax
import jax.numpy as jnp
from jax import lax, nn

from kinds.register import program, varied


@program(((1000, 128), "bfloat16"), ((2, 128, 384), "bfloat16"), ((2, 128, 128), "bfloat16"), ((2, 128, 512), "bfloat16"),
         ((2, 512, 128), "bfloat16"), ((4,), "int32"))
def greedy_decoding_bf16(table, mix, project, up, down, start):
    def normalised(x):
        x = x.astype(jnp.float32)
        return (x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6)).astype(jnp.bfloat16)

    def step(carry, time):
        token, keys, values = carry
        x = table[token]
        for layer in range(2):
            q, k, v = jnp.split(normalised(x) @ mix[layer], 3, -1)
            q = q.reshape(4, 4, 32)
            keys = lax.dynamic_update_slice(keys, k.reshape(1, 4, 1, 4, 32), (layer, 0, time, 0, 0))
            values = lax.dynamic_update_slice(values, v.reshape(1, 4, 1, 4, 32), (layer, 0, time, 0, 0))
            score = jnp.einsum("bhd,bthd->bht", q, keys[layer]).astype(jnp.float32) / 32 ** 0.5
            score = jnp.where(jnp.arange(32) <= time, score, -1e9)
            seen = jnp.einsum("bht,bthd->bhd", nn.softmax(score).astype(jnp.bfloat16), values[layer]).reshape(4, 128)
            x = x + seen @ project[layer]
            x = x + nn.silu(normalised(x) @ up[layer]) @ down[layer]
        token = jnp.argmax((normalised(x) @ table.T).astype(jnp.float32), -1).astype(jnp.int32)
        return (token, keys, values), token
    empty = jnp.zeros((2, 4, 32, 4, 32), jnp.bfloat16)
    return lax.scan(step, (varied(start) % 1000, empty, empty), jnp.arange(32))[1]


@program((500, 64), (64, 192), (64, 192), (64, 500), ((4,), "int32"))
def beam_search(table, inputs, states, outputs, start):
    start, beams = varied(start), 4

    def cell(x, h):
        a, b = x @ inputs, h @ states
        reset, update = nn.sigmoid(a[..., :64] + b[..., :64]), nn.sigmoid(a[..., 64:128] + b[..., 64:128])
        new = jnp.tanh(a[..., 128:] + reset * b[..., 128:])
        return (1 - update) * new + update * h

    def step(carry, time):
        token, h, score, text, done = carry
        h = cell(table[token], h)
        likely = nn.log_softmax(h @ outputs)
        likely = jnp.where(done[..., None], jnp.where(jnp.arange(500) == 1, 0.0, -1e9), likely)
        total = (score[..., None] + likely).reshape(4, beams * 500)
        score, place = lax.top_k(total, beams)
        beam, token = place // 500, place % 500
        h = jnp.take_along_axis(h, beam[..., None], 1)
        text = jnp.take_along_axis(text, beam[..., None], 1)
        done = jnp.take_along_axis(done, beam, 1) | (token == 1)
        text = lax.dynamic_update_slice(text, token[..., None], (0, 0, time))
        return (token, h, score, text, done), None
    token = jnp.broadcast_to(start[:, None] % 500, (4, beams))
    score = jnp.broadcast_to(jnp.array([0, -1e9, -1e9, -1e9]), (4, beams))
    begin = (token, jnp.zeros((4, beams, 64)), score, jnp.zeros((4, beams, 24), jnp.int32), jnp.zeros((4, beams), bool))
    (_, _, score, text, _), _ = lax.scan(step, begin, jnp.arange(24))
    return text, score


@program((8, 1000), (8, 1000), ((2,), "uint32"))
def speculative_sampling(wanted, drafted, key):
    p, q = nn.softmax(wanted), nn.softmax(drafted)
    first, second, third = jax.random.split(key, 3)
    draft = jax.random.categorical(first, drafted)
    ratio = jnp.take_along_axis(p / q, draft[:, None], 1)[:, 0]
    accepted = jnp.cumprod(jax.random.uniform(second, (8,)) < ratio)
    rest = jnp.maximum(p - q, 0)
    other = jax.random.categorical(third, jnp.log(rest / rest.sum(-1, keepdims=True) + 1e-9))
    return jnp.where(accepted, draft, other), accepted.sum()


@program((8, 5000), ((2,), "uint32"), ((8, 200), "int32"))
def sampled_without_repeats(logits, key, earlier):
    count = jnp.zeros((8, 5000)).at[jnp.arange(8)[:, None], varied(earlier) % 5000].add(1.0)
    logits = logits - 0.5 * count - 0.2 * (count > 0)
    best, token = lax.top_k(logits / 0.7, 50)
    chance = nn.softmax(best)
    best = jnp.where(chance < 0.05 * chance[:, :1], -1e9, best)
    return jnp.take_along_axis(token, jax.random.categorical(key, best)[:, None], 1)


@program((64, 64), (65, 256), (256, 256), (256, 64), (50,))
def denoised_in_steps(x, first, second, third, noise):
    kept = jnp.cumprod(1 - jnp.abs(noise) * 0.02)

    def step(x, i):
        now, following = kept[49 - i], jnp.where(i < 49, kept[jnp.maximum(48 - i, 0)], 1.0)
        time = jnp.full((64, 1), i / 50)
        error = nn.silu(nn.silu(jnp.concatenate([x, time], -1) @ first) @ second) @ third
        error = jnp.tanh(error)
        clean = jnp.clip((x - jnp.sqrt(1 - now) * error) / jnp.sqrt(now), -1, 1)
        return jnp.sqrt(following) * clean + jnp.sqrt(1 - following) * error, None
    return lax.scan(step, x, jnp.arange(50))[0]


@program((16, 100, 32), (32, 32))
def best_path_of_states(scores, transition):
    def one(scores):
        def forwards(best, score):
            reached = best[:, None] + transition
            return reached.max(0) + score, reached.argmax(0)
        best, origins = lax.scan(forwards, scores[0], scores[1:])
        first, path = lax.scan(lambda state, origin: (origin[state], state), jnp.argmax(best), origins, reverse=True)
        return path, first, best.max()
    return jax.vmap(one)(scores)


@program((16, 12), (12, 12, 12))
def inside_of_a_grammar(words, rules):
    rules, size = nn.log_softmax(rules.reshape(12, 144)).reshape(12, 12, 12), 16
    chart = jnp.full((size, size, 12), -1e9).at[jnp.arange(size), jnp.arange(size)].set(words)
    for width in range(1, size):
        start, split = jnp.arange(size - width), jnp.arange(width)
        left = chart[start[:, None], start[:, None] + split]
        right = chart[start[:, None] + split + 1, (start + width)[:, None]]
        both = nn.logsumexp(left[..., :, None] + right[..., None, :], 1)
        chart = chart.at[start, start + width].set(nn.logsumexp(rules[None] + both[:, None], (2, 3)))
    return chart[0, size - 1]


@program(((48,), "int32"))
def folded_sequence(letters):
    letters, size = varied(letters) % 4, 48
    pairs = (letters[:, None] + letters[None] == 3).astype(jnp.int32)

    def diagonal(width, best):
        i = jnp.arange(size)
        j = jnp.clip(i + width, 0, size - 1)
        inner = jnp.where(width > 1, best[jnp.clip(i + 1, 0, size - 1), jnp.clip(j - 1, 0, size - 1)], 0) + pairs[i, j]
        k = jnp.arange(size)
        inside = (k[None] >= i[:, None]) & (k[None] < j[:, None])
        split = jnp.where(inside, best[i] + best[jnp.clip(k + 1, 0, size - 1)[None], j[:, None]], 0).max(1)
        return best.at[i, j].max(jnp.where(i + width < size, jnp.maximum(inner, split), 0))
    return lax.fori_loop(1, size, diagonal, jnp.zeros((size, size), jnp.int32))
