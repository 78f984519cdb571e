#!/usr/bin/env python3
"""Runs random modules of `smelt fuzz` with XLA:CPU, and compares with what the evaluator gives for the same inputs.

  xla_runs_random.py [--smelt PATH] [--modules N] [--seed N] [--first N] [--jobs N] [--keep FOLDER]
  xla_runs_random.py --module FILE [--seed N] [--first N]     this module, with the inputs of that random one

Each result may be off by what its types allow and twice what rounding alone moves it (fuzz/trial/expectation.h); integers that nothing
rounds must be equal. XLA gets a module as JAX hands it over, by way of StableHLO; what cannot go that way, or XLA refuses, is counted with
its reason. Modules on which they differ have a line each, and stay in the folder of --keep; where a module holds what is known to have no
one meaning in XLA (MEANS_MUCH), that is said, and it counts apart. To make one smaller:

  build/release/smelt reduce FOLDER/SEED-N/module.hlo -o small.hlo -- .venv/bin/python tests/conformance/xla_runs_random.py --seed SEED --first N --module {}

Exit status 0: they agree; 1: they do not; 77: there is no JAX, nothing was checked.
"""
import argparse, collections, json, math, os, pathlib, re, shutil, signal, subprocess, sys, tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "targets/xla"))
import worker  # noqa: E402  the child that runs XLA, and safetensors as smelt writes and reads them

LEAST = 0.1  # results smaller than inputs are compared with these: LeafError of fuzz/trial/leaves.h
SECONDS = 60  # for one module in XLA
# What XLA gives for these hangs on its passes; documents or its own engines say otherwise. Pattern of an instruction, and why.
MEANS_MUCH = [
    (r"= [su](2|4|8|16)\[.* (popcnt|count-leading-zeros)\(", "XLA counts bits of narrow integers in wider ones, or not, as it folds constants"),
    (r" (gather|scatter|dynamic-slice|dynamic-update-slice)\(.*%UNSIGNED", "XLA reads large unsigned indices as negative ones"),
    (r" (reduce|reduce-window|select-and-scatter)\(.*%VARIABLE", "XLA may use a reduction's start value any number of times"),
    (r" reduce\(.*dimensions=\{\}", "XLA leaves the start value of a reduction over nothing out"),
    (r" (triangular-solve|cholesky)\(", "XLA's blocks meet infinities in another order"),
]


def leaf_error(want, got, np):
    """As LeafError of fuzz/trial/leaves.h."""
    if {want.dtype.kind, got.dtype.kind} <= set("iub") and want.dtype.itemsize == got.dtype.itemsize:
        got = got.view(want.dtype)  # random bits lose their sign on the way through StableHLO
    if want.shape != got.shape or want.dtype != got.dtype:
        return math.inf
    if want.size == 0:
        return 0.0
    if want.dtype.kind in "iub":
        return float(np.mean(want != got))
    want, got = want.astype(np.float64), got.astype(np.float64)
    finite = np.isfinite(want) & np.isfinite(got)
    if not (finite | (np.isnan(want) & np.isnan(got)) | (want == got)).all():
        return math.inf
    if not finite.any():
        return 0.0
    size = math.sqrt(np.mean(np.square(want[finite])))
    return math.sqrt(np.mean(np.square(want[finite] - got[finite]))) / max(size, LEAST)


def first_difference(want, got, np):
    if want.shape != got.shape or want.dtype != got.dtype:
        return f"{got.dtype}{list(got.shape)} for {want.dtype}{list(want.shape)}"
    differs = (want != got) & ~((want != want) & (got != got))
    at = tuple(int(k) for k in np.argwhere(differs)[0])
    return f"{int(differs.sum())} of {want.size} elements differ, the first at {list(at)}: XLA {got[at]}, evaluator {want[at]}"


def known_reasons(text):
    """Of MEANS_MUCH, those that a module has."""
    unsigned = set(re.findall(r"^ *(?:ROOT )?(%[\w.-]+) = u\d+\[", text, re.M))
    constant = set(re.findall(r"^ *(?:ROOT )?(%[\w.-]+) = [\w\[\]{},]+ constant\(", text, re.M))

    def marked(line):
        name, _, rest = line.partition(" = ")
        operands = re.findall(r"%[\w.-]+", rest.partition(")")[0])
        marks = ["%UNSIGNED"] * any(operand in unsigned for operand in operands[1:])
        starts = operands[len(operands) // 2:] if " reduce" in rest else operands[-1:]
        return line + " ".join(marks + ["%VARIABLE"] * any(operand not in constant for operand in starts))
    lines = [marked(line) for line in text.splitlines() if " = " in line]
    return [reason for pattern, reason in MEANS_MUCH if any(re.search(pattern, line) for line in lines)]


def serve():
    """The child: a folder a line on standard input; a line of JSON on descriptor 3 for each."""
    xla = worker.load_xla(1)
    import numpy as np
    for line in sys.stdin:
        folder, module = pathlib.Path(line.rstrip("\n")), None
        answer = {}
        try:
            module = xla.hlo.hlo_module_from_text((folder / "module.hlo").read_text()).as_serialized_hlo_module_proto()
        except Exception as error:
            answer["unread"] = str(error)
        try:
            stablehlo = xla.stablehlo(module)
            executable = xla.compile(stablehlo, "")
            arguments = xla.make_arguments(module, {"inputs_file": str(folder / "inputs.safetensors")})
            results = [np.asarray(array) for array, in executable.execute_sharded(arguments).disassemble_into_single_device_arrays()]
            worker.write_safetensors(str(folder / "xla.safetensors"), [(f"out.{k}", worker.to_storable(r)) for k, r in enumerate(results)])
        except Exception as error:
            answer.setdefault("refused", f"{type(error).__name__}: {error}")
        os.write(3, (json.dumps(answer) + "\n").encode())


class Child:
    """XLA, which may end or never answer: the next module then gets a new one."""

    def __init__(self):
        self.process = None

    def start(self):
        # The rule of measure holds here, too: replies come on descriptor 3, whatever libraries print.
        read, write = os.pipe()
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(["sh", "-c", 'exec "$@" 3>&1 1>&2', "sh", sys.executable, __file__, "--serve"], stdin=subprocess.PIPE,
                                        stdout=write, stderr=self.log, text=True)
        os.close(write)
        self.replies = os.fdopen(read)

    def ask(self, folder):
        if self.process is None:
            self.start()
        timer = signal.signal(signal.SIGALRM, lambda *_: self.process.kill())
        signal.alarm(SECONDS)
        try:
            self.process.stdin.write(f"{folder}\n")
            self.process.stdin.flush()
            line = self.replies.readline()
        except BrokenPipeError:
            line = ""
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, timer)
        if line:
            return json.loads(line)
        status = self.process.wait()
        self.log.seek(max(0, self.log.seek(0, 2) - 20000))
        said = [text for text in self.log.read().decode(errors="replace").splitlines() if text.strip() and not text.lstrip().startswith("@")]
        said = [text for text in said if text.startswith(("F", "LLVM ERROR"))] or said  # not the stack that follows
        self.process = None
        if status == -signal.SIGKILL:
            return {"refused": f"no answer in {SECONDS} s"}
        return {"refused": f"XLA ended the process with status {status}: {said[-1] if said else ''}"}


