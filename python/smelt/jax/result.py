"""What a search found: as an object for programs, and in three lines of words."""
from __future__ import annotations

import dataclasses
import json
import math
import os
import pathlib
from collections.abc import Mapping
from typing import Any

from smelt.jax import folder

REPORT = "report.txt"

CHANGED = {
    "xla": "nothing: XLA's own choice is the answer",
    "xla_no_library": "no operation is handed to XLA's library",
    "as_given": "which operations share a kernel in XLA's code",
    "kernels": "kernels of Smelt's own are called",
}


@dataclasses.dataclass(frozen=True)
class Tuned:
    """A folder of `tune`, for `optimize`."""
    folder: pathlib.Path
    report: Mapping[str, Any] = dataclasses.field(compare=False, repr=False)  # everything that is known, for the curious

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Tuned:
        """What `tune` or `fuse` returned when it made this folder. ValueError: it is no such folder; the text says why."""
        where = pathlib.Path(path)
        try:
            manifest = folder.open_manifest(where)
        except folder.Unusable as error:
            raise ValueError(f"{where}: {error}") from None
        report = manifest.get("report")
        if not isinstance(report, dict) or report.get("answer") not in CHANGED:
            raise ValueError(f"{where}: {folder.MANIFEST} has no report: tune again")
        return Tuned(where, report)

    @property
    def answer(self) -> str:
        """xla: nothing was faster beyond doubt; xla_no_library: XLA with its library off; as_given: fusions of ours; kernels: calls of
        kernels of ours."""
        return self.report["answer"]

    @property
    def default_ms(self) -> float:
        """Median time of XLA's own choice; NaN where nothing was measured."""
        return self.report.get("default_ms", math.nan)

    @property
    def best_ms(self) -> float:
        """Median time of the answer, measured in turn with XLA's own choice; NaN where nothing was measured."""
        return self.report.get("best_ms", math.nan)

    @property
    def speedup(self) -> float:
        """How many times as fast as XLA's own choice the answer is: of pairs that ran one after the other. 1 where it is XLA's own."""
        return self.report.get("speedup", 1.0) if self.answer != "xla" else 1.0

    @property
    def interval(self) -> tuple[float, float]:
        """Holds the true speedup 99 times of 100. NaN where nothing was measured, (1, 1) where the answer is XLA's own."""
        if self.answer == "xla":
            return 1.0, 1.0
        low, high = self.report.get("interval") or (math.nan, math.nan)
        return low, high

    @property
    def verified(self) -> bool:
        """Whether the answer's results were compared, with the evaluator's, or else with XLA's own: `report["checked"]` says which."""
        return bool(self.report.get("checked"))

    def __fspath__(self) -> str:
        return str(self.folder)

    def __repr__(self) -> str:
        return f"Tuned({str(self.folder)!r}, answer={self.answer!r}, speedup={self.speedup:.3g})"

    def __str__(self) -> str:
        path = self.folder / REPORT
        return path.read_text() if path.is_file() else f"{self.folder}: {self.answer}, without measurements"


def _times(speedup: float, interval: Any) -> str:
    text = f"{speedup:.3g} times"
    return f"{text} [{interval[0]:.3g}, {interval[1]:.3g}]" if interval else text


def words(path: pathlib.Path, report: Mapping[str, Any]) -> str:
    """Three lines: the times, what was changed, what to do next."""
    better = report["answer"] != "xla"
    first = f"XLA {report['default_ms']:.4g} ms" if "default_ms" in report else "nothing was timed"
    if better and "best_ms" in report:
        first += f", Smelt {report['best_ms']:.4g} ms, {_times(report.get('speedup', 1.0), report.get('interval'))}"
    elif report.get("interval"):
        first += f", and nothing faster beyond doubt: the best ran at {_times(report.get('speedup', 1.0), report['interval'])} XLA's speed"
    elif not better:
        first += ", and nothing faster was found"
    if report.get("why"):
        first += f" ({report['why']})"
    changed = CHANGED[report["answer"]]
    if report["answer"] == "kernels":
        changed += f" in {report['calls']} places"
    elif called := report.get("knobs", {}).get("call"):
        changed += f"; {len(called)} loops and convolutions are functions of their own"
    second = f"changed: {changed}" + (f"; results agree with {report['checked']}" if report.get("checked") else "")
    others = {"xla", "cpu"} - set(report.get("targets", [report["target"]]))
    if better:
        advice = f"with smelt.jax.optimize({str(path)!r}): call it as before"
    elif report.get("interrupted"):
        advice = "the same call goes on where this one was interrupted"
    else:
        advice = "".join(f"target={other!r} in another folder, or " for other in others) + "a larger budget"
    spent = f"; took {report['wall_seconds']:.0f} s of {report['budget_seconds']:g} s" if "wall_seconds" in report else ""
    return f"{first}\n{second}\nnext: {advice} (details: {path / REPORT}{spent})\n"


def write_report(path: pathlib.Path, report: Mapping[str, Any], details: str) -> None:
    """The words, then what the search says."""
    name = report.get("function", "")
    (path / REPORT).write_text(f"{name}: {words(path, report)}\n{details}" if name else words(path, report) + "\n" + details)


def to_json(report: Mapping[str, Any]) -> dict[str, Any]:
    """What the manifest keeps of it."""
    return json.loads(json.dumps(dict(report), default=str))
