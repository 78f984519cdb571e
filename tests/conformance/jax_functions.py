#!/usr/bin/env python3
"""Runs the functions of JAX's public modules through Smelt, and compares with XLA.

Each function is called with the first of some usual arguments that it takes (`arguments_to_try`), in several types of element, and so is its
gradient. XLA's result is what Smelt's must be: of the evaluator, and compiled under several fusions.

  jax_functions.py [--smelt PATH] [--modules jax.numpy,jax.lax,...] [--only TEXT] [--dtypes float32,...] [--engines evaluator,priority]
                   [--sample N] [--every] [--untried] [--keep FOLDER]

What differs, or is refused, has a line of its own, and with --keep its module and inputs are kept. Exit status 0: everything agreed;
1: something did not; 77: there is no JAX, nothing was checked.
"""
import argparse, collections, hashlib, importlib, os, pathlib, subprocess, sys, tempfile, typing, warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "targets/xla"))
import worker  # noqa: E402  for safetensors, as smelt writes and reads them
MODULES = ["jax.numpy", "jax.numpy.linalg", "jax.numpy.fft", "jax.nn", "jax.lax", "jax.lax.linalg", "jax.random", "jax.image", "jax.ops",
           "jax.scipy.special", "jax.scipy.linalg", "jax.scipy.signal", "jax.scipy.ndimage", "jax.scipy.fft", "jax.scipy.integrate",
           "jax.scipy.interpolate", "jax.scipy.cluster.vq",
           *(f"jax.scipy.stats.{name}" for name in ("norm", "beta", "gamma", "poisson", "binom", "t", "cauchy", "chi2", "expon", "logistic",
                                                    "laplace", "dirichlet", "multivariate_normal", "nbinom", "pareto", "truncnorm", "uniform",
                                                    "vonmises", "wrapcauchy", "gennorm", "betabinom", "bernoulli", "geom", "multinomial"))]
DTYPES = ["float32", "float64", "bfloat16", "float16", "int32", "uint8", "int8", "int64", "complex64", "bool"]
ENGINES = ["evaluator", "priority", "random:1"]
GRADIENTS = ["float32", "float64"]
# Largest difference over the larger magnitude, or over a thousandth of the largest.
TOLERANCE = {"float64": 1e-8, "complex128": 1e-8, "float32": 3e-4, "complex64": 3e-4, "float16": 2e-2, "bfloat16": 1e-1}  # others are of eight bits or fewer
# They touch files or the process, or their results are anything.
LEFT_OUT = {"jax.numpy.empty", "jax.numpy.empty_like", "jax.numpy.save", "jax.numpy.savez", "jax.numpy.load", "jax.numpy.set_printoptions",
            "jax.numpy.printoptions", "jax.numpy.get_printoptions", "jax.numpy.from_dlpack", "jax.numpy.frombuffer", "jax.numpy.fromfile"}


