#!/usr/bin/env python3
"""Runs the functions of TensorFlow's public modules, their gradients and Keras layers through Smelt, and compares with TensorFlow's XLA.

As jax_functions.py: each function is called with the first of some usual arguments that it takes. What TensorFlow's bridge makes of it
(tf.function with jit_compile) is read both as the text and as the proto that TensorFlow gives; XLA's result is what Smelt's must be.

  tf_functions.py [--smelt PATH] [--modules tf.math,tf.nn,...] [--only TEXT] [--dtypes float32,...] [--engines evaluator,priority]
                  [--sample N] [--every] [--keep FOLDER]

Wants a Python with tensorflow (the package tensorflow-cpu). Exit status 0: everything agreed; 1: something did not; 77: there is no
TensorFlow, nothing was checked.
"""
import argparse, os, pathlib, sys, warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import jax_functions  # noqa: E402  running and comparing
import served  # noqa: E402  TensorFlow ends its process on some arguments
from jax_functions import worker  # noqa: E402
MODULES = ["tf", "tf.math", "tf.nn", "tf.linalg", "tf.signal", "tf.image", "tf.bitwise", "tf.random", "tf.quantization", "tf.sets",
           "tf.math.special", "tf.keras.activations", "tf.keras.losses", "tf.keras.metrics", "tf.keras.ops", "layers", "programs"]
DTYPES = ["float32", "float64", "bfloat16", "float16", "int32", "uint8", "int8", "int64", "complex64", "bool"]
# They touch files, threads or the graph; or their results are anything.
LEFT_OUT = ("tf.io", "tf.print", "tf.py_function", "tf.numpy_function", "tf.load_", "tf.init_scope", "tf.device", "tf.function", "tf.Module",
            "tf.random.normal", "tf.random.uniform", "tf.random.gamma", "tf.random.poisson", "tf.random.shuffle", "tf.random.truncated",
            "tf.random.set_seed", "tf.random.categorical", "tf.random.get", "tf.random.create", "tf.random.set_global", "tf.keras.ops.while",
            "tf.random.fixed_unigram", "tf.random.learned", "tf.random.log_uniform", "tf.random.uniform_candidate", "tf.random.all_candidate",
            "tf.image.random", "tf.image.decode", "tf.image.encode", "tf.nn.dropout", "tf.nn.experimental", "tf.nn.nce", "tf.nn.sampled")


