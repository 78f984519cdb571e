#!/usr/bin/env python3
"""Tunes the functions of JAX's public modules, each under both targets, and compares what runs then with plain JAX.

  every_function.py [--modules jax.numpy.linalg,...] [--only TEXT] [--targets xla,cpu] [--budget 4] [--sample N]

A function is called with the first of the usual arguments of tests/conformance/jax_functions.py that it takes. Each is tuned in a process
that a crash may end. A line for each that is not well, and totals at the end. Exit status 0: no crash, no exception, nothing wrong.
"""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "conformance"))
import jax_functions  # noqa: E402

MODULES = ["jax.numpy.linalg", "jax.scipy.linalg", "jax.numpy.fft", "jax.lax", "jax.lax.linalg"]
DTYPES = ["float32", "complex64", "int32", "bool"]  # the first that a function takes
BAD = ("crash", "exception", "wrong")


def others(jax, jnp):
    """Functions whose arguments are functions, dimension numbers or factors: name -> (f, its arrays)."""
    lax, scipy, linalg = jax.lax, jax.scipy.linalg, jnp.linalg
    x = (jnp.arange(30, dtype=jnp.float32).reshape(6, 5) % 7 - 2.5) / 4
    v, a = x[0], (x @ x.T) / 8 + jnp.eye(6)
    b, whole, index = a[:, :2] + 1, jnp.arange(6, dtype=jnp.int32), jnp.array([[0], [2], [2]], jnp.int32)
    image, kernel = jnp.sin(jnp.arange(2 * 8 * 8 * 3, dtype=jnp.float32)).reshape(2, 8, 8, 3), jnp.ones((3, 3, 3, 4)) / 9
    rows = lax.ScatterDimensionNumbers(update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))
    taken = lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))
    mesh, spec = jax.sharding.Mesh(jax.devices()[:1], ("i",)), jax.sharding.PartitionSpec("i")

    def mapped(f):
        return jax.shard_map(f, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False), (x,)

    def scattering(name):
        return lambda x, u: getattr(lax, name)(x, index, u, rows), (x, 2 * x[:3] + 1)
    table = {
        "jax.numpy.linalg.cross": (linalg.cross, (x[:, :3], x[:, 1:4])),
        "jax.numpy.linalg.matrix_power": (lambda a: linalg.matrix_power(a, 3), (a,)),
        "jax.numpy.linalg.tensorinv": (lambda a: linalg.tensorinv(a.reshape(6, 2, 3), 1), (a,)),
        "jax.numpy.linalg.tensorsolve": (linalg.tensorsolve, (a, b[:, 0])),
        "jax.scipy.linalg.cho_solve": (lambda a, b: scipy.cho_solve(scipy.cho_factor(a), b), (a, b)),
        "jax.scipy.linalg.eigh_tridiagonal": (lambda d, e: scipy.eigh_tridiagonal(d, e, eigvals_only=True), (a[0], a[1, 1:])),
        "jax.scipy.linalg.expm_frechet": (scipy.expm_frechet, (a, x @ x.T)),
        "jax.scipy.linalg.lu_solve": (lambda a, b: scipy.lu_solve(scipy.lu_factor(a), b), (a, b)),
        "jax.scipy.linalg.solve_sylvester": (scipy.solve_sylvester, (a, a, x @ x.T)),
        "jax.lax.linalg.cholesky_update": (lax.linalg.cholesky_update, (linalg.cholesky(a), b[:, 0])),
        "jax.lax.linalg.symmetric_product": (lambda a, c: lax.linalg.symmetric_product(a, c), (x, a)),
        "jax.lax.linalg.triangular_solve": (lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True, lower=True), (a, b)),
        "jax.lax.linalg.tridiagonal_solve": (lax.linalg.tridiagonal_solve, (a[1] * 0, a[0] + 4, a[2] * 0, b)),
        "jax.lax.argmax": (lambda x: lax.argmax(x, 1, jnp.int32), (x,)),
        "jax.lax.argmin": (lambda x: lax.argmin(x, 1, jnp.int32), (x,)),
        "jax.lax.associative_scan": (lambda x: lax.associative_scan(jnp.add, x), (x,)),
        "jax.lax.broadcast_in_dim": (lambda v: lax.broadcast_in_dim(v, (3, 5), (1,)), (v,)),
        "jax.lax.cond": (lambda x: lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x), (x,)),
        "jax.lax.conv_general_dilated_local": (
            lambda i, k: lax.conv_general_dilated_local(i, k, (1, 1), "VALID", (3, 3), dimension_numbers=("NHWC", "HWIO", "NHWC")),
            (image, jnp.ones((6, 6, 27, 2)) / 27)),
        "jax.lax.conv_general_dilated_patches": (lambda i: lax.conv_general_dilated_patches(i, (3, 3), (1, 1), "SAME"), (image,)),
        "jax.lax.conv_with_general_padding": (
            lambda i, k: lax.conv_with_general_padding(jnp.moveaxis(i, 3, 1), jnp.transpose(k), (1, 1), ((1, 1), (0, 2)), (1, 1), (1, 1)),
            (image, kernel)),
        "jax.lax.custom_linear_solve": (lambda a, b: lax.custom_linear_solve(lambda y: a @ y, b, lambda _, c: linalg.solve(a, c)), (a, b)),
        "jax.lax.custom_root": (lambda v: lax.custom_root(lambda y: y ** 3 + y - v, v, lambda f, y: lax.fori_loop(
            0, 8, lambda _, z: z - f(z) / (3 * z ** 2 + 1), y), lambda g, y: y / g(jnp.ones_like(y))), (v,)),
        "jax.lax.dot_general": (lambda x, y: lax.dot_general(x, y, (((1,), (1,)), ((0,), (0,)))), (image, image)),
        "jax.lax.dynamic_update_slice_in_dim": (lambda x, u: lax.dynamic_update_slice_in_dim(x, u, 2, 0), (x, x[:2] + 1)),
        "jax.lax.dynamic_update_index_in_dim": (lambda x, u: lax.dynamic_update_index_in_dim(x, u, 2, 0), (x, x[0] + 1)),
        "jax.lax.fft": (lambda x: lax.fft(x, "FFT", (5,)), (x.astype(jnp.complex64),)),
        "jax.lax.fori_loop": (lambda x: lax.fori_loop(0, 5, lambda i, s: jnp.sin(s) + i, x), (x,)),
        "jax.lax.gather": (lambda x: lax.gather(x, index, taken, (1, 5)), (x,)),
        "jax.lax.index_take": (lambda x: lax.index_take(x, (whole[:3],), (0,)), (x,)),
        "jax.lax.map": (lambda x: lax.map(lambda r: r / (1 + r.sum() ** 2), x), (x,)),
        "jax.lax.platform_dependent": (lambda x: lax.platform_dependent(x, cpu=jnp.sin, default=jnp.cos), (x,)),
        "jax.lax.ragged_dot": (lambda x: lax.ragged_dot(x, jnp.ones((2, 5, 3)), jnp.array([2, 4], jnp.int32)), (x,)),
        "jax.lax.reduce": (lambda x: lax.reduce(x, 0.0, lax.add, (0,)), (x,)),
        "jax.lax.reduce_window": (lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (1, 1), "VALID"), (x,)),
        "jax.lax.rng_bit_generator": (lambda k: lax.rng_bit_generator(k, (5, 3))[1], (jnp.arange(4, dtype=jnp.uint32),)),
        "jax.lax.scan": (lambda v, x: lax.scan(lambda s, r: (jnp.tanh(s + r), s.sum()), v, x), (v, x)),
        "jax.lax.split": (lambda x: lax.split(x, (2, 4)), (x,)),
        "jax.lax.squeeze": (lambda x: lax.squeeze(x[:, :1], (1,)), (x,)),
        "jax.lax.switch": (lambda i, x: lax.switch(i, (jnp.sin, jnp.cos, jnp.tanh), x), (jnp.int32(1), x)),
        "jax.lax.while_loop": (lambda x: lax.while_loop(lambda s: s.sum() < 90, lambda s: 1.5 * jnp.abs(s) + 1, x), (x,)),
        **{f"jax.lax.{name}": scattering(name) for name in ("scatter", "scatter_add", "scatter_max", "scatter_min", "scatter_mul",
                                                            "scatter_sub")},
        **{f"jax.lax.{name}": mapped(f) for name, f in {
            "psum": lambda x: lax.psum(jnp.sin(x), "i"), "pmean": lambda x: lax.pmean(jnp.sin(x), "i"), "pmax": lambda x: lax.pmax(x * x, "i"),
            "all_gather": lambda x: lax.all_gather(jnp.cos(x), "i", tiled=True), "ppermute": lambda x: lax.ppermute(x + 1, "i", [(0, 0)]),
            "all_to_all": lambda x: lax.all_to_all(x + 1, "i", 1, 1, tiled=True), "psum_scatter": lambda x: lax.psum_scatter(
                x * 2, "i", tiled=True), "axis_index": lambda x: x + lax.axis_index("i")}.items()},
    }
    return table


