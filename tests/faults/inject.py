#!/usr/bin/env python3
"""Lets each system call of `smelt tune`, `profile` and `train` fail in turn, and looks whether the same command, run again, ends as if
it had not.

  tests/faults/inject.py build/release/smelt build/release/tests/faults/libsmelt_preload.so
  tests/faults/inject.py --short ...                      # some of them, within a minute: what ctest runs
  tests/faults/inject.py --verbs=tune --calls=fsync ...   # those alone
  tests/faults/inject.py --xla=.venv/bin/python ...       # tune and profile with XLA's child as well (tune-xla, profile-xla)

Each verb runs once while its calls are counted, in the program and in its measuring children. Then, for calls of each kind spread over
that count, a new folder is made, the call fails there (once, or that one and all after it; KILL ends the process at it), and the command
is repeated without the fault. Expected: the first run ends with 0 or 1, and with a line where it is 1; a run whose child alone was killed
ends with 0; the repetition ends with 0 and its result is verified; what was recorded by the first is still there, and no failure is.
Exit code 1 where anything else happened.
"""
import argparse
import collections
import itertools
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile

# Kinds of calls in the order of preload.c, and the errors that they can give; the first one is tried at every place.
CALLS = {"open": ["EMFILE", "EACCES"], "read": ["EIO"], "write": ["ENOSPC", "SHORT", "EINTR"], "pwrite": ["ENOSPC", "EIO", "SHORT", "EINTR"],
         "fsync": ["EIO", "ENOSPC"], "rename": ["EIO", "ENOSPC"], "truncate": ["EIO"], "close": ["EIO"], "lock": ["EIO"],
         "mkdir": ["ENOSPC"], "unlink": ["EACCES"], "mmap": ["ENOMEM"], "malloc": ["ENOMEM"], "fork": ["EAGAIN", "ENOMEM"],
         "exec": ["ENOENT"], "wait": ["ECHILD", "EINTR"], "pipe": ["EMFILE"], "poll": ["ENOMEM", "EINTR"], "send": ["EIO", "EINTR", "KILL"],
         "receive": ["EIO", "EINTR", "KILL"]}
KILLED_AT = ("pwrite", "write", "rename", "fsync")  # the program itself, as by kill -9
SECONDS = 240  # of one run; more is a hang
SHORT = [("tune", "main", "pwrite", 3, "ENOSPC", "stuck"), ("tune", "main", "write", 1, "ENOSPC", "once"),
         ("tune", "child", "write", 1, "ENOSPC", "stuck"), ("tune", "child", "receive", 3, "KILL", "once"),
         ("tune", "main", "fork", 1, "EAGAIN", "stuck"), ("tune", "main", "pwrite", 9, "KILL", "once"),
         ("profile", "child", "receive", 5, "KILL", "once"), ("profile", "main", "pwrite", 4, "ENOSPC", "stuck"),
         ("profile", "main", "read", 2, "EIO", "once"), ("train", "main", "fsync", 2, "EIO", "once"),
         ("train", "main", "write", 2, "KILL", "once"), ("train", "main", "unlink", 1, "EACCES", "stuck"),
         ("train", "main", "malloc", 1, "ENOMEM", "stuck")]

PROGRAM = """HloModule small

add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT sum = f32[] add(x, y)
}

ENTRY main {
  input = f32[16,32] parameter(0)
  weights = f32[32,24] parameter(1)
  zero = f32[] constant(0)
  hidden = f32[16,24] dot(input, weights), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  activated = f32[16,24] tanh(hidden)
  total = f32[16] reduce(activated, zero), dimensions={1}, to_apply=add
  rows = f32[16,24] broadcast(total), dimensions={0}
  ROOT shares = f32[16,24] subtract(activated, rows)
}
"""