def arguments_to_try(np, jnp, jax):
    """Of one element type: tuples of (arrays to trace, what is fixed), most usual first."""

    def make(dtype):
        random = np.random.default_rng(5)

        def array(*dims, low=0.1, high=0.9):
            kind = np.dtype(dtype).kind
            if kind == "b":
                return jnp.asarray(random.integers(0, 2, dims).astype(bool))
            if kind in "iu":
                return jnp.asarray(random.integers(1, 6, dims).astype(dtype))
            if kind == "c":
                return jnp.asarray((random.uniform(low, high, dims) + 1j * random.uniform(low, high, dims)).astype(dtype))
            return jnp.asarray(random.uniform(low, high, dims).astype(np.float32)).astype(dtype)
        x, y, z, w = array(6, 5), array(6, 5), array(6, 5), array(6, 5)
        v, u = array(17), array(17)
        square = array(5, 5)
        positive = square @ square.T + 5 * jnp.eye(5, dtype=dtype) if np.dtype(dtype).kind not in "b" else square
        index = jnp.asarray(random.integers(0, 5, (6,)), jnp.int32)
        key = jax.random.key(7)
        image = array(1, 8, 8, 3)
        return [
            ((x,), ()), ((x, y), ()), ((positive,), ()), ((positive, array(5, 3)), ()), ((v,), ()), ((v, u), ()),
            ((x, y, z), ()), ((x, y, z, w), ()),
            ((x,), (1,)), ((x,), (0, 1)), ((x,), ((3, 10),)), ((x,), ((1, 0),)), ((x,), (2, 0)), ((v,), (4,)), ((x, index), ()),
            ((v, index), ()), ((v,), (3, "same")),
            ((x, index), (1,)), ((x, index[:, None]), (1,)), ((x, index), (0,)), ((v, jnp.argsort(v)), ()), ((x, y), (1,)),
            ((array(5, 4, 3), array(5, 3, 2)), ()),
            ((x.astype(bool), x, y), ()), ((x,), ([0.25, 0.5],)), ((x, jnp.float32(0.3)), ()), ((x,), (0.5,)),
            ((), ((4, 3),)), ((), ((4, 3), dtype)), ((), ((4, 3), 2)), ((), (4,)), ((), (2, 11)), ((), (0, 5, 11)), ((), (4, 4, 1)),
            ((key,), ()), ((key,), ((7, 5),)), ((key,), ((7, 5), dtype)), ((key, v), ()), ((key, x), ()), ((key, v), ((17,),)),
            ((key, x, y), ()), ((key, x, y), ((6, 5),)),
            ((key,), (3,)), ((key, positive[0], positive), ()), ((key, 3.0 * v), ()), ((key,), (3, (4,))),
            ((key,), ((4,), 0, 9)), ((key, jnp.int32(8)), ()),
            ((image, array(3, 3, 3, 4)), ((1, 1), "SAME")), ((array(1, 3, 8, 8), array(4, 3, 3, 3)), ((1, 1), "SAME")),
            ((image,), ((1, 12, 5, 3), "linear")), ((array(8, 8),), ((12, 5), "cubic")), ((array(8, 8), array(3, 3)), ()),
            ((array(8, 8), array(3, 3)), ("same",)),
            ((array(8, 8), [array(9, low=0, high=7), array(9, low=0, high=7)]), (1,)), (([x, y],), ()), (([x, y],), (0,)),
            (([x, y], ), (1,)), (([v, u],), ()),
            ((x.astype(jnp.float32), jnp.float32(0), jnp.float32(2)), ()), ((x,), (jnp.float32,)), ((x,), (np.int32,)),
            ((x, x.sum()), ()), ((x, y[0]), ()),
            ((v, u, 2 * u), ()), ((v,), (2, 3)), ((array(2, 8, 4, 16), array(2, 8, 4, 16), array(2, 8, 4, 16)), ()),
            ((index,), (7,)), ((v, index[:1]), ()),
            ((v, v.astype(jnp.int32) % 4), (5,)), ((array(64),), (16,)), ((array(64),), (8,)), ((array(6, 5, 4),), ((2, 0, 1),)),
            ((array(6, 5, 4),), (0, 2)), ((array(1, 6, 1),), ()),
            ((x,), ((0, 1), (1, 2))), ((x,), ((0, 0), (4, 3))), ((x,), ((0, 1), (5, 4), (2, 1))),
            ((x, jnp.zeros((), dtype)), (((1, 1, 0), (0, 2, 1)),)), ((x, array(2, 2)), ((1, 2),)),
        ]
    return make


def functions(names):
    for name in names:
        module = importlib.import_module(name)
        for attribute in sorted(dir(module)):
            value = getattr(module, attribute)
            full = f"{name}.{attribute}"
            if attribute.startswith("_") or full in LEFT_OUT or not callable(value) or isinstance(value, type) or attribute.endswith("_p"):
                continue
            yield full, value


def difference(got, want, kind, tolerance, np):
    """Empty where they agree."""
    if got.ndim == want.ndim and all(there >= size for there, size in zip(got.shape, want.shape)):
        got = got.reshape(-1)[:want.size].reshape(want.shape)  # sizes known only at run time: what there is comes first
    if got.shape != want.shape:
        return f"shape {got.shape} for {want.shape}"
    if want.size == 0:
        return ""
    if kind not in TOLERANCE and got.dtype.kind in "iub":
        wrong = np.mean(got.astype(np.int64) != want.astype(np.int64))
        return f"{wrong:.2%} of {want.size} integers differ" if wrong else ""
    got, want = got.astype(np.float64), want.astype(np.float64)
    both = np.isfinite(got) & np.isfinite(want)
    same = both | (np.isnan(got) & np.isnan(want)) | (got == want)
    if not same.all():
        k = np.argwhere(~same)[0]
        return f"{got[tuple(k)]} for {want[tuple(k)]} at {tuple(int(i) for i in k)}"
    if not both.any():
        return ""
    floor = 1e-3 * np.abs(want[both]).max()
    error = np.abs(got - want)[both] / np.maximum(np.maximum(np.abs(got), np.abs(want))[both], max(floor, 1e-30))
    return f"relative difference {error.max():.3g}" if error.max() > tolerance else ""


