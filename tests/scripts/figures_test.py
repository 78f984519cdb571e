#!/usr/bin/env python3
"""The scripts of bench/ that make figures from the tool alone, each in its smallest form: figures_test.py SOURCE SMELT FOLDER

How fast anything is depends on the machine and is not looked at: every run ends, is verified, stands in the table, and is not run again.
"""
import json
import pathlib
import shutil
import subprocess
import sys

source, smelt, folder = sys.argv[1:]
folder = pathlib.Path(folder)
shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)


def bench(script, *words, status=0):
    done = subprocess.run([sys.executable, f"{source}/bench/{script}.py", *words], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    print(script, *words, done.stdout, done.stderr, sep="\n")
    assert done.returncode == status and "Traceback" not in done.stderr
    return done.stdout if status == 0 else done.stderr


def rows_of(table, first):
    return [line for line in table.splitlines() if line.startswith(f"| {first} |")]


def results():
    return {path: path.stat().st_mtime_ns for path in folder.glob("*/**/*.json") if not path.name.startswith("figure")}


# What tuning gains. What the page says below its first heading stays.
page = folder / "tuning.md"
page.write_text("# Old\n\n| old |\n\n## Kept\n\nwords\n")
printed = bench("tune_table", "gray_scott", f"--smelt={smelt}", "--seconds=0.3", "--factor=2", "--moves=500", f"--out={page}", f"--json={folder}/tuning.json")
text = page.read_text()
assert len(rows_of(printed, "gray_scott")) == 1 and rows_of(printed, "gray_scott") == rows_of(text, "gray_scott")
assert "old" not in text and text.endswith("\n## Kept\n\nwords\n") and "not verified" not in text
runs = json.loads((folder / "tuning.json").read_text())[0]["runs"]
assert len(runs) == 5 and all(run["verified"] for run in runs.values())
assert "no module at" in bench("tune_table", "gray_scot", status=2)

# Searches for fusions under a model and without; the same command again runs nothing.
words = ["gray_scott", f"--smelt={smelt}", "--seconds=0.3", "--factor=2", "--seeds=1", "--out=figure4"]
printed = bench("figure4", *words)
assert len(rows_of(printed, "default")) + len(rows_of(printed, "random")) >= 4 and (folder / "figure4/from-default.svg").exists()
before = results()
assert before and rows_of(bench("figure4", *words), "default") == rows_of(printed, "default") and results() == before

# Schedules of one layer: two objectives, and the answer by the comparison rule. Both figures go on from their runs.
words = ["5", "10", f"--smelt={smelt}", "--layers=M512", "--trials=4", "--batch=2", "--seeds=1", "--out=autotvm"]
printed = bench("autotvm", *words)
assert len(rows_of(printed, "M512")) == 5 and (folder / "autotvm/figure5-M512.svg").exists()
before = results()
assert rows_of(bench("autotvm", *words), "M512") == rows_of(printed, "M512") and results() == before
assert "there is no layer C99" in bench("autotvm", "5", f"--smelt={smelt}", "--layers=C99", status=2)

# Tables of speeds take the places of those that the page has; a page that has no such place stays as it was.
measured = {"type": "f32", "threads": 2, "rows": [{"layer": "C2", "smelt_ms": 0.05, "speed": 1.25, "others_ms": {"oneDNN winograd": 0.06}}],
            "summary": {"C2 to C12": {"geometric_mean": 1.25, "least": 1.25}}}
(folder / "layers.json").write_text(json.dumps(measured))
page = folder / "speed.md"
page.write_text("# Speed\n\n| layer | speed |\n|---|---|\n| C9 | 7.00 |\n\nGeometric mean and least: old.\n\nBeside oneDNN's Winograd: old.\n\nKept.\n")
bench("speed_tables", "layers.json", f"--write={page}")
text = page.read_text()
assert rows_of(text, "C2") == ["| C2 | 0.0500 | 1.25 |"] and "C9" not in text and "old" not in text and text.endswith("Kept.\n")
page.write_text("# Nothing\n")
assert "no place for" in bench("speed_tables", "layers.json", f"--write={page}", status=2) and page.read_text() == "# Nothing\n"
