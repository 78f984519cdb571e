#!/usr/bin/env python3
"""Gives XLA what Smelt writes, and Smelt what XLA writes.

Each module is written by `smelt opt` as text, as text after a fusion (--fusion), and as a proto. XLA reads each with its parser and
verifier; what XLA then prints and serialises must have, read by Smelt, the fingerprint of what Smelt wrote. A module that XLA refuses
as it stands, or that Smelt refuses, is not counted.

Each module runs in a process of its own, because XLA aborts on some.

  xla_reads_it.py [--smelt PATH] [--sample N | --all] [--fusion NAME]... [MODULE...]

Exit status 0: everything agreed; 1: something did not; 77: there is no jaxlib, nothing was checked.
"""
import argparse, collections, json, os, pathlib, re, subprocess, sys, tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOSSY = re.compile(r"\{\.\.\.\}|constant(?=\()[^\n]*[({, ]-0[,)}]")  # printed by XLA
UNCARRIED = re.compile(r"\bslice_sizes=\{\{")  # of a collective-permute: XLA's protos have no field for them
MISREAD = re.compile(r"\{\.\.\.\}|constant\([^\n]*\(-?nan, ")  # read by XLA
FUSIONS = ["tvm", "priority", "random:1"]
LARGEST = 2_000_000  # bytes of text; XLA needs minutes for larger ones


def smelt(program, *arguments):
    """(good, standard output, first line of the error)"""
    try:
        done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        return False, "", "no answer in 300 s"
    return done.returncode == 0, done.stdout, (done.stderr.strip().splitlines() or [""])[0]


def fingerprint(program, path, verify):
    good, output, error = smelt(program, "inspect", str(path), *verify)  # without --json: nothing is fused for it
    return output.rsplit("fingerprint ", 1)[-1].strip() if good else "refused: " + error


def check_module(path, program, fusions, verify):
    """Prints one line for each form: the form, `ok` or what is wrong."""
    from jaxlib import _hlo
    try:
        _hlo.hlo_module_from_text(pathlib.Path(path).read_text())
    except Exception:
        return  # not a module of XLA's
    uncarried = UNCARRIED.search(pathlib.Path(path).read_text())
    with tempfile.TemporaryDirectory() as folder:
        forms = [("text", "form.hlo", [])] + [(f, "form.hlo", [f"--fusion={f}"]) for f in fusions] + [("proto", "form.pb", [])]
        for form, name, flags in forms:
            written = pathlib.Path(folder) / name
            print(form, "started", flush=True)
            good, _, error = smelt(program, "opt", path, "-o", str(written), *flags, *verify)
            if not good:
                print(form, "unwritten", error, flush=True)
                continue
            try:
                if name.endswith(".pb"):
                    module = _hlo.HloModule.from_serialized_hlo_module_proto(written.read_bytes())
                else:
                    module = _hlo.hlo_module_from_text(written.read_text())
            except Exception as refusal:
                print(form, "refused", " ".join(str(refusal).split())[:400], flush=True)
                continue
            # XLA's print of a module that breaks rules need not say what the module said, and it fills a constant that the text
            # leaves out with values that depend on what the process has read before. Of a complex number whose real part is
            # no number it forgets the other part.
            if verify or (uncarried if name.endswith(".pb") else MISREAD.search(written.read_text())):
                print(form, "ok", flush=True)
                continue
            ours = fingerprint(program, written, verify)
            back = pathlib.Path(folder) / "xla.hlo"
            back.write_text(module.to_string(_hlo.HloPrintOptions()))
            # XLA prints large constants as `{...}` and negative zeros as `-0`, which it reads as an integer's zero. Its proto
            # has all values.
            theirs = fingerprint(program, back, verify)
            if not LOSSY.search(back.read_text()) and theirs != ours:
                print(form, "changed", f"{ours} is {theirs} after XLA printed it", flush=True)
                continue
            if uncarried:
                print(form, "ok", flush=True)
                continue
            serialised = pathlib.Path(folder) / "xla.pb"
            serialised.write_bytes(module.as_serialized_hlo_module_proto())
            theirs = fingerprint(program, serialised, verify)
            if theirs != ours:
                print(form, "changed", f"{ours} is {theirs} after XLA serialised it", flush=True)
                continue
            print(form, "ok", flush=True)


def modules(options):
    """(path, flags for verification)"""
    for path in sorted((ROOT / "models").glob("*.hlo")):
        yield path, []
    for corpus in ("xla", "programs"):
        folder = ROOT / "../shared/corpora" / corpus
        if not (folder / "accept.json").exists():
            continue
        entries = [entry for entry in json.loads((folder / "accept.json").read_text())
                   if "file" in entry and entry.get("expect", "ok") == "ok" and entry.get("xla") != "refused"]
        step = 1 if options.all else max(1, len(entries) // options.sample)
        for entry in entries[::step]:
            yield folder / entry["file"], [] if entry.get("verify", True) else ["--no-verify"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smelt", default=str(ROOT / "build/release/smelt"))
    parser.add_argument("--sample", type=int, default=12, help="modules of each corpus")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--fusion", action="append")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--no-verify", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("modules", nargs="*")
    options = parser.parse_args()
    try:
        import jaxlib._hlo  # noqa: F401
    except ImportError:
        print("jaxlib is not installed for this Python: nothing was checked (scripts/setup.sh --jax)")
        sys.exit(77)
    fusions = options.fusion or FUSIONS
    if options.one:
        check_module(options.one, options.smelt, fusions, ["--no-verify"] if options.no_verify else [])
        return
    if not os.access(options.smelt, os.X_OK):
        parser.error(f"no program at {options.smelt}: build it, or give --smelt")

    chosen = [(pathlib.Path(path), []) for path in options.modules] or list(modules(options))
    counts = collections.defaultdict(collections.Counter)
    for path, verify in chosen:
        if path.stat().st_size > LARGEST:
            continue
        command = [sys.executable, __file__, "--one", str(path), "--smelt", options.smelt, *verify]
        command += [f"--fusion={fusion}" for fusion in fusions]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=900)
            output, crashed = done.stdout, done.returncode != 0
        except subprocess.TimeoutExpired as late:
            output, crashed = (late.stdout or b"").decode(), True
        last = None
        for line in output.splitlines():
            form, verdict, *detail = line.split(" ", 2)
            last = (form, verdict)
            if verdict == "started":
                continue
            counts[form][verdict] += 1
            if verdict not in ("ok", "unwritten"):
                print(f"{path.name}: {form}: {verdict} {' '.join(detail)}", flush=True)
        if crashed and last is not None and last[1] == "started":
            counts[last[0]]["aborted"] += 1
            print(f"{path.name}: {last[0]}: XLA aborted or gave no answer", flush=True)
    bad = 0
    for form, row in counts.items():
        checked = sum(row.values()) - row["unwritten"]
        bad += checked - row["ok"]
        print(f"{form:<12} {row['ok']} of {checked} agree" + (f", {row['unwritten']} not written by smelt" if row["unwritten"] else ""))
    sys.exit(1 if bad or not counts else 0)


if __name__ == "__main__":
    main()
