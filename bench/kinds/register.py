"""The programs of this folder, by their names."""
import jax

PROGRAMS = {}


def program(*arguments):
    """Registers a function with its arguments: a shape is f32, or (shape, type)."""
    def register(function):
        shapes = [a if len(a) == 2 and isinstance(a[0], tuple) else (a, "float32") for a in arguments]
        PROGRAMS[function.__name__] = (function, [jax.ShapeDtypeStruct(*shape) for shape in shapes])
        return function
    return register
