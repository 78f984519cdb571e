"""Embeddings that are looked up, features that are crossed, layers that are chosen for each row, and what is nearest."""
import jax
import jax.numpy as jnp
from jax import lax, nn

from kinds.register import program, varied


@program((256, 13), ((256, 8, 4), "int32"), (8, 2000, 16), (13, 64), (64, 16), (52, 64), (64, 1), (256,))
def bags_of_embeddings_gradient(dense, places, tables, bottom, middle, top, last, clicked):
    places = varied(places) % 2000

    def loss(tables, bottom, middle, top, last):
        looked_up = jax.vmap(lambda table, place: table[place].sum(1), (0, 1), 1)(tables, places)
        hidden = nn.relu(nn.relu(dense @ bottom) @ middle)
        parts = jnp.concatenate([hidden[:, None], looked_up], 1)
        products = jnp.einsum("bnd,bmd->bnm", parts, parts)
        rows, columns = jnp.tril_indices(9, -1)
        out = nn.relu(jnp.concatenate([hidden, products[:, rows, columns]], 1) @ top) @ last
        return jnp.mean(nn.softplus(out[:, 0]) - (clicked > 0) * out[:, 0])
    return jax.grad(loss, (0, 1, 2, 3, 4))(tables, bottom, middle, top, last)


@program((512, 128), (3, 4, 128, 16), (3, 4, 16, 128), (3, 128), (128, 4))
def crossed_features(start, narrow, widen, bias, gate):
    x = start
    for layer in range(3):
        share = nn.softmax(x @ gate)
        expert = jnp.einsum("bd,kdr,krf->bkf", x, narrow[layer], widen[layer]) + bias[layer]
        x = x + jnp.einsum("bk,bkf->bf", share, start[:, None] * jnp.tanh(expert))
    return x


@program((8, 32, 64), ((8, 32), "int32"), (1000, 64))
def negative_samples_gradient(context, words, table):
    words = varied(words) % 1000
    others = (words * 7919 + 13) % 1000

    def loss(table, context):
        right = nn.log_sigmoid((context * table[words]).sum(-1))
        return -(right + nn.log_sigmoid(-(context * table[others]).sum(-1))).mean()
    return jax.grad(loss, (0, 1))(table, context)


@program((256, 64), (64, 8), (8, 64, 128), (8, 128, 64))
def experts_with_capacity_gradient(x, gate, up, down):
    def loss(gate, up, down):
        chance = nn.softmax(x @ gate)
        weight, expert = lax.top_k(chance, 2)
        capacity = 80
        first, second = nn.one_hot(expert[:, 0], 8), nn.one_hot(expert[:, 1], 8)
        before_first = jnp.cumsum(first, 0) - first
        before_second = jnp.cumsum(second, 0) - second + first.sum(0)
        combine = 0
        for choice, (chosen, before) in enumerate(((first, before_first), (second, before_second))):
            place = (before * chosen).sum(1).astype(jnp.int32)
            kept = place < capacity
            share = weight[:, choice] / weight.sum(1) * kept
            combine = combine + share[:, None, None] * chosen[:, :, None] * nn.one_hot(place, capacity)[:, None, :]
        dispatch = (combine > 0).astype(jnp.float32)
        hidden = nn.gelu(jnp.einsum("ecd,edf->ecf", jnp.einsum("tec,td->ecd", dispatch, x), up))
        out = jnp.einsum("tec,ecd->td", combine, jnp.einsum("ecf,efd->ecd", hidden, down))
        balance = (chance.mean(0) * first.mean(0)).sum() * 8
        return (out ** 2).mean() + 0.01 * balance
    return jax.grad(loss, (0, 1, 2))(gate, up, down)


@program((512, 64), (64, 8), (8, 64, 128), (8, 128, 64))
def sorted_experts(x, gate, up, down):
    share, expert = lax.top_k(nn.softmax(x @ gate), 2)
    expert = expert.reshape(-1)
    order = jnp.argsort(expert, stable=True)
    row, sizes = x[order // 2], jnp.bincount(expert, length=8)
    hidden = nn.gelu(lax.ragged_dot(row, up, sizes.astype(jnp.int32)))
    out = lax.ragged_dot(hidden, down, sizes.astype(jnp.int32))
    return jnp.zeros_like(x).at[order // 2].add(out * share.reshape(-1)[order][:, None])


@program((64, 32), ((64,), "int32"), (4, 32, 32))
def switched_experts(x, chosen, weights):
    chosen = varied(chosen)
    experts = [lambda v, i=i: nn.relu(v @ weights[i]) if i % 2 else jnp.tanh(v @ weights[i]) for i in range(4)]
    of_each = jax.vmap(lambda v, expert: lax.switch(expert % 4, experts, v))(x, chosen)
    return of_each, lax.scan(lambda v, expert: (lax.switch(expert % 4, experts, v), v.sum()), x[0], chosen)[1]


@program((1000, 24))
def nearest_by_bits(x):
    bits = x > 0
    code = (bits.reshape(1000, 24) * (1 << jnp.arange(24, dtype=jnp.uint32))).sum(1).astype(jnp.uint32)
    apart = lax.population_count(code[:, None] ^ code[None])
    return lax.top_k(-apart.astype(jnp.int32), 4)


@program((128, 4096))
def nearly_the_largest(scores):
    return lax.approx_max_k(scores, 10)
