#!/usr/bin/env python3
"""How well are kernels predicted that XLA:CPU compiles? Trains and compares models on a corpus timed under XLA, and writes docs/xla-model.md.

  smelt profile PROGRAMS --target=xla -o xla-corpus --configs=12 --kernels=75 --seconds-per-program=12 --repeats=4
  bench/xla_model.py xla-corpus [--work=FOLDER] [--page=docs/xla-model.md] [--floor-us=US]

On the programs that the split holds out: the shipped model for this CPU's own kernels (models/cpu.smeltmodel), the same trained further on
the corpus, a model of the same size trained on the corpus alone, and the rough cost of fusion/kernel_cost.h. Models that the work folder
holds already are not trained again. Exit status: 0; 1 if a step failed; 2 for wrong use.
"""
import argparse
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SPLIT = ["--test=0.15", "--validation=0.1"]
SHIPPED = ROOT / "models/cpu.smeltmodel"
MODELS = {
    "xla-tuned": [f"--init={SHIPPED}", "--epochs=16", "--patience=16", "--learning-rate=0.001"],
    "xla-scratch": [f"--figures={SHIPPED}", "--epochs=24", "--patience=24", "--learning-rate=0.002", "--hidden=128", "--layers=2"],
}

PAGE = """# The model of XLA's kernels

`models/xla-cpu.smeltmodel`: what `smelt tune --target=xla` goes by until kernels are timed. GraphSAGE as the shipped model of our own kernels
(`docs/model.md`), trained on kernels that XLA:CPU (jaxlib 0.10.2) compiled, one thread of an AMD EPYC (Zen 5 class, AVX-512); without the file
the search falls back to the rough cost of `fusion/kernel_cost.h`.

Each kernel is cut out of its program and runs in a loop inside one module (`targets/xla/kernel_loop.h`), so that the call from outside is 2 % of a
sample at most and nothing is subtracted. An empty kernel takes {floor} us in that loop: it is the least that can be told from nothing, and
times of a few such are little known.

Made by

```
smelt profile PROGRAMS --target=xla -o xla-corpus --configs=12 --kernels=75 --seconds-per-program=12 --repeats=4
bench/xla_model.py xla-corpus
```

where PROGRAMS are 113 programs, three of `models/` and 110 `before_optimizations` dumps of programs from public libraries.

`smelt eval` on the programs that the split holds out; a kernel that is in the training set counts nowhere. *cpu* is the shipped model of our own
kernels, as it is; *xla-tuned* the same trained further on this corpus; *xla-scratch* one of the same size trained on this corpus alone, which is
what is shipped, since its validation error is the least; *rough cost* what `--target=xla` went by before:

```
{table}```

How to read it: MAPE is the mean absolute error of predicted seconds, tau Kendall's rank correlation over a program's kernels.

Training:

```
{training}```
"""


def run(command):
    print(" ".join(str(word) for word in command), file=sys.stderr, flush=True)
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(1)
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("xla-models"), help="folder of the models (default xla-models)")
    parser.add_argument("--page", type=pathlib.Path, default=ROOT / "docs/xla-model.md")
    parser.add_argument("--smelt", type=pathlib.Path, default=ROOT / "build/release/smelt")
    parser.add_argument("--floor-us", type=float, default=0.03, help="what `smelt profile` said of an empty kernel")
    arguments = parser.parse_args()
    if not arguments.corpus.is_dir():
        print(f"no corpus at {arguments.corpus}", file=sys.stderr)
        return 2
    arguments.work.mkdir(parents=True, exist_ok=True)
    training = []
    for name, options in MODELS.items():
        file = arguments.work / f"{name}.smeltmodel"
        note = file.with_suffix(".txt")
        if not (file.exists() and note.exists()):
            said = run([arguments.smelt, "train", arguments.corpus, "-o", file, "--task=fusion", "--threads=1", *SPLIT, *options])
            note.write_text(said.removeprefix(f"{file}: "))
        training.append(f"{name}: {note.read_text().strip()}\n")
    others = ",".join(str(path) for path in (arguments.work / "xla-scratch.smeltmodel", SHIPPED))
    table = run([arguments.smelt, "eval", arguments.work / "xla-tuned.smeltmodel", arguments.corpus, f"--baseline={others}", *SPLIT])
    arguments.page.write_text(PAGE.format(table=table, training="".join(training), floor=f"{arguments.floor_us:.2f}"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
