"""The child of `--target=xla`: compiles and times programs with XLA:CPU as jaxlib has it, as its parent asks.

Speaks the protocol of measure/protocol.h, with JSON after four bytes of length: requests on standard input, replies on descriptor 3.
Modules are base64 of HloModuleProtos. What only this child has:

  {"do": "hello"}                                -> also {"jaxlib", "threads"}
  {"do": "capture", "module": BASE64, KEY: true} -> {"module": BASE64}: what XLA would hand to its code generator without
       its fusion and its library; where KEY is "library" or "fusion" with that, where it is "default" with both
  {"do": "convert", "file": PATH}                -> {"module": BASE64}: of a file of StableHLO
  {"do": "load", "compiler": HOW}                HOW: "as_given" (its fusions are taken as they are), "xla" (all of XLA's own passes),
       "xla_no_library" (all but the one that hands work to a library). Also inputs in "ranges": [[low, high], ..] with "first_stream",
       "double". XLA does not tell of kernels: "kernels" and the lists of "kernel_seconds" are empty.
  {"do": "time_kernel", "module": BASE64}        -> also {"floor_seconds"}: of one run of the kernel in a module of
       targets/xla/kernel_loop.h, whose first argument says how often it runs; the floor is a call's share
  {"do": "optimized", "id": N}                   -> {"text"}: the program that XLA runs

How a fused module reaches XLA's code generator untouched: XLA compiles a stand-in with the same parameters and result, and the last of
its passes (a module transformation at PRE_SCHEDULER, after layouts and copies) is answered with our module.
"""
import base64
import importlib.util
import json
import os
import struct
import sys
import time

PROTOCOL = 2  # kProtocolVersion of measure/protocol.h
JAXLIB = "0.10.2"  # private names are used, and the rules for fusions are those of this version
UNFUSED = "fusion,multi_output_fusion,dot-library-rewriter"  # never fusion-wrapper: wrong numbers without it
UNFUSED_LIBRARY = "fusion,multi_output_fusion"
NO_LIBRARY = "dot-library-rewriter"
OUT_OF_MEMORY_EXIT = 86
INVALID_ARGUMENT, NOT_FOUND, FAILED_PRECONDITION, INTERNAL, UNAVAILABLE = 3, 5, 9, 13, 14  # of absl::StatusCode
MAX_MESSAGE = 1 << 30
SAMPLE_SECONDS = 1e-3  # a sample is as many runs as take this long
MAX_ROUNDS = 100
KERNEL_SAMPLE_SECONDS = 0.7e-3
CALL_SHARE = 0.02  # of a kernel's sample that the call from outside may take
LEAST_RUNS, MOST_RUNS = 4, 1000000  # of a kernel in a sample: the first one finds cold caches and memory without pages
LONG_RUN_SECONDS = 0.02  # of which one a sample is enough
KEPT_BYTES = 512 << 20  # of kernels' arguments


class Refused(Exception):
    """Something that is asked for cannot be done; the text says what and why."""

    def __init__(self, text, code=INVALID_ARGUMENT):
        super().__init__(text)
        self.code = code


def one_line(error):
    """What XLA or MLIR says, which may go over many lines, with notes and quoted sources behind the first."""
    return " ".join([line.strip() for line in str(error).splitlines() if line.strip()][:3])[:600]


def receive():
    def exactly(count):
        parts = []
        while count:
            part = os.read(0, min(count, 1 << 20))
            if not part:
                raise EOFError
            parts.append(part)
            count -= len(part)
        return b"".join(parts)
    (length,) = struct.unpack("=I", exactly(4))
    if length > MAX_MESSAGE:
        raise EOFError
    return json.loads(exactly(length))


def send(message):
    data = json.dumps(message).encode()
    view = memoryview(struct.pack("=I", len(data)) + data)
    while view:
        view = view[os.write(3, view):]


def choose_cpus(threads):
    """XLA's thread pool is as large as the set of cores that it may use. The last ones: the first serves most interrupts."""
    allowed = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, allowed[-threads:])
    return min(threads, len(allowed))


