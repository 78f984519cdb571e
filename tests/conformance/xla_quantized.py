#!/usr/bin/env python3
"""Gives XLA:CPU what `smelt quantize` writes, and compares its results with the evaluator's on the same inputs.

  xla_quantized.py [--smelt PATH] [--python PATH] [MODULE GOLDEN]...      by default some of models/

Integers are exact everywhere, so that what differs is only what floats do before the first quantisation and behind the last conversion:
results must agree within 1e-5 of their root mean square. Where floats stand between int8 layers, as the softmax of an attention does, another
last digit moves single values by a whole step, and the bound is 1e-3. XLA runs all its own passes: without its library of contractions, XLA:CPU adds
up convolutions of s8 in s8 and is wrong. Exit status 0: they do; 1: they do not; 77: there is no jaxlib, nothing was checked.
"""
import argparse, pathlib, subprocess, sys, tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = ["dqn", "bert_block", "attention", "train_step"]
TOLERANCE = 1e-5
TOLERANCES = {"bert_block": 1e-3}  # floats between int8 layers


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(str(word) for word in command)}: exit status {done.returncode}\n{done.stderr}")
    return done.stdout


def floats(path):
    """The float32 tensors of a safetensors file, by name."""
    import json, struct
    import numpy as np
    data = pathlib.Path(path).read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    return {name: np.frombuffer(data[8 + size + entry["data_offsets"][0]:8 + size + entry["data_offsets"][1]], np.float32)
            for name, entry in header.items() if name != "__metadata__" and entry["dtype"] == "F32"}


def compare(smelt, python, module, golden):
    import numpy as np
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        quantized = folder / "quantized.hlo"
        run(smelt, "quantize", module, f"--golden={golden}", "--inputs=2", "-o", quantized)
        run(smelt, "run", quantized, "--engine=evaluator", f"--outputs={folder / 'want'}")
        run(smelt, "run", quantized, "--target=xla", "--fusion=xla", f"--python={python}", f"--outputs={folder / 'got'}")
        want, got = floats(folder / "want"), floats(folder / "got")
    worst = 0.0
    for name in want:
        size = float(np.sqrt(np.mean(np.square(want[name], dtype=np.float64)))) or 1.0
        worst = max(worst, float(np.sqrt(np.mean(np.square(want[name] - got[name], dtype=np.float64)))) / size)
    print(f"{module}: {len(want)} results, error {worst:.3g}", flush=True)
    return worst <= TOLERANCES.get(pathlib.Path(module).stem, TOLERANCE)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smelt", default=ROOT / "build/release/smelt")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("modules", nargs="*")
    arguments = parser.parse_args()
    try:
        import jaxlib  # noqa: F401
    except ImportError:
        print("there is no jaxlib: nothing was checked")
        return 77
    pairs = list(zip(arguments.modules[::2], arguments.modules[1::2]))
    pairs = pairs or [(ROOT / f"models/{name}.hlo", ROOT / f"models/golden/{name}.safetensors") for name in MODELS]
    results = [compare(arguments.smelt, arguments.python, *pair) for pair in pairs]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