def rows(database):
    """Of the records, by id: subject, failure, times. A copy is read, so that the original stays as the run left it."""
    if not database.exists():
        return {}
    with tempfile.TemporaryDirectory() as folder:
        for suffix in ("", "-wal"):
            if os.path.exists(f"{database}{suffix}"):
                shutil.copy(f"{database}{suffix}", f"{folder}/copy{suffix}")
        connection = sqlite3.connect(f"{folder}/copy")
        try:
            if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                return {}
            assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok", "the database is damaged"
            return {row[0]: row[1:] for row in connection.execute("SELECT id, subject, failure, seconds, message FROM measurement")}
        except sqlite3.DatabaseError as error:
            if database.stat().st_size < 3 * 4096:
                return {}  # cut short while it was made
            raise AssertionError(f"the database cannot be read: {error}") from None
        finally:
            connection.close()


def logged(log):
    """Subjects of the trials that the log names as done."""
    if not log.exists():
        return set()
    lines = [line.split() for line in log.read_text().splitlines() if line.startswith("trial ") and "not recorded" not in line]
    return {words[1].rstrip(":") for words in lines if len(words) > 2}


def examples(corpus):
    """Records of all shards, by kernel hash; a torn end counts as none."""
    found = collections.OrderedDict()
    for shard in sorted(corpus.glob("shard-*.tfrecord")) if corpus.exists() else []:
        data, at = shard.read_bytes(), 0
        while at + 12 <= len(data):
            (length,) = struct.unpack_from("<Q", data, at)
            if at + 16 + length > len(data):
                break
            record = data[at + 12:at + 12 + length]
            kernel = hash_of(record)
            assert kernel not in found, f"kernel {kernel} stands in the corpus twice"
            found[kernel] = record
            at += 16 + length
    return found


