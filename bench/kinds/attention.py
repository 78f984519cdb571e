"""What stands in a transformer's place of attention, and ways of looking up what it attends to."""
import jax
import jax.numpy as jnp
from jax import lax

from kinds.register import program, varied


@program((2, 2, 16, 128), ((2, 8), "int32"), (64, 16, 2, 128), (64, 16, 2, 128))
def paged_attention(query, pages, keys, values):
    pages = pages % 64
    keys, values = keys[pages].reshape(2, 128, 2, 128), values[pages].reshape(2, 128, 2, 128)
    score = jnp.einsum("bghd,btgd->bght", query, keys) / 11.3
    return jnp.einsum("bght,btgd->bghd", jax.nn.softmax(score), values)


@program((6, 256), (12, 256, 512), (12, 512, 256), (12, 256))
def layers_by_scan(x, up, down, scale):
    def layer(x, weights):
        up, down, scale = weights
        return x + jax.nn.gelu((x * scale) @ up) @ down, None
    return lax.scan(layer, jnp.tile(x, (16, 1)), (up, down, scale))[0]


@program((48, 64), (8, 64, 128), (8, 128, 64), (64, 8))
def expert_routing(x, up, down, gate):
    weight, expert = lax.top_k(jax.nn.softmax(x @ gate), 2)
    chosen = (jax.nn.one_hot(expert, 8) * weight[..., None]).sum(1)
    position = jnp.cumsum(jax.nn.one_hot(expert, 8).sum(1), 0) * (chosen > 0)
    slot = jax.nn.one_hot(position.astype(jnp.int32) - 1, 16) * (chosen > 0)[..., None]
    hidden = jax.nn.gelu(jnp.einsum("ecd,edh->ech", jnp.einsum("td,tec->ecd", x, slot), up))
    return jnp.einsum("ech,ehd,tec,te->td", hidden, down, slot, chosen)


@program((2, 256, 128), (2, 256, 128), (2, 256, 16), (2, 256, 16), (128, 16))
def selective_scan(x, step, b, c, a):
    step = jax.nn.softplus(step)
    decay = jnp.exp(-step[..., None] * jnp.exp(a))
    given = step[..., None] * x[..., None] * b[:, :, None]
    state = lax.associative_scan(lambda left, right: (left[0] * right[0], left[1] * right[0] + right[1]), (decay, given), axis=1)[1]
    return (state * c[:, :, None]).sum(-1)


@program((4, 128, 64), (4, 128, 64), (4, 128, 64), (64,), (64,))
def weighted_key_values(key, value, gate, decay, bonus):
    def step(state, now):
        key, value, gate = now
        above, below, largest = state
        top = jnp.maximum(largest, bonus + key)
        old, new = jnp.exp(largest - top), jnp.exp(bonus + key - top)
        result = jax.nn.sigmoid(gate) * (old * above + new * value) / (old * below + new)
        kept = largest - jnp.exp(decay)
        top = jnp.maximum(kept, key)
        old, new = jnp.exp(kept - top), jnp.exp(key - top)
        return (old * above + new * value, old * below + new, top), result
    zeros = jnp.zeros((4, 64))
    by_time = [x.transpose(1, 0, 2) for x in (key, value, gate)]
    return lax.scan(step, (zeros, zeros, zeros - 1e9), tuple(by_time))[1].transpose(1, 0, 2)


@program((2, 1024, 32), (1024, 32))
def long_convolution(x, taps):
    spectrum = jnp.fft.rfft(x, n=2048, axis=1) * jnp.fft.rfft(taps, n=2048, axis=0)
    return jnp.fft.irfft(spectrum, n=2048, axis=1)[:, :1024] * jax.nn.silu(x)


@program((4, 4, 128, 32), (4, 4, 128, 32), (4, 4, 128, 32))
def retention(q, k, v):
    place = jnp.arange(128)
    decay = (1 - 2.0 ** (-5 - jnp.arange(4.0)))[:, None, None] ** (place[:, None] - place)
    score = jnp.einsum("bhqd,bhkd->bhqk", q, k) * jnp.where(place[:, None] >= place, decay, 0)
    score = score / jnp.maximum(jnp.abs(score.sum(-1, keepdims=True)), 1)
    out = jnp.einsum("bhqk,bhkd->bhqd", score, v)
    out = out - out.mean(-1, keepdims=True)
    return out * lax.rsqrt((out ** 2).mean(-1, keepdims=True) + 1e-6)


@program((2, 32, 32, 96), (96, 288), (96, 96), (3, 64, 64))
def shifted_windows(x, mix, project, bias):
    windows = jnp.roll(x, (-4, -4), (1, 2)).reshape(2, 4, 8, 4, 8, 96).transpose(0, 1, 3, 2, 4, 5).reshape(32, 64, 96)
    q, k, v = (windows @ mix).reshape(32, 64, 3, 3, 32).transpose(2, 0, 3, 1, 4)
    out = jax.nn.softmax(q @ k.swapaxes(-1, -2) / 5.6 + bias) @ v
    out = out.transpose(0, 2, 1, 3).reshape(32, 64, 96) @ project
    out = out.reshape(2, 4, 4, 8, 8, 96).transpose(0, 1, 3, 2, 4, 5).reshape(2, 32, 32, 96)
    return x + jnp.roll(out, (4, 4), (1, 2))


@program(((512, 8), "uint8"), (16, 8, 256))
def quantised_distances(codes, tables):
    distance = tables[:, jnp.arange(8), codes].sum(-1)
    return lax.top_k(-distance, 10)