def first_that_works(name, function, jax, np):
    """(f, its arrays, plain results): of the first arguments that JAX takes; None: there are none."""
    known = others(jax, jax.numpy).get(name)
    if known is not None:
        f, arrays = known
        return lambda *traced: f(*traced), arrays, jax.tree.leaves(jax.jit(lambda *traced: f(*traced))(*arrays))
    for dtype in DTYPES:
        for arrays, fixed in jax_functions.arguments_to_try(np, jax.numpy, jax)(dtype):
            def call(*traced, fixed=fixed):
                return function(*traced, *fixed)
            leaves = jax.tree.leaves(arrays)
            if not leaves or any(jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key) for leaf in leaves):
                continue
            try:
                results = jax.tree.leaves(jax.jit(call)(*arrays))
            except Exception:
                continue
            if results and all(isinstance(leaf, jax.Array) for leaf in results):
                return call, arrays, results
    return None


def tune_one(name, function, target, budget, jax, np):
    """{"state", "answer", "text"}"""
    import smelt.jax
    from smelt.jax import kernels
    case = first_that_works(name, function, jax, np)
    if case is None:
        return {"state": "untried", "text": "no arguments that it takes"}
    call, arrays, plain = case
    call.__name__ = name.rpartition(".")[2]
    f = jax.jit(call)
    with tempfile.TemporaryDirectory() as folder:
        try:
            tuned = smelt.jax.tune(f, *arrays, out=pathlib.Path(folder) / "run.smelt", budget=budget, target=target, quiet=True)
            with warnings.catch_warnings():
                warnings.simplefilter("error", smelt.jax.SmeltWarning)
                with smelt.jax.optimize(tuned) as optimization:
                    found = jax.tree.leaves(f(*arrays))
        except Exception as error:
            return {"state": "exception", "text": f"{type(error).__name__}: {error}"}
    where = kernels.difference([np.asarray(leaf) for leaf in plain], [np.asarray(leaf) for leaf in found])
    if where is not None:
        return {"state": "wrong", "answer": tuned.answer, "text": where}
    if tuned.answer != "xla" and not optimization.used:
        return {"state": "wrong", "answer": tuned.answer, "text": "what was found is not used"}
    why = tuned.report.get("why", "")
    state = "exception" if "cannot be made" in why else "refused" if "do not compute" in why else "good"
    return {"state": state, "answer": tuned.answer, "text": why or tuned.report.get("checked", "")}