def hash_of(proto):
    """The text of field 3 of a message of texts and messages."""
    at = 0

    def number():
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = proto[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(proto):
        tag, length = number(), number()
        if tag >> 3 == 3:
            return proto[at:at + length].decode()
        at += length
    raise AssertionError("an example without a hash")


class Tune:
    def __init__(self, target=()):
        self.target = list(target)

    def words(self, folder, module, _corpus):
        return ["tune", module, f"--out={folder}/run", "--model=analytical", "--moves=60", "--chains=1",
                "--candidates=3", "--hardware-seconds=0.3", "--json", "--quiet", *self.target]

    def state(self, folder):
        return rows(folder / "run/records.db"), logged(folder / "run/log.txt")

    def check(self, before, after, result, _baseline, _measured_anew):
        found = after[0]
        assert all(found.get(number) == row for number, row in before[0].items()), "LOST a record"
        missing = before[1] - {row[0] for row in found.values()}
        assert not missing, f"LOST {len(missing)} trials that the log names"
        failures = [row[3] for row in found.values() if row[1] != 0]
        assert not failures, f"recorded as a failure: {failures[0]}"
        assert json.loads(result.stdout)["verified"], "the answer is not verified"

    def kept(self, state):
        return len(state[0])


class Profile:
    def __init__(self, target=()):
        self.target = list(target)

    def words(self, folder, module, _corpus):
        return ["profile", module, "-o", f"{folder}/corpus", "--configs=2", "--visits=1", "--json", *self.target]

    def state(self, folder):
        return examples(folder / "corpus")

    def check(self, before, after, result, baseline, measured_anew):
        assert all(after.get(kernel) == record for kernel, record in before.items()), "LOST an example"
        # Measured anew, the machine's figures choose other fusions; without them the kernels are the same ones.
        assert measured_anew or set(after) == set(baseline), f"{len(after)} kernels instead of {len(baseline)}"
        assert json.loads(result.stdout)["failed"] == 0, "a failure is recorded"

    def kept(self, state):
        return len(state)


class Train:
    def words(self, folder, _module, corpus):
        return ["train", corpus, "-o", f"{folder}/model", "--epochs=3", "--hidden=8", "--layers=1", "--task=fusion", "--validation=0", "--test=0",
                "--threads=1"]

    def state(self, folder):
        model = folder / "model"
        return model.read_bytes() if model.exists() else None

    def check(self, before, after, _result, baseline, measured_anew):
        assert measured_anew or after == baseline, "another model than without the fault"
        assert after is not None, "no model"
        assert measured_anew or before in (None, baseline), "the run that failed left half a model"

    def kept(self, _state):
        return 0


class Place:
    """Where runs happen: a scratch folder with the module, a corpus to train on, and what a cache has to begin with."""

    def __init__(self, smelt, preload, scratch):
        self.smelt, self.preload, self.scratch = smelt, preload, scratch
        self.module = scratch / "small.hlo"
        self.module.write_text(PROGRAM)
        self.corpus = scratch / "corpus"
        self.machine = scratch / "machine"
        self.number = 0
        environment = {**os.environ, "SMELT_CACHE": str(self.machine)}
        subprocess.run([smelt, "profile", str(self.module), "-o", str(self.corpus), "--configs=2", "--visits=1"], env=environment, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def folder(self):
        self.number += 1
        folder = self.scratch / f"case-{self.number}"
        (folder / "tmp").mkdir(parents=True)
        # What the machine's caches and memory do is not measured again each time.
        shutil.copytree(self.machine / "targets", folder / "cache/targets")
        return folder

    def figures(self, cache):
        return [file.read_bytes() for file in sorted(cache.glob("targets/*.txt"))]

    def run(self, verb, folder, fault=None, count=False):
        environment = {**os.environ, "SMELT_CACHE": f"{folder}/cache", "TMPDIR": f"{folder}/tmp"}
        state = folder / "counts"
        if fault is not None or count:
            state.write_bytes(bytes(4096))
            environment.update(LD_PRELOAD=str(self.preload), SMELT_FAULT_STATE=str(state),
                               SMELT_FAULT_PATHS=":".join(f"{folder}/{name}" for name in ("run", "corpus", "model", "cache", "tmp")))
            if fault is not None:
                environment["SMELT_FAULT"] = fault
        words = [self.smelt, *verb.words(folder, str(self.module), str(self.corpus))]
        process = subprocess.Popen(words, env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, start_new_session=True)
        try:
            out, err = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise AssertionError(f"not done after {SECONDS} s") from None
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def counts(self, folder):
        numbers = struct.unpack(f"{2 * len(CALLS)}Q", (folder / "counts").read_bytes()[:16 * len(CALLS)])
        return {(role, call): numbers[r * len(CALLS) + c] for r, role in enumerate(("main", "child")) for c, call in enumerate(CALLS)}


def spread(count, most):
    """Numbers of calls to fail: the first ones, the last one, some between."""
    return sorted({1, 2, 3, count} | {1 + i * count // most for i in range(most)} & set(range(1, count + 1))) if count > most else list(range(1, count + 1))


def plan(counts, calls, most):
    for (role, call), count in counts.items():
        if count == 0 or call not in calls:
            continue
        places = [k for k in spread(count, most) if k <= count]
        for k in places:
            yield role, call, k, CALLS[call][0], "once"
        middle = places[len(places) // 2]
        for k in {1, middle}:
            yield role, call, k, CALLS[call][0], "stuck"
        for error in CALLS[call][1:]:
            for k in {places[0], middle, places[-1]} if error == "KILL" and role == "child" else {middle}:
                if error != "KILL" or role == "child":
                    yield role, call, k, error, "once"
        if role == "main" and call in KILLED_AT:
            for k in places:
                yield role, call, k, "KILL", "once"


def inject(place, verb, baseline, fault):
    """Runs it with the fault and without. The exit code of the first run, what went wrong, and how many records were kept."""
    role, call, k, error, how = fault
    folder, code = place.folder(), None
    try:
        first = place.run(verb, folder, f"{call} {k} {error} {how} {role}")
        code = first.returncode
        # Abseil's own memory, refused, ends a process of any kind; that is no worse than being killed.
        killed = error == "KILL" and role == "main" or error == "ENOMEM" and code == -signal.SIGABRT and "mmap error" in first.stderr
        assert code in (0, 1) or killed, f"ended with {code}: {first.stderr.strip()[-300:]}"
        assert code == 0 or killed or first.stderr.strip(), "ended with 1 without a word"
        assert code == 0 or not (error == "KILL" and role == "child"), f"a killed child ended it: {first.stderr.strip()[-300:]}"
        before = verb.state(folder)
        second = place.run(verb, folder)
        assert second.returncode == 0, f"UNUSABLE: {second.stderr.strip()[-300:]} (at first: {first.stderr.strip()[-200:]})"
        verb.check(before, verb.state(folder), second, baseline, place.figures(folder / "cache") != place.figures(place.machine))
        shutil.rmtree(folder)
        return code, None, verb.kept(before)
    except AssertionError as problem:
        return code, str(problem), 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("smelt")
    parser.add_argument("preload")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--verbs", help="by default all; those of XLA need --xla")
    parser.add_argument("--calls", default=",".join(CALLS))
    parser.add_argument("--places", type=int, default=6, help="of each kind of call, about so many")
    parser.add_argument("--xla", help="a Python with jaxlib")
    flags = parser.parse_args()
    smelt, preload = os.path.abspath(flags.smelt), os.path.abspath(flags.preload)
    verbs = {"tune": Tune(), "profile": Profile(), "train": Train()}
    if flags.xla:
        python = f"--python={os.path.abspath(flags.xla)}"
        verbs.update({"tune-xla": Tune(["--target=xla", python]), "profile-xla": Profile(["--target=xla", python])})
    wanted = flags.verbs.split(",") if flags.verbs else list(verbs)
    if unknown := [name for name in wanted if name not in verbs]:
        parser.error(f"no verb {unknown[0]} among {', '.join(verbs)}" + ("" if flags.xla else "; --xla adds tune-xla and profile-xla"))
    verbs = {name: verb for name, verb in verbs.items() if name in wanted}
    # Small writes to a memory file system are quick; faults come from the library, not from the disk.
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="smelt-faults-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
    injected, kept, problems = 0, 0, []
    order = [(role, call) for role in ("main", "child") for call in CALLS]
    try:
        place = Place(smelt, preload, scratch)
        print(f"{'verb':<12} {'process':<8} {'call':<9} {'calls':>6} {'faults':>6} {'ended 0':>8} {'ended 1':>8} {'killed':>7} {'wrong':>6}", flush=True)
        for name, verb in verbs.items():
            folder = place.folder()
            result = place.run(verb, folder, count=True)
            assert result.returncode == 0, f"{name} fails without a fault: {result.stderr}"
            baseline, counts = verb.state(folder), place.counts(folder)
            baseline = baseline if not isinstance(verb, Tune) else None
            faults = [fault[1:] for fault in SHORT if fault[0] == name] if flags.short else plan(counts, flags.calls.split(","), flags.places)
            # A line as soon as its kind of call is done: under XLA's worker a fault takes ten seconds and more.
            for (role, call), group in itertools.groupby(sorted(faults, key=lambda fault: order.index(fault[:2])), key=lambda fault: fault[:2]):
                line = collections.Counter()
                for fault in group:
                    code, problem, records = inject(place, verb, baseline, fault)
                    injected, kept = injected + 1, kept + records
                    line["faults"] += 1
                    line["wrong" if problem else "ended 0" if code == 0 else "ended 1" if code == 1 else "killed"] += 1
                    if problem:
                        problems.append(problem)
                        print(f"  {name}: {' '.join(map(str, fault))}: {problem}", flush=True)
                print(f"{name:<12} {role:<8} {call:<9} {counts[role, call]:>6} " + " ".join(
                    f"{line[column]:>{width}}" for column, width in (("faults", 6), ("ended 0", 8), ("ended 1", 8), ("killed", 7), ("wrong", 6))), flush=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    lost = sum("LOST" in problem for problem in problems)
    unusable = sum("UNUSABLE" in problem for problem in problems)
    print(f"{injected} faults injected, {unusable} folders unusable, {lost} records lost ({kept} were kept), {len(problems) - lost - unusable} other findings")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
