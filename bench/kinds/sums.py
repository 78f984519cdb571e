"""Running sums and products."""
import jax
import jax.numpy as jnp
from jax import lax

from kinds.register import program


@program((1 << 20,))
def cumulative_sum(x):
    return jnp.cumsum(x)


@program((64, 4096))
def cumulative_sum_of_rows(x):
    return jnp.cumsum(x, -1)


@program((4096, 64))
def cumulative_sum_of_columns(x):
    return jnp.cumsum(x, 0)


@program((64, 1000))
def cumulative_maximum(x):
    return lax.cummax(x, 1)


@program((32, 512, 16))
def cumulative_product_backwards(x):
    return lax.cumprod(x, 1, reverse=True)


@program((64, 512))
def cumulative_log_sum_exp(x):
    return lax.cumlogsumexp(x, 1)


@program((64, 4096))
def nucleus(logits):
    ordered = jnp.sort(logits, -1)[:, ::-1]
    return jnp.where(jnp.cumsum(jax.nn.softmax(ordered), -1) < 0.9, ordered, 0).sum(-1)


@program((8, 64, 64), (64, 192))
def linear_attention_gradient(x, weights):
    def loss(weights):
        query, key, value = jnp.split(x @ weights * 0.1, 3, -1)
        query, key = jax.nn.elu(query) + 1, jax.nn.elu(key) + 1
        sums, norm = jnp.cumsum(jnp.einsum("btd,bte->btde", key, value), 1), jnp.cumsum(key, 1)
        return (jnp.einsum("btd,btde->bte", query, sums) / jnp.einsum("btd,btd->bt", query, norm)[..., None]).var()
    return jax.value_and_grad(loss)(weights)
