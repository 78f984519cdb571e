#!/usr/bin/env python3
"""Writes small programs of kinds that networks are not: what else people put through JAX.

  .venv/bin/python bench/other_kinds.py -o FOLDER [--only=NAME]
  bench/compare_xla.py FOLDER/*.hlo --rounds=3 --seconds=0.3

Points and particles, graphs, dynamic programming over sequences, filters, samplers, running sums, matrices, searches. Plain JAX, seconds to lower; each
program is a function in `bench/kinds`, and its arguments stand above it. `compare_xla.py` then says how fast they are beside XLA:CPU: a kind that no corpus
holds shows what nobody has looked at. Needs jax (`scripts/setup.sh --jax`).
"""
import argparse
import importlib
import pathlib

import jax

from kinds.register import PROGRAMS

WIDE = {"float64", "int64", "complex128"}  # a program that takes one of these is lowered with 64 bits

for module in sorted((pathlib.Path(__file__).parent / "kinds").glob("*.py")):
    importlib.import_module(f"kinds.{module.stem}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--out", type=pathlib.Path, required=True, help="folder of the modules")
    parser.add_argument("--only", help="one program, by its name")
    arguments = parser.parse_args()
    if arguments.only is not None and arguments.only not in PROGRAMS:
        parser.error(f"--only={arguments.only}: no such program; there are {', '.join(PROGRAMS)}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in [arguments.only] if arguments.only else PROGRAMS:
        function, shapes = PROGRAMS[name]
        with jax.enable_x64(any(shape.dtype.name in WIDE for shape in shapes)):
            module = jax.jit(function).lower(*shapes).compiler_ir("hlo").as_hlo_module()
        (arguments.out / f"{name}.hlo").write_text(module.to_string())
        print(arguments.out / f"{name}.hlo")


if __name__ == "__main__":
    main()
