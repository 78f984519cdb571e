"""The programs of this folder, by their names."""
import jax
import jax.numpy as jnp

PROGRAMS = {}


def program(*arguments):
    """Registers a function with its arguments: a shape is f32, or (shape, type)."""
    def register(function):
        shapes = [a if len(a) == 2 and isinstance(a[0], tuple) else (a, "float32") for a in arguments]
        PROGRAMS[function.__name__] = (function, [jax.ShapeDtypeStruct(*shape) for shape in shapes])
        return function
    return register


def varied(x):
    """Made integers are 0 to 7, too few for labels, links or bytes: these differ by place, int32 to 65535, uint8 over all values."""
    places = jnp.arange(x.size, dtype=jnp.int32) * 40503
    if x.dtype == jnp.uint8:
        return x * 37 + (places >> 7).astype(jnp.uint8).reshape(x.shape)
    return (x * 7919 + (places >> 3).reshape(x.shape)) & 0xffff