def differences(folder, np):
    """A line for each result of XLA's that is not what is expected."""
    expected, got = (worker.read_safetensors(str(folder / f"{name}.safetensors")) for name in ("expected", "xla"))
    with open(folder / "expected.safetensors", "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    tolerances = json.loads(header["__metadata__"]["tolerances"])
    lines = []
    for k, tolerance in enumerate(tolerances):
        want = expected[f"out.{k}"]
        if f"out.{k}" not in got:
            lines.append(f"XLA gives no result {k}")
        elif tolerance is not None and (error := leaf_error(want, got[f"out.{k}"], np)) > tolerance:
            lines.append(f"out.{k}: error {error:.3g}, tolerance {tolerance:.3g}; {first_difference(want, got[f'out.{k}'], np)}")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smelt", default=str(ROOT / "build/release/smelt"))
    parser.add_argument("--modules", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="evaluations at a time")
    parser.add_argument("--module", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for what differs or is refused")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        return serve()
    try:
        import jaxlib  # noqa: F401
        import ml_dtypes  # noqa: F401
        import numpy as np
    except ImportError:
        print("skipped: this Python has no jaxlib (scripts/setup.sh --jax)")
        return 77
    agree, differ, known, refused, reasons = 0, 0, 0, 0, collections.Counter()
    child = Child()
    count = 1 if arguments.module else arguments.modules
    with tempfile.TemporaryDirectory() as root:
        for first in range(arguments.first, arguments.first + count, 100):
            batch = min(100, arguments.first + count - first)
            which = [str(arguments.module)] if arguments.module else [f"--modules={batch}", f"--jobs={arguments.jobs}"]
            made = subprocess.run([arguments.smelt, "fuzz", "--expect", f"--seed={arguments.seed}", f"--first={first}", f"--out={root}", "--quiet",
                                   *which], capture_output=True, text=True)
            if made.returncode != 0:
                print(made.stdout + made.stderr)
                differ += 1
            for number in range(first, first + batch):
                folder = pathlib.Path(root) / f"{arguments.seed}-{number}"
                if not folder.exists():
                    continue  # refused by the evaluator, and told above if that is wrong
                answer, lines = child.ask(folder), []
                if "unread" in answer:
                    differ += 1
                    lines = [" ".join(answer["unread"].split())[:300]]
                    print(f"module {number}: XLA does not read it: {lines[0]}", flush=True)
                elif "refused" in answer:
                    refused += 1
                    reason = re.sub(r"%?[\w.-]*\d[\w.-]*", "#", " ".join(answer["refused"].split()))[:160]
                    reasons[reason] += 1
                    (folder / "refused.txt").write_text(answer["refused"])
                    if "ended the process" in answer["refused"] or "no answer" in answer["refused"]:
                        print(f"module {number}: {answer['refused'][:300]}", flush=True)
                else:
                    lines = differences(folder, np)
                    why = known_reasons((folder / "module.hlo").read_text()) if lines else []
                    agree, known, differ = agree + (not lines), known + bool(why), differ + bool(lines and not why)
                    for line in lines:
                        print(f"module {number}: {line}" + (f" ({why[0]})" if why else ""), flush=True)
                if arguments.keep and (answer or lines):
                    shutil.copytree(folder, arguments.keep / folder.name, dirs_exist_ok=True)
                shutil.rmtree(folder)
                if sys.stderr.isatty():
                    print(f"\r{number + 1 - arguments.first} of {count} modules", end="", file=sys.stderr, flush=True)
    print(f"seed {arguments.seed}: {agree} of {agree + known + differ} modules agree, {known} differ for a known reason; XLA refused {refused}")
    for reason, times in reasons.most_common():
        print(f"  {times}: {reason}")
    if not agree and not differ:
        print("nothing was compared")
        return 1
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
