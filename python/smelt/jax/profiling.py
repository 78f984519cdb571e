"""Times each kernel that XLA makes of a function, on whatever device it runs on, as rows that `smelt corpus import` reads.

    rows = smelt.jax.kernel_times(step, params, batch)
    smelt.jax.write_times(rows, "times.csv")

    $ smelt corpus import times.csv --of=gpu:h100 --machine=h100.json -o corpus
    $ smelt train corpus -o h100.smeltmodel --task=fusion

The times are those of JAX's profiler while the whole program runs, so that a kernel finds in the caches what it finds there in use (section 4 of
the TPU paper, "A Learned Performance Model for Tensor Processing Units"). A kernel is a fused computation of the optimised module; calls of libraries
have no HLO that says what they compute and are left out. On a CPU, where XLA hands a kernel out to several threads and does not wait,
`smelt profile --target=xla` is the better way.
"""
import csv
import pathlib
import re
import tempfile

COLUMNS = ("program", "kernel", "seconds", "device", "compiler", "policy", "provenance")
# A constant that the printer left out cannot be read back.
ELIDED = re.compile(r"constant\(\{\.\.\.\}\)")
METADATA = re.compile(r', metadata=\{(?:[^{}"]|"(?:[^"\\]|\\.)*"|\{[^{}]*\})*\}')
MODULE = re.compile(r"HloModule ([^\s,]+)")
HEADER = re.compile(r"^(?:ENTRY )?%?([^\s(]+) \(.*\{$")
CALLED = re.compile(r"(?:calls|to_apply|condition|body|branch_computations|called_computations|select|scatter)=(\{[^}]*\}|%?[\w.\-]+)")
FUSION = re.compile(r"^(?:ROOT )?%?([^\s=]+) = .* fusion\(.*\bcalls=%?([\w.\-]+)")


def _computations(text):
    """The lines of each computation of a module's text, by name, in order; callees come first."""
    computations, lines = {}, None
    for line in text.splitlines():
        if line == "}" and lines is not None:
            lines = None
        elif lines is not None:
            lines.append(METADATA.sub("", line.strip()))
        elif match := HEADER.match(line):
            lines = computations[match[1]] = [line]
    return computations


def kernels(text):
    """`{instruction: module}` for the fusions of an optimised module's text; each module is one fused computation and what it calls."""
    computations = _computations(text)
    result = {}

    def callees(name, into):
        for line in computations[name][1:]:
            for group in CALLED.findall(line):
                for called in re.findall(r"[\w.\-]+", group):
                    if called in computations and called not in into:
                        callees(called, into)
        into[name] = None
        return into

    fused = {match[2] for lines in computations.values() for line in lines[1:] if (match := FUSION.match(line))}
    for name, lines in computations.items():
        if name in fused:
            continue
        for match in filter(None, map(FUSION.match, lines[1:])):
            parts = []
            for part in callees(match[2], {}):
                header = computations[part][0].removeprefix("ENTRY ")
                parts.append("\n".join([("ENTRY " if part == match[2] else "") + header, *("  " + line for line in computations[part][1:]), "}"]))
            module = f"HloModule {match[2]}\n\n" + "\n\n".join(parts) + "\n"
            if not ELIDED.search(module):
                result[match[1]] = module
    return result


def _trace(runs, times):
    import jax
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    with tempfile.TemporaryDirectory() as folder:
        jax.profiler.start_trace(folder, profiler_options=options)
        try:
            for run in runs:
                for _ in range(times):
                    run()
        finally:
            jax.profiler.stop_trace()
        files = list(pathlib.Path(folder).rglob("*.xplane.pb"))
        if not files:
            raise RuntimeError("JAX's profiler wrote no trace; is another trace running in this process?")
        return jax.profiler.ProfileData.from_file(str(files[0]))


def _samples(trace):
    """`{(module, instruction): [seconds]}`: an instruction that is several kernels on the device counts as their sum, run by run."""
    planes = list(trace.planes)
    on_device = [plane for plane in planes if plane.name.startswith("/device:")]
    events = {}
    for plane in on_device or planes:
        for line in plane.lines:
            for event in line.events:
                stats = dict(event.stats)
                if "hlo_op" in stats:
                    key = (stats.get("hlo_module", "").partition("(")[0], stats["hlo_op"])
                    events.setdefault(key, {}).setdefault(event.name, []).append((event.start_ns, event.duration_ns))
    samples = {}
    for key, by_kernel in events.items():
        runs = [[duration for _, duration in sorted(times)] for times in by_kernel.values()]
        if len({len(times) for times in runs}) == 1:
            samples[key] = [sum(parts) * 1e-9 for parts in zip(*runs)]
    return samples


def times_of(programs, runs=10):
    """Rows of the kernels of compiled programs, in one trace, which takes seconds to begin and end.

    A program is (name, text of its optimised module, what runs it once and waits). The modules' own names must differ.
    """
    import jax
    import jaxlib
    device = jax.devices()[0]
    for _, _, run in programs:
        run()  # What is paid once is not the kernels'.
    samples = _samples(_trace([run for _, _, run in programs], runs))
    rows = []
    for program, text, _ in programs:
        module = MODULE.match(text)[1]
        for name, kernel in kernels(text).items():
            seconds = samples.get((module, name), ())
            if seconds and min(seconds) > 0:
                rows.append({"program": program, "kernel": kernel, "seconds": " ".join(f"{s:.9g}" for s in seconds), "device": device.device_kind,
                             "compiler": f"xla jaxlib {jaxlib.__version__} {device.platform}", "policy": f"profiler runs={runs}", "provenance": "imported"})
    return rows


def kernel_times(function, *arguments, program=None, runs=10):
    """Times the kernels of `function(*arguments)` over `runs` runs: a list of rows for `write_times`.

    `program` is what holds kernels together when some are held out to judge a model; the function's name where it is None. A function under
    `jax.jit` keeps its options; arguments that it donates are copied for every run.
    """
    import jax
    jitted = function if hasattr(function, "lower") else jax.jit(function)
    compiled = jitted.lower(*arguments).compile()
    donates = any(argument.donated for argument in jax.tree.leaves(compiled.args_info))

    def run():
        inputs = jax.tree.map(lambda leaf: leaf.copy() if isinstance(leaf, jax.Array) else leaf, arguments) if donates else arguments
        jax.block_until_ready(compiled(*inputs))

    rows = times_of([(program or getattr(function, "__name__", "program"), compiled.as_text(), run)], runs)
    if not rows and kernels(compiled.as_text()):
        raise RuntimeError("JAX's profiler did not tell which kernel belongs to which instruction. On a GPU kernels must be launched one by one: "
                           "set XLA_FLAGS=--xla_gpu_enable_command_buffer= before JAX is loaded")
    return rows


def write_times(rows, path):
    """Writes rows as a table for `smelt corpus import`; returns how many."""
    count = 0
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for row in rows:
            writer.writerow(row)
            count += 1
    return count