def work():
    """The child: a request a line on standard input, a reply a line on standard output."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else prints
    import jax
    import numpy as np
    known = {}
    for line in sys.stdin:
        request = json.loads(line)
        if request["module"] not in known:
            known[request["module"]] = dict(jax_functions.functions([request["module"]]))
        function = known[request["module"]][request["name"]]
        reply = tune_one(request["name"], function, request["target"], request["budget"], jax, np)
        print(json.dumps(reply), file=replies, flush=True)


class Child:
    """Answers until it dies, and is started again then."""

    def __init__(self):
        self.process = None

    def ask(self, **request):
        if self.process is None:
            self.process = subprocess.Popen([sys.executable, __file__, "--work"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if line:
            return json.loads(line)
        status, self.process = self.process.wait(), None
        return {"state": "crash", "text": f"its process ended with status {status}"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modules", type=lambda text: text.split(","), default=MODULES)
    parser.add_argument("--only", default="", help="functions whose names contain this")
    parser.add_argument("--targets", type=lambda text: text.split(","), default=["xla", "cpu"])
    parser.add_argument("--budget", type=float, default=4)
    parser.add_argument("--sample", type=int, default=0, help="so many functions, evenly spread; 0: all")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        return work()
    chosen = [(module, name) for module in arguments.modules for name, _ in jax_functions.functions([module]) if arguments.only in name]
    if arguments.sample:
        chosen = chosen[::max(len(chosen) // arguments.sample, 1)]
    child, states, answers, start = Child(), collections.Counter(), collections.Counter(), time.monotonic()
    untried = []
    for module, name in chosen:
        for target in arguments.targets:
            begin = time.monotonic()
            reply = child.ask(module=module, name=name, target=target, budget=arguments.budget)
            state = reply["state"]
            if state == "untried":
                untried.append(name)
                break
            states[state] += 1
            answers[f"{target}: {reply.get('answer', state)}"] += 1
            print(f"{name:45} {target} {state:10} {reply.get('answer', ''):15} {time.monotonic() - begin:6.1f} s  {reply['text'][:300]}",
                  flush=True)
    print(f"untried, for want of arguments: {', '.join(untried) or 'none'}")
    print("; ".join(f"{key} {count}" for key, count in sorted(answers.items())))
    print(f"{len(chosen) - len(untried)} functions under {' and '.join(arguments.targets)}, {sum(states.values())} searches in "
          f"{time.monotonic() - start:.0f} s: {states['crash']} crashes, {states['exception']} exceptions, {states['wrong']} wrong "
          f"({states['refused']} with kernels that were refused, for their results)")
    return 1 if any(states[state] for state in BAD) or not states["good"] else 0


if __name__ == "__main__":
    sys.exit(main())