def arguments_to_try(dtype, tf, np):
    """Of one element type: tuples of (arrays to trace, what is fixed, named and fixed), most usual first."""
    random = np.random.default_rng(5)
    real = dtype if dtype in ("float32", "float64", "bfloat16", "float16") else "float32"

    def array(*dims, low=0.1, high=0.9, kind=dtype):
        if kind == "bool":
            return tf.constant(random.integers(0, 2, dims).astype(bool))
        if "int" in kind:
            return tf.cast(tf.constant(random.integers(1, 6, dims)), kind)
        if kind == "complex64":
            return tf.constant((random.uniform(low, high, dims) + 1j * random.uniform(low, high, dims)).astype(np.complex64))
        return tf.cast(tf.constant(random.uniform(low, high, dims)), kind)
    x, y, z = array(6, 5), array(6, 5), array(6, 5)
    v, u = array(17), array(17)
    square = array(5, 5)
    positive = square if dtype == "bool" else tf.matmul(square, square, adjoint_b=dtype == "complex64", transpose_b=dtype != "complex64") \
        + tf.cast(tf.eye(5), dtype) * tf.cast(5, dtype)
    index = tf.constant(random.integers(0, 5, (6,)), tf.int32)
    image = array(2, 8, 8, 3)
    boxes = tf.constant([[0.1, 0.1, 0.7, 0.8], [0.2, 0.0, 0.9, 0.5], [0.15, 0.1, 0.7, 0.75]], real)
    return [
        ((x,), (), {}), ((x, y), (), {}), ((positive,), (), {}), ((positive, array(5, 3)), (), {}), ((v,), (), {}), ((v, u), (), {}),
        ((x, y, z), (), {}), ((image,), (), {}), ((x,), (1,), {}), ((x,), (0, 1), {}), ((x,), ([3, 10],), {}), ((x,), ([1, 0],), {}),
        ((x,), (2, 0), {}), ((v,), (4,), {}), ((x, index), (), {}), ((v, index), (), {}), ((x, index, 6), (), {}), ((index, x), (), {}),
        ((x,), ([[1, 2], [0, 1]],), {}), ((x,), ([0, 1], [3, 4]), {}), ((x,), ([1],), {}), ((x, y), (1,), {}), (([x, y],), (), {}), (([x, y],), (1,), {}),
        ((tf.cast(x, tf.bool), x, y), (), {}), ((x,), (0.1, 0.5), {}), ((x,), (0.5,), {}), ((x,), ("float32",), {}), ((x,), ("int32",), {}),
        ((array(4, 5, 3), array(4, 3, 2)), (), {}), ((index,), (7,), {}), ((index, index), (5,), {}), ((image, array(3, 3, 3, 4)), (1, "SAME"), {}),
        ((image, array(3, 3, 3, 2)), ([1, 1, 1, 1], "SAME"), {}), ((image,), (2, 2, "SAME"), {}), ((image,), ([2, 2], "MAX", [1, 1], "SAME"), {}),
        ((image, array(3, 3, 3)), ([1, 1, 1, 1], "SAME", "NHWC", [1, 1]), {}), ((image, array(3, 3, 3)), ([1, 1, 1, 1], "VALID", "NHWC", [1, 1]), {}),
        ((array(2, 4, 4, 4), array(3, 3, 3, 4)), ((2, 8, 8, 3), 2, "SAME"), {}), ((array(2, 9, 3), array(3, 3, 4)), (1, "SAME"), {}),
        ((array(2, 6, 6, 6, 2), array(3, 3, 3, 2, 2)), ([1, 1, 1, 1, 1], "SAME"), {}), ((image, array(3, 3, 3, 2), array(1, 1, 6, 4)), ([1, 1, 1, 1], "SAME"), {}),
        ((image,), ([12, 5],), {}), ((image,), ([12, 5], "bicubic"), {}), ((image,), (0.5, 5), {}), ((image,), (5, 6), {}), ((image,), (1, 2, 4, 5), {}),
        ((image, boxes, index[:3] % 2, (4, 4)), (), {}), ((image, image), (1.0,), {}), ((boxes, array(3, kind=real)), (2,), {}), ((image,), ("SAME", 2), {}),
        ((image, array(3), array(3), array(3), array(3)), (1e-3,), {}), ((image,), ([0, 1],), {}), ((image,), (2,), {}), ((image,), (2, [[1, 1], [0, 0]]), {}),
        ((image,), ([2, 2], [[0, 0], [0, 0]]), {}), ((array(8, 4, 4, 3),), ([2, 2], [[0, 0], [1, 1]]), {}), ((array(64),), (16, 8), {}), ((array(64),), (16, 8, 16), {}),
        ((array(5, 16, kind=real),), (8,), {}), ((), ([4, 3], [3, 7]), {}), ((), ([4, 3], [3, 7]), {"dtype": dtype}), ((x,), ([3, 7],), {}),
        ((), ([4], [3, 7]), {"alpha": 2.0}), ((), ([4], [3, 7]), {"lam": 2.0}), ((), ([4], [3, 7], 5.0, 0.5), {}), ((), ([4, 3], [3, 7], None, 0, 9), {}),
        ((x,), (7, [3, 7]), {}), ((), (4,), {}), ((), (0, 5, 11), {}), ((), (2, 11), {}), ((), ([4, 3],), {}), ((), ([4, 3], 2), {}),
        ((tf.nn.softmax(array(6, 5, kind=real)), tf.nn.softmax(array(6, 5, kind=real))), (), {}), ((index, array(6, 5, kind=real)), (), {}),
        ((array(6, 5, kind=real), index), (2,), {}), ((tf.cast(index > 2, real), array(6, kind=real)), (), {}),
        ((x, tf.constant([[0, 1], [3, 2]])), (), {}), ((tf.constant([[0, 1], [3, 2]]), array(2)), ([6, 5],), {}), ((x, tf.constant([[0, 1], [3, 2]]), array(2)), (), {}),
        ((index, array(6)), (), {"shape": [7]}), ((x, index[:, None]), (1, 1), {}), ((index, v[:6], v[:6]), (), {}), ((array(2, 7, 5), array(2, 7, 5)), (), {}),
        ((array(2, 8, 4, 16), array(2, 8, 4, 16), array(2, 8, 4, 16)), (), {}), ((x, 0.2, 0.7), (), {}), ((image,), (0.3,), {}), ((x,), ((5, 6),), {}),
        ((x, x[0]), (), {}), ((image, array(3)), (), {}), ((x, x[:1]), (), {}), ((array(5, 5, kind=real), array(5, kind=real)), (), {}),
        ((array(7, 2, 5, kind=real), tf.constant([[1, 2], [3, 1]])), (), {"labels_length": None}), ((x,), ([1, 5], "CONSTANT"), {}), ((v,), ([5],), {}),
        ((tf.complex(array(8, kind="float32"), array(8, kind="float32")),), (), {}), ((tf.complex(array(4, 8, kind="float32"), array(4, 8, kind="float32")),), (), {}),
    ]


