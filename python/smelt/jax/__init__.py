"""Tune what XLA compiles for a JAX function, and use the result.

    tuned = smelt.jax.tune(step, params, batch, budget=120, out="step.smelt")
    with smelt.jax.optimize(tuned):        # or @smelt.jax.optimize("step.smelt")
        params, loss = step(params, batch)
"""
from smelt.jax.optimizing import Optimization, SmeltWarning, optimize
from smelt.jax.result import Tuned
from smelt.jax.tuning import fuse, tune

__all__ = ["Optimization", "SmeltWarning", "Tuned", "fuse", "optimize", "tune"]
