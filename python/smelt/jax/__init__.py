"""Tune what XLA compiles for a JAX function, and use the result.

    tuned = smelt.jax.tune(step, params, batch, budget=120, out="step.smelt")
    with smelt.jax.optimize(tuned):        # or @smelt.jax.optimize("step.smelt")
        params, loss = step(params, batch)

Or make it a folder that runs without JAX, its weights packed:

    classify = smelt.jax.build(model.apply, params, images, weights=0, out="model.smeltmod")
    scores, = classify(images)

Or time the kernels that XLA makes of it, on any device, to train a model of that device:

    smelt.jax.write_times(smelt.jax.kernel_times(step, params, batch), "times.csv")
"""
from smelt.jax.deploying import Deployed, build
from smelt.jax.optimizing import Optimization, SmeltWarning, optimize
from smelt.jax.profiling import kernel_times, write_times
from smelt.jax.result import Tuned
from smelt.jax.tuning import fuse, tune

__all__ = ["Deployed", "Optimization", "SmeltWarning", "Tuned", "build", "fuse", "kernel_times", "optimize", "tune", "write_times"]