def layers(tf, np):
    """Keras layers as functions of weights and inputs: (name, function, arrays)."""
    keras = tf.keras
    layer = keras.layers
    random = np.random.default_rng(3)

    def array(*dims):
        return tf.constant(random.uniform(-1, 1, dims), tf.float32)
    ids = tf.constant(random.integers(0, 9, (2, 7)), tf.int32)
    sequence, image, volume = array(2, 7, 6), array(2, 8, 8, 3), array(1, 4, 4, 4, 2)
    for made, arguments in [
            (layer.Dense(4, "gelu"), (sequence,)), (layer.EinsumDense("abc,cd->abd", (7, 4), bias_axes="d"), (sequence,)), (layer.Embedding(10, 4), (ids,)),
            (layer.LSTM(5, return_sequences=True), (sequence,)), (layer.LSTM(5, go_backwards=True), (sequence,)), (layer.GRU(5), (sequence,)),
            (layer.GRU(5, reset_after=False, return_sequences=True), (sequence,)), (layer.SimpleRNN(5), (sequence,)), (layer.Bidirectional(layer.GRU(3)), (sequence,)),
            (layer.ConvLSTM2D(3, 3, padding="same"), (array(1, 3, 6, 6, 2),)), (layer.TimeDistributed(layer.Dense(3)), (sequence,)),
            (layer.MultiHeadAttention(2, 4), (sequence, sequence)), (layer.GroupQueryAttention(4, 4, 2), (sequence, sequence)), (layer.Attention(), ([sequence, sequence],)),
            (layer.AdditiveAttention(), ([sequence, sequence],)), (layer.Conv1D(4, 3, padding="causal", dilation_rate=2), (sequence,)),
            (layer.Conv2D(4, 3, strides=2, padding="same"), (image,)), (layer.Conv2D(6, 3, groups=3), (image,)), (layer.Conv3D(4, 3), (volume,)),
            (layer.Conv2DTranspose(4, 3, strides=2, padding="same"), (image,)), (layer.Conv3DTranspose(2, 3, strides=2), (volume,)), (layer.DepthwiseConv2D(3), (image,)),
            (layer.SeparableConv2D(4, 3), (image,)), (layer.Conv1DTranspose(3, 3, strides=2), (sequence,)), (layer.MaxPooling2D(3, 2, "same"), (image,)),
            (layer.AveragePooling2D(3, 2, "same"), (image,)), (layer.MaxPooling3D(), (volume,)), (layer.AveragePooling1D(3, 1), (sequence,)),
            (layer.GlobalAveragePooling2D(), (image,)), (layer.GlobalMaxPooling1D(), (sequence,)), (layer.ReLU(max_value=0.7, negative_slope=0.1, threshold=0.05), (image,)),
            (layer.BatchNormalization(), (image,)), (layer.LayerNormalization(), (sequence,)), (layer.GroupNormalization(3), (image,)), (layer.RMSNormalization(), (sequence,)),
            (layer.UnitNormalization(), (sequence,)), (layer.SpectralNormalization(layer.Dense(4)), (sequence,)), (layer.PReLU(), (sequence,)), (layer.Softmax(1), (sequence,)),
            (layer.UpSampling2D(2, interpolation="bilinear"), (image,)), (layer.ZeroPadding2D(2), (image,)), (layer.Cropping2D(1), (image,)), (layer.Permute((2, 1)), (sequence,)),
            (layer.Resizing(5, 9), (image,)), (layer.CenterCrop(5, 4), (image,)), (layer.Rescaling(2.0, 1.0), (image,)), (layer.Normalization(mean=0.3, variance=2.0), (image,)),
            (layer.Discretization([0.0, 0.5]), (sequence,)), (layer.CategoryEncoding(10, "multi_hot"), (ids,)), (layer.RepeatVector(3), (array(2, 5),)), (layer.Dot(1), ([sequence, sequence],)),
            (layer.MelSpectrogram(fft_length=64, sequence_stride=16, num_mel_bins=8), (array(2, 256),))]:
        made(*arguments)
        weights = [tf.convert_to_tensor(w) for w in made.variables]
        leaves = tf.nest.flatten(arguments)

        def call(*flat, made=made, arguments=arguments, count=len(weights)):
            position = {id(variable): k for k, variable in enumerate(made.variables)}
            ordered = [[flat[position[id(variable)]] for variable in group] for group in (made.trainable_variables, made.non_trainable_variables)]
            results, _ = made.stateless_call(*ordered, *tf.nest.pack_sequence_as(arguments, flat[count:]))
            return results
        yield f"layers.{type(made).__name__}", call, (*weights, *leaves)


