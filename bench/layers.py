"""Layers that speed is judged by, as HLO modules of one instruction, `layer`: what autotvm.py tunes and compare_layers.py times.

  path = module_of(folder, "C6")     # folder/C6.hlo, written where it is not there yet; `type`: of the operands
"""

# ResNet-18's convolutions as in Table 2 of the TVM paper (OSDI 2018): size, channels in and out, window, stride; SAME padding.
CONVOLUTIONS = {"C1": (224, 3, 64, 7, 2), "C2": (56, 64, 64, 3, 1), "C3": (56, 64, 64, 1, 1), "C4": (56, 64, 128, 3, 2),
                "C5": (56, 64, 128, 1, 2), "C6": (28, 128, 128, 3, 1), "C7": (28, 128, 256, 3, 2), "C8": (28, 128, 256, 1, 2),
                "C9": (14, 256, 256, 3, 1), "C10": (14, 256, 512, 3, 2), "C11": (14, 256, 512, 1, 2), "C12": (7, 512, 512, 3, 1)}
# MobileNet's depthwise convolutions, from the same table: size, channels, window, stride.
DEPTHWISE = {"D1": (112, 32, 3, 1), "D2": (112, 64, 3, 2), "D3": (56, 128, 3, 1), "D4": (56, 128, 3, 2), "D5": (28, 256, 3, 1),
             "D6": (28, 256, 3, 2), "D7": (14, 512, 3, 1), "D8": (14, 512, 3, 2), "D9": (7, 1024, 3, 1)}
# Matrix products: M, N, K. Those of BERT with 128 words and of an LSTM language model among them.
PRODUCTS = {"M512": (512, 512, 512), "M1024": (1024, 1024, 1024), "MTALL": (4096, 64, 4096), "MWIDE": (4096, 4096, 64),
            "MNARROW": (1024, 256, 1024), "QKV": (128, 768, 768), "FFN1": (128, 3072, 768), "FFN2": (128, 768, 3072), "QK": (128, 128, 64),
            "AV": (128, 64, 128), "HEAD": (1, 10000, 650), "LSTM": (1, 2600, 650)}


# The result of operands of a type.
RESULTS = {"f32": "f32", "s8": "s32"}


def convolution(size, inner, outer, window, stride, groups=1, type="f32"):
    out = -(-size // stride)
    pad = max((out - 1) * stride + window - size, 0)
    low, high = pad // 2, pad - pad // 2
    text = f"size={window}x{window} stride={stride}x{stride} pad={low}_{high}x{low}_{high}"
    return (f"HloModule layer\n\nENTRY main {{\n  x = {type}[1,{size},{size},{inner}] parameter(0)\n"
            f"  w = {type}[{window},{window},{inner // groups},{outer}] parameter(1)\n"
            f"  ROOT layer = {RESULTS[type]}[1,{out},{out},{outer}] convolution(x, w), window={{{text}}}, dim_labels=b01f_01io->b01f"
            f"{f', feature_group_count={groups}' if groups > 1 else ''}\n}}\n")


def depthwise(size, channels, window, stride, type="f32"):
    return convolution(size, channels, channels, window, stride, channels, type)


def product(m, n, k, type="f32"):
    return (f"HloModule layer\n\nENTRY main {{\n  a = {type}[{m},{k}] parameter(0)\n  b = {type}[{k},{n}] parameter(1)\n"
            f"  ROOT layer = {RESULTS[type]}[{m},{n}] dot(a, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n}}\n")


LAYERS = ((convolution, CONVOLUTIONS), (depthwise, DEPTHWISE), (product, PRODUCTS))
NAMES = [*CONVOLUTIONS, *DEPTHWISE, *PRODUCTS]


def module_of(folder, layer, type="f32"):
    path = folder / f"{layer}.hlo"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        kind, shapes = next((kind, shapes) for kind, shapes in LAYERS if layer in shapes)
        path.write_text(kind(*shapes[layer], type=type))
    return path
