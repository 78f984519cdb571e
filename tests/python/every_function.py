#!/usr/bin/env python3
"""Tunes the functions of JAX's public modules, each under both targets, and compares what runs then with plain JAX.

  every_function.py [--modules jax.numpy.linalg,...] [--only TEXT] [--targets xla,cpu] [--budget 1] [--sample N]

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


def first_that_works(function, jax, np):
    """(f, its arrays, plain results): of the first arguments that JAX takes; None: there are none."""
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
    case = first_that_works(function, jax, np)
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
    return {"state": "good", "answer": tuned.answer, "text": tuned.report.get("unchecked", "")}


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
    parser.add_argument("--budget", type=float, default=1)
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
          f"{time.monotonic() - start:.0f} s: {states['crash']} crashes, {states['exception']} exceptions, {states['wrong']} wrong")
    return 1 if any(states[state] for state in BAD) or not states["good"] else 0


if __name__ == "__main__":
    sys.exit(main())
