#!/usr/bin/env python3
"""What scripts/print_changes.py says of a real search: changes_test.py SOURCE SMELT FOLDER

What is fast depends on the machine, so the search may find nothing: then the script has to say so.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys

source, smelt, folder = sys.argv[1:]
folder = pathlib.Path(folder)
shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)
module = f"{source}/models/gray_scott.hlo"


def changes(summary, configuration):
    out = folder / "run"
    out.mkdir(exist_ok=True)
    shutil.copy(configuration, out / "best.fusion.json")
    (folder / "summary.json").write_text(json.dumps(summary))
    done = subprocess.run([sys.executable, f"{source}/scripts/print_changes.py", smelt, module, str(out), str(folder / "summary.json")],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    print(done.stdout, done.stderr)
    return done


tuned = subprocess.run([smelt, "tune", module, f"--out={folder}/tuned", "--hardware-seconds=1", "--moves=2000", "--json"], stdin=subprocess.DEVNULL,
                       capture_output=True, text=True)
assert tuned.returncode == 0, tuned.stderr
summary = json.loads(tuned.stdout)
assert summary["verified"], summary
done = changes(summary, f"{folder}/tuned/best.fusion.json")
assert done.returncode == 0 and "verified" in done.stdout and "Try next:" in done.stdout
assert ("Only in the default" in done.stdout) != ("No kernel changed" in done.stdout)

# The sentences follow the sums: less moved, less computed, or neither.
sys.path.insert(0, f"{source}/scripts")
import print_changes

few = {"us": 1.0, "MB": 1.0, "Mflop": 1.0}
assert ["merged" in s for s in print_changes.what_changed([few | {"MB": 3.0}], [few])] == [True]
assert ["split" in s for s in print_changes.what_changed([few | {"Mflop": 3.0}], [few])] == [True]
assert len(print_changes.what_changed([few | {"MB": 3.0, "Mflop": 3.0}], [few])) == 2
assert ["same work" in s for s in print_changes.what_changed([few], [few])] == [True]
# Equal kernels cancel, as many as there are; another tile is another kernel.
slow = few | {"us": 5.0}
assert print_changes.without({("h", "8"): [few, slow]}, {("h", "8"): [few]}) == [slow]
assert print_changes.without({("h", "8"): [few]}, {("h", "16"): [few]}) == [few]

# A summary of a search that measured nothing is one clear line.
summary["undecided"] = "the time was over"
del summary["default_ms"]
done = changes(summary, f"{folder}/tuned/best.fusion.json")
assert done.returncode == 1 and "nothing was measured" in done.stderr and "Traceback" not in done.stderr
