#!/usr/bin/env python3
"""Installs the package as a user does, into a fresh virtual environment, and runs a Python program there.

  environment.py --folder FOLDER --make               installs ./python
  environment.py --folder FOLDER PROGRAM [ARGUMENT...] runs it

Nothing is fetched: JAX comes from the Python that runs this. Exit status 77: that Python has no jaxlib, so there is nothing to test.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import venv

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--make", action="store_true")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    try:
        import jaxlib
    except ImportError:
        print(f"{sys.executable} has no jaxlib: scripts/setup.sh --jax makes one that has")
        return 77
    python = arguments.folder / "bin" / "python"
    if arguments.make:
        shutil.rmtree(arguments.folder, ignore_errors=True)
        venv.create(arguments.folder, with_pip=True)
        packages = next(arguments.folder.glob("lib/python*/site-packages"))
        (packages / "jax_of_the_checkout.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
        return subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-index", "--disable-pip-version-check", ROOT / "python"],
                              check=False).returncode
    if not python.exists():
        print(f"{arguments.folder} has not been made (--make)")
        return 1
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "XLA_FLAGS")}
    environment.update(JAX_PLATFORMS="cpu", TF_CPP_MIN_LOG_LEVEL="3")
    return subprocess.run([python.absolute(), *arguments.command], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
