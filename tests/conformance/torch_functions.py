#!/usr/bin/env python3
"""Runs PyTorch's operators, their gradients and modules of torch.nn through Smelt, as PyTorch/XLA dumps them, and compares with its XLA.

The operators and arguments are those of PyTorch's own tests (its database of operators). What PyTorch/XLA makes of a call is read as its
text and as its proto; XLA's result is what Smelt's must be.

  torch_functions.py [--smelt PATH] [--only TEXT] [--dtypes float32,...] [--engines evaluator,priority] [--sample N] [--samples K]
                     [--keep FOLDER]

Wants a Python with torch, torch_xla, expecttest, scipy and ml_dtypes. Exit status 0: everything agreed; 1: something did not; 77: there is
no torch_xla, nothing was checked.
"""
import argparse, itertools, os, pathlib, sys, warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import jax_functions  # noqa: E402  running and comparing
import served  # noqa: E402  PyTorch/XLA ends its process on some operators
from jax_functions import worker  # noqa: E402
DTYPES = ["float32", "float64", "bfloat16", "float16", "int32", "int64", "uint8", "bool", "complex64"]
# Their results are anything, or they say nothing of the device.
LEFT_OUT = ("empty", "new_empty", "rand", "normal", "bernoulli", "multinomial", "nn.functional.dropout", "nn.functional.alpha_dropout",
            "nn.functional.feature_alpha", "nn.functional.rrelu", "nn.functional.fractional", "uniform", "exponential", "cauchy", "geometric",
            "log_normal", "nn.functional.scaled_dot", "nn.functional.multi_head", "torch.ops", "svd_lowrank", "pca_lowrank", "to_sparse", "sparse",
            "nn.functional.gumbel", "hash_tensor")


def to_numpy(tensor, torch, np):
    import ml_dtypes
    tensor = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


def trace(name, call, leaves, torch, torch_xla, np):
    """Cases of one call on tensors of the XLA device: of the text and of the proto. None: nothing is left for XLA to do."""
    xlac = torch_xla._XLAC
    device = torch_xla.device()
    inputs = [leaf.detach().to(device).requires_grad_(leaf.requires_grad) for leaf in leaves]
    torch_xla.sync()
    results = [leaf for leaf in call(inputs) if isinstance(leaf, torch.Tensor) and leaf.device.type == "xla"]
    if not results:
        return None
    text, proto = xlac._get_xla_tensors_hlo(results), xlac._get_xla_tensors_hlo_proto(results)
    if not any(word in text for word in (" = ", "fusion")) or text.count("\n") < 5 or " parameter(" not in text:
        return None
    _, values = xlac._get_tensors_xla_device_data_node(results)
    arrays = [to_numpy(value, torch, np) for value in values]
    torch_xla.sync()
    want = [to_numpy(leaf, torch, np) for leaf in results]
    stored = [(f"in.{k}", worker.to_storable(array)) for k, array in enumerate(arrays)]
    return [jax_functions.Case(f"{name} {form}", data, stored, [worker.to_storable(array) for array in want], [array.dtype.name for array in want],
                               [array.dtype.name for array in arrays])
            for form, data in (("text", text.encode()), ("proto", proto))]