@program((2, 4, 256, 32), (2, 4, 256, 32), (2, 4, 256, 32), (2, 4, 256, 32))
def flash_attention_gradient(q, k, v, weights):
    def loss(q, k, v):
        @jax.checkpoint
        def block(carry, keys_and_values):
            largest, total, out = carry
            keys, values = keys_and_values
            score = jnp.einsum("bhqd,bhkd->bhqk", q, keys) / 32 ** 0.5
            top = jnp.maximum(largest, score.max(-1))
            share, kept = jnp.exp(score - top[..., None]), jnp.exp(largest - top)
            return (top, total * kept + share.sum(-1), out * kept[..., None] + jnp.einsum("bhqk,bhkd->bhqd", share, values)), None
        blocks = [jnp.moveaxis(x.reshape(2, 4, 4, 64, 32), 2, 0) for x in (k, v)]
        start = (jnp.full((2, 4, 256), -1e30), jnp.zeros((2, 4, 256)), jnp.zeros((2, 4, 256, 32)))
        (_, total, out), _ = lax.scan(block, start, blocks)
        return (out / total[..., None] * weights).sum()
    return jax.grad(loss, (0, 1, 2))(q, k, v)


@program(((2, 128, 8, 32), "bfloat16"), ((2, 128, 2, 32), "bfloat16"), ((2, 128, 2, 32), "bfloat16"), ((2, 128), "int32"))
def packed_prefill_bf16(q, k, v, document):
    document = varied(document) % 4
    angle = jnp.arange(128)[:, None] * 1e4 ** (-jnp.arange(16) / 16)
    cosine, sine = jnp.cos(angle)[:, None], jnp.sin(angle)[:, None]

    def turned(x):
        a, b = jnp.split(x.astype(jnp.float32), 2, -1)
        return jnp.concatenate([a * cosine - b * sine, a * sine + b * cosine], -1).astype(jnp.bfloat16)
    q, k = turned(q).reshape(2, 128, 2, 4, 32), turned(k)
    score = jnp.einsum("bqghd,bkgd->bghqk", q, k, preferred_element_type=jnp.float32) * 32 ** -0.5
    score = 30 * jnp.tanh(score / 30)
    seen = (jnp.tril(jnp.ones((128, 128), bool)) & (document[:, :, None] == document[:, None]))[:, None, None]
    share = jax.nn.softmax(jnp.where(seen, score, -1e30)).astype(jnp.bfloat16)
    return jnp.einsum("bghqk,bkgd->bqghd", share, v).reshape(2, 128, 256)


@program((2, 64, 64, 32))
def axial_attention(x):
    along = jnp.einsum("bhwc,bhvc->bhwv", x, x)
    down = jnp.einsum("bhwc,bgwc->bwhg", x, x)
    from_rows = jnp.einsum("bhwv,bhvc->bhwc", jax.nn.softmax(along / 6), x)
    return from_rows + jnp.einsum("bwhg,bgwc->bhwc", jax.nn.softmax(down / 6), x)


@program((4, 512, 32), (4, 512, 32), (32, 16))
def attention_by_hashes(q, v, directions):
    bucket = jnp.argmax(jnp.concatenate([q @ directions, -(q @ directions)], -1), -1)
    order = jnp.argsort(bucket * 512 + jnp.arange(512), -1)

    def in_chunks(x):
        return jnp.take_along_axis(x, order[..., None], 1).reshape(4, 16, 32, 32)

    def with_last(x):
        return jnp.concatenate([jnp.roll(x, 1, 1), x], 2)
    q, v, bucket = in_chunks(q), in_chunks(v), jnp.take_along_axis(bucket, order, 1).reshape(4, 16, 32)
    score = jnp.einsum("bcqd,bckd->bcqk", q, with_last(q)) / 6
    score = jnp.where(bucket[..., None] == with_last(bucket)[:, :, None], score, -1e5)
    out = jnp.einsum("bcqk,bckd->bcqd", jax.nn.softmax(score), with_last(v)).reshape(4, 512, 32)
    return jnp.take_along_axis(out, jnp.argsort(order, -1)[..., None], 1)


@program((8, 256, 64), (8, 256), (64, 64))
def pooled_by_attention(x, lengths, weights):
    length = (jnp.abs(lengths[:, 0]) * 256).astype(jnp.int32)
    inside = jnp.arange(256)[None] < length[:, None]
    share = jax.nn.softmax(jnp.where(inside[..., None], jnp.tanh(x @ weights), -1e9), 1)
    return jnp.where(inside[..., None], share * x, 0).sum(1)


@program((64, 64, 32), (32, 128), (32, 32))
def triangle_multiplication(pairs, mix, project):
    mean, variance = pairs.mean(-1, keepdims=True), pairs.var(-1, keepdims=True)
    normal = (pairs - mean) * lax.rsqrt(variance + 1e-5)
    left, right, left_gate, right_gate = jnp.split(normal @ mix, 4, -1)
    left, right = left * jax.nn.sigmoid(left_gate), right * jax.nn.sigmoid(right_gate)
    return pairs + jnp.einsum("ikc,jkc->ijc", left, right) @ project


@program((64, 128), (128, 32, 4), (4, 32, 128))
def product_keys(x, keys, values):
    query = jnp.einsum("bd,dke->bke", x, keys)
    score, place = lax.top_k(jnp.swapaxes(query, 1, 2), 8)
    both = (score[:, 0, :, None] + score[:, 1, None]).reshape(64, 64)
    row = (place[:, 0, :, None] * 32 + place[:, 1, None]).reshape(64, 64)
    best, at = lax.top_k(both, 8)
    row = jnp.take_along_axis(row, at, 1)
    table = values.reshape(128, 128)
    return jnp.einsum("bk,bkd->bd", jax.nn.softmax(best), table[row % 128])
