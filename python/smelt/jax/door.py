"""The one place where names of JAX and jaxlib are used that these do not promise to keep.

They are those of one version; with any other, `trouble()` says so and nothing here is called.
"""
from __future__ import annotations

import contextlib
import hashlib
import itertools
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jaxlib

SUPPORTED = "0.10.2"  # jax and jaxlib alike

# XLA's passes that are off while our module replaces XLA's. Never fusion-wrapper: some lone instructions are then computed wrong.
LIBRARY_PASS = "dot-library-rewriter"
FUSION_PASSES = "fusion,multi_output_fusion"

TRANSFORMATION = "smelt"


def trouble() -> str | None:
    """Why this JAX cannot be used, in words; None: it can."""
    for name, version in (("jax", jax.__version__), ("jaxlib", jaxlib.__version__)):
        if version != SUPPORTED:
            return f"{name} is {version}, and this smelt is made for {SUPPORTED}"
    try:
        from jax._src import cache_key, compiler
        from jax.extend.xla import PipelineStage, clear_hlo_module_transformation, register_hlo_module_transformation
        from jaxlib import _hlo, _jax
        from jaxlib.cpu import _lapack
        for holder, name in ((compiler, "compile_or_get_cached"), (compiler, "backend_compile_and_load"), (cache_key, "custom_hook"),
                             (_hlo, "HloModule"), (_hlo, "HloPrintOptions"), (_jax.mlir, "mlir_module_to_xla_computation"),
                             (PipelineStage, "PRE_SCHEDULER"), (jax, "make_user_context"), (_lapack, "initialize")):
            getattr(holder, name)
        del clear_hlo_module_transformation, register_hlo_module_transformation
    except (ImportError, AttributeError) as error:
        return f"jaxlib {SUPPORTED} lacks a part that is needed: {error}"
    return None


# Modules.

def fingerprint(module: bytes) -> str:
    """Of a serialised HloModuleProto: what is computed, with layouts, aliasing and back-end configurations, without the module's and the
    instructions' names, and where in the sources they come from."""
    from jaxlib import _hlo
    options = _hlo.HloPrintOptions()
    options.print_metadata = False
    options.canonicalize_instruction_names = True
    options.canonicalize_computations = True
    options.print_large_constants = True
    options.print_backend_config = True
    options.print_ids = False
    options.include_layout_in_shapes = True
    text = _hlo.HloModule.from_serialized_hlo_module_proto(module).to_string(options)
    return hashlib.sha256(text.encode()).hexdigest()


def to_hlo(computation: Any) -> bytes:
    """HloModuleProto of what JAX gives its compiler."""
    from jaxlib import _jax
    return _jax.mlir.mlir_module_to_xla_computation(to_bytecode(computation), use_tuple_args=False, return_tuple=False).as_serialized_hlo_module_proto()


def to_bytecode(computation: Any) -> bytes:
    from jax._src.interpreters import mlir
    return mlir.module_to_bytecode(computation)


def from_bytecode(bytecode: bytes) -> Any:
    """A computation of another process."""
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir
    with mlir.make_ir_context():
        return ir.Module.parse(bytecode)


def name_of(computation: Any) -> str:
    return computation.operation.attributes["sym_name"].value


def _main_of(computation: Any) -> Any:
    for operation in computation.body.operations:
        attributes = operation.operation.attributes
        if "sym_name" in attributes and attributes["sym_name"].value == "main":
            return operation.operation
    return None


def signature(computation: Any) -> str:
    """(tensor<4xf32>) -> tensor<f32>"""
    main = _main_of(computation)
    return "" if main is None else str(main.attributes["function_type"])


def arguments_of(signature: str) -> list[str]:
    """f32[2,3] of each argument in a signature."""
    def plain(kind: str) -> str:
        kind = kind.replace("complex<f32>", "c64").replace("complex<f64>", "c128")
        *dims, element = kind.split("x")
        return f"{element}[{','.join(dims)}]"
    arguments, _, _ = signature.partition(") ->")
    return [plain(kind) for kind in re.findall(r"tensor<((?:[^<>]|<[^<>]*>)*)>", arguments)]