def programs(tf, np):
    """What users write around the functions: loops, arrays of tensors, conditions, updates in place, training steps."""
    random = np.random.default_rng(4)

    def array(*dims):
        return tf.constant(random.uniform(-1, 1, dims), tf.float32)
    x, w = array(6, 5), array(5, 5)

    def collatz(n):
        steps = tf.zeros_like(n)
        for _ in tf.range(200):
            steps += tf.cast(n > 1, n.dtype)
            n = tf.where(n > 1, tf.where(n % 2 == 0, n // 2, 3 * n + 1), n)
        return steps

    def tensor_array(a):
        values = tf.TensorArray(tf.float32, 6, element_shape=[5])
        for k in tf.range(6):
            values = values.write(k, tf.tanh(a[k]) * tf.cast(k, tf.float32))
        return values.stack()

    def train_step(a, m, target):
        with tf.GradientTape() as tape:
            tape.watch(m)
            loss = tf.reduce_mean(tf.keras.losses.sparse_categorical_crossentropy(target, tf.nn.relu(a @ m) @ m, from_logits=True))
        gradient, = tape.gradient(loss, [m])
        return loss, m - 0.1 * tf.clip_by_norm(gradient, 1.0)

    def while_gradient(a, m):
        with tf.GradientTape() as tape:
            tape.watch(m)
            _, last = tf.while_loop(lambda k, s: k < 4, lambda k, s: (k + 1, tf.tanh(s @ m)), (0, a), maximum_iterations=6)
            loss = tf.reduce_sum(last ** 2)
        return tape.gradient(loss, m)
    yield "programs.collatz", collatz, (tf.constant([7, 27, 1, 97], tf.int32),)
    yield "programs.tensor_array", tensor_array, (x,)
    yield "programs.train_step", train_step, (x, w, tf.constant([0, 3, 2, 1, 4, 0]))
    yield "programs.while_gradient", while_gradient, (x, w)
    yield "programs.map_fn", lambda a: tf.map_fn(lambda row: tf.sort(row) * row[0], a), (x,)
    yield "programs.vectorized_map", lambda a, m: tf.vectorized_map(lambda row: tf.linalg.matvec(m, row), a), (x, w)
    yield "programs.scan", lambda a: tf.scan(lambda s, row: s * 0.5 + row, a), (x,)
    yield "programs.foldl", lambda a: tf.foldl(lambda s, row: tf.maximum(s, row) * 0.9, a), (x,)
    yield "programs.switch", lambda k, a: tf.switch_case(k, [lambda: a + 1, lambda: a * 2, lambda: tf.exp(a)]), (tf.constant(2), x)
    yield "programs.cond", lambda a: tf.cond(tf.reduce_sum(a) > 0, lambda: tf.cumsum(a, 1), lambda: tf.math.cumprod(a)), (x,)
    yield "programs.hessian_product", lambda a, m: tf.gradients(tf.reduce_sum(tf.gradients(tf.reduce_sum(tf.tanh(a @ m) ** 2), m)[0] ** 2), m)[0], (x, w)
    yield "programs.unique_counts", lambda k: tf.math.bincount(k, minlength=8, maxlength=8), (tf.constant([1, 5, 2, 1, 7, 5, 5]),)
    yield "programs.strided_slice", lambda a: a[::-2, 1:4] + a[1::2, -3:, tf.newaxis][:, :, 0], (x,)
    yield "programs.slice_update", lambda a: tf.tensor_scatter_nd_update(a, [[1], [3]], a[:2] * 2), (x,)
    yield "programs.nms", lambda b, s: tf.image.non_max_suppression_padded(b, s, 4, 0.5, pad_to_max_output_size=True), (tf.random.stateless_uniform((1, 9, 4), [1, 2]), array(1, 9))
    yield "programs.beam", lambda a: tf.math.top_k(tf.reshape(tf.nn.log_softmax(a)[:, None] + tf.nn.log_softmax(a)[None], [-1]), 7), (x,)
    yield "programs.ragged_mask", lambda a, n: tf.reduce_sum(tf.where(tf.sequence_mask(n, 5)[..., None], a[:, :, None], 0.0), 1), (x, tf.constant([1, 5, 0, 3, 2, 4]))
    yield "programs.fake_quant", lambda a: tf.quantization.fake_quant_with_min_max_vars(a, -0.5, 0.7), (x,)
    yield "programs.ctc", lambda a: tf.nn.ctc_loss(tf.constant([[1, 2], [3, 1]]), a, tf.constant([2, 2]), tf.constant([7, 7]), logits_time_major=True), (array(7, 2, 5),)
    yield "programs.adam", lambda a, m, s, g: (a - 0.01 * (0.9 * m + 0.1 * g) / (tf.sqrt(0.999 * s + 0.001 * g * g) + 1e-7), 0.9 * m + 0.1 * g), (x, x * 0.1, x * x, x)


def resolve(name, tf):
    value = {"tf": tf}["tf"]
    for part in name.split(".")[1:]:
        value = getattr(value, part)
    return value


def functions(names, tf):
    for name in names:
        if name in ("layers", "programs"):
            continue
        module = resolve(name, tf)
        for attribute in sorted(dir(module)):
            full = f"{name}.{attribute}"
            value = getattr(module, attribute, None)
            if not attribute.startswith("_") and callable(value) and not isinstance(value, type) and not full.startswith(LEFT_OUT):
                yield full, value


def trace(name, function, arrays, tf, np):
    """Cases of one function: what TensorFlow's bridge gives as text and as a proto; XLA's results for both. None: no arrays as results."""
    flat = tf.nest.flatten(arrays)
    flat = [leaf if tf.is_tensor(leaf) else tf.constant(leaf) for leaf in flat]
    compiled = tf.function(lambda *leaves: tf.nest.flatten(function(*tf.nest.pack_sequence_as(arrays, leaves))), jit_compile=True, autograph=True)
    results = [leaf for leaf in compiled(*flat)]
    if not results or not all(tf.is_tensor(leaf) and leaf.dtype != tf.string for leaf in results):
        return None
    lower = compiled.experimental_get_compiler_ir(*flat)
    captured = compiled.get_concrete_function(*flat).captured_inputs  # constants of layers
    inputs = [(f"in.{k}", worker.to_storable(leaf.numpy())) for k, leaf in enumerate([*flat, *captured])]
    want = [worker.to_storable(np.asarray(leaf.numpy())) for leaf in results]
    return [jax_functions.Case(f"{name} {form}", data, inputs, want, [leaf.dtype.name for leaf in results], [leaf.dtype.name for leaf in flat])
            for form, data in (("proto", lower(stage="hlo_serialized")), ("text", lower(stage="hlo").encode()))
            if b"{...}" not in data]  # texts leave large constants out


def gradient(function, arrays, tf):
    def derived(*leaves):
        with tf.GradientTape() as tape:
            tape.watch(leaves)
            results = [leaf for leaf in tf.nest.flatten(function(*leaves)) if leaf.dtype.is_floating]
            total = sum(tf.reduce_sum(leaf * tf.reshape(tf.cos(tf.cast(tf.range(tf.size(leaf)), leaf.dtype)), tf.shape(leaf))) for leaf in results)
        return [slope for slope in tape.gradient(total, leaves) if slope is not None]
    return derived


def units(arguments, tf, np):
    """What served.serve takes: a name and its cases each."""
    seen = set()
    for maker, name in ((layers, "layers"), (programs, "programs")):
        for full, function, arrays in maker(tf, np) if name in arguments.modules else ():
            if arguments.only in full:
                yield full, lambda full=full, function=function, arrays=arrays: trace(full, function, arrays, tf, np) or ()
    chosen = [(name, function) for name, function in functions(arguments.modules, tf) if arguments.only in name]
    for name, function in chosen[::max(len(chosen) // arguments.sample, 1)] if arguments.sample else chosen:
        yield name, lambda name=name, function=function: function_cases(name, function, seen, arguments, tf, np)


def function_cases(name, function, seen, arguments, tf, np):
    for dtype in arguments.dtypes:
        for number, (arrays, fixed, named) in enumerate(arguments_to_try(dtype, tf, np)):
            def call(*traced):
                return function(*traced, *fixed, **named)
            try:
                made = trace(f"{name} {dtype} {number}", call, arrays, tf, np)
            except Exception:
                continue
            if not made or made[0].module in seen:
                if made and not arguments.every:
                    break
                continue
            seen.add(made[0].module)
            yield from made
            leaves = tf.nest.flatten(arrays)
            if dtype in ("float32", "float64") and leaves and all(tf.is_tensor(leaf) and leaf.dtype.is_floating for leaf in leaves):
                try:
                    made = trace(f"{name} {dtype} {number} gradient", gradient(call, arrays, tf), arrays, tf, np)
                except Exception:
                    made = None
                yield from made[:1] if made else ()
            if not arguments.every:
                break


def main():
    parser = jax_functions.make_parser(__doc__, DTYPES)
    parser.add_argument("--modules", type=lambda text: text.split(","), default=MODULES)
    parser.add_argument("--every", action="store_true", help="all of the usual arguments that a function takes, not the first alone")
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
    warnings.simplefilter("ignore")
    try:
        import numpy as np
        import tensorflow as tf
    except ImportError:
        print("skipped: this Python has no tensorflow (package tensorflow-cpu)")
        return 77
    tf.get_logger().setLevel("ERROR")
    if arguments.serve is not None:
        return served.serve(units(arguments, tf, np), arguments.serve)
    return jax_functions.check_all(served.cases(sys.argv, "TensorFlow"), arguments, np)


if __name__ == "__main__":
    sys.exit(main())