class Case(typing.NamedTuple):
    name: str
    module: bytes
    inputs: list  # of (name, array)
    want: list
    kinds: list  # names of the types of `want`
    dtypes: list  # and of the inputs


def trace(name, function, arrays, fixed, jax, np):
    """A case, or None where the function has no arrays as results. Whatever JAX says of the arguments is raised."""
    def plain(leaf):  # keys of random numbers as their bits
        is_key = isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        return jax.random.key_data(leaf) if is_key else leaf

    lowered = jax.jit(lambda *traced: jax.tree.map(plain, function(*traced, *fixed)), keep_unused=True).lower(*arrays)
    module = lowered.compiler_ir(dialect="hlo").as_serialized_hlo_module_proto()
    results = jax.tree.leaves(lowered.compile()(*arrays))
    if not results or not all(isinstance(leaf, jax.Array) for leaf in results):
        return None
    leaves = [plain(leaf) for leaf in jax.tree.leaves(arrays)]
    inputs = [(f"in.{k}", worker.to_storable(np.asarray(leaf))) for k, leaf in enumerate(leaves)]
    return Case(name, module, inputs, [worker.to_storable(np.asarray(leaf)) for leaf in results], [leaf.dtype.name for leaf in results],
                [leaf.dtype.name for leaf in leaves])


def gradient(function, fixed, jax):
    """Of a weighted sum of the results: the plain sum of many functions is constant."""
    jnp = jax.numpy

    def weighted(leaf):
        return (leaf * jnp.cos(jnp.arange(leaf.size, dtype=leaf.dtype)).reshape(leaf.shape)).sum()

    def scalar(*traced):
        return sum(weighted(leaf) for leaf in jax.tree.leaves(function(*traced, *fixed)) if jnp.issubdtype(leaf.dtype, jnp.floating))
    return scalar


