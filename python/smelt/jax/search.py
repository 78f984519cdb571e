"""Runs `smelt tune`, and passes on what it says."""
from __future__ import annotations

import codecs
import contextlib
import json
import logging
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from typing import Any

from smelt import program
from smelt.jax import folder

logger = logging.getLogger("smelt")

PROGRESS = re.compile(r"\r|tuning takes about|evaluating the program|.*\b\d+ of \d+ s\b")
PAUSE_SECONDS = 2.0  # between lines of progress

# The exit status of `smelt tune` for a program that it cannot run or judge, as against flags, files and machines that are wrong.
UNSUPPORTED = 3


class Beyond(Exception):
    """A program that cannot be searched; the text says why."""


@contextlib.contextmanager
def telling(quiet: bool) -> Iterator[None]:
    """Progress is seen on standard error, unless `quiet` or whoever uses the logger has decided otherwise."""
    if quiet or logger.hasHandlers():
        yield
        return
    handler, level = logging.StreamHandler(), logger.level
    handler.setFormatter(logging.Formatter("smelt: %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def run(path: pathlib.Path, out: pathlib.Path, seconds: float, target: str, flags: Sequence[str]) -> dict[str, Any]:
    """The report of a search of the modules in `path`, whose run folder is `out`. Beyond: it cannot run this program; ProgramError: it
    failed otherwise."""
    if target == "cpu":
        what, kind = [path / "captured.pb"], "embed"
    else:
        kind = "xla"
        what = [path / "module.pb", f"--python={sys.executable}", f"--captured={path / 'captured.pb'}",
                f"--captured-library={path / 'captured_library.pb'}"]
    command = [str(program.find_program()), "tune", *map(str, what), f"--target={kind}", f"--out={out}", "--json",
               f"--budget={seconds:.3f}", f"--threads={folder.threads()}",
               *([] if logger.isEnabledFor(logging.INFO) else ["--quiet"]), *flags]
    with tempfile.TemporaryFile() as output:
        status, lines = _run(command, output)
        output.seek(0)
        text = output.read()
    try:
        report = json.loads(text)
    except ValueError:
        report = None
    if isinstance(report, dict):  # an interrupted search has one, and a search whose default differs from the evaluator
        return report
    message = "\n".join(lines[-5:]).strip() or f"ended with status {status}"
    if status == UNSUPPORTED:
        raise Beyond(lines[-1])
    raise program.ProgramError(f"smelt tune: {message}" + (f" (ended by signal {-status})" if status < 0 else ""))


def _run(command: list[str], output: Any) -> tuple[int, list[str]]:
    """Status, and the lines of standard error after the last one of progress. All go to the logger.

    The program has a process group of its own: a terminal's Ctrl-C reaches it through us alone, once, as one from a notebook does.
    """
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    rest, lines, said = "", [], 0.0
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE, start_new_session=True)
    interrupted = False

    def take(line: str) -> None:
        nonlocal said
        if not line.strip():
            return
        if not PROGRESS.match(line):
            lines.append(line.strip())
            logger.info("%s", line.strip())
            return
        lines.clear()
        if time.monotonic() - said > PAUSE_SECONDS:
            said = time.monotonic()
            logger.info("%s", line.strip())

    try:
        while True:
            try:
                chunk = os.read(child.stderr.fileno(), 1 << 16)
                *whole, rest = re.split(r"\n|(?<=.)(?=\r)", rest + decoder.decode(chunk, final=not chunk))
                for line in whole:
                    take(line)
                if not chunk:
                    take(rest)
                    return child.wait(), lines
            except KeyboardInterrupt:
                if interrupted:
                    raise
                interrupted = True
                child.send_signal(signal.SIGINT)
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()
        child.stderr.close()