def check_version():
    """A Python without jaxlib and jax, or with another version, is refused in one line. Imports neither's libraries, which takes seconds."""
    try:
        import jaxlib
    except ImportError:
        raise Refused("no jaxlib") from None
    if jaxlib.__version__ != JAXLIB:
        raise Refused(f"jaxlib {jaxlib.__version__}, and this is made for {JAXLIB}")
    if importlib.util.find_spec("jax") is None:
        raise Refused(f"jaxlib {JAXLIB} without jax")
    return jaxlib.__version__


def load_xla(threads):
    """Imports what holds XLA."""
    threads = choose_cpus(threads)
    flags = "--xla_cpu_multi_thread_eigen=false" if threads == 1 else ""
    os.environ.update(XLA_FLAGS=flags, JAX_PLATFORMS="cpu", TF_CPP_MIN_LOG_LEVEL="3")
    check_version()
    try:
        import jax
        from jaxlib import _hlo, _xla, xla_client
        from jaxlib.cpu import _lapack
        for holder, name in ((_xla, "register_xla_transform"), (_hlo, "HloModule"), (_hlo, "hlo_module_from_text"), (_hlo, "XlaComputation"),
                             (xla_client._xla.mlir, "hlo_to_stablehlo"), (xla_client._xla.mlir, "mlir_module_to_xla_computation"),
                             (xla_client, "CompileOptions"), (xla_client, "DeviceList"), (_lapack, "initialize")):
            getattr(holder, name)
    except (ImportError, AttributeError) as error:
        raise Refused(f"jaxlib {JAXLIB} or its jax is incomplete: {error}") from None
    _lapack.initialize()  # jax does so when it lowers a decomposition, and nothing is lowered here; without it a call of LAPACK crashes
    return Xla(jax, _hlo, _xla, xla_client, threads)


# Inputs.

def mixed(stream, begin, end):
    import numpy as np
    x = np.arange(begin, end, dtype=np.uint64) + np.uint64(stream & (1 << 64) - 1)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def from_mixed(stream, count, dtype, make):
    """`make` of the mixed numbers, in blocks that stay in the nearest caches: the weights of a network are 25 million numbers."""
    import numpy as np
    block = 1 << 13
    values = np.empty(count, dtype)
    for begin in range(0, count, block):
        end = min(begin + block, count)
        values[begin:end] = make(mixed(stream, begin, end))
    return values


def integer_bits(dtype):
    try:
        import ml_dtypes
        return ml_dtypes.iinfo(dtype).bits
    except ValueError:
        return dtype.itemsize * 8


def is_integer(dtype):
    return dtype.kind in "iu" or dtype.name in ("int4", "uint4", "int2", "uint2")


def default_range(kind, dtype, dims, limit=None):
    """measure/test_inputs.h"""
    if is_integer(dtype):
        return 0, min(8, 1 << (integer_bits(dtype) - (not dtype.name.startswith("u"))), limit or 8)
    if dtype.name == "float8_e8m0fnu":
        return -4, 4
    if kind == "positive":
        return 0.1, 1.0
    if kind == "scaled":
        elements = 1
        for size in dims:
            elements *= size
        if elements <= max(dims, default=1):
            return 0.5, 1.5
        limit = (3 / max(elements / max(dims[-1], 1), 1.0)) ** 0.5
        return -limit, limit
    return -1.0, 1.0


