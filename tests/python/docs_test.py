"""Runs every block of docs/jax.md, in order: Python in one process, shell commands in a copy of the checkout's surface.

In the shell blocks what installs packages and builds is taken as done: this test runs in its result.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "jax.md"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DONE = "set -euo pipefail\nscripts/setup.sh() { :; }\ncmake() { :; }\n"


def main():
    text = PAGE.read_text()
    blocks = [(language, body, text[:match.start()].count("\n") + 2)
              for match in BLOCK.finditer(text) for language, body in [match.groups()]]
    blocks = [block for block in blocks if block[0] != "text"]  # what is printed
    if not blocks or any(language not in ("python", "sh") for language, _, _ in blocks):
        raise SystemExit(f"{PAGE}: expected blocks of python and sh, found {sorted({language for language, _, _ in blocks})}")
    names = {"__name__": "__main__"}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.symlink(ROOT / "python", "python")
        os.symlink(sys.prefix, ".venv")
        for language, body, line in blocks:
            print(f"{PAGE.name}:{line}: {language}", flush=True)
            if language == "sh":
                subprocess.run(["bash", "-c", DONE + body], check=True,
                               env={**os.environ, "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"})
            else:
                exec(compile("\n" * (line - 1) + body, str(PAGE), "exec"), names)
        os.chdir(ROOT)


if __name__ == "__main__":
    main()