def argument_names(computation: Any) -> list[str]:
    """As JAX knows them: x, params['w']."""
    main = _main_of(computation)
    if main is None:
        return []
    found = [re.match(r'loc\("([^"]*)"', str(argument.location)) for argument in main.regions[0].blocks[0].arguments]
    return [match[1] if match else "" for match in found]


def devices_of(computation: Any) -> int:
    attributes = computation.operation.attributes
    return attributes["mhlo.num_partitions"].value if "mhlo.num_partitions" in attributes else 1


def callbacks(computation: Any) -> list[str]:
    """Names of the calls back into Python."""
    text = computation.operation.get_asm(enable_debug_info=False, large_elements_limit=16)
    return sorted(set(re.findall(r"custom_call @(\w*callback\w*)", text)))


def renamed(computation: Any, name: str) -> Any:
    """A copy under another name."""
    from jaxlib.mlir import ir
    with computation.context:
        copy = ir.Module.parse(to_bytecode(computation))
        copy.operation.attributes["sym_name"] = ir.StringAttr.get(name)
    return copy


def module_name(module: bytes) -> tuple[str, int]:
    """The name in a HloModuleProto, which its serialised form begins with, and where it ends."""
    if module[:1] != b"\x0a":
        return "", 0
    length, shift, at = 0, 0, 1
    while True:
        length |= (module[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if module[at - 1] < 0x80:
            break
    return module[at:at + length].decode(), at + length


def with_module_name(module: bytes, name: str) -> bytes:
    """The module under another name: the last of a proto's equal fields counts, so the old one is cut off."""
    encoded, size = name.encode(), b""
    length = len(encoded)
    while length >= 0x80:
        size, length = size + bytes([length & 0x7F | 0x80]), length >> 7
    return b"\x0a" + size + bytes([length]) + encoded + module[module_name(module)[1]:]


def without_passes(options: Any, passes: str) -> Any:
    """A copy of compile options with these of XLA's passes off, beside those that are off already."""
    import copy
    options = copy.deepcopy(options)
    debug = options.executable_build_options.debug_options
    already = debug.xla_disable_hlo_passes
    debug.xla_disable_hlo_passes = f"{already},{passes}" if already else passes
    return options


# Hooks.

_transformation_lock = threading.Lock()
_listeners: list[Callable[[bytes], bytes | None]] = []
_serial = itertools.count()


def disguise(name: str) -> str:
    """A name for one compilation: XLA shows every listener all modules, and other threads may compile some of the same name."""
    return f"{name}__smelt_{next(_serial)}"


def _dispatch(module: bytes) -> bytes | None:
    """Inside XLA, where an exception, or anything but bytes and None, would end the compilation or the process."""
    try:
        for listener in tuple(_listeners):
            replacement = listener(module)
            if replacement is not None:
                return bytes(replacement)
    except BaseException:  # the compilation goes on as if we were not there, and whoever waits for the listener sees that it did not run
        pass
    return None


@contextlib.contextmanager
def transformation(listener: Callable[[bytes], bytes | None]) -> Iterator[None]:
    """`listener` sees every module that XLA compiles in the meantime, on threads of XLA's, and may replace it."""
    from jax.extend.xla import PipelineStage, clear_hlo_module_transformation, register_hlo_module_transformation
    with _transformation_lock:
        _listeners.append(listener)
        if len(_listeners) == 1:
            register_hlo_module_transformation(_dispatch, name=TRANSFORMATION, stage=PipelineStage.PRE_SCHEDULER, platforms="cpu")
    try:
        yield
    finally:
        with _transformation_lock:
            _listeners.remove(listener)
            if not _listeners:
                clear_hlo_module_transformation(TRANSFORMATION, stage=PipelineStage.PRE_SCHEDULER, platforms="cpu")


class CompilerHooks:
    """Stands between JAX and its compiler while it is needed.

    `compile(original, backend, computation, devices, options, *rest)` in place of compile_or_get_cached, `build(original, backend,
    computation, *rest)` for each compilation that the persistent cache does not save, `salt()` in the persistent cache's keys.
    """

    def __init__(self, compile: Callable[..., Any], build: Callable[..., Any], salt: Callable[[], str]):
        self._compile, self._build, self._salt = compile, build, salt
        self._lock = threading.Lock()
        self._users = 0
        self._places: list[tuple[Any, str]] = []
        self._originals: list[Callable[..., Any]] = []
        self._ours: list[Callable[..., Any]] = []

    def acquire(self) -> None:
        with self._lock:
            self._users += 1
            if self._users == 1:
                self._install()

    def release(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._remove()

    def _install(self) -> None:
        if not self._places:
            from jax._src import cache_key, compiler
            self._places = [(compiler, "compile_or_get_cached"), (compiler, "backend_compile_and_load"), (cache_key, "custom_hook")]
        originals = [getattr(holder, name) for holder, name in self._places]
        if originals != self._originals:  # the first time, or another package has come between; a context is entered at each call
            self._originals, self._ours = originals, self._stand_ins(*originals)
        for (holder, name), ours in zip(self._places, self._ours):
            setattr(holder, name, ours)

    def _stand_ins(self, compile: Callable[..., Any], build: Callable[..., Any], salt: Callable[[], str]) -> list[Callable[..., Any]]:
        def smelt_compile(*arguments: Any, **named: Any) -> Any:
            return self._compile(compile, *arguments, **named)

        def smelt_build(*arguments: Any, **named: Any) -> Any:
            return self._build(build, *arguments, **named)

        def smelt_salt() -> str:
            return salt() + self._salt()

        return [smelt_compile, smelt_build, smelt_salt]

    def _remove(self) -> None:
        for (holder, name), original, ours in zip(self._places, self._originals, self._ours):
            if getattr(holder, name) is ours:  # else another package stands in front of us, and we let everything through
                setattr(holder, name, original)


def _compile_options(passes: str) -> tuple[Any, Any]:
    """The device, and the options that JAX itself compiles for it with, but for these passes."""
    import numpy
    from jax._src import compiler
    device = jax.local_devices(backend="cpu")[0]
    options = compiler.get_compile_options(num_replicas=1, num_partitions=1, device_assignment=numpy.array([[device.id]]),
                                           backend=device.client)
    return device, without_passes(options, passes) if passes else options


def _compile(computation: Any, passes: str, replacement: bytes | None) -> tuple[Any, bytes]:
    """An executable that no cache knows of, and the module that its code was made from, or would have been."""
    from jaxlib import xla_client
    device, options = _compile_options(passes)
    name = disguise(name_of(computation))
    seen: list[bytes] = []

    def listen(module: bytes) -> bytes | None:
        if module_name(module)[0] != name:
            return None
        seen.append(bytes(module))
        return replacement

    with transformation(listen):
        executable = device.client.compile_and_load(renamed(computation, name), xla_client.DeviceList((device,)), options)
    if not seen:
        raise RuntimeError("XLA did not show the module to its transformation")
    return executable, seen[-1]


def compile_seconds(computation: Any) -> float:
    """That XLA takes for its own choice, when no cache knows of it."""
    start = time.monotonic()
    _compile(computation, "", None)
    return time.monotonic() - start


def capture(computation: Any, library: bool) -> bytes:
    """The module as XLA's passes leave it with its fusion off. Code is made of a stand-in: that of an unfused program takes most of the time."""
    passes = FUSION_PASSES if library else f"{FUSION_PASSES},{LIBRARY_PASS}"
    stand_in = _stand_in(computation)
    _, module = _compile(computation, passes, None if stand_in is None else _compile(stand_in, passes, None)[1])
    return with_module_name(module, name_of(computation))


def _stand_in(computation: Any) -> Any:
    """A computation of the same arguments and results, without work; None: of tokens, or of types without a size."""
    from jaxlib.mlir import ir
    kind = ir.FunctionType(_main_of(computation).attributes["function_type"].value)
    if not all(isinstance(part, ir.RankedTensorType) and part.has_static_shape for part in [*kind.inputs, *kind.results]):
        return None
    lines = []
    for number, result in enumerate(kind.results):
        element = str(result.element_type)
        zero = ("false" if element == "i1" else "(0.0,0.0)" if element.startswith("complex") else "1.0" if "E8M0" in element
                else "0.0" if "f" in element else "0")
        lines += [f"%z{number} = stablehlo.constant dense<{zero}> : tensor<{element}>",
                  f"%r{number} = stablehlo.broadcast_in_dim %z{number}, dims = [] : (tensor<{element}>) -> {result}"]
    arguments = ", ".join(f"%a{number}: {argument}" for number, argument in enumerate(kind.inputs))
    results = ", ".join(map(str, kind.results))
    values = ", ".join(f"%r{number}" for number in range(len(kind.results)))
    lines.append(f"return {values} : {results}" if values else "return")
    with computation.context:
        return ir.Module.parse(f"module @stand_in {{ func.func public @main({arguments}) -> ({results}) {{\n" + "\n".join(lines) + "\n} }")


class Program:
    """A compiled computation with its arguments, of which it keeps all."""

    def __init__(self, computation: Any, arguments: Sequence[Any], replacement: bytes | None = None):
        """`replacement`: what its code is made from, instead of what XLA's fusion would make of it."""
        passes = "" if replacement is None else f"{FUSION_PASSES},{LIBRARY_PASS}"
        self._hold(_compile(_without_donation(computation), passes, replacement)[0], arguments)

    @classmethod
    def load(cls, serialized: bytes, arguments: Sequence[Any]) -> Program:
        """What `serialized` gave, perhaps in another process."""
        from jaxlib import xla_client
        from jaxlib.cpu import _lapack
        _lapack.initialize()  # JAX does so where it lowers a decomposition; without it a call of LAPACK ends the process
        device = jax.local_devices(backend="cpu")[0]
        program = cls.__new__(cls)
        program._hold(device.client.deserialize_executable(serialized, xla_client.DeviceList((device,)), None), arguments)
        return program

    def _hold(self, executable: Any, arguments: Sequence[Any]) -> None:
        self._executable = executable
        self._arguments = [jax.device_put(argument, jax.local_devices(backend="cpu")[0]) for argument in arguments]

    def serialized(self) -> bytes | None:
        """None: XLA cannot write some code down: a sort's, for example."""
        try:
            return self._executable.serialize()
        except jax.errors.JaxRuntimeError:
            return None

    def run(self) -> list[Any]:
        results = [array for (array,) in self._executable.execute_sharded(self._arguments).disassemble_into_single_device_arrays()]
        for array in results:
            array.block_until_ready()
        return results


def _without_donation(computation: Any) -> Any:
    from jaxlib.mlir import ir
    copy = renamed(computation, name_of(computation))
    with copy.context:
        for operation in copy.body.operations:
            attributes = operation.operation.attributes
            if attributes["sym_name"].value == "main" and "arg_attrs" in attributes:
                attributes["arg_attrs"] = ir.ArrayAttr.get([
                    ir.DictAttr.get({a.name: a.attr for a in of if a.name not in ("tf.aliasing_output", "jax.buffer_donor")})
                    for of in attributes["arg_attrs"]])
    return copy


def parameters(module: bytes) -> list[tuple[Any, tuple[int, ...]]]:
    """Types and dimensions."""
    import numpy
    from jaxlib import _hlo
    shapes = _hlo.XlaComputation(module).program_shape().parameter_shapes()
    return [(numpy.dtype(shape.numpy_dtype()), tuple(shape.dimensions())) for shape in shapes]