def make_input(leaf, dtype, dims, bounds, first_stream, double):
    """One parameter by the formula, bit for bit as hlo/golden/inputs.cc."""
    import numpy as np
    count = 1
    for size in dims:
        count *= size
    stream = 0x9E3779B97F4A7C15 * (leaf + first_stream)
    low, high = bounds
    if dtype.kind == "b":
        return from_mixed(stream, count, bool, lambda x: (x >> np.uint64(40)) & np.uint64(1)).reshape(dims)
    if is_integer(dtype):
        span = np.uint64(int(high) - int(low))
        return from_mixed(stream, count, dtype, lambda x: (x % span).astype(np.int64).__add__(int(low)).astype(dtype)).reshape(dims)
    if dtype.name == "float8_e8m0fnu":
        span = np.uint64(int(high) - int(low))
        return from_mixed(stream, count, np.uint8, lambda x: x % span + np.uint64(127 + int(low))).view(dtype).reshape(dims)
    wide = double and dtype.name in ("float64", "complex128")
    real = np.float64 if wide else np.float32
    parts = 2 if dtype.kind == "c" else 1
    values = from_mixed(stream, count * parts, real,
                        lambda x: real(low) + (x >> np.uint64(40)).astype(real) * real(2.0 ** -24) * (real(high) - real(low)))
    if parts == 2:
        values = values[0::2].astype(np.float64) + 1j * values[1::2].astype(np.float64)
    return values.astype(dtype).reshape(dims)


# Safetensors, and the types that it lacks (hlo/golden/safetensors.h).

STORED = {"bool": "BOOL", "int8": "I8", "uint8": "U8", "int16": "I16", "uint16": "U16", "int32": "I32", "uint32": "U32", "int64": "I64",
          "uint64": "U64", "float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64", "float8_e5m2": "F8_E5M2",
          "float8_e4m3fn": "F8_E4M3"}


def to_storable(array):
    import numpy as np
    array = np.ascontiguousarray(array).reshape(np.shape(array))  # which makes an array of a scalar
    name = array.dtype.name
    if name in STORED:
        return array
    if array.dtype.kind == "c":
        real = np.float32 if name == "complex64" else np.float64
        return array.reshape(-1).view(real).reshape(*array.shape, 2)
    if is_integer(array.dtype):
        return array.astype(np.uint8 if name.startswith("u") else np.int8)
    return array.astype(np.float32)


def from_storable(array, dtype, dims):
    if dtype.kind == "c":
        return array.reshape(-1).view(dtype).reshape(dims)
    return array.astype(dtype, copy=False).reshape(dims)