def cases(arguments, jax, np, untried):
    """`untried`: filled with what JAX itself refused: name of a function or gradient, and the reason."""
    make = arguments_to_try(np, jax.numpy, jax)
    seen = set()
    chosen = [(name, function) for name, function in functions(arguments.modules) if arguments.only in name]
    if arguments.sample:
        chosen = chosen[::max(len(chosen) // arguments.sample, 1)]
    for name, function in chosen:
        taken, reason = False, "its results are no arrays"
        for dtype in arguments.dtypes:
            for number, (arrays, fixed) in enumerate(make(dtype)):
                try:
                    case = trace(f"{name} {dtype} {number}", function, arrays, fixed, jax, np)
                except Exception as refusal:
                    reason = refusal
                    continue
                if case is None:
                    continue
                taken = True
                digest = hashlib.sha256(case.module).digest()
                if digest not in seen:  # else this is another name of a function
                    seen.add(digest)
                    yield case
                    leaves = jax.tree.leaves(arrays)
                    if dtype in GRADIENTS and leaves and all(jax.numpy.issubdtype(leaf.dtype, jax.numpy.floating) for leaf in leaves):
                        gradient_name = f"{name} {dtype} {number} gradient"
                        try:
                            derived = jax.grad(gradient(function, fixed, jax), argnums=tuple(range(len(arrays))))
                            case = trace(gradient_name, derived, arrays, (), jax, np)
                        except Exception as refusal:
                            untried[gradient_name], case = refusal, None
                        if case is not None:
                            yield case
                if not arguments.every:
                    break
        if not taken:
            untried[name] = reason


def run(case, engine, program, folder, np):
    module_name = "module.hlo" if case.module.startswith(b"HloModule") else "module.pb"
    module, inputs, outputs = (str(pathlib.Path(folder) / name) for name in (module_name, "inputs.safetensors", "outputs.safetensors"))
    pathlib.Path(module).write_bytes(case.module)
    worker.write_safetensors(inputs, case.inputs)
    flags = ["--engine=evaluator"] if engine == "evaluator" else [f"--fusion={engine}"]
    try:
        done = subprocess.run([program, "run", module, f"--inputs={inputs}", f"--outputs={outputs}", "--time-limit=120", *flags],
                              capture_output=True, text=True, errors="replace", timeout=200)
    except subprocess.TimeoutExpired:
        return "no answer in 200 s"
    if done.returncode != 0:
        return f"status {done.returncode}: " + " ".join(done.stderr.split())[:300]
    got = worker.read_safetensors(outputs)
    coarsest = max((TOLERANCE.get(dtype, 0) for dtype in case.dtypes), default=0)
    for k, (want, kind) in enumerate(zip(case.want, case.kinds)):
        if f"out.{k}" not in got:
            return f"no result {k}"
        wrong = difference(got[f"out.{k}"], want, kind, max(coarsest, TOLERANCE.get(kind, 0.3)), np)
        if wrong:
            return f"result {k}: {wrong}"
    return ""


def check(case, arguments, counts, np):
    """Runs a case under each engine and counts; a line for what differs, which --keep keeps."""
    for engine in arguments.engines:
        with tempfile.TemporaryDirectory() as folder:
            wrong = run(case, engine, arguments.smelt, folder, np)
            if wrong and arguments.keep:
                kept = arguments.keep / f"{case.name} {engine}".replace(" ", "_").replace(":", "")
                kept.mkdir(parents=True, exist_ok=True)
                for file in pathlib.Path(folder).iterdir():
                    (kept / file.name).write_bytes(file.read_bytes())
        counts[engine]["differ" if wrong else "agree"] += 1
        if wrong:
            print(f"{case.name} {engine}: {wrong}", flush=True)


def check_all(cases, arguments, np):
    """Checks cases one after another; the exit status."""
    counts = collections.defaultdict(collections.Counter)
    for number, case in enumerate(cases):
        check(case, arguments, counts, np)
        if sys.stderr.isatty():
            print(f"\r{number + 1} {case.name:70.70}", end="", file=sys.stderr, flush=True)
    if not counts:
        print("nothing was checked: no function has such a name")
        return 1
    for engine, count in counts.items():
        print(f"{engine}: {count['agree']} of {count.total()} agree")
    return 1 if any(count["differ"] for count in counts.values()) else 0


def make_parser(description, dtypes):
    """The flags that all frameworks' scripts have."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smelt", default=str(ROOT / "build/release/smelt"))
    parser.add_argument("--only", default="", help="functions whose name holds this")
    parser.add_argument("--dtypes", type=lambda text: text.split(","), default=dtypes)
    parser.add_argument("--engines", type=lambda text: text.split(","), default=ENGINES)
    parser.add_argument("--sample", type=int, help="so many of the functions, spread over all")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for modules and inputs of what differs")
    return parser


def main():
    parser = make_parser(__doc__, DTYPES)
    parser.add_argument("--modules", type=lambda text: text.split(","), default=MODULES)
    parser.add_argument("--every", action="store_true", help="all of the usual arguments that a function takes, not the first alone")
    parser.add_argument("--untried", action="store_true", help="name the functions and gradients that were not run, with JAX's reason")
    arguments = parser.parse_args()
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    warnings.simplefilter("ignore")
    try:
        import jax
        import numpy as np
    except ImportError:
        print("skipped: this Python has no jax (scripts/setup.sh --jax)")
        return 77
    jax.config.update("jax_enable_x64", True)
    untried = {}
    status = check_all(cases(arguments, jax, np, untried), arguments, np)
    for kind, words in ((True, "gradients that JAX does not make"), (False, "functions that take none of the arguments")):
        names = {name: reason for name, reason in untried.items() if name.endswith(" gradient") == kind}
        print(f"{len(names)} {words}" + (" (--untried names them)" if names and not arguments.untried else ""))
        for name, reason in names.items() if arguments.untried else ():
            print(f"  {name}: " + " ".join(str(reason).split())[:120])
    return status


if __name__ == "__main__":
    sys.exit(main())
