#!/usr/bin/env python3
"""Installs what is built into a new folder, moves it, and uses it as strangers do: a compiler pass through pkg-config, and the program.

  install_test.py --build=FOLDER --cc=COMPILER [--flag=FLAG...] [--largest=BYTES]

Exit status 77: there is no pkg-config.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--cc", required=True)
    parser.add_argument("--flag", action="append", default=[])
    parser.add_argument("--largest", type=int, help="of libsmelt_score.so")
    arguments = parser.parse_args()
    if shutil.which("pkg-config") is None:
        print("there is no pkg-config: scripts/setup.sh installs it")
        return 77
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        run("cmake", "--install", arguments.build, "--prefix", scratch / "first")
        prefix = (scratch / "first").rename(scratch / "moved")
        libraries = next(prefix.rglob("pkgconfig")).parent
        environment = dict(os.environ, PKG_CONFIG_PATH=str(libraries / "pkgconfig"), LD_LIBRARY_PATH=str(libraries),
                           SMELT_CACHE=str(scratch / "cache"))
        environment.pop("SMELT_MODEL", None)
        size = (libraries / "libsmelt_score.so").stat().st_size
        assert arguments.largest is None or size <= arguments.largest, f"libsmelt_score.so has {size} bytes"
        # The example sees nothing of the checkout but its own text.
        example = shutil.copy(ROOT / "capi/examples/choose_tile.c", scratch)
        words = run("pkg-config", "--cflags", "--libs", "smelt_score", env=environment).split()
        run(arguments.cc, *arguments.flag, example, *words, "-o", scratch / "choose_tile", cwd=scratch)
        answer = run(scratch / "choose_tile", prefix / "share/smelt/cpu.smeltmodel", env=environment, cwd=scratch)
        assert "tile" in answer, answer
        for library in ("smelt", "smelt_run"):
            flags = run("pkg-config", "--cflags", "--libs", library, env=environment)
            assert f"-l{library}" in flags, flags
        # The program finds its model beside itself, wherever it is started.
        module = shutil.copy(ROOT / "models/dqn.hlo", scratch)
        predicted = run(prefix / "bin/smelt", "predict", module, env=environment, cwd=scratch)
        analytical = run(prefix / "bin/smelt", "predict", module, "--model=analytical", env=environment, cwd=scratch)
        assert predicted != analytical, f"no model was found in the installation:\n{predicted}"
        print(answer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