def write_safetensors(path, tensors):
    header, offset = {}, 0
    for name, array in tensors:
        header[name] = {"dtype": STORED[array.dtype.name], "shape": list(array.shape), "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, array in tensors:
            file.write(array.tobytes())


def read_safetensors(path):
    import ml_dtypes
    import numpy as np
    names = {stored: name for name, stored in STORED.items()}
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    arrays = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        kind = names[entry["dtype"]]
        dtype = np.dtype(getattr(ml_dtypes, kind, kind))
        arrays[name] = np.frombuffer(data[begin:end], dtype).reshape(entry["shape"])
    return arrays


def read_inputs(path, shapes):
    """in.0, in.1, ... of a file, one for each of these shapes."""
    import numpy as np
    try:
        arrays = read_safetensors(path)
    except OSError:
        raise
    except Exception as error:
        raise Refused(f"{path}: not a complete safetensors file: {one_line(error)}", UNAVAILABLE) from None
    count = sum(name.startswith("in.") for name in arrays)
    if count != len(shapes):
        raise Refused(f"{path}: has {count} inputs (in.0, in.1, ...), and the parameters have {len(shapes)} arrays", UNAVAILABLE)
    values = []
    for leaf, shape in enumerate(shapes):
        name, dtype, dims = f"in.{leaf}", np.dtype(shape.numpy_dtype()), tuple(shape.dimensions())
        if name not in arrays:
            raise Refused(f"{path}: has no input `{name}`", UNAVAILABLE)
        expected, stored = to_storable(np.empty(dims, dtype)), arrays[name]
        if (expected.dtype, expected.shape) != (stored.dtype, stored.shape):
            raise Refused(f"{path}: input `{name}`: expected {expected.dtype.name}{list(expected.shape)} for a value of shape {plain(shape)}, "
                          f"found {stored.dtype.name}{list(stored.shape)}", UNAVAILABLE)
        values.append(from_storable(stored, dtype, dims))
    return values


def version_of(path):
    """Differs when the file of this name is another one."""
    stat = os.stat(path)
    return f" {stat.st_ino} {stat.st_mtime_ns} {stat.st_size}"


class KernelArguments:
    """Arrays for kernels, kept by type and size: many kernels take the same. Their values matter little, but must not be slow ones."""

    def __init__(self, put):
        self.put, self.arrays, self.bytes = put, {}, 0

    def take(self, shapes):
        import numpy as np
        counts, taken = {}, []
        for shape in shapes:
            key = (np.dtype(shape.numpy_dtype()), tuple(shape.dimensions()))
            counts[key] = counts.get(key, 0) + 1  # one kernel's arguments lie apart
            numbered = (*key, counts[key])
            if numbered not in self.arrays:
                value = self.make(*key)
                self.bytes += value.nbytes
                self.arrays[numbered] = self.put(value)
            else:
                self.arrays[numbered] = self.arrays.pop(numbered)  # the last one used is the last one dropped
            taken.append(self.arrays[numbered])
        while self.bytes > KEPT_BYTES and len(self.arrays) > len(taken):
            oldest = next(iter(self.arrays))
            self.bytes -= self.arrays.pop(oldest).nbytes
        return taken

    @staticmethod
    def make(dtype, dims):
        import numpy as np
        count = 1
        for size in dims:
            count *= size
        pattern = make_input(0, dtype, (min(count, 1 << 16),), default_range("unit", dtype, dims), 1, True)
        return np.resize(pattern, count).reshape(dims)


class Program:
    """A compiled module with its arguments on the device."""

    def __init__(self, executable, arguments):
        self.executable, self.arguments = executable, arguments
        self.runs = 1

    def run(self):
        results = self.executable.execute_sharded(self.arguments).disassemble_into_single_device_arrays()
        for (array,) in results:
            array.block_until_ready()
        return results

    def prepare(self):
        """Warms up, and finds how many runs make a sample."""
        start = time.perf_counter()
        self.run()
        if time.perf_counter() - start > LONG_RUN_SECONDS:
            return
        start = time.perf_counter()
        self.run()
        once = max(time.perf_counter() - start, 1e-7)
        self.runs = max(1, min(1000, round(SAMPLE_SECONDS / once)))

    def sample(self):
        start = time.perf_counter()
        for _ in range(self.runs):
            self.run()
        return (time.perf_counter() - start) / self.runs


def in_turn(samplers, rounds, limit, least=0.0):
    """The loop of measure/timing.h."""
    least = min(least, limit)
    seconds = [[] for _ in samplers]
    start = time.perf_counter()
    turn = 0
    while turn < 3 or time.perf_counter() - start < limit:
        if turn >= rounds and (turn >= MAX_ROUNDS or time.perf_counter() - start >= least):
            break
        order = range(len(samplers))
        for i in order if turn % 2 == 0 else reversed(order):
            seconds[i].append(samplers[i]())
        turn += 1
    return seconds


class Xla:
    def __init__(self, jax, hlo, xla, client, threads):
        jax.config.update("jax_enable_x64", True)
        jax.config.update("jax_enable_compilation_cache", False)  # it does not know of transformations
        self.jax, self.hlo, self.client, self.threads = jax, hlo, client, threads
        self.device = jax.devices("cpu")[0]
        self.replacement = self.seen = self.trouble = None
        xla.register_xla_transform("smelt", 0, self.transform)
        self.arguments = {}
        self.kernel_arguments = KernelArguments(lambda value: jax.device_put(value, self.device))
        self.counts = {}
        self.reference = "", None  # the loop of the reference kernel, and what times it
        self.programs, self.next_id, self.building = {}, 0, False

    def transform(self, module):
        """Called inside XLA, where anything but bytes or None would end the process."""
        try:
            self.seen = bytes(module)
            return self.replacement
        except BaseException as error:
            self.trouble = error
            return None

    def compile(self, stablehlo, disabled_passes):
        options = self.client.CompileOptions()
        if disabled_passes:
            options.executable_build_options.debug_options.xla_disable_hlo_passes = disabled_passes
        self.seen = self.trouble = None
        try:
            executable = self.device.client.compile_and_load(stablehlo, self.client.DeviceList((self.device,)), options)
        except Exception as error:
            if "mhlo.unknown" not in str(error):
                raise
            raise Refused(f"an instruction (`mulhi` is one) cannot be written as StableHLO, which jaxlib compiles: {one_line(error)}") from None
        if self.trouble is not None:
            raise Refused(f"the module could not be handed over: {self.trouble}")
        return executable

    def stablehlo(self, module):
        return self.client._xla.mlir.hlo_to_stablehlo(module)

    def stand_in(self, module):
        """A module of the same parameters and result, without work."""
        shape = self.hlo.XlaComputation(module).program_shape()
        lines, values = [], []
        for number, parameter in enumerate(self.leaves(module)):
            lines.append(f"p{number} = {plain(parameter)} parameter({number})")
        result = shape.result_shape()
        leaves = list(result.tuple_shapes()) if result.is_tuple() else [result]
        for number, leaf in enumerate(leaves):
            if leaf.is_tuple() or leaf.is_token():
                raise Refused("results of tuples in tuples, and tokens, cannot be taken from XLA")
            text = plain(leaf)
            kind = text[:text.index("[")]
            zero = {"pred": "false", "c64": "(0, 0)", "c128": "(0, 0)", "f8e8m0fnu": "1"}.get(kind, "0")
            lines.append(f"z{number} = {kind}[] constant({zero})")
            lines.append(f"r{number} = {text} broadcast(z{number}), dimensions={{}}")
            values.append(f"r{number}")
        if result.is_tuple():
            lines.append(f"t = ({', '.join(plain(leaf) for leaf in leaves)}) tuple({', '.join(values)})")
        lines[-1] = "ROOT " + lines[-1]
        text = "HloModule stand_in\nENTRY main {\n  " + "\n  ".join(lines) + "\n}\n"
        return self.hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()

    def leaves(self, module):
        leaves = []
        for number, shape in enumerate(self.hlo.XlaComputation(module).program_shape().parameter_shapes()):
            if shape.is_tuple() or shape.is_token():
                raise Refused(f"parameter {number} is a tuple or a token, which cannot be given to XLA from outside")
            leaves.append(shape)
        return leaves

    def make_arguments(self, module, request):
        import numpy as np
        shapes = self.leaves(module)
        ranges = request.get("ranges")
        if ranges is not None and len(ranges) != len(shapes):
            raise Refused(f"{len(ranges)} ranges are given for {len(shapes)} parameters")
        limits = dict(request.get("limits", []))
        stored = read_inputs(request["inputs_file"], shapes) if request.get("inputs_file") else None
        how = json.dumps([request.get(key) for key in ("inputs", "limits", "ranges", "first_stream", "double", "inputs_file")])
        if stored is not None:
            how += version_of(request["inputs_file"])
        arguments = []
        for leaf, shape in enumerate(shapes):
            dtype, dims = np.dtype(shape.numpy_dtype()), tuple(shape.dimensions())
            key = (how, leaf, dtype.name, dims)
            if key not in self.arguments:
                if stored is not None:
                    value = stored[leaf]
                else:
                    bounds = ranges[leaf] if ranges is not None else default_range(request.get("inputs", "unit"), dtype, dims, limits.get(leaf))
                    value = make_input(leaf, dtype, dims, bounds, request.get("first_stream", 1), request.get("double", False))
                self.arguments[key] = self.jax.device_put(value, self.device)
            arguments.append(self.arguments[key])
        # Only the last way of making inputs is remembered.
        self.arguments = {key: value for key, value in self.arguments.items() if key[0] == how}
        return arguments

    # Requests.

    def hello(self, request):
        return greeting(self.threads)

    def capture(self, request):
        self.building = True
        disabled = {"library": UNFUSED_LIBRARY, "fusion": NO_LIBRARY, "default": ""}
        disabled = next((passes for key, passes in disabled.items() if request.get(key)), UNFUSED)
        return {"module": base64.b64encode(self.after_passes(base64.b64decode(request["module"]), disabled)).decode()}

    def after_passes(self, module, disabled):
        """What XLA would make code of. The code, which of an unfused program takes most of the time, is made of a stand-in instead."""
        try:
            stand_in = self.stablehlo(self.stand_in(module))
        except Refused:  # tuples among parameters, or in results
            stand_in = None
        if stand_in is not None:
            self.compile(stand_in, UNFUSED)
            self.replacement = self.seen
        try:
            self.compile(self.stablehlo(module), disabled)
        finally:
            self.replacement = None
        if self.seen is None:
            raise Refused("XLA did not show the module to its transformation")
        return self.seen

    def compile_as_given(self, module):
        stand_in = self.stablehlo(self.stand_in(module))
        self.replacement = module
        try:
            return self.compile(stand_in, UNFUSED)
        finally:
            self.replacement = None

    def convert(self, request):
        self.building = True
        with open(request["file"], "rb") as file:
            data = file.read()
        module = data
        if not data.startswith(b"ML\xefR"):
            try:
                module = data.decode()
            except UnicodeDecodeError:
                from jax import export
                try:
                    module = export.deserialize(bytearray(data)).mlir_module_serialized
                except Exception as error:
                    raise Refused(f"it is no MLIR text or bytecode, and jax.export cannot read it: {error}") from None
        try:
            computation = self.client._xla.mlir.mlir_module_to_xla_computation(module, use_tuple_args=False, return_tuple=False)
        except Exception as error:
            raise Refused(one_line(error) or type(error).__name__) from None
        return {"module": base64.b64encode(computation.as_serialized_hlo_module_proto()).decode()}

    def load(self, request):
        self.building = True
        module = base64.b64decode(request["module"])
        how = request.get("compiler", "as_given")
        start = time.perf_counter()
        if how == "as_given":
            executable = self.compile_as_given(module)
        elif how in ("xla", "xla_no_library"):
            executable = self.compile(self.stablehlo(module), NO_LIBRARY if how == "xla_no_library" else "")
        else:
            raise Refused(f"`{how}` is no way to compile")
        seconds = time.perf_counter() - start
        self.building = False
        program = Program(executable, self.make_arguments(module, request))
        if request.get("warm_up", True):
            program.prepare()
        self.next_id += 1
        self.programs[self.next_id] = program
        return {"id": self.next_id, "compile_seconds": seconds, "kernels": []}

    def count(self, runs):
        import numpy as np
        if runs not in self.counts:
            self.counts[runs] = self.jax.device_put(np.int32(runs), self.device)
        return self.counts[runs]

    def time_kernel(self, request):
        reference = request.get("reference")
        if reference is not None and self.reference[0] != reference["module"]:
            self.reference = reference["module"], self.kernel_sampler(reference["module"])["sample"]
        kernel = self.kernel_sampler(request["module"])
        repeats, limit = max(request.get("repeats", 5), 3), request.get("seconds", 0.25)
        before = self.reference[1]() if reference is not None else 0
        (seconds,) = in_turn([kernel["sample"]], repeats, limit)
        reply = {"seconds": seconds, "compile_seconds": kernel["compile_seconds"], "floor_seconds": kernel["floor_seconds"]}
        return reply if reference is None else {**reply, "reference_seconds": [before, self.reference[1]()]}

    def kernel_sampler(self, text):
        """What times a run of the kernel of this loop, ready to be called, and what is known of it by then."""
        self.building = True
        module = base64.b64decode(text)
        begin = time.perf_counter()
        executable = self.compile_as_given(module)
        compile_seconds = time.perf_counter() - begin
        self.building = False
        arguments = self.kernel_arguments.take(self.leaves(module)[1:])

        def call(runs):
            every = [self.count(runs), *arguments]
            start = time.perf_counter()
            ((array,),) = executable.execute_sharded(every).disassemble_into_single_device_arrays()
            array.block_until_ready()
            return time.perf_counter() - start
        call(1)
        floor = min(call(0) for _ in range(3))
        once = max(call(1) - floor, 1e-8)
        if once < KERNEL_SAMPLE_SECONDS:
            runs = max(1, min(1000, round(KERNEL_SAMPLE_SECONDS / 4 / once)))
            once = max(call(runs) / runs, 1e-8)
        wanted = max(KERNEL_SAMPLE_SECONDS, floor / CALL_SHARE) / once
        runs = 1 if once > LONG_RUN_SECONDS else max(LEAST_RUNS, min(MOST_RUNS, round(wanted)))
        return {"sample": lambda: call(runs) / runs, "compile_seconds": compile_seconds, "floor_seconds": floor / runs}

    def find(self, request, key="id"):
        if request.get(key) not in self.programs:
            raise Refused(f"no program {request.get(key)} is loaded", NOT_FOUND)
        return self.programs[request[key]]

    def time(self, request):
        programs = [self.find({"id": number}) for number in request["ids"]]
        for program in programs:
            program.run()
        limits = request.get("rounds", 5), request.get("seconds", 10.0), request.get("least_seconds", 0.0)
        return {"seconds": in_turn([program.sample for program in programs], *limits)}

    def kernel_seconds(self, request):
        self.find(request)
        return {"seconds": [], "median": [], "executions": []}

    def outputs(self, request):
        import numpy as np
        results = self.find(request).run()
        write_safetensors(request["file"], [(f"out.{k}", to_storable(np.asarray(array))) for k, (array,) in enumerate(results)])
        return {}

    def optimized(self, request):
        return {"text": self.find(request).executable.hlo_modules()[0].to_string()}

    def unload(self, request):
        self.programs.pop(request.get("id"), None)
        return {}

    def inject(self, request):
        fault = request.get("fault")
        if fault == "crash":
            os.abort()
        if fault == "spin":
            while True:
                pass
        if fault == "memory":
            blocks = []
            while True:
                blocks.append(bytearray(64 << 20))
        raise Refused(f"unknown fault `{fault}`")

    REQUESTS = {"hello": hello, "capture": capture, "convert": convert, "load": load, "time": time, "kernel_seconds": kernel_seconds, "time_kernel": time_kernel, "outputs": outputs,
                "optimized": optimized, "unload": unload, "inject": inject}

    def handle(self, request):
        self.building = False
        what = self.REQUESTS.get(request.get("do"))
        if what is None:
            return self.error(f"unknown request `{request.get('do')}`", INVALID_ARGUMENT)
        try:
            return what(self, request)
        except MemoryError:
            os._exit(OUT_OF_MEMORY_EXIT)
        except OSError as error:  # a disk, not the program
            return self.error(f"{error.filename or 'a file'}: {error.strerror or error}", UNAVAILABLE)
        except Refused as error:
            return self.error(str(error), error.code)
        except Exception as error:
            return self.error(f"{type(error).__name__}: {one_line(error)}", INTERNAL)

    def error(self, text, code):
        return {"error": text, "build": self.building, "code": code}


def greeting(threads):
    return {"protocol": PROTOCOL, "pid": os.getpid(), "jaxlib": check_version(), "threads": threads}


def plain(shape):
    """f32[2,3] of an array's shape, whatever its layout."""
    text = str(shape)
    return text[:text.index("]") + 1]


def main():
    threads = max(int(sys.argv[1]) if len(sys.argv) > 1 else 1, 1)
    try:
        request = receive()
        try:
            while sys.argv[2:] == ["greet"]:  # tells whether this Python would do, and nothing else
                send(greeting(threads))
                receive()
            xla = load_xla(threads)
        except Refused as refusal:
            send({"error": str(refusal), "build": False, "code": FAILED_PRECONDITION})
            return
        while True:
            send(xla.handle(request))
            request = receive()
    except (EOFError, BrokenPipeError, KeyboardInterrupt):
        return


if __name__ == "__main__":
    main()