def operators(arguments, torch):
    from torch.testing._internal.common_methods_invocations import op_db
    chosen = [op for op in op_db if not op.name.startswith(LEFT_OUT) and arguments.only in op.name]
    return chosen[::max(len(chosen) // arguments.sample, 1)] if arguments.sample else chosen


def modules(torch):
    """Modules of torch.nn, with arguments."""
    nn = torch.nn
    torch.manual_seed(3)
    sequence, image, volume = torch.randn(2, 7, 6), torch.randn(2, 3, 8, 8), torch.randn(1, 2, 4, 4, 4)
    ids = torch.randint(0, 9, (2, 7))
    for module, arrays in [
            (nn.Linear(6, 4), (sequence,)), (nn.Bilinear(6, 6, 3), (sequence, sequence)), (nn.Embedding(10, 4), (ids,)), (nn.EmbeddingBag(10, 4), (ids,)),
            (nn.LSTM(6, 5, 2, batch_first=True), (sequence,)), (nn.GRU(6, 5, bidirectional=True), (sequence,)), (nn.RNN(6, 5), (sequence,)), (nn.LSTMCell(6, 5), (sequence[0],)),
            (nn.MultiheadAttention(6, 2, batch_first=True), (sequence, sequence, sequence)), (nn.TransformerEncoderLayer(6, 2, 16, 0.0, batch_first=True), (sequence,)),
            (nn.TransformerDecoderLayer(6, 2, 16, 0.0, batch_first=True), (sequence, sequence)), (nn.Conv1d(7, 4, 3, padding=2, dilation=2), (sequence,)),
            (nn.Conv2d(3, 6, 3, 2, 1, groups=3), (image,)), (nn.Conv3d(2, 3, 3), (volume,)), (nn.ConvTranspose2d(3, 4, 3, 2, 1, 1), (image,)),
            (nn.ConvTranspose3d(2, 2, 3, 2), (volume,)), (nn.MaxPool2d(3, 2, 1), (image,)), (nn.AvgPool2d(3, 2, 1, count_include_pad=False), (image,)), (nn.MaxPool3d(2), (volume,)),
            (nn.AdaptiveAvgPool2d(3), (image,)), (nn.AdaptiveMaxPool2d(2), (image,)), (nn.LPPool2d(2, 3), (image,)), (nn.BatchNorm2d(3), (image,)), (nn.BatchNorm2d(3).eval(), (image,)),
            (nn.LayerNorm(6), (sequence,)), (nn.GroupNorm(3, 3), (image,)), (nn.InstanceNorm2d(3), (image,)), (nn.LocalResponseNorm(3), (image,)), (nn.RMSNorm(6), (sequence,)),
            (nn.Upsample(scale_factor=2, mode="bilinear"), (image,)), (nn.Upsample(scale_factor=2, mode="bicubic"), (image,)), (nn.PixelShuffle(2), (torch.randn(1, 8, 4, 4),)),
            (nn.Unfold(3), (image,)), (nn.Fold((6, 6), 3), (torch.randn(1, 18, 16),)), (nn.ReflectionPad2d(2), (image,)), (nn.ReplicationPad2d(2), (image,)),
            (nn.CrossEntropyLoss(), (torch.randn(5, 4), torch.randint(0, 4, (5,)))), (nn.CTCLoss(), (torch.randn(7, 2, 5).log_softmax(2), torch.tensor([[1, 2], [3, 1]]), torch.tensor([7, 7]), torch.tensor([2, 2]))),
            (nn.KLDivLoss(), (torch.randn(5, 4), torch.rand(5, 4))), (nn.HuberLoss(), (torch.randn(5), torch.randn(5))), (nn.TripletMarginLoss(), (torch.randn(5, 4), torch.randn(5, 4), torch.randn(5, 4))),
            (nn.GELU("tanh"), (sequence,)), (nn.Mish(), (sequence,)), (nn.Hardswish(), (sequence,)), (nn.GLU(), (sequence,)), (nn.Softmin(1), (sequence,)), (nn.PReLU(), (sequence,)),
            (nn.CosineSimilarity(), (sequence, sequence + 1)), (nn.PairwiseDistance(), (sequence[0], sequence[1]))]:
        yield module, arrays


def weighted(leaves):
    """A sum with gradients of the order of 1."""
    return sum((leaf * (leaf.new_ones(leaf.numel()).cumsum(0) % 7 - 2.5).reshape(leaf.shape)).sum() for leaf in leaves)


def module_units(arguments, torch, torch_xla, np):
    pytree = torch.utils._pytree
    for module, arrays in modules(torch):
        name = f"torch.nn.{type(module).__name__}"
        on_device = module.to(torch_xla.device())

        def forward(inputs, on_device=on_device):
            return pytree.tree_leaves(on_device(*inputs))

        def backward(inputs, on_device=on_device, forward=forward):
            total = weighted([leaf.float() for leaf in forward(inputs) if leaf.is_floating_point()])
            wanted = [*on_device.parameters(), *(leaf for leaf in inputs if leaf.requires_grad)]
            return torch.autograd.grad(total, wanted, allow_unused=True)

        def make(name=name, arrays=arrays, forward=forward, backward=backward):
            for kind, call in (("", forward), (" gradient", backward)):
                leaves = [leaf.detach().requires_grad_(kind != "" and leaf.is_floating_point()) for leaf in arrays]
                try:
                    yield from trace(name + kind, call, leaves, torch, torch_xla, np) or ()
                except Exception as refusal:
                    print(f"{name}{kind}: not made: " + " ".join(str(refusal).split())[:160], file=sys.stderr)
        if arguments.only in name:
            yield name, make


def operator_units(arguments, torch, torch_xla, np):
    seen = set()
    for op in operators(arguments, torch):
        yield op.name, lambda op=op: operator_cases(op, seen, arguments, torch, torch_xla, np)


def operator_cases(op, seen, arguments, torch, torch_xla, np):
    pytree = torch.utils._pytree
    for dtype_name in arguments.dtypes:
        dtype = getattr(torch, dtype_name)
        if not op.supports_dtype(dtype, "cpu"):
            continue
        slopes = dtype_name in ("float32", "float64") and op.supports_autograd
        try:
            samples = list(itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=slopes), arguments.samples))
        except Exception:
            continue
        for number, sample in enumerate(samples):
            flat, structure = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
            which = [k for k, leaf in enumerate(flat) if isinstance(leaf, torch.Tensor)]

            def forward(inputs):
                values = list(flat)
                for k, value in zip(which, inputs):
                    values[k] = value
                first, rest, named = pytree.tree_unflatten(values, structure)
                return pytree.tree_leaves(op(first, *rest, **named))

            def backward(inputs):
                total = weighted([leaf for leaf in forward(inputs) if isinstance(leaf, torch.Tensor) and leaf.is_floating_point()])
                return torch.autograd.grad(total, [leaf for leaf in inputs if leaf.requires_grad], allow_unused=True)
            leaves = [flat[k] for k in which]
            for kind, call in (("", forward), (" gradient", backward)) if slopes else (("", forward),):
                name = f"{op.name}{op.variant_test_name and '.' + op.variant_test_name} {dtype_name} {number}{kind}"
                try:
                    made = trace(name, call, leaves, torch, torch_xla, np)
                except Exception:
                    continue
                if made and made[0].module not in seen:
                    seen.add(made[0].module)
                    yield from made


def main():
    parser = jax_functions.make_parser(__doc__, DTYPES)
    parser.add_argument("--samples", type=int, default=2, help="sets of arguments of each operator")
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    os.environ.update(PJRT_DEVICE="CPU", TF_CPP_MIN_LOG_LEVEL="3")
    warnings.simplefilter("ignore")
    try:
        import numpy as np
        import torch
        import torch_xla
        import torch.testing._internal.common_methods_invocations  # noqa: F401
    except ImportError as missing:
        print(f"skipped: this Python has no torch_xla, or not all that its operators' tests want ({missing})")
        return 77
    if arguments.serve is not None:
        units = (*module_units(arguments, torch, torch_xla, np), *operator_units(arguments, torch, torch_xla, np))
        return served.serve(units, arguments.serve)
    return jax_functions.check_all(served.cases(sys.argv, "PyTorch/XLA"), arguments, np)


if __name__ == "__main__":
    sys.exit(main())
